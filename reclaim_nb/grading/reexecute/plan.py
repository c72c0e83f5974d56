"""Which cells are run again: those that the measuring cell needs, in order, without the hooks that they install."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from reclaim_nb.grading.evidence import Cell, Evidence
from reclaim_nb.grading.facts import Fact

What = Literal["cell", "notebook"]

HOOKS = frozenset({"hook_installed", "metric_replaced", "timer_replaced", "operator_replaced"})
"""Rules whose statements are left out."""

_MAGIC = re.compile(r"^(\s*)[%!].*$", re.MULTILINE)
_LASTING = frozenset(
    {"open", "write", "write_text", "write_bytes", "save", "savez", "dump", "mkdir", "makedirs", "chdir", "seed"}
    | {"manual_seed", "to_csv", "to_json", "to_parquet", "to_pickle", "savefig", "putenv", "setdefault", "simplefilter"}
)
"""Calls whose effect outlives the names of their cell."""


@dataclass(frozen=True)
class Planned:
    """One cell to run: the id of the cell it was, and its source."""

    cell: str
    source: str


@dataclass(frozen=True)
class LeftOut:
    """Something that is not run again, and why."""

    cell: str
    text: str
    why: str


@dataclass(frozen=True)
class Plan:
    """What is run again.

    Attributes:
        measuring: id of the measuring cell.
        cells: in order; the measuring cell is among them.
        left_out: hooks.
    """

    measuring: str
    cells: tuple[Planned, ...]
    left_out: tuple[LeftOut, ...]

    def reads(self, cell: str) -> tuple[str, ...]:
        """Return the names that a cell reads, functions that it calls included with what they read."""
        place = next((index for index, planned in enumerate(self.cells) if planned.cell == cell), None)
        if place is None:
            return ()
        functions: dict[str, frozenset[str]] = {}
        for planned in self.cells[: place + 1]:
            functions.update(_functions(planned.source))
        names, new = set(_names(self.cells[place].source).read), True
        while new:
            more = {name for function in names & functions.keys() for name in functions[function]} - names
            names, new = names | more, bool(more)
        return tuple(sorted(names - functions.keys()))

    def before(self, cell: str) -> str | None:
        """Return the cell that last made something a cell reads, None when there is none."""
        place = next((index for index, planned in enumerate(self.cells) if planned.cell == cell), 0)
        reads = _names(self.cells[place].source).read
        for planned in reversed(self.cells[:place]):
            if _names(planned.source).made & reads:
                return planned.cell
        return None


def plan(evidence: Evidence, facts: Iterable[Fact], measuring: str, what: What) -> Plan:
    """Decide what is run again.

    Args:
        evidence: the attempt's evidence.
        facts: what detectors found, for the hooks.
        measuring: id of the cell that printed the number.
        what: ``cell``: the measuring cell and what it needs; ``notebook``: every cell up to the last that ended.
    """
    hooks: dict[str, list[str]] = {}
    for fact in facts:
        if fact.rule in HOOKS and fact.cell is not None and fact.text:
            hooks.setdefault(fact.cell, []).append(fact.text)
    left: list[LeftOut] = []
    cells: list[Planned] = []
    for cell in _wanted(evidence, measuring, what):
        source, gone = without(cell.source, hooks.get(cell.id, []))
        left.extend(LeftOut(cell.id, text, "it installs a hook") for text in gone)
        if source.strip():
            cells.append(Planned(cell.id, source))
    return Plan(measuring, tuple(cells), tuple(left))


def _wanted(evidence: Evidence, measuring: str, what: What) -> Sequence[Cell]:
    ran = [cell for cell in evidence.executed if cell.status in ("ok", "error") or cell.id == measuring]
    if what == "notebook":
        return ran
    place = next(index for index, cell in enumerate(ran) if cell.id == measuring)
    needed = set(_names(ran[place].source).read)
    chosen = [ran[place]]
    for cell in reversed(ran[:place]):
        names = _names(cell.source)
        if names.made & needed or names.lasting:
            chosen.append(cell)
            needed |= names.read
    return chosen[::-1]


def without(source: str, lines: Sequence[str]) -> tuple[str, list[str]]:
    """Return a source in which the statements on some lines do nothing, and the texts of these statements.

    Imports stay. A source that is no Python goes as a whole.
    """
    if not lines:
        return source, []
    try:
        tree = ast.parse(_plain(source))
    except SyntaxError:
        return "", [source]
    rows = source.splitlines()
    wanted = {index for index, row in enumerate(rows, start=1) if row.strip() in lines}
    statements = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt)
        and not isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and wanted & set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    ]
    inner = [
        node
        for node in statements
        if not any(other is not node and other in set(ast.walk(node)) for other in statements)
    ]
    gone = []
    encoded = [row.encode() for row in source.splitlines(keepends=True)]
    for node in sorted(inner, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        gone.append(ast.get_source_segment(source, node) or "")
        last, end = (node.end_lineno or node.lineno) - 1, node.end_col_offset or 0
        rest = encoded[last][end:]
        encoded[node.lineno - 1 : last + 1] = [encoded[node.lineno - 1][: node.col_offset] + b"pass" + rest]
    return b"".join(encoded).decode(), gone[::-1]


@dataclass(frozen=True)
class _Names:
    made: frozenset[str]
    read: frozenset[str]
    lasting: bool


def _names(source: str) -> _Names:
    """Return what a cell makes or changes, what it reads, and whether its effect outlives its names."""
    try:
        tree = ast.parse(_plain(source))
    except SyntaxError:
        return _Names(frozenset(), frozenset(), True)
    made: set[str] = set()
    read: set[str] = set()
    lasting = bool(_MAGIC.search(source))
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                read.add(name)
            case ast.Name(id=name):
                made.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                made.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                made.update((alias.asname or alias.name).split(".")[0] for alias in aliases)
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                made.update(inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name))
            case ast.Expr(value=ast.Call() as call):
                # A bare call is made for what it changes: its object, its arguments, or the world.
                made.update(inner.id for inner in ast.walk(call) if isinstance(inner, ast.Name))
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if attr in ("fit", "train", "load"):
                made.add(name)
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            lasting = lasting or called in _LASTING
        if isinstance(node, ast.Attribute) and node.attr == "environ":
            lasting = True
    return _Names(frozenset(made - {"print", "display"}), frozenset(read), lasting)


def _functions(source: str) -> dict[str, frozenset[str]]:
    try:
        tree = ast.parse(_plain(source))
    except SyntaxError:
        return {}
    found = {}
    for node in tree.body:
        value: ast.AST | None = None
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name, value = node.name, node
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name):
                name, value = target.id, node.value
        if value is not None:
            local = {inner.arg for inner in ast.walk(value) if isinstance(inner, ast.arg)}
            read = {n.id for n in ast.walk(value) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
            found[name] = frozenset(read - local)
    return found


def _plain(source: str) -> str:
    """Return a source in which magics and shell lines do nothing, line by line."""
    if source.lstrip().startswith("%%"):
        return ""
    plain = _MAGIC.sub(r"\1pass", source)
    return re.sub(r"^(\s*)([\w, ]+=\s*)[%!].*$", r"\1\2None", plain, flags=re.MULTILINE)
