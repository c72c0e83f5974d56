"""Reading the published release: ``runs/index.json``, its bundles, or the table of its runs as CSV.

Format: README of the release (repository ``mithils3/reclaim``). What it holds beyond the fields below is kept as it is.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reclaim_nb.analysis.published import AGENTS
from reclaim_nb.errors import RecordError

INDEX_FILE = "index.json"
BUNDLE_SUFFIX = ".json.gz"


class _Loose(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")


class Flag(_Loose):
    """One provenance flag of the auditor."""

    kind: str
    severity: str


class Audit(_Loose):
    """The auditor's grade: score 0 to 10, verdict, flags."""

    score: int = Field(ge=0, le=10)
    verdict: str
    reproduced: bool
    flags: tuple[Flag, ...] = ()
    rationale: str = ""


class Tokens(_Loose):
    """Model tokens of one run."""

    prompt: int = 0
    completion: int = 0
    total: int = 0


class Run(_Loose):
    """One graded run: compute in H100-equivalent hours, duration in seconds."""

    id: str = Field(min_length=1)
    arxiv_id: str
    model: str
    tier: str
    exit_label: str
    rounds: int = 0
    tool_calls: int = 0
    budget_h100: float = Field(gt=0)
    spent_h100: float = Field(ge=0)
    duration_s: float = 0.0
    tokens: Tokens = Tokens()
    audit: Audit
    mode: str
    mode_slug: str = ""
    claim: str = ""
    self_report: str | None = None
    target: str = ""


class Paper(_Loose):
    """One paper of the benchmark; need in H100-equivalent hours."""

    arxiv_id: str
    tier: str
    band: str | None = None
    claim: str = ""
    predicted_h100: float | None = None
    target: str = ""


class Sweep(_Loose):
    """What the release itself says of one agent in one tier."""

    model: str
    tier: str
    n: int
    mean_score: float
    n_reproduced: int
    spent_h100: float
    budget_h100: float


class Model(_Loose):
    """An agent of the release."""

    key: str
    name: str = ""
    id: str = ""


class _Index(_Loose):
    generated: str = ""
    auditor: dict[str, Any] = Field(default_factory=dict)
    models: tuple[Model, ...] = ()
    sweeps: tuple[Sweep, ...] = ()
    papers: tuple[Paper, ...] = ()
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class Release:
    """A release, read and checked.

    Attributes:
        source: the file it was read from, its sha256, date and auditor.
        models, papers, runs, sweeps: see there; a table of runs alone has no papers and no sweeps.
        bundles: folder of the bundles, None where there are none.
    """

    source: dict[str, str]
    models: tuple[Model, ...]
    papers: tuple[Paper, ...]
    runs: tuple[Run, ...]
    sweeps: tuple[Sweep, ...]
    bundles: Path | None = None
    raw_papers: dict[str, dict[str, Any]] = field(default_factory=dict)

    def bundle(self, run: Run) -> Path | None:
        """Return the file of a run's bundle, None where there is none."""
        if self.bundles is None:
            return None
        path = self.bundles / f"{run.id}{BUNDLE_SUFFIX}"
        return path if path.parent == self.bundles and path.is_file() else None


def read_release(path: Path | str) -> Release:
    """Read a release.

    Args:
        path: its folder, its ``runs`` folder, its ``index.json``, or a CSV table of its runs.

    Raises:
        RecordError: when there is no such file, or something in it is not of the release's form; names the field.
    """
    file = _file(Path(path))
    raw = file.read_bytes()
    source = {"file": file.name, "sha256": hashlib.sha256(raw).hexdigest()}
    if file.suffix == ".csv":
        runs = _checked({"runs": list(_rows(raw.decode("utf-8-sig")))}, file).runs
        keys = dict.fromkeys(run.model for run in runs)
        models = tuple(Model(key=key, name=AGENTS.get(key, key)) for key in keys)
        return _unique(Release(source, models, (), runs, ()), file)
    try:
        document = json.loads(raw)
    except ValueError as problem:
        raise RecordError(f"{file}: not JSON ({problem})") from problem
    index = _checked(document, file)
    source |= {"generated": index.generated, "auditor": str(index.auditor.get("id") or "")}
    return _unique(Release(source, index.models, index.papers, index.runs, index.sweeps, file.parent), file)


def _file(path: Path) -> Path:
    for file in (path, path / "runs" / INDEX_FILE, path / INDEX_FILE, path / "runs.csv"):
        if file.is_file():
            return file
    raise RecordError(
        f"{path}: no published runs here; expected the release's folder with runs/{INDEX_FILE}, that file, "
        "or a CSV table of its runs"
    )


def _checked(document: Any, file: Path) -> _Index:
    try:
        return _Index.model_validate(document)
    except ValidationError as problem:
        first = problem.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the document"
        raise RecordError(f"{file}: {where}: {first['msg']}; is it the published release's form?") from problem


def _unique(release: Release, file: Path) -> Release:
    seen: set[tuple[str, str]] = set()
    for run in release.runs:
        if (run.model, run.arxiv_id) in seen:
            raise RecordError(f"{file}: {run.id}: agent {run.model} has two runs of paper {run.arxiv_id}")
        seen.add((run.model, run.arxiv_id))
    return release


def _rows(text: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table of runs in the form of ``index.json``."""
    for row in csv.DictReader(text.splitlines()):
        flags = [flag.rpartition(":") for flag in (row.get("flags") or "").split(";") if flag]
        yield {
            **{name: value for name, value in row.items() if not name.startswith("tokens_") and value != ""},
            "self_report": row.get("self_report") or None,
            "tokens": {name[7:]: value for name, value in row.items() if name.startswith("tokens_") and value},
            "audit": {
                "score": row.get("score"),
                "verdict": row.get("verdict"),
                "reproduced": row.get("reproduced"),
                "flags": [{"kind": kind, "severity": severity} for kind, _, severity in flags],
            },
        }
