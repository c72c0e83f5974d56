"""What a kernel did with its network, as ``network`` events that name the cell in which it was done."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from reclaim_nb.kernels.network_watch import NetworkWatch
from reclaim_nb.record.clock import parse_time

if TYPE_CHECKING:
    from reclaim_nb.attempts.recorder import Recorder
    from reclaim_nb.attempts.session import Session

LOOK_SECONDS = 0.3
"""How often the logs are read while a cell runs; they are also read when a cell begins and when it ends."""

_CLOCK_STEP = 0.002
"""How exactly the proxy's log tells the time, seconds."""


class NetworkLog:
    """Turns what the watch sees into ``network`` events of one session.

    A request belongs to the cell that ran when it was made. The proxy's log tells that time; all else is taken to have
    happened since the last look, and there is a look at both ends of every cell.
    """

    def __init__(self, session: Session, watch: NetworkWatch) -> None:
        self._session = session
        self._watch = watch
        self._cells, self._open = _cells_so_far(session.recorder)
        self._proxy_lives = True

    async def run(self) -> None:
        """Look every third of a second, until cancelled."""
        while True:
            try:
                self.look()
                await self._look_at_proxy()
            except Exception as problem:  # noqa: BLE001 - without the log there is no policy, so the attempt ends
                self._session.guard.failed(problem)
                return
            await asyncio.sleep(LOOK_SECONDS)

    def begin(self, cell: str, started: str) -> None:
        """A cell has been sent; there was a look just before."""
        self._open = (cell, parse_time(started).timestamp())

    def end(self, cell: str, started: str, ended: str) -> None:
        """The running cell has ended: what has happened by now was done in it."""
        self.look()
        self._cells.append((cell, parse_time(started).timestamp(), parse_time(ended).timestamp()))
        self._open = None

    def look(self) -> None:
        """Record what has happened since the last look."""
        for entry in self._watch.entries():
            when = entry.pop("started", None)
            at = None if when is None else datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            cell = self._cell_at(when) if when is not None else self._open[0] if self._open else None
            facts = {"cell": cell, "started": at, **entry, "log": self._watch.state()}
            self._session.recorder.append("network", facts)

    def finish(self) -> None:
        """Record what the proxy wrote when it ended, and how much was only counted."""
        self.look()
        if self._watch.dropped:
            self.note(f"{self._watch.dropped} further requests were counted and not recorded one by one")
        self.close()

    def close(self) -> None:
        """Let go of the logs; another runner reads on."""
        self._watch.close()

    async def _look_at_proxy(self) -> None:
        if not self._proxy_lives:
            return
        problem = await asyncio.to_thread(self._watch.proxy_problem)
        if problem is not None:
            self._proxy_lives = False
            self.note(f"{problem}; from now on nothing can be reached")

    def note(self, text: str) -> None:
        """Record a sentence about the network."""
        self._session.recorder.append("note", {"what": "network", "text": text})

    def _cell_at(self, when: float) -> str | None:
        """Return the cell that ran at a time (seconds since the epoch), None where none did."""
        if self._open is not None and when >= self._open[1] - _CLOCK_STEP:
            return self._open[0]
        for cell, started, ended in reversed(self._cells):
            if started - _CLOCK_STEP <= when <= ended:
                return cell
        return None


def read_so_far(recorder: Recorder) -> dict[str, int]:
    """Return how far the proxy's logs stand in the record already."""
    for event in reversed(recorder.history):
        if event.kind == "network" and "log" in event.data:
            return dict(event.data["log"])
    return {}


def _cells_so_far(recorder: Recorder) -> tuple[list[tuple[str, float, float]], tuple[str, float] | None]:
    """Return the cells that another runner has ended, with start and end, and the one it left running."""
    ended, running = [], None
    for event in recorder.history:
        data: dict[str, Any] = event.data
        if event.kind == "execute":
            running = (data["cell"], parse_time(event.time).timestamp())
        elif event.kind == "cell_end":
            running = None
            ended.append((data["cell"], *(parse_time(data[name]).timestamp() for name in ("started", "ended"))))
    return ended, running
