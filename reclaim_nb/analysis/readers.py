"""What the frames need of each attempt beyond its index row: read once from its files, then kept in the index."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from reclaim_nb.analysis.importing import BUNDLE
from reclaim_nb.analysis.places import claim_of
from reclaim_nb.errors import RecordError
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.record.clock import seconds_between
from reclaim_nb.record.events import Event, decode
from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.record.index import Derived, read_imported, read_verdict_file
from reclaim_nb.record.reader import check_is_file, first_event, last_event
from reclaim_nb.record.stamps import IMPORTED

_HEAD = re.compile(rb'\{"seq":\d+,"time":"[^"]*","prev":"[0-9a-f]{64}","kind":"([a-z_]+)"')
_WANTED = frozenset({b"attempt", b"cell", b"cell_end", b"tool"})

FACTS = (
    *("model", "conditions", "network", "card_sha256", "arxiv", "area", "band", "need_hours", "card_budget_hours"),
    *("audit", "provisional", "anchors", "strict", "card_problem", "claim", "card_path", "frozen"),
    *("wall_clock_seconds", "held_seconds", "charged_seconds", "turns", "tokens", "usd"),
)
CELLS = (
    *("cell", "position", "cell_type", "author", "turn", "status", "started", "ended", "at_seconds", "held_seconds"),
    *("charged_seconds", "hours", "messages", "gaps", "source_chars", "anchors", "submits"),
)
VERDICTS = (
    *("file", "grader", "grader_version", "model", "outcome", "cause", "contributing", "value", "place"),
    *("strict_place", "tolerances", "self_report", "flags", "score", "mode", "written", "problem"),
)


def _facts(folder: AttemptFolder) -> Iterator[tuple[Any, ...]]:
    if _is_imported(folder):
        given = read_imported(folder)
        facts = {**given.get("facts", {}), "model": given["row"].get("model")}
        yield tuple(_plain(facts.get(name)) for name in FACTS)
        return
    first = first_event(folder.stream).data
    spec, card = first["spec"], first["spec"]["card"]
    last = last_event(folder.stream)
    end = last.data if last is not None and last.kind == "end" else {}
    usage = end.get("usage") or {}
    read = read_card(json.dumps(card, sort_keys=True))
    facts = {
        "model": spec["agent"].get("model"),
        "conditions": "+".join(sorted(spec.get("conditions") or ())),
        "network": spec["kernel"].get("network"),
        "card_sha256": spec.get("card_sha256"),
        "arxiv": card.get("arxiv"),
        "area": card.get("area"),
        "need_hours": (card.get("need") or {}).get("hours"),
        "card_budget_hours": (card.get("budget") or {}).get("hours"),
        "audit": (card.get("audit") or {}).get("state"),
        "provisional": (card.get("checked") or {}).get("confidence") == "low",
        "anchors": len(card.get("anchors") or ()),
        "strict": card.get("strict") is not None,
        "card_problem": read if isinstance(read, str) else None,
        "card_path": first.get("card_path"),
        "frozen": (spec.get("frozen") or {}).get("version"),
        "claim": None if isinstance(read, str) else claim_of(read, end.get("submission")),
        **{name: usage.get(name) for name in ("wall_clock_seconds", "held_seconds", "charged_seconds")},
        **{name: usage.get(name) for name in ("turns", "tokens", "usd")},
    }
    yield tuple(_plain(facts.get(name)) for name in FACTS)


@lru_cache(maxsize=1024)
def read_card(text: str) -> PaperCard | str:
    """Return the card of a record, or why it is none; the same few cards stand in thousands of records."""
    try:
        return PaperCard.model_validate_json(text)
    except ValidationError as problem:
        return str(problem).splitlines()[0]


def _cells(folder: AttemptFolder) -> Iterator[tuple[Any, ...]]:
    for cell in _calls(folder) if _is_imported(folder) else _recorded_cells(folder):
        yield tuple(_plain(cell.get(name)) for name in CELLS)


def _recorded_cells(folder: AttemptFolder) -> list[dict[str, Any]]:
    cells: dict[str, dict[str, Any]] = {}
    began = None
    for event in _events(folder):
        data = event.data
        if event.kind == "attempt":
            began = event.time
        elif event.kind == "cell":
            source = data.get("source")
            cells[str(data["cell"])] = {
                **{name: data.get(name) for name in ("cell", "cell_type", "author", "turn")},
                "position": len(cells),
                "source_chars": len(source) if isinstance(source, str) else None,
                "anchors": 0,
                "submits": 0,
            }
        elif (cell := cells.get(str(data.get("cell")))) is not None:
            if event.kind == "cell_end":
                names = ("status", "started", "ended", "held_seconds", "charged_seconds", "messages", "gaps")
                cell |= {name: data.get(name) for name in names}
                cell["hours"] = (data.get("meter") or {}).get("hours")
                if began is not None and data.get("started"):
                    cell["at_seconds"] = seconds_between(began, data["started"])
            elif data.get("name") == "check_anchor":
                cell["anchors"] += 1
            elif data.get("name") == "submit":
                cell["submits"] += 1
    return list(cells.values())


def _events(folder: AttemptFolder) -> Iterator[Event]:
    """Yield the few events that make up cells; the messages between them are passed over without being read."""
    check_is_file(folder.stream)
    with open(folder.stream, "rb") as file:
        for line in file:
            head = _HEAD.match(line)
            if head is None or head[1] not in _WANTED:
                continue
            try:
                yield decode(line)
            except ValueError:
                continue  # what a dying runner left


def _calls(folder: AttemptFolder) -> Iterator[dict[str, Any]]:
    """Yield the tool calls of an imported run as if each were a cell."""
    path = folder.path / BUNDLE
    if not path.exists():
        return
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            events = json.load(file).get("events") or []
    except (EOFError, zlib.error) as problem:
        raise ValueError(f"{path}: not a whole bundle") from problem
    open_calls: list[dict[str, Any]] = []
    at = hours = 0.0
    number = 0
    for event in events:
        kind = event.get("kind")
        if kind == "call_start":
            text = event.get("command") or json.dumps(event.get("args") or {})
            open_calls.append(
                {
                    "cell": f"call-{number}",
                    "position": number,
                    "cell_type": "code",
                    "author": "agent",
                    "turn": event.get("round_index"),
                    "source_chars": len(str(text)),
                    "submits": int(event.get("tool_name") in ("finish", "submit", "final_report")),
                    "anchors": 0,
                }
            )
            number += 1
        elif kind == "call_result" and open_calls:
            call = open_calls.pop(0)
            seconds, cost = float(event.get("duration_s") or 0), float(event.get("cost_h100") or 0)
            failed = event.get("ok") is False or event.get("rc") not in (None, 0)
            hours += cost
            yield call | {
                "status": "error" if failed else "ok",
                "at_seconds": at,
                "held_seconds": seconds,
                "charged_seconds": cost * 3600,
                "hours": hours,
            }
            at += seconds
    for call in open_calls:
        yield call | {"status": "not_run", "at_seconds": at}


def _verdicts(folder: AttemptFolder) -> Iterator[tuple[Any, ...]]:
    for path in folder.verdicts():
        try:
            verdict = read_verdict_file(path)
            report = verdict.get("self_report")
            facts = {
                **{name: verdict.get(name) for name in VERDICTS},
                "contributing": "+".join(map(str, verdict.get("contributing") or ())),
                "flags": ";".join(map(str, verdict.get("flags") or ())),
                "self_report": report.get("outcome") if isinstance(report, dict) else None,
                "written": path.stat().st_mtime_ns,
                "problem": None,
            }
        except (RecordError, OSError) as problem:
            facts = {**dict.fromkeys(VERDICTS), "problem": str(problem)}
        facts["file"] = path.name
        yield tuple(_plain(facts[name]) for name in VERDICTS)


def _is_imported(folder: AttemptFolder) -> bool:
    return not folder.stream.exists() and (folder.path / IMPORTED).exists()


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float) else json.dumps(value)


FACTS_TABLE = Derived("facts", 3, FACTS, "record", _facts)
CELLS_TABLE = Derived("cells", 1, CELLS, "record", _cells)
VERDICTS_TABLE = Derived("verdicts", 2, VERDICTS, "verdicts", _verdicts)
