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
_GONE = (FileNotFoundError, NotADirectoryError, PermissionError)


def read_stamps(runs: Path) -> Iterator[tuple[str, Stamp]]:
    """Yield the path of each attempt folder, relative to the runs folder with ``/``, and its stamp."""
    level = [(entry.path, entry.name) for entry in _folders(str(runs))]
    for _ in range(LEVELS - 1):
        level = [(entry.path, f"{name}/{entry.name}") for path, name in level for entry in _folders(path)]
    for path, name in level:
        records, verdicts = [], []
        for file in _files(path):
            if file in _RECORDS:
                records += _mark(path, file)
            elif file.startswith("verdict.") and file.endswith(".json"):
                verdicts += _mark(path, file)
        if records:  # without a stream it is no attempt
            yield name, (";".join(sorted(records)), ";".join(sorted(verdicts)))


def _mark(path: str, file: str) -> list[str]:
    try:
        facts = os.stat(f"{path}/{file}")
    except FileNotFoundError:
        return []
    return [f"{file} {facts.st_size} {facts.st_mtime_ns}"]


def _folders(path: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            found = list(entries)
    except _GONE:
        return []
    return [entry for entry in found if not entry.name.startswith(".") and entry.is_dir()]


def _files(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except _GONE:
        return []
