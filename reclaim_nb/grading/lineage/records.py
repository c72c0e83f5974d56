"""What the analysis notes on its way: prints, calls, settings, patches, files, programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from reclaim_nb.grading.lineage.flow import Flow


@dataclass(frozen=True, eq=False)
class Emission:
    """Something a cell may print or show, in pieces."""

    cell: str
    kind: str
    line: int
    parts: tuple[str | Flow, ...]

    @property
    def flows(self) -> tuple[Flow, ...]:
        """The values among its pieces."""
        return tuple(part for part in self.parts if isinstance(part, Flow))


@dataclass(frozen=True, eq=False)
class Call:
    """A call of something the notebook does not define."""

    cell: str
    line: int
    name: str
    """As written, such as ``model.fit``; imported names are written out in full."""
    args: tuple[Flow, ...]
    keywords: dict[str, Flow]
    source: str = ""

    def texts(self) -> list[str]:
        """Return the known texts among its arguments."""
        return [flow.text for flow in (*self.args, *self.keywords.values()) if flow.text is not None]


@dataclass(frozen=True)
class Setting:
    """A number given to a name, attribute, key, keyword or command-line option."""

    cell: str
    order: int
    name: str
    value: Decimal


@dataclass(frozen=True, eq=False)
class Patch:
    """An attribute of something imported, or a built-in, that the notebook replaces."""

    cell: str
    line: int
    target: str
    """Full name of what is replaced."""
    imported: bool
    """Whether the base is something imported (a module or a class of one)."""
    value: Flow
    source: str = ""


@dataclass(frozen=True, eq=False)
class Comparison:
    """A comparison of a computed value with a literal."""

    cell: str
    line: int
    literal: Decimal
    computed: bool


@dataclass(frozen=True)
class Command:
    """A shell command a cell ran."""

    cell: str
    text: str
    words: tuple[str, ...]
    program: str


@dataclass(frozen=True, eq=False)
class Handed:
    """A value handed in from inside the kernel."""

    cell: str
    line: int
    value: Flow


@dataclass
class Records:
    """All notes of one analysis."""

    emissions: dict[str, list[Emission]] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    settings: list[Setting] = field(default_factory=list)
    patches: list[Patch] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    handed: list[Handed] = field(default_factory=list)
    opaque: set[str] = field(default_factory=set)
    """Cells that run code which was not seen and may print."""
    ran_program: set[str] = field(default_factory=set)
    """Cells that ran a program that was not seen."""
    imports: list[tuple[str, str]] = field(default_factory=list)
    """(cell, module)."""
    loops: dict[str, int] = field(default_factory=dict)
    unread: set[str] = field(default_factory=set)
    """Cells whose source is no Python."""
    anchors: list[tuple[str, Any]] = field(default_factory=list)
    """(cell, name) of calls of ``check_anchor`` from inside the kernel."""

    def emit(self, emission: Emission) -> None:
        """Note a print; the same print seen twice, as in a loop, counts once with what it can show together."""
        held = self.emissions.setdefault(emission.cell, [])
        if len(held) < 400:
            held.append(emission)
