"""Figures of many attempts by name, each one function; more come in by entry point."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from reclaim_nb.errors import ReclaimError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    FigureFunction = Callable[..., Figure]

GROUP = "reclaim_nb.figures"

FIGURES: dict[str, tuple[str, str]] = {
    "success": ("reclaim_nb.analysis.figures.success:success", "Reproduced, by tier and agent"),
    "spend": ("reclaim_nb.analysis.figures.spend:spend", "What failed attempts spent"),
    "causes": ("reclaim_nb.analysis.figures.causes:causes", "Why attempts failed"),
    "success_by_spend": ("reclaim_nb.analysis.figures.spend:success_against_spend", "Success against spend"),
    "overview": ("reclaim_nb.analysis.figures.overview:overview", "The papers"),
    "agreement": ("reclaim_nb.analysis.figures.agreement:agreement", "Agreement of graders"),
    "timeline": ("reclaim_nb.analysis.figures.timeline:timeline", "One attempt over time"),
}
"""Where each figure is, and its title. ``timeline`` needs an attempt; the others take all."""


def figure(name: str) -> FigureFunction:
    """Return a figure's function: ``(runs, *, theme="light", size="screen") -> matplotlib Figure``.

    Raises:
        ReclaimError: when there is no figure of that name.
    """
    if name in FIGURES:
        module, _, function = FIGURES[name][0].partition(":")
        found: FigureFunction = getattr(import_module(module), function)
        return found
    for point in entry_points(group=GROUP, name=name):
        loaded: FigureFunction = point.load()
        return loaded
    raise ReclaimError(f"there is no figure '{name}'; there are {', '.join(sorted(FIGURES))}")
