"""The calibration that ships with the package and stands beside results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reclaim_nb.grading.calibration import known
from reclaim_nb.grading.calibration.scenarios import builtin


def test_the_summary_that_ships_is_of_these_rules_and_these_scenarios() -> None:
    held = json.loads(known.SUMMARY.read_text("utf-8"))
    assert held["grader_version"] == known.grader_version(), "the rules changed: `make calibration`"
    assert held["attempts"] == sum(1 + len(scenario.also) for scenario in builtin()), "`make calibration`"
    assert held["as_labelled"] == held["attempts"]
    assert "precision 1.00 (0." in known.known_text()


def test_a_summary_of_other_rules_is_not_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = tmp_path / "builtin.json"
    held = json.loads(known.SUMMARY.read_text("utf-8"))
    other.write_text(json.dumps({**held, "grader_version": "0.0.1+1"}))
    for path in (other, tmp_path / "absent.json"):
        monkeypatch.setattr(known, "SUMMARY", path)
        known.known.cache_clear()
        assert "not calibrated" in known.known_text()
    known.known.cache_clear()
