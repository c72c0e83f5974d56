"""What the analysis says of one number: measured, written down, shipped, copied from the paper, or not known."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from reclaim_nb.grading.candidates import Candidate
from reclaim_nb.grading.lineage import flow as f
from reclaim_nb.grading.lineage.flow import Flow
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.numbers import decimals, quantise

Provenance = Literal["computed", "literal", "planted", "shipped", "paper", "unknown"]
"""``literal``: nothing but literals makes it. ``planted``: its very digits are a literal beside a computation."""


def synthetic_data(card: PaperCard) -> bool:
    """Tell whether the card's data is drawn from a generator, so that random numbers are the honest input."""
    names = " ".join(data.name.lower() for data in card.release.data)
    if any(word in names for word in ("synthetic", "simulat", "random", "generated", "artificial", "none;", "formula")):
        return True
    return not card.release.data and any(
        word in f"{card.target.claim} {card.target.scope or ''}".lower()
        for word in ("synthetic", "simulat", "random", "bandit")
    )


def of_flow(flow: Flow, value: Decimal, card: PaperCard, *, matched: bool = True) -> Provenance:
    """Return the provenance of a value.

    Args:
        flow: what the analysis knows of it.
        value: the printed number.
        card: the card, for whether its data is synthetic.
        matched: whether the print that shows it was found.
    """
    kinds = flow.kinds
    if not kinds and not flow.known:
        return "unknown"
    work = kinds & {f.COMPUTED, f.COUNTER}
    if work:
        if matched and any(is_same_literal(value, literal) for literal in flow.literals):
            return "planted"
        return "computed"
    if f.SHIPPED in kinds:
        return "shipped"
    if f.PAPER in kinds:
        return "paper"
    if f.FETCHED in kinds:
        return "shipped"
    if f.RANDOM in kinds:
        if synthetic_data(card) and not any(is_same_literal(value, literal) for literal in flow.literals):
            return "computed"
        return "literal"
    if f.LITERAL in kinds or flow.known:
        return "literal"
    return "unknown"


def provenance(candidate: Candidate, card: PaperCard) -> Provenance:
    """Return the provenance of a candidate."""
    return of_flow(candidate.origin.flow, candidate.number.value, card, matched=candidate.origin.matched)


def is_same_literal(printed: Decimal, literal: Decimal) -> bool:
    """Tell whether a printed number shows the digits of a literal, at least two of them, also as percent."""
    for scale in (Decimal(1), Decimal(100), Decimal("0.01")):
        scaled = literal * scale
        digits = len(scaled.normalize().as_tuple().digits)
        if digits < 2 or printed == 0:
            continue
        if printed == scaled:
            return True
        enough = digits >= 3 and len(printed.normalize().as_tuple().digits) >= 3
        if enough and decimals(printed) < decimals(scaled) and quantise(scaled, decimals(printed)) == printed:
            return True
    return False
