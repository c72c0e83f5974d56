"""The card: tier, digits, coherence, round trips, and one readable error for what is broken."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from card_helpers import raw_card, write_card
from hypothesis import given
from hypothesis import strategies as st

from reclaim_nb.errors import CardError
from reclaim_nb.papers import PaperCard, load_card
from reclaim_nb.papers.loading import validate

CODE, WEIGHTS, DATA = {"url": "https://example.org/code"}, {"url": "https://example.org/w"}, [{"name": "toy data"}]


@pytest.mark.parametrize(
    ("code", "data", "weights", "tier"),
    [
        (CODE, DATA, WEIGHTS, "run"),
        (CODE, DATA, None, "retrain"),
        (CODE, [], WEIGHTS, "retrain"),
        (None, DATA, WEIGHTS, "reimplement"),
        (None, DATA, None, "reimplement"),
        (None, [], None, "reimplement"),
    ],
)
def test_the_tier_follows_from_the_release(code: Any, data: Any, weights: Any, tier: str) -> None:
    card = PaperCard.model_validate(raw_card(release={"code": code, "data": data, "weights": weights}))
    assert card.tier == tier


@pytest.mark.parametrize("tier", ["reimplement", "run", None])
def test_a_typed_in_tier_is_refused_even_when_right(tmp_path: Path, tier: str | None) -> None:
    with pytest.raises(CardError, match="tier is computed from the release"):
        load_card(write_card(tmp_path / "paper.yaml", raw_card(tier=tier)))


def test_printed_digits_survive_yaml_and_json(tmp_path: Path) -> None:
    card = raw_card()
    file = write_card(tmp_path / "paper.yaml", card)
    text = file.read_text(encoding="utf-8").replace("'84.3'", "84.30").replace("'84.8'", "84.800")
    file.write_text(text, encoding="utf-8")
    loaded = load_card(file).card
    assert str(loaded.target.value) == "84.30"
    assert str(loaded.criterion.high) == "84.800"  # type: ignore[union-attr]
    for again in (
        PaperCard.model_validate(loaded.model_dump(mode="json")),
        PaperCard.model_validate(loaded.model_dump(mode="json", by_alias=True)),
        PaperCard.model_validate_json(loaded.model_dump_json()),
    ):
        assert again == loaded
        assert str(again.target.value) == "84.30"


def test_value_and_direction_of_a_criterion_come_from_the_target() -> None:
    card = PaperCard.model_validate(raw_card())
    assert card.criterion is not None
    assert card.criterion.value == Decimal("84.3")
    assert card.criterion.direction == "higher"


def test_binary_floats_never_enter() -> None:
    with pytest.raises(ValueError, match="binary float"):
        PaperCard.model_validate(raw_card(need={"hours": 1.2}))


def test_a_card_without_a_criterion_must_be_broken_and_say_why() -> None:
    with pytest.raises(ValueError, match="broken"):
        PaperCard.model_validate(raw_card(criterion=None))
    with pytest.raises(ValueError, match="reason"):
        PaperCard.model_validate(raw_card(criterion=None, audit={"state": "broken"}))
    card = PaperCard.model_validate(raw_card(criterion=None, audit={"state": "broken", "reasons": ["no number"]}))
    assert card.criterion is None


def test_a_target_without_a_number_may_still_be_a_direction() -> None:
    target = {**raw_card()["target"], "value": None, "printed": "lowest bar of the figure", "direction": "lower"}
    rule = {"rule": "beats", "baseline": {"name": "best other method, same run"}, "basis": "direction as published"}
    card = PaperCard.model_validate(raw_card(target=target, criterion=rule))
    assert card.criterion is not None
    assert card.criterion.needs_baseline


def test_published_and_strict_bars_stand_side_by_side() -> None:
    strict = {"rule": "beats", "baseline": {"name": "plain", "value": "83.9"}, "basis": "the baseline lies inside"}
    card = PaperCard.model_validate(raw_card(strict=strict))
    assert card.criterion is not None and card.strict is not None
    assert card.criterion.decide(Decimal("83.85")).place == "inside"
    assert card.strict.decide(Decimal("83.85")).place != "inside"


def test_an_anchor_is_as_tight_as_its_digits_unless_it_says_otherwise() -> None:
    anchors = [
        {"name": "params", "what": "parameters", "value": "25.6", "unit": "million"},
        {"name": "share", "what": "share", "value": "35", "unit": "percent", "tolerance": "2"},
    ]
    card = PaperCard.model_validate(raw_card(anchors=anchors))
    params, share = card.anchor("params"), card.anchor("share")
    assert params is not None and share is not None and card.anchor("none") is None
    assert [params.decide(Decimal(v)).place for v in ("25.64", "25.66", "25.8")] == ["inside", "near", "outside"]
    assert share.decide(Decimal("36.9")).place == "inside"


_BROKEN: list[tuple[dict[str, Any], str, str]] = [
    ({"budgett": 3}, "budgett", "did you mean 'budget'"),
    ({"need": {"hours": 1, "cost": 2}}, "need.cost", "keys hours, basis, source"),
    ({"budget": {"hours": "-1", "rationale": "x"}}, "budget.hours", "greater than 0, found '-1'"),
    ({"budget": {"hours": "a lot", "rationale": "x"}}, "budget.hours", "found 'a lot'"),
    ({"budget": {"hours": 3}}, "budget.rationale", "expected a value, found nothing"),
    ({"id": "Toy Cls"}, "id", "found 'Toy Cls'"),
    ({"device": "tpu"}, "device", "expected 'gpu' or 'cpu', found 'tpu'"),
    ({"criterion": {"rule": "nearly", "basis": "x"}}, "criterion", "found 'nearly'"),
    ({"criterion": {"low": "1", "basis": "x"}}, "criterion", "a key 'rule'"),
    ({"criterion": {"rule": "within", "low": "1", "high": "2", "basis": "x"}}, "criterion", "84.3 must lie between"),
    (
        {"criterion": {"rule": "within", "low": "1", "hihg": "99", "basis": "x"}},
        "criterion.hihg",
        "did you mean 'high'",
    ),
    (
        {"criterion": {"rule": "at_least", "low": "80", "value": "84.0", "basis": "x"}},
        "(whole file)",
        "differs from target",
    ),
    ({"release": None}, "release", "found nothing"),
    ({"release": {"data": [{"name": "d", "access": "secret"}]}}, "release.data[0].access", "found 'secret'"),
    ({"anchors": [{"name": "a", "what": "w", "value": "x", "unit": "y"}]}, "anchors[0].value", "found 'x'"),
    ({"anchors": [{"name": "a", "what": "w", "value": 1, "unit": "y"}] * 2}, "(whole file)", "two anchors"),
    ({"target": "84.3 percent"}, "target", "found '84.3 percent'"),
    ({"audit": {"state": "doubtful"}}, "audit", "needs at least one reason"),
    ({"schema": 2}, "schema", "found 2"),
]


@pytest.mark.parametrize(("change", "field", "says"), _BROKEN, ids=lambda p: p if isinstance(p, str) else "")
def test_a_broken_card_gives_one_line_with_file_field_expected_and_found(
    tmp_path: Path, change: dict[str, Any], field: str, says: str
) -> None:
    file = write_card(tmp_path / "paper.yaml", raw_card(**change))
    with pytest.raises(CardError) as caught:
        load_card(file)
    message = str(caught.value)
    assert message.startswith(f"{file}: field '{field}': ")
    assert says in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"id: [1, 2\n", ":2: not valid YAML"),
        (b"id: a\nid: b\n", ":2: not valid YAML: the key 'id' stands twice"),
        (b"id: \xff\n", "expected UTF-8, found byte 0xff at 4"),
        (b"", "field '(whole file)'"),
        (b"- a list\n", "field '(whole file)'"),
        (b"target: {value: .nan}\n", "not a number"),
        (b"7: x\n", "the key 7 is not text"),
        (b"a: &x [*x]\n", "not valid YAML"),
        (b"a: !!python/object/apply:os.getcwd []\n", "not valid YAML"),
    ],
)
def test_a_file_that_is_no_card_is_named(tmp_path: Path, content: bytes, says: str) -> None:
    file = tmp_path / "paper.yaml"
    file.write_bytes(content)
    with pytest.raises(CardError) as caught:
        load_card(file)
    assert str(file) in str(caught.value)
    assert says in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CardError, match="cannot be read"):
        load_card(tmp_path / "none.yaml")


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from([*sorted(PaperCard.model_fields), "extra"]), json_like)
def test_any_value_in_any_field_is_read_or_refused_readably(field: str, value: Any) -> None:
    try:
        card = validate(PaperCard, raw_card(**{field: value}), Path("paper.yaml"))
    except CardError as error:
        assert str(error).startswith("paper.yaml: field '")
    else:
        assert PaperCard.model_validate(card.model_dump(mode="json")) == card
