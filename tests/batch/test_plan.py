"""A plan is data: what it declares, in which order, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from batch_helpers import quick_plan
from hypothesis import given
from hypothesis import strategies as st

from reclaim_nb.batch.plan import Declared, declare, differing_fields, load_plan, make_plan
from reclaim_nb.errors import AttemptError, CardError


def test_a_plan_declares_papers_times_agents_times_conditions_times_repeats() -> None:
    plan = quick_plan(repeats=3, conditions=[[], ["checklist"]])
    keys = [one.key for one in declare(plan, "runs")]
    assert len(keys) == len(set(keys)) == 2 * 2 * 2 * 3
    assert "small/iforest-breastw/constant-checklist/03" in keys


def test_cheapest_papers_come_first_and_given_keeps_the_order() -> None:
    papers = ["small/ngboost-boston-nll", "small/ntk-relu-gradient-angle"]
    cheapest = [one.paper for one in declare(quick_plan(papers=papers, agents=["nothing"]), "runs")]
    given_order = [one.paper for one in declare(quick_plan(papers=papers, agents=["nothing"], order="given"), "runs")]
    assert cheapest == ["ntk-relu-gradient-angle", "ngboost-boston-nll"]
    assert given_order == ["ngboost-boston-nll", "ntk-relu-gradient-angle"]


def test_a_whole_suite_is_declared_without_broken_and_provisional_cards() -> None:
    plan = make_plan({"name": "s", "suite": "small", "agents": ["nothing"]})
    assert len(declare(plan, "runs")) == 9


def test_a_declared_attempt_survives_the_way_to_another_process() -> None:
    for one in declare(quick_plan(conditions=[["nudge"]]), "runs"):
        assert Declared.from_json(one.to_json()) == one


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"agents": []}, "agents"),
        ({"papers": []}, "name a suite or papers"),
        ({"settings": {"colour": "blue"}}, "settings has no colour"),
        ({"settings": {"paper": "small/iforest-breastw"}}, "settings has no paper"),
        ({"repeats": 0}, "repeats"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_a_wrong_plan_is_refused_with_the_field(change: dict[str, object], words: str) -> None:
    with pytest.raises(AttemptError, match=words):
        quick_plan(**change)


def test_agents_that_cannot_be_told_apart_are_refused() -> None:
    with pytest.raises(AttemptError, match="asks twice"):
        declare(quick_plan(agents=["constant", "constant"]), "runs")


def test_an_unknown_paper_is_named() -> None:
    with pytest.raises(CardError, match="no-such-paper"):
        declare(quick_plan(papers=["small/no-such-paper"]), "runs")


def test_a_file_that_is_no_plan_is_named(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text("name: [")
    with pytest.raises(AttemptError, match=r"plan\.yaml"):
        load_plan(file)


@given(
    st.dictionaries(st.sampled_from(["kernel", "turns", "network", "memory_mib"]), st.integers(1, 5)),
    st.dictionaries(st.sampled_from(["kernel", "turns", "network", "memory_mib"]), st.integers(1, 5)),
)
def test_two_plans_differ_exactly_where_their_settings_do(one: dict[str, int], two: dict[str, int]) -> None:
    names = differing_fields(quick_plan(settings=one), quick_plan(settings=two, repeats=7, agents=["copy"]))
    expected = {f"settings.{name}" for name in one.keys() | two.keys() if one.get(name) != two.get(name)}
    assert set(names) == expected
