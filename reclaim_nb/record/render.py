"""The notebook as a pure function of the stream.

The same events give the same bytes, whether they are applied while the attempt runs or read back years later: that is
what `reclaim verify-record` rests on. What a cell printed is bounded here (head, tail, counts, a pointer), not in the
stream.
"""

from __future__ import annotations

import json
import re
from typing import Any

from reclaim_nb.record.events import Event
from reclaim_nb.record.payloads import PayloadStore, is_reference, references, resolve
from reclaim_nb.record.text import BoundedText, visible, visible_json

TEXT_HEAD = 16 * 1024
TEXT_TAIL = 16 * 1024
OUTPUTS = 100
"""Most outputs shown of a cell at each end."""
_JSON_MIME = re.compile(r"^application/(.*\+)?json$")
"""By nbformat's schema."""

MIME_LIMIT = 2 * 1024 * 1024
"""Most characters of one MIME value that the notebook holds."""


class _Outputs:
    """The outputs of one cell: first ones, last ones, and how many between them are left out."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.first: list[dict[str, Any]] = []
        self.last: list[dict[str, Any]] = []
        self.left_out = 0
        self.text: BoundedText | None = None
        self.clear_next = False

    def add(self, output: dict[str, Any]) -> None:
        if self.clear_next:
            self.clear()
        self.text = None
        if len(self.first) < OUTPUTS:
            self.first.append(output)
            return
        self.last.append(output)
        if len(self.last) > OUTPUTS:
            self.last.pop(0)
            self.left_out += 1

    def write(self, name: str, text: str) -> None:
        shown = self.last or self.first
        current = shown[-1] if shown else None
        if self.clear_next or self.text is None or current is None or current.get("name") != name:
            bounded = BoundedText(TEXT_HEAD, TEXT_TAIL)
            self.add({"output_type": "stream", "name": name, "text": bounded})
            self.text = bounded
        self.text.add(text)

    def as_json(self) -> list[dict[str, Any]]:
        outputs = [_settle(output) for output in self.first]
        if self.left_out:
            note = f"[… {self.left_out:,} outputs left out here; whole in the record …]\n"
            outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(note)})
        return outputs + [_settle(output) for output in self.last]


def _settle(output: dict[str, Any]) -> dict[str, Any]:
    if isinstance(output.get("text"), BoundedText):
        return {**output, "text": _lines(output["text"].value())}
    return {key: value for key, value in output.items() if key != "_display_id"}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True) if "\n" in text else ([text] if text else [])


class _Cell:
    def __init__(self, data: dict[str, Any]) -> None:
        self.id: str = data["cell"]
        self.type: str = data["cell_type"]
        self.source: str = data["source"]
        self.metadata: dict[str, Any] = visible_json(data.get("metadata") or {})
        self.reclaim: dict[str, Any] = {"author": data["author"], "turn": data["turn"]}
        if self.type == "code":
            self.reclaim["status"] = "not_run"
        self.execution_count: int | None = None
        self.outputs = _Outputs()
        self.fragment: str | None = None

    def count(self, name: str, by: int = 1) -> None:
        self.reclaim[name] = self.reclaim.get(name, 0) + by

    def as_json(self) -> dict[str, Any]:
        cell: dict[str, Any] = {
            "cell_type": self.type,
            "id": self.id,
            "metadata": {**self.metadata, "reclaim": visible_json(self.reclaim)},
            "source": _lines(visible(self.source)),
        }
        if self.type == "code":
            cell["execution_count"] = self.execution_count
            cell["outputs"] = self.outputs.as_json()
        return cell


class Rendering:
    """Builds the notebook from events, one by one.

    Args:
        store: where the texts lie that stand outside the stream.
    """

    def __init__(self, store: PayloadStore) -> None:
        self._store = store
        self._cells: dict[str, _Cell] = {}
        self._displays: dict[str, list[tuple[_Cell, dict[str, Any]]]] = {}
        self._language: dict[str, Any] = {"name": "python"}
        self._kernelspec: dict[str, Any] = {"name": "reclaim-local", "display_name": "RECLAIM", "language": "python"}
        self._reclaim: dict[str, Any] = {"schema": 1, "state": "running"}
        self._stopped = False

    @property
    def cell_ids(self) -> list[str]:
        """Ids of the cells, in order."""
        return list(self._cells)

    def apply(self, event: Event) -> None:
        """Take one event into the notebook."""
        handler = getattr(self, f"_on_{event.kind}", None)
        if handler is not None:
            handler(event.data)
        self._reclaim["record"] = {"events": event.seq + 1, "head": event.hash}

    def notebook(self) -> dict[str, Any]:
        """Return the notebook as nbformat 4.5 JSON."""
        return {"cells": [cell.as_json() for cell in self._cells.values()], **self._around()}

    def is_notebook(self, notebook: dict[str, Any]) -> bool:
        """Tell whether a notebook is :meth:`notebook`, without making a second one as large."""
        cells = notebook.get("cells")
        return (
            isinstance(cells, list)
            and len(cells) == len(self._cells)
            and all(theirs == ours.as_json() for theirs, ours in zip(cells, self._cells.values(), strict=True))
            and {key: value for key, value in notebook.items() if key != "cells"} == self._around()
        )

    def to_bytes(self) -> bytes:
        """Return the bytes of ``attempt.ipynb``; only cells that changed since the last call are encoded again."""
        fragments = []
        for cell in self._cells.values():
            if cell.fragment is None:
                cell.fragment = _encode(cell.as_json())
            fragments.append(cell.fragment)
        body = ",\n".join(fragments)
        tail = _encode(self._around())
        return f'{{\n "cells": [\n{body}\n ],\n{tail[2:-2]}\n}}\n'.encode()

    def cell_json(self, cell_id: str) -> dict[str, Any]:
        """Return one cell as it stands in the notebook."""
        return self._cells[cell_id].as_json()

    def _around(self) -> dict[str, Any]:
        """Return what a notebook holds beside its cells."""
        return {"metadata": self._metadata(), "nbformat": 4, "nbformat_minor": 5}

    def _metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = visible_json(
            {"kernelspec": self._kernelspec, "language_info": self._language, "reclaim": self._reclaim}
        )
        return metadata

    def _on_attempt(self, data: dict[str, Any]) -> None:
        # Card and block list stand in the stream alone: notebooks are shown around, and both say what agents must not
        # know.
        spec = {key: value for key, value in data["spec"].items() if key != "card"}
        if isinstance(spec.get("kernel"), dict):
            spec["kernel"] = {key: value for key, value in spec["kernel"].items() if key != "block"}
        self._reclaim["spec"] = spec
        name = spec.get("kernel", {}).get("name", "reclaim-local")
        self._kernelspec = {"name": name, "display_name": f"RECLAIM ({name})", "language": "python"}

    def _on_runner(self, data: dict[str, Any]) -> None:
        if data.get("resumed"):
            self._reclaim["resumed"] = self._reclaim.get("resumed", 0) + 1
        if language := data.get("language_info"):
            self._language = language

    def _on_cell(self, data: dict[str, Any]) -> None:
        self._cells[data["cell"]] = _Cell(data)

    def _on_cell_end(self, data: dict[str, Any]) -> None:
        cell = self._cells[data["cell"]]
        cell.fragment = None
        cell.execution_count = data["execution_count"]
        kept = ("status", "started", "ended", "held_seconds", "charged_seconds", "messages", "gaps", "idle", "detail")
        cell.reclaim |= {key: data[key] for key in kept if data.get(key) is not None}

    def _on_limit(self, data: dict[str, Any]) -> None:
        if data.get("stop", True):
            self._stopped = True

    def _on_end(self, data: dict[str, Any]) -> None:
        self._reclaim |= {"state": "ended", "end": data["reason"], "usage": data["usage"]}
        for name in ("detail", "submission"):
            if data.get(name) is not None:
                self._reclaim[name] = data[name]

    def _on_message(self, data: dict[str, Any]) -> None:
        cell = self._cells.get(data["cell"] or "")
        if cell is None or data["channel"] != "iopub":
            return
        cell.fragment = None
        if data.get("late"):
            cell.count("after_stop" if self._stopped else "late")
            if self._stopped:
                return
        kind, content = data["msg_type"], data["content"]
        if kind == "stream":
            text = resolve(content.get("text", ""), self._store)
            cell.outputs.write(str(content.get("name", "stdout")), text if isinstance(text, str) else str(text))
        elif kind in ("display_data", "execute_result"):
            self._display(cell, kind, content)
        elif kind == "update_display_data":
            self._update(cell, content)
        elif kind == "error":
            content = resolve(content, self._store)
            lines = content.get("traceback", [])
            lines = lines if isinstance(lines, list) else [lines]
            cell.outputs.add(
                {
                    "output_type": "error",
                    "ename": visible(str(content.get("ename", ""))[:TEXT_HEAD]),
                    "evalue": visible(str(content.get("evalue", ""))[:TEXT_HEAD]),
                    "traceback": [visible(str(line)[:TEXT_HEAD]) for line in lines[:200]],
                }
            )
        elif kind == "clear_output":
            cell.count("cleared")
            if content.get("wait"):
                cell.outputs.clear_next = True
            else:
                cell.outputs.clear()
        elif kind == "execute_input":
            cell.execution_count = _count(content.get("execution_count"))

    def _display(self, cell: _Cell, kind: str, content: dict[str, Any]) -> None:
        output: dict[str, Any] = {
            "output_type": kind,
            "data": self._bundle(content),
            "metadata": self._shown(content.get("metadata")),
        }
        if kind == "execute_result":
            output["execution_count"] = _count(content.get("execution_count"))
        cell.outputs.add(output)
        if (display_id := _display_id(content)) is not None:
            self._displays.setdefault(display_id, []).append((cell, output))

    def _update(self, updater: _Cell, content: dict[str, Any]) -> None:
        display_id = _display_id(content)
        for cell, output in self._displays.get(display_id, []) if display_id is not None else ():
            output["data"] = self._bundle(content)
            output["metadata"] = self._shown(content.get("metadata"))
            cell.fragment = None
            if cell is not updater:
                cell.reclaim["updated_later_by"] = sorted({*cell.reclaim.get("updated_later_by", []), updater.id})

    def _shown(self, metadata: Any) -> dict[str, Any]:
        if not isinstance(metadata, dict) or any(True for _ in references(metadata)):
            return {}
        shown: dict[str, Any] = visible_json(resolve(metadata, self._store))
        return shown

    def _bundle(self, content: dict[str, Any]) -> dict[str, Any]:
        data = content.get("data")
        if not isinstance(data, dict) or is_reference(data) or "$json" in data or "$raw" in data:
            return {"text/plain": [_unshown(content)]}
        bundle: dict[str, Any] = {}
        notes = []
        for mime, value in data.items():
            kept = value
            value = resolve(value, self._store) if not _too_large(value) else None
            if _too_large(kept) or (isinstance(value, str) and len(value) > MIME_LIMIT):
                notes.append(f"[{visible(mime)}: too large for the notebook, {_kept(kept)}]\n")
            elif isinstance(value, str):
                bundle[visible(mime)] = _lines(visible(value))
            elif is_json(mime):
                bundle[mime] = visible_json(value)
            else:
                bundle[visible(mime)] = _lines(visible(json.dumps(value)))
        if notes:
            bundle["text/plain"] = notes + bundle.get("text/plain", [])
        return bundle


def is_json(mime: str) -> bool:
    """Tell whether values of a MIME type stand as JSON in a notebook; all others are text."""
    return _JSON_MIME.match(mime) is not None


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _display_id(content: dict[str, Any]) -> str | None:
    transient = content.get("transient")
    display_id = transient.get("display_id") if isinstance(transient, dict) else None
    return display_id if isinstance(display_id, str) else None


def _too_large(value: Any) -> bool:
    if not is_reference(value):
        return False
    reference = value.get("$payload") or value["$cut"]
    return "$cut" in value or reference["bytes"] > MIME_LIMIT


def _kept(value: Any) -> str:
    """Say how much of a text the record has."""
    if isinstance(value, str):
        return "whole in the record"
    cut = "$cut" in value
    size = (value["$cut"] if cut else value["$payload"])["bytes"]
    return f"{size:,} bytes, of which the record has {'the beginning and the end' if cut else 'all'}"


def _unshown(content: dict[str, Any]) -> str:
    """Say what is not shown of an output that came as one text without parts, because it was so large."""
    held = next((value for value in content.values() if is_reference(value)), None)
    return f"[an output too large for the notebook: {_kept(held)}]" if held else "[output kept in the record only]"


def _encode(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
