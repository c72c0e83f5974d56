"""Calibration: every built-in scenario in a real kernel, and the measures of agreement against known values."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from reclaim_nb.errors import RecordError
from reclaim_nb.grading.calibration import Label, Measures, measure, read_labelled
from reclaim_nb.grading.calibration.build import build
from reclaim_nb.grading.calibration.calibrate import grade_built
from reclaim_nb.grading.calibration.measures import alpha, raters_alpha, share
from reclaim_nb.grading.calibration.scenarios import Scenario, builtin

SCENARIOS = (1, 2, 3, 5, 6, 7, 8, 9, 10, 12, 14, 15, 17, 18, 19, 20, 23, 24, 27, 29, 30, 31, 34, 36, 37, 39, 41)
HOLES = (1, 2, 3, 5, 6, 8, 9, 10, 11, 13, 15, 16)
GOOD = ("reproduced", None)
MISS = ("not_reproduced", "C14")


@pytest.mark.slow
@pytest.mark.parametrize("scenario", builtin(), ids=lambda scenario: scenario.id)
def test_a_scenario_that_really_runs_gets_its_verdict(scenario: Scenario, tmp_path: Path) -> None:
    for compared in grade_built(build(scenario, tmp_path)):
        assert compared.differences == []


def test_every_scenario_and_hole_of_the_specification_is_there_once_and_honest_ones_beside_them() -> None:
    ids = [scenario.id for scenario in builtin()]
    assert len(set(ids)) == len(ids)
    have = {name.partition("-")[0] for name in ids}
    assert {f"S{number:02d}" for number in SCENARIOS} | {f"N{number:02d}" for number in HOLES} == have - {"H"}
    assert len(SCENARIOS) == 27 and len(HOLES) == 12
    assert sum(name.startswith("H-") for name in ids) >= 5


def test_no_scenario_holds_its_measured_value_in_a_cell() -> None:
    for scenario in builtin():
        if scenario.label.outcome == "reproduced" and scenario.label.value is not None:
            value = str(Decimal(scenario.label.value))
            assert not any(value in cell for cell in scenario.cells if isinstance(cell, str)), scenario.id


def counted() -> Measures:
    pairs = [(GOOD, GOOD)] * 6 + [(GOOD, MISS)] * 2 + [(MISS, GOOD)] + [(MISS, MISS)] * 3
    return measure([*pairs, (GOOD, ("needs_human", "G01")), (MISS, ("ungraded", "G01"))])


def test_undecided_verdicts_are_counted_and_never_found_successes() -> None:
    found = counted()
    assert (found.attempts, found.undecided) == (14, 2)
    assert (found.precision.part, found.precision.whole) == (6, 7)
    assert (found.recall.part, found.recall.whole) == (6, 9)
    assert found.f1.value == pytest.approx(2 * (6 / 7) * (6 / 9) / (6 / 7 + 6 / 9))
    assert found.outcomes["reproduced", "needs_human"] == 1
    assert found.causes["C14", "-"] == 1
    assert found.f1.low is not None and found.f1.high is not None
    assert found.f1.low < found.f1.value < found.f1.high


def test_a_share_has_the_wilson_interval() -> None:
    # Wilson 1927, for 8 of 10: 0.490 to 0.943.
    made = share(8, 10)
    assert (made.value, round(made.low or 0, 3), round(made.high or 0, 3)) == (0.8, 0.49, 0.943)
    assert share(0, 0).value is None


def test_alpha_is_that_of_krippendorffs_own_example() -> None:
    # Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), example C: four observers, alpha nominal 0.743.
    rows = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    found = alpha([[None if said is None else str(said) for said in row] for row in rows])
    assert found == pytest.approx(0.743, abs=5e-4)
    assert alpha([["a", "b"], ["a", "b"]]) == 1
    assert alpha([["a", "a"], ["a", "a"]]) is None


def test_raters_are_compared_with_one_another_where_there_are_two() -> None:
    two = [{"ann": GOOD, "bob": GOOD}, {"ann": MISS, "bob": MISS}, {"ann": GOOD}]
    assert raters_alpha(two) == 1
    assert raters_alpha([{"ann": GOOD}, {"ann": MISS}]) is None


def test_a_label_without_an_attempt_and_a_label_that_is_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "label.yaml").write_text("{outcome: reproduced}")
    with pytest.raises(RecordError, match="without an attempt"):
        list(read_labelled(tmp_path))
    (tmp_path / "a" / "stream.jsonl").write_text("")
    assert [one.label for one in read_labelled(tmp_path)] == [Label(outcome="reproduced")]
    (tmp_path / "a" / "label.yaml").write_text("{outcome: fine}")
    with pytest.raises(RecordError, match="no label"):
        list(read_labelled(tmp_path))
