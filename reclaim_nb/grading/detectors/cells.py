"""Cells that did not run to their end, and records with holes."""

from __future__ import annotations

from typing import Any

from reclaim_nb.grading.evidence import Evidence
from reclaim_nb.grading.facts import Fact, fact
from reclaim_nb.papers.card import PaperCard


def detect(evidence: Evidence, card: PaperCard, intake: dict[str, Any] | None) -> list[Fact]:
    """Find cells that were killed, stopped, never run, ended by a quiet exit, or whose messages have gaps."""
    found = []
    for cell in evidence.cells:
        if cell.author == "harness":
            continue
        if cell.status in ("killed", "timeout", "interrupted"):
            found.append(fact("dead_cell", cell.id, None, cell.source[:200], status=cell.status, detail=cell.detail))
        elif cell.status == "not_run":
            found.append(fact("not_run_cell", cell.id, None, cell.source[:200]))
        if cell.executed and (cell.gaps > 0 or not cell.idle):
            found.append(fact("message_loss", cell.id, None, cell.source[:200], gaps=cell.gaps, idle=cell.idle))
        for output in cell.outputs:
            if output.kind == "error" and output.name == "SystemExit":
                found.append(fact("quiet_exit", cell.id, output.index, output.text[-200:]))
            if output.kind == "log":
                found.append(fact("container_log", cell.id, output.index, output.text[:200]))
    return found
