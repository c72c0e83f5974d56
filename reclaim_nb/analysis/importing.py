"""Bringing the published runs into a runs folder, as files: each run an attempt folder that says it was imported."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reclaim_nb.analysis.published import (
    FLAGS,
    PAPERS_OF_TIER,
    SEVERITIES,
    cause_of,
    ours,
    outcome_of,
    reason_of,
)
from reclaim_nb.analysis.release import Paper, Release, Run, read_release
from reclaim_nb.attempts.prepare import check_batch_name
from reclaim_nb.errors import AttemptError, RecordError
from reclaim_nb.grading.cause import CODES
from reclaim_nb.record.folder import AttemptFolder, safe_name, write_json
from reclaim_nb.record.stamps import IMPORTED

BATCH_FILE = "import.json"
"""Beside the suites of an imported batch: its source, its papers, and what the release says of itself."""
BUNDLE = "bundle.json.gz"
GRADER = "published"
SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import has done: the batch's folder, runs written, left as they were, and bundles copied."""

    folder: Path
    written: int
    kept: int
    bundles: int


def import_published(
    path: Path | str,
    runs: Path | str,
    *,
    batch: str = "published",
    suite: str = "neurips2025",
    bundles: bool = True,
) -> Imported:
    """Import a published release. Importing the same again changes nothing.

    Args:
        path: the release, see :func:`reclaim_nb.analysis.release.read_release`.
        runs: the runs folder.
        batch, suite: where the attempts are put.
        bundles: copy each run's transcript, from which the frame of cells is read.

    Raises:
        RecordError: when the release cannot be read, or has no runs.
        AttemptError: when the batch exists and was not imported from a file of the same content.
    """
    check_batch_name(batch)
    release = read_release(path)
    if not release.runs:
        raise RecordError(f"{path}: no runs in it, so there is nothing to import")
    folder = Path(runs) / safe_name(batch)
    _claim(folder, release)
    papers = {paper.arxiv_id: paper for paper in release.papers}
    written = kept = copied = 0
    for run in release.runs:
        attempt = AttemptFolder(folder / safe_name(suite) / safe_name(run.arxiv_id) / safe_name(run.model) / "01")
        attempt.path.mkdir(parents=True, exist_ok=True)
        bundle = release.bundle(run) if bundles else None
        if bundle is not None and not (attempt.path / BUNDLE).exists():
            part = attempt.path / f".{BUNDLE}.part"
            shutil.copyfile(bundle, part)
            part.replace(attempt.path / BUNDLE)
            copied += 1
        document = _document(run, papers.get(run.arxiv_id), release, batch, suite)
        if bundle is not None:
            document["bundle"] = {"file": BUNDLE, "sha256": _sha256(attempt.path / BUNDLE)}
        changed = _write(attempt.path / f"verdict.{GRADER}.json", _verdict(run, release))
        changed |= _write(attempt.path / IMPORTED, document)
        written, kept = written + changed, kept + (not changed)
    _write(folder / BATCH_FILE, _batch(release, suite))
    return Imported(folder, written, kept, copied)


def _claim(folder: Path, release: Release) -> None:
    file = folder / BATCH_FILE
    if file.exists():
        before = json.loads(file.read_text("utf-8"))["source"]
        if before["sha256"] != release.source["sha256"]:
            was, now = (f"{one['file']} (sha256 {one['sha256'][:12]})" for one in (before, release.source))
            raise AttemptError(f"{folder}: holds the import of {was}, and this is {now}; choose another --batch")
    elif (folder / "plan.json").exists() or any(folder.glob("*/*/*/*/stream.jsonl")):
        raise AttemptError(f"{folder}: holds attempts that were made here; choose another --batch")


def _write(path: Path, document: dict[str, Any]) -> bool:
    """Write a file unless it says the same already, so that stamps and indexes stay as they are."""
    if path.exists():
        try:
            if json.loads(path.read_text("utf-8")) == document:
                return False
        except ValueError:
            pass
    write_json(path, document)
    return True


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _document(run: Run, paper: Paper | None, release: Release, batch: str, suite: str) -> dict[str, Any]:
    model = next((model for model in release.models if model.key == run.model), None)
    return {
        "schema": SCHEMA,
        "source": release.source,
        "row": {
            "batch": batch,
            "suite": suite,
            "paper": run.arxiv_id,
            "agent": run.model,
            "repeat": 1,
            "id": run.id,
            "title": run.claim or (paper.claim if paper else "") or f"arXiv {run.arxiv_id}",
            "tier": run.tier,
            "device": "gpu",
            "model": (model.id or model.name) if model else None,
            "metric": run.target or (paper.target if paper else ""),
            "budget_hours": repr(run.budget_h100),
            "spent_hours": repr(run.spent_h100),
            "reason": reason_of(run.exit_label),
            "detail": run.exit_label,
        },
        "facts": {
            "arxiv": run.arxiv_id,
            "band": paper.band if paper else None,
            "need_hours": paper.predicted_h100 if paper else None,
            "wall_clock_seconds": run.duration_s,
            "turns": run.rounds,
            "tokens": run.tokens.total,
        },
        "run": run.model_dump(mode="json"),
    }


def _verdict(run: Run, release: Release) -> dict[str, Any]:
    cause = cause_of(run.audit.verdict, run.mode, run.mode_slug)
    serious = [flag for flag in run.audit.flags if flag.severity in SEVERITIES[1:]]
    contributing = sorted({code for flag in serious if (code := ours(FLAGS, flag.kind)) and code != cause})
    outcome = outcome_of(run.audit.verdict)
    return {
        "schema": SCHEMA,
        "imported": True,
        "attempt": run.id,
        "grader": GRADER,
        "grader_version": release.source.get("generated", ""),
        "model": release.source.get("auditor", ""),
        "outcome": outcome,
        "cause": cause,
        "contributing": contributing if outcome != "reproduced" else [],
        "meaning": CODES[cause] if cause else "",
        "value": None,
        "flags": [f"{flag.kind}:{flag.severity}" for flag in run.audit.flags],
        "score": run.audit.score,
        "verdict": run.audit.verdict,
        "mode": run.mode,
        "mode_slug": run.mode_slug,
        "self_report": {"outcome": outcome_of(run.self_report) if run.self_report else None},
        "notes": [run.audit.rationale] if run.audit.rationale else [],
    }


def _batch(release: Release, suite: str) -> dict[str, Any]:
    runs = {run.arxiv_id: run.tier for run in release.runs}
    papers = [
        {"paper": p.arxiv_id, "tier": p.tier, "band": p.band, "need_hours": p.predicted_h100, "title": p.claim}
        for p in release.papers
    ] or [{"paper": paper, "tier": tier} for paper, tier in runs.items()]
    return {
        "schema": SCHEMA,
        "source": release.source,
        "suite": suite,
        "agents": [{"agent": model.key, "name": model.name, "model": model.id} for model in release.models],
        "papers": papers,
        # A table of runs names only the papers that have a graded run.
        "papers_of_tier": dict(PAPERS_OF_TIER) if not release.papers else None,
        "sweeps": [sweep.model_dump(mode="json") for sweep in release.sweeps],
    }


def read_batch(folder: Path) -> dict[str, Any] | None:
    """Return what an imported batch's folder says of it, None for batches that were made here.

    Raises:
        RecordError: when the file cannot be read.
    """
    path = folder / BATCH_FILE
    if not path.exists():
        return None
    try:
        document: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as problem:
        raise RecordError(f"{path}: cannot be read ({problem}); import it again") from problem
    return document
