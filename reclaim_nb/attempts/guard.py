"""The guard: watches limits and the kernel's life, and stops what runs past them."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from reclaim_nb.attempts.cells import RunningCell
from reclaim_nb.attempts.conditions import GATE
from reclaim_nb.attempts.reasons import EndReason
from reclaim_nb.attempts.tools import AttemptOver
from reclaim_nb.errors import ReclaimError
from reclaim_nb.record.files import folder_bytes

if TYPE_CHECKING:
    from reclaim_nb.attempts.session import Session

TICK_SECONDS = 0.2
METER_EVENT_SECONDS = 10.0
WORKSPACE_SECONDS = 3.0
MIB = 1024 * 1024


class Guard:
    """Watches one session.

    Attributes:
        over: why no more tools work, None while they do.
        ended: set together with ``over``.
        stopped: everything that still comes from the kernel came after the stop and counts for nothing.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._clock = session.clock
        self.over: AttemptOver | None = None
        self.ended = asyncio.Event()
        self.stopped = False
        self._next_meter_event = self._clock.monotonic() + METER_EVENT_SECONDS
        self._next_workspace = self._clock.monotonic() + WORKSPACE_SECONDS

    async def watch(self) -> None:
        """Look every fifth of a second, until the attempt is over."""
        while self.over is None:
            await asyncio.sleep(TICK_SECONDS)
            try:
                await self._look()
            except Exception as problem:  # noqa: BLE001 - without a watch there are no limits, so the attempt cannot go on
                self.failed(problem)
            self._session.notify()

    def end_with(self, reason: EndReason, detail: str = "") -> AttemptOver:
        """Decide the end reason; the first decision stands."""
        if self.over is None:
            self.over = AttemptOver(reason, detail)
            self.ended.set()
        return self.over

    def failed(self, problem: Exception) -> None:
        """The harness cannot record or watch any more, so nothing more may happen."""
        text = str(problem) if isinstance(problem, ReclaimError) else f"a fault of the harness: {problem!r}"
        self.end_with("infrastructure_error", text)
        self.stopped = True
        running = self._session.running
        if running is not None:
            running.detail = text
            running.done.set()

    async def limit(self, reason: EndReason, detail: str) -> AttemptOver:
        """A limit of the attempt is reached: record it, and stop what runs; nothing after this event counts."""
        session = self._session
        over = self.end_with(reason, detail)
        session.recorder.append(
            "limit", {"which": reason, "detail": detail, "stop": True, "meter": session.reading.to_json()}
        )
        self.stopped = True
        if session.running is not None:
            await self.stop_cell(session.running, "interrupted", f"interrupted: {reason} ({detail})")
        await session.kernel.kill()  # a job in the background must not go on spending while the agent thinks
        return over

    async def stop_cell(self, running: RunningCell, status: str, detail: str) -> None:
        """Interrupt a running cell and end the processes it started; a cell that does not heed dies with the kernel."""
        session = self._session
        running.stopping, running.detail = status, detail
        try:
            await session.kernel.interrupt()
            await _wait(running.done, session.limits.grace_seconds)
            age = self._clock.monotonic() - running.began
            await asyncio.to_thread(session.kernel.kill_younger, age)
            if await _wait(running.done, 0.3):
                return
            await session.kernel.kill()
            await self.kernel_died(f"{detail}; it did not heed the interrupt and was killed with the kernel")
        finally:
            running.swept.set()

    async def kernel_died(self, detail: str | None = None) -> None:
        """Take what the kernel had still sent, record how it ended, and end the attempt if nothing has yet."""
        session = self._session
        for _ in range(2):
            session.kernel.link.drain()
            await asyncio.sleep(0.05)
        await session.kernel.poll()
        death = session.kernel.death
        text = detail or (death.text if death else "the kernel ended")
        self.end_with("kernel_died", text)
        self.stopped = True
        session.recorder.append(
            "limit",
            {
                "which": "kernel_died",
                "detail": text,
                "stop": True,
                "exit_code": death.exit_code if death else None,
                "out_of_memory": bool(death and death.out_of_memory),
            },
        )
        running = session.running
        if running is not None and not running.done.is_set():
            running.detail = text
            running.done.set()

    async def _look(self) -> None:
        session, now = self._session, self._clock.monotonic()
        reading = session.tick()
        if await session.kernel.poll() is not None:
            await self.kernel_died()
            return
        if now >= self._next_meter_event:
            self._next_meter_event = now + METER_EVENT_SECONDS
            session.recorder.append("meter", session.spend())
        limits = session.limits
        if reading.hours >= limits.budget_hours:
            await self.limit("budget_exhausted", f"{limits.budget_hours} {session.card.hours_unit}")
            return
        passed, allowed = session.wall_clock_seconds, limits.wall_clock_seconds
        if allowed is not None and passed >= allowed:
            await self.limit("wall_clock", f"{allowed:g} s")
            return
        running = session.running
        if running is not None and running.stopping is None:
            await self._look_at_cell(running, now)

    async def _look_at_cell(self, running: RunningCell, now: float) -> None:
        closed = self._session.gate_problem()
        if closed is not None and self._session.cells[running.cell].author == "agent":
            self._session.recorder.append("limit", {"which": GATE, "detail": closed, "stop": False})
            await self.stop_cell(running, "interrupted", f"interrupted: {closed}")
        elif running.deadline is not None and now >= running.deadline:
            seconds = running.deadline - running.began
            await self.stop_cell(running, "timeout", f"interrupted after {seconds:g} s, the time limit of the cell")
        elif now >= self._next_workspace:
            problem = await self._workspace_problem()
            self._next_workspace = self._clock.monotonic() + WORKSPACE_SECONDS
            if problem is not None and running.stopping is None and not running.done.is_set():
                record: dict[str, Any] = {"which": "workspace", "detail": problem, "stop": False}
                self._session.recorder.append("limit", record)
                await self.stop_cell(running, "interrupted", problem)

    async def _workspace_problem(self) -> str | None:
        allowed = self._session.limits.workspace_mib
        folders = [self._session.workspace, *self._session.kernel.writable]
        size = await asyncio.to_thread(lambda: sum(map(folder_bytes, folders)))
        if size <= allowed * MIB:
            return None
        return f"interrupted: the working folder holds {size // MIB} MiB and may hold {allowed} MiB; delete files"


async def _wait(event: asyncio.Event, seconds: float) -> bool:
    # Not asyncio.wait_for: in Python 3.11 it loses a cancellation that comes together with the event.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()
