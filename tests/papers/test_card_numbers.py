"""Decimals and units: digits are kept, only declared conversions happen."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reclaim_nb.errors import CardError
from reclaim_nb.papers.numbers import (
    convert,
    convertible,
    decimals,
    format_decimal,
    half_last_digit,
    parse_decimal,
    quantise,
    unit,
)
from reclaim_nb.papers.transforms import Transform

finite = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12, places=None)
printed = st.builds(
    lambda digits, places: Decimal(digits).scaleb(-places), st.integers(-(10**12), 10**12), st.integers(0, 9)
)


@given(printed)
def test_printing_and_reading_a_number_keeps_every_digit(number: Decimal) -> None:
    again = parse_decimal(format_decimal(number))
    assert again == number
    assert decimals(again) == decimals(number)


@pytest.mark.parametrize(
    ("text", "value"),
    [("84.30", "84.30"), ("1,234.5", "1234.5"), ("−0.5", "-0.5"), ("1e-6", "0.000001"), ("+.5", "0.5"), (" 12 ", "12")],
)
def test_printed_forms_are_read(text: str, value: str) -> None:
    assert parse_decimal(text) == Decimal(value)


@pytest.mark.parametrize(
    "text", ["", "nan", "inf", "84,3,1", "12_000", "0x10", "1 2", "8.4.3", "e5", "-", "١٢", "1,23"]
)
def test_what_is_not_one_number_is_refused(text: str) -> None:
    with pytest.raises(CardError, match="expected a decimal number"):
        parse_decimal(text)


@pytest.mark.parametrize(("text", "half"), [("0.99", "0.005"), ("912", "0.5"), ("2.50", "0.005"), ("1E+3", "500")])
def test_half_a_unit_of_the_last_printed_digit(text: str, half: str) -> None:
    assert half_last_digit(Decimal(text)) == Decimal(half)


@given(printed, st.integers(0, 12))
def test_quantising_moves_a_number_by_at_most_half_a_step(number: Decimal, places: int) -> None:
    rounded = quantise(number, places)
    assert abs(rounded - number) <= Decimal(5).scaleb(-places - 1)
    assert quantise(rounded, places) == rounded


def test_quantising_large_numbers_does_not_overflow_the_context() -> None:
    assert quantise(Decimal("1e60"), 3) == Decimal("1e60")


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        ("0.843", "fraction", "percent", "84.3"),
        ("84.3", "%", "fraction", "0.843"),
        ("25", "bp", "percent", "0.25"),
        ("1.5", "hours", "minutes", "90"),
        ("8560", "bytes", "kB", "8.56"),
        ("110", "M", "count", "110000000"),
        ("2.0", "x", "times", "2.0"),
    ],
)
def test_units_of_one_family_convert_exactly(value: str, source: str, target: str, expected: str) -> None:
    assert convert(Decimal(value), source, target) == Decimal(expected)


@pytest.mark.parametrize(
    ("source", "target"),
    [("nats", "bits"), ("percent", "points"), ("none", "fraction"), ("seconds", "bytes"), ("perplexity", "nats")],
)
def test_units_of_different_families_never_convert(source: str, target: str) -> None:
    assert not convertible(source, target)
    with pytest.raises(CardError, match="no declared conversion"):
        convert(Decimal(1), source, target)


@given(
    printed,
    st.sampled_from(["fraction", "percent", "permille", "basis points"]),
    st.sampled_from(["percent", "bp", "fraction"]),
)
def test_there_and_back_is_the_same_number(value: Decimal, source: str, target: str) -> None:
    assert convert(convert(value, source, target), target, source) == value


def test_case_matters_only_where_it_carries_meaning() -> None:
    assert unit("Percent") == unit("percent")
    assert unit("kB") != unit("KiB")
    assert unit("MB").factor == 10**6


@pytest.mark.parametrize(
    ("transform", "value", "expected"),
    [
        ({"kind": "exp", "words": ["loss"], "unit": "nats"}, "3.0773", "21.70"),
        ({"kind": "exp2", "words": ["loss"], "unit": "bits"}, "3.0773", "8.44"),
        ({"kind": "complement", "words": ["error"], "unit": "percent"}, "15.7", "84.3"),
        ({"kind": "complement", "words": ["error"], "unit": "fraction"}, "0.157", "0.843"),
        ({"kind": "scale", "words": ["error"], "factor": "1000"}, "0.157", "157"),
        ({"kind": "sqrt", "words": ["mse"]}, "4", "2"),
        ({"kind": "negate", "words": ["log-likelihood"]}, "-2.41", "2.41"),
        ({"kind": "square", "words": ["r"]}, "0.5", "0.25"),
    ],
)
def test_declared_transforms_compute_the_papers_metric(transform: dict[str, object], value: str, expected: str) -> None:
    result = Transform.model_validate(transform).apply(Decimal(value))
    assert quantise(result, decimals(Decimal(expected))) == Decimal(expected)


def test_a_factor_belongs_to_scale_alone() -> None:
    with pytest.raises(ValueError, match="factor"):
        Transform.model_validate({"kind": "exp", "words": ["loss"], "factor": "2"})
    with pytest.raises(ValueError, match="no square root"):
        Transform(kind="sqrt", words=("mse",)).apply(Decimal(-1))
