"""Spend of failed attempts against budget and need, and success against spend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reclaim_nb.analysis.figures.style import MARKERS, Look, bare, canvas, empty, note, percent, styled, tiers_of
from reclaim_nb.analysis.frames import Runs
from reclaim_nb.analysis.spend import MEASURES, failed, spend_of_failed, success_by_spend

_FLOOR = 1e-3
_SEED = 7
_UNDER_THE_TICKS = 0.93
_NAMES = {"of_budget": "share of the budget", "of_need": "multiple of the need"}
PUBLISHED_MEAN = 0.29


@styled
def spend(runs: Runs, look: Look, *, references: bool = True) -> Figure:
    """Draw what each failed attempt spent, by tier: left as a share of the budget, right of the need (log scale).

    Args:
        runs: what is drawn.
        look: given by ``theme`` and ``size``.
        references: draw the published mean.
    """
    lost = failed(runs.attempts)
    tiers = tiers_of(lost) if len(lost) else []
    figure, panels = canvas(look, 1, 2, 1.6 + 0.75 * max(1, len(tiers)), squeeze=False)
    table = spend_of_failed(runs.attempts, by=("tier",)) if tiers else None
    random = np.random.default_rng(_SEED)
    for axes, measure in zip(panels[0], MEASURES, strict=True):
        of_budget = measure == "of_budget"
        axes.set_title(_NAMES[measure])
        known = lost[lost[measure].notna()]
        if table is None or known.empty:
            empty(axes, look, "no failed attempts" if lost.empty else "the need of these papers is not known")
            continue
        for place, tier in enumerate(tiers):
            values = known.loc[known["tier"] == tier, measure].to_numpy(float)
            row = table[(table["tier"] == tier) & (table["measure"] == measure)].to_dict("records")[0]
            shown = np.maximum(values, _FLOOR) if measure == "of_need" else values
            axes.scatter(
                shown, place + random.uniform(-0.26, 0.26, len(shown)), s=look.font * 1.3, marker=MARKERS[tier],
                color=look.tiers[tier], alpha=0.45, lw=0,
            )  # fmt: skip
            axes.plot([row["median"]] * 2, [place - 0.36, place + 0.36], color=look.ink, lw=1.6)
            if of_budget:
                # The mean of shares of the need is ruled by papers that are said to need next to nothing.
                axes.errorbar(row["mean"], place, xerr=_bounds(row), color=look.ink, **_mean_mark(look))
            axes.text(
                1.02,
                place,
                f"mean {100 * row['mean']:.1f} %\nn = {row['n']}"
                if of_budget
                else f"median {row['median']:.2g} ×\nn = {row['n']}",
                transform=axes.get_yaxis_transform(),
                va="center",
                color=look.muted,
                fontsize=look.font * 0.85,
            )
        axes.set_yticks(range(len(tiers)), tiers, color=look.ink)
        axes.set_ylim(len(tiers) - 0.4, -0.85 if references and of_budget else -0.6)
        if of_budget:
            percent(axes)
            axes.set_xlim(-0.02, 1.05)
            if references:
                _published(axes, look)
        else:
            axes.set_xscale("log")
            axes.set_xlim(_FLOOR * 0.8, max(2.0, float(known[measure].max()) * 1.5))
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:,g} ×")
            axes.axvline(1, color=look.muted, lw=1)
        bare(axes)
    note(
        figure,
        look,
        "Each point is one failed attempt (graded, not reproduced). Bar: median; dot and line: mean and its 95 % "
        "interval.\nOn the right, what is below 0.001 stands there; beyond 1, more was spent than the audit says is "
        "needed.",
    )
    return figure


def _bounds(row: Mapping[Any, Any]) -> list[list[float]] | None:
    if not np.isfinite(row["low"]):
        return None
    return [[max(0.0, row["mean"] - row["low"])], [max(0.0, row["high"] - row["mean"])]]


def _mean_mark(look: Look) -> dict[str, Any]:
    return {"fmt": "o", "ms": look.font * 0.6, "mec": look.ground, "capsize": 0, "lw": 2.2}


def _published(axes: Axes, look: Look) -> None:
    axes.axvline(PUBLISHED_MEAN, color=look.reference, lw=1.1, ls=(0, (4, 3)), zorder=0.5)
    axes.annotate(
        "published mean 29 %", (PUBLISHED_MEAN, 1), xycoords=("data", "axes fraction"), xytext=(4, -2),
        textcoords="offset points", va="top", fontsize=look.font * 0.78, color=look.reference,
    )  # fmt: skip


@styled
def success_against_spend(runs: Runs, look: Look) -> Figure:
    """Draw the share reproduced among graded attempts that spent a like share of their budget; each attempt as a tick.

    Args:
        runs: what is drawn.
        look: given by ``theme`` and ``size``.
    """
    table = success_by_spend(runs.attempts)
    table = table[table["n"] > 0]
    figure, axes = canvas(look, height=3.6)
    if table.empty:
        empty(axes, look, "no graded attempts")
        return figure
    graded = runs.attempts[runs.attempts["standing"].isin(("success", "failure")) & runs.attempts["of_budget"].notna()]
    random = np.random.default_rng(_SEED)
    for tier in tiers_of(graded):
        part = graded[graded["tier"] == tier]
        won = (part["standing"] == "success").to_numpy(bool)
        level = np.where(won, 1.06, -0.06) + random.uniform(-0.025, 0.025, len(part))
        axes.scatter(
            part["of_budget"].to_numpy(float), level, s=look.font * 1.1, marker=MARKERS[tier], lw=0, alpha=0.5,
            color=look.tiers[tier], label=tier, clip_on=False,
        )  # fmt: skip
    x = table["spent"].to_numpy(float)
    rate = table["rate"].to_numpy(float)
    bounds = [rate - table["low"].to_numpy(float), table["high"].to_numpy(float) - rate]
    axes.errorbar(
        x, rate, yerr=np.maximum(bounds, 0), fmt="o-", color=look.ink, lw=1.2, elinewidth=2.2, ms=look.font * 0.6,
        mec=look.ground, capsize=0,
    )  # fmt: skip
    counts = table["reproduced"].astype(str) + "/" + table["n"].astype(str)
    for place, low, high, text in zip(x, table["low"], table["high"], counts, strict=True):
        above = high < _UNDER_THE_TICKS  # else it would stand among the attempts that reproduced
        axes.annotate(
            text, (place, high if above else low), xytext=(0, 3 if above else -3), textcoords="offset points",
            ha="center", va="bottom" if above else "top", fontsize=look.font * 0.8, color=look.muted,
        )  # fmt: skip
    axes.set(ylim=(-0.12, 1.12), xlim=(-0.02, max(1.03, float(graded["of_budget"].max()) * 1.02)))
    axes.set_xlabel("spend as a share of the budget")
    ticks = {-0.06: "not reproduced", 0.25: "25 %", 0.5: "50 %", 0.75: "75 %", 1.06: "reproduced"}
    axes.set_yticks(list(ticks), list(ticks.values()))
    percent(axes)
    bare(axes, grid="y")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, handletextpad=0.2)
    note(
        figure,
        look,
        "Share reproduced among attempts that spent alike, with 95 % Wilson intervals. Spend was not assigned, so "
        "this is no effect of it.",
    )
    return figure
