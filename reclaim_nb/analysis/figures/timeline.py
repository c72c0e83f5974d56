"""One attempt over time: its cells as bars over the meter."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from reclaim_nb.analysis.figures.style import Look, bare, canvas, empty, note, short, styled
from reclaim_nb.analysis.frames import Runs
from reclaim_nb.errors import RecordError

_HATCHES = {"error": "////", "interrupted": "....", "timeout": "....", "killed": "xxxx", "not_run": ""}
_MARGIN = 1.12


@styled
def timeline(runs: Runs, look: Look, attempt: str) -> Figure:
    """Draw one attempt: above, hours on the meter against budget and need; below, each code cell as a bar.

    Args:
        runs: where it is.
        look: given by ``theme`` and ``size``.
        attempt: its folder, as in the frame of attempts.

    Raises:
        RecordError: when there is no such attempt.
    """
    found = runs.attempts[runs.attempts["attempt"] == attempt]
    if found.empty:
        raise RecordError(f"{runs.path}: there is no attempt {attempt!r}; the frame of attempts names them all")
    row = found.iloc[0]
    cells = runs.cells_of(attempt)
    cells = cells[cells["at_seconds"].notna()].sort_values("at_seconds")
    figure, (meter, lanes) = canvas(look, 2, 1, 3.9, sharex=True, height_ratios=(2.2, 1))
    if cells.empty:
        empty(meter, look, "no cell of this attempt has run")
        empty(lanes, look, "")
        return figure
    start = cells["at_seconds"].to_numpy(float)
    held = cells["held_seconds"].fillna(0).to_numpy(float)
    scale, unit = _scale(float((start + held).max()))
    _meter(meter, look, row, cells, start / scale, held / scale)
    for place, length, status in zip(start / scale, held / scale, cells["status"].fillna("not_run"), strict=True):
        lanes.broken_barh(
            [(place, length)], (0.1, 0.8), facecolor=look.statuses.get(status, look.muted), edgecolor=look.ground,
            lw=0.4, hatch=_HATCHES.get(status),
        )  # fmt: skip
    for name, marker, colour, size in (("anchors", "^", look.reference, 0.75), ("submits", "*", look.ink, 1.15)):
        chosen = (cells[name].fillna(0) > 0).to_numpy(bool)
        lanes.plot(
            (start + held)[chosen] / scale, np.full(chosen.sum(), 1.12), marker, color=colour, ms=look.font * size
        )
    lanes.set(ylim=(0, 1.35), xlabel=f"{unit} since the attempt began")
    lanes.set_yticks([0.5], ["cells"], color=look.ink)
    bare(lanes)
    statuses = [status for status in look.statuses if (cells["status"] == status).any()]
    handles: list[Patch | Line2D] = [
        Patch(facecolor=look.statuses[status], edgecolor=look.ground, hatch=_HATCHES.get(status), label=status)
        for status in statuses
    ]
    if cells["anchors"].sum():
        handles.append(Line2D([], [], ls="", marker="^", color=look.reference, label="anchor checked"))
    if cells["submits"].sum():
        handles.append(Line2D([], [], ls="", marker="*", color=look.ink, label="value handed in"))
    lanes.legend(handles=handles, ncols=6, loc="upper center", bbox_to_anchor=(0.5, -0.42))
    end = " · ".join(
        str(part).replace("_", " ") for part in (row["reason"], row["outcome"], row["cause"]) if pd.notna(part)
    )
    note(figure, look, f"{short(attempt, 110)}\n{end or row['state']}")
    return figure


def _scale(seconds: float) -> tuple[float, str]:
    return (1.0, "seconds") if seconds < 180 else (60.0, "minutes") if seconds < 3 * 3600 else (3600.0, "hours")


def _meter(axes, look: Look, row, cells, start, held) -> None:  # type: ignore[no-untyped-def]
    hours = cells["hours"].ffill().fillna(0).to_numpy(float)
    before = np.concatenate([[0.0], hours[:-1]])
    x = np.column_stack([start, start + held]).ravel()
    y = np.column_stack([before, hours]).ravel()
    axes.plot(x, y, color=look.outcomes["reproduced"], lw=1.6)
    axes.fill_between(x, y, color=look.outcomes["reproduced"], alpha=0.15, lw=0)
    axes.set_title(short(str(row["title"]), 52))
    unit = "CPU-hours" if row["device"] == "cpu" else "H100-hours"
    axes.set_ylabel(unit)
    top = float(hours.max()) or 1e-6
    lines = [("budget", row["budget_hours"], look.ink), ("need", row["need_hours"], look.reference)]
    inside = [(name, float(value), colour) for name, value, colour in lines if pd.notna(value) and 0 < value <= top * 4]
    outside = [f"{name} {value:g}" for name, value, _ in lines if pd.notna(value) and value > top * 4]
    axes.set_ylim(0, max([top, *(value for _, value, _ in inside)]) * _MARGIN)
    for name, value, colour in inside:
        axes.axhline(value, color=colour, lw=1.1, ls=(0, (4, 3)))
        axes.annotate(
            f"{name} {value:g}", (1, value), xycoords=("axes fraction", "data"), xytext=(-2, 2),
            textcoords="offset points", ha="right", va="bottom", color=colour, fontsize=look.font * 0.8,
        )  # fmt: skip
    spent = f"spent {hours.max():.3g} {unit}" + (f"; above this axis: {', '.join(outside)}" if outside else "")
    axes.set_title(spent, loc="right", color=look.muted, fontsize=look.font * 0.85, fontweight="normal")
    bare(axes, grid="y")
