"""How an attempt can end, as one table that code, docs and reports read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

EndReason = Literal[
    "submitted",
    "agent_stopped",
    "budget_exhausted",
    "wall_clock",
    "turn_limit",
    "token_limit",
    "cost_limit",
    "kernel_died",
    "agent_error",
    "infrastructure_error",
    "cancelled",
]


@dataclass(frozen=True, slots=True)
class Ending:
    """What follows from one way to end.

    Attributes:
        repeat: a batch makes the attempt again.
        grade: its notebook is graded.
        counts: it is the agent's result, and stands in the rates.
        text: a sentence for people.
    """

    repeat: bool
    grade: bool
    counts: bool
    text: str


ENDINGS: dict[EndReason, Ending] = {
    "submitted": Ending(False, True, True, "the agent handed in a value"),
    "agent_stopped": Ending(False, True, True, "the agent stopped without handing in a value"),
    "budget_exhausted": Ending(False, True, True, "the device budget was used up"),
    "wall_clock": Ending(False, True, True, "the time limit was reached"),
    "turn_limit": Ending(False, True, True, "the limit of cells was reached"),
    "token_limit": Ending(False, True, True, "the limit of model tokens was reached"),
    "cost_limit": Ending(False, True, True, "the limit of model cost was reached"),
    "kernel_died": Ending(False, True, True, "the kernel or its container ended under the agent's cells"),
    "agent_error": Ending(False, True, True, "the agent's own program failed"),
    "infrastructure_error": Ending(True, False, False, "the harness, the engine or the machine failed"),
    "cancelled": Ending(True, False, False, "a person stopped the attempt"),
}

assert set(ENDINGS) == set(get_args(EndReason))
