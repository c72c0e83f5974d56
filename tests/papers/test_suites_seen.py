"""What an agent sees of any card of any suite: it never depends on what is withheld, and never repeats it."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from card_helpers import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

from reclaim_nb.papers import LoadedCard, PaperCard, agent_view, as_markdown, load_suite
from reclaim_nb.papers.card import (
    Anchor,
    Audit,
    Checked,
    Gold,
    Links,
    Need,
    Network,
    RemoteFile,
    Sibling,
    Source,
)
from reclaim_nb.papers.transforms import Transform

SUITES = ("neurips2025", "more", "small")
CARDS: tuple[LoadedCard, ...] = tuple(c for name in SUITES for c in load_suite(ROOT / "papers" / name))

marks = st.text("abcdefghij", min_size=8, max_size=12).map(lambda s: f"withheld{s}")
numbers = st.integers(600_000_000, 999_999_999).map(Decimal)


def _seen(card: PaperCard) -> str:
    view = agent_view(card)
    return view.model_dump_json() + as_markdown(view)


def _with_other_secrets(card: PaperCard, mark: str, number: Decimal) -> PaperCard:
    """Return the card with everything an agent must not see replaced."""
    target = card.target.model_copy(
        update={
            "config": mark,
            "words": (mark,),
            "siblings": (Sibling(what=mark, value=number),),
            "transforms": (Transform(kind="exp", words=(mark,)),),
            "bar": None,
        }
    )
    rules = {
        name: rule.model_copy(update={"basis": mark})
        for name in ("criterion", "strict")
        if (rule := getattr(card, name)) is not None
    }
    return card.model_copy(
        update={
            **rules,
            "target": target,
            "anchors": tuple(a.model_copy(update={"value": number, "tolerance": number}) for a in card.anchors),
            "need": Need(hours=number, basis="measured", source=mark, hardware=mark),
            "gold": Gold(value=number, spread=mark, route=mark, device=mark, note=mark),
            "audit": Audit(state="broken", reasons=(mark,)),
            "area": mark,
            "commands": (mark,),
            "doubts": (mark,),
            "pitfalls": (mark,),
            "checked": Checked(value_seen_in=(mark,), confidence="low"),
            "sources": (Source(purpose=mark, url=mark),),
            "links": Links(paper=(mark,), code=(mark,), data=(mark,), weights=(mark,), related=(mark,)),
            "notes": mark,
            "text": RemoteFile(url=mark),
            "network": Network(allow=(mark,), block=(mark,)),
        }
    )


@pytest.mark.parametrize("suite", SUITES)
def test_what_is_seen_does_not_depend_on_what_is_withheld(suite: str) -> None:
    cards = [loaded for loaded in CARDS if loaded.suite_name == suite]
    assert cards
    for loaded in cards:
        other = _with_other_secrets(loaded.card, "withheldmark", Decimal(777_777_777))
        assert _seen(other) == _seen(loaded.card), loaded.name


@settings(max_examples=60)
@given(st.sampled_from(CARDS), marks, numbers)
def test_no_mark_put_into_a_withheld_field_comes_through(loaded: LoadedCard, mark: str, number: Decimal) -> None:
    seen = _seen(_with_other_secrets(loaded.card, mark, number))
    assert mark not in seen
    assert str(number) not in seen


def test_every_field_of_a_card_is_either_withheld_or_shown() -> None:
    # A field added later has to be sorted into one of the two before this passes.
    shown = {
        "id",
        "title",
        "authors",
        "venue",
        "arxiv",
        "summary",
        "release",
        "device",
        "target",
        "criterion",
        "strict",
    }
    shown |= {"budget", "anchors", "environment"}
    withheld = {"schema_version", "track", "presentation", "openreview", "area", "need", "commands", "gold", "audit"}
    withheld |= {"doubts", "pitfalls", "checked", "sources", "links", "notes", "text", "network"}
    assert set(PaperCard.model_fields) == shown | withheld
    assert set(Anchor.model_fields) == {"name", "what", "unit"} | {"value", "tolerance"}


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [t for v in value.values() for t in _texts(v)]
    if isinstance(value, list | tuple):
        return [t for v in value for t in _texts(v)]
    return [value] if isinstance(value, str) else []


def _withheld_texts(card: PaperCard) -> list[str]:
    dump = card.model_dump(mode="json")
    gold = {**dump["gold"], "packages": []} if dump["gold"] else None
    bases = [rule["basis"] for rule in (dump["criterion"], dump["strict"]) if rule]
    fields = [dump["target"]["config"], dump["doubts"], dump["pitfalls"], dump["audit"]["reasons"], dump["checked"]]
    fields += [gold, dump["notes"], dump["commands"], [s["purpose"] for s in dump["sources"]], bases, dump["need"]]
    return [t for t in _texts(fields) if len(t) > 12]


def test_no_withheld_sentence_is_repeated_in_what_is_seen() -> None:
    checked, leaks = 0, []
    for loaded in CARDS:
        public = {loaded.card.target.scope, loaded.card.target.claim}
        for text in _withheld_texts(loaded.card):
            checked += 1
            if text not in public and text in _seen(loaded.card):
                leaks.append((loaded.name, text))
    assert checked > 2000
    assert leaks == []


def test_no_gold_value_is_seen() -> None:
    golds = [c for c in CARDS if c.card.gold is not None and c.card.gold.value is not None]
    assert len(golds) >= 10
    for loaded in golds:
        card, seen = loaded.card, _seen(loaded.card)
        assert card.gold is not None and card.gold.value is not None
        if card.gold.value == card.target.value:  # a claim that comes out exactly is public by itself
            continue
        tokens = {Decimal(t) for t in re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])", seen)}
        assert card.gold.value not in tokens, loaded.name


def test_a_strict_criterion_from_a_gold_run_is_withheld() -> None:
    ours = [c for c in CARDS if c.card.strict is not None and c.card.strict.from_gold]
    assert {c.card.id for c in ours} == {
        "eap-fit-hh",
        "gorank-gossip",
        "locally-optimal-private-sampling",
        "msf-cnn",
        "pkpo",
    }
    assert [c.name for c in ours if agent_view(c.card).strict is not None] == []
    others = [c for c in CARDS if c.card.strict is not None and not c.card.strict.from_gold]
    assert [c.name for c in others if agent_view(c.card).strict is None] == []
