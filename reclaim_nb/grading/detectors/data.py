"""Numbers measured on data that was made up although the paper's data is real."""

from __future__ import annotations

from typing import Any

from reclaim_nb.grading.candidates import candidates
from reclaim_nb.grading.detectors.common import about
from reclaim_nb.grading.evidence import Evidence
from reclaim_nb.grading.facts import Fact
from reclaim_nb.grading.lineage import flow as f
from reclaim_nb.grading.provenance import synthetic_data
from reclaim_nb.papers.card import PaperCard


def detect(evidence: Evidence, card: PaperCard, intake: dict[str, Any] | None) -> list[Fact]:
    """Find numbers in whose making random numbers were fed where data is due, and no data was loaded."""
    if synthetic_data(card):
        return []
    found = []
    for c in candidates(evidence, card):
        flow = c.origin.flow
        if not c.origin.matched or "reference" in c.against:
            continue
        only_random = f.RANDOM in flow.kinds and not flow.kinds & {f.SHIPPED, f.FETCHED}
        fed = "fed-random" in flow.marks or (only_random and "random-data" in flow.marks)
        if fed and not flow.marks & {"data", "loader", "program"}:
            found.append(about("synthetic_data", c))
    return found
