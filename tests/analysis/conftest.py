"""Fixtures of the analysis tests; without the extra ``analysis`` there is nothing to test."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pandas")
pytest.importorskip("statsmodels")

from analysis_helpers import PUBLISHED, RELEASE, card, write_attempt

from reclaim_nb.analysis.frames import Runs, load_runs
from reclaim_nb.analysis.importing import import_published


@pytest.fixture
def release(tmp_path: Path) -> Runs:
    """The small release, imported."""
    import_published(RELEASE, tmp_path / "runs")
    return load_runs(tmp_path / "runs")


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """The table of the 372 published runs, imported."""
    if not PUBLISHED.is_file():
        pytest.skip("the table of the published runs is not here")
    runs = tmp_path_factory.mktemp("published")
    import_published(PUBLISHED, runs)
    return load_runs(runs)


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    """A runs folder with every way an attempt can stand."""
    runs = tmp_path / "runs"
    won = {"outcome": "reproduced", "submitted": "0.99", "value": "0.99", "place": "inside"}
    miss = {"outcome": "near_miss", "cause": "C14", "submitted": "0.99", "value": "0.97", "place": "near"}
    for repeat in (1, 2, 3):
        write_attempt(runs, card("p1"), "good", repeat=repeat, **won)
    write_attempt(runs, card("p2", "reimplement"), "good", tier="reimplement", **miss)
    write_attempt(runs, card("p1"), "poor", outcome="disqualified", cause="C12", submitted="0.99", hours="0.001")
    write_attempt(runs, card("p1"), "poor", repeat=2, **won)
    write_attempt(runs, card("p1"), "poor", repeat=3, outcome="not_reproduced", cause="C07", hours="0.05")
    write_attempt(runs, card("p2", "reimplement"), "poor", tier="reimplement", outcome="needs_human")
    write_attempt(runs, card("p3"), "poor", outcome="blocked", cause="C05")
    write_attempt(runs, card("p4"), "poor", reason="infrastructure_error")
    write_attempt(runs, card("p4"), "poor", again=2, **won)
    write_attempt(runs, card("p5"), "poor", reason="cancelled")
    write_attempt(runs, card("p6"), "poor", reason=None)
    return runs
