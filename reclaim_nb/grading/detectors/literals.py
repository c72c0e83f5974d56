"""A result that is written down instead of measured: no computation makes it, or a computation is overwritten."""

from __future__ import annotations

from typing import Any

from reclaim_nb.grading.candidates import candidates
from reclaim_nb.grading.detectors.common import about, source_line
from reclaim_nb.grading.evidence import Evidence
from reclaim_nb.grading.facts import Fact, fact
from reclaim_nb.grading.lineage import flow as f
from reclaim_nb.grading.lineage.flow import Flow
from reclaim_nb.grading.provenance import of_flow, provenance
from reclaim_nb.papers.card import PaperCard


def detect(evidence: Evidence, card: PaperCard, intake: dict[str, Any] | None) -> list[Fact]:
    """Find numbers named like the target, or handed in, that come from literals."""
    found = []
    for c in candidates(evidence, card):
        if set(c.against) & {"reference", "bound", "gap", "spread", "scene"}:
            continue
        if c.strength < 2 and not c.matches and not c.number.alone:
            continue
        kind = provenance(c, card)
        if kind == "literal":
            drawn = is_drawn(c.origin.flow)
            found.append(about("literal_without_computation", c, written_in_text=c.origin.written, drawn=drawn))
        elif kind == "planted":
            found.append(about("literal_in_place_of_measurement", c))
    submission = evidence.submission
    if submission is not None and submission.value is not None and submission.from_cell is not None:
        for handed in evidence.lineage.records.handed:
            if handed.cell == submission.from_cell and of_flow(handed.value, submission.value, card) in (
                "literal",
                "planted",
            ):
                source = source_line(evidence.by_id[handed.cell].source, handed.line)
                drawn = is_drawn(handed.value)
                found.append(fact("literal_handed_in", handed.cell, None, source, value=submission.text, drawn=drawn))
    return found


def is_drawn(flow: Flow) -> bool:
    """Tell whether a value was made from drawn data: made up, but not written down."""
    return f.RANDOM in flow.kinds and f.RANDOM_DATA in flow.marks
