"""Following a stream that is being written: its new events, without what only a check of the record needs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reclaim_nb.record.events import Event, decode

READ_BYTES = 1024 * 1024
"""Most that is read of a stream at once; the rest follows at the next look."""

TEXT = 4000
"""Most characters of an output, or of a cell's source, that are sent along; all of it stands in the notebook."""

_SEQ = re.compile(rb'\{"seq":(\d{1,18}),')
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


class Tail:
    """The whole new lines of a stream since the last look.

    Args:
        path: the stream.
        since: sequence number of the first event that is wanted.
        last_bytes: begin so near the end, where what came before is not wanted at all.
    """

    def __init__(self, path: Path, since: int = 0, last_bytes: int | None = None) -> None:
        self._path, self._since = path, since
        self._offset, self._behind = 0, False
        if last_bytes is not None:
            try:
                self._offset = max(0, path.stat().st_size - last_bytes)
            except OSError:
                self._offset = 0
            self._behind = self._offset > 0

    def read(self) -> list[Event]:
        """Return the new events, at most those of :data:`READ_BYTES`; none where the file cannot be read."""
        try:
            if self._path.stat().st_size <= self._offset:
                return []
            with open(self._path, "rb") as file:
                file.seek(self._offset)
                block = file.read(READ_BYTES)
                if b"\n" not in block:  # one line longer than a block
                    block += file.readline()
        except OSError:
            return []
        whole = block[: block.rfind(b"\n") + 1]
        self._offset += len(whole)
        lines = whole.split(b"\n")[:-1]
        if self._behind and lines:
            lines, self._behind = lines[1:], False  # it began in the middle of a line
        events = []
        for line in lines:
            number = _SEQ.match(line)
            if number is None or int(number.group(1)) < self._since:
                continue
            try:
                events.append(decode(line))
            except ValueError:
                continue  # what a dying runner left
        return events


def brief(events: list[Event]) -> list[dict[str, Any]]:
    """Return events as a viewer needs them: texts cut to their ends, outputs of one cell in a row put together."""
    found: list[dict[str, Any]] = []
    for event in events:
        one = _brief(event)
        if one is None:
            continue
        last = found[-1] if found else None
        if last and one["kind"] == last["kind"] == "output" and one["cell"] == last["cell"]:
            last.update(seq=one["seq"], time=one["time"], text=(last["text"] + one["text"])[-TEXT:])
        else:
            found.append(one)
    return found


def _brief(event: Event) -> dict[str, Any] | None:
    data = event.data
    base = {"seq": event.seq, "time": event.time, "kind": event.kind}
    if event.kind == "cell":
        source = str(data.get("source") or "")
        return base | {
            "cell": data.get("cell"),
            "cell_type": data.get("cell_type"),
            "author": data.get("author"),
            "turn": data.get("turn"),
            "source": source[:TEXT],
        }
    if event.kind == "execute":
        return base | {"cell": data.get("cell")}
    if event.kind == "cell_end":
        names = ("cell", "status", "held_seconds", "charged_seconds")
        return base | {name: data.get(name) for name in names} | {"hours": _hours(data)}
    if event.kind == "message":
        text = _text(data)
        return None if text is None else base | {"kind": "output", "cell": data.get("cell"), "text": text}
    if event.kind == "meter":
        return base | {"hours": _hours(data)}
    if event.kind == "tool":
        return base | {"cell": data.get("cell"), "name": data.get("name"), "hours": _hours(data)}
    if event.kind == "limit":
        return base | {"which": data.get("which"), "detail": data.get("detail")}
    if event.kind == "end":
        return base | {"reason": data.get("reason"), "detail": data.get("detail")}
    if event.kind == "runner":
        return base | {"resumed": bool(data.get("resumed"))}
    return None


def _text(data: dict[str, Any]) -> str | None:
    """Return what a message shows as text, None when it shows nothing."""
    content = data.get("content")
    if data.get("channel") != "iopub" or not isinstance(content, dict) or not data.get("cell"):
        return None
    kind = data.get("msg_type")
    if kind == "stream":
        text = content.get("text")
        return plain(text[-TEXT:]) if isinstance(text, str) else "[long output, whole in the record]\n"
    if kind == "error":
        return plain(f"{content.get('ename')}: {content.get('evalue')}\n"[:TEXT])
    if kind in ("display_data", "execute_result", "update_display_data"):
        bundle = content.get("data")
        text = bundle.get("text/plain") if isinstance(bundle, dict) else None
        return plain(text[:TEXT]) + "\n" if isinstance(text, str) else "[output]\n"
    return None


def plain(text: str) -> str:
    """Return text without colours, and of each line only what a carriage return has left of it."""
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in _ANSI.sub("", text).split("\n"))
    return "\n".join(lines).encode("utf-8", "replace").decode("utf-8")


def _hours(data: dict[str, Any]) -> str | None:
    for reading in (data, data.get("meter"), data.get("usage")):
        if isinstance(reading, dict) and isinstance(reading.get("hours"), str):
            return str(reading["hours"])
    return None


@dataclass
class Live:
    """A running attempt at one moment, as its last events tell it.

    Attributes:
        turn: cells the agent has run.
        cell: the cell that runs, or ran last; ``running``: it runs now.
        since: when it was sent.
        line: last line that was printed, or the cell's first line while nothing was.
        spent_hours: by the last reading of the meter.
        ended: the end event was seen.
    """

    turn: int | None = None
    cell: str | None = None
    running: bool = False
    since: str | None = None
    line: str = ""
    spent_hours: str | None = None
    ended: bool = False
    _sources: dict[str, str] = field(default_factory=dict, repr=False)

    def apply(self, events: list[dict[str, Any]]) -> None:
        """Take brief events into account."""
        for event in events:
            self.spent_hours = event.get("hours") or self.spent_hours
            kind = event["kind"]
            if kind == "cell":
                if isinstance(event["turn"], int):
                    self.turn = event["turn"]
                self._sources = {str(event["cell"]): event["source"]}
            elif kind == "execute":
                self.cell, self.running, self.since = event["cell"], True, event["time"]
                self.line = _last_line(self._sources.get(str(event["cell"]), ""), first=True)
            elif kind == "output":
                self.line = _last_line(event["text"]) or self.line
            elif kind == "cell_end":
                self.running = False
            elif kind == "end":
                self.running, self.ended = False, True

    def to_json(self) -> dict[str, Any]:
        names = ("turn", "cell", "running", "since", "line", "spent_hours")
        return {name: getattr(self, name) for name in names}


def _last_line(text: str, first: bool = False) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0 if first else -1][:200] if lines else ""
