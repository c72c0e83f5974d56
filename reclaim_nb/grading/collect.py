"""Builds the evidence of an attempt from the events of its stream, in one pass and in bounded memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from reclaim_nb.grading.evidence import READ_WHOLE, Cell, Evidence, Output, Prose, Submission, ToolCall
from reclaim_nb.grading.markup import read_html
from reclaim_nb.grading.scan import Digest, Interest, Line
from reclaim_nb.record.events import Event
from reclaim_nb.record.payloads import PayloadStore, resolve

WHOLE_CHARS = 64 * 1024
"""Outputs up to this long are kept and read as a whole."""
END_CHARS = 16 * 1024
"""Characters kept of each end of a longer output."""
PIECE_CHARS = 1024 * 1024
"""Text is scanned in pieces of about this size."""
OUTPUTS_KEPT = 400
"""Most outputs kept of a cell at each end; those between are scanned and counted."""
KEPT_CHARS = 32 * 1024 * 1024
"""Characters of outputs kept whole in an attempt; what comes after is kept by its ends from 4,096 characters on."""

_ANSI = re.compile(r"\x1b(?:\[[0-9;:?<=>]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_NUMBER_JSON = ("application/json", "application/vnd.dataresource+json")


class _Text:
    """Takes an output's text piece by piece; keeps it whole or both ends, and the lines of interest."""

    def __init__(self, interest: Interest, whole_chars: int) -> None:
        self._interest = interest
        self._whole_chars = whole_chars
        self._end_chars = min(END_CHARS, whole_chars // 4)
        self._whole: list[str] | None = []
        self._head = ""
        self._tail = ""
        self._pending: list[str] = []
        self._pending_length = 0
        self._scanned = 0
        self.length = 0
        self.lines: list[Line] = []
        self.digest = Digest()

    @property
    def is_whole(self) -> bool:
        return self._whole is not None

    def add(self, text: str) -> None:
        if "\x1b" in text:
            text = _ANSI.sub("", text)
        self.length += len(text)
        if self._whole is not None:
            self._whole.append(text)
            if self.length <= self._whole_chars:
                return
            text = "".join(self._whole)
            self._whole = None
            self._head = text[: self._end_chars]
        self._tail = (self._tail + text[-self._end_chars :])[-self._end_chars :]
        self._pending.append(text)
        self._pending_length += len(text)
        if self._pending_length >= PIECE_CHARS:
            self._scan(last=False)

    def _scan(self, *, last: bool) -> None:
        text = "".join(self._pending)
        start = 0
        while len(text) - start > (0 if last else PIECE_CHARS - 1):
            end = start + PIECE_CHARS
            if end < len(text) or not last:
                cut = max(text.rfind("\n", start, end), text.rfind("\r", start, end)) + 1
                end = cut if cut > start else end
            self.lines.extend(self._interest.scan(text[start:end], self._scanned, self.digest))
            self._scanned += min(end, len(text)) - start
            start = end
        rest = text[start:]
        self._pending, self._pending_length = ([rest] if rest else []), len(rest)

    def finish(self) -> tuple[tuple[tuple[int, str], ...], int, tuple[Line, ...]]:
        if self._whole is not None:
            text = "".join(self._whole)
            lines = tuple(self._interest.scan(text, 0, self.digest)) if len(text) > READ_WHOLE else ()
            return ((0, text),), self.length, lines
        self._scan(last=True)
        tail_start = self.length - len(self._tail)
        return ((0, self._head), (tail_start, self._tail)), self.length, tuple(self.lines)


@dataclass
class _OpenOutput:
    index: int
    kind: str
    name: str
    text: _Text
    hidden: str = ""
    cleared: bool = False
    late: bool = False
    after_stop: bool = False
    rewrites: tuple[str, int] | None = None

    def close(self) -> Output:
        pieces, length, lines = self.text.finish()
        digest = tuple(self.text.digest.lines)
        return Output(
            self.index,
            self.kind,
            self.name,
            pieces,
            length,
            lines,
            digest,
            self.hidden,
            self.cleared,
            self.late,
            self.after_stop,
            self.rewrites,
        )


@dataclass
class _OpenCell:
    data: dict[str, Any]
    position: int
    order: int | None = None
    ran: str | None = None
    execution_count: int | None = None
    spent_before: Decimal = Decimal(0)
    end: dict[str, Any] = field(default_factory=dict)
    first: list[_OpenOutput] = field(default_factory=list)
    last: list[_OpenOutput] = field(default_factory=list)
    seen: int = 0
    clear_next: bool = False

    def kept(self) -> Iterator[_OpenOutput]:
        yield from self.first
        yield from self.last


def _decimal(value: Any) -> Decimal:
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return Decimal(0)
    return number if number.is_finite() else Decimal(0)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "".join(map(str, value))
    return value if isinstance(value, str) else str(value)


class EvidenceBuilder:
    """Takes the events of one stream, in order, and gives the evidence.

    Args:
        store: where the texts lie that stand outside the stream.
        interest: which lines of long outputs are kept.
    """

    def __init__(self, store: PayloadStore, interest: Interest) -> None:
        self._store = store
        self._interest = interest
        self._cells: dict[str, _OpenCell] = {}
        self._positions = 0
        self._order = 0
        self._displays: dict[str, tuple[str, int]] = {}
        self._prose: list[Prose] = []
        self._tools: list[ToolCall] = []
        self._network: list[dict[str, Any]] = []
        self._limits: list[dict[str, Any]] = []
        self._notes: list[dict[str, Any]] = []
        self._spec: dict[str, Any] = {}
        self._end: dict[str, Any] | None = None
        self._stopped = False
        self._charged = Decimal(0)
        self._device = ""
        self._events = 0
        self._head = ""
        self._kept = 0

    def apply(self, event: Event) -> None:
        """Take one event."""
        self._events, self._head = event.seq + 1, event.hash
        handler = getattr(self, f"_on_{event.kind}", None)
        if handler is not None:
            handler(event.data)

    def finish(self, intake: dict[str, Any] | None) -> Evidence:
        """Return the evidence of everything taken so far."""
        end = self._end or {}
        submission = self._submission(end)
        return Evidence(
            spec=self._spec,
            head=self._head,
            events=self._events,
            cells=tuple(self._close(cell) for cell in self._cells.values()),
            self_report=tuple(self._prose),
            tools=tuple(self._tools),
            submission=submission,
            end_reason=end.get("reason"),
            end_detail=end.get("detail"),
            usage=end.get("usage") or {},
            charged_seconds=max(self._charged, _decimal((end.get("usage") or {}).get("charged_seconds", 0))),
            device=self._device,
            network=tuple(self._network),
            limits=tuple(self._limits),
            intake=intake,
            notes=tuple(self._notes),
        )

    def _on_attempt(self, data: dict[str, Any]) -> None:
        self._spec = data.get("spec") or {}
        self._device = str((self._spec.get("card") or {}).get("device", ""))

    def _on_cell(self, data: dict[str, Any]) -> None:
        position, self._positions = self._positions, self._positions + 1
        if data["cell_type"] == "code":
            self._cells[data["cell"]] = _OpenCell(resolve(data, self._store), position)
        elif data.get("author") != "harness":
            self._prose.append(Prose(data["cell"], _text(resolve(data.get("source", ""), self._store))))

    def _on_execute(self, data: dict[str, Any]) -> None:
        if cell := self._cells.get(data["cell"]):
            cell.order, self._order = self._order, self._order + 1
            cell.spent_before = self._charged

    def _on_cell_end(self, data: dict[str, Any]) -> None:
        if cell := self._cells.get(data["cell"]):
            cell.end = data
            self._charged = max(self._charged, cell.spent_before + _decimal(data.get("charged_seconds", 0)))

    def _on_meter(self, data: dict[str, Any]) -> None:
        self._charged = max(self._charged, _decimal(data.get("charged_seconds", 0)))
        self._device = str(data.get("device") or self._device)

    def _on_tool(self, data: dict[str, Any]) -> None:
        data = resolve(data, self._store)
        arguments = data.get("arguments")
        self._tools.append(
            ToolCall(
                str(data.get("name")),
                arguments if isinstance(arguments, dict) else {},
                data.get("result"),
                data.get("cell"),
                self._charged,
            )
        )

    def _on_network(self, data: dict[str, Any]) -> None:
        self._network.append(resolve(data, self._store))

    def _on_note(self, data: dict[str, Any]) -> None:
        data = resolve(data, self._store)
        cell = self._cells.get(data.get("cell") or "")
        if cell is not None and isinstance(data.get("log"), str):
            self._add(cell, "log", "container", data["log"], late=False)
            return
        self._notes.append(data)

    def _on_limit(self, data: dict[str, Any]) -> None:
        self._limits.append(data)
        if data.get("stop", True):
            self._stopped = True

    def _on_end(self, data: dict[str, Any]) -> None:
        self._end = resolve(data, self._store)

    def _on_message(self, data: dict[str, Any]) -> None:
        if data.get("channel") != "iopub":
            return
        # The cell that produced an output counts, not the one it landed under.
        cell = self._cells.get(data.get("from") or "") or self._cells.get(data.get("cell") or "")
        if cell is None:
            return
        kind, content, late = data["msg_type"], data["content"], bool(data.get("late"))
        if data.get("from") not in (None, data.get("cell")):
            late = True
        if kind == "stream":
            self._stream(cell, content, late)
        elif kind in ("display_data", "execute_result", "update_display_data"):
            self._bundle(cell, kind, content, late)
        elif kind == "error":
            self._error(cell, content, late)
        elif kind == "clear_output":
            if content.get("wait"):
                cell.clear_next = True
            else:
                _clear(cell)
        elif kind == "execute_input":
            code = _text(resolve(content.get("code", ""), self._store))
            count = content.get("execution_count")
            cell.execution_count = count if isinstance(count, int) else None
            if code != cell.data.get("source"):
                cell.ran = code

    def _stream(self, cell: _OpenCell, content: dict[str, Any], late: bool) -> None:
        name = str(content.get("name", "stdout"))
        text = _text(resolve(content.get("text", ""), self._store))
        current = cell.last[-1] if cell.last else cell.first[-1] if cell.first else None
        after_stop = late and self._stopped
        if (
            current is not None
            and not cell.clear_next
            and (current.kind, current.name, current.late, current.after_stop, current.cleared)
            == ("stream", name, late, after_stop, False)
        ):
            current.text.add(text)
            self._kept += len(text) if current.text.is_whole else 0
            return
        self._add(cell, "stream", name, text, late)

    def _error(self, cell: _OpenCell, content: dict[str, Any], late: bool) -> None:
        content = resolve(content, self._store)
        trace = content.get("traceback") or []
        text = "\n".join(map(str, trace)) if isinstance(trace, list) else str(trace)
        last = f"{content.get('ename', '')}: {content.get('evalue', '')}"
        self._add(cell, "error", str(content.get("ename", "")), text if last in text else f"{text}\n{last}", late)

    def _bundle(self, cell: _OpenCell, kind: str, content: dict[str, Any], late: bool) -> None:
        data = resolve(content.get("data") or {}, self._store)
        data = data if isinstance(data, dict) else {"text/plain": str(data)}
        text, mime, hidden = bundle_text(data)
        name = {"display_data": "display", "execute_result": "result", "update_display_data": "update"}[kind]
        display_id = (content.get("transient") or {}).get("display_id")
        output = self._add(cell, name, mime, text, late)
        output.hidden = hidden
        if kind == "update_display_data":
            output.rewrites = self._displays.get(str(display_id))
        elif isinstance(display_id, str):
            self._displays[display_id] = (cell.data["cell"], output.index)

    def _add(self, cell: _OpenCell, kind: str, name: str, text: str, late: bool) -> _OpenOutput:
        if cell.clear_next:
            _clear(cell)
        whole_chars = WHOLE_CHARS if self._kept < KEPT_CHARS else 4096
        output = _OpenOutput(cell.seen, kind, name, _Text(self._interest, whole_chars), late=late)
        output.after_stop = late and self._stopped
        output.text.add(text)
        self._kept += len(text) if output.text.is_whole else 2 * END_CHARS
        cell.seen += 1
        if len(cell.first) < OUTPUTS_KEPT:
            cell.first.append(output)
        else:
            cell.last.append(output)
            if len(cell.last) > OUTPUTS_KEPT:
                del cell.last[0]
        return output

    def _close(self, cell: _OpenCell) -> Cell:
        data, end = cell.data, cell.end
        return Cell(
            id=data["cell"],
            author=str(data.get("author")),
            turn=data.get("turn"),
            source=_text(data.get("source", "")),
            ran=cell.ran,
            position=cell.position,
            order=cell.order,
            status=str(end.get("status", "not_run" if cell.order is None else "killed")),
            execution_count=end.get("execution_count", cell.execution_count),
            charged_seconds=_decimal(end.get("charged_seconds", 0)),
            held_seconds=_decimal(end.get("held_seconds", 0)),
            spent_before=cell.spent_before,
            gaps=int(end.get("gaps") or 0),
            idle=bool(end.get("idle", True)),
            detail=end.get("detail"),
            outputs=tuple(output.close() for output in cell.kept()),
            outputs_seen=cell.seen,
            hooks=end.get("hooks"),
        )

    def _submission(self, end: dict[str, Any]) -> Submission | None:
        given = end.get("submission")
        call = next((tool for tool in reversed(self._tools) if tool.name == "submit" and _taken(tool)), None)
        if not isinstance(given, dict):
            if call is None:
                return None
            given = call.arguments
        text = "" if given.get("value") is None else str(given["value"]).strip()
        try:
            value: Decimal | None = Decimal(text)
        except InvalidOperation:
            value = None
        if value is not None and not value.is_finite():
            value = None
        note = str(given.get("note") or "")
        if note:
            self._prose.append(Prose(None, note))
        return Submission(value, text, given.get("cell"), note, call.cell if call else None)


def _taken(tool: ToolCall) -> bool:
    return not (isinstance(tool.result, dict) and ("error" in tool.result or "refused" in tool.result))


def _clear(cell: _OpenCell) -> None:
    cell.clear_next = False
    for output in cell.kept():
        output.cleared = True


def bundle_text(data: dict[str, Any]) -> tuple[str, str, str]:
    """Return the text of a MIME bundle, the type it was taken from, and the text hidden in its HTML."""
    html = _text(data["text/html"]) if "text/html" in data else ""
    shown, hidden = read_html(html) if html else ("", "")
    plain = _text(data.get("text/plain", ""))
    if plain.startswith("<") and plain.endswith(">") and shown:
        # An object that only has a picture of itself: `<IPython.core.display.HTML object>`.
        plain = ""
    for mime in _NUMBER_JSON:
        if mime in data and not isinstance(data[mime], str):
            return json.dumps(data[mime], ensure_ascii=False), mime, hidden
    for mime in ("text/markdown", "text/latex"):
        if mime in data and (not plain or plain.startswith("<")):
            return _text(data[mime]), mime, hidden
    if shown and plain and _digits(shown) != _digits(plain):
        # Two pictures of one object that show different numbers are both kept.
        return f"{plain}\n{shown}", "text/plain+html", hidden
    if plain:
        return plain, "text/plain", hidden
    return shown, "text/html", hidden


def _digits(text: str) -> set[str]:
    return set(re.findall(r"\d+(?:\.\d+)?", text))


def build_evidence(
    events: Iterable[Event], store: PayloadStore, interest: Interest, intake: dict[str, Any] | None = None
) -> Evidence:
    """Return the evidence in a stream's events.

    Args:
        events: all events of one stream, in order.
        store: its payloads.
        interest: which lines of long outputs are kept; see :func:`reclaim_nb.grading.vocabulary.interest_of`.
        intake: the manifest of what was shipped.
    """
    builder = EvidenceBuilder(store, interest)
    for event in events:
        builder.apply(event)
    return builder.finish(intake)
