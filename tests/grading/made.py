"""Makes attempt folders for tests: real stream files, written by the real writer, from sources and kernel messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reclaim_nb.grading.verdict import Verdict, grade
from reclaim_nb.papers.loading import LoadedCard, load_card
from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.record.payloads import PayloadStore
from reclaim_nb.record.reader import read_events
from reclaim_nb.record.render import Rendering
from reclaim_nb.record.stream import StreamWriter

CARDS = Path(__file__).parent / "cards"
Message = tuple[str, dict[str, Any]]


class FixedClock:
    """A clock on which every event is one second after the one before."""

    def __init__(self) -> None:
        self.seconds = 0

    def now(self) -> str:
        self.seconds += 1
        return f"2026-01-01T{self.seconds // 3600:02d}:{self.seconds // 60 % 60:02d}:{self.seconds % 60:02d}.000000Z"

    def monotonic(self) -> float:
        return float(self.seconds)


def out(text: str, name: str = "stdout") -> Message:
    """A piece of printed text."""
    return ("stream", {"name": name, "text": text})


def result(text: str, **more: Any) -> Message:
    """The value of a cell's last expression."""
    return ("execute_result", {"data": {"text/plain": text, **more}, "metadata": {}, "execution_count": 1})


def shown(data: dict[str, Any] | str, display_id: str | None = None, *, update: bool = False) -> Message:
    """A displayed object, or an update of one."""
    bundle = data if isinstance(data, dict) else {"text/plain": data}
    content: dict[str, Any] = {
        "data": bundle,
        "metadata": {},
        "transient": {"display_id": display_id} if display_id else {},
    }
    return ("update_display_data" if update else "display_data", content)


def raised(name: str, value: str) -> Message:
    """A traceback."""
    trace = ["Traceback (most recent call last)", f"{name}: {value}"]
    return ("error", {"ename": name, "evalue": value, "traceback": trace})


@dataclass
class C:
    """One code cell: source, what the kernel sent, and how it went."""

    source: str
    sent: Sequence[Message | str] = ()
    status: str = "ok"
    charged: float = 0.0
    gaps: int = 0
    idle: bool = True
    late: Sequence[Message | str] = ()
    author: str = "agent"
    produced: str | None = None
    """Id of the cell whose thread really printed."""
    log: str = ""
    hooks: Any = None


@dataclass
class Md:
    """One Markdown cell of the agent."""

    text: str


@dataclass
class Made:
    """A finished attempt on disk and its card."""

    folder: AttemptFolder
    card: LoadedCard
    ids: list[str] = field(default_factory=list)

    def verdict(self, **options: Any) -> Verdict:
        return grade(self.folder, self.card, **options)


def toy(name: str = "toy-cls") -> LoadedCard:
    """Return one of the test cards."""
    return load_card(CARDS / f"{name}.yaml")


SHIPPED = {
    "schema": 1,
    "files": [
        {"path": path, "size": 10, "sha256": f"{index:064x}"}
        for index, path in enumerate(["results/metrics.json", "demo.ipynb", "ckpt/base.pt", "ckpt/final.pt"])
    ],
    "numbers": [
        {"file": "results/metrics.json", "line": 1, "text": "84.3"},
        {"file": "demo.ipynb", "line": 1, "text": "84.3"},
    ],
}


def make(
    path: Path,
    cells: Sequence[C | Md],
    card: LoadedCard | None = None,
    *,
    end: str = "agent_stopped",
    submission: dict[str, Any] | None = None,
    from_cell: int | None = None,
    intake: dict[str, Any] | None = None,
    tools: Sequence[dict[str, Any]] = (),
    network: Sequence[dict[str, Any]] = (),
    stop_before: int | None = None,
    detail: str | None = None,
) -> Made:
    """Write an attempt.

    Args:
        path: a new folder.
        cells: its cells in order.
        card: the card; toy-cls when left out.
        end: end reason.
        submission: what was handed in: value, cell, note.
        from_cell: index of the cell that handed it in from inside the kernel.
        intake: the manifest.
        tools: further tool calls: name, arguments, result, cell.
        network: network log entries.
        stop_before: a limit stops the attempt before this cell's late outputs.
    """
    card = card or toy()
    path.mkdir(parents=True, exist_ok=True)
    folder = AttemptFolder(path)
    folder.workspace.mkdir(exist_ok=True)
    if intake is not None:
        folder.intake.write_text(json.dumps(intake))
    ids = []
    total = 0.0
    with StreamWriter(folder.stream, PayloadStore(folder.payloads), FixedClock()) as stream:
        spec = {
            "id": "made/1",
            "paper": card.card.id,
            "card_sha256": card.sha256,
            "card": card.card.model_dump(mode="json"),
            "kernel": {"name": "reclaim-local"},
        }
        stream.append("attempt", {"schema": 1, "spec": spec})
        for index, cell in enumerate(cells):
            name = f"c{index:02d}"
            ids.append(name)
            if isinstance(cell, Md):
                stream.append(
                    "cell",
                    {
                        "cell": name,
                        "cell_type": "markdown",
                        "author": "agent",
                        "turn": index,
                        "source": cell.text,
                        "metadata": {},
                    },
                )
                continue
            stream.append(
                "cell",
                {
                    "cell": name,
                    "cell_type": "code",
                    "author": cell.author,
                    "turn": index,
                    "source": cell.source,
                    "metadata": {},
                },
            )
            if cell.status != "not_run":
                stream.append("execute", {"cell": name, "msg_id": f"m{index}"})
                _message(stream, name, index, ("execute_input", {"code": cell.source, "execution_count": index + 1}))
                for message in cell.sent:
                    _message(stream, name, index, message, produced=cell.produced)
                if cell.log:
                    stream.append("note", {"cell": name, "log": cell.log})
            total += cell.charged
            ended = {
                "cell": name,
                "status": cell.status,
                "execution_count": index + 1 if cell.status != "not_run" else None,
                "started": "2026-01-01T00:00:00.000000Z",
                "ended": "2026-01-01T00:00:01.000000Z",
                "held_seconds": cell.charged,
                "charged_seconds": cell.charged,
                "messages": len(cell.sent),
                "gaps": cell.gaps,
                "idle": cell.idle,
                "detail": None,
            }
            if cell.hooks is not None:
                ended["hooks"] = cell.hooks
            stream.append("cell_end", ended)
            for tool in tools:
                if tool.get("cell") == name:
                    stream.append("tool", tool)
            if submission is not None and from_cell == index:
                stream.append(
                    "tool", {"name": "submit", "arguments": submission, "result": {"text": "taken"}, "cell": name}
                )
            if stop_before == index:
                stream.append("limit", {"which": "budget_exhausted", "detail": "", "stop": True})
            for message in cell.late:
                _message(stream, name, index, message, late=True)
        for tool in tools:
            if tool.get("cell") is None:
                stream.append("tool", tool)
        for entry in network:
            stream.append("network", dict(entry))
        stream.append(
            "meter", {"charged_seconds": total, "held_seconds": total, "hours": str(total / 3600), "device": "gpu"}
        )
        if submission is not None and from_cell is None:
            stream.append(
                "tool", {"name": "submit", "arguments": submission, "result": {"text": "taken"}, "cell": None}
            )
        usage = {"charged_seconds": total}
        stream.append(
            "end",
            {
                "reason": "submitted" if submission is not None else end,
                "detail": detail,
                "usage": usage,
                "submission": submission,
            },
        )
    render(folder)
    return Made(folder, card, ids)


def render(folder: AttemptFolder) -> None:
    """Write the notebook of a stream."""
    rendering = Rendering(folder.store())
    for event in read_events(folder.stream):
        rendering.apply(event)
    folder.notebook.write_bytes(rendering.to_bytes())


def _message(
    stream: StreamWriter,
    cell: str,
    index: int,
    message: Message | str,
    *,
    late: bool = False,
    produced: str | None = None,
) -> None:
    kind, content = out(message) if isinstance(message, str) else message
    from reclaim_nb.record.payloads import spill

    stream.append(
        "message",
        {
            "cell": cell,
            "channel": "iopub",
            "msg_type": kind,
            "msg_id": "x",
            "parent": f"m{index}",
            "content": spill(content, stream.payloads),
            "metadata": {},
            "late": late,
            "from": produced,
        },
    )
