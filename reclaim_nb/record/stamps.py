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
    for path, raw in level:
        name = raw.encode("utf-8", "backslashreplace").decode()
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
    except OSError:
        return [f"{file} ?"]  # whoever reads it says why it cannot be
    return [f"{file} {facts.st_size} {facts.st_mtime_ns}"]


def _folders(path: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            found = list(entries)
    except OSError:
        return []
    return [entry for entry in found if not entry.name.startswith(".") and _is_folder(entry)]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def _files(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except OSError:
        return []
