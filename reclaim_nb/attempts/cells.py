"""Cells of an attempt in memory: the one that runs, and what is known of the others."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass
class RunningCell:
    """The cell that runs now.

    Attributes:
        cell, request: its id, and the id of the request that runs it.
        started: UTC time; ``began``: the same on the monotonic clock.
        charged_before: charged seconds of the attempt when it began.
        deadline: monotonic time at which it is interrupted, None for never.
        done: set when it has ended, one way or the other.
        swept: set when, of a cell that was stopped, the processes it started have been ended too.
        reply, error, idle, messages, execution_count: what came from the kernel.
        stopping: status it gets because it was stopped, None when it was not.
        detail: a sentence on its status.
        gaps: messages that are known to be lost.
        adopted: another runner sent it, so its reply goes there and will never come.
    """

    cell: str
    request: str
    started: str
    began: float
    charged_before: float
    deadline: float | None
    done: asyncio.Event = field(default_factory=asyncio.Event)
    swept: asyncio.Event = field(default_factory=asyncio.Event)
    reply: dict[str, Any] | None = None
    idle: bool = False
    messages: int = 0
    execution_count: int | None = None
    stopping: str | None = None
    detail: str | None = None
    gaps: int = 0
    adopted: bool = False
    error: dict[str, Any] | None = None

    def error_text(self) -> str:
        """Return name and text of the error that ended the cell, in one line for people."""
        reply = self.reply or {}
        # IPython's reply names no error where showing the result failed; the message before it does.
        told = reply if reply.get("ename") not in (None, "NoneType") else self.error or reply
        return f"{str(told.get('ename', 'error'))[:100]}: {str(told.get('evalue', ''))[:300]}"

    def take(self, kind: str, content: dict[str, Any]) -> None:
        """Take note of one of the cell's messages; ``done`` is set once it has answered and is idle."""
        self.messages += 1
        if kind == "error":
            self.error = content
        if kind == "execute_input":
            count = content.get("execution_count")
            self.execution_count = count if isinstance(count, int) else None
        elif kind == "execute_reply":
            self.reply = content
        elif kind == "status" and content.get("execution_state") == "idle":
            self.idle = True
        if self.idle and (self.reply is not None or self.adopted):
            self.done.set()


@dataclass(frozen=True)
class CellSummary:
    """A cell of the attempt so far, for agents that go on after a resume."""

    cell: str
    author: str
    cell_type: str
    source: str
    metadata: dict[str, Any]
    status: str | None

    def with_status(self, status: str) -> CellSummary:
        """Return the same cell with another status."""
        return replace(self, status=status)
