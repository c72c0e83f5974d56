"""Attempts as one RO-Crate: their records, and beside them what a catalogue can read of who did what to which paper.

The crate follows RO-Crate 1.1 and the profile Process Run Crate 0.5 (w3id.org/ro/wfrun/process): every attempt is a
``CreateAction`` of its agent at its paper with the record as result, and every verdict a ``ClaimReview``. Records go in
as they are, byte for byte, with their hashes; only sound ones do.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rocrate.model import ContextEntity
from rocrate.rocrate import ROCrate

from reclaim_nb import __version__
from reclaim_nb.attempts.reasons import ENDINGS
from reclaim_nb.errors import AttemptError, RecordError, UnsoundRecord
from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.record.index import Index, Row
from reclaim_nb.record.reader import first_event
from reclaim_nb.record.stamps import IMPORTED
from reclaim_nb.record.verify import verify_record

PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
_TYPES = {
    ".ipynb": "application/x-ipynb+json",
    ".jsonl": "application/x-ndjson",
    ".json": "application/json",
    ".bin": "application/octet-stream",
    ".gz": "application/gzip",
}
_WHAT = {
    "attempt.ipynb": "the executed notebook",
    "stream.jsonl": "the stream: every cell and every kernel message, as a chain of hashes",
    "payloads.bin": "large texts of the stream",
    "intake.json": "what was shipped to the attempt",
    IMPORTED: "an attempt that was made elsewhere",
    "workspace.tar.gz": "the attempt's workspace",
}
_BESIDE = {
    "verdict.*.json": "a verdict",
    "grading.*.jsonl": "a grading model's requests and answers",
    "reexecution.*.json": "a re-execution",
    **{f"reexecution.*/**/{name}": f"of a re-execution: {_WHAT[name]}" for name in list(_WHAT)[:3]},
}
"""What stands beside a record, and what it is."""


@dataclass(frozen=True)
class Exported:
    """What an export holds.

    Attributes:
        path: the crate: a folder, or a zip file.
        attempts: how many attempts are in it; files: of how many files.
        left_out: attempts that had not ended, each with why.
    """

    path: Path
    attempts: int
    files: int
    left_out: tuple[str, ...]


def export_crate(
    runs: Path | str, out: Path | str, batches: Iterable[str] = (), *, workspaces: bool = False, license: str = ""
) -> Exported:
    """Write the ended attempts of a runs folder as an RO-Crate.

    Args:
        runs: the runs folder.
        out: a folder that does not exist yet, or a file ending in ``.zip``.
        batches: names; default: all.
        workspaces: take archived workspaces along, which may be large.
        license: under which the records are shared, as a URL or a sentence.

    Raises:
        RecordError: when there is no such folder or batch, or a record is not sound.
        AttemptError: when there is something at ``out`` already, or nothing to export.
    """
    runs, out = Path(runs), Path(out)
    if out.exists():
        raise AttemptError(f"{out}: is there already; name a new folder or file")
    rows = _wanted(Index(runs), list(batches))
    ended = [row for row in rows if row.state == "ended"]
    if not ended:
        raise AttemptError(f"{runs}: no ended attempt to export")
    crate = ROCrate(version="1.1")  # which the profile is made on
    crate.name = f"{len(ended)} attempts at reproducing claims of papers"
    crate.description = (
        f"Attempts of AI agents at reproducing fixed results of {len({(r.suite, r.paper) for r in ended})} papers, "
        f"with records and verdicts, written by reclaim-nb {__version__}."
    )
    crate.license = _license(crate, license)
    profile = crate.add(ContextEntity(crate, PROFILE, {"@type": "CreativeWork", "name": "Process Run Crate"}))
    crate.root_dataset["conformsTo"] = profile
    files = 0
    for row in ended:
        files += _add(crate, AttemptFolder(runs / row.path), row, workspaces)
    if out.suffix == ".zip":
        crate.write_zip(out)
    else:
        crate.write(out)
    left = [f"{row.path}: {_WHY.get(row.state, row.state)}" for row in rows if row.state != "ended"]
    return Exported(out, len(ended), files, tuple(left))


_WHY = {"running": "has not ended", "dead_runner": "its runner died; `reclaim resume` it", "unreadable": "unreadable"}


def _wanted(index: Index, batches: list[str]) -> list[Row]:
    rows = index.rows()
    known = {row.batch for row in rows}
    if unknown := sorted(set(batches) - known):
        raise RecordError(
            f"{index.runs}: there is no batch {', '.join(unknown)}; there are {', '.join(sorted(known)) or 'none'}"
        )
    return [row for row in rows if not batches or row.batch in batches]


def _add(crate: ROCrate, folder: AttemptFolder, row: Row, workspaces: bool) -> int:
    if not row.imported and (problems := verify_record(folder).problems):
        raise UnsoundRecord(f"{folder.path}: its record is not sound, so it is not shared as one: {problems[0]}")
    names = [name for name in sorted(_files(folder)) if workspaces or name != folder.workspace_archive.name]
    parts = {name: _file(crate, folder.path / name, f"{row.path}/{name}") for name in names}
    whole = crate.add_dataset(dest_path=f"{row.path}/", properties={"name": f"attempt {row.path}"})
    whole["hasPart"] = list(parts.values())
    paper = _paper(crate, folder, row)
    action = crate.add_action(
        _software(crate, f"#agent-{quote(_agent(row))}", _agent(row)),
        identifier=f"#attempt-{quote(row.path)}",
        object=paper,
        result=[part for name, part in parts.items() if not name.startswith("verdict.")],
        properties=_told(row),
    )
    crate.root_dataset.append_to("mentions", action)
    for name, part in parts.items():
        if name.startswith("verdict."):
            review = _review(crate, folder.path / name, row, paper, part)
            crate.root_dataset.append_to("mentions", review)
    return len(parts)


def _files(folder: AttemptFolder) -> Iterator[str]:
    """Yield what is shared of an attempt, by its place in the folder: the record, verdicts, and what those rest on."""
    for pattern in (*_WHAT, *_BESIDE):
        for path in folder.path.glob(pattern):
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(folder.path).as_posix()


def _file(crate: ROCrate, path: Path, place: str) -> Any:
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    about = {
        "name": path.name,
        "description": _WHAT.get(path.name) or next(text for mark, text in _BESIDE.items() if path.match(mark)),
        "encodingFormat": _TYPES.get(path.suffix, "application/octet-stream"),
        "contentSize": str(path.stat().st_size),
        "sha256": digest,
    }
    return crate.add_file(path, place, properties=about)


def _told(row: Row) -> dict[str, Any]:
    failed = row.reason in ENDINGS and not ENDINGS[row.reason].counts
    told = {
        "name": f"{_agent(row)} attempts {row.title or row.paper}",
        "startTime": _second(row.started),
        "endTime": _second(row.updated),
        "description": f"ended: {row.reason}; tier {row.tier}; spent {row.spent_hours or 'unknown'} {row.hours_unit} "
        f"of {row.budget_hours or 'unknown'}",
        "actionStatus": f"http://schema.org/{'Failed' if failed else 'Completed'}ActionStatus",
    }
    if failed:
        told["error"] = row.detail or row.reason
    return {name: value for name, value in told.items() if value}


def _second(time: str | None) -> str | None:
    return None if time is None else f"{time[:19]}+00:00"  # recorded in UTC


def _license(crate: ROCrate, given: str) -> Any:
    if not given.startswith(("http:", "https:")):
        return given or "not stated; ask whoever shares this"
    about = {"@type": "CreativeWork", "name": given, "description": "the license of these records"}
    return crate.add(ContextEntity(crate, given, about))


def _agent(row: Row) -> str:
    return f"{row.agent} with {row.model}" if row.model else row.agent


def _software(crate: ROCrate, identifier: str, name: str) -> Any:
    about = {"@type": "SoftwareApplication", "name": name}
    return crate.get(identifier) or crate.add(ContextEntity(crate, identifier, about))


def _paper(crate: ROCrate, folder: AttemptFolder, row: Row) -> Any:
    card = {} if row.imported else first_event(folder.stream).data["spec"]["card"]
    arxiv = card.get("arxiv")
    identifier = f"https://arxiv.org/abs/{arxiv}" if arxiv else f"#paper-{quote(row.suite)}/{quote(row.paper)}"
    about: dict[str, Any] = {"@type": ["ScholarlyArticle", "CreativeWork"], "name": row.title or row.paper}
    return crate.get(identifier) or crate.add(ContextEntity(crate, identifier, about))


def _review(crate: ROCrate, path: Path, row: Row, paper: Any, file: Any) -> Any:
    verdict = json.loads(path.read_text("utf-8"))
    outcome, cause, grader = (verdict.get(name) for name in ("outcome", "cause", "grader"))
    rating = crate.add(
        ContextEntity(
            crate,
            f"#rating-{quote(row.path)}/{quote(path.name)}",
            {"@type": "Rating", "alternateName": str(outcome), "ratingExplanation": str(cause or "no cause")},
        )
    )
    claim = " ".join(filter(None, (row.metric, row.target, row.unit))) or row.title or row.paper
    about: dict[str, Any] = {
        "@type": "ClaimReview",
        "name": f"{outcome} by {grader}",
        "claimReviewed": claim,
        "reviewRating": rating,
        "itemReviewed": paper,
        "author": _software(crate, f"#grader-{quote(str(grader))}", str(grader)),
        "isBasedOn": file,
    }
    return crate.add(ContextEntity(crate, f"#review-{quote(row.path)}/{quote(path.name)}", about))
