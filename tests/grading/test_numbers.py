"""Numbers in text: every one of them is found, with its exact characters at its exact place."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reclaim_nb.grading import mentions
from reclaim_nb.grading.mentions import absent, line_numbers, numbers, ratios
from reclaim_nb.grading.scan import Digest, Interest

VALUES = st.decimals(min_value=-(10**6), max_value=10**6, places=4, allow_nan=False, allow_infinity=False)
WORDS = st.sampled_from(
    ["top-1", "acc", "test loss", "F1", "ResNet-50 acc", "perplexity", "AUC", "val", "mean", "kappa"]
)


@given(word=WORDS, value=VALUES, tail=st.sampled_from(["", " %", "%", ", done", " (n=500)", "\n", " nats"]))
def test_a_labelled_number_is_found_exactly(word: str, value: Decimal, tail: str) -> None:
    text = f"{word}: {value}{tail}"
    found = [n for n in numbers(text) if n.value == value and n.offset == len(word) + 2]
    assert len(found) == 1
    assert text[found[0].offset :].startswith(found[0].text)


@given(st.lists(VALUES, min_size=1, max_size=20))
def test_every_number_of_a_list_is_found_in_order(values: list[Decimal]) -> None:
    text = "accs = [" + ", ".join(map(str, values)) + "]"
    assert [n.value for n in numbers(text)] == values


@given(st.text(max_size=300))
@settings(max_examples=300)
def test_any_text_can_be_read_and_places_hold(text: str) -> None:
    for number in numbers(text):
        shown = text[number.offset : number.offset + len(number.text)]
        assert shown == number.text
        assert number.value.is_finite()


@given(st.lists(VALUES, min_size=2, max_size=6), st.integers(min_value=0, max_value=5))
def test_offsets_count_from_the_start_of_the_output(values: list[Decimal], start: int) -> None:
    text = "\r".join(f"step {i} acc {v}" for i, v in enumerate(values))
    for number in numbers(text, start):
        assert text[number.offset - start : number.offset - start + len(number.text)] == number.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,234,567 items", ["1,234,567"]),
        ("10_000 steps", ["10_000"]),
        ("1e-3", ["1e-3"]),
        ("acc .843", [".843"]),
        ("\u22120.5", ["\u22120.5"]),
        ("top-1", []),
        ("ResNet-50 on CIFAR-10", []),
        ("v1.2.3", []),
        ("F1 0.8", ["0.8"]),
        ("recall@10 0.8", ["0.8"]),
        ("0x1f 2nd 3D", []),
        ("2.1x faster", ["2.1"]),
        ("84.3%", ["84.3"]),
        ("80-90", ["80", "90"]),
        ("loss=0.5/acc=0.9", ["0.5", "0.9"]),
    ],
)
def test_what_is_a_number_and_what_is_not(text: str, expected: list[str]) -> None:
    assert [n.text for n in numbers(text)] == expected


@pytest.mark.parametrize(
    ("text", "value", "field", "expected"),
    [
        ("val 84.3 / test 82.9", "82.9", "split", "test"),
        ("train loss 0.1 acc 0.99 | test acc 0.83", "0.99", "split", "train"),
        ('{"test": {"acc": 0.84}, "val": {"acc": 0.86}}', "0.86", "split", "val"),
        ("| split | acc |\n|---|---|\n| val | 84.3 |\n| test | 82.9 |", "82.9", "split", "test"),
        ("acc 84.4 (n=500)", "84.4", "n", 500),
        ("accuracy 84.3 on 10,000 images", "84.3", "n", 10000),
        ("accuracy 84.3% (8430/10000)", "84.3", "n", 10000),
        ("error 15.7 %", "15.7", "unit", "%"),
        ("val loss 3.0773 (nats/token)", "3.0773", "per", "token"),
        ("bits per byte 0.9 bits", "0.9", "unit", "bits"),
        ("top-1 84.1 (paper 84.3)", "84.3", "reference", True),
        ("top-1 84.1 (paper 84.3)", "84.1", "reference", False),
        ("target 84.3, got 84.1", "84.1", "reference", False),
        ("84.1 vs 84.3 reported", "84.3", "reference", True),
        ("AUC 0.987 ± 0.001", "0.001", "stat", "spread"),
        ("largest error 0.00015 <= 0.1", "0.1", "stat", "bound"),
        ("difference to the paper: 0.2", "0.2", "stat", "gap"),
        ("mean 84.2, max 84.9", "84.9", "stat", "max"),
        ("epoch 3: acc 84.1", "84.1", "progress", True),
        ("FINAL acc 84.1", "84.1", "final", True),
        ("epoch 3: acc 84.1", "3", "scene", True),
    ],
)
def test_what_is_said_about_a_number(text: str, value: str, field: str, expected: object) -> None:
    number = next(n for n in numbers(text) if n.text == value)
    assert getattr(number, field) == expected


def test_nothing_is_no_number() -> None:
    assert [text for _, text, _ in absent("acc nan\nloss inf\ntop-1: None\nnanometre")] == ["nan", "inf", "None"]
    assert not [n for n in numbers("acc nan, inf, None")]


def test_counts_are_read_as_counts() -> None:
    assert list(ratios("wrong 90/10000 today")) == [(Decimal(90), Decimal(10000), 6)]


@given(
    st.lists(st.sampled_from(["step 1 acc 0.5", "x", "", "epoch 2 | acc 3", "wide é 4"]), max_size=60),
    st.integers(0, 59),
)
def test_the_one_line_of_another_shape_is_never_lost(lines: list[str], place: int) -> None:
    lines = [*lines[:place], "FINAL acc 84.1 !", *lines[place:]]
    text = "\n".join(lines * 3)
    found = Interest(["acc"]).scan(text, 100, Digest())
    assert any(line.text == "FINAL acc 84.1 !" for line in found)
    for line in found:
        assert text[line.offset - 100 : line.offset - 100 + len(line.text)] == line.text


def test_a_line_alone_reads_as_in_its_text() -> None:
    assert [n.text for n in line_numbers("acc 84.1 n=10", 7)] == ["84.1", "10"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("test BLEU n/a\ntest F1 84.2 %", ("test", "f1")),
        ("BLEU nan\nF1 84.2", ("f1",)),
        ("BLEU failed here\nF1 is 84.2", ("f1", "is")),
        ("BLEU was not computed\nvalue 84.2", ("value",)),
        ("BLEU     skipped here\nF1       84.2", ("f1",)),
    ],
)
def test_a_line_of_words_names_no_number_of_the_line_below_it(text: str, named: tuple[str, ...]) -> None:
    (number,) = numbers(text)
    assert number.own == named and "bleu" not in number.words


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("epoch loss acc\n1 0.5 0.9", ["epoch", "loss", "acc"]),
        ("   accuracy  f1\n0     0.97   0.9", [None, "accuracy", "f1"]),
        ("      val  test\nBLEU 30.1  29.9", ["val", "test"]),
        ("accuracy f1\nmean 0.9 0.8", ["accuracy", "f1"]),
    ],
)
def test_the_head_of_a_table_of_spaces_names_its_columns(text: str, names: list[str | None]) -> None:
    assert [number.own[0] if number.own else None for number in numbers(text)] == names


some_digits = st.from_regex(r"[0-9]{1,5}(\.[0-9]{1,4})?(e-?[0-9]{1,2})?", fullmatch=True)


@given(
    words=st.lists(
        st.sampled_from(["top-1", "acc", "n=", "loss", "of", "/", "epoch", "±", "seed", "%", "(", ")"]), max_size=6
    ),
    digits=st.lists(some_digits, min_size=6, max_size=6),
    other=st.lists(some_digits, min_size=6, max_size=6),
)
def test_what_was_read_of_a_line_with_other_digits_is_no_part_of_the_next(
    words: list[str], digits: list[str], other: list[str]
) -> None:
    def line(numbers: list[str]) -> str:
        return " ".join(f"{word} {number}" for word, number in zip(words, numbers, strict=False))

    mentions._ALIKE.clear()
    alone = line_numbers(line(digits), 0)
    mentions._ALIKE.clear()
    line_numbers(line(other), 0)
    assert line_numbers(line(digits), 0) == alone
