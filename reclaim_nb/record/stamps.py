"""Where the attempts of a runs folder lie, and a text for each that changes whenever its files do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

IMPORTED = "imported.json"
"""What an attempt folder holds instead of a stream when the attempt was brought in from elsewhere."""
LEVELS = 5
"""An attempt lies at ``batch/suite/paper/agent/repeat`` below the runs folder."""

Stamp = tuple[str, str]
"""Of the record and of the verdicts apart, so that a new verdict does not have a long stream read again."""

_RECORDS = ("stream.jsonl", IMPORTED)


def read_stamps(runs: Path) -> Iterator[tuple[str, Stamp]]:
    """Yield the path of each attempt folder, relative to the runs folder with ``/``, and its stamp."""
    level = [(entry.path, entry.name) for entry in _folders(str(runs))]
    for _ in range(LEVELS - 1):
        level = [(entry.path, f"{name}/{entry.name}") for path, name in level for entry in _folders(path)]
    for path, name in level:
        records, verdicts = [], []
        for entry in _entries(path):
            if entry.name in _RECORDS:
                records += _mark(entry)
            elif entry.name.startswith("verdict.") and entry.name.endswith(".json"):
                verdicts += _mark(entry)
        if records:  # without a stream it is no attempt
            yield name, (";".join(sorted(records)), ";".join(sorted(verdicts)))


def _mark(entry: os.DirEntry[str]) -> list[str]:
    try:
        facts = entry.stat()
    except FileNotFoundError:
        return []
    return [f"{entry.name} {facts.st_size} {facts.st_mtime_ns}"]


def _folders(path: str) -> list[os.DirEntry[str]]:
    return [entry for entry in _entries(path) if not entry.name.startswith(".") and entry.is_dir()]


def _entries(path: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
