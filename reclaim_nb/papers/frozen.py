"""A frozen suite: no card of it may differ from its manifest by a byte, wherever it is loaded."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from reclaim_nb.errors import CardError

MANIFEST = "suite.yaml"
CARD_FILE = "paper.yaml"


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
    state: Literal["frozen"] = "frozen"
    seal: str
    """sha256 of the manifest without this key, see :func:`seal_of`."""


def seal_of(document: dict[str, Any]) -> str:
    """Return the seal of a manifest: sha256 of its canonical JSON without the seal itself."""
    frozen = {key: value for key, value in (document.get("frozen") or {}).items() if key != "seal"}
    plain = {**document, "frozen": frozen}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def refuse_changed(file: Path, sha256: str, raw_manifest: Any, entry: str) -> None:
    """Refuse a card of a frozen suite that is not the one its manifest lists.

    Args:
        file: the card file.
        sha256: of its bytes.
        raw_manifest: the parsed ``suite.yaml`` beside it; None where there is none.
        entry: the card's path inside the suite.

    Raises:
        CardError: the suite is frozen, and the card is changed, not listed, or the manifest's seal is broken.
    """
    if not isinstance(raw_manifest, dict) or "frozen" not in raw_manifest:
        return
    frozen = raw_manifest["frozen"]
    version = frozen.get("version") if isinstance(frozen, dict) else None
    where = f"{file}: the suite is frozen (version {version})"
    if not isinstance(frozen, dict) or seal_of(raw_manifest) != frozen.get("seal"):
        raise CardError(f"{where} and its manifest {MANIFEST} was changed after that; take the published files again")
    listed = (raw_manifest.get("cards") or {}).get(entry)
    if listed is None:
        raise CardError(f"{where} and does not list this card; put new cards into a suite of their own")
    if listed != sha256:
        raise CardError(
            f"{where} and the card was changed after that: sha256 {sha256}, listed {listed}; take the published file "
            "again, and write what is wrong with it into errata.md"
        )


def place_in_suite(file: Path) -> tuple[Path, str]:
    """Return the manifest that would list a card file, and the card's path in it."""
    nested = file.name == CARD_FILE
    folder = file.parent.parent if nested else file.parent
    return folder / MANIFEST, f"{file.parent.name}/{file.name}" if nested else file.name
