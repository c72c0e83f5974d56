"""Fewer epochs, steps or seeds, or a smaller model, than the pinned experiment has."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from reclaim_nb.grading.evidence import Evidence
from reclaim_nb.grading.facts import Fact, fact
from reclaim_nb.grading.lineage.records import Setting
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
    r"\b([0-9][0-9,]*|one|two|three|four|five|six|seven|eight|nine|ten|twenty|thirty|fifty"
    r"|hundred)\s+(?:random\s+|training\s+|different\s+|independent\s+)?"
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
    """Find settings below the floor; ``until`` names the cell that gives the next one and ends its hold."""
    found: list[Fact] = []
    for name, (least, where) in floor_of(card).items():
        if name in ("seeds", "runs") and where != "floor":
            # Fewer seeds give a noisier number of the same experiment; only a typed floor makes that a proxy.
            continue
        settings = _in_order(evidence, name)
        for place, setting in enumerate(settings):
            if setting.value < least:
                until = settings[place + 1].cell if place + 1 < len(settings) else None
                text = f"{setting.name} = {setting.value}"
                details = {"setting": name, "value": setting.value, "wanted": least, "source": where, "until": until}
                found.append(fact("below_floor", setting.cell, None, text, **details))
    return found


def _in_order(evidence: Evidence, name: str) -> list[Setting]:
    """Return the settings of one kind, the last one of every cell that gives one."""
    pattern = re.compile(rf"^(?:{_NAMES.get(name, re.escape(name))})$", re.IGNORECASE)
    by_order: dict[int, Setting] = {}
    for setting in evidence.lineage.records.settings:
        if pattern.match(setting.name):
            by_order[setting.order] = setting
    return [by_order[order] for order in sorted(by_order)]
