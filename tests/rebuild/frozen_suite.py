"""A small frozen suite whose papers run on a plain process, and ways in which somebody may have tampered with it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from reclaim_nb.papers.frozen import CANARY, seal_of
from reclaim_nb.papers.suite import dump_yaml, frozen_manifest
from tests.server.lab_papers import GOOD, write_suite

PAPER = "tiny/good"
OTHER = "tiny/other"


def write_frozen(root: Path, version: str = "1", key: str | None = None) -> Path:
    """Write the frozen suite ``<root>/tiny`` with two papers, and return its folder."""
    note = {"notes": f"{CANARY}0123456789abcdef."}
    place = write_suite(root, {"good": GOOD, "other": GOOD}, {"good": note, "other": note})
    facts: dict[str, Any] = {"name": "tiny", "title": "Tiny", "description": "Two cards.", "date": "2026-11-30"}
    facts |= {"canary": f"{CANARY}0123456789abcdef", "dev": ["good/paper.yaml"], "signers": ["Ada Rater"]}
    (place / "suite.yaml").write_bytes(frozen_manifest(place, version=version, key=key, **facts))
    (place / "errata.md").write_text("# Errata\n\nNone yet.\n")
    return place


def one_byte(place: Path) -> None:
    file = place / "good" / "paper.yaml"
    file.write_bytes(file.read_bytes() + b"\n")


def one_digit(place: Path) -> None:
    file = place / "good" / "paper.yaml"
    file.write_bytes(file.read_bytes().replace(b"high: 4.1", b"high: 4.9"))


def another_card(place: Path) -> None:
    shutil.copytree(place / "good", place / "third")


def flat_card(place: Path) -> None:
    shutil.copy(place / "good" / "paper.yaml", place / "fourth.yaml")


def no_card(place: Path) -> None:
    (place / "other" / "paper.yaml").unlink()


def another_solution(place: Path) -> None:
    file = place / "good" / "solution.ipynb"
    file.write_bytes(file.read_bytes() + b"\n")


def shipped_numbers(place: Path) -> None:
    (place / "good" / "release").mkdir()
    (place / "good" / "release" / "results.csv").write_text("mean,4.0\n")


def hashes_made_anew(place: Path) -> None:
    one_digit(place)
    from reclaim_nb.papers.frozen import _sha256

    change(place, lambda raw: raw["cards"].update({"good/paper.yaml": _sha256(place / "good" / "paper.yaml")}))


def other_version(place: Path) -> None:
    change(place, lambda raw: raw["frozen"].update(version="2"))


def thawed(place: Path) -> None:
    change(place, lambda raw: raw.pop("frozen"))


def half_thawed(place: Path) -> None:
    change(place, lambda raw: raw.update(frozen=None))


def no_manifest(place: Path) -> None:
    (place / "suite.yaml").unlink()


def change(place: Path, work: Callable[[dict[str, Any]], Any], *, seal: bool = False) -> None:
    """Change the manifest, and seal it anew where asked for, as somebody could who knows how it is made."""
    raw = yaml.safe_load((place / "suite.yaml").read_text())
    work(raw)
    if seal:
        raw["frozen"]["seal"] = seal_of(raw)
    (place / "suite.yaml").write_text(dump_yaml(json.loads(json.dumps(raw))))


TAMPERED = {
    one_byte: "good/paper.yaml was changed after that: sha256 ",
    one_digit: "good/paper.yaml was changed after that: sha256 ",
    another_card: "third/paper.yaml is not listed",
    flat_card: "fourth.yaml is not listed",
    no_card: "other/paper.yaml is missing",
    another_solution: "good/solution.ipynb was changed after that",
    shipped_numbers: "good/release/results.csv is not listed",
    hashes_made_anew: "its manifest suite.yaml was changed after that",
    other_version: "its manifest suite.yaml was changed after that",
    half_thawed: "its manifest suite.yaml was changed after that",
    thawed: "holds a canary",
    no_manifest: "holds a canary",
}
