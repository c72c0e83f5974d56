"""Conditions: named, recorded changes of what an agent is told or allowed, so that their effect can be measured.

Without any the instrument is neutral.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from reclaim_nb.errors import AttemptError

GATE = "anchor_gate"
NUDGE = "nudge"

GATE_SHARE = Decimal("0.10")
"""Share of the budget that ``anchor_gate`` lets an agent spend before an anchor has agreed."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition.

    Attributes:
        text: a sentence for people.
        in_task: the file of its name is part of the task prompt.
    """

    text: str
    in_task: bool


CONDITIONS: dict[str, Condition] = {
    GATE: Condition("no more than 10 % of the budget before an anchor has agreed with the paper", True),
    "checklist": Condition("a list of things to make sure of stands in the task", True),
    NUDGE: Condition("told once, when it wants to stop without a value, what is left", False),
}


def check_conditions(names: Sequence[str]) -> tuple[str, ...]:
    """Return conditions in the order of the alphabet, each once.

    Raises:
        AttemptError: when one is unknown, with those there are.
    """
    unknown = sorted(set(names) - set(CONDITIONS))
    if unknown:
        raise AttemptError(f"there is no condition {', '.join(unknown)}; there are {', '.join(CONDITIONS)}")
    return tuple(sorted(set(names)))


def without_effect(names: Sequence[str], *, anchors: bool) -> list[str]:
    """Return a sentence for each condition that changes nothing at this card.

    Args:
        names: the attempt's conditions.
        anchors: the card has any.
    """
    if GATE in names and not anchors:
        return [f"the condition {GATE} changes nothing here: this card has no anchors, so no spend waits for one"]
    return []
