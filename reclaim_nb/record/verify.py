"""Checking a record: does the chain hold, are the payloads whole, is the notebook the stream's own rendering?"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from reclaim_nb.errors import RecordError
from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.record.payloads import references
from reclaim_nb.record.reader import BrokenLink, StreamState, read_events
from reclaim_nb.record.render import Rendering, is_json

SPILLED = ("message", "tool")
"""Kinds of events whose large texts stand in the payload file."""


@dataclass
class RecordCheck:
    """What a check found.

    Attributes:
        events: events read before the first fault.
        head: hash of the last of them.
        ended: the attempt has its end event.
        problems: one sentence each; empty when the record is sound.
    """

    events: int = 0
    head: str = ""
    ended: bool = False
    problems: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        return not self.problems


def verify_record(folder: AttemptFolder) -> RecordCheck:
    """Check an attempt's stream, payloads and notebook against each other.

    The notebook of an attempt that has not ended may be older than its stream; it is then compared with the rendering
    up to the event it names.
    """
    check = RecordCheck()
    notebook = _read_notebook(folder, check)
    named = _named_events(notebook)
    store = folder.store()
    rendering = Rendering(store)
    rendered: dict[str, Any] | None = None
    state = StreamState()
    whole = True
    try:
        for event in read_events(folder.stream, state):
            check.ended = check.ended or event.kind == "end"
            for reference in references(event.data) if event.kind in SPILLED else ():
                try:
                    store.get(reference)
                except RecordError as problem:
                    check.problems.append(f"{folder.stream}, line {event.seq + 1}: {problem}")
                    whole = False
            if not whole:
                continue  # no notebook comes of it any more, but the chain goes on
            try:
                rendering.apply(event)
            except Exception as problem:  # the chain cannot show that the last line was changed: it may hold anything
                raise BrokenLink(folder.stream, event.seq + 1, f"cannot be rendered ({problem!r})") from problem
            if event.seq + 1 == named:
                rendered = rendering.notebook()
    except RecordError as problem:
        check.problems.append(str(problem))
    check.events, check.head = state.events, state.head
    if state.loose is not None:
        check.problems.append(
            f"{folder.stream}, line {state.loose}: the last line is not an event "
            "(a runner died while writing it; `reclaim resume` goes on over it)"
        )
    if not whole:
        check.problems.append(f"{folder.notebook}: not compared, since {folder.payloads} lacks texts of it")
    elif notebook is not None and not any("void from here" in problem for problem in check.problems):
        if rendered is None or (check.ended and named != state.events):
            check.problems.append(f"{folder.notebook}: it does not name a state of this stream")
            rendered = rendering.notebook()
        check.problems.extend(differences(notebook, rendered, str(folder.notebook)))
    return check


def _read_notebook(folder: AttemptFolder, check: RecordCheck) -> dict[str, Any] | None:
    if not folder.notebook.exists():
        check.problems.append(f"{folder.notebook}: missing; `reclaim resume` renders it again from the stream")
        return None
    try:
        notebook = json.loads(folder.notebook.read_text("utf-8"))
    except (ValueError, RecursionError) as problem:
        check.problems.append(f"{folder.notebook}: not JSON ({problem})")
        return None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        check.problems.append(f"{folder.notebook}: not a notebook (no list of cells)")
        return None
    if not all(isinstance(cell, dict) for cell in notebook["cells"]):
        check.problems.append(f"{folder.notebook}: not a notebook (a cell is no object)")
        return None
    return notebook


def _named_events(notebook: dict[str, Any] | None) -> int | None:
    try:
        number = (notebook or {})["metadata"]["reclaim"]["record"]["events"]
    except (KeyError, TypeError):
        return None
    return number if isinstance(number, int) else None


def differences(notebook: dict[str, Any], rendered: dict[str, Any], name: str = "notebook") -> list[str]:
    """Return one sentence per cell (or the metadata) in which a notebook differs from its stream's rendering."""
    found: list[str] = []
    rendered = json.loads(json.dumps(rendered))
    theirs: dict[str, dict[str, Any]] = {}
    for index, cell in enumerate(notebook.get("cells", [])):
        name_of_cell = str(cell.get("id", f"#{index}"))
        if name_of_cell in theirs:
            found.append(f"{name}: cell {name_of_cell} stands in the notebook more than once")
        theirs[name_of_cell] = cell
    ours = {cell["id"]: cell for cell in rendered["cells"]}
    for cell_id, cell in ours.items():
        other = theirs.get(cell_id)
        if other is None:
            found.append(f"{name}: cell {cell_id} is in the stream but not in the notebook")
            continue
        cell, other = _plain_cell(cell), _plain_cell(other)
        parts = [part for part in sorted({*cell, *other}) if cell.get(part) != other.get(part)]
        if parts:
            found.append(f"{name}: cell {cell_id} differs from the stream in {', '.join(parts)}")
    found.extend(f"{name}: cell {cell_id} is not in the stream" for cell_id in theirs if cell_id not in ours)
    if not found and list(theirs) != list(ours):
        found.append(f"{name}: the cells stand in another order than in the stream")
    metadata = notebook.get("metadata")
    for part in ("kernelspec", "language_info", "reclaim"):
        if not isinstance(metadata, dict) or metadata.get(part) != rendered["metadata"].get(part):
            found.append(f"{name}: metadata.{part} differs from the stream")
    return found


def _plain_cell(cell: dict[str, Any]) -> dict[str, Any]:
    """Return a cell without what papermill adds, with lists of lines joined where nbformat allows either form."""
    plain = {**cell, "source": _joined(cell.get("source"))}
    if isinstance(cell.get("metadata"), dict):
        plain["metadata"] = {key: value for key, value in cell["metadata"].items() if key != "papermill"}
    if isinstance(cell.get("outputs"), list):
        plain["outputs"] = [_plain_output(output) for output in cell["outputs"]]
    return plain


def _plain_output(output: Any) -> Any:
    if not isinstance(output, dict):
        return output
    plain = {**output, "text": _joined(output.get("text"))}
    if isinstance(output.get("data"), dict):
        plain["data"] = {mime: value if is_json(mime) else _joined(value) for mime, value in output["data"].items()}
    return plain


def _joined(value: Any) -> Any:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "".join(value)
    return value
