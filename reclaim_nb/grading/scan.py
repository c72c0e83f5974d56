"""Finding the lines of a flood that may hold a result, at the speed of C.

A line is looked at closely only when its *shape* (the line without its digits) is new, or is the first or last of its
shape: a progress bar has one shape however long it runs, while a result that hides among 400,000 progress lines has
another. Lines that hold no word of interest are passed over, except at the very end of an output.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

FEW = 40
"""Up to this many lines of one shape in one piece of text are all kept; of more, the first and the last."""

_DIGITS = b"0123456789.+-"
_HAS_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Line:
    """A line that may hold a result.

    Attributes:
        offset: characters before it in its output's text.
        text: the line.
        of_shape: how many lines of the same shape the piece of text had.
    """

    offset: int
    text: str
    of_shape: int


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

    def lines(self, text: str, offset: int) -> Iterator[Line]:
        """Yield the lines of interest of one piece of text, in order.

        Args:
            text: whole lines; ``\\n`` and ``\\r`` both end one.
            offset: characters of the output before this piece.
        """
        low = text.lower()
        wanted = [word for word in self.words if word in low]
        exact = [digits for digits in self.digits if digits in text]
        del low
        if not wanted and not exact:
            return
        text = text.replace("\r", "\n")
        lines = text.split("\n")
        shapes = text.encode("utf-8", "surrogatepass").translate(None, _DIGITS).split(b"\n")
        total = len(lines)
        count = Counter(shapes)
        last = dict(zip(shapes, range(total), strict=True))
        first = dict(zip(reversed(shapes), range(total - 1, -1, -1), strict=True))
        chosen: dict[int, int] = {}
        for shape, index in first.items():
            line = lines[index]
            if self._word is not None and self._word.search(line) and _HAS_DIGIT.search(line):
                times = count[shape]
                chosen[index] = chosen[last[shape]] = times
                if 2 < times <= FEW:
                    for _ in range(times - 2):
                        index = shapes.index(shape, index + 1)
                        chosen[index] = times
        if exact:
            for index, line in enumerate(lines):
                if index not in chosen and any(digits in line for digits in exact):
                    chosen[index] = count[shapes[index]]
                    if len(chosen) > 2000:
                        break
        starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
        for index in sorted(chosen):
            yield Line(offset + starts[index], lines[index][:4000], chosen[index])
