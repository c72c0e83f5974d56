"""Bounded text: what a terminal would show of a flood, in constant memory."""

from __future__ import annotations

import re
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")


def visible(text: str) -> str:
    """Return text with lone surrogates written as escapes, so that every reader of UTF-8 can open it."""
    try:
        text.encode()  # many times quicker than a search, and it fails for nothing else
    except UnicodeEncodeError:
        return _SURROGATE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
    return text


def visible_json(value: Any) -> Any:
    """Return a JSON value with :func:`visible` applied to every text in it, keys too."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible(key): visible_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [visible_json(item) for item in value]
    return value


def collapse(text: str) -> str:
    """Return text as a terminal shows it: on each line, what follows the last carriage return."""
    if "\r" not in text:
        return text
    return "\n".join(map(_last_written, text.replace("\r\n", "\n").split("\n")))


def _last_written(line: str) -> str:
    # By hand, because a regular expression takes quadratic time over a long line.
    written = line.rstrip("\r")
    return written[written.rfind("\r") + 1 :] + line[len(written) :]


def cut_middle(text: str, limit: int) -> tuple[str, int]:
    """Return text of at most about ``limit`` characters and how many were left out, both ends kept."""
    if len(text) <= limit:
        return text, 0
    half = limit // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n[… {left_out:,} characters left out …]\n{text[-half:]}", left_out


class BoundedText:
    """Takes text piece by piece and keeps its head, its tail and counts.

    Args:
        head: most characters kept of the beginning.
        tail: most characters kept of the end.
    """

    def __init__(self, head: int, tail: int) -> None:
        self._head_limit, self._tail_limit = head, tail
        self._head = ""
        self._tail: list[str] = []
        self._tail_length = 0
        self.characters = 0
        self.lines = 0
        self.cut = False

    def add(self, text: str) -> None:
        """Append a piece."""
        self.characters += len(text)
        self.lines += text.count("\n")
        if not self.cut:
            joined = self._head + text
            if "\r" in joined:
                joined = collapse(joined)
            if len(joined) <= self._head_limit + self._tail_limit:
                self._head = joined
                return
            self.cut = True
            self._head, text = joined[: self._head_limit], joined[self._head_limit :]
        if len(text) > self._tail_limit:
            text = text[-self._tail_limit :]
        self._tail.append(text)
        self._tail_length += len(text)
        if self._tail_length > 4 * self._tail_limit or len(self._tail) > 4096:
            self._squeeze()

    def value(self) -> str:
        """Return what is kept, with a line that says what is not."""
        if not self.cut:
            return visible(self._head)
        self._squeeze()
        tail = "".join(self._tail)
        note = f"\n[… cut here: {self.characters:,} characters in {self.lines:,} lines; whole in the record …]\n"
        return visible(self._head + note + tail)

    def _squeeze(self) -> None:
        tail = collapse("".join(self._tail))[-self._tail_limit :]
        self._tail, self._tail_length = [tail], len(tail)
