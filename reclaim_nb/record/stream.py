"""Writing the stream: append-only, hash-chained, on disk before anything is rendered from it."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from reclaim_nb.errors import RecordError
from reclaim_nb.record.clock import Clock, SystemClock
from reclaim_nb.record.events import DURABLE, GENESIS, Event, decode, encode, line_hash, plain
from reclaim_nb.record.payloads import PayloadStore
from reclaim_nb.record.reader import scan


class StreamWriter:
    """The only writer of a ``stream.jsonl``.

    Every event is handed to the operating system with one ``write`` before :meth:`append` returns, so it survives the
    death of the process. Events of the kinds in :data:`~reclaim_nb.record.events.DURABLE` (and all before them) are
    also on the disk by then, so they survive the death of the machine.

    Attributes:
        head: hash of the last event.
        seq: number the next event gets.
        offset: where the last event's line begins in the file, bytes.
    """

    def __init__(self, path: Path, payloads: PayloadStore, clock: Clock | None = None) -> None:
        self.path = path
        self.payloads = payloads
        self._clock = clock or SystemClock()
        state = scan(path) if path.exists() else None
        self.head = state.head if state else GENESIS
        self.seq = state.events if state else 0
        self.offset = 0
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        # A line that a dying runner left unfinished stays where it is; the next event names its hash and goes on.
        self._over = state.over if state else None
        if state and state.unfinished:
            self._write(b"\n")

    def append(self, kind: str, data: dict[str, Any]) -> Event:
        """Append one event and return it.

        Raises:
            RecordError: when the disk does not take it; nothing of the line is then left in the file.
        """
        time = self._clock.now()
        if self._over is not None:
            data = {**data, "$over": self._over}
        try:
            line = encode(self.seq, time, self.head, kind, data)
        except (ValueError, TypeError):
            data = plain(data)
            line = encode(self.seq, time, self.head, kind, data)
        self.offset = size = os.fstat(self._file).st_size
        try:
            self._write(line + b"\n")
            if kind in DURABLE:
                self.payloads.sync()
                os.fdatasync(self._file)
        except OSError as problem:
            os.ftruncate(self._file, size)
            raise RecordError(
                f"{self.path}: the record cannot be written ({problem.strerror}); free space, then `reclaim resume`"
            ) from problem
        # A message came as JSON, so it reads back as it is; other data may hold tuples or split surrogate pairs.
        event = Event(self.seq, time, self.head, kind, data, line_hash(line)) if kind == "message" else decode(line)
        self._over = None
        self.seq += 1
        self.head = event.hash
        return event

    def close(self) -> None:
        """Make everything durable and let go of the file."""
        if self._file >= 0:
            os.fsync(self._file)
            os.close(self._file)
            self._file = -1
        self.payloads.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._file, view) :]
