"""Reading a stream, and saying exactly where it is broken if it is."""

from __future__ import annotations

import contextlib
import hashlib
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reclaim_nb.errors import RecordError, UnsoundRecord
from reclaim_nb.record.events import GENESIS, Event, decode
from reclaim_nb.record.payloads import PayloadStore, resolve

BUFFER_BYTES = 256 * 1024
"""Read of a stream at once; its lines are often longer than a file's usual buffer."""
MOST_LOOSE = 64
"""Lines that are no events before the first event, or after the last, among which nobody looks further for one."""
_LOOSE = "the line is not an event"
_NOT_LOOSE = "it goes on over an unfinished line that is not there any more"


class BrokenLink(UnsoundRecord):
    """The chain does not hold at one line."""

    def __init__(self, path: Path, line: int, reason: str) -> None:
        super().__init__(f"{path}, line {line}: {reason}; this record is void from here on")
        self.path = path
        self.line = line
        self.reason = reason


@dataclass(slots=True)
class StreamState:
    """What a read of a stream has shown so far.

    Attributes:
        events: number of events.
        head: hash of the last of them.
        unfinished: the last line has no newline: what a dying runner left.
        loose: number of the first of the lines at the end that are no events, None when there are none.
        over: sha256 of those lines, None when there are none.
    """

    events: int = 0
    head: str = GENESIS
    unfinished: bool = False
    loose: int | None = None
    over: str | None = None


def read_events(path: Path, state: StreamState | None = None, most_loose: int | None = None) -> Iterator[Event]:
    """Yield the events of a stream, checking sequence and chain on the way.

    Lines that are no events are what dying runners left. They are accepted at the very end, and inside only where the
    next event names their hash as ``$over``, which the runner that resumed there wrote.

    Args:
        path: the stream.
        state: kept up to date while reading, if given.
        most_loose: how many lines that are no events are passed over, one after the other; default: any number.

    Raises:
        BrokenLink: at the first line that does not follow from the one before.
        RecordError: when there is no such file.
    """
    state = state or StreamState()
    left = hashlib.sha256()
    try:
        check_is_file(path)
        file = open(path, "rb", BUFFER_BYTES)  # noqa: SIM115 - the generator keeps it open between events
    except OSError as problem:
        raise RecordError(f"{path}: no stream to read ({problem.strerror})") from problem
    with file:
        for number, line in enumerate(file, start=1):
            state.unfinished = not line.endswith(b"\n")
            try:
                event = decode(line.rstrip(b"\n"))
            except ValueError:
                state.loose = state.loose or number
                left.update(line.rstrip(b"\n") + b"\n")
                state.over = left.hexdigest()
                if most_loose is not None and number - state.loose >= most_loose:
                    return
                continue
            if event.seq != state.events:
                raise BrokenLink(path, number, f"event number {event.seq} stands where {state.events} is due")
            if event.prev != state.head:
                raise BrokenLink(path, number, "it does not follow from the line before, which was changed or removed")
            if event.data.get("$over") != state.over:
                raise BrokenLink(path, state.loose or number, _LOOSE if state.loose else _NOT_LOOSE)
            if state.loose is not None:
                state.loose, state.over, left = None, None, hashlib.sha256()
            state.head, state.events = event.hash, state.events + 1
            yield event


def scan(path: Path) -> StreamState:
    """Read a stream to its end and return its state.

    Raises:
        BrokenLink: at the first line that does not follow from the one before.
    """
    state = StreamState()
    for _ in read_events(path, state):
        pass
    return state


def resolved(event: Event, store: PayloadStore) -> dict[str, Any]:
    """Return an event's data with its large texts put back in place."""
    data: dict[str, Any] = resolve(event.data, store)
    return data


def first_event(path: Path) -> Event:
    """Return the ``attempt`` event of a stream without reading the rest.

    Raises:
        RecordError: when the file does not begin with one.
    """
    event = next(read_events(path, most_loose=MOST_LOOSE), None)
    if event is None or event.kind != "attempt":
        raise RecordError(f"{path}: does not begin with an attempt")
    return event


def last_event(path: Path, tail_bytes: int = 262144) -> Event | None:
    """Return the last whole event of a stream from its end alone; its link to the line before is not checked."""
    try:
        check_is_file(path)
        size = path.stat().st_size
        with open(path, "rb") as file:
            file.seek(max(0, size - tail_bytes))
            lines = file.read().rsplit(b"\n", MOST_LOOSE)
    except (OSError, RecordError):
        return None
    for line in reversed(lines):
        try:
            return decode(line)
        except ValueError:
            continue
    return last_event(path, tail_bytes * 16) if tail_bytes < size and len(lines) <= MOST_LOOSE else None


def check_is_file(path: Path) -> None:
    """Pass when a path is a file, or not there: to open anything else, such as a pipe, may wait for ever.

    Raises:
        RecordError: when it is something else.
    """
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(path.stat().st_mode):
            raise RecordError(f"{path}: not a file")
