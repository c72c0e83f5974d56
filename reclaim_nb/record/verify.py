"""Checking a record: does the chain hold, are the payloads whole, is the notebook the stream's own rendering?"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from reclaim_nb.errors import RecordError
from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.record.payloads import references
from reclaim_nb.record.reader import BrokenLink, StreamState, read_events
from reclaim_nb.record.render import Rendering


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
    try:
        for event in read_events(folder.stream, state):
            check.ended = check.ended or event.kind == "end"
            for reference in references(event.data):
                try:
                    store.get(reference)
                except RecordError as problem:
                    check.problems.append(f"event {event.seq}: {problem}")
            rendering.apply(event)
            if event.seq + 1 == named:
                rendered = rendering.notebook()
    except BrokenLink as problem:
        check.problems.append(str(problem))
    except RecordError as problem:
        check.problems.append(str(problem))
        return check
    check.events, check.head = state.events, state.head
    if state.loose is not None:
        check.problems.append(
            f"{folder.stream}, line {state.loose}: the last line is not an event "
            "(a runner died while writing it; `reclaim resume` goes on over it)"
        )
    if notebook is not None and not any("void from here" in problem for problem in check.problems):
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
    except ValueError as problem:
        check.problems.append(f"{folder.notebook}: not JSON ({problem})")
        return None
    return notebook if isinstance(notebook, dict) else {}


def _named_events(notebook: dict[str, Any] | None) -> int | None:
    try:
        number = (notebook or {})["metadata"]["reclaim"]["record"]["events"]
    except (KeyError, TypeError):
        return None
    return number if isinstance(number, int) else None


def differences(notebook: dict[str, Any], rendered: dict[str, Any], name: str = "notebook") -> list[str]:
    """Return one sentence per cell (or the metadata) in which a notebook differs from its stream's rendering."""
    found = []
    rendered = json.loads(json.dumps(rendered))
    theirs = {cell.get("id", f"#{index}"): cell for index, cell in enumerate(notebook.get("cells", []))}
    ours = {cell["id"]: cell for cell in rendered["cells"]}
    for cell_id, cell in ours.items():
        other = theirs.get(cell_id)
        if other is None:
            found.append(f"{name}: cell {cell_id} is in the stream but not in the notebook")
            continue
        parts = [part for part in sorted({*cell, *other}) if _plain(cell.get(part)) != _plain(other.get(part))]
        if parts:
            found.append(f"{name}: cell {cell_id} differs from the stream in {', '.join(parts)}")
    found.extend(f"{name}: cell {cell_id} is not in the stream" for cell_id in theirs if cell_id not in ours)
    if not found and list(theirs) != list(ours):
        found.append(f"{name}: the cells stand in another order than in the stream")
    for part in ("kernelspec", "language_info", "reclaim"):
        if notebook.get("metadata", {}).get(part) != rendered["metadata"].get(part):
            found.append(f"{name}: metadata.{part} differs from the stream")
    return found


def _plain(value: Any) -> Any:
    """Join lists of lines, so that text and list-of-lines count as the same, which they are in nbformat."""
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return "".join(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if key != "papermill"}
    return value
