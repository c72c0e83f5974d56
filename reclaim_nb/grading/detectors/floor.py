"""Fewer epochs, steps or seeds, or a smaller model, than the pinned experiment has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from reclaim_nb.grading.evidence import Evidence
from reclaim_nb.grading.facts import Fact, fact
from reclaim_nb.papers.card import PaperCard

_NAMES: dict[str, str] = {
    "epochs": r"(?:n_?|num_?|max_?|total_?|train_?|training_?|nb_?)*epochs?|epoch_count|ne",
    "steps": r"(?:n_?|num_?|max_?|total_?|train_?|training_?)*(?:steps?|iters?|iterations?|updates)",
    "seeds": r"(?:n_?|num_?)*seeds|(?:n_?|num_?)(?:runs|repeats|repetitions|restarts)",
    "runs": r"(?:n_?|num_?)*(?:runs|repeats|repetitions)",
    "splits": r"(?:n_?|num_?)*splits",
    "trees": r"n_estimators|(?:n_?|num_?)trees",
    "layers": r"(?:n_?|num_?)(?:hidden_?)?layers|depth",
    "width": r"width(?:_mult(?:iplier)?)?",
    "params": r"(?:n_?|num_?)?param(?:eter)?s",
    "resolution": r"(?:img|image|input)_?(?:size|res(?:olution)?)|resolution",
}
_IN_TEXT = re.compile(
    r"\b([0-9][0-9,]*|one|two|three|four|five|six|seven|eight|nine|ten|twenty|thirty|fifty|hundred)\s+(?:random\s+|training\s+|different\s+|independent\s+)?"
    r"(epochs|steps|iterations|seeds|runs|trees)\b",
    re.IGNORECASE,
)
_WORDS = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "twenty": 20,
    "thirty": 30,
    "fifty": 50,
    "hundred": 100,
}


def floor_of(card: PaperCard) -> dict[str, tuple[Decimal, str]]:
    """Return what a run must have at least, by name: (number, where the card says it)."""
    floor: dict[str, tuple[Decimal, str]] = {}
    typed = getattr(card.target, "floor", None) or {}
    for name, value in dict(typed).items():
        floor[str(name)] = (Decimal(str(value)), "floor")
    for where, text in (("config", card.target.config), ("claim", card.target.claim), ("scope", card.target.scope)):
        for match in _IN_TEXT.finditer(text or ""):
            name = {"iterations": "steps"}.get(match[2].lower(), match[2].lower())
            number = _WORDS.get(match[1].lower())
            floor.setdefault(name, (Decimal(number if number is not None else match[1].replace(",", "")), where))
    if card.target.seeds is not None:
        floor.setdefault("seeds", (Decimal(card.target.seeds), "seeds"))
    return floor


def detect(evidence: Evidence, card: PaperCard, intake: dict[str, Any] | None) -> list[Fact]:
    """Find settings below the floor; the last one given before a cell is what counts for it."""
    found = []
    for name, (least, where) in floor_of(card).items():
        if name in ("seeds", "runs") and where != "floor":
            # Fewer seeds give a noisier number of the same experiment; only a typed floor makes that a proxy.
            continue
        for setting, previous in _effective(evidence, name):
            if setting.value < least:
                text = f"{setting.name} = {setting.value}"
                found.append(
                    fact(
                        "below_floor",
                        setting.cell,
                        None,
                        text,
                        setting=name,
                        value=setting.value,
                        wanted=least,
                        from_=where,
                        order=setting.order,
                        before=previous,
                    )
                )
    return found


def _effective(evidence: Evidence, name: str) -> Iterator[tuple[Any, str | None]]:
    """Yield the settings of one kind that are in force at the end of the cell they are given in."""
    pattern = re.compile(rf"^(?:{_NAMES.get(name, re.escape(name))})$", re.IGNORECASE)
    by_order: dict[int, Any] = {}
    for setting in evidence.lineage.records.settings:
        if pattern.match(setting.name):
            by_order[setting.order] = setting
    previous: str | None = None
    for order in sorted(by_order):
        yield by_order[order], previous
        previous = str(by_order[order].value)
