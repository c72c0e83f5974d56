"""Gold runs: entering one onto a card with all else kept, and replaying a reference notebook for one."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from cli_helpers import Call, write_notebook

from reclaim_nb.errors import CardError
from reclaim_nb.papers.card import Gold
from reclaim_nb.papers.check import check_path
from reclaim_nb.papers.gold import enter_gold, outside_the_bar
from reclaim_nb.papers.loading import LoadedCard, load_card
from reclaim_nb.papers.suite import find_paper, write_manifest

CARD = """\
schema: 1
id: toy
title: A toy   # a remark that stays
release:
  code: null
  data: [{name: toy data}]
  weights: null
device: cpu
target:
  claim: Adding two and two gives 4.
  metric: sum
  value: 4
  unit: count
  direction: higher
  baseline: {name: none, value: 0}
# the published bar
criterion: {rule: within, low: 3.9, high: 4.1, basis: plus or minus 0.1}
need: {hours: 0.01}
budget: {hours: 0.5, rationale: plenty}

audit: {state: sound}
doubts:
- none worth the name
"""
GOLD = Gold(value=Decimal("4.00"), route="add.ipynb", device="one CPU core", seconds=Decimal("2.5"), date="2026-01-02")


@pytest.fixture
def card(tmp_path: Path) -> LoadedCard:
    path = tmp_path / "tiny" / "toy" / "paper.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(CARD)
    write_manifest(tmp_path / "tiny")
    return load_card(path)


class TestEntering:
    def test_all_else_stays_as_it_was(self, card: LoadedCard) -> None:
        assert enter_gold(card, GOLD).broken is None
        text = card.path.read_text()
        head, _, tail = CARD.partition("audit:")
        assert text.startswith(head)
        assert text.endswith(f"audit:{tail}")
        assert load_card(card.path).card.gold == GOLD
        assert "value: 4.00\n" in text, "digits stay as they were"

    def test_the_manifest_follows(self, card: LoadedCard) -> None:
        enter_gold(card, GOLD)
        assert not find_paper(str(card.path)).changed
        assert [one for one in check_path(card.path.parent.parent) if one.level == "error"] == []

    def test_outside_the_bar_the_card_is_broken(self, card: LoadedCard) -> None:
        bad = GOLD.model_copy(update={"value": Decimal("3.2")})
        broken = enter_gold(card, bad).broken
        assert broken is not None
        assert "gives 3.2" in broken
        now = load_card(card.path).card
        assert (now.audit.state, now.audit.reasons) == ("broken", (broken,))
        assert now.doubts == ("none worth the name",)
        assert [one for one in check_path(card.path.parent.parent) if one.level == "error"] == []

    def test_one_that_is_there_is_not_lost_by_mistake(self, card: LoadedCard) -> None:
        enter_gold(card, GOLD)
        before = card.path.read_text()
        with pytest.raises(CardError, match="--replace"):
            enter_gold(load_card(card.path), GOLD)
        assert card.path.read_text() == before

    def test_a_better_one_mends_what_the_worse_one_broke(self, card: LoadedCard) -> None:
        enter_gold(card, GOLD.model_copy(update={"value": Decimal("3.2")}))
        enter_gold(load_card(card.path), GOLD, replace=True)
        now = load_card(card.path).card
        assert (now.gold, now.audit.state) == (GOLD, "sound")
        assert card.path.read_text().count("gold:") == 1

    def test_other_reasons_stay(self, card: LoadedCard) -> None:
        card.path.write_text(CARD.replace("{state: sound}", "\n  state: doubtful\n  reasons:\n  - a reason"))
        enter_gold(load_card(card.path), GOLD.model_copy(update={"value": Decimal("3.2")}))
        assert load_card(card.path).card.audit.reasons[1:] == ("a reason",)

    def test_no_value_breaks_nothing(self, card: LoadedCard) -> None:
        assert outside_the_bar(card.card, GOLD.model_copy(update={"value": None})) is None


class TestReplaying:
    def notebook(self, folder: Path, value: str) -> Path:
        path = folder / "add.ipynb"
        write_notebook(path, f"total = {value}\nprint('sum', total)", "attempt.submit(total)")
        return path

    def test_writes_what_came_out(self, card: LoadedCard, tmp_path: Path, reclaim: Call) -> None:
        notebook = self.notebook(tmp_path, "2 + 2")
        runs = tmp_path / "runs"
        ran = reclaim(
            *("papers", "gold", card.path.parent, "--from", notebook, "--kernel", "local", "--runs", runs),
            *("--repeats", 2, "--json"),
        )
        assert ran.code == 0, ran.err
        assert ran.json["broken"] is None
        found = load_card(card.path).card.gold
        assert found is not None
        assert (found.value, found.spread, found.seeds) == (Decimal(4), "none over 2 runs", 2)
        assert found.route.startswith("add.ipynb (sha256 ")
        assert "in a plain process" in (found.note or "")
        assert found.seconds is not None
        assert len(list(runs.glob("gold/tiny/toy/replay/*/attempt.ipynb"))) == 2

    def test_beside_the_card(self, card: LoadedCard, tmp_path: Path, reclaim: Call) -> None:
        notebook = self.notebook(tmp_path, "2 + 3")
        ran = reclaim(
            *("papers", "gold", card.path.parent, "--from", notebook, "--kernel", "local"),
            *("--runs", tmp_path / "runs", "--out", tmp_path / "gold.yaml"),
        )
        assert ran.code == 0, ran.err
        assert "the card is broken: The gold run gives 5 count, outside the published bar" in ran.out
        assert "value: 5\n" in (tmp_path / "gold.yaml").read_text()
        assert card.path.read_text() == CARD

    def test_a_notebook_that_hands_nothing_in(self, card: LoadedCard, tmp_path: Path, reclaim: Call) -> None:
        path = tmp_path / "add.ipynb"
        write_notebook(path, "print(4)")
        ran = reclaim(
            *("papers", "gold", card.path.parent, "--from", path, "--kernel", "local", "--runs", tmp_path / "runs")
        )
        assert ran.code == 1
        assert "a reference notebook ends with attempt.submit(value)" in ran.err
        assert card.path.read_text() == CARD
