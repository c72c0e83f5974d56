"""What ``reclaim papers check`` finds, one broken thing at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from card_helpers import raw_card

from reclaim_nb.errors import CardError
from reclaim_nb.papers import write_manifest
from reclaim_nb.papers.check import Finding, check_path, check_suite

Write = Callable[..., Path]


def found(toy_suite: Write, **changes: Any) -> list[Finding]:
    folder = toy_suite(raw_card(**changes))
    write_manifest(folder)
    return check_suite(folder)


def target(**changes: Any) -> dict[str, Any]:
    return {**raw_card()["target"], **changes}


def test_a_sound_card_has_no_findings(toy_suite: Write) -> None:
    assert found(toy_suite) == []


_DOUBT = {"state": "doubtful", "reasons": ["known"]}
_BASELINE_INSIDE = target(baseline={"name": "plain", "value": "84.0"})


@pytest.mark.parametrize(
    ("changes", "level", "field"),
    [
        ({"target": _BASELINE_INSIDE}, "error", "criterion"),
        ({"target": _BASELINE_INSIDE, "audit": _DOUBT}, "warning", "criterion"),
        (
            {"target": _BASELINE_INSIDE, "strict": {"rule": "at_least", "low": "84.1", "basis": "above the baseline"}},
            "note",
            "criterion",
        ),
        ({"target": _BASELINE_INSIDE, "strict": {"rule": "at_least", "low": "84", "basis": "x"}}, "error", "strict"),
        ({"target": target(siblings=[{"what": "val", "value": "84.5"}])}, "error", "criterion"),
        ({"target": target(siblings=[{"what": "val", "value": "0.845", "unit": "fraction"}])}, "error", "criterion"),
        ({"criterion": {"rule": "at_most", "high": "80", "basis": "x"}}, "error", "criterion"),
        (
            {"criterion": {"rule": "beats", "baseline": {"name": "b", "value": "90"}, "basis": "x"}},
            "error",
            "criterion",
        ),
        ({"criterion": {"rule": "within", "low": "60", "high": "110", "basis": "x"}}, "note", "criterion.high"),
        ({"criterion": {"rule": "within", "low": "84.3", "high": "84.3", "basis": "x"}}, "warning", "criterion"),
        ({"need": {"hours": "5"}}, "error", "budget.hours"),
        ({"need": {"hours": "5"}, "audit": _DOUBT}, "warning", "budget.hours"),
        ({"need": {"hours": None}}, "warning", "need.hours"),
        ({"gold": {"value": "80", "route": "make", "device": "cpu"}}, "error", "gold.value"),
        ({"release": {"code": {"url": "u"}, "data": [{"name": "d"}], "weights": {}}}, "warning", "release.weights"),
        ({"release": {"code": {"url": "u"}, "weights": {"url": "w"}}}, "note", "release.data"),
        (
            {"anchors": [{"name": "a", "what": "top-1 accuracy", "value": "84.3", "unit": "percent"}]},
            "error",
            "anchors[0]",
        ),
        ({"anchors": [{"name": "a", "what": "rows", "value": -1, "unit": "count"}]}, "error", "anchors[0].value"),
        ({"target": target(unit="widgets")}, "note", "target.unit"),
    ],
)
def test_each_flaw_is_found_at_its_field(toy_suite: Write, changes: dict[str, Any], level: str, field: str) -> None:
    assert (level, field) in [(f.level, f.field) for f in found(toy_suite, **changes)]


def test_a_gold_run_outside_the_bar_is_settled_by_a_broken_audit(toy_suite: Write) -> None:
    gold = {"value": "80", "route": "make", "device": "cpu"}
    broken = {"state": "broken", "reasons": ["the gold run gives 80"]}
    assert found(toy_suite, gold=gold, audit=broken) == []


def test_findings_name_paper_and_field_in_one_line(toy_suite: Write) -> None:
    (finding,) = found(toy_suite, need={"hours": "5"})
    assert str(finding) == "error: toys/toy-cls: budget.hours: need 5 exceeds budget 4 H100-hours"


def test_the_id_must_be_the_folders_name(toy_suite: Write) -> None:
    folder = toy_suite()
    (folder / "toy-cls").rename(folder / "other")
    write_manifest(folder)
    assert [f.field for f in check_suite(folder)] == ["id"]


def test_manifest_faults_are_errors(toy_suite: Write) -> None:
    folder = toy_suite()
    assert next((f.level, f.field) for f in check_suite(folder)) == ("error", "suite.yaml")
    write_manifest(folder)
    card = folder / "toy-cls" / "paper.yaml"
    card.write_text(card.read_text(encoding="utf-8") + "notes: changed\n", encoding="utf-8")
    assert ["differs" in f.message for f in check_suite(folder)] == [True]


def test_the_same_target_twice_is_an_error_and_the_same_paper_twice_a_note(toy_suite: Write) -> None:
    other = raw_card(id="toy-two", arxiv="2501.00001", target=target(scope="another"))
    folder = toy_suite(raw_card(arxiv="2501.00001"), raw_card(id="toy-three"), raw_card(id="toy-four"), other)
    write_manifest(folder)
    levels = {f.field: f.level for f in check_suite(folder)}
    assert levels == {"target": "error", "arxiv": "note"}


def test_files_that_contradict_the_tier_are_errors(toy_suite: Write) -> None:
    folder = toy_suite()
    write_manifest(folder)
    (folder / "toy-cls" / "release").mkdir()
    (folder / "toy-cls" / "solution.ipynb").write_text("{}", encoding="utf-8")
    assert [f.field for f in check_suite(folder)] == ["release", "paper.md"]


def test_a_broken_card_is_one_finding_and_the_rest_is_still_checked(toy_suite: Write) -> None:
    folder = toy_suite(raw_card(need={"hours": "5"}), raw_card(id="bad", device="tpu"))
    findings = [f for f in check_suite(folder) if f.field != "suite.yaml"]
    assert [f.field for f in findings] == ["card", "budget.hours"]
    assert [f.field for f in check_path(folder / "bad")] == ["card"]
    assert [f.field for f in check_path(folder / "toy-cls" / "paper.yaml")] == ["budget.hours"]


def test_nothing_to_check_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CardError):
        check_path(tmp_path / "none")
