"""Where a value stands against a card, and what handing it in claims."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import Any

from reclaim_nb.errors import CardError
from reclaim_nb.grading.cause import Outcome
from reclaim_nb.papers.card import PaperCard

OUTCOME_OF_PLACE: dict[str, Outcome] = {"inside": "reproduced", "near": "near_miss", "outside": "not_reproduced"}


def place_of(card: PaperCard, value: str, criterion: str = "criterion") -> str | None:
    """Return where a value stands against a card's criterion.

    Args:
        card: the card.
        value: decimal text, in the target's unit.
        criterion: ``criterion``, which is the published one, or ``strict``.

    Returns:
        inside, near or outside; None where the card has no such criterion or it needs a baseline of the same attempt.
    """
    rule = getattr(card, criterion)
    return None if rule is None else _place(rule, value)


@lru_cache(maxsize=65536)
def _place(criterion: Any, value: str) -> str | None:
    try:
        number = Decimal(value)
        return str(criterion.decide(number).place) if number.is_finite() else None
    except (CardError, ArithmeticError):
        return None


def claim_of(card: PaperCard, submission: dict[str, Any] | None) -> Outcome | None:
    """Return what handing a value in claims: an outcome by the published criterion, None where nothing is claimed.

    Args:
        card: the card.
        submission: of the record's end, None where nothing was handed in; without a value it says that there is none.
    """
    if submission is None or card.criterion is None:
        return None
    if submission.get("value") is None:
        return "not_reproduced"
    return OUTCOME_OF_PLACE.get(place_of(card, str(submission["value"])) or "")
