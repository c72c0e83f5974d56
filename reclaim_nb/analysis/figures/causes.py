"""Why attempts failed, by tier."""

from __future__ import annotations

from matplotlib.figure import Figure

from reclaim_nb.analysis.figures.style import Look, bare, canvas, empty, note, percent, styled, tiers_of
from reclaim_nb.analysis.frames import Runs
from reclaim_nb.analysis.outcomes import CAUSES
from reclaim_nb.analysis.spend import failed
from reclaim_nb.analysis.tables import causes as cause_table


@styled
def causes(runs: Runs, look: Look) -> Figure:
    """Draw the primary cause of failed attempts as a share of each tier's failures, most frequent first.

    Args:
        runs: what is drawn.
        look: given by ``theme`` and ``size``.
    """
    lost = failed(runs.attempts)
    tiers = tiers_of(lost) if len(lost) else []
    if not tiers:
        figure, axes = canvas(look, height=2.0)
        empty(axes, look, "no failed attempts")
        return figure
    table = cause_table(runs.attempts, by=("tier",))
    table = table[table["primary"] > 0].assign(code=table["cause"].astype("string").fillna("none named"))
    order = table.groupby("code")["primary"].sum().sort_values(ascending=False)
    codes = [code for code in order.index if code != "none named"]
    codes += [code for code in order.index if code == "none named"]
    figure, panels = canvas(look, 1, len(tiers), 1.1 + 0.3 * len(codes), sharey=True, sharex=True, squeeze=False)
    most = float(table["share"].max())
    for axes, tier in zip(panels[0], tiers, strict=True):
        here = table[table["tier"] == tier].set_index("code")
        for place, code in enumerate(codes):
            if code not in here.index:
                continue
            row = here.loc[code]
            axes.barh(place, row["share"], height=0.66, color=look.tiers[tier])
            axes.text(
                row["share"] + most * 0.02, place, f"{row['primary']}", va="center", fontsize=look.font * 0.85,
                color=look.muted,
            )  # fmt: skip
        axes.set(xlim=(0, most * 1.15), ylim=(len(codes) - 0.4, -0.6))
        axes.set_title(f"{tier}: {int((lost['tier'] == tier).sum())}")
        percent(axes)
        bare(axes)
    names = [f"{CAUSES.get(code, '')}  {code}".strip() for code in codes]  # type: ignore[call-overload]
    panels[0][0].set_yticks(range(len(codes)), names, color=look.ink)
    note(
        figure,
        look,
        "Primary cause, as a share of the tier's failed attempts. Numbers are attempts; all that failed by the tier.",
    )
    return figure
