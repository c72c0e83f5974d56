"""A plan is data: what it declares, in which order, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from batch_helpers import quick_plan
from hypothesis import given
from hypothesis import strategies as st

from reclaim_nb.batch.plan import Declared, declare, differing_fields, load_plan, make_plan
from reclaim_nb.batch.settle import vars_of
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


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected keys with values, found nothing"),
        ("- name", "expected keys with values"),
        ("name: q\nsuite: small\nagents: [replay]\nrepeat: 3", "did you mean 'repeats'?"),
        ("name: q\nsuite: small\nagents: []", "field 'agents': expected at least 1"),
        ("name: q\nsuite: small\nagents: [5]", "field 'agents[0]': expected keys with values, found 5"),
        ("name: q\npapers: small/a\nagents: replay", "field 'papers': expected a list, found 'small/a'"),
        ("name: q\nagents: [replay]", "name a suite or papers"),
        ("name: q\nsuite: small\nagents: [replay]\nsettings: {kernal: local}", "kernal (did you mean 'kernel'?)"),
        ("name: q\nname: r\nsuite: small\nagents: [replay]", "plan.yaml:2: not valid YAML: the key 'name'"),
        ("name: q\n  suite: small", "plan.yaml:2: not valid YAML"),
    ],
)
def test_a_mistake_in_a_plan_is_told_in_one_line_of_plain_words(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(text)
    with pytest.raises(AttemptError) as told:
        load_plan(file)
    assert says in str(told.value)
    assert len(str(told.value).splitlines()) == 1
    for foreign in ("Input", "instance", "Tuple", "Extra", "Value error", "[Errno"):
        assert foreign not in str(told.value)


def test_a_plan_file_that_is_not_there_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(AttemptError, match=r"nope\.yaml: there is no such file$"):
        load_plan(tmp_path / "nope.yaml")


def test_a_single_agent_may_stand_without_a_list(tmp_path: Path) -> None:
    assert [one.name for one in quick_plan(agents="constant").agents] == ["constant"]


def test_numbers_of_a_plan_keep_their_kind(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text("name: q\nsuite: small\nagents: [replay]\nsettings: {cell_seconds: 1.5}")
    assert type(load_plan(file).settings["cell_seconds"]) is float


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


def test_hosts_of_an_allow_list_survive_the_way_to_another_process() -> None:
    for hosts in (["a.example", ".b.example"], "a.example,.b.example"):
        plan = quick_plan(settings={"network": "allowlist", "allow": hosts})
        request = declare(plan, "runs")[0].request
        assert request.allow == ("a.example", ".b.example")
        assert vars_of(request)["allow"] == "a.example,.b.example"
        again = Declared.from_json(declare(plan, "runs")[0].to_json()).request
        assert again == request
