"""The cards against the facts they were typed from, where those lie beside this checkout."""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from card_helpers import ROOT

from reclaim_nb.papers import LoadedCard, load_suite
from reclaim_nb.papers.criterion import Beats, Criterion
from reclaim_nb.papers.loading import read_yaml
from reclaim_nb.papers.totals import band, h100_hours

FACTS = ROOT.parent / "shared" / "suite"
pytestmark = pytest.mark.skipif(not FACTS.is_dir(), reason="the collected facts are not beside this checkout")

HUNDRED = load_suite(ROOT / "papers" / "neurips2025")
MORE = load_suite(ROOT / "papers" / "more")


@cache
def facts(path: Path) -> Any:
    return read_yaml(path)


def _number(value: Any) -> Decimal | None:
    return None if value is None else Decimal(str(value))


def _line(text: str | None) -> str | None:
    return None if text is None else " ".join(text.split())


@pytest.mark.parametrize("loaded", HUNDRED.cards, ids=lambda c: c.card.id)
def test_a_card_of_the_hundred_agrees_with_its_row(loaded: LoadedCard) -> None:
    card = loaded.card
    row = facts(FACTS / "reclaim100" / f"{card.arxiv}.yaml")
    assert (card.id, card.title, list(card.authors)) == (row["slug"], row["title"], row["authors"])
    assert (card.tier, band(card)) == (row["tier"], row["band"])
    hours = h100_hours(card)
    assert hours == (_number(row["need_h100_hours"]) if card.device == "gpu" else 0)
    if card.device == "gpu":
        assert card.budget.hours == row["budget_h100_hours"]
    target = row["target"]
    assert card.target.value == _number(target["value"])
    assert card.target.bar == target["bar"]
    assert card.target.direction == (target["direction"] or "none")
    assert _line(card.target.claim) == _line(row["claim"])
    assert (_line(card.target.scope), _line(card.target.config)) == (_line(target["scope"]), _line(target["config"]))
    assert card.target.unit == target["unit"] or card.id == "eap-fit-hh"
    assert [_line(d) for d in card.doubts] == [_line(d) for d in row["doubts"]]
    assert [_line(c) for c in card.commands] == [_line(c) for c in row["commands"]]
    anchors = {(_line(a["what"]), _number(a["value"])) for a in row["anchors"]}
    assert {(_line(a.what), a.value) for a in card.anchors} <= anchors
    _published(card.criterion, row["criterion"])


def _published(rule: Criterion | None, typed: dict[str, Any]) -> None:
    bounds = (_number(typed["low"]), _number(typed["high"]))
    if rule is None:
        assert bounds == (None, None) and typed["baseline"] is None
        return
    assert rule.rule == typed["rule"]
    assert (getattr(rule, "low", None), getattr(rule, "high", None)) == bounds
    assert _line(rule.basis) == _line(typed["basis"])
    if isinstance(rule, Beats):
        assert rule.baseline.value == _number(typed["baseline"]["value"])
        assert _line(rule.baseline.name) == _line(typed["baseline"]["name"])


@pytest.mark.parametrize("loaded", MORE.cards, ids=lambda c: c.card.id)
def test_a_card_of_the_second_draw_agrees_with_its_facts(loaded: LoadedCard) -> None:
    card = loaded.card
    raw = facts(FACTS / "neurips2025" / f"{card.id}.yaml")
    assert (card.title, list(card.authors)) == (raw["title"], raw["authors"] or [])
    assert (card.tier, card.area, card.arxiv) == (raw["tier"], raw["area"], raw["arxiv"])
    assert (card.checked.confidence, card.provisional) == (
        raw["checked"]["confidence"],
        raw["checked"]["confidence"] == "low",
    )
    assert card.target.value == _number(raw["target"]["value"])
    assert card.budget.hours == _number(raw["budget"]["gpu_hours"])
    assert len(card.sources) == len(raw["sources"])
    assert [_line(p) for p in card.pitfalls] == [_line(p) for p in raw["pitfalls"]]
    tolerance, rule = raw["success"].get("tolerance"), card.criterion
    assert rule is not None and rule.rule == raw["success"]["rule"].removesuffix("-baseline").replace("-", "_")
    if tolerance:
        assert card.target.value is not None
        room = _number(tolerance["value"])
        assert room is not None
        if tolerance["kind"] == "relative":
            room *= abs(card.target.value)
        bounds = {b for b in (getattr(rule, "low", None), getattr(rule, "high", None)) if b is not None}
        assert bounds <= {card.target.value - room, card.target.value + room}
