"""How figures look: two themes, two sizes, colours that stay apart for every kind of colour vision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, Literal, ParamSpec

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import is_color_like, to_hex, to_rgba
from matplotlib.figure import Figure

from reclaim_nb.analysis.frames import Runs

Theme = Literal["light", "dark"]
Size = Literal["paper", "screen"]

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Look:
    """Colours and sizes of one figure.

    Attributes:
        ink, muted, faint, ground: text and marks, secondary text, grid, background.
        tiers: colour of each tier; shapes and labels say the same, so that no colour has to be told apart.
        outcomes: colour of each outcome.
        statuses: colour of each cell status.
        reference: colour of published marks.
        width: of a figure, in inches; font: in points; dpi: of its pixels.
    """

    ink: str
    muted: str
    faint: str
    ground: str
    tiers: dict[str, str]
    outcomes: dict[str, str]
    statuses: dict[str, str]
    reference: str
    width: float
    font: float
    dpi: int


# Okabe and Ito's palette (jfly.uni-koeln.de/color), lightened where a dark ground needs it.
_COLOURS = {
    "light": {
        "ink": "#1c2024",
        "muted": "#60646c",
        "faint": "#e0e2e6",
        "ground": "#ffffff",
        "blue": "#0072B2",
        "sky": "#56B4E9",
        "orange": "#D98200",
        "red": "#C14A00",
        "green": "#008F68",
        "purple": "#B0608D",
    },
    "dark": {
        "ink": "#edeef0",
        "muted": "#a0a5ae",
        "faint": "#33373e",
        "ground": "#15181d",
        "blue": "#4CA6E0",
        "sky": "#9AD4F5",
        "orange": "#F0A830",
        "red": "#F0763A",
        "green": "#2FBF95",
        "purple": "#DB93BA",
    },
}
_SIZES: dict[Size, tuple[float, float, int]] = {"paper": (6.3, 8.0, 300), "screen": (9.5, 10.5, 110)}
MARKERS = {"run": "o", "retrain": "s", "reimplement": "D"}


def look(theme: Theme = "light", size: Size = "screen") -> Look:
    """Return the look of a theme and size: ``paper`` is as wide as a page's text, ``screen`` as a notebook's output."""
    c = _COLOURS[theme]
    width, font, dpi = _SIZES[size]
    return Look(
        c["ink"],
        c["muted"],
        c["faint"],
        c["ground"],
        {"run": c["blue"], "retrain": c["orange"], "reimplement": c["purple"]},
        {
            "reproduced": c["blue"],
            "near_miss": c["sky"],
            "not_reproduced": c["orange"],
            "blocked": c["muted"],
            "unverifiable": c["purple"],
            "disqualified": c["red"],
            "needs_human": c["green"],
            "ungraded": c["faint"],
        },
        {
            "ok": c["blue"],
            "error": c["red"],
            "interrupted": c["orange"],
            "timeout": c["orange"],
            "killed": c["purple"],
            "not_run": c["muted"],
        },
        c["green"],
        width,
        font,
        dpi,
    )


def styled(
    draw: Callable[Concatenate[Runs, Look, P], Figure],
) -> Callable[..., Figure]:
    """Make a function that draws with a look into one that takes ``theme`` and ``size`` instead."""

    @wraps(draw)
    def drawn(runs: Runs, *args: Any, theme: Theme = "light", size: Size = "screen", **kwargs: Any) -> Figure:
        with mpl.rc_context(_settings(look(theme, size))):  # type: ignore[arg-type]
            return draw(runs, look(theme, size), *args, **kwargs)

    return drawn


def _settings(look: Look) -> dict[str, Any]:
    return {
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"],
        "font.size": look.font,
        "axes.titlesize": look.font * 1.05,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.labelsize": look.font * 0.95,
        "axes.labelcolor": look.muted,
        "axes.edgecolor": look.faint,
        "axes.linewidth": 0.8,
        "axes.facecolor": look.ground,
        "axes.axisbelow": True,
        "figure.facecolor": look.ground,
        "savefig.facecolor": look.ground,
        "figure.dpi": look.dpi,
        "savefig.dpi": look.dpi,
        "text.color": look.ink,
        "axes.titlecolor": look.ink,
        "xtick.color": look.muted,
        "ytick.color": look.muted,
        "xtick.labelsize": look.font * 0.9,
        "ytick.labelsize": look.font * 0.95,
        "xtick.major.size": 0,
        "ytick.major.size": 0,
        "grid.color": look.faint,
        "grid.linewidth": 0.7,
        "legend.frameon": False,
        "legend.fontsize": look.font * 0.9,
        "svg.fonttype": "path",
        # An agent's name is text, never mathematics.
        "text.parse_math": False,
        "text.usetex": False,
    }


def canvas(look: Look, rows: int = 1, columns: int = 1, height: float = 3.0, **kwargs: Any) -> tuple[Figure, Any]:
    """Return a figure and its axes, without any state shared with other figures.

    Args:
        look: its look.
        rows, columns: of axes.
        height: in inches at a width of 9.5 inches; scaled with the width.
        kwargs: passed on to ``Figure.subplots``.
    """
    figure = Figure(figsize=(look.width, height * look.width / 9.5), layout="constrained")
    return figure, figure.subplots(rows, columns, **kwargs)


def bare(axes: Axes, *, grid: Literal["x", "y", "none"] = "x") -> None:
    """Leave an axes its grid along one direction and no frame."""
    for spine in axes.spines.values():
        spine.set_visible(False)
    if grid != "none":
        axes.grid(axis=grid)


def note(figure: Figure, look: Look, text: str) -> None:
    """Write what a reader has to know below a figure."""
    figure.supxlabel(text, x=0.01, ha="left", fontsize=look.font * 0.8, color=look.muted)


def empty(axes: Axes, look: Look, text: str) -> None:
    """Say why there is nothing to see."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=look.muted)
    axes.set_xticks([])
    axes.set_yticks([])
    bare(axes, grid="none")


def percent(axes: Axes, axis: Literal["x", "y"] = "x") -> None:
    """Label an axis of shares in percent."""
    target = axes.xaxis if axis == "x" else axes.yaxis
    target.set_major_formatter(lambda value, _: f"{value * 100:g} %")


def tiers_of(frame: pd.DataFrame) -> list[str]:
    """Return the tiers that a frame holds, in their order."""
    return [str(tier) for tier in frame["tier"].cat.categories if (frame["tier"] == tier).any()]


def short(text: str, length: int = 40) -> str:
    """Return text on one line, cut with an ellipsis."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return line if len(line) <= length else line[: length - 1] + "…"


def darken(figure: Figure) -> None:
    """Give a figure that was drawn in the light theme the colours of the dark one; nothing else of it changes.

    Drawing it again would measure all text again, which takes longer than all else. Its ticks have to be there already:
    lay it out first.
    """
    for artist in [figure.patch, *figure.findobj()]:
        for change in ("color", "facecolor", "edgecolor", "markerfacecolor", "markeredgecolor"):
            get, put = getattr(artist, f"get_{change}", None), getattr(artist, f"set_{change}", None)
            if get is not None and put is not None and not (change == "color" and hasattr(artist, "get_facecolor")):
                put(_dark(get()))


def _dark(colour: Any) -> Any:
    """Return a colour, or each of several, as the dark theme has it; what is no colour of ours stays."""
    if isinstance(colour, np.ndarray) and colour.ndim == 2:
        return [_dark(tuple(one)) for one in colour]
    if isinstance(colour, str) and not is_color_like(colour):
        return colour  # such as "none" or "auto"
    red, green, blue, alpha = to_rgba(colour)
    found = _IN_DARK.get(to_hex((red, green, blue)))
    return colour if found is None else to_rgba(found, alpha)


_IN_DARK = {to_hex(colour): _COLOURS["dark"][name] for name, colour in _COLOURS["light"].items()}
