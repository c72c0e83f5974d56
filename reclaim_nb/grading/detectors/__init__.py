"""Detectors: each sees one kind of thing in the evidence and says where. A fact is never a label.

A detector is a function ``detect(evidence, card, intake) -> list[Fact]``. The built-in ones are listed here; others are
found through the entry point group ``reclaim_nb.detectors``.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from reclaim_nb.errors import ReclaimError
from reclaim_nb.grading.evidence import Evidence
from reclaim_nb.grading.facts import Fact
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.plugins import registered

Detector = Callable[[Evidence, PaperCard, dict[str, Any] | None], list[Fact]]

GROUP = "reclaim_nb.detectors"

BUILTIN = (
    "literals",
    "shipped",
    "data",
    "hooks",
    "patches",
    "fetched",
    "history",
    "cells",
    "stripped",
    "markup",
    "judge",
    "failures",
    "launched",
    "claims",
    "split",
    "subset",
    "average",
    "selection",
    "floor",
    "siblings",
    "artefact",
    "anchors",
    "effort",
    "declared",
)


def load_detectors() -> dict[str, Detector]:
    """Return all detectors by name, built-in ones first.

    Raises:
        ReclaimError: when one that another package registers cannot be imported.
    """
    found: dict[str, Detector] = {
        name: import_module(f"reclaim_nb.grading.detectors.{name}").detect for name in BUILTIN
    }
    for entry in registered(GROUP):
        try:
            found[entry.name] = entry.load()
        except (ImportError, AttributeError) as problem:
            raise ReclaimError(f"detector '{entry.name}' ({entry.value}) cannot be loaded: {problem}") from problem
    return found


def detect_all(evidence: Evidence, card: PaperCard, intake: dict[str, Any] | None = None) -> list[Fact]:
    """Return the facts of all detectors, in the order of the detectors and then of the evidence."""
    facts: list[Fact] = []
    for detector in load_detectors().values():
        facts.extend(detector(evidence, card, intake))
    unique = {fact.model_dump_json(): fact for fact in facts}
    return list(unique.values())
