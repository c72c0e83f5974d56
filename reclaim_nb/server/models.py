"""What a request may hold; everything else is refused."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Name = Annotated[str, Field(min_length=1, max_length=120)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StartBody(_Body):
    """A new attempt; the fields are those of :class:`~reclaim_nb.attempts.prepare.Request` a person may set here."""

    paper: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,100}/[a-z0-9]+([-.][a-z0-9]+)*$", max_length=220)]
    """``suite/slug``: a path is not taken, so only papers of the configured suites can be tried."""
    agent: Name = "replay"
    model: Name | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    kernel: Literal["auto", "docker", "local"] = "auto"
    network: Literal["none", "open"] = "none"
    batch: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")] = "lab"
    budget_hours: Annotated[Decimal, Field(gt=0, le=100000, allow_inf_nan=False)] | None = None
    wall_clock_seconds: Positive | None = None
    turns: Annotated[int, Field(ge=1)] | None = None
    tokens: Annotated[int, Field(ge=1)] | None = None
    usd: Annotated[Decimal, Field(gt=0, allow_inf_nan=False)] | None = None
    conditions: tuple[Name, ...] = ()
    grade: bool = True
    """Grade when it has ended."""


class ActionBody(_Body):
    """What is to be done with an attempt."""

    action: Literal["stop", "resume", "grade", "reexecute", "stop-reexecution"]
    whole: bool = False
    """Of a re-execution: run the whole notebook in an empty workspace, not the measurement alone."""

    @model_validator(mode="after")
    def _only_of_reexecute(self) -> ActionBody:
        if self.whole and self.action != "reexecute":
            raise ValueError("'whole' belongs to the action 'reexecute'")
        return self


class WindowQuery(_Body):
    """Which part of a long list is asked for."""

    start: Annotated[int, Field(ge=0, le=10_000_000)] = 0
    count: Annotated[int, Field(ge=1, le=100)] = 50
    only: Literal["allowed", "refused", "different"] | None = None
    """Of a network log: one kind of request. Of a comparison: leave out cells that are the same."""


class TalkQuery(_Body):
    """Which part of a conversation is asked for."""

    start: Annotated[int, Field(ge=0, le=10_000_000)] = 0
    count: Annotated[int, Field(ge=1, le=100)] = 50
    cell: Name | None = None
    """A window around this cell, instead of one from ``start`` on."""
    whole: bool = False
    """The one entry at ``start``, with far longer texts."""
