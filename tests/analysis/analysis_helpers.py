"""Attempt folders written without a kernel, in the record's own form, and the small release that is committed."""

from __future__ import annotations

import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

from reclaim_nb.attempts.prepare import agent_label, card_json
from reclaim_nb.papers.suite import find_paper
from reclaim_nb.record.events import GENESIS, encode, line_hash
from reclaim_nb.record.folder import AttemptFolder, repeat_name, safe_name

RELEASE = Path(__file__).parent / "data" / "release"
PUBLISHED = Path(__file__).resolve().parents[3] / "shared" / "published" / "runs.csv"
RELEASES: dict[str, dict[str, Any]] = {
    "run": {"code": {}, "data": [{"name": "d"}], "weights": {}},
    "retrain": {"code": {}, "data": [{"name": "d"}], "weights": None},
    "reimplement": {"code": None, "data": [], "weights": None},
}
_BEGAN = "2026-01-05T10:{:02d}:{:02d}.000000Z"


def card(slug: str = "toy", tier: str = "retrain", **changes: Any) -> dict[str, Any]:
    """Return the JSON of a valid card: that of a small paper with another id and release."""
    document = json.loads(json.dumps(card_json(find_paper("small/iforest-breastw"))))
    return document | {"id": slug, "title": f"Paper {slug}", "release": RELEASES[tier]} | changes


def write_attempt(
    runs: Path,
    paper: dict[str, Any],
    agent: str = "replay",
    *,
    tier: str = "retrain",
    batch: str = "b",
    suite: str = "toys",
    model: str | None = None,
    conditions: tuple[str, ...] = (),
    repeat: int = 1,
    again: int = 1,
    reason: str | None = "submitted",
    submitted: str | None = None,
    hours: str = "0.01",
    budget: str = "0.05",
    cells: int = 3,
    outcome: str | None = None,
    unsandboxed: bool = False,
    usage: dict[str, Any] | None = None,
    **verdict: Any,
) -> AttemptFolder:
    """Write one attempt: chained stream, and a verdict when there is an outcome.

    Args:
        paper: the card.
        reason: end reason; None: the attempt has not ended.
        cells: code cells, which share the hours.
        verdict: further fields of the verdict.
    """
    label = agent_label(agent, model, conditions)
    parts = [safe_name(part) for part in (batch, suite, paper["id"], label)]
    folder = AttemptFolder(runs.joinpath(*parts, repeat_name(repeat, again)))
    folder.path.mkdir(parents=True)
    spec = {
        "id": os.urandom(6).hex(),
        "batch": batch,
        "suite": suite,
        "paper": paper["id"],
        "title": paper["title"],
        "tier": tier,
        "device": "cpu",
        "repeat": repeat,
        "again": again,
        "card_sha256": line_hash(json.dumps(paper, sort_keys=True).encode()),
        "card": paper,
        "agent": {"name": agent, "model": model, "options": {}},
        "kernel": {"kind": "local" if unsandboxed else "docker", "unsandboxed": unsandboxed, "network": "none"},
        "limits": {"budget_hours": budget},
        "conditions": list(conditions),
    }
    events: list[tuple[str, dict[str, Any]]] = [("attempt", {"schema": 1, "spec": spec})]
    step = Decimal(hours) / max(cells, 1)
    for number in range(cells):
        cell = f"c{number}"
        source = {"cell": cell, "cell_type": "code", "author": "agent", "turn": number + 1, "source": "print(1)"}
        events.append(("cell", source | {"metadata": {}}))
        events.append(("execute", {"cell": cell, "msg_id": f"m{number}"}))
        content = {"name": "stdout", "text": '{"kind":"cell_end"} is only printed here\n'}
        events.append(("message", {"cell": cell, "channel": "iopub", "msg_type": "stream", "content": content}))
        if number == 0:
            events.append(("tool", {"name": "check_anchor", "arguments": {}, "result": {}, "cell": cell}))
        end = {
            "cell": cell,
            "status": "ok",
            "started": _BEGAN.format(number % 60, 1),
            "ended": _BEGAN.format(number % 60, 31),
        }
        end |= {"held_seconds": 30.0, "charged_seconds": 30.0, "messages": 4, "gaps": 0}
        events.append(("cell_end", end | {"meter": {"hours": str(step * (number + 1))}}))
    if reason is not None:
        spent = {"hours": hours, "wall_clock_seconds": 60.0, "held_seconds": 30.0, "charged_seconds": 30.0}
        spent |= {"turns": cells, "tokens": 1000, "usd": None} | (usage or {})
        submission = None if submitted is None else {"value": submitted, "cell": None, "note": ""}
        events.append(("end", {"reason": reason, "detail": None, "usage": spent, "submission": submission}))
    previous, lines = GENESIS, []
    for seq, (kind, data) in enumerate(events):
        line = encode(seq, _BEGAN.format(min(59, seq // 60), seq % 60), previous, kind, data)
        previous = line_hash(line)
        lines.append(line)
    folder.stream.write_bytes(b"\n".join(lines) + b"\n")
    if outcome is not None:
        write_verdict(folder, outcome, **verdict)
    return folder


def write_verdict(
    folder: AttemptFolder, outcome: str, grader: str = "rules", cause: str | None = None, **more: Any
) -> Path:
    """Write a verdict with the fields that frames read."""
    path = folder.path / f"verdict.{grader}.json"
    document = {"schema": 1, "grader": grader, "outcome": outcome, "cause": cause, "contributing": [], "flags": []}
    path.write_text(json.dumps(document | more), encoding="utf-8")
    return path
