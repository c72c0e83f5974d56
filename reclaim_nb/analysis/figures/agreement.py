"""How far two graders agree on outcomes."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from reclaim_nb.analysis.figures.style import Look, bare, canvas, empty, note, short, styled
from reclaim_nb.analysis.frames import Runs
from reclaim_nb.analysis.outcomes import OUTCOMES
from reclaim_nb.analysis.tables import agreement as agreement_table


@styled
def agreement(runs: Runs, look: Look, first: str | None = None, second: str | None = None) -> Figure:
    """Draw the outcomes of one grader against another's, attempt by attempt.

    Args:
        runs: what is drawn.
        look: given by ``theme`` and ``size``.
        first, second: graders; default: the two that have most attempts in common.
    """
    table = agreement_table(runs.verdicts)
    table = table[table["n"] > 0]
    if first is not None and second is not None:
        table = table[(table["first"] == min(first, second)) & (table["second"] == max(first, second))]
    if table.empty:
        figure, axes = canvas(look, height=1.6)
        empty(axes, look, "no attempt has verdicts of two graders")
        return figure
    pair = table.sort_values("n", ascending=False).iloc[0]
    newest = runs.verdicts.sort_values("written").groupby(["attempt", "grader"], as_index=False).last()
    both = newest.pivot(index="attempt", columns="grader", values="outcome")[[pair["first"], pair["second"]]].dropna()
    used: list[str] = [name for name in OUTCOMES if (both == name).to_numpy().any()]
    counts = np.zeros((len(used), len(used)), dtype=int)
    for a, b in both.itertuples(index=False):
        counts[used.index(str(a)), used.index(str(b))] += 1
    figure, axes = canvas(look, height=1.7 + 0.5 * len(used))
    most = counts.max()
    for (y, x), value in np.ndenumerate(counts):
        colour = look.outcomes["reproduced"] if x == y else look.outcomes["not_reproduced"]
        axes.scatter(x, y, s=(look.font * 4) ** 2 * value / most, color=colour, alpha=0.4, lw=0)
        axes.text(x, y, str(value) if value else "·", ha="center", va="center", color=look.ink if value else look.muted)
    names = [name.replace("_", " ") for name in used]
    axes.set_xticks(range(len(used)), names, color=look.ink)
    axes.set_yticks(range(len(used)), names, color=look.ink)
    axes.set(xlim=(-0.6, len(used) - 0.4), ylim=(len(used) - 0.4, -0.6))
    axes.set(xlabel=short(f"by {pair['second']}"), ylabel=short(f"by {pair['first']}"))
    bare(axes, grid="none")
    kappa = f", Cohen's kappa {pair['kappa']:.2f}" if np.isfinite(pair["kappa"]) else ""
    note(
        figure,
        look,
        f"{pair['agree']} of {pair['n']} agree{kappa}; {pair['left_out']} attempts have a verdict of one of them only.",
    )
    return figure
