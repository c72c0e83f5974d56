"""Suites: folders of cards with a manifest of their hashes, and how a paper is found by name."""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from reclaim_nb.data import data_folder
from reclaim_nb.errors import CardError
from reclaim_nb.papers.frozen import Frozen, files_of, seal_of
from reclaim_nb.papers.loading import CARD_FILE, LoadedCard, frozen_suite, load_card, read_card, read_yaml, validate
from reclaim_nb.papers.loading import MANIFEST as MANIFEST
from reclaim_nb.papers.numbers import format_decimal
from reclaim_nb.papers.totals import DeclaredTotals

PAPERS_VARIABLE = "RECLAIM_PAPERS"


class Manifest(BaseModel):
    """``suite.yaml``: what the suite is and the sha256 of every card in it."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
    name: str
    title: str
    description: str = ""
    totals: DeclaredTotals | None = None
    """What the cards add up to; ``reclaim papers check`` compares."""
    cards: dict[str, str] = Field(default_factory=dict)
    """sha256 by the card file's path inside the suite."""
    frozen: Frozen | None = None
    """Set once, by ``reclaim rebuild freeze``; from then on no card may change."""


@dataclass(frozen=True)
class Suite:
    """The cards of one folder, in order of their names, beside what the manifest says of them."""

    folder: Path
    cards: tuple[LoadedCard, ...]
    manifest: Manifest | None
    broken: tuple[str, ...] = ()
    """Messages of cards that could not be read; only filled when loading was asked to go on."""

    @property
    def name(self) -> str:
        """Name of the suite folder, the first part of its papers' names."""
        return self.folder.name

    @property
    def changed(self) -> tuple[str, ...]:
        """Cards whose file differs from the manifest."""
        return tuple(c.name for c in self.cards if c.changed)

    @property
    def unlisted(self) -> tuple[str, ...]:
        """Cards the manifest does not know; all of them where there is none."""
        return tuple(c.name for c in self.cards if c.listed_sha256 is None)

    @property
    def missing(self) -> tuple[str, ...]:
        """Manifest entries without a file."""
        listed = self.manifest.cards if self.manifest else {}
        return tuple(sorted(entry for entry in listed if not (self.folder / entry).is_file()))

    def get(self, slug: str) -> LoadedCard | None:
        """Return the card with that id, or None."""
        return next((c for c in self.cards if c.card.id == slug), None)

    def __iter__(self) -> Iterator[LoadedCard]:
        return iter(self.cards)

    def __len__(self) -> int:
        return len(self.cards)


def card_files(folder: Path) -> list[Path]:
    """List the card files of a suite folder: ``slug/paper.yaml``, and ``slug.yaml`` in flat suites."""
    nested = [p for p in folder.glob(f"*/{CARD_FILE}") if not p.parent.name.startswith((".", "_"))]
    flat = [p for p in folder.glob("*.yaml") if p.name not in (MANIFEST, CARD_FILE) and not p.name.startswith(".")]
    return sorted(nested + flat, key=lambda p: p.relative_to(folder).as_posix())


def card_path(folder: Path, slug: str) -> Path | None:
    """Return the card file of that id in a suite folder, or None."""
    return next((p for p in (folder / slug / CARD_FILE, folder / f"{slug}.yaml") if p.is_file()), None)


def load_suite(folder: Path, *, keep_going: bool = False) -> Suite:
    """Load every card of a folder; of a frozen suite that is not as it was frozen, none.

    Args:
        folder: the suite folder.
        keep_going: collect the messages of broken cards in ``Suite.broken`` instead of raising the first.

    Raises:
        CardError: the folder is missing or holds no card, the manifest or a card is broken.
    """
    if not folder.is_dir():
        raise CardError(f"{folder}: expected a suite folder, found nothing")
    manifest = _read_manifest(folder)
    cards, broken = [], []
    try:
        frozen = frozen_suite(folder)
    except CardError as error:
        if not keep_going:
            raise
        return Suite(folder, (), manifest, (str(error),))
    for path in card_files(folder):
        listed = manifest.cards.get(path.relative_to(folder).as_posix()) if manifest else None
        try:
            cards.append(read_card(path, listed, frozen))
        except CardError as error:
            if not keep_going:
                raise
            broken.append(str(error))
    if not cards and not broken:
        raise CardError(f"{folder}: expected at least one card ({CARD_FILE} in a folder of its own), found none")
    return Suite(folder, tuple(cards), manifest, tuple(broken))


def _read_manifest(folder: Path) -> Manifest | None:
    path = folder / MANIFEST
    return validate(Manifest, read_yaml(path), path) if path.is_file() else None


def write_manifest(folder: Path, *, title: str | None = None, description: str | None = None) -> Path:
    """Write ``suite.yaml`` from the cards as they are now; declared totals stay, title and description unless given.

    Raises:
        CardError: a card is broken; a manifest never vouches for a card that cannot be read.
    """
    suite = load_suite(folder)
    old = suite.manifest
    if old is not None and old.frozen is not None:
        raise CardError(f"{folder}: version {old.frozen.version} is frozen; its manifest is not written again")
    document: dict[str, object] = {
        "schema": 1,
        "name": folder.name,
        "title": title or (old.title if old else folder.name),
        "description": description if description is not None else (old.description if old else ""),
    }
    if old and old.totals:
        document["totals"] = old.totals.model_dump(mode="python", exclude_none=True)
    document["cards"] = {c.path.relative_to(folder).as_posix(): c.sha256 for c in suite.cards}
    path = folder / MANIFEST
    partial = path.with_suffix(".yaml.partial")
    partial.write_text(dump_yaml(document), encoding="utf-8")
    partial.replace(path)
    return path


def frozen_manifest(
    folder: Path,
    *,
    name: str,
    title: str,
    description: str,
    version: str,
    date: str,
    canary: str,
    dev: Sequence[str] = (),
    signers: Sequence[str] = (),
    key: str | None = None,
) -> bytes:
    """Return the manifest that freezes a suite as its files are now.

    Args:
        folder: the suite.
        name, title, description: of the suite.
        version, date, canary, dev, signers, key: see :class:`~reclaim_nb.papers.frozen.Frozen`.
    """
    there = {entry: hashlib.sha256(path.read_bytes()).hexdigest() for entry, path in files_of(folder)}
    cards = [path.relative_to(folder).as_posix() for path in card_files(folder)]
    frozen: dict[str, object] = {"version": version, "date": date, "canary": canary, "dev": sorted(dev)}
    frozen |= {"signers": list(signers), "state": "frozen"} | ({"key": key} if key is not None else {})
    if files := {entry: sha256 for entry, sha256 in there.items() if entry not in cards}:
        frozen["files"] = files
    document: dict[str, object] = {"schema": 1, "name": name, "title": title, "description": description}
    document |= {"cards": {entry: there[entry] for entry in cards}, "frozen": frozen}
    frozen["seal"] = seal_of(document)
    return dump_yaml(document).encode()


class _Dumper(yaml.SafeDumper):
    """YAML writer that prints a decimal as its own digits."""


def _represent(dumper: yaml.SafeDumper, value: Decimal) -> yaml.ScalarNode:
    text = format_decimal(value)
    return dumper.represent_scalar(f"tag:yaml.org,2002:{'float' if '.' in text else 'int'}", text)


_Dumper.add_representer(Decimal, _represent)


def dump_yaml(document: dict[str, object]) -> str:
    """Return a document as YAML, decimals with their own digits."""
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def suite_roots() -> list[Path]:
    """Return the folders that hold suites: those in ``$RECLAIM_PAPERS``, then the ones that ship with the package."""
    own = [Path(p) for p in os.environ.get(PAPERS_VARIABLE, "").split(os.pathsep) if p]
    return [*own, data_folder("papers")]


def suite_folders() -> list[Path]:
    """Return every suite folder that can be found; an earlier root hides a suite of the same name in a later one."""
    found: dict[str, Path] = {}
    for root in suite_roots():
        if not root.is_dir():
            continue
        for folder in sorted(p for p in root.iterdir() if p.is_dir() and not p.name.startswith((".", "_"))):
            if folder.name not in found and card_files(folder):
                found[folder.name] = folder
    return list(found.values())


def find_suite(name: str) -> Suite:
    """Load a suite by name (``small``) or by folder.

    Raises:
        CardError: there is no such suite, or a card in it is broken.
    """
    for folder in suite_folders():
        if folder.name == name:
            return load_suite(folder)
    if Path(name).is_dir():
        return load_suite(Path(name))
    known = ", ".join(f.name for f in suite_folders()) or "none"
    raise CardError(f"there is no suite '{name}'; suites found: {known}. Give a name, or a folder of cards")


def find_paper(name: str) -> LoadedCard:
    """Find one card by ``suite/slug``, or by the path of a paper folder or card file.

    Raises:
        CardError: nothing has that name (the nearest names are listed), or the card is broken.
    """
    suite, _, slug = name.partition("/")
    plain = bool(slug) and "/" not in slug and not {suite, slug} & {".", ".."}
    if plain:
        for folder in suite_folders():
            if folder.name != suite:
                continue
            if found := card_path(folder, slug):
                manifest = _read_manifest(folder)
                listed = manifest.cards.get(found.relative_to(folder).as_posix()) if manifest else None
                return load_card(found, listed_sha256=listed)
    path = Path(name)
    if path.is_file() or (path / CARD_FILE).is_file():
        return _with_manifest(path)
    names = [f"{f.name}/{_slug(p)}" for f in suite_folders() for p in card_files(f)]
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5) or [n for n in names if n.endswith(f"/{name}")]
    hint = f"did you mean {' or '.join(close)}?" if close else "`reclaim papers list` shows every paper."
    raise CardError(f"there is no paper '{name}'; {hint} Expected suite/slug, or the path of a paper folder")


def _with_manifest(path: Path) -> LoadedCard:
    file = (path / CARD_FILE if path.is_dir() else path).resolve()
    folder = file.parent.parent if file.name == CARD_FILE else file.parent
    manifest = _read_manifest(folder)
    listed = manifest.cards.get(file.relative_to(folder).as_posix()) if manifest else None
    return load_card(file, listed_sha256=listed)


def _slug(card_file: Path) -> str:
    return card_file.parent.name if card_file.name == CARD_FILE else card_file.stem
