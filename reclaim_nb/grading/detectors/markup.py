"""Text inside HTML that a reader does not see."""

from __future__ import annotations

from typing import Any

from reclaim_nb.grading.evidence import Evidence
from reclaim_nb.grading.facts import Fact, fact
from reclaim_nb.papers.card import PaperCard


def detect(evidence: Evidence, card: PaperCard, intake: dict[str, Any] | None) -> list[Fact]:
    """Find outputs that carry hidden words; styles and scripts that libraries put in say nothing and do not count."""
    found = []
    for cell, output in evidence.outputs():
        if len(output.hidden) > 8 and any(c.isalpha() for c in output.hidden):
            found.append(fact("hidden_html", cell.id, output.index, output.hidden))
    return found
