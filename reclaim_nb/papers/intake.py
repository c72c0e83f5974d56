"""Intake: a manifest of what the authors shipped, so that a shipped number is never taken for a measured one."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reclaim_nb.errors import CardError

RESULT_SUFFIXES = frozenset({".json", ".jsonl", ".csv", ".tsv", ".txt", ".log", ".md", ".yaml", ".yml", ".ipynb"})
# These hold version numbers, not results.
_NOT_RESULTS = re.compile(
    r"^(requirements.*\.txt|environment\.ya?ml|licen[cs]e.*|.*lock\.(json|ya?ml))$", re.IGNORECASE
)
_MAX_SCANNED_BYTES = 32 * 1024 * 1024
_MAX_NUMBERS = 200_000
# Here a comma separates values, so "4,912.7" may be one number or two; both readings are listed.
_COMMA_SEPARATES = frozenset({".json", ".jsonl", ".csv", ".yaml", ".yml"})
# A number that is not part of a word, a version (1.2.3) or a longer number.
_PRINTED = re.compile(r"(?<![\w.])[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+|(?<=\d))(?:[eE][+-]?\d+)?(?![\w]|\.\d)")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ShippedFile(_Part):
    """One file of the release."""

    path: str
    """Relative to the release folder, with forward slashes."""
    size: int
    sha256: str


class ShippedNumber(_Part):
    """A number printed in a shipped result file."""

    file: str
    line: int
    """Counted from 1; in a notebook, the line of the output."""
    text: str
    """The number in its own characters."""
    output: str | None = None
    """Which output of a notebook: ``cell 3, output 0``."""


class Unscanned(_Part):
    """A file or part of one that was not searched for numbers, and why."""

    path: str
    reason: str


class Probed(_Part):
    """Whether a part of the release could be had when it was last looked at."""

    what: str
    url: str | None = None
    state: Literal["available", "gated", "gone", "registration", "request", "unavailable", "unknown"]
    date: str


class Intake(_Part):
    """Everything the authors shipped that is put before an agent."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    files: tuple[ShippedFile, ...] = ()
    numbers: tuple[ShippedNumber, ...] = ()
    unscanned: tuple[Unscanned, ...] = ()
    stripped: tuple[str, ...] = ()
    """Notebooks whose outputs were removed before an agent saw them; files and numbers are those before."""
    probes: tuple[Probed, ...] = ()

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    def to_json(self) -> str:
        """Return the text of ``intake.json``."""
        return json.dumps(self.model_dump(mode="json", by_alias=True, exclude_none=True), indent=1, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Intake:
        """Read the text of ``intake.json``.

        Raises:
            CardError: the text is not an intake manifest.
        """
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "(whole file)"
            raise CardError(f"intake.json: field '{where}': {first['msg']}; take the release in again") from None

    def hashes(self) -> frozenset[str]:
        """Return the sha256 of every shipped file."""
        return frozenset(f.sha256 for f in self.files)


def take_in(release_folder: Path | None) -> Intake:
    """List and hash every file of a release and find the numbers in its result files.

    Args:
        release_folder: the folder as shipped, notebook outputs still in it; None for a paper without a release.

    Returns:
        The manifest; files that could not be searched are named in it, never left out.

    Raises:
        CardError: the folder is missing or a file cannot be read.
    """
    if release_folder is None:
        return Intake()
    if not release_folder.is_dir():
        raise CardError(f"{release_folder}: expected a release folder, found none")
    files: list[ShippedFile] = []
    numbers: list[ShippedNumber] = []
    unscanned: list[Unscanned] = []
    for path in _walk(release_folder):
        name = path.relative_to(release_folder).as_posix()
        if path.is_symlink():
            unscanned.append(Unscanned(path=name, reason="a symbolic link; not followed"))
            continue
        files.append(ShippedFile(path=name, size=path.stat().st_size, sha256=_sha256(path)))
        if path.suffix.lower() not in RESULT_SUFFIXES or _NOT_RESULTS.match(path.name):
            continue
        if files[-1].size > _MAX_SCANNED_BYTES:
            unscanned.append(Unscanned(path=name, reason=f"larger than {_MAX_SCANNED_BYTES} bytes"))
            continue
        for found in _numbers(path, name):
            if len(numbers) >= _MAX_NUMBERS:
                unscanned.append(Unscanned(path=name, reason=f"more than {_MAX_NUMBERS} numbers in the release"))
                break
            numbers.append(found)
    return Intake(files=tuple(files), numbers=tuple(numbers), unscanned=tuple(unscanned))


def _walk(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        here = Path(root)
        folders[:] = sorted(d for d in folders if d not in (".git", "__pycache__"))
        linked = [d for d in folders if (here / d).is_symlink()]
        yield from (here / name for name in sorted([*names, *linked]))


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise CardError(f"{path}: cannot be read at intake: {error.strerror or error}") from error


def _numbers(path: Path, name: str) -> Iterator[ShippedNumber]:
    text = path.read_bytes().decode("utf-8", errors="replace")
    if path.suffix.lower() == ".ipynb":
        for output, printed in _outputs(text):
            yield from _scan(printed, name, output)
    else:
        yield from _scan(text, name, None)


def _scan(text: str, name: str, output: str | None) -> Iterator[ShippedNumber]:
    for index, line in enumerate(text.splitlines(), start=1):
        for match in _PRINTED.finditer(line):
            readings = [match[0]]
            if "," in match[0] and Path(name).suffix.lower() in _COMMA_SEPARATES:
                readings += match[0].split(",")
            yield from (ShippedNumber(file=name, line=index, text=text, output=output) for text in readings)


def _outputs(text: str) -> Iterator[tuple[str, str]]:
    for number, cell in enumerate(_cells(_notebook(text))):
        for index, output in enumerate(cell.get("outputs") or []):
            parts = [output.get("text"), *(output.get("data") or {}).values(), *(output.get("traceback") or [])]
            for part in parts:
                joined = "".join(part) if isinstance(part, list) and all(isinstance(p, str) for p in part) else part
                if isinstance(joined, str) and len(joined) <= _MAX_SCANNED_BYTES:
                    yield f"cell {number}, output {index}", joined


def _notebook(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _cells(document: dict[str, Any]) -> list[dict[str, Any]]:
    # nbformat 3 keeps its cells one level deeper.
    sheets = [document, *(s for s in document.get("worksheets") or [] if isinstance(s, dict))]
    return [cell for sheet in sheets for cell in sheet.get("cells") or [] if isinstance(cell, dict)]


def strip_notebooks(release_folder: Path, destination: Path) -> tuple[str, ...]:
    """Copy a release, emptying the outputs of its notebooks, since they may hold the answer.

    Args:
        release_folder: the folder as shipped; it is not changed.
        destination: a folder that does not exist yet.

    Returns:
        The notebooks whose outputs were removed, relative to the folder.

    Raises:
        CardError: the destination exists, or a notebook is not JSON and so cannot be stripped.
    """
    if destination.exists():
        raise CardError(f"{destination}: expected a new folder for the stripped copy, found one that exists")
    shutil.copytree(release_folder, destination, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    stripped = []
    for path in _walk(destination):
        if path.suffix.lower() != ".ipynb" or path.is_symlink():
            continue
        document = _notebook(path.read_text(encoding="utf-8", errors="replace"))
        if not document:
            shutil.rmtree(destination)
            raise CardError(f"{path.name}: not a JSON notebook, so its outputs cannot be stripped; repair or remove it")
        if _strip(document):
            path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            stripped.append(path.relative_to(destination).as_posix())
    return tuple(stripped)


def _strip(document: dict[str, Any]) -> bool:
    changed = False
    for cell in _cells(document):
        if cell.get("outputs"):
            cell["outputs"] = []
            changed = True
        for counter in ("execution_count", "prompt_number"):
            if cell.get(counter) is not None:
                cell[counter] = None
                changed = True
    if (document.get("metadata") or {}).pop("widgets", None) is not None:
        changed = True
    return changed
