"""Criteria: closed bounds in decimals, near misses, minimum tolerance, direction."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from reclaim_nb.errors import CardError
from reclaim_nb.papers.criterion import Criterion

_ADAPTER: TypeAdapter[Any] = TypeAdapter(Criterion)
_PLACES = {"inside": 0, "near": 1, "outside": 2}


def rule(**parts: Any) -> Any:
    return _ADAPTER.validate_python({"basis": "for the test", **parts})


def toy() -> Any:
    return rule(rule="within", value=Decimal("84.3"), low=Decimal("83.8"), high=Decimal("84.8"), direction="higher")


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("84.8", "inside"),
        ("84.80000000000001", "inside"),
        ("84.804", "inside"),
        ("84.81", "near"),
        ("85.3", "near"),
        ("85.31", "outside"),
        ("83.8", "inside"),
        ("83.79", "near"),
        ("83.3", "near"),
        ("83.29", "outside"),
        ("88.0", "outside"),
    ],
)
def test_edges_of_the_toy_band(value: str, place: str) -> None:
    assert toy().decide(Decimal(value)).place == place


def test_distance_is_given_in_units_and_in_tolerances() -> None:
    decision = toy().decide(Decimal("85.05"))
    assert (decision.distance, decision.tolerances, decision.gap) == (Decimal("0.25"), Decimal("0.50"), Decimal("0.75"))
    inside = toy().decide(Decimal("84.0"))
    assert (inside.distance, inside.gap) == (0, Decimal("-0.3"))


def test_binary_rounding_of_a_bound_does_not_decide() -> None:
    third = rule(rule="within", value=Decimal("0.3"), low=Decimal("0.3"), high=Decimal("0.3"))
    assert third.decide(Decimal(repr(0.1 + 0.2))).place == "inside"


def test_tolerance_is_never_less_than_half_the_papers_last_digit() -> None:
    exact = rule(rule="within", value=Decimal("0.30"), low=Decimal("0.30"), high=Decimal("0.30"))
    assert exact.decide(Decimal("0.305")).place == "inside"
    assert exact.decide(Decimal("0.306")).place == "near"
    assert exact.decide(Decimal("0.311")).place == "outside"


def test_a_bound_with_more_digits_than_the_claim_reaches_itself() -> None:
    wide = rule(rule="within", value=Decimal("63"), low=Decimal("59.85"), high=Decimal("66.15"))
    assert wide.decide(Decimal("59.85")).place == "inside"
    assert wide.decide(Decimal("59.84")).place == "near"


@pytest.mark.parametrize(
    ("value", "place"), [("19.8", "inside"), ("21.92", "inside"), ("22.1", "near"), ("24", "outside")]
)
def test_at_most(value: str, place: str) -> None:
    low_is_good = rule(rule="at_most", value=Decimal("21.70"), high=Decimal("21.92"), direction="lower")
    assert low_is_good.decide(Decimal(value)).place == place


@pytest.mark.parametrize(("value", "place"), [("9", "inside"), ("1.9", "inside"), ("1.85", "near"), ("1.7", "outside")])
def test_at_least(value: str, place: str) -> None:
    speed = rule(rule="at_least", value=Decimal("2.0"), low=Decimal("1.9"), direction="higher")
    assert speed.decide(Decimal(value)).place == place


def test_beats_is_strict_and_follows_the_direction() -> None:
    lower = rule(
        rule="beats", baseline={"name": "plain", "value": Decimal("6.37")}, direction="lower", value=Decimal("1.51")
    )
    assert lower.decide(Decimal("6.36")).place == "inside"
    assert lower.decide(Decimal("6.37")).place == "near"
    assert lower.decide(Decimal("7")).place == "outside"
    higher = rule(rule="beats", baseline={"name": "plain", "value": Decimal("6.37")}, direction="higher")
    assert higher.decide(Decimal("7")).place == "inside"
    assert higher.decide(Decimal("6.37")).place == "near"


def test_beats_without_a_printed_number_asks_for_the_measured_one() -> None:
    measured = rule(rule="beats", baseline={"name": "TopK in the same run"}, direction="lower", value=Decimal("23.48"))
    assert measured.needs_baseline
    assert "TopK in the same run" in measured.as_text("perplexity")
    with pytest.raises(CardError, match="TopK in the same run"):
        measured.decide(Decimal("23"))
    assert measured.decide(Decimal("23"), baseline=Decimal("23.9")).place == "inside"
    assert measured.decide(Decimal("24"), baseline=Decimal("23.9")).place == "outside"


def test_same_run_keeps_the_printed_baseline_from_deciding() -> None:
    again = rule(rule="beats", baseline={"name": "plain", "value": Decimal("5")}, direction="higher", same_run=True)
    with pytest.raises(CardError, match="plain"):
        again.decide(Decimal("9"))
    assert again.decide(Decimal("9"), baseline=Decimal("10")).place == "outside"


def test_between_takes_the_stated_range() -> None:
    stated = rule(rule="between", low=Decimal("0.75"), high=Decimal("1.05"))
    assert [stated.decide(Decimal(v)).place for v in ("0.75", "1.05", "1.1", "1.3")] == [
        "inside",
        "inside",
        "near",
        "outside",
    ]


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
def test_what_is_not_finite_is_no_measurement(value: str) -> None:
    with pytest.raises(CardError, match="finite"):
        toy().decide(Decimal(value))


@pytest.mark.parametrize(
    "parts",
    [
        {"rule": "within", "low": Decimal(2), "high": Decimal(1)},
        {"rule": "within", "low": Decimal(1), "high": Decimal(2), "value": Decimal(3)},
        {"rule": "between", "low": Decimal(2), "high": Decimal(1)},
        {"rule": "at_least", "high": Decimal(2)},
        {"rule": "nearly", "low": Decimal(2)},
        {"rule": "at_most", "high": 0.1},
        {"rule": "at_most", "high": Decimal("NaN")},
        {"rule": "at_most", "high": Decimal(1), "basis": ""},
    ],
)
def test_senseless_criteria_are_refused(parts: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        rule(**parts)


numbers = st.builds(
    lambda digits, places: Decimal(digits).scaleb(-places), st.integers(-(10**6), 10**6), st.integers(0, 4)
)
widths = st.builds(lambda digits, places: Decimal(digits).scaleb(-places), st.integers(0, 10**5), st.integers(0, 4))


@given(numbers, widths, numbers)
def test_a_band_holds_its_claim_and_its_bounds_and_is_monotone(value: Decimal, width: Decimal, other: Decimal) -> None:
    band = rule(rule="within", value=value, low=value - width, high=value + width)
    assert band.decide(value).place == "inside"
    assert band.decide(value + width).place == "inside"
    assert band.decide(value - width).place == "inside"
    further = other + 1 if other >= value else other - 1
    assert _PLACES[band.decide(other).place] <= _PLACES[band.decide(further).place]


@given(numbers, numbers, numbers, widths)
def test_a_better_value_never_scores_worse(
    value: Decimal, bound: Decimal, measured: Decimal, better_by: Decimal
) -> None:
    least = rule(rule="at_least", value=value, low=bound, direction="higher")
    most = rule(rule="at_most", value=value, high=bound, direction="lower")
    up = rule(rule="beats", baseline={"name": "b", "value": bound}, direction="higher")
    down = rule(rule="beats", baseline={"name": "b", "value": bound}, direction="lower")
    for good, sign in ((least, 1), (most, -1), (up, 1), (down, -1)):
        worse, better = good.decide(measured), good.decide(measured + sign * better_by)
        assert _PLACES[better.place] <= _PLACES[worse.place]


@given(numbers, widths, numbers)
def test_near_is_outside_the_band_but_within_twice_the_tolerance(
    value: Decimal, width: Decimal, other: Decimal
) -> None:
    band = rule(rule="within", value=value, low=value - width, high=value + width)
    room = band.band().tolerance
    decision = band.decide(other)
    off = abs(decision.value - value)
    assert decision.place == ("inside" if off <= room else "near" if off <= 2 * room else "outside")
