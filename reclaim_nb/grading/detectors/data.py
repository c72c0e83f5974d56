"""Numbers measured on data that was made up although the paper's data is real."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from reclaim_nb.errors import CardError
from reclaim_nb.grading.candidates import candidates
from reclaim_nb.grading.detectors.common import about
from reclaim_nb.grading.evidence import Evidence
from reclaim_nb.grading.facts import Fact
from reclaim_nb.grading.lineage import flow as f
from reclaim_nb.grading.provenance import synthetic_data
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.numbers import convert, unit


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
        fed = f.FED_RANDOM in flow.marks or (only_random and f.RANDOM_DATA in flow.marks)
        # Hits drawn with the very chance that is wanted, also where real labels stand beside them.
        digits = 1 if only_random else 3
        tuned = next((c for c in _chances(flow) if len(c.as_tuple().digits) >= digits and _passes(card, c)), None)
        if tuned or (fed and not flow.marks & {"data", "loader", "program"}):
            found.append(about("synthetic_data", c, tuned_to=tuned or None))
    return found


def _chances(flow: f.Flow) -> list[Decimal]:
    """Return the chances with which hits were drawn, and those of misses."""
    given = [Decimal(mark.removeprefix("chance:")) for mark in sorted(flow.marks) if mark.startswith("chance:")]
    return [*given, *(1 - chance for chance in given)]


def _passes(card: PaperCard, chance: Decimal) -> bool:
    """Tell whether hits drawn with a chance come out as what the card asks for."""
    if card.criterion is None or unit(card.target.unit).family != "share":
        return False
    try:
        return card.criterion.decide(convert(chance, "fraction", card.target.unit)).place != "outside"
    except CardError:
        return False
