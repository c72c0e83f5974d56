"""The best of several runs shown where the card asks for all of them."""

from __future__ import annotations

from typing import Any

from reclaim_nb.grading.candidates import candidates
from reclaim_nb.grading.detectors.common import about
from reclaim_nb.grading.evidence import Evidence
from reclaim_nb.grading.facts import Fact
from reclaim_nb.grading.resolver import is_selected
from reclaim_nb.papers.card import PaperCard


def detect(evidence: Evidence, card: PaperCard, intake: dict[str, Any] | None) -> list[Fact]:
    """Find numbers that are a best-of, by the code that makes them or by their label."""
    found = []
    for c in candidates(evidence, card):
        if c.strength >= 2 and not set(c.against) & {"reference", "rival", "scene"} and is_selected(card, c):
            found.append(about("selected_on_test", c))
    return found
