"""Cards, attempts and checks as the JSON that the lab extension shows."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from reclaim_nb.attempts.reasons import ENDINGS
from reclaim_nb.errors import CardError, ReclaimError, RecordError
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.criterion import Band, Criterion
from reclaim_nb.papers.loading import LoadedCard
from reclaim_nb.papers.numbers import format_decimal
from reclaim_nb.papers.suite import MANIFEST, card_files, load_suite, suite_folders
from reclaim_nb.papers.view import agent_view, as_markdown
from reclaim_nb.record.folder import AttemptFolder, is_held
from reclaim_nb.record.index import Index, Row, read_imported, row_of
from reclaim_nb.record.reader import first_event
from reclaim_nb.record.verify import verify_record
from reclaim_nb.server.again import state
from reclaim_nb.server.places import Places

SLIM = (
    *("path", "batch", "suite", "paper", "agent", "model", "conditions", "repeat", "again", "id", "title", "tier"),
    *("device", "kernel", "unsandboxed", "state", "reason", "outcome", "cause", "value", "unit", "submitted"),
    *("spent_hours", "budget_hours", "started", "updated", "verdicts", "imported", "problem"),
)
"""What of a row a list shows."""

VERDICT_BYTES = 4 * 1024 * 1024
CELL_IN_PROBLEM = re.compile(r"\bcell (\S+) (?:differs|is in|is not|stands)")


def suites() -> list[dict[str, Any]]:
    """Return every suite with its papers; a broken card is named with what is wrong."""
    found: list[dict[str, Any]] = []
    for folder in suite_folders():
        try:
            suite = load_suite(folder, keep_going=True)
        except CardError as problem:
            found.append({"name": folder.name, "title": folder.name, "papers": [], "broken": [str(problem)]})
            continue
        found.append(
            {
                "name": suite.name,
                "title": suite.manifest.title if suite.manifest else suite.name,
                "papers": [paper(suite.name, loaded) for loaded in suite],
                "broken": list(suite.broken),
            }
        )
    return found


def unknown(suites: list[dict[str, Any]], name: str) -> str | None:
    """Say why a paper is none of these suites, with what is broken in its suite; None where it is one."""
    if any(one["name"] == name for suite in suites for one in suite["papers"]):
        return None
    broken = [text for suite in suites if suite["name"] == name.partition("/")[0] for text in suite["broken"]]
    return "; ".join([f"there is no paper {name!r} in the configured suites", *broken])


def paper(suite: str, loaded: LoadedCard) -> dict[str, Any]:
    """Return what a list shows of a card."""
    card = loaded.card
    return {
        "name": f"{suite}/{card.id}",
        "suite": suite,
        "id": card.id,
        "arxiv": card.arxiv,
        "title": card.title,
        "tier": card.tier,
        "device": card.device,
        "area": card.area,
        "metric": card.target.metric,
        "target": _target_text(card),
        "unit": card.target.unit,
        "direction": card.target.direction,
        "criterion": _text_of(card.criterion, card.target.unit),
        "need_hours": _number(card.need.hours),
        "budget_hours": _number(card.budget.hours),
        "hours_unit": card.hours_unit,
        "audit": card.audit.state,
        "audit_reasons": list(card.audit.reasons),
        "provisional": card.provisional,
        "changed": loaded.changed,
        "replayable": loaded.solution is not None,
    }


def card(suite: str, loaded: LoadedCard) -> dict[str, Any]:
    """Return a whole card, as a person who explores results may see it; agents get ``agent_markdown`` alone."""
    return {
        **paper(suite, loaded),
        "card": json.loads(loaded.card.model_dump_json(by_alias=True)),
        "sha256": loaded.sha256,
        "scale": scale(loaded.card),
        "agent_markdown": as_markdown(agent_view(loaded.card)),
    }


def scale(card: PaperCard) -> dict[str, Any]:
    """Return what stands on a card's number line, as decimal texts in the target's unit."""
    target = card.target
    gold = card.gold
    return {
        "metric": target.metric,
        "unit": target.unit,
        "direction": target.direction,
        "target": _number(target.value),
        "printed": target.printed,
        "band": _band(card.criterion, target.unit),
        "strict": _band(card.strict, target.unit),
        "baseline": {"name": target.baseline.name, "value": _number(target.baseline.value)}
        if target.baseline is not None and target.baseline.value is not None
        else None,
        "siblings": [
            {"name": sibling.what, "value": _number(sibling.value)}
            for sibling in target.siblings
            if sibling.unit in (None, target.unit)
        ],
        "gold": {"name": gold.route, "value": _number(gold.value)}
        if gold is not None and gold.value is not None
        else None,
    }


def slim(row: Row) -> dict[str, Any]:
    """Return what a list shows of an attempt."""
    return {name: getattr(row, name) for name in SLIM}


def rows(places: Places) -> list[Row]:
    """Return every attempt; none where no attempt has been made yet."""
    return Index(places.runs).rows() if places.runs.is_dir() else []


def with_state(row: Row, folder: AttemptFolder) -> Row:
    """Return a row with what :func:`~reclaim_nb.record.index.row_of` leaves out: whether a runner is at work."""
    if row.reason is not None or row.imported:
        return row
    if is_held(folder):
        return replace(row, state="running")
    return replace(row, state="dead_runner" if row.problem is None else "unreadable")


def attempt(places: Places, folder: AttemptFolder) -> dict[str, Any]:
    """Return everything about one attempt but its cells' contents, which stand in its notebook."""
    name = folder.path.relative_to(places.runs).as_posix()
    row = with_state(row_of(folder, name), folder)
    ending = ENDINGS.get(row.reason)  # type: ignore[call-overload]
    return {
        "attempt": slim(row),
        "detail": row.detail,
        "ending": ending.text if ending is not None else None,
        "counts": ending.counts if ending is not None else None,
        "hours_unit": row.hours_unit,
        "spec": _spec(folder),
        "paper": _paper_of(folder),
        "verdicts": verdicts(folder),
        "contents_path": places.contents_path(folder),
        "imported": _imported(folder),
        "reexecution": state(folder),
        "stamp": stamp(folder),
    }


def verdicts(folder: AttemptFolder) -> list[dict[str, Any]]:
    """Return the verdicts of an attempt, newest last; one that cannot be read says so."""
    found = []
    for path in sorted(folder.verdicts(), key=lambda path: (path.stat().st_mtime_ns, path.name)):
        try:
            if path.stat().st_size > VERDICT_BYTES:
                raise ValueError(f"larger than {VERDICT_BYTES} bytes")
            document = json.loads(path.read_text("utf-8"))
            if not isinstance(document, dict):
                raise ValueError("not an object")
            found.append({"file": path.name, "problem": None, "verdict": document})
        except (OSError, ValueError) as problem:
            found.append({"file": path.name, "problem": str(problem), "verdict": None})
    return found


def record(folder: AttemptFolder) -> dict[str, Any]:
    """Check a record and return what was found; an imported attempt has none."""
    if not folder.stream.exists():
        return {"state": "none", "events": 0, "head": "", "ended": True, "problems": [], "cells": []}
    check = verify_record(folder)
    cells = sorted({match.group(1) for text in check.problems if (match := CELL_IN_PROBLEM.search(text))})
    return {
        "state": "sound" if check.sound else "broken",
        "events": check.events,
        "head": check.head,
        "ended": check.ended,
        "problems": [text.replace(f"{folder.path}/", "") for text in check.problems[:100]],
        "cells": cells,
    }


def stamp(folder: AttemptFolder) -> str:
    """Return a text that changes whenever something on disk of an attempt does."""
    marks = []
    for path in (folder.stream, folder.notebook, *folder.verdicts()):
        try:
            facts = path.stat()
            marks.append(f"{path.name}:{facts.st_size}:{facts.st_mtime_ns}")
        except OSError:
            continue
    return "|".join(marks)


def kernel_kind(folder: AttemptFolder) -> str:
    """Return where an attempt's cells ran: ``docker`` or ``local``.

    Raises:
        RecordError: when the record does not say.
    """
    try:
        return str(first_event(folder.stream).data["spec"]["kernel"]["kind"])
    except (KeyError, TypeError):
        raise RecordError(f"{folder.path}: the record does not say where its cells ran") from None


def _spec(folder: AttemptFolder) -> dict[str, Any] | None:
    try:
        spec = first_event(folder.stream).data["spec"]
        return {name: value for name, value in spec.items() if name not in ("card", "packages")}
    except (RecordError, OSError, KeyError, TypeError, AttributeError):
        return None


def _paper_of(folder: AttemptFolder) -> dict[str, Any] | None:
    """Return the card that stands in the record, which is what the attempt was made with."""
    try:
        if not folder.stream.exists():
            return read_imported(folder).get("paper")
        spec = first_event(folder.stream).data["spec"]
        recorded = PaperCard.model_validate(spec["card"])
        loaded = LoadedCard(recorded, Path(str(spec["suite"])) / str(spec["paper"]) / "paper.yaml", spec["card_sha256"])
        return {**paper(str(spec["suite"]), loaded), "scale": scale(recorded), "claim": recorded.target.claim}
    except (ReclaimError, OSError, KeyError, TypeError, ValueError):
        return None


def _imported(folder: AttemptFolder) -> dict[str, Any] | None:
    """Return what a record that was made elsewhere says of itself, None where the record is our own."""
    if folder.stream.exists():
        return None
    try:
        document = read_imported(folder)
    except RecordError:
        return None
    return {name: document[name] for name in ("run", "source") if name in document}


def _target_text(card: PaperCard) -> str | None:
    return format_decimal(card.target.value) if card.target.value is not None else card.target.printed


def _number(value: Decimal | None) -> str | None:
    return format_decimal(value) if value is not None else None


def _text_of(rule: Criterion | None, unit: str) -> str | None:
    return rule.as_text(unit) if rule is not None else None


def _band(rule: Criterion | None, unit: str) -> dict[str, Any] | None:
    if rule is None:
        return None
    if rule.needs_baseline:
        return {"low": None, "high": None, "open": True, "text": rule.as_text(unit), "tolerance": None}
    band: Band = rule.band()
    return {
        "low": _number(band.low),
        "high": _number(band.high),
        "open": band.strict,
        "text": rule.as_text(unit),
        "tolerance": _number(band.tolerance),
    }


class Suites:
    """All suites, read again only when one of their files has changed."""

    def __init__(self) -> None:
        self._stamp: tuple[tuple[str, int, int], ...] = ()
        self._found: list[dict[str, Any]] = []

    def get(self) -> list[dict[str, Any]]:
        """Return what :func:`suites` does."""
        marks = []
        for folder in suite_folders():
            for path in (*card_files(folder), folder / MANIFEST):
                try:
                    facts = path.stat()
                    marks.append((str(path), facts.st_size, facts.st_mtime_ns))
                except OSError:
                    continue
        stamp = tuple(marks)
        if stamp != self._stamp:
            self._found, self._stamp = suites(), stamp
        return self._found
