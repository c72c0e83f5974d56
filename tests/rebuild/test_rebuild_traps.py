"""Traps that other constructions fell into, each by itself: numbers, units, directions, hours, tables of PDFs."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from reclaim_nb.errors import CardError
from reclaim_nb.papers.card import Release
from reclaim_nb.rebuild.ask import release_of
from reclaim_nb.rebuild.bounds import Rival
from reclaim_nb.rebuild.doubts import direction_doubt, unit_slips, version_doubt
from reclaim_nb.rebuild.extract import _taken
from reclaim_nb.rebuild.hours import in_hours, need, read_sentence
from reclaim_nb.rebuild.pdf import Page, tables

D = Decimal
PLACES = {"T1 r4 c1": "84.3", "T1 r2 c1": "80.1", "S1": "Ours reaches 84.3 ± 0.4 on 10,000 images."}


def answer(**changes: Any) -> str:
    said: dict[str, Any] = {"claim": "It beats ERM.", "metric": "accuracy", "value": "84.3", "unit": "percent"}
    said |= {"direction": "higher", "at": {"place": "T1 r4 c1", "quote": "84.3"}}
    return json.dumps(said | changes)


def test_a_number_with_its_place_is_taken() -> None:
    problem, found = _taken(answer(), PLACES)
    assert problem is None and found is not None and found.key["value"] == "84.3"
    n = {"value": "10,000", "at": {"place": "S1", "quote": PLACES["S1"]}}
    assert _taken(answer(n=n), PLACES)[1] is not None


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("about 84.3", "expected a decimal number"),
        ("84.3 ± 0.4", "expected a decimal number"),
        ("84.3 (ours, best of three)", "expected a decimal number"),
        ("eighty-four", "expected a decimal number"),
        ("84.3 %", "expected a decimal number"),
        ("", "expected a decimal number"),
        ("nan", ""),
        ("84.30", "84.30 does not stand in '84.3'"),
        ("84", "84 does not stand in '84.3'"),
        ("84.4", "84.4 does not stand in '84.3'"),
        ("0.843", "0.843 does not stand in '84.3'"),
        ("-84.3", "-84.3 does not stand in '84.3'"),
    ],
)
def test_prose_in_the_value_field_and_other_digits_are_void(value: str, told: str) -> None:
    problem, found = _taken(answer(value=value), PLACES)
    assert found is None and problem is not None and told in problem


@pytest.mark.parametrize("direction", ["up", "maximise", "", None, "Higher"])
def test_a_direction_is_one_of_three_words(direction: str | None) -> None:
    assert _taken(answer(direction=direction), PLACES)[1] is None


@pytest.mark.parametrize(
    ("metric", "direction", "doubted"),
    [
        ("test perplexity", "higher", True),
        ("top-1 error", "higher", True),
        ("accuracy", "lower", True),
        ("mIoU", "none", True),
        ("WER", "lower", False),
        ("F1", "higher", False),
        ("error of the accuracy estimate", "lower", False),
        ("number of toys", "lower", False),
    ],
)
def test_a_direction_against_the_metric_is_a_doubt(metric: str, direction: str, doubted: bool) -> None:
    assert (direction_doubt(metric, direction) is not None) == doubted


@pytest.mark.parametrize(
    ("value", "unit", "rival", "doubted"),
    [
        ("84.3", "percent", "0.801", True),
        ("0.843", "fraction", "80.1", True),
        ("84.3", "percent", "80.1", False),
        ("1.2", "percent", "0.5", False),
        ("0.5", "percent", "0.9", False),
        ("12.5", "seconds", "13000", True),
        ("12.5", "milliseconds", "0.011", True),
        ("12.5", "seconds", "90", False),
        ("20.1", "perplexity", "2200", False),
        ("0", "percent", "0", False),
    ],
)
def test_a_number_in_another_unit_is_a_doubt(value: str, unit: str, rival: str, doubted: bool) -> None:
    found = unit_slips(D(value), unit, [Rival("ERM", D(rival))])
    assert bool(found) == doubted
    assert all("ERM = " in one and "may have been mixed up" in one for one in found)


@pytest.mark.parametrize(
    ("quote", "hours"),
    [
        ("Training took 36,000 s on one H100.", "10"),
        ("Training took 36,000,000 ms on one H100.", "10"),
        ("Training took 600 minutes on one H100.", "10"),
        ("Training took 600 mins on one H100.", "10"),
        ("Training took 10 hrs on one H100.", "10"),
        ("Training took 1 week on one H100.", "168"),
        ("We used 64 GPU-hours in all, on 8 H100 GPUs.", "64"),
        ("In total 64 H100 hours (8 H100 GPUs).", "64"),
        ("We used 8 H100 GPUs and 64 GPU hours.", "64"),
    ],
)
def test_milliseconds_and_device_hours_are_what_they_say(quote: str, hours: str) -> None:
    assert read_sentence(quote).hours == D(hours)


@pytest.mark.parametrize(
    "quote",
    [
        "Each epoch takes 30 ms per image on one H100.",
        "It took 8 hours per GPU on 8 H100 GPUs.",
        "We used 64 GPU-hours, 8 hours on 8 H100 GPUs and 3 GPU-days.",
        "Inference takes 30 ms / token on one H100.",
    ],
)
def test_a_part_and_a_sum_go_to_a_person(quote: str) -> None:
    with pytest.raises(CardError):
        read_sentence(quote)


def test_the_same_hours_told_twice_count_once() -> None:
    product = read_sentence("In total 64 GPU hours on H100 were used.")
    wall = read_sentence("We train on 8 H100 GPUs for 8 hours.")
    found = need([product, wall])
    assert (found.hours, found.low, found.high, found.doubts) == (D(64), D(64), D(64), ())
    other = need([product, read_sentence("We train on 8 H100 GPUs for 64 hours.")])
    assert other.hours == 64 and "parts or two accounts" in other.doubts[0]


def test_a_time_a_thousand_times_too_long_is_seen_by_the_second_route() -> None:
    slipped = read_sentence("Training took 7200 hours on one H100.")  # printed for seconds
    assert "times apart" in need([slipped], D("2.8e18")).doubts[0]
    assert in_hours(D(7200), "s") == 2 and in_hours(D(7200), "ms") == D("0.002")


@pytest.mark.parametrize("state", ["wrong", "missing", "gated"])
def test_weights_that_are_not_the_papers_make_no_run_tier(state: str) -> None:
    day = {"day": "2026-11-30", "license": None}
    answers: list[dict[str, Any]] = [
        {"part": "code", "state": "ok", "now": "https://github.com/lab/repo", "commit": "1" * 40, **day},
        {"part": "data", "state": "ok", "now": "https://example.org/data", "commit": None, **day},
        {"part": "weights", "state": state, "now": "https://huggingface.co/base/model", "commit": "2" * 40, **day},
    ]
    found = release_of(answers)
    assert isinstance(found, Release) and found.weights is None and found.tier == "retrain"
    answers[2] |= {"state": "ok"}
    assert release_of(answers).tier == "run"


def test_the_version_that_was_read_is_compared_with_the_one_that_the_record_names() -> None:
    preprint = {"id": "2611.00001", "version": 3}
    assert version_doubt({"arxiv_version": 3}, preprint) is None
    assert (
        version_doubt({"arxiv_version": None}, preprint) is None and version_doubt({"arxiv_version": 1}, None) is None
    )
    assert "version 1 of 2611.00001" in str(version_doubt({"arxiv_version": 1}, preprint))


# ---- tables of PDFs --------------------------------------------------------------------------------------------

LAID_OUT = """
We compare the methods below, and ours is the best of them in all cases that were tried here.
                          CIFAR-10             ImageNet
Method                 Acc.     Loss        Acc.    Loss
ERM                    80.1     0.61        70.2    1.20
Ours (small)           82.0      0.5        71.9    1.10
Ours                   84.3     0.47           -    1.00
Table 3: Results on the test split.
The results stand in Table 3; the difference is 4.2 points.
"""


def page(text: str, number: int = 5) -> Page:
    return Page(number, text, tuple(text.strip("\n").splitlines()))


def test_a_laid_out_table_has_heads_caption_and_page() -> None:
    (found,) = tables([page(LAID_OUT)])
    assert (found.number, found.caption, found.label) == (1, "Results on the test split.", "page 5")
    texts = {(cell.row_head, cell.column): cell.text for cell in found.cells}
    assert texts["ERM", 1] == "80.1" and texts["Ours (small)", 2] == "0.5" and texts["Ours", 4] == "1.00"
    assert texts["Ours", 3] == "-"
    heads = {cell.column: cell.column_head for cell in found.cells}
    assert all(name in heads[column] for column, name in ((1, "Acc."), (2, "Loss"), (3, "Acc."), (4, "Loss")))


def test_running_text_in_two_columns_is_no_table() -> None:
    left = "we train the model for ten epochs on the data set of"
    lines = "\n".join(f"{left}          and so in 2024 there were {n}    1{n}" for n in range(4))
    assert tables([page(lines)]) == []
    assert tables([page("Only prose here.\nAnd a number 84.3 in it.\n")]) == [] and tables([]) == []
