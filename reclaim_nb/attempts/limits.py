"""What an attempt may use. A limit that is reached ends the attempt with its own reason."""

from __future__ import annotations

from decimal import Decimal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reclaim_nb.errors import AttemptError
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.loading import what_is_wrong


class Limits(BaseModel):
    """Limits of one attempt; None: no such limit.

    Attributes:
        budget_hours: device hours granted (H100-equivalent GPU-hours, or CPU-hours).
        wall_clock_seconds: time from the first cell to the end.
        turns: cells the agent may run.
        tokens: model tokens, in and out.
        usd: cost of the model, US dollars.
        cell_seconds: time of one cell, unless the agent asks for less; past it the cell is interrupted.
        grace_seconds: time between interrupt and kill.
        workspace_mib: size of the working folder, MiB.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    budget_hours: Decimal = Field(gt=0)
    wall_clock_seconds: float | None = Field(default=None, gt=0)
    turns: int | None = Field(default=None, gt=0)
    tokens: int | None = Field(default=None, gt=0)
    usd: Decimal | None = Field(default=None, gt=0)
    cell_seconds: float | None = Field(default=None, gt=0)
    grace_seconds: float = Field(default=1.0, gt=0)
    workspace_mib: int = Field(default=10 * 1024, gt=0)


def limits_for(card: PaperCard, **given: object) -> Limits:
    """Return a card's limits: its budget, and a wall clock of four times that or half an hour, whichever is longer.

    Args:
        card: the paper card.
        given: fields to set otherwise; None leaves the default.

    Raises:
        AttemptError: when a limit is impossible, naming it.
    """
    hours = card.budget.hours
    defaults: dict[str, object] = {
        "budget_hours": hours,
        "wall_clock_seconds": max(float(hours) * 3600 * 4, 1800.0),
        "turns": 500,
    }
    try:
        return Limits.model_validate(defaults | {name: value for name, value in given.items() if value is not None})
    except ValidationError as problem:
        raise AttemptError(f"limits: {what_is_wrong(problem, Limits)}") from problem
