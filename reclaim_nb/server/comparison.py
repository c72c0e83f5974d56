"""Two attempts of one paper cell by cell: which cells belong together, what differs in them, and what each had spent.

Cells are matched by ``difflib``: first those with the same source, then, between them, the most alike in order. nbdime
does the same on whole notebooks, but takes a minute for two attempts of 200 cells, compares outputs that stand here in
the stream, and puts an extension of its own into the lab.
"""

from __future__ import annotations

import re
import threading
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

from reclaim_nb.errors import AttemptError
from reclaim_nb.record.clock import seconds_between
from reclaim_nb.server.models import WindowQuery
from reclaim_nb.server.story import CellFacts, Story
from reclaim_nb.server.tail import plain

ALIKE = 0.5
"""Least share of common words of two cells that are shown as one changed."""

BAND = 60
"""How far from each other two cells of a long gap may stand, in cells."""

SOURCE = 20_000
"""Most characters of a cell's source that are compared line by line."""

OUTPUT = 1500
LINES = 400
"""Most lines of one cell that are sent."""

KEPT = 8

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Side:
    """A cell as it is compared."""

    cell: CellFacts
    source: str

    @property
    def key(self) -> tuple[str, str]:
        return self.cell.kind, "\n".join(line.rstrip() for line in self.source.strip().splitlines())


@dataclass(frozen=True, slots=True)
class Pair:
    """Two cells that belong together, or one that has no counterpart.

    Attributes:
        left, right: positions among the compared cells, None where there is none.
        same: their sources are the same.
    """

    left: int | None
    right: int | None
    same: bool = False

    @property
    def match(self) -> str:
        return "same" if self.same else "left" if self.right is None else "right" if self.left is None else "changed"


def pairs(left: Sequence[Side], right: Sequence[Side]) -> list[Pair]:
    """Return which cells belong together, in an order that both sides have."""
    found: list[Pair] = []
    matcher = SequenceMatcher(None, [one.key for one in left], [one.key for one in right], autojunk=False)
    for kind, low, high, from_, to in matcher.get_opcodes():
        if kind == "equal":
            found += [Pair(i, j, True) for i, j in zip(range(low, high), range(from_, to), strict=True)]
        else:
            found += _gap(left, right, range(low, high), range(from_, to))
    return found


def _gap(left: Sequence[Side], right: Sequence[Side], rows: range, columns: range) -> list[Pair]:
    """Pair the cells of a gap so that the sum of their likeness is greatest and the order is kept."""
    words = {("l", i): _words(left[i]) for i in rows} | {("r", j): _words(right[j]) for j in columns}
    best = [[0.0] * (len(columns) + 1) for _ in range(len(rows) + 1)]
    alike: dict[tuple[int, int], float] = {}
    slope = len(columns) / len(rows) if rows else 1.0
    for a, i in enumerate(rows, 1):
        for b, j in enumerate(columns, 1):
            best[a][b] = max(best[a - 1][b], best[a][b - 1])
            if abs(a * slope - b) <= BAND and left[i].cell.kind == right[j].cell.kind:
                share = _alike(words["l", i], words["r", j])
                if share >= ALIKE:
                    alike[a, b] = share
                    best[a][b] = max(best[a][b], best[a - 1][b - 1] + share)
    found: list[Pair] = []
    a, b = len(rows), len(columns)
    while a > 0 or b > 0:
        if a and b and (a, b) in alike and best[a][b] == best[a - 1][b - 1] + alike[a, b]:
            a, b = a - 1, b - 1
            found.append(Pair(rows[a], columns[b]))
        elif b and (a == 0 or best[a][b] == best[a][b - 1]):
            b -= 1
            found.append(Pair(None, columns[b]))
        else:
            a -= 1
            found.append(Pair(rows[a], None))
    return found[::-1]


def _words(side: Side) -> Counter[str]:
    return Counter(_WORD.findall(side.source[:SOURCE]))


def _alike(left: Counter[str], right: Counter[str]) -> float:
    """Return twice the number of common words over the number of all words."""
    total = left.total() + right.total()
    smaller = min(left.total(), right.total())
    if total == 0 or 2 * smaller < ALIKE * total:
        return 0.0
    return 2 * (left & right).total() / total


def lines(left: str, right: str) -> tuple[list[dict[str, Any]], bool]:
    """Return two sources side by side, line by line, and whether that is less than all of them."""
    a, b = plain(left[:SOURCE]).split("\n"), plain(right[:SOURCE]).split("\n")
    found: list[dict[str, Any]] = []
    for kind, low, high, from_, to in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        for one, other in zip_longest(a[low:high], b[from_:to]):
            found.append({"left": one, "right": other, "same": kind == "equal"})
    return found[:LINES], len(found) > LINES or max(len(left), len(right)) > SOURCE


class Comparisons:
    """Comparisons that were asked for last, kept while their streams do not grow."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, int, str, int], tuple[list[Side], list[Side], list[Pair]]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, left: Story, right: Story, query: WindowQuery) -> dict[str, Any]:
        """Return a window of the pairs, and what each side had spent at every cell.

        Raises:
            AttemptError: when the attempts are not two of one paper.
        """
        _require_one_paper(left, right)
        key = (str(left.folder.path), left.size, str(right.folder.path), right.size)
        with self._lock:
            known = self._kept.pop(key, None)
            if known is None:
                a, b = _sides(left), _sides(right)
                known = (a, b, pairs(a, b))
            self._kept[key] = known
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        a, b, found = known
        wanted = [pair for pair in found if query.only is None or not pair.same]
        return {
            "left": _spend(left, a),
            "right": _spend(right, b),
            "pairs": [{"match": pair.match, "left": pair.left, "right": pair.right} for pair in found],
            "total": len(wanted),
            "start": query.start,
            "rows": [_row(left, right, a, b, pair) for pair in wanted[query.start : query.start + query.count]],
        }


def _require_one_paper(left: Story, right: Story) -> None:
    # .../batch/suite/paper/agent/repeat
    papers = [story.folder.path.parts[-4:-2] for story in (left, right)]
    if left.folder.path == right.folder.path:
        raise AttemptError("this is one attempt, not two; choose another one of the same paper")
    if papers[0] != papers[1]:
        raise AttemptError(
            f"{'/'.join(papers[0])} and {'/'.join(papers[1])} are different papers; choose two attempts of one paper"
        )


def _sides(story: Story) -> list[Side]:
    """Return the cells that were not the harness's, with their sources."""
    cells = [cell for cell in story.cells.values() if cell.author != "harness"]
    return [Side(cell, str(story.event(cell.line).data.get("source") or "")) for cell in cells]


def _spend(story: Story, sides: list[Side]) -> dict[str, Any]:
    """Return when each cell began and what had been spent when it ended."""
    return {
        "began": story.began,
        "ended": story.ended,
        "cells": [
            {
                **one.cell.to_json(),
                "at": _seconds(story.began, one.cell.started),
                "line": plain(one.source.strip().partition("\n")[0])[:200],
            }
            for one in sides
        ],
    }


def _seconds(began: str | None, started: str | None) -> float | None:
    if began is None or started is None:
        return None
    try:
        return seconds_between(began, started)
    except (ValueError, TypeError):  # times that no runner of ours wrote
        return None


def _row(left: Story, right: Story, a: list[Side], b: list[Side], pair: Pair) -> dict[str, Any]:
    one = a[pair.left] if pair.left is not None else None
    other = b[pair.right] if pair.right is not None else None
    found, cut = lines(one.source, other.source) if one and other else _alone(one, other)
    return {
        "match": pair.match,
        "left": pair.left,
        "right": pair.right,
        "lines": found,
        "cut": cut,
        "left_output": _output(left, one),
        "right_output": _output(right, other),
    }


def _alone(one: Side | None, other: Side | None) -> tuple[list[dict[str, Any]], bool]:
    side = one or other
    source = side.source if side is not None else ""
    found = plain(source[:SOURCE]).split("\n")
    shown = [{"left": text if one else None, "right": text if other else None, "same": False} for text in found]
    return shown[:LINES], len(found) > LINES or len(source) > SOURCE


def _output(story: Story, side: Side | None) -> dict[str, Any] | None:
    if side is None or side.cell.kind != "code":
        return None
    text, cut = story.output_end(side.cell)
    return {"text": text[-OUTPUT:], "characters": len(text), "cut": cut or len(text) > OUTPUT}
