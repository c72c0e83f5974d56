"""What keeps a test and the cells of its attempt in step, where a sleep would leave it to the machine's speed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from reclaim_nb.attempts.session import Session

HEEDED = {"grace_seconds": 20.0}
"""Limits where a cell is to heed the interrupt, however long a busy machine takes to bring it."""

AGES = 100_000.0
"""Longer than any limit of these tests, seconds."""


def until_let_go(name: str = "go") -> str:
    """Return lines of a cell that wait for :func:`let_go`; ``os`` and ``time`` are imported by then."""
    return f"import os, time\nwhile not os.path.exists({name!r}): time.sleep(0.01)\n"


def let_go(attempt: Path, name: str = "go") -> None:
    """Let the cell go on that waits in the working folder of an attempt."""
    (attempt / "workspace" / name).touch()


def time_passes(begun: Callable[[Session], bool]) -> Callable[[Session], None]:
    """Return an observer for whose attempt ages have passed as soon as something has begun."""

    def look(session: Session) -> None:
        if session.passed_before < AGES and begun(session):
            session.passed_before = AGES

    return look


def has(name: str) -> Callable[[Session], bool]:
    """Return whether the working folder of a session holds a file."""
    return lambda session: (session.workspace / name).exists()


def told(text: str) -> Callable[[Session], bool]:
    """Return whether the stream of a session holds a text."""
    return lambda session: text.encode() in session.recorder.folder.stream.read_bytes()
