"""A small record written through the real writer, without a kernel: what a kernel sends is given as messages."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from reclaim_nb.attempts.recorder import Recorder
from reclaim_nb.record.clock import SystemClock
from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.record.payloads import Policy

_numbers = itertools.count()


class Writer:
    """Writes the record of one made-up attempt."""

    def __init__(self, path: Path, policy: Policy | None = None) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.folder = AttemptFolder(path)
        self.recorder = Recorder(self.folder, SystemClock(), policy)

    def begin(self) -> None:
        self.recorder.append("attempt", {"schema": 1, "spec": {"id": "a", "kernel": {"name": "reclaim-local"}}})
        self.recorder.append("runner", {"resumed": False, "kernel": {}, "language_info": {"name": "python"}})

    def cell(self, cell: str, source: str = "1", cell_type: str = "code", **metadata: Any) -> None:
        self.recorder.append(
            "cell",
            {
                "cell": cell,
                "cell_type": cell_type,
                "author": "agent",
                "turn": 1,
                "source": source,
                "metadata": metadata,
            },
        )

    def message(self, cell: str | None, msg_type: str, content: Any, *, late: bool = False, **extra: Any) -> None:
        self.recorder.append(
            "message",
            {
                "cell": cell,
                "channel": "iopub",
                "msg_type": msg_type,
                "msg_id": f"m_1_{next(_numbers)}",
                "parent": f"p-{cell}",
                "content": content,
                "metadata": {},
                "late": late,
            }
            | extra,
        )

    def stream(self, cell: str, text: str, name: str = "stdout") -> None:
        self.message(cell, "stream", {"name": name, "text": text})

    def show(self, cell: str, data: Any, metadata: Any = None, **extra: Any) -> None:
        self.message(cell, "display_data", {"data": data, "metadata": metadata or {}, **extra})

    def end_cell(self, cell: str, status: str = "ok") -> None:
        self.recorder.append(
            "cell_end",
            {
                "cell": cell,
                "status": status,
                "execution_count": 1,
                "started": "2026-01-01T00:00:00.000000Z",
                "ended": "2026-01-01T00:00:01.000000Z",
                "held_seconds": 1.0,
                "charged_seconds": 1.0,
                "messages": 1,
                "gaps": 0,
                "idle": True,
                "detail": None,
            },
        )

    def end(self) -> AttemptFolder:
        self.recorder.append(
            "end", {"reason": "submitted", "detail": None, "usage": {"turns": 1}, "submission": {"value": "1"}}
        )
        self.recorder.save()
        self.recorder.close()
        return self.folder

    @property
    def live(self) -> bytes:
        """The notebook as the running recorder has it."""
        return self.recorder.rendering.to_bytes()


def whole_record(path: Path) -> AttemptFolder:
    """Write an ended attempt of three cells with every kind of output, one of them outside the line."""
    writer = Writer(path)
    writer.begin()
    writer.cell("text", "# Title", "markdown")
    for name in ("aaa", "bbb", "ccc"):
        writer.cell(name, f"print({name!r})")
        writer.recorder.append("execute", {"cell": name, "msg_id": f"p-{name}"})
        writer.stream(name, f"{name} says 0.5\n")
        writer.stream(name, "warning\n", "stderr")
        writer.show(name, {"text/plain": "x", "application/json": {"a": [1, 2]}}, transient={"display_id": name})
        writer.message(name, "error", {"ename": "E", "evalue": "v", "traceback": ["a", "b"]})
        writer.stream(name, "long " * 5000)
        writer.end_cell(name)
    writer.recorder.append(
        "tool", {"name": "submit", "arguments": {"value": "1"}, "result": {"text": "ok"}, "cell": "ccc", "meter": {}}
    )
    return writer.end()
