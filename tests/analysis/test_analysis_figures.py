"""Figures: every one draws from any runs, in both themes and sizes, and shows what it is said to show."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pytest
from analysis_helpers import card, write_attempt
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.image import imread

from reclaim_nb.analysis.figures import FIGURES, figure
from reclaim_nb.analysis.figures.style import darken, look
from reclaim_nb.analysis.frames import Runs, load_runs
from reclaim_nb.analysis.markup import png
from reclaim_nb.errors import ReclaimError

WHOLE = sorted(set(FIGURES) - {"timeline"})


def pixels(drawn: Figure) -> np.ndarray:  # type: ignore[type-arg]
    buffer = io.BytesIO()
    drawn.savefig(buffer, format="png", dpi=60)
    buffer.seek(0)
    return imread(buffer)[:, :, :3]


def texts(drawn: Figure) -> str:
    found = [
        text.get_text() for axes in drawn.axes for text in axes.findobj(lambda artist: hasattr(artist, "get_text"))
    ]
    return "\n".join([*found, drawn._supxlabel.get_text() if drawn._supxlabel else ""])  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_figure_stands_on_its_theme(name: str, theme: str, batch: Path) -> None:
    image = pixels(figure(name)(load_runs(batch), theme=theme))
    ground = np.array(to_rgb(look(theme).ground))  # type: ignore[arg-type]
    assert np.abs(image[0, 0] - ground).max() < 0.01
    assert (np.abs(image - ground).max(axis=2) > 0.2).mean() > 0.005  # something is drawn


@pytest.mark.slow
@pytest.mark.parametrize("name", WHOLE)
def test_every_figure_draws_imported_runs_and_none_at_all(name: str, release: Runs) -> None:
    assert pixels(figure(name)(release)).size
    nothing = release.only(batch="no such batch")
    assert "no " in texts(figure(name)(nothing))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*WHOLE, "timeline"])
def test_names_of_others_are_drawn_as_text(name: str, tmp_path: Path) -> None:
    hostile = "a$\\frac{1}{0}$\n\x1b[31m\u202e<script>%s{}"
    for paper, tier in (("p1", "run"), ("p2", "retrain")):
        document = card(paper, tier, title=hostile, area=hostile)
        folder = write_attempt(tmp_path, document, hostile, tier=tier, outcome="not_reproduced", cause="C14")
    runs = load_runs(tmp_path)
    extra = [str(folder.path.relative_to(tmp_path))] if name == "timeline" else []
    assert pixels(figure(name)(runs, *extra)).size


def test_success_shows_counts_and_published_marks(published: Runs) -> None:
    shown = texts(figure("success")(published))
    for text in ("14/34", "9/33", "5/33", "published best 41 %", "published best 27 %", "published best 15 %"):
        assert text in shown
    assert "published" not in texts(figure("success")(published, references=False))


def test_causes_shows_how_many_failed(published: Runs) -> None:
    shown = texts(figure("causes")(published))
    assert "unchecked build  C01" in shown
    assert "reimplement: 112" in shown


def test_spend_shows_means_and_what_is_not_known(published: Runs) -> None:
    shown = texts(figure("spend")(published))
    assert "mean 31.4 %" in shown  # run tier
    assert "not known" in shown  # the table of runs alone holds no needs


def test_timeline_shows_spend_against_budget(release: Runs) -> None:
    shown = texts(figure("timeline")(release, "published/neurips2025/2501.00001/alpha/01"))
    assert "spent 1.5 H100-hours" in shown
    assert "need 2" in shown
    assert "budget 8" in shown  # beyond the axis, and so said in words
    with pytest.raises(ReclaimError, match="no attempt"):
        figure("timeline")(release, "published/none")


def test_figures_leave_no_state_behind(release: Runs) -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    figure("success")(release, theme="dark", size="paper")
    assert dict(matplotlib.rcParams) == before
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()


def test_sizes_fit_a_page_and_a_screen(release: Runs) -> None:
    page, screen = (figure("success")(release, size=size) for size in ("paper", "screen"))
    assert page.get_figwidth() <= 6.5  # text width of a page with one-inch margins
    assert screen.get_figwidth() * screen.dpi <= 1100


def test_unknown_figures_are_named(release: Runs) -> None:
    with pytest.raises(ReclaimError, match="success"):
        figure("pie")


@pytest.mark.slow
@pytest.mark.parametrize("name", [*WHOLE, "timeline"])
def test_a_darkened_figure_is_the_dark_one(name: str, batch: Path) -> None:
    runs = load_runs(batch)
    given = [runs.attempts["attempt"].iloc[0]] if name == "timeline" else []
    draw = figure(name)
    drawn = draw(runs, *given)
    light = png(drawn)
    darken(drawn)
    assert png(drawn) == png(draw(runs, *given, theme="dark")) != light
