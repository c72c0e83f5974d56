"""A frozen suite: nothing of it may differ from its manifest by a byte, wherever any card of it is loaded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from reclaim_nb.papers.signature import signature_fault

MANIFEST = "suite.yaml"
CARD_FILE = "paper.yaml"

CANARY = "reclaim-canary-"
"""How the canary of every frozen suite begins."""

_SHOWN = 5
"""Most files that a refusal names."""


class Frozen(BaseModel):
    """What makes a manifest that of a frozen suite."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: str = Field(min_length=1)
    date: str
    canary: str
    """A string that stands nowhere else: a model that knows it has seen the suite."""
    dev: tuple[str, ...] = ()
    """Card files of the dev split, which may be tuned on."""
    signers: tuple[str, ...] = ()
    files: dict[str, str] = Field(default_factory=dict)
    """sha256 of what else lies in the cards' folders, by its path inside the suite."""
    key: str | None = None
    """Public SSH key that the manifest is signed with, in ``suite.yaml.sig``; None: it is not signed."""
    state: Literal["frozen"] = "frozen"
    seal: str
    """sha256 of the manifest without this key, see :func:`seal_of`."""


def seal_of(document: dict[str, Any]) -> str:
    """Return the seal of a manifest: sha256 of its canonical JSON without the seal itself."""
    frozen = {key: value for key, value in (document.get("frozen") or {}).items() if key != "seal"}
    plain = {**document, "frozen": frozen}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def is_frozen(manifest: Any) -> bool:
    """Tell whether a parsed ``suite.yaml`` claims to be that of a frozen suite."""
    return isinstance(manifest, dict) and "frozen" in manifest


def files_of(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield every file that a freeze covers, with its path inside the suite: cards, and what lies in their folders.

    Manifest, signature, errata and other texts beside the folders are not covered; nor are hidden files.
    """
    for path in sorted(folder.glob("*.yaml")):
        if path.name != MANIFEST and not path.name.startswith("."):
            yield path.name, path
    for place in sorted(folder.iterdir()):
        if place.name.startswith((".", "_")) or not place.is_dir():
            continue
        for path in sorted(place.rglob("*")):
            inside = path.relative_to(folder)
            if any(part.startswith(".") or part == "__pycache__" for part in inside.parts):
                continue
            if path.is_symlink() or path.is_file():
                yield inside.as_posix(), path


def departures(folder: Path, content: bytes, manifest: dict[str, Any]) -> list[str]:
    """Say how a frozen suite differs from what was frozen, in sentences; empty where it does not.

    Args:
        folder: the suite.
        content: bytes of its ``suite.yaml``.
        manifest: the same, parsed.
    """
    frozen = manifest["frozen"]
    if not isinstance(frozen, dict) or seal_of(manifest) != frozen.get("seal"):
        return [f"its manifest {MANIFEST} was changed after that"]
    if fault := signature_fault(folder / MANIFEST, content, frozen.get("key")):
        return [fault]
    listed = {**(manifest.get("cards") or {}), **(frozen.get("files") or {})}
    there = dict(files_of(folder))
    found = []
    for entry in sorted({*listed, *there}):
        if entry not in there:
            found.append(f"{entry} is missing")
        elif entry not in listed:
            found.append(f"{entry} is not listed; new cards belong into a suite of their own")
        elif (sha256 := _sha256(there[entry])) != listed[entry]:
            found.append(f"{entry} was changed after that: sha256 {sha256}, listed {listed[entry]}")
    return found


def refusal(folder: Path, manifest: dict[str, Any], found: list[str]) -> str:
    """Return why nothing of a frozen suite is taken, and what to do."""
    frozen = manifest["frozen"]
    version = frozen.get("version") if isinstance(frozen, dict) else None
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return (
        f"{folder}: the suite is frozen (version {version}), and {'; '.join(found[:_SHOWN])}{more}. No card of it is "
        "used: take the published files again, and write what is wrong with a card into errata.md"
    )


def _sha256(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return "none, it cannot be read"


def place_in_suite(file: Path) -> tuple[Path, str]:
    """Return the manifest that would list a card file, and the card's path in it."""
    nested = file.name == CARD_FILE
    folder = file.parent.parent if nested else file.parent
    return folder / MANIFEST, f"{file.parent.name}/{file.name}" if nested else file.name
