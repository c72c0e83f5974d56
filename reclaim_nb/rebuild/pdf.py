"""A paper's PDF as text and tables, where there is no LaTeX source: what stands in one column is told by its place.

pypdf sets a page's text as it is laid out, in characters of one width; columns are where the numbers of several lines
stand below each other. Tables beside running text (pages of two columns) are not told apart from it and are left out:
their numbers then stand in sentences alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO
from statistics import median

from reclaim_nb.errors import ReclaimError
from reclaim_nb.rebuild.latex import Cell, Table

_CAPTION = re.compile(r"^\s*Table\s+(?P<number>[A-Z]?\.?\d+)\s*[:.]\s*(?P<text>.*\S)", re.IGNORECASE)
_PIECE = re.compile(r"\S+(?: \S+)*")
_NUMBER = re.compile(r"[^A-Za-z]*\d[^A-Za-z]*")
_LONG = 40
"""Longest text at the head of a row, in characters; beyond it stands a line of running text."""
_BESIDE = 8
"""Most characters between two pieces of one column."""
_NEAR = 3
"""Most lines between a caption and its table."""


@dataclass(frozen=True)
class Page:
    """One page: its text in reading order, and as it is laid out."""

    number: int
    text: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class _Piece:
    start: int
    end: int
    text: str

    def touches(self, start: int, end: int) -> bool:
        return self.start < end and start < self.end

    def apart(self, start: int, end: int) -> int:
        return max(start - self.end, self.start - end, 0)


_Line = tuple[_Piece, ...]


def pages(content: bytes) -> list[Page]:
    """Return the pages of a PDF (pypdf).

    Raises:
        ReclaimError: it cannot be read.
    """
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        return [
            Page(
                number,
                page.extract_text(),
                tuple(page.extract_text(extraction_mode="layout", layout_mode_space_vertically=False).splitlines()),
            )
            for number, page in enumerate(PdfReader(BytesIO(content)).pages, 1)
        ]
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, ZeroDivisionError) as problem:
        raise ReclaimError(f"the PDF cannot be read: {problem}") from problem


def tables(found: Iterable[Page]) -> list[Table]:
    """Return the tables, in order, numbered from 1; the label of each is its page."""
    made: list[Table] = []
    for page in found:
        lines = [_pieces(line) for line in page.lines]
        captions = {index: one["text"] for index, line in enumerate(page.lines) if (one := _CAPTION.match(line))}
        for begin, end in _runs(lines, captions):
            cells = tuple(_cells(lines[begin:end]))
            if cells:
                near = [index for index in captions if begin - _NEAR <= index < begin or end <= index < end + _NEAR]
                caption = captions[min(near, key=lambda index: abs(index - begin))] if near else ""
                made.append(Table(len(made) + 1, caption, f"page {page.number}", cells))
    return made


def _pieces(line: str) -> _Line:
    return tuple(_Piece(one.start(), one.end(), one[0]) for one in _PIECE.finditer(line))


def _runs(lines: Sequence[_Line], captions: Iterable[int]) -> Iterable[tuple[int, int]]:
    """Yield where several lines of several columns follow each other, and two of them hold numbers."""
    stops = {*captions, len(lines)}
    begin = 0
    for index in range(len(lines) + 1):
        if index not in stops and len(lines[index]) >= 2:
            continue
        run = [line for line in lines[begin:index] if _holds_numbers(line)]
        if len(run) >= 2 and median(len(line[0].text) for line in run) <= _LONG:
            inside = max(line[0].end for line in run)
            # A head that spans columns may stand alone on its line, beyond the heads of the rows.
            while begin and begin - 1 not in stops and [one.start >= inside for one in lines[begin - 1]] == [True]:
                begin -= 1
            yield begin, index
        begin = index + 1


def _holds_numbers(line: _Line) -> bool:
    return any(_NUMBER.fullmatch(piece.text) for piece in line[1:])


def _cells(lines: Sequence[_Line]) -> Iterable[Cell]:
    heads = next(index for index, line in enumerate(lines) if _holds_numbers(line))
    columns = _columns(line for line in lines[heads:] if _holds_numbers(line))
    above: list[list[str]] = [[] for _ in columns]
    for line in lines[:heads]:
        for piece in line:
            over = [n for n, (start, end) in enumerate(columns) if piece.touches(start, end)]
            for column in over or [_nearest(piece, columns)]:
                above[column].append(piece.text)
    group = ""
    for row, line in enumerate(lines):
        if row < heads:
            continue
        texts: dict[int, list[str]] = {}
        for piece in line:
            texts.setdefault(_nearest(piece, columns), []).append(piece.text)
        group = " ".join(texts.get(0, [])) or group
        for column in sorted(set(texts) - {0}):
            yield Cell(row, column, group, " / ".join(dict.fromkeys(above[column])), " ".join(texts[column]))


def _columns(lines: Iterable[_Line]) -> list[tuple[int, int]]:
    """Return where the columns begin and end: pieces that stand below each other are one column.

    So are pieces a little beside each other, where no line has both: characters of one width are not quite in place.
    """
    spans = sorted((piece.start, piece.end, number) for number, line in enumerate(lines) for piece in line)
    merged: list[tuple[int, int, set[int]]] = []
    for start, end, line in spans:
        if merged and (start < merged[-1][1] or (start - merged[-1][1] <= _BESIDE and line not in merged[-1][2])):
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]), merged[-1][2] | {line})
        else:
            merged.append((start, end, {line}))
    return [(start, end) for start, end, _ in merged]


def _nearest(piece: _Piece, columns: Sequence[tuple[int, int]]) -> int:
    return min(range(len(columns)), key=lambda n: (piece.apart(*columns[n]), abs(piece.start - columns[n][0])))
