"""What a stream tells besides its messages: cells, what was said and called, requests to the network.

A stream may hold hundreds of megabytes of messages. They are passed over unread; of every other line only its place and
a few facts are kept, and a growing stream is read on from where the last reading ended.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reclaim_nb.errors import RecordError
from reclaim_nb.record.events import Event, decode
from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.record.payloads import PayloadStore, resolve
from reclaim_nb.server.tail import TEXT, brief

KEPT_STORIES = 16
OUTPUT_BYTES = 128 * 1024
"""Most of a cell's messages, from their end, that are read to show how its output ends."""

_HEAD = re.compile(rb'\{"seq":\d{1,18},"time":"[^"]{1,40}","prev":"[0-9a-f]{64}","kind":"([a-z_]{1,20})"')


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the stream."""

    offset: int
    length: int


@dataclass(slots=True)
class CellFacts:
    """One cell.

    Attributes:
        id, kind, author, turn: as recorded; ``kind`` is ``code`` or ``markdown``.
        line: where it was appended.
        since, until: its messages stand between these offsets; None before it was sent, and while it runs.
        started, ended: ISO 8601, UTC.
        held, charged: seconds.
        hours: spend of the whole attempt when it had ended, a decimal text in the budget's unit.
    """

    id: str
    kind: str
    author: str
    turn: int | None
    line: Place
    since: int | None = None
    until: int | None = None
    status: str = "not_run"
    started: str | None = None
    ended: str | None = None
    held: float = 0.0
    charged: float = 0.0
    hours: str | None = None

    def to_json(self) -> dict[str, Any]:
        names = ("id", "kind", "author", "turn", "status", "started", "held", "charged", "hours")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that was said or done: a line, and which part of a model's message it is.

    Attributes:
        kind: ``told``, ``said``, ``thought``, ``markdown``, ``cell``, ``call`` or ``event``.
        line: where it stands.
        cell: the cell that it is, or that it was done in.
        part: which part of which message of the line, where it is one of several.
    """

    kind: str
    line: Place
    cell: str | None = None
    part: tuple[int, int] | None = None


@dataclass
class Story:
    """The story of one attempt.

    Attributes:
        cells: by id, in order.
        entries: everything that was said and done, in order.
        requests: lines of the network log, in order, with whether each was allowed.
        hosts: requests by host: (allowed, refused).
        network_notes: sentences on the network as a whole.
        began: time of the first event.
        ended: the attempt has ended.
    """

    folder: AttemptFolder
    cells: dict[str, CellFacts] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    requests: list[tuple[Place, bool]] = field(default_factory=list)
    hosts: dict[str, list[int]] = field(default_factory=dict)
    network_notes: list[str] = field(default_factory=list)
    began: str | None = None
    ended: bool = False
    _offset: int = 0
    _inode: int = 0

    @property
    def size(self) -> int:
        """Bytes of the stream that were read."""
        return self._offset

    def read_on(self) -> None:
        """Read what the stream has gained.

        Raises:
            RecordError: when it cannot be read.
        """
        try:
            with open(self.folder.stream, "rb") as file:
                file.seek(self._offset)
                for line in file:
                    if not line.endswith(b"\n"):
                        break  # the rest of it is still to come
                    place = Place(self._offset, len(line))
                    self._offset += len(line)
                    head = _HEAD.match(line)
                    if head is not None and head.group(1) != b"message":
                        self._take(line, place)
        except OSError as problem:
            raise RecordError(f"{self.folder.stream}: no stream to read ({problem.strerror})") from problem

    def is_of(self, inode: int, size: int) -> bool:
        """Tell whether a file that has this inode and size now is the one that was read so far."""
        return self._inode == inode and size >= self._offset

    def event(self, place: Place) -> Event:
        """Return the event of a line, with its large texts put back.

        Raises:
            RecordError: when the file has changed underneath.
        """
        try:
            with open(self.folder.stream, "rb") as file:
                file.seek(place.offset)
                event = decode(file.read(place.length).rstrip(b"\n"))
        except (OSError, ValueError) as problem:
            raise RecordError(f"{self.folder.stream}: the line at {place.offset} cannot be read ({problem})") from None
        return Event(event.seq, event.time, event.prev, event.kind, self._resolved(event.data), event.hash)

    def output_end(self, cell: CellFacts) -> tuple[str, bool]:
        """Return how the output of a cell ends, as text, and whether that is less than all of it."""
        if cell.since is None:
            return "", False
        until = cell.until if cell.until is not None else self._offset
        start = max(cell.since, until - OUTPUT_BYTES)
        with open(self.folder.stream, "rb") as file:
            file.seek(start)
            lines = file.read(until - start).split(b"\n")
        events = list(_messages(lines[1:] if start > cell.since else lines, cell.id))
        text = "".join(one["text"] for one in brief(events))
        return text[-TEXT:], start > cell.since or len(text) > TEXT

    def _resolved(self, data: dict[str, Any]) -> dict[str, Any]:
        store: PayloadStore = self.folder.store()
        found: dict[str, Any] = resolve(data, store)
        return found

    def _take(self, line: bytes, place: Place) -> None:
        """Take note of a line; what no runner wrote in this form is passed over, and the record's check tells of it."""
        with contextlib.suppress(ValueError, TypeError, AttributeError, IndexError):
            self._on(decode(line.rstrip(b"\n")), place)

    def _on(self, event: Event, place: Place) -> None:
        data = event.data
        self.began = self.began or event.time
        cell = self.cells.get(str(data.get("cell")))
        if event.kind == "cell":
            self._on_cell(data, place)
        elif event.kind == "execute" and cell is not None:
            cell.since, cell.status, cell.started = place.offset + place.length, "running", event.time
        elif event.kind == "cell_end" and cell is not None:
            cell.until, cell.status, cell.ended = place.offset, str(data.get("status")), data.get("ended")
            cell.started = data.get("started") or cell.started
            cell.held, cell.charged = float(data.get("held_seconds") or 0), float(data.get("charged_seconds") or 0)
            cell.hours = (data.get("meter") or {}).get("hours")
        elif event.kind == "tool":
            self.entries.append(Entry("call", place, data.get("cell")))
        elif event.kind == "model":
            self._on_model(data, place)
        elif event.kind == "network":
            self._on_request(data, place)
        elif event.kind == "note" and data.get("what") == "network":
            self.network_notes.append(str(data.get("text")))
        elif event.kind in ("note", "limit", "end") or (event.kind == "runner" and data.get("resumed")):
            self.entries.append(Entry("event", place))
            self.ended = self.ended or event.kind == "end"

    def _on_cell(self, data: dict[str, Any], place: Place) -> None:
        id, kind, turn = str(data.get("cell")), str(data.get("cell_type")), data.get("turn")
        author = str(data.get("author"))
        self.cells[id] = CellFacts(id, kind, author, turn if isinstance(turn, int) else None, place)
        self.entries.append(Entry("cell" if kind == "code" else "markdown", place, id))

    def _on_model(self, data: dict[str, Any], place: Place) -> None:
        """Take what was said; calls and their answers have events of their own."""
        what = data.get("what")
        if what in ("request", "answer"):
            messages = data.get("messages") if what == "request" else [data.get("message")]
            for number, message in enumerate(messages if isinstance(messages, list) else []):
                for index, part in enumerate(_parts(message)):
                    kind = _SPOKEN.get(str(part.get("part_kind")))
                    if kind is not None and part.get("content"):
                        self.entries.append(Entry(kind, place, None, (number, index)))
        elif what in ("failure", "shortened", "exited"):
            self.entries.append(Entry("event", place))

    def _on_request(self, data: dict[str, Any], place: Place) -> None:
        allowed = data.get("allowed") is True
        self.requests.append((place, allowed))
        host = str(data.get("host") or "")
        count = data.get("count")
        self.hosts.setdefault(host, [0, 0])[0 if allowed else 1] += count if isinstance(count, int) else 1


_SPOKEN = {"system-prompt": "told", "user-prompt": "told", "text": "said", "thinking": "thought"}


def part_of(event: Event, part: tuple[int, int]) -> dict[str, Any]:
    """Return one part of a model's message."""
    data = event.data
    messages = data.get("messages") if data.get("what") == "request" else [data.get("message")]
    return _parts(messages[part[0]])[part[1]] if isinstance(messages, list) else {}


def _parts(message: Any) -> list[dict[str, Any]]:
    parts = message.get("parts") if isinstance(message, dict) else None
    return [part if isinstance(part, dict) else {} for part in parts] if isinstance(parts, list) else []


def _messages(lines: list[bytes], cell: str) -> Iterator[Event]:
    for line in lines:
        try:
            event = decode(line)
        except ValueError:
            continue
        if event.kind == "message" and event.data.get("cell") == cell:
            yield event


class Stories:
    """The stories that were asked for last, read on when they are asked for again."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Path, Story] = OrderedDict()
        self._lock = threading.Lock()  # requests are answered in threads

    def of(self, folder: AttemptFolder) -> Story:
        """Return the story of an attempt as far as its stream goes now.

        Raises:
            RecordError: when there is no stream.
        """
        try:
            facts = folder.stream.stat()
        except OSError:
            raise RecordError(
                f"{folder.path.name}: this attempt was made elsewhere and brought in; its cells are not here"
            ) from None
        with self._lock:
            story = self._kept.pop(folder.path, None)
            if story is None or not story.is_of(facts.st_ino, facts.st_size):
                story = Story(folder, _inode=facts.st_ino)
            story.read_on()
            self._kept[folder.path] = story
            while len(self._kept) > KEPT_STORIES:
                self._kept.popitem(last=False)
            return story
