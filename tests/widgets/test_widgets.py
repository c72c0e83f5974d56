"""Widgets: what is shown is plain HTML, what is chosen changes it, and the notebook that tells the story runs."""

from __future__ import annotations

import asyncio
import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")
pytest.importorskip("statsmodels")
pytest.importorskip("ipywidgets")

sys.path.insert(0, str(Path(__file__).parent.parent / "analysis"))
from analysis_helpers import RELEASE, card, write_attempt

from reclaim_nb.analysis.frames import load_runs
from reclaim_nb.analysis.importing import import_published
from reclaim_nb.analysis.what_if import flipped, what_if, widened
from reclaim_nb.errors import ReclaimError
from reclaim_nb.papers.criterion import Band
from reclaim_nb.widgets import BatchMonitor, BudgetView, RaterPanel, RunsExplorer, TierSummary, WhatIf
from reclaim_nb.widgets.rating import agreement
from reclaim_nb.widgets.view import View

TEMPLATE = Path(__file__).parents[2] / "templates" / "explore.ipynb"
NASTY = "<script>alert(1)</script>"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """The target is 0.99 and reproduced from 0.98 on, by the strict bar from 0.985 on."""
    runs = tmp_path / "runs"
    won = {"outcome": "reproduced", "submitted": "0.99", "value": "0.99", "place": "inside"}
    miss = {"outcome": "near_miss", "cause": "C14", "submitted": "0.975", "value": "0.975", "place": "near"}
    write_attempt(runs, card("p1"), "good", **won)
    write_attempt(runs, card("p1"), "poor", **{**won, "value": "0.981"})
    write_attempt(runs, card("p2", "reimplement", title=NASTY), "good", tier="reimplement", **miss)
    write_attempt(runs, card("p2", "reimplement"), "poor", tier="reimplement", outcome="disqualified", cause="C12")
    write_attempt(runs, card("p3"), "good", hours="0.04", **won)
    write_attempt(runs, card("p3"), "poor", reason=None)
    return runs


def outcomes(frame: Any) -> dict[str, str]:
    kept = frame.dropna(subset=["outcome"])
    return {f"{row.paper} {row.agent}": str(row.outcome) for row in kept[["paper", "agent", "outcome"]].itertuples()}


def test_a_wider_band_and_a_stricter_rule_decide_by_distance_alone(runs: Path) -> None:
    loaded = load_runs(runs)
    same = outcomes(what_if(loaded))
    assert same == outcomes(loaded.attempts)
    wide = outcomes(what_if(loaded, tolerance=Decimal("1.5")))
    assert wide == {**same, "p2 good": "reproduced"}
    assert wide["p2 poor"] == "disqualified"
    strict = outcomes(what_if(loaded, rule="strict"))
    assert strict["p1 poor"] == "near_miss" and strict["p1 good"] == "reproduced"
    table = flipped(what_if(loaded, rule="strict"))
    assert table[["paper", "before", "then", "gained", "lost"]].to_numpy().tolist() == [["p1", 2, 1, 0, 1]]


def test_less_budget_takes_results_that_cost_more(runs: Path) -> None:
    frame = what_if(load_runs(runs), budget=Decimal("0.5"))
    after = outcomes(frame)
    assert after["p3 good"] == "not_reproduced" and after["p1 good"] == "reproduced"
    assert frame.set_index(["paper", "agent"]).loc[("p3", "good"), "cause"] == "C06"


@pytest.mark.parametrize(
    ("low", "high", "times", "expected"),
    [
        ("3.9", "4.1", "2", ("3.8", "4.2")),
        ("3.9", "4.1", "0.5", ("3.95", "4.05")),
        ("3.9", "4.01", "0.1", ("3.99", "4")),  # a short side never crosses the claimed value
        (None, "4.1", "0", (None, "4")),
    ],
)
def test_bounds_move_away_from_the_claimed_value(
    low: str | None, high: str, times: str, expected: tuple[str | None, str]
) -> None:
    band = Band(Decimal(low) if low else None, Decimal(high), Decimal("0.1"), 2)
    moved = widened(band, Decimal(times), Decimal(4))
    assert (moved.low, moved.high) == tuple(Decimal(bound) if bound else None for bound in expected)


@pytest.mark.parametrize("kind", [TierSummary, BudgetView, RunsExplorer, WhatIf])
def test_what_is_shown_is_html_in_which_nothing_runs(kind: type[View], runs: Path) -> None:
    view = kind(runs)  # type: ignore[call-arg]
    shown = view.html()
    assert "<table" in shown and "<script" not in shown
    assert view.controls() is not None
    assert load_runs(runs).attempts["agent"].iloc[0] in shown


def test_tiers_and_batches_can_be_chosen(runs: Path) -> None:
    view = TierSummary(runs)
    view.choose(tier="reimplement")
    assert ">retrain<" not in view.html() and ">reimplement<" in view.html()
    view.choose(tier="run")
    assert "No attempt is among these" in view.html()
    controls = view.controls()
    controls.children[1].value = "retrain"
    assert view.tier == "retrain"


def test_explorer_filters_by_words_and_outcome(runs: Path) -> None:
    view = RunsExplorer(runs)
    view.choose(words="p2 GOOD near miss")
    assert list(view.found()["paper"]) == ["p2"]
    view.choose(words="", outcome="disqualified")
    assert list(view.found()["agent"]) == ["poor"]
    view.choose(words="nothing like it")
    assert "Nothing fits" in view.html()
    controls = view.controls()
    controls.children[2].value = "reproduced"
    assert view.chosen["outcome"] == "reproduced"


def test_monitor_counts_what_runs_and_what_is_left(runs: Path) -> None:
    monitor = BatchMonitor(runs, "b")
    frame = monitor.progress().set_index("agent")
    assert frame.loc["good", "ended"] == 3 and frame.loc["good", "reproduced"] == 2
    assert frame.loc["poor", "broken off"] + frame.loc["poor", "running"] == 1
    assert "5 of 6 attempts have ended" in monitor.html()
    assert "declared yet" in BatchMonitor(runs, "other").html()
    assert "<table" not in BatchMonitor(runs / "none", "b").html()


async def _watched(monitor: BatchMonitor) -> None:
    await asyncio.wait_for(monitor.watch(0.01), 30)


def test_watching_ends_with_the_batch(runs: Path) -> None:
    asyncio.run(_watched(BatchMonitor(runs, "b")))


def test_what_if_shows_rates_and_the_cards_that_flip(runs: Path) -> None:
    view = WhatIf(runs)
    assert "No result changes" in view.html()
    controls = view.controls()
    controls.children[0].value = 2.0
    assert view.tolerance == 2 and "1 papers at which" in view.html()
    controls.children[1].value = "strict"
    assert view.rule == "strict"


def test_raters_see_no_agent_and_no_verdict_and_their_agreement_is_computed(runs: Path, tmp_path: Path) -> None:
    pytest.importorskip("krippendorff")
    names = list(load_runs(runs).attempts.query("state == 'ended'")["attempt"])
    prose = {"cell_type": "markdown", "source": "I have reproduced it", "metadata": {}}
    code = {"cell_type": "code", "source": NASTY, "metadata": {"reclaim": {"author": "agent"}}}
    code["outputs"] = [{"output_type": "stream", "text": "auc 0.981"}]
    for name in names:
        (runs / name / "attempt.ipynb").write_text(json.dumps({"cells": [prose, code]}), "utf-8")
    answers = tmp_path / "ratings"
    with pytest.raises(ReclaimError, match="inside of the runs folder"):
        RaterPanel(runs, "ann", runs / "ratings")
    with pytest.raises(ReclaimError, match="name"):
        RaterPanel(runs, "../ann", answers)
    panel = RaterPanel(runs, "ann", answers)
    shown = panel.html()
    assert "auc 0.981" in shown and "&lt;script&gt;" in shown
    for hidden in ("I have reproduced it", "good", "poor", "near miss", "<script"):
        assert hidden not in shown
    while panel.current is not None:
        panel.rate("near_miss" if "p2" in panel.current else "reproduced")
    assert "only rater" in panel.html()
    other = RaterPanel(runs, "ben", answers)
    controls = other.controls()
    controls.children[0].value = "reproduced"
    controls.children[2].click()
    assert len(RaterPanel(runs, "ben", answers).ratings) == 1  # labelling goes on another day
    while other.current is not None:
        other.rate("near_miss" if "p2" in other.current else "reproduced")
    assert "Agreement of 2 raters" in other.html()
    found = agreement(answers)
    assert found["outcome"] is not None and found["outcome"] > 0


@pytest.mark.slow
def test_the_story_of_a_batch_runs_and_is_kept_in_the_file(tmp_path: Path) -> None:
    papermill = pytest.importorskip("papermill")
    import_published(RELEASE, tmp_path / "runs")
    papermill.execute_notebook(
        str(TEMPLATE), str(tmp_path / "out.ipynb"), {"runs": str(tmp_path / "runs")}, progress_bar=False
    )
    notebook = json.loads((tmp_path / "out.ipynb").read_text("utf-8"))
    html = [
        "".join(output["data"]["text/html"])
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
        if "text/html" in output.get("data", {})
    ]
    assert len(html) >= 4 and all("reclaim-view" in text for text in html)
    assert not any("<script" in text for text in html)


def test_controls_say_what_they_are_where_they_cannot_be_shown(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", lambda one, **_: shown.append(one))
    RunsExplorer(runs)._ipython_display_()
    controls, table = (one._repr_mimebundle_() for one in shown)
    assert controls["application/vnd.jupyter.widget-view+json"]["model_id"]
    assert "kernel" in controls["text/plain"] and "attempts." in table["text/html"]
