"""The working folder of a rebuild: one file per paper and step, each with the hashes of what it was made from.

    venue.yaml             settings, once
    cache/                 answers of services, by address
    papers/<id>/<step>.json    what a step made of a paper, or why it refuses it
    papers/<id>/said.<n>.json  what a model said, word by word
    papers/<id>/review.<rater>.json
    select.json, suite/, drift.<date>.json

A file is there whole or not at all. A step whose inputs have the hashes that stand in its file is not done again.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from reclaim_nb.errors import ReclaimError
from reclaim_nb.papers.card import SLUG
from reclaim_nb.papers.loading import read_yaml, validate
from reclaim_nb.papers.numbers import Number
from reclaim_nb.papers.suite import dump_yaml
from reclaim_nb.record.files import remove_parts, write_atomic

SETTINGS = "venue.yaml"

PAPER_STEPS = ("collect", "match", "read", "probe", "draft", "selftest")
"""The steps that write a file for each paper."""

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class RebuildError(ReclaimError):
    """A step of a rebuild cannot be done; what is on disk stays usable."""


class Refused(Exception):
    """A paper cannot become a card; the reason is recorded and later steps leave the paper out."""


class Later(Exception):
    """A service does not answer now; nothing is recorded and the next run asks again."""


class Policy(BaseModel):
    """What is decided for the whole suite."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cap_hours: Number = Decimal(96)
    floor_hours: Number = Decimal("0.5")
    times: Number = Decimal(3)
    default_tolerance: Number = Decimal("0.05")
    dev: int = Field(default=2, ge=0)
    """Cards of the dev split."""


class Settings(BaseModel):
    """``venue.yaml``."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
    venue: str = Field(min_length=1)
    """OpenReview's ``venueid`` of accepted papers, such as ``NeurIPS.cc/2025/Conference``."""
    suite: str = Field(pattern=SLUG)
    title: str = Field(min_length=1)
    seed: int = 0
    count: int = Field(default=100, gt=0)
    policy: Policy = Policy()


@dataclass(frozen=True)
class Made:
    """A step's file: its result, or the reason of a refusal."""

    result: dict[str, Any]
    refused: str | None
    needs: dict[str, str]
    sha256: str


@dataclass(frozen=True)
class Folder:
    """One rebuild on disk."""

    path: Path

    @property
    def settings(self) -> Settings:
        """The settings.

        Raises:
            RebuildError: there are none yet.
        """
        file = self.path / SETTINGS
        if not file.is_file():
            raise RebuildError(f"{file}: not there; `reclaim rebuild collect {self.path} --venue ...` begins a rebuild")
        return validate(Settings, read_yaml(file), file)

    def begin(self, settings: Settings) -> None:
        """Write the settings; those of a rebuild that has begun are never changed from here."""
        file = self.path / SETTINGS
        if file.is_file():
            if self.settings != settings:
                raise RebuildError(f"{file}: has other settings; take another folder, or edit the file and run again")
            return
        self.path.mkdir(parents=True, exist_ok=True)
        put(file, dump_yaml(settings.model_dump(mode="python", by_alias=True)).encode())

    @property
    def ids(self) -> tuple[str, ...]:
        """The papers, in the order in which they were collected; empty before that is done."""
        listed = read_json(self.path / "collected.json")
        return tuple(listed["papers"]) if listed else ()

    def file(self, paper: str, name: str) -> Path:
        """Return the place of a file of a paper; the id comes from a service and must be a plain name."""
        if not _ID.fullmatch(paper):
            raise RebuildError(f"{paper!r} is no id of a paper that could be the name of a folder")
        return self.path / "papers" / paper / f"{name}.json"

    def made(self, paper: str, step: str) -> Made | None:
        """Return what a step has made of a paper, None where it was not done."""
        file = self.file(paper, step)
        if not file.is_file():
            return None
        content = file.read_bytes()
        raw = json.loads(content)
        return Made(raw.get("result") or {}, raw.get("refused"), raw["needs"], hashlib.sha256(content).hexdigest())

    def make(self, paper: str, step: str, needs: dict[str, str], result: Any, refused: str | None = None) -> None:
        """Write a step's file."""
        document = {"schema": 1, "paper": paper, "step": step, "needs": needs}
        document |= {"refused": refused} if refused is not None else {"result": result}
        self.put(self.file(paper, step), document)

    def put(self, file: Path, document: Any) -> None:
        """Write a JSON file whole, and take away what an earlier writer has left half."""
        file.parent.mkdir(parents=True, exist_ok=True)
        remove_parts(file.parent)
        put(file, json_bytes(document))

    def refusals(self) -> list[tuple[str, str, str]]:
        """Return paper, step and reason of everything that was refused."""
        found = []
        for paper in self.ids:
            for step in PAPER_STEPS:
                made = self.made(paper, step)
                if made is not None and made.refused is not None:
                    found.append((paper, step, made.refused))
                    break
        return found


def put(file: Path, content: bytes) -> None:
    """Write a file whole or not at all: the only place where a rebuild writes."""
    write_atomic(file, content)


def json_bytes(document: Any) -> bytes:
    """Return a document as JSON, the same bytes for the same content, decimals as text."""
    return (json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False, default=_plain) + "\n").encode()


def read_json(file: Path) -> Any:
    """Return a JSON file's content, None where it is not there."""
    return json.loads(file.read_bytes()) if file.is_file() else None


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, tuple | set | frozenset):
        return sorted(value) if not isinstance(value, tuple) else list(value)
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    raise TypeError(f"{type(value).__name__} has no place in a file")
