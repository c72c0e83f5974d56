"""Finding the lines of a flood that may hold a result, at the speed of C.

A line is looked at closely only when its *shape* (the line without its digits) is new, or is the last of its shape: a
progress bar has one shape however long it runs, while a result that hides among 400,000 progress lines has another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

FEW = 24
"""Up to this many lines of one shape in one piece of text are all kept; of more, the last two."""
LINE_CHARS = 4000
"""Characters read of one line."""
DIGEST_CHARS = 48 * 1024
"""Characters of lines of different shape that are kept of one long text."""

_DROPPED = b"0123456789.+- "
_HAS_DIGIT = re.compile(r"\d")
_UNIQUE = 16
"""Up to this many shapes are looked up one by one, which is quicker than an index of all lines."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line that may hold a result.

    Attributes:
        offset: characters before it in its output's text.
        text: the line.
        many: whether it stands for more than :data:`FEW` lines of the same shape.
    """

    offset: int
    text: str
    many: bool


class Digest:
    """One line of every shape of a long text, up to a bound: what a slow pattern reads instead of a flood."""

    def __init__(self) -> None:
        self.lines: list[tuple[int, str]] = []
        self._shapes: set[int] = set()
        self._characters = 0

    def takes(self, shape: bytes, line: str) -> bool:
        """Tell whether a line is the first of its shape and there is room for it."""
        key = hash(shape)
        if not shape or key in self._shapes or self._characters > DIGEST_CHARS:
            return False
        self._shapes.add(key)
        self._characters += min(len(line), LINE_CHARS)
        return True


class Interest:
    """Words and digits that make a line worth a close look.

    Args:
        words: case does not matter; a line with none of them is passed over.
        digits: exact strings, such as a submitted number.
    """

    def __init__(self, words: Iterable[str], digits: Iterable[str] = ()) -> None:
        self.words = tuple(sorted({word.lower() for word in words if word.strip()}))
        self.digits = tuple(sorted({text for text in digits if text}))
        alternatives = "|".join(map(re.escape, sorted(self.words, key=len, reverse=True)))
        self._word = re.compile(alternatives, re.IGNORECASE) if alternatives else None

    def scan(self, text: str, offset: int, digest: Digest) -> list[Line]:
        """Return the lines of interest of one piece of text, in order.

        Args:
            text: whole lines; a line feed and a carriage return both end one.
            offset: characters of the output before this piece.
            digest: takes the first line of every shape.
        """
        exact = [digits for digits in self.digits if digits in text]
        if "\r" in text:
            text = text.replace("\r", "\n")
        lines = text.split("\n")
        shapes = text.encode("utf-8", "surrogatepass").translate(None, _DROPPED).split(b"\n")
        chosen: dict[int, bool] = {}
        fresh: list[int] = []
        for shape, place, places in _by_shape(shapes):
            line = lines[place]
            if digest.takes(shape, line):
                fresh.append(place)
            if self._word is None or not self._word.search(line) or not _HAS_DIGIT.search(line):
                continue
            same = places()
            many = len(same) > FEW
            chosen.update(dict.fromkeys(same[-2:] if many else same, many))
        if exact:
            for place, line in enumerate(lines):
                if place not in chosen and any(digits in line for digits in exact):
                    chosen[place] = False
                    if len(chosen) > 2000:
                        break
        if not chosen and not fresh:
            return []
        starts = _starts(lines, sorted({*chosen, *fresh}))
        digest.lines.extend((offset + starts[place], lines[place][:LINE_CHARS]) for place in sorted(fresh))
        return [Line(offset + starts[place], lines[place][:LINE_CHARS], chosen[place]) for place in sorted(chosen)]


def _by_shape(shapes: list[bytes]) -> Iterator[tuple[bytes, int, Callable[[], list[int]]]]:
    """Yield every shape in order of its first line, that line, and what finds its lines; of many, not all of them."""
    kinds = dict.fromkeys(shapes)
    if len(kinds) <= _UNIQUE:
        for shape in kinds:
            first = shapes.index(shape)
            yield shape, first, partial(_search, shapes, shape, first)
        return
    index: dict[bytes, list[int]] = {shape: [] for shape in kinds}
    for place, shape in enumerate(shapes):
        index[shape].append(place)
    for shape, places in index.items():
        yield shape, places[0], partial(list, places)


def _search(shapes: list[bytes], shape: bytes, first: int) -> list[int]:
    found = [first]
    try:
        while len(found) <= FEW:
            found.append(shapes.index(shape, found[-1] + 1))
    except ValueError:
        return found
    end = len(shapes)
    for _ in range(2):
        end -= 1
        while shapes[end] != shape:
            end -= 1
        found.append(end)
    found[-2:] = sorted(found[-2:])
    return found


def _starts(lines: list[str], places: list[int]) -> dict[int, int]:
    """Return the offsets of some lines."""
    starts: dict[int, int] = {}
    before = offset = 0
    for place in places:
        offset += sum(map(len, lines[before:place])) + place - before
        before = place
        starts[place] = offset
    return starts


def windows(text: str, low: str, keys: Iterable[str], around: int = 300, most: int = 40) -> Iterator[str]:
    """Yield the whole lines around every key word, so that a slow pattern only reads what it can match.

    Args:
        text: the text.
        low: the same in lower case.
        keys: lower-case words without which the pattern cannot match.
        around: characters of other lines taken along at each side.
        most: most windows yielded.
    """
    places: list[int] = []
    for key in keys:
        place = low.find(key)
        while place >= 0 and len(places) < 4 * most:
            places.append(place)
            place = low.find(key, place + around + 1)
    end = -1
    for place in sorted(places):
        if place < end:
            continue
        start = text.rfind("\n", 0, max(0, place - around)) + 1
        stop = text.find("\n", place + around)
        end = stop if 0 <= stop < place + LINE_CHARS else min(len(text), place + LINE_CHARS)
        yield text[max(start, place - LINE_CHARS) : end]
        most -= 1
        if most == 0:
            return
