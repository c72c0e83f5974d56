"""Measured on another split than the card asks for."""

from __future__ import annotations

from typing import Any

from reclaim_nb.grading.candidates import candidates
from reclaim_nb.grading.detectors.common import about
from reclaim_nb.grading.evidence import Evidence
from reclaim_nb.grading.facts import Fact
from reclaim_nb.grading.vocabulary import target_words
from reclaim_nb.papers.card import PaperCard


def detect(evidence: Evidence, card: PaperCard, intake: dict[str, Any] | None) -> list[Fact]:
    """Find numbers named or made on another split: by their label, or by the data in their lineage."""
    wanted = target_words(card).split
    if wanted is None:
        return []
    found = []
    for c in candidates(evidence, card):
        if "reference" in c.against or (c.strength < 2 and not c.matches and c.number.split is None):
            continue
        if c.number.split is not None and c.number.split != wanted:
            found.append(about("wrong_split", c, split=c.number.split, wanted=wanted, read_in="label"))
            continue
        marks = c.origin.flow.marks if c.origin.matched else frozenset()
        splits = {mark.split(":", 1)[1] for mark in marks if mark.startswith("split:")}
        named = {mark.split(":", 1)[1] for mark in marks if mark.startswith("name:")}
        known = splits & {"train", "val", "test"}
        if known and wanted not in splits and not (wanted in named and wanted not in known and len(known) == 0):
            if wanted in named and not _only_constant(splits, wanted):
                continue
            found.append(about("wrong_split", c, split=", ".join(sorted(known)), wanted=wanted, read_in="lineage"))
    return found


def _only_constant(splits: set[str], wanted: str) -> bool:
    return wanted not in splits and len(splits) == 1
