"""What a grader may see of an attempt: code, outputs and harness facts, never the agent's prose.

Built in one pass over the stream. Outputs are kept as history: a later update or clear adds to it and removes nothing.
Long outputs keep both ends and every line of interest; what stands between is scanned, then let go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

from reclaim_nb.grading.scan import Line

if TYPE_CHECKING:
    from reclaim_nb.grading.lineage import Lineage

READ_WHOLE = 4096
"""Outputs up to this long are read number by number; of longer ones, the lines of interest and the last lines."""


@dataclass(frozen=True, slots=True)
class Output:
    """One output of a cell, in the order in which the kernel sent it.

    Attributes:
        index: position in the cell's history, from 0; never reused.
        kind: ``stream``, ``display``, ``result``, ``error``, ``update`` or ``log`` (the container's own log).
        name: stream name, or the MIME type the text was taken from.
        pieces: (offset, text): the whole text in one piece, or both ends of a long one.
        length: characters of the whole text.
        lines: lines of interest of a text that is too long to be read number by number.
        digest: (offset, line): one line of every shape of such a text.
        hidden: text inside HTML that a reader does not see.
        cleared: a later ``clear_output`` took it out of view.
        late: it arrived after its cell's end.
        after_stop: it arrived after a limit had stopped the attempt.
        rewrites: for ``update``: (cell, index) of the output it stands for in the notebook.
    """

    index: int
    kind: str
    name: str
    pieces: tuple[tuple[int, str], ...]
    length: int
    lines: tuple[Line, ...] = ()
    digest: tuple[tuple[int, str], ...] = ()
    hidden: str = ""
    cleared: bool = False
    late: bool = False
    after_stop: bool = False
    rewrites: tuple[str, int] | None = None

    @property
    def text(self) -> str:
        """The text, or what is kept of a long one."""
        return "\n".join(text for _, text in self.pieces)

    @property
    def whole(self) -> bool:
        """Whether all of the text is kept."""
        return len(self.pieces) == 1 and len(self.pieces[0][1]) == self.length

    def quote(self, offset: int, length: int) -> str | None:
        """Return the text at an offset, None where it was not kept."""
        for start, text in self.pieces:
            if start <= offset and offset + length <= start + len(text):
                return text[offset - start : offset - start + length]
        for line in self.lines:
            if line.offset <= offset and offset + length <= line.offset + len(line.text):
                return line.text[offset - line.offset : offset - line.offset + length]
        return None


@dataclass(frozen=True, slots=True)
class Cell:
    """One code cell and what came of it.

    Attributes:
        id: the cell's id.
        author: ``harness``, ``agent`` or ``human``.
        turn: turn of the agent, if any.
        source: source as sent.
        ran: source as the kernel reported it, where it differs from what was sent.
        position: place in the notebook, from 0 (all cells counted).
        order: place in the order of execution, None when it was never sent.
        status: ``ok``, ``error``, ``interrupted``, ``timeout``, ``killed`` or ``not_run``.
        execution_count: Jupyter's number, None when the kernel never took it.
        charged_seconds, held_seconds: device seconds charged, seconds it ran.
        spent_before: device seconds charged before it began.
        gaps: messages known to be lost.
        idle: whether the kernel said that it was done.
        outputs: its outputs, in order; past a bound the middle is left out.
        outputs_seen: how many there were.
        hooks: inventories of installed hooks before and after, where the harness took them.
    """

    id: str
    author: str
    turn: int | None
    source: str
    ran: str | None
    position: int
    order: int | None
    status: str
    execution_count: int | None
    charged_seconds: Decimal
    held_seconds: Decimal
    spent_before: Decimal
    gaps: int
    idle: bool
    detail: str | None
    outputs: tuple[Output, ...]
    outputs_seen: int
    hooks: Any = None

    @property
    def executed(self) -> bool:
        """Whether the kernel took it at all."""
        return self.order is not None and self.status != "not_run"


@dataclass(frozen=True, slots=True)
class Prose:
    """Words of the agent, kept apart from evidence: a Markdown cell or the note of its submission."""

    cell: str | None
    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool the agent called; ``cell`` is the running cell for calls from inside the kernel."""

    name: str
    arguments: dict[str, Any]
    result: Any
    cell: str | None
    spent: Decimal


@dataclass(frozen=True, slots=True)
class Submission:
    """What the agent handed in; ``value`` is None for "no number"."""

    value: Decimal | None
    text: str
    cell: str | None
    note: str
    from_cell: str | None
    """The cell whose code handed it in, None for a call from outside the kernel."""


@dataclass(frozen=True)
class Evidence:
    """All of it. Frozen; what is derived from it is computed once."""

    spec: dict[str, Any]
    head: str
    events: int
    cells: tuple[Cell, ...]
    self_report: tuple[Prose, ...]
    tools: tuple[ToolCall, ...]
    submission: Submission | None
    end_reason: str | None
    end_detail: str | None
    usage: dict[str, Any]
    charged_seconds: Decimal
    device: str
    network: tuple[dict[str, Any], ...]
    limits: tuple[dict[str, Any], ...]
    intake: dict[str, Any] | None
    notes: tuple[dict[str, Any], ...] = ()
    memo: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """Holds what is derived from it for one card, so that it is derived once."""

    @cached_property
    def by_id(self) -> dict[str, Cell]:
        """Cells by id."""
        return {cell.id: cell for cell in self.cells}

    @cached_property
    def executed(self) -> tuple[Cell, ...]:
        """Cells the kernel took, in the order in which it took them, the harness's own left out."""
        ran = [cell for cell in self.cells if cell.executed and cell.author != "harness"]
        return tuple(sorted(ran, key=lambda cell: cell.order if cell.order is not None else -1))

    @cached_property
    def lineage(self) -> Lineage:
        """Where each printed number can come from, by static analysis of the executed code."""
        from reclaim_nb.grading.lineage import trace

        return trace(self)

    @cached_property
    def texts(self) -> tuple[tuple[Cell, Output, str, str], ...]:
        """Every kept output of the agent's executed cells with its text (of a long one, one line of every shape), as it
        is and in lower case."""
        found = []
        for cell, output in self.outputs():
            text = "\n".join(line for _, line in output.digest) if output.digest else output.text
            if output.hidden:
                text = f"{text}\n{output.hidden}"
            found.append((cell, output, text, text.lower()))
        return tuple(found)

    def outputs(self) -> Iterator[tuple[Cell, Output]]:
        """Yield every kept output of the agent's executed cells, in order of execution."""
        for cell in self.executed:
            for output in cell.outputs:
                yield cell, output

    def quote(self, cell_id: str, index: int, offset: int, length: int) -> str | None:
        """Return the text a citation points at, None where it does not resolve."""
        cell = self.by_id.get(cell_id)
        output = next((o for o in cell.outputs if o.index == index), None) if cell else None
        return output.quote(offset, length) if output else None

    @property
    def spent_hours(self) -> Decimal:
        """Charged device hours."""
        return self.charged_seconds / 3600
