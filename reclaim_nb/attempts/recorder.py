"""Puts every fact on disk first and into the notebook second, and saves the notebook while the attempt runs."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Any

from reclaim_nb.record.clock import Clock
from reclaim_nb.record.events import Event, decode
from reclaim_nb.record.files import write_atomic
from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.record.payloads import Policy, spill
from reclaim_nb.record.reader import read_events, resolved
from reclaim_nb.record.render import Rendering
from reclaim_nb.record.stream import StreamWriter

SAVE_SECONDS = 0.5
"""Least time between two saves of a running attempt's notebook."""

SAVE_SHARE = 5
"""A save waits at least this many times the duration of the one before, so that large notebooks stay cheap."""


class Recorder:
    """Stream, payloads and notebook of one attempt folder.

    Args:
        folder: the attempt folder; an existing stream is read and gone on with.
        policy: how much of large texts is kept.
        clock: time of the events.
    """

    def __init__(self, folder: AttemptFolder, clock: Clock, policy: Policy | None = None) -> None:
        self.folder = folder
        self.store = folder.store(policy)
        self.rendering = Rendering(self.store)
        self.history: list[Event] = []
        self.last_time: str | None = None
        self._signals: dict[str, list[dict[str, Any]]] = {}
        self._offsets: dict[str, list[int]] = {}
        if folder.stream.exists():
            self._replay()
        self._writer = StreamWriter(folder.stream, self.store, clock)
        self._dirty = asyncio.Event()
        self._saved_events = -1
        self._saving = threading.Lock()

    @property
    def head(self) -> str:
        """Hash of the last event."""
        return self._writer.head

    def append(self, kind: str, data: dict[str, Any]) -> Event:
        """Record one event, then show it in the notebook.

        Raises:
            RecordError: when the disk does not take it.
        """
        if kind == "message":
            data["content"] = spill(data["content"], self.store)
            data["metadata"] = spill(data["metadata"], self.store)
        elif kind == "tool":  # its arguments may come from a cell
            data = {**data, **{part: spill(data[part], self.store) for part in ("arguments", "result")}}
        event = self._writer.append(kind, data)
        self._note(event, self._writer.offset)
        self.rendering.apply(event)
        self._dirty.set()
        return event

    def cell_messages(self, cell: str) -> list[dict[str, Any]]:
        """Return the recorded messages of a cell, with their whole texts."""
        messages = []
        with open(self.folder.stream, "rb") as file:
            for offset in self._offsets.get(cell, ()):
                file.seek(offset)
                messages.append(resolved(decode(file.readline().rstrip(b"\n")), self.store))
        return messages

    def request_messages(self, request: str) -> list[dict[str, Any]]:
        """Return those recorded messages of a request that tell how far it got: count, reply and idle."""
        return self._signals.get(request, [])

    def save(self) -> None:
        """Write the notebook now, if the stream has gone on since the last time."""
        if self._writer.seq != self._saved_events:
            self._write_notebook(self.rendering.to_bytes(), self._writer.seq)

    async def autosave(self) -> None:
        """Save whenever something was recorded, until cancelled; no more often than is cheap."""
        loop = asyncio.get_running_loop()
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            began, events = loop.time(), self._writer.seq
            content = self.rendering.to_bytes()
            with contextlib.suppress(OSError):  # a full disk ends the attempt through the stream, which says so
                await asyncio.to_thread(self._write_notebook, content, events)
            await asyncio.sleep(max(SAVE_SECONDS, SAVE_SHARE * (loop.time() - began)))

    def _write_notebook(self, content: bytes, events: int) -> None:
        # A save that was under way in its thread when the attempt ended must not replace the last one.
        with self._saving:
            if events > self._saved_events:
                write_atomic(self.folder.notebook, content)
                self._saved_events = events

    def close(self) -> None:
        """Let go of the files."""
        self._writer.close()

    def _replay(self) -> None:
        stored, offset = 0, 0
        positions = _line_offsets(self.folder)
        for event in read_events(self.folder.stream):
            offset = positions[event.seq]
            self._note(event, offset)
            self.rendering.apply(event)
            stored += _payload_bytes(event.data)
            self.last_time = event.time
            if event.kind != "message":
                self.history.append(event)
            elif event.data["msg_type"] in ("execute_input", "execute_reply", "status"):
                self._signals.setdefault(event.data["parent"], []).append(event.data)
        self.store.resume(stored)

    def _note(self, event: Event, offset: int) -> None:
        if event.kind == "message" and event.data["channel"] == "iopub" and event.data["cell"]:
            self._offsets.setdefault(event.data["cell"], []).append(offset)


def _line_offsets(folder: AttemptFolder) -> list[int]:
    """Return where each event's line begins; lines that are no events are passed over."""
    offsets, position = [], 0
    with open(folder.stream, "rb") as file:
        for line in file:
            try:
                decode(line.rstrip(b"\n"))
                offsets.append(position)
            except ValueError:
                pass
            position += len(line)
    return offsets


def _payload_bytes(data: Any) -> int:
    if isinstance(data, dict):
        if "$payload" in data and isinstance(data["$payload"], dict):
            return int(data["$payload"].get("bytes", 0))
        return sum(map(_payload_bytes, data.values()))
    if isinstance(data, list):
        return sum(map(_payload_bytes, data))
    return 0
