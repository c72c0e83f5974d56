"""What an agent sees of a card: nothing that decides or explains the grading."""

from __future__ import annotations

from typing import Any

import pytest
from card_helpers import SMALL, raw_card
from hypothesis import given, settings
from hypothesis import strategies as st

from reclaim_nb.papers import PaperCard, agent_view, as_markdown, load_suite

# Marks that cannot occur in a card by chance.
secret = st.text("abcdefghij", min_size=6, max_size=12).map(lambda s: f"secret{s}")


def _seen(card: PaperCard) -> str:
    view = agent_view(card)
    return view.model_dump_json() + as_markdown(view)


@settings(max_examples=30)
@given(st.lists(secret, min_size=25, max_size=25, unique=True), st.integers(600_000_000, 999_999_999))
def test_withheld_fields_never_leak(marks: list[str], number: int) -> None:
    mark = iter(marks)
    raw = raw_card(
        strict={"rule": "at_least", "low": "84", "basis": next(mark)},
        need={"hours": number, "source": next(mark), "hardware": next(mark)},
        anchors=[{"name": "params", "what": "parameters", "value": number, "unit": "count"}],
        gold={"value": number, "spread": next(mark), "route": next(mark), "device": next(mark), "note": next(mark)},
        audit={"state": "doubtful", "reasons": [next(mark)]},
        doubts=[next(mark)],
        pitfalls=[next(mark)],
        checked={"value_seen_in": [next(mark)], "confidence": "low"},
        sources=[{"for": next(mark), "url": next(mark)}],
        links={"code": [next(mark)], "related": [next(mark)]},
        notes=next(mark),
        commands=[next(mark)],
    )
    raw["criterion"]["basis"] = next(mark)
    raw["target"] |= {
        "config": next(mark),
        "words": [next(mark)],
        "siblings": [{"what": next(mark), "value": number}],
        "transforms": [{"kind": "exp", "words": [next(mark)]}],
    }
    seen = _seen(PaperCard.model_validate(raw))
    assert [m for m in marks if m in seen] == []
    assert str(number) not in seen


def test_what_an_agent_needs_is_there() -> None:
    raw = raw_card(
        device="cpu",
        anchors=[{"name": "params", "what": "number of parameters", "value": 25, "unit": "million"}],
        strict={"rule": "at_least", "low": "84.1", "basis": "derived"},
    )
    raw["target"] |= {"scope": "the test split", "n": 10000, "where": "Table 2", "split": "test", "seeds": 3}
    text = as_markdown(agent_view(PaperCard.model_validate(raw)))
    for part in (
        "# Toy classification",
        "M-base reaches 84.3 % top-1",
        "reimplement: no code of the authors",
        "top-1 accuracy = **84.3 percent** (higher is better)",
        "83.8 to 84.8 percent, bounds included",
        "at least 84.1 percent",
        "4 CPU-hours",
        "the test split",
        "10000",
        "Table 2",
        "plain = 83.1",
        "`params`: number of parameters (million)",
    ):
        assert part in text


@pytest.mark.parametrize("text", ["a | b", "line\nbreak", "# heading", "x" * 500])
def test_awkward_text_keeps_the_table_whole(text: str) -> None:
    raw = raw_card()
    raw["target"] |= {"scope": text, "where": text}
    rows = [r for r in as_markdown(agent_view(PaperCard.model_validate(raw))).splitlines() if r.startswith("|")]
    assert rows
    assert all(row.replace("\\|", "").count("|") == 3 for row in rows)


def test_directions_without_numbers_are_shown_in_words() -> None:
    target = {**raw_card()["target"], "value": None, "printed": "lowest bar", "direction": "lower", "baseline": None}
    rule = {"rule": "beats", "baseline": {"name": "best other method"}, "basis": "as published"}
    view = agent_view(PaperCard.model_validate(raw_card(target=target, criterion=rule)))
    assert view.criterion is not None and view.criterion.low is None
    assert "lower than best other method, measured in the same attempt" in as_markdown(view)
    assert "lowest bar" in as_markdown(view)


def test_a_broken_card_can_be_viewed() -> None:
    raw = raw_card(criterion=None, audit={"state": "broken", "reasons": ["no number"]})
    assert "Reproduced if" not in as_markdown(agent_view(PaperCard.model_validate(raw)))


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [t for v in value.values() for t in _texts(v)]
    if isinstance(value, list | tuple):
        return [t for v in value for t in _texts(v)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("loaded", load_suite(SMALL).cards, ids=lambda c: c.card.id)
def test_no_small_card_leaks(loaded: Any) -> None:
    card, seen = loaded.card, _seen(loaded.card)
    dump = card.model_dump(mode="json")
    withheld = [dump["target"]["config"], dump["doubts"], dump["pitfalls"], dump["audit"]["reasons"], dump["checked"]]
    withheld += [
        dump["gold"] and {**dump["gold"], "packages": []},
        dump["notes"],
        dump["sources"],
        dump["criterion"]["basis"],
    ]
    sentences = [t for t in _texts(withheld) if len(t) > 12]
    assert sentences
    public = {dump["target"]["scope"], dump["release"]["code"] and dump["release"]["code"]["url"]}
    assert [t for t in sentences if t in seen and t not in public] == []
