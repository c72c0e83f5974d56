"""Every request to a grading model and every answer, as lines of one file beside the verdict."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from reclaim_nb.errors import RecordError
from reclaim_nb.record.folder import AttemptFolder, safe_name

SCHEMA = 1


def records_path(folder: AttemptFolder, grader: str) -> Path:
    """Return a path that no file has yet: ``grading.<grader>.jsonl``, with a number when there are some."""
    number = 1
    while True:
        path = folder.path / f"grading.{safe_name(grader)}{'' if number == 1 else f'.{number}'}.jsonl"
        if not path.exists():
            return path
        number += 1


class RecordWriter:
    """Appends lines, each on disk before the next request is made."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("xb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._file.close()

    def add(self, what: str, **data: Any) -> None:
        """Append one line.

        Args:
            what: ``begin``, ``request``, ``answer``, ``failure`` or ``end``.
            data: JSON, without secrets.
        """
        line = json.dumps({"what": what, **data}, ensure_ascii=False, sort_keys=True)
        self._file.write(line.encode("utf-8", "replace") + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())


@dataclass(frozen=True)
class GradingRecord:
    """One finished questioning.

    Attributes:
        path: its file.
        sha256: hash of the file's bytes.
        begin: what was asked of whom, about which record.
        lines: everything after that, in order.
    """

    path: Path
    sha256: str
    begin: dict[str, Any]
    lines: tuple[dict[str, Any], ...]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file.

        Raises:
            RecordError: when it is damaged, or the questioning did not come to its end.
        """
        try:
            raw = path.read_bytes()
            lines = [json.loads(line) for line in raw.splitlines()]
        except (OSError, ValueError) as problem:
            raise RecordError(f"{path}: no record of a grading ({problem}); grade the attempt again") from problem
        if not lines or lines[0].get("what") != "begin" or lines[0].get("schema") != SCHEMA:
            raise RecordError(f"{path}: no record of a grading; grade the attempt again")
        if lines[-1].get("what") != "end":
            raise RecordError(f"{path}: this grading was broken off before its end; grade the attempt again")
        return cls(path, hashlib.sha256(raw).hexdigest(), lines[0], tuple(lines[1:-1]))

    def of_vote(self, vote: int) -> Iterator[dict[str, Any]]:
        """Yield the lines of one vote."""
        yield from (line for line in self.lines if line.get("vote") == vote)
