"""Where printed numbers come from: static analysis of the executed cells, never an execution."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING

from reclaim_nb.grading.lineage import flow as f
from reclaim_nb.grading.lineage.flow import UNKNOWN, Flow, replace
from reclaim_nb.grading.lineage.records import Call, Emission, Records
from reclaim_nb.grading.lineage.walker import Walker
from reclaim_nb.grading.vocabulary import tokens

if TYPE_CHECKING:
    from reclaim_nb.grading.evidence import Evidence

__all__ = ["Lineage", "Origin", "trace"]

_VALUE = re.compile(r"[+-]?(?:\d[\d,_]*)?(?:\.\d+|(?<=\d)\.?)(?:[eE][+-]?\d+)?")


@dataclass(frozen=True)
class Origin:
    """Where one printed number comes from.

    Attributes:
        flow: its value in the analysis.
        matched: whether the print that shows it was found.
        written: whether it stands in the very text that the source prints.
        line: line of the cell's source that shows it, 0 where not known.
    """

    flow: Flow
    matched: bool = False
    written: bool = False
    line: int = 0

    @property
    def words(self) -> tuple[str, ...]:
        """Words in the names of the expression that shows it."""
        return tuple(word for name in self.flow.names for word in tokens(name))


class Lineage:
    """The finished analysis of one attempt's executed cells."""

    def __init__(self, walker: Walker, order: dict[str, int]) -> None:
        self.records: Records = walker.records
        self.order = order
        self.finished = walker.steps <= walker.limit
        self._given: dict[str, tuple[dict[Decimal, list[str]], set[Decimal]]] = {}
        self._calls: dict[str, list[Call]] = {}
        for call in self.records.calls:
            self._calls.setdefault(call.cell, []).append(call)

    def origin(self, cell_id: str, text: str, line: str, column: int, words: tuple[str, ...] = ()) -> Origin:
        """Return where a printed number comes from.

        Args:
            cell_id: the cell that printed it.
            text: the number in its own characters.
            line: the line it stands in.
            column: characters before it in that line.
            words: words that stand by it.
        """
        emissions = self.records.emissions.get(cell_id, ())
        value = _number(text)
        best: list[tuple[int, Origin]] = []
        for emission in emissions:
            for specific, origin in _matches(emission, line, column, value, words):
                best.append((specific, origin))
        if best:
            top = max(specific for specific, _ in best)
            chosen = [origin for specific, origin in best if specific == top]
            flow = chosen[0].flow
            for other in chosen[1:]:
                flow = f.joined(flow, other.flow) if other.flow is not flow else flow
            names = tuple(dict.fromkeys(name for origin in chosen for name in origin.flow.names))
            return Origin(replace(flow, names=names), True, all(origin.written for origin in chosen), chosen[0].line)
        echoed = self._echoed(cell_id, value, line)
        if echoed is not None:
            return Origin(echoed)
        if cell_id in self.records.opaque or not emissions:
            return Origin(UNKNOWN)
        return Origin(f.merged(flow for emission in emissions for flow in emission.flows) if emissions else UNKNOWN)

    def _echoed(self, cell_id: str, value: Decimal | None, line: str) -> Flow | None:
        """Return a literal that was handed to unseen code of the cell and that the number repeats, if there is one."""
        digits = len(value.normalize().as_tuple().digits) if value is not None else 0
        if value is None or digits < 2:
            return None
        texts, bare = self._given_to_calls(cell_id)
        if digits >= 3 and value in bare:
            return _written(value)
        return _written(value) if any(_shares_word(text, line) for text in texts.get(value, ())) else None

    def _given_to_calls(self, cell_id: str) -> tuple[dict[Decimal, list[str]], set[Decimal]]:
        """Return the numbers in texts, and the bare numbers, that a cell's source hands to code that was not seen."""
        if cell_id not in self._given:
            texts: dict[Decimal, list[str]] = {}
            bare: set[Decimal] = set()
            for call in self._calls.get(cell_id, ()):
                for flow in (*call.args, *call.keywords.values()):
                    for text in flow.parts or ():
                        for number in f.numbers_in(text) if isinstance(text, str) else ():
                            texts.setdefault(number, []).append(str(text))
                    if flow.kinds == {f.LITERAL} and flow.parts is None:
                        bare.update(flow.literals)
            self._given[cell_id] = texts, bare
        return self._given[cell_id]


def _shares_word(text: str, line: str) -> bool:
    words = set(tokens(text))
    return not words or bool(words & set(tokens(line)))


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text.replace(",", "").replace("_", "").replace("\u2212", "-"))
    except ArithmeticError:
        return None


def _lines_of(emission: Emission) -> list[tuple[str | Flow, ...]]:
    """Return the pieces of a print, line by line."""
    lines: list[list[str | Flow]] = [[]]
    for part in emission.parts:
        if isinstance(part, Flow):
            if part.parts is not None and not part.known:
                for inner in part.parts:
                    _add_piece(lines, inner)
                continue
            _add_piece(lines, str(part.const) if part.text is not None else part)
        else:
            _add_piece(lines, part)
    return [tuple(line) for line in lines if line]


def _add_piece(lines: list[list[str | Flow]], piece: str | Flow) -> None:
    if isinstance(piece, Flow):
        lines[-1].append(piece)
        return
    first, *rest = re.split(r"[\n\r]", piece)
    if first:
        lines[-1].append(first)
    for text in rest:
        lines.append([text] if text else [])


@lru_cache(maxsize=4096)
def _pattern(shape: tuple[str | None, ...]) -> re.Pattern[str]:
    pieces = []
    for index, piece in enumerate(shape):
        if piece is None:
            pieces.append("(.*)" if index == len(shape) - 1 else "(.*?)")
        else:
            pieces.append("(" + r"\s+".join(re.escape(word) for word in re.split(r"\s+", piece)) + ")")
    return re.compile(r"\s*" + "".join(pieces) + r"\s*\Z")


def _matches(
    emission: Emission, line: str, column: int, value: Decimal | None, words: tuple[str, ...]
) -> list[tuple[int, Origin]]:
    found = []
    for pieces in _lines_of(emission):
        shape = tuple(piece if isinstance(piece, str) else None for piece in pieces)
        known = sum(len(piece.strip()) for piece in shape if piece is not None)
        specific = known
        start = 0
        match = _pattern(shape).match(line)
        if match is None and known >= 2:
            match = _search(shape, line)
            specific = known - 1
        if match is None:
            continue
        for index, piece in enumerate(pieces, start=1):
            if match.start(index) <= column < match.end(index) or (column == match.start(index) == match.end(index)):
                if isinstance(piece, str):
                    origin = Origin(_written(value), True, True, emission.line)
                    found.append((specific, origin))
                else:
                    inner = _inside(piece, match[index], column - match.start(index), value, words)
                    if inner is not None:
                        found.append((specific, Origin(inner, True, False, emission.line)))
                break
        del start
    return found


def _search(shape: tuple[str | None, ...], line: str) -> re.Match[str] | None:
    pieces = [p if p is not None else None for p in shape]
    text = "".join(
        "(.*?)" if p is None and i < len(pieces) - 1 else r"(\S*)" if p is None else "(" + re.escape(p) + ")"
        for i, p in enumerate(pieces)
    )
    return re.compile(text).search(line)


def _written(value: Decimal | None) -> Flow:
    return Flow(frozenset({f.LITERAL}), (value,) if value is not None else ())


def _inside(flow: Flow, text: str, column: int, value: Decimal | None, words: tuple[str, ...]) -> Flow | None:
    """Return which part of a shown value one of its numbers is; None where it cannot be that value."""
    if flow.fields:
        before = text[:column]
        keys = sorted(((before.rfind(key), key) for key in flow.fields if key and key in before), reverse=True)
        if keys and re.search(re.escape(keys[0][1]) + r"['\"]?\s*[:=]\s*[^:=]*\Z", before):
            return _inside(flow.fields[keys[0][1]], text[keys[0][0] + len(keys[0][1]) :], 0, None, words) or flow
        have = set(words)
        named = [field for key, field in flow.fields.items() if (parts := tokens(key)) and set(parts) <= have]
        if len(named) == 1:
            return named[0]
        return f.merged(flow.fields.values()) if not flow.kinds else flow
    if flow.items is not None and len(flow.items) > 1:
        numbers = [m for m in _VALUE.finditer(text) if m[0]]
        if len(numbers) == len(flow.items):
            place = next((i for i, m in enumerate(numbers) if m.start() <= column < m.end()), None)
            if place is not None:
                return flow.items[place]
    if (
        flow.kinds == {f.LITERAL}
        and isinstance(flow.const, int | float)
        and value is not None
        and not isinstance(flow.const, bool)
    ):
        shown = Decimal(repr(flow.const)) if flow.const == flow.const else None
        if shown is not None and not _same_shown(value, shown):
            return None
    return flow


def _same_shown(printed: Decimal, held: Decimal) -> bool:
    """Tell whether a printed number can be a rounding of a held one, also as percent."""
    for factor in (1, 100):
        scaled = held * factor
        exponent = printed.as_tuple().exponent
        step = Decimal(1).scaleb(exponent) if isinstance(exponent, int) else Decimal(0)
        if abs(scaled - printed) <= step / 2 + abs(printed) * Decimal("1e-12"):
            return True
    return False


def trace(evidence: Evidence) -> Lineage:
    """Read the executed cells of an attempt in order and return where their printed numbers come from."""
    shipped = [str(file.get("path", "")) for file in (evidence.intake or {}).get("files", [])]
    walker = Walker(shipped)
    order: dict[str, int] = {}
    for cell in evidence.cells:
        # What the harness put in front runs first, and may define names; it prints nothing that counts.
        if cell.author == "harness" and cell.executed:
            order[cell.id] = cell.order or 0
            walker.cell(cell.id, "")
    for cell in evidence.executed:
        order[cell.id] = cell.order or 0
        walker.cell(cell.id, cell.source)
    return Lineage(walker, order)
