"""Success by tier and agent, with intervals and published marks."""

from __future__ import annotations

from matplotlib.figure import Figure

from reclaim_nb.analysis.figures.style import MARKERS, Look, bare, canvas, empty, note, percent, short, styled, tiers_of
from reclaim_nb.analysis.frames import Runs
from reclaim_nb.analysis.published import BEST_OF_TIER
from reclaim_nb.analysis.rates import rates

_MOST_ROWS = 24


@styled
def success(runs: Runs, look: Look, *, references: bool = True) -> Figure:
    """Draw the share reproduced, one panel per tier and one row per agent.

    Filled mark and line: share of all declared attempts with its Wilson interval, whatever is not graded counted as not
    reproduced. Thin line: up to where the interval would reach if all of that were reproduced. Hollow mark: share of
    graded attempts. Dashed: the best agent of the published benchmark.

    Args:
        runs: what is drawn.
        look: given by ``theme`` and ``size``.
        references: draw the published marks.
    """
    frame = rates(runs.attempts)
    tiers = tiers_of(runs.attempts)
    if not tiers:
        figure, axes = canvas(look, height=2.0)
        empty(axes, look, "no attempts")
        return figure
    frame = frame.assign(who=frame["agent"] + frame["conditions"].map(lambda text: f" + {text}" if text else ""))
    # Best first, by all tiers together.
    overall = rates(runs.attempts, by=("agent", "conditions"))
    overall = overall[(overall["base"] == "papers") & (overall["ungraded_as"] == "not_reproduced")]
    order = overall.sort_values("rate", ascending=False)
    names = [
        agent + (f" + {text}" if text else "") for agent, text in zip(order["agent"], order["conditions"], strict=True)
    ]
    left_out = len(names) - _MOST_ROWS
    names = names[:_MOST_ROWS]
    height = 1.35 + 0.36 * len(names)
    figure, panels = canvas(look, 1, len(tiers), height, sharey=True, squeeze=False)
    for axes, tier in zip(panels[0], tiers, strict=True):
        colour = look.tiers[tier]
        here = frame[frame["tier"] == tier]
        for place, name in enumerate(names):
            rows = here[here["who"] == name].set_index(["base", "ungraded_as"])
            if rows.empty:
                continue
            low_way, high_way = rows.loc[("papers", "not_reproduced")], rows.loc[("papers", "reproduced")]
            graded = rows.loc[("graded", "not_reproduced")]
            axes.plot([low_way["low"], high_way["high"]], [place, place], color=colour, lw=1, alpha=0.55)
            axes.plot([low_way["low"], low_way["high"]], [place, place], color=colour, lw=3.2, solid_capstyle="round")
            if graded["n"] and graded["n"] != low_way["n"]:
                axes.plot(graded["rate"], place, MARKERS[tier], mfc=look.ground, mec=colour, ms=look.font * 0.55)
            axes.plot(
                low_way["rate"], place, MARKERS[tier], color=colour, ms=look.font * 0.72, mec=look.ground, mew=0.8,
                clip_on=False, zorder=3,
            )  # fmt: skip
            label = f"{low_way['reproduced']}/{low_way['n']}"
            axes.annotate(
                label, (1, place), xycoords=axes.get_yaxis_transform(), xytext=(look.font * 0.7, 0),
                textcoords="offset points", va="center", color=look.muted, fontsize=look.font * 0.85,
            )  # fmt: skip
        if references and tier in BEST_OF_TIER:
            axes.axvline(BEST_OF_TIER[tier], color=look.reference, lw=1.1, ls=(0, (4, 3)), zorder=0.5)
            axes.annotate(
                f"published best {BEST_OF_TIER[tier]:.0%}".replace("%", " %"),
                (BEST_OF_TIER[tier], 1),
                xycoords=("data", "axes fraction"),
                xytext=(4, -2),
                textcoords="offset points",
                va="top",
                fontsize=look.font * 0.78,
                color=look.reference,
            )
        axes.set(xlim=(-0.02, 1), ylim=(len(names) - 0.4, -1.0 if references else -0.6), title=tier)
        axes.set_xticks([0, 0.25, 0.5, 0.75])
        percent(axes)
        bare(axes)
    panels[0][0].set_yticks(range(len(names)), [short(name, 28) for name in names], color=look.ink)
    hidden = f" {left_out} more agents are in the table." if left_out > 0 else ""
    note(
        figure,
        look,
        "Filled: of all declared attempts, 95 % Wilson interval, not graded = not reproduced. "
        f"Thin line: not graded = reproduced.\nHollow: of graded attempts only, where that differs.{hidden}",
    )
    return figure
