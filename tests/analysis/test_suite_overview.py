"""A suite at a glance: the command's table and the figure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reclaim_nb.analysis.figures import figure
from reclaim_nb.analysis.suites import suite_runs
from reclaim_nb.cli import main
from reclaim_nb.papers.suite import find_suite


def test_the_frame_of_the_hundred_adds_up() -> None:
    papers = suite_runs(find_suite("neurips2025")).papers
    assert papers.groupby("tier", observed=True).size().to_dict() == {"run": 34, "retrain": 33, "reimplement": 33}
    assert papers["band"].value_counts().to_dict() == {"0-8": 59, "8-32": 29, "32-96": 12}
    gpu = papers.loc[papers["device"] == "gpu", "need_hours"]
    assert round(float(gpu.sum()), 1) == 1153.8


@pytest.mark.parametrize("suite", ["neurips2025", "small"])
def test_the_figure_shows_every_tier(suite: str) -> None:
    runs = suite_runs(find_suite(suite))
    drawn = figure("overview")(runs)
    said = {text.get_text() for axes in drawn.axes for text in axes.texts}
    labels = [label.get_text().split("\n")[0] for label in drawn.axes[0].get_yticklabels()]
    assert labels == [tier for tier in ("run", "retrain", "reimplement") if (runs.papers["tier"] == tier).any()]
    assert str(int(runs.papers.groupby(["tier", "band"], observed=True).size().max())) in said
    assert f"{len(runs.papers)} papers" in drawn.get_supxlabel()


def test_the_command_prints_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["papers", "overview", "--figure", str(tmp_path / "suite.svg")]) == 0
    said = capsys.readouterr().out
    row = next(line for line in said.splitlines() if line.startswith("all"))
    assert row.split() == ["all", "59", "29", "12", "100", "1,153.8"]
    assert "<svg" in (tmp_path / "suite.svg").read_text()[:1000]


def test_the_command_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["papers", "overview", "small", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["suite"] == "small"
    assert sum(row["papers"] for row in document["tiers"]) == 9
    assert document["figure"] is None


def test_a_figure_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["papers", "overview", "small", "--figure", str(tmp_path / "none" / "suite.svg")]) == 1
    assert "cannot be written" in capsys.readouterr().err
    assert main(["papers", "overview", "small", "--figure", str(tmp_path / "suite.what")]) == 1
