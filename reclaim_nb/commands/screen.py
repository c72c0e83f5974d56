"""How results look in a terminal: words and a symbol for every outcome, so that no colour has to be told apart."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from reclaim_nb.record.index import Row

_FILE_WIDTH = 160
_BETWEEN = 2
"""Signs between two columns."""
_KERNEL_VARIABLE = "JPY_PARENT_PID"
"""Set by jupyter_client for kernels, and so for what their cells start."""
_KEPT_WHOLE = frozenset({"tier", "agent", "outcome", "state", "repeat", "observed", "budget"})

_OUTCOMES = {
    "reproduced": ("✔", "+", "bold blue"),
    "near_miss": ("≈", "~", "cyan"),
    "not_reproduced": ("✘", "x", "dark_orange"),
    "blocked": ("■", "#", "magenta"),
    "unverifiable": ("?", "?", "magenta"),
    "disqualified": ("⊘", "!", "bold dark_orange"),
    "needs_human": ("☞", ">", "magenta"),
    "ungraded": ("…", ".", "dim"),
}


def screen() -> Console:
    """Return the console for results, which is standard output."""
    return _console(sys.stdout, stderr=False)


def side() -> Console:
    """Return the console for everything beside the results, which is standard error."""
    return _console(sys.stderr, stderr=True)


def _console(stream: TextIO, stderr: bool) -> Console:
    from rich.console import Console

    # `!reclaim` in a notebook writes to something that calls itself a terminal and has no cursor to move.
    notebook = _KERNEL_VARIABLE in os.environ
    # Cells, notes and cards are other people's text: none of it is markup. A file has no width to keep to.
    width = None if "COLUMNS" in os.environ or (stream.isatty() and not notebook) else _FILE_WIDTH
    terminal = False if notebook else None
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, width=width, force_terminal=terminal)


def print_json(document: Any) -> None:
    """Print one JSON document on standard output."""
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False, allow_nan=False, default=str)
    sys.stdout.write("\n")


def outcome_text(outcome: str | None, console: Console) -> Text:
    """Return an outcome as symbol and words."""
    from rich.text import Text

    if outcome is None:
        return Text("not graded", style="dim")
    symbol, plain, style = _OUTCOMES.get(outcome, ("?", "?", ""))
    return Text(f"{symbol if console.encoding.startswith('utf') else plain} {outcome.replace('_', ' ')}", style=style)


def target_text(row: Row) -> str:
    """Return a target as metric, value and unit."""
    return f"{row.metric} {row.target if row.target is not None else '-'} {unit_text(row.unit)}".strip()


def unit_text(unit: str) -> str:
    """Return a unit as it stands behind a number; a fraction is a plain number."""
    return {"fraction": "", "percent": "%"}.get(unit, unit)


def spend_text(row: Row, *, short: bool = False) -> str:
    """Return spend against budget, in the attempt's unit; ``short`` for the column of a table."""
    if row.budget_hours is None:
        return "-"
    spent = _hours(row.spent_hours)
    unit = row.hours_unit.replace("hours", "h") if short else row.hours_unit
    text = f"{'?' if spent is None else _short(spent)} of {row.budget_hours} {unit}"
    budget = _hours(row.budget_hours)
    return text + (f" ({spent / budget:.0%})" if spent is not None and budget else "")


def table(*columns: str, whole: str = "") -> Table:
    """Return an empty table in the style that all commands share.

    Args:
        columns: their heads; a narrow terminal breaks those with long texts.
        whole: one more column whose texts are never broken.
    """
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        made.add_column(column, overflow="fold", no_wrap=column in _KEPT_WHOLE or column == whole)
    return made


def print_columns(
    console: Console,
    columns: Mapping[str, Sequence[str] | Sequence[str | Text]],
    *,
    least: Mapping[str, int],
    less: Sequence[str],
) -> None:
    """Print a table that stays readable in a narrow terminal, and name what such a terminal leaves out.

    Args:
        console: where.
        columns: texts of each column by its head, all equally many.
        least: columns whose texts may be broken, and to how many signs; the others stay whole.
        less: columns that may be left out, the least important first.
    """
    from rich.cells import cell_len

    shown = dict(columns)
    widths = {
        name: min(max(cell_len(str(text)) for text in (name, *texts)), least.get(name, console.width))
        for name, texts in columns.items()
    }

    def fits() -> bool:
        return sum(widths[name] + _BETWEEN for name in shown) <= console.width

    left_out = []
    for name in less:
        if not fits():
            del shown[name]
            left_out.append(name)
    made = table(*shown)
    for column in made.columns:
        name = str(column.header)
        column.no_wrap = fits() and name not in least
        column.min_width = widths[name] if fits() else None
    for line in zip(*shown.values(), strict=True):
        made.add_row(*line)
    console.print(made)
    if left_out:
        console.print(f"a wider terminal shows also: {', '.join(left_out)}", soft_wrap=True)


def print_facts(console: Console, pairs: Sequence[tuple[str, str | Text]]) -> None:
    """Print names and values below each other; long values run on, so that a path can be copied."""
    from rich.text import Text

    width = max(len(name) for name, _ in pairs) + 2
    for name, value in pairs:
        shown = value if isinstance(value, Text) else Text(one_line(value))
        console.print(Text.assemble((f"{name:<{width}}", "dim"), shown), soft_wrap=True)


def one_line(text: str) -> str:
    """Return text on one line without control characters, which would steer the terminal."""
    return "".join(sign if sign.isprintable() else " " for sign in " ".join(text.split()))


def _hours(text: str | None) -> Decimal | None:
    try:
        return Decimal(text) if text is not None else None
    except InvalidOperation:
        return None


def _short(hours: Decimal) -> str:
    from reclaim_nb.attempts.live import format_hours

    return format_hours(hours)
