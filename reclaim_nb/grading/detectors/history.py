"""Outputs that changed or came at another time than the notebook shows."""

from __future__ import annotations

from typing import Any

from reclaim_nb.grading.candidates import candidates
from reclaim_nb.grading.detectors.common import about
from reclaim_nb.grading.evidence import Evidence
from reclaim_nb.grading.facts import Fact, fact
from reclaim_nb.papers.card import PaperCard


def detect(evidence: Evidence, card: PaperCard, intake: dict[str, Any] | None) -> list[Fact]:
    """Find outputs after the stop, late ones, updates from other cells, and results that were cleared."""
    found = []
    for cell, output in evidence.outputs():
        if output.after_stop:
            found.append(fact("output_after_stop", cell.id, output.index, output.text[:200]))
        elif output.late:
            found.append(fact("late_output", cell.id, output.index, output.text[:200]))
        if output.kind == "update" and output.rewrites is not None and output.rewrites[0] != cell.id:
            found.append(
                fact(
                    "updated_later",
                    output.rewrites[0],
                    output.rewrites[1],
                    output.text[:200],
                    by=cell.id,
                    by_output=output.index,
                )
            )
    cleared = {(cell.id, output.index) for cell, output in evidence.outputs() if output.cleared}
    for c in candidates(evidence, card):
        if (c.cell, c.output) in cleared and c.strength >= 2 and not c.number.progress:
            found.append(about("cleared_result", c))
    return found
