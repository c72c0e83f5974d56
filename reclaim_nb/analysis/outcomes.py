"""How each outcome stands in a rate, as one table that statistics, figures and reports read."""

from __future__ import annotations

from typing import Literal, get_args

from reclaim_nb.attempts.reasons import ENDINGS
from reclaim_nb.grading.cause import CODES, Code, Outcome

Standing = Literal["success", "failure", "undecided", "excluded", "missing"]

STANDINGS: dict[Standing, str] = {
    "success": "reproduced",
    "failure": "graded, and not reproduced",
    "undecided": "ended, but no grader has decided: counted both ways",
    "excluded": "no result of the agent: the harness failed, a person stopped it, or what it needs cannot be had",
    "missing": "declared, but not ended: never begun, running, or left by its runner",
}

OUTCOMES: dict[Outcome, Standing] = {
    "reproduced": "success",
    "near_miss": "failure",
    "not_reproduced": "failure",
    "disqualified": "failure",
    "unverifiable": "failure",
    "blocked": "excluded",
    "needs_human": "undecided",
    "ungraded": "undecided",
}
"""``blocked`` is an honest wall, no fault of the agent; ``unverifiable`` counts as in the published benchmark."""

CAUSES: dict[Code, str] = CODES
TIERS = ("run", "retrain", "reimplement")

assert set(OUTCOMES) == set(get_args(Outcome))


def standing(outcome: str | None, reason: str | None, state: str) -> Standing:
    """Return how an attempt stands in a rate.

    Args:
        outcome: of its verdict, None without one.
        reason: its end reason, None while it has not ended.
        state: of its index row, or ``not_begun``.
    """
    if state in ("not_begun", "running", "dead_runner", "unreadable"):
        return "missing"
    ending = ENDINGS.get(reason)  # type: ignore[call-overload]
    if ending is not None and not ending.counts:
        return "excluded"
    return OUTCOMES.get(outcome, "undecided")  # type: ignore[call-overload, no-any-return]
