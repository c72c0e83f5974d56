"""A miss whose very digits are another number of the paper: another row was measured, or the baseline."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from reclaim_nb.errors import CardError
from reclaim_nb.grading.candidates import Candidate, candidates
from reclaim_nb.grading.detectors.common import about
from reclaim_nb.grading.evidence import Evidence
from reclaim_nb.grading.facts import Fact
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.numbers import decimals, quantise

DIGITS = 3
"""A number of fewer digits is met by chance too often."""


def detect(evidence: Evidence, card: PaperCard, intake: dict[str, Any] | None) -> list[Fact]:
    """Find numbers outside the criterion that show a sibling's or the baseline's digits; inside, they are a result."""
    others = [("sibling_value", sibling.what, sibling.value) for sibling in card.target.siblings]
    baseline = card.target.baseline
    if baseline is not None and baseline.value is not None:
        others.append(("baseline_value", baseline.name, baseline.value))
    others = [other for other in others if len(other[2].normalize().as_tuple().digits) >= DIGITS]
    found = []
    for c in candidates(evidence, card) if others else ():
        if "reference" in c.against or c.strength < 2 or not _misses(card, c):
            continue
        value = c.readings[0].value
        for rule, what, other in others:
            if _shows(value, other):
                found.append(about(rule, c, what=what, value=other))
    return found


def _misses(card: PaperCard, c: Candidate) -> bool:
    if card.criterion is None or not c.readings:
        return False
    try:
        return all(card.criterion.decide(reading.value).place != "inside" for reading in c.readings)
    except CardError:
        return False


def _shows(value: Decimal, other: Decimal) -> bool:
    """Tell whether a value, rounded to the other's digits, is the other."""
    return decimals(value) >= decimals(other) and quantise(value, decimals(other)) == other
