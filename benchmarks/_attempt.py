"""An attempt for benchmarks: a session whose cells are written here."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from reclaim_nb.attempts.prepare import Prepared, Request, prepare
from reclaim_nb.attempts.recorder import Recorder
from reclaim_nb.attempts.session import Session
from reclaim_nb.record.clock import SystemClock
from reclaim_nb.record.events import SCHEMA

PAPER = "small/iforest-breastw"


def prepared(kernel: str, **options: object) -> Prepared:
    """Return a prepared attempt in a fresh folder."""
    runs = tempfile.mkdtemp(prefix="reclaim-bench-")
    return prepare(Request(paper=PAPER, kernel=kernel, runs=runs, **options))  # type: ignore[arg-type]


async def with_session(kernel: str, work: Callable[[Session], Awaitable[None]], **options: object) -> Path:
    """Run ``work`` with the session of a fresh attempt, end it, and return its folder."""
    ready = prepared(kernel, **options)
    recorder = Recorder(ready.folder, SystemClock())
    session = Session(ready.spec, ready.card.card, None, recorder, release=None)
    recorder.append("attempt", {"schema": SCHEMA, "spec": ready.spec.to_json(), "template": []})
    await session.start()
    try:
        await work(session)
    finally:
        await session.close("agent_stopped")
    return ready.folder.path


def run(kernel: str, work: Callable[[Session], Awaitable[None]], **options: object) -> Path:
    """Run :func:`with_session` from plain code."""
    return asyncio.run(with_session(kernel, work, **options))
