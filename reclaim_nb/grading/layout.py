"""How lines stand together: the keys of JSON around a place, and the heads of tables above it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from reclaim_nb.grading import vocabulary as v

_STRUCTURE = re.compile(r"""(?:"(?:[^"\\\n]|\\.){0,200}"|'(?:[^'\\\n]|\\.){0,200}')\s*:|[{}\[\]]""")


class Keys:
    """The keys of the JSON or dict around the place that is read, across lines."""

    def __init__(self) -> None:
        self.stack: list[str] = []
        self.key = ""
        self.depth = 0

    def feed(self, text: str) -> None:
        for match in _STRUCTURE.finditer(text):
            mark = match[0]
            if mark in "{[":
                self.stack.append(self.key)
                self.key = ""
            elif mark in "}]":
                self.key = self.stack.pop() if self.stack else ""
                if mark == "}" or not self.stack:
                    self.key = ""
            else:
                self.key = mark.rsplit(":", 1)[0].strip().strip("\"'")

    def path(self) -> list[str]:
        return [key for key in (*self.stack, self.key) if key]

    def clear(self) -> None:
        self.stack, self.key = [], ""


@dataclass(frozen=True, slots=True)
class Header:
    """The head of a table: column texts with their places."""

    kind: str
    columns: tuple[tuple[int, int, str], ...]
    aligned: bool = False
    """More than one space stands between or before the texts."""


def columns_of(line: str) -> tuple[str, tuple[tuple[int, int, str], ...]]:
    """Return what separates the columns of a line, and each of them as (begin, end, text)."""
    for kind, pattern in (("|", r"[^|│┃]+"), ("\t", r"[^\t]+"), ("&", r"[^&]+"), (",", r"[^,]+")):
        if kind in line.replace("│", "|").replace("┃", "|"):
            cells = [(m.start(), m.end(), m[0].strip()) for m in re.finditer(pattern, line)]
            if kind == "|":
                cells = [cell for cell in cells if cell[2]]
            if len(cells) > 1:
                return kind, tuple(cells)
    return " ", tuple((m.start(), m.end(), m[0]) for m in re.finditer(r"\S+(?: \S+)*?(?=\s|$)", line))


RULE = re.compile(r"^[\s|+:=─━═┼┿╇╈┡┢\-–—_]*$")


_KEYED = re.compile(r"[A-Za-z]\s*[=:]\s*[-+]?[.\d]")


def is_row(line: str) -> bool:
    """Tell whether a line can be a row of a table, where no name with an equals sign or a colon says otherwise."""
    return not _KEYED.search(line)


def is_under(line: str, found: list[re.Match[str]], columns: tuple[tuple[int, int, str], ...], head: Header) -> bool:
    """Tell whether a line is a row of a table that only spaces hold together, and not just the next line of prose."""
    if _KEYED.search(line):
        return False
    if not head.aligned and len(columns) - len(head.columns) not in (0, 1):
        return False
    # "F1 84.2" below "BLEU failed": a line that names another metric than the words above it names its own number.
    own = v.families_of(v.tokens(line[: found[0].start()]))
    above = v.families_of(v.tokens(" ".join(text for _, _, text in head.columns)))
    return not own or not above or bool(own & above)
