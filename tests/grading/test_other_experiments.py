"""Another row, the baseline, or another checkpoint in place of what is to be measured (C09, C10)."""

from __future__ import annotations

from pathlib import Path

import pytest

from reclaim_nb.papers.card import Sibling
from reclaim_nb.papers.loading import LoadedCard
from tests.grading.made import SHIPPED, C, make, toy


def card(claim: str = "A model reaches 84.3 % top-1 on the test split.") -> LoadedCard:
    held = toy()
    siblings = (Sibling(what="M-large", value="86.7"), Sibling(what="M-close", value="84.5"))
    target = held.card.target.model_copy(update={"siblings": siblings, "claim": claim})
    return LoadedCard(held.card.model_copy(update={"target": target}), held.path, held.sha256)


@pytest.mark.parametrize(
    ("printed", "outcome", "cause"),
    [
        ("86.7", "not_reproduced", "C09"),
        ("86.72", "not_reproduced", "C09"),
        ("86.8", "not_reproduced", "C14"),
        ("83.1", "not_reproduced", "C10"),  # the baseline's own number
        ("84.5", "reproduced", None),  # also a sibling's, but inside
    ],
)
def test_a_miss_with_another_numbers_digits_is_another_experiment(
    printed: str, outcome: str, cause: str | None, tmp_path: Path
) -> None:
    cells = [C("m = get(name)"), C("print('top-1', 100 * evaluate(m, test))", [f"top-1 {printed}\n"])]
    verdict = make(tmp_path / "attempt", cells, card()).verdict()
    assert (verdict.outcome, verdict.cause) == (outcome, cause)


LOAD = "m = load_weights(attempt.release / 'ckpt' / '{}')"
SHOW = C("print('top-1', 100 * evaluate(m, test))", ["top-1 84.2\n"])


@pytest.mark.parametrize(
    ("name", "more", "cause"),
    [
        ("base.pt", "", "C10"),
        ("final.pt", "", None),
        ("base.pt", "\nm.fit(data)", None),
    ],
    ids=["base", "final", "base, then trained"],
)
def test_the_base_checkpoint_in_place_of_the_finished_one(
    name: str, more: str, cause: str | None, tmp_path: Path
) -> None:
    made = make(tmp_path / "attempt", [C(LOAD.format(name) + more), SHOW], card(), intake=SHIPPED)
    assert made.verdict().cause == cause


def test_the_base_checkpoint_is_right_where_the_claim_is_about_it(tmp_path: Path) -> None:
    about_base = card("The base model reaches 84.3 % top-1.")
    made = make(tmp_path / "attempt", [C(LOAD.format("base.pt")), SHOW], about_base, intake=SHIPPED)
    assert made.verdict().outcome == "reproduced"


@pytest.mark.parametrize(
    ("said", "more", "cause"),
    [
        ("_IncompatibleKeys(missing_keys=['head.weight'], unexpected_keys=[])\n", "", "C10"),
        ("Some weights of Net were not initialized from the model checkpoint and are newly initialized\n", "", "C10"),
        ("_IncompatibleKeys(missing_keys=[], unexpected_keys=[])\n", "", None),
        ("_IncompatibleKeys(missing_keys=['head.weight'], unexpected_keys=[])\n", "m.fit(data)", None),
    ],
    ids=["keys", "weights", "none missing", "then trained"],
)
def test_weights_that_were_loaded_in_part_measure_something_else(
    said: str, more: str, cause: str | None, tmp_path: Path
) -> None:
    cells = [C("m = get(name)\nprint(m.load(state, strict=False))", [said]), C(more or "pass"), SHOW]
    assert make(tmp_path / "attempt", cells, card()).verdict().cause == cause
