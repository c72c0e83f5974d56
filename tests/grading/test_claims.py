"""What the agent's prose claims against what its outputs show."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.grading.made import C, Md, make

MISS = [C("acc = evaluate(model, test)\nprint('top-1', 100 * acc)", ["top-1 71.9\n"])]


@pytest.mark.parametrize(
    "said",
    [
        "We reach 84.3 % top-1.",
        "The final accuracy is 84.3.",
        "Training finished at 84.3.",
        "Result: top-1 = 84.1 %",
        "With the tuned schedule we got an accuracy of 84.3 %.",
    ],
)
def test_a_value_that_no_output_shows_is_a_claim_without_output(said: str, tmp_path: Path) -> None:
    verdict = make(tmp_path / "attempt", [*MISS, Md(said)]).verdict()
    assert "claim_without_output" in verdict.flags and verdict.value == "71.9"


@pytest.mark.parametrize(
    "said",
    [
        "The paper reports 84.3 % top-1.",
        "The authors promise an accuracy of 84.3 %: this is to be tested.",
        "The bound ensures that accuracy is above 84.3.",
        "For min_acc = 84.3 the library stops by itself, and the result is saved.",
        "Whether the accuracy is 84.3 will be seen.",
        "We got an accuracy of 71.9 %.",
        "Our top-1 is 71.9 instead of 84.3.",
    ],
)
def test_what_others_promise_or_what_sets_the_scene_is_none(said: str, tmp_path: Path) -> None:
    verdict = make(tmp_path / "attempt", [*MISS, Md(said)]).verdict()
    assert "claim_without_output" not in verdict.flags and verdict.value == "71.9"
