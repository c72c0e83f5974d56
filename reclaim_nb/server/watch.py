"""The watch over a runs folder, and the feed of what it sees.

Records on disk are the only source, so that attempts show whoever started them. Nothing is looked at while nobody
listens.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from reclaim_nb.errors import ReclaimError
from reclaim_nb.record.folder import AttemptFolder, is_held
from reclaim_nb.record.index import Row, row_of
from reclaim_nb.server import processes
from reclaim_nb.server.places import Places
from reclaim_nb.server.tail import Live, Tail, brief
from reclaim_nb.server.views import rows, slim, with_state

LOOK_SECONDS = 0.25
"""Time between two looks at the streams of running attempts."""

SCAN_SECONDS = 1.0
"""Least time between two looks at the whole folder."""

SCAN_SHARE = 15
"""A scan waits at least this many times the duration of the one before, so that large folders stay cheap."""

HELD_SECONDS = 2.0
KEPT = 2000
"""Messages that a client which lost its connection can still be given."""

MANY = 300
"""More changes than this at once are told as one: read the list again."""

FOLLOWED = 16
"""Most attempts that one client can follow."""

TAIL_BYTES = 256 * 1024

Send = Callable[[str], None]


@dataclass(eq=False)
class Listener:
    """One client: where its messages go, and the attempts whose events it follows."""

    send: Send
    follows: dict[str, Tail] = field(default_factory=dict)


class Feed:
    """Numbered messages, of which the last are kept.

    Attributes:
        epoch: names this feed; a number means nothing in another one.
        seq: number of the last message.
    """

    def __init__(self) -> None:
        self.epoch = uuid.uuid4().hex[:12]
        self.seq = 0
        self._kept: deque[tuple[int, str]] = deque(maxlen=KEPT)
        self.listeners: set[Listener] = set()

    def publish(self, message: dict[str, Any]) -> None:
        """Number a message and give it to everyone who listens."""
        self.seq += 1
        text = json.dumps({"seq": self.seq, **message})
        self._kept.append((self.seq, text))
        for listener in list(self.listeners):
            listener.send(text)

    def since(self, epoch: str | None, seq: int | None) -> list[str] | None:
        """Return the messages after a number, None when they are not all there any more."""
        if epoch != self.epoch or seq is None or seq > self.seq:
            return None
        oldest = self._kept[0][0] if self._kept else self.seq + 1
        if seq + 1 < oldest:
            return None
        return [text for number, text in self._kept if number > seq]


class Watch:
    """Looks at a runs folder while somebody listens.

    Args:
        places: the folders.
        log: where faults are told.
    """

    def __init__(self, places: Places, log: Any) -> None:
        self.places, self._log = places, log
        self.feed = Feed()
        self._rows: dict[str, dict[str, Any]] | None = None
        self._running: dict[str, tuple[Tail, Live]] = {}
        self._task: asyncio.Task[None] | None = None
        self._next_scan = 0.0
        self._next_held = 0.0

    def join(self, listener: Listener) -> None:
        """Begin to tell a client, and to look when it is the first."""
        if not self.feed.listeners:
            self._next_scan = 0.0
        self.feed.listeners.add(listener)
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._look())

    def leave(self, listener: Listener) -> None:
        """Tell a client no more."""
        self.feed.listeners.discard(listener)

    def follow(self, listener: Listener, name: str, since: int) -> None:
        """Send a client the events of one attempt, from a sequence number of its stream on.

        Raises:
            NotFound: when there is no such attempt.
            ReclaimError: when it follows too many.
        """
        folder = self.places.attempt(name)
        if name not in listener.follows and len(listener.follows) >= FOLLOWED:
            raise ReclaimError(f"at most {FOLLOWED} attempts can be followed at once; close one")
        listener.follows[name] = Tail(folder.stream, since)

    def know(self, found: list[Row]) -> None:
        """Take note of what a client has just read, so that it is told of every change since."""
        if self._task is None or self._task.done():
            self._take(found)

    def soon(self) -> None:
        """Look at the whole folder at the next occasion: something has just been started or graded."""
        self._next_scan = 0.0

    async def close(self) -> None:
        """Stop looking."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _look(self) -> None:
        while self.feed.listeners:
            try:
                if time.monotonic() >= self._next_scan:
                    began = time.monotonic()
                    found = await asyncio.to_thread(rows, self.places)
                    took = time.monotonic() - began
                    self._next_scan = time.monotonic() + max(SCAN_SECONDS, SCAN_SHARE * took)
                    self._take(found)
                    processes.reap()
                await self._follow()
            except ReclaimError as problem:
                self._log.warning("reclaim: %s", problem)
            except Exception:  # noqa: BLE001 - the border of the watch: one bad look must not end all later ones
                self._log.exception("reclaim: a look at %s failed", self.places.runs)
                self._next_scan = time.monotonic() + 10 * SCAN_SECONDS
            await asyncio.sleep(LOOK_SECONDS)

    def _take(self, found: list[Row]) -> None:
        now = {row.path: slim(row) for row in found}
        before, self._rows = self._rows, now
        running = {path for path, row in now.items() if row["state"] == "running"}
        for path in running - self._running.keys():
            self._running[path] = (Tail(AttemptFolder(self.places.runs / path).stream, 0, TAIL_BYTES), Live())
        for path in self._running.keys() - running:
            del self._running[path]
        if before is None:
            return  # whoever listens reads the list by itself
        changed = [row for path, row in now.items() if before.get(path) != row]
        gone = before.keys() - now.keys()
        if len(changed) + len(gone) > MANY:
            self.feed.publish({"type": "reload"})
            return
        for row in changed:
            self.feed.publish({"type": "attempt", "attempt": row})
        for path in gone:
            self.feed.publish({"type": "gone", "path": path})

    async def _follow(self) -> None:
        lives, records = await asyncio.to_thread(self._read)
        for path, live in lives:
            self.feed.publish({"type": "live", "path": path, **live.to_json()})
        for listener, path, events in records:
            listener.send(json.dumps({"type": "record", "path": path, "events": events}))
        ended = [path for path, live in lives if live.ended]
        if time.monotonic() >= self._next_held:
            self._next_held = time.monotonic() + HELD_SECONDS
            ended += await asyncio.to_thread(self._abandoned)
        for path in dict.fromkeys(ended):
            folder = AttemptFolder(self.places.runs / path)
            row = slim(await asyncio.to_thread(lambda: with_state(row_of(folder, path), folder)))  # noqa: B023
            if row["state"] != "running":
                self._running.pop(path, None)
            if self._rows is not None and self._rows.get(path) != row:
                self._rows[path] = row
                self.feed.publish({"type": "attempt", "attempt": row})

    def _read(self) -> tuple[list[tuple[str, Live]], list[tuple[Listener, str, list[dict[str, Any]]]]]:
        lives = []
        for path, (tail, live) in list(self._running.items()):
            if events := tail.read():
                live.apply(brief(events))
                lives.append((path, live))
        records = []
        for listener in list(self.feed.listeners):
            for path, tail in list(listener.follows.items()):
                if events := tail.read():
                    records.append((listener, path, brief(events)))
        return lives, records

    def _abandoned(self) -> list[str]:
        return [path for path in list(self._running) if not is_held(AttemptFolder(self.places.runs / path))]

    def lives(self) -> dict[str, dict[str, Any]]:
        """Return the moment of each running attempt, for a client that has just read the list."""
        return {path: live.to_json() for path, (_, live) in self._running.items()}
