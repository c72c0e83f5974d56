"""The papers of a suite: tiers against bands, areas, hours."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reclaim_nb.analysis.figures.style import MARKERS, Look, bare, canvas, empty, note, short, styled, tiers_of
from reclaim_nb.analysis.frames import Runs

_MOST_AREAS = 10
_FEW_AREAS = 5
_SEED = 7
_BANDS = ("0-8", "8-32", "32-96")


@styled
def overview(runs: Runs, look: Look) -> Figure:
    """Draw how many papers each tier and band holds, their areas, and need against budget.

    A paper that stands in several batches is drawn once.

    Args:
        runs: what is drawn.
        look: given by ``theme`` and ``size``.
    """
    papers = runs.papers.drop_duplicates(["suite", "paper"])
    if papers.empty:
        figure, axes = canvas(look, height=2.0)
        empty(axes, look, "no papers")
        return figure
    tiers = tiers_of(papers)
    panels = [_bands, *([_areas] if papers["area"].notna().any() else []), _hours]
    figure, found = canvas(look, 1, len(panels), 3.2)
    for panel, axes in zip(panels, found, strict=True):
        panel(axes, look, papers, tiers)
    need = papers["need_hours"].dropna()
    unit = _unit(papers)
    known = (
        f"audited need {need.sum():,.6g} {unit} over {len(need)} of {len(papers)} papers"
        if len(need)
        else "no audited need"
    )
    note(figure, look, f"{len(papers)} papers; {known}.")
    return figure


def _unit(papers: pd.DataFrame) -> str:
    devices = set(papers["device"].dropna())
    return "CPU-hours" if devices == {"cpu"} else "H100-hours" if devices == {"gpu"} else "hours (CPU or H100)"


def _bands(axes, look: Look, papers: pd.DataFrame, tiers: list[str]) -> None:  # type: ignore[no-untyped-def]
    words = papers["band"].astype("string").fillna("no band" if papers["device"].eq("gpu").all() else "CPU / none")
    columns = [*(band for band in _BANDS if (words == band).any()), *sorted(set(words) - set(_BANDS))]
    counts = pd.crosstab(papers["tier"].astype(str), words).reindex(index=tiers, columns=columns, fill_value=0)
    most = max(1, int(counts.to_numpy().max()))
    for y, tier in enumerate(tiers):
        for x in range(len(columns)):
            value = int(counts.to_numpy()[y, x])
            axes.scatter(x, y, s=(look.font * 4.2) ** 2 * value / most, color=look.tiers[tier], alpha=0.35, lw=0)
            axes.text(x, y, str(value), ha="center", va="center", fontweight="bold" if value else "normal")
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(
        range(len(tiers)), [f"{tier}\n{int(np.sum(papers['tier'] == tier))}" for tier in tiers], color=look.ink
    )
    axes.set(xlim=(-0.6, len(columns) - 0.4), ylim=(len(tiers) - 0.4, -0.6), title="tier and band of hours")
    bare(axes, grid="none")


def _areas(axes, look: Look, papers: pd.DataFrame, tiers: list[str]) -> None:  # type: ignore[no-untyped-def]
    axes.set_title("areas")
    named = papers[papers["area"].notna()]
    counts = pd.crosstab(named["area"], named["tier"].astype(str)).reindex(columns=tiers, fill_value=0)
    counts = counts.loc[counts.sum(axis=1).sort_values(ascending=False, kind="stable").index]
    rest = counts.iloc[_MOST_AREAS:].sum()
    counts = counts.iloc[:_MOST_AREAS]
    if rest.sum():
        counts.loc["others"] = rest
    left = np.zeros(len(counts))
    for tier in tiers:
        values = counts[tier].to_numpy(float)
        axes.barh(
            range(len(counts)),
            values,
            left=left,
            height=0.68,
            color=look.tiers[tier],
            label=tier,
            edgecolor=look.ground,
        )
        left += values
    axes.set_yticks(range(len(counts)), [short(str(area), 22) for area in counts.index], color=look.ink)
    axes.set_ylim(max(len(counts), _FEW_AREAS) - 0.4, -0.6)
    axes.xaxis.get_major_locator().set_params(integer=True)
    bare(axes)


def _hours(axes, look: Look, papers: pd.DataFrame, tiers: list[str]) -> None:  # type: ignore[no-untyped-def]
    known = papers[(papers["need_hours"] > 0) & papers["budget_hours"].notna()]
    if known.empty:
        _needs(axes, look, papers[papers["need_hours"] > 0], tiers)
        return
    axes.set_title("need against budget")
    random = np.random.default_rng(_SEED)
    for tier in tiers:
        part = known[known["tier"] == tier]
        # Budgets come in few sizes: spread a little, so that papers do not hide each other.
        spread = 10 ** random.uniform(-0.07, 0.07, len(part))
        axes.scatter(
            part["need_hours"].to_numpy(float),
            part["budget_hours"].to_numpy(float) * spread,
            marker=MARKERS[tier],
            color=look.tiers[tier],
            alpha=0.6,
            lw=0,
            s=look.font * 3,
            label=tier,
        )
    need = known["need_hours"].to_numpy(float)
    budget = known["budget_hours"].to_numpy(float)
    left, right = max(need.min(), need.max() * 1e-5) / 1.6, need.max() * 1.6
    axes.plot([left, right], [left, right], color=look.muted, lw=1, scalex=False, scaley=False)
    axes.set(xscale="log", yscale="log", xlim=(left, right), ylim=(budget.min() / 1.8, budget.max() * 1.8))
    axes.set(xlabel=f"need, {_unit(papers)}", ylabel="budget")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:g}")
    sizes = sorted(set(budget))
    if len(sizes) <= 6:
        axes.set_yticks(sizes, [f"{size:g}" for size in sizes])
    if right / left < 100:
        axes.set_xticks(sorted({need.min(), need.max()}))
    axes.minorticks_off()
    bare(axes)
    axes.grid(axis="y")
    axes.legend(loc="upper left", handletextpad=0.2)


def _needs(axes, look: Look, known: pd.DataFrame, tiers: list[str]) -> None:  # type: ignore[no-untyped-def]
    axes.set_title("need")
    if known.empty:
        empty(axes, look, "no hours known")
        return
    needs = [known.loc[known["tier"] == tier, "need_hours"].to_numpy(float) for tier in tiers]
    edges = np.geomspace(min(n.min() for n in needs if len(n)), max(n.max() for n in needs if len(n)) * 1.001, 13)
    axes.hist(
        needs, edges, stacked=True, color=[look.tiers[tier] for tier in tiers], label=tiers, edgecolor=look.ground
    )
    axes.set(xscale="log", xlabel=f"need, {_unit(known)}", ylabel="papers")
    bare(axes, grid="y")
    axes.legend(loc="upper left")
