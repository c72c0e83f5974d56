"""Entering a gold run onto a card, with its comments and order kept, and calling the card broken where it must be."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from reclaim_nb.errors import CardError, FetchError
from reclaim_nb.papers.card import Gold, PaperCard
from reclaim_nb.papers.criterion import Beats
from reclaim_nb.papers.fetch_cache import write_text
from reclaim_nb.papers.loading import LoadedCard, read_yaml, validate
from reclaim_nb.papers.numbers import format_decimal
from reclaim_nb.papers.suite import MANIFEST, dump_yaml, write_manifest

_AFTER_GOLD = ("audit", "doubts", "pitfalls", "checked", "sources", "links", "notes")
"""The keys that follow ``gold`` on a card."""


@dataclass(frozen=True)
class Entered:
    """What became of a card.

    Attributes:
        path: the file that was written.
        broken: why the card is broken now; None: the gold run meets the published bar, or there is none.
    """

    path: Path
    broken: str | None


def outside_the_bar(card: PaperCard, gold: Gold) -> str | None:
    """Say why a gold run breaks its card, None where it meets the published bar or there is nothing to compare."""
    rule = card.criterion
    if gold.value is None or rule is None or (isinstance(rule, Beats) and rule.needs_baseline):
        return None
    if rule.decide(gold.value).place == "inside":
        return None
    unit = "" if card.target.unit == "none" else f" {card.target.unit}"
    return (
        f"The gold run gives {format_decimal(gold.value)}{unit}, outside the published bar "
        f"({rule.as_text(card.target.unit)}): by this route the target cannot be met."
    )


def enter_gold(loaded: LoadedCard, gold: Gold, *, replace: bool = False) -> Entered:
    """Write a gold run onto its card, and the card's new hash into the suite's manifest.

    Args:
        loaded: the card.
        gold: what came out.
        replace: put it in the place of one that is there.

    Raises:
        CardError: the card has a gold run already, or its file cannot be written; nothing of it has then changed.
    """
    card = loaded.card
    refuse_frozen(loaded)
    if card.gold is not None and not replace:
        raise CardError(f"{loaded.path}: the card has a gold run already; take another one's place with --replace")
    text = loaded.path.read_text("utf-8")
    text = _with_block(text, "gold", dump_yaml({"gold": gold_document(gold)}), _AFTER_GOLD)
    broken = outside_the_bar(card, gold)
    if broken is not None:
        reasons = [one for one in card.audit.reasons if not one.startswith("The gold run gives ")]
        audit = {"state": "broken", "reasons": [broken, *reasons]}
        text = _with_block(text, "audit", dump_yaml({"audit": audit}), _AFTER_GOLD[1:])
    elif card.audit.state == "broken" and card.audit.reasons and all(map(_of_gold, card.audit.reasons)):
        text = _with_block(text, "audit", dump_yaml({"audit": {"state": "sound"}}), _AFTER_GOLD[1:])
    content = text.encode("utf-8")
    validate(PaperCard, read_yaml(loaded.path, content), loaded.path)  # what cannot be read again is not written
    try:
        write_text(loaded.path, text)
        suite = loaded.folder.parent if loaded.path.name == "paper.yaml" else loaded.folder
        if (suite / MANIFEST).is_file():
            write_manifest(suite)
    except (FetchError, OSError) as problem:
        raise CardError(f"{loaded.path}: cannot be written: {problem}; write the record elsewhere with --out") from None
    return Entered(loaded.path, broken)


def refuse_frozen(loaded: LoadedCard) -> None:
    """Refuse to enter anything on the card of a frozen suite.

    Raises:
        CardError: it is one.
    """
    if loaded.frozen is not None:
        version = loaded.frozen.version
        raise CardError(
            f"{loaded.path}: the suite is frozen (version {version}), so nothing is entered on its cards; "
            "write the record elsewhere with --out"
        )


def gold_document(gold: Gold) -> dict[str, Any]:
    """Return a gold run as it stands on a card: what is empty is left out."""
    return {name: value for name, value in gold.model_dump(mode="python").items() if value not in (None, (), [])} | (
        {"packages": list(gold.packages)} if gold.packages else {}
    )


def _of_gold(reason: str) -> bool:
    return reason.startswith("The gold run gives ")


def _with_block(text: str, key: str, block: str, before: tuple[str, ...]) -> str:
    """Return a card's text with a top-level key replaced, or put before the first of the keys that follow it."""
    assert key in yaml.safe_load(block)
    lines = text.splitlines(keepends=True)
    begin = _line_of(lines, key)
    if begin is not None:
        end = begin + 1
        while end < len(lines) and (lines[end][0] in " -" or not lines[end].strip()):
            end += 1
        while not lines[end - 1].strip():
            end -= 1
        return "".join([*lines[:begin], block, *lines[end:]])
    following = [place for name in before if (place := _line_of(lines, name)) is not None]
    place = min(following, default=len(lines))
    head = "".join(lines[:place])
    if head and not head.endswith("\n"):
        head += "\n"
    gap_before = "" if head.endswith("\n\n") or key != "gold" else "\n"
    gap_after = "\n" if following and key == "gold" else ""
    return head + gap_before + block + gap_after + "".join(lines[place:])


def _line_of(lines: list[str], key: str) -> int | None:
    return next((index for index, line in enumerate(lines) if re.match(rf"{key}\s*:", line)), None)
