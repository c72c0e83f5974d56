"""What a person sees while an attempt runs: a live panel on a terminal, plain lines elsewhere.

A view is an observer of the session and only looks. It writes nothing into the record, draws in a thread of its own so
that a terminal that does not take output holds nothing up, and its own faults end it, never the attempt.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from reclaim_nb.attempts.tools import output_text
from reclaim_nb.papers.numbers import format_decimal

if TYPE_CHECKING:
    from reclaim_nb.attempts.session import Session

LOOK_SECONDS = 0.2
QUIET_SECONDS = 30.0
"""In plain lines: so long a running cell may keep silent before a line says that it still runs."""

_BAR_WIDTH = 30
_LINE_LIMIT = 300
_PLAIN_LIMIT = 100


@dataclass(frozen=True, slots=True)
class Glimpse:
    """A running attempt at one moment.

    Attributes:
        paper, tier, agent: what is attempted by whom.
        kernel: where the cells run, with the word ``unsandboxed`` where that is so.
        elapsed: seconds of the attempt's wall clock.
        spent, budget: hours, in ``unit``.
        turns, turn_limit: cells the agent has run and may run.
        cells: code cells that have ended.
        cell: first line of the running cell, or of the last one.
        running_seconds: seconds the running cell has run, None between cells.
        output: last line of the cell's output; the view keeps an earlier cell's until there is one.
        over: why the attempt is ending, None while it is not.
    """

    paper: str
    tier: str
    agent: str
    kernel: str
    elapsed: float
    spent: Decimal
    budget: Decimal
    unit: str
    turns: int
    turn_limit: int | None
    cells: int
    cell: str
    running_seconds: float | None
    output: str
    over: str | None

    @property
    def share(self) -> Decimal:
        """Spend as a share of the budget."""
        return self.spent / self.budget

    @property
    def spend_text(self) -> str:
        """Spend against budget, for people."""
        return f"{format_hours(self.spent)} of {format_decimal(self.budget)} {self.unit} ({self.share:.0%})"


def glimpse(session: Session) -> Glimpse:
    """Look at a session without changing or recording anything."""
    spec, state = session.spec, session.budget_state()
    running = session.running
    code = [cell for cell in session.cells.values() if cell.cell_type == "code"]
    shown = session.cells.get(running.cell) if running is not None else (code[-1] if code else None)
    outputs: list[dict[str, Any]] = []
    if shown is not None:
        outputs = session.recorder.rendering.cell_json(shown.cell)["outputs"]
    return Glimpse(
        paper=f"{spec.suite}/{spec.paper}",
        tier=spec.tier,
        agent=spec.agent.name + (f" ({spec.agent.model})" if spec.agent.model else ""),
        kernel=kernel_text(spec.kernel.kind, spec.kernel.unsandboxed),
        elapsed=state.wall_clock_seconds,
        spent=state.spent_hours,
        budget=state.granted_hours,
        unit=state.unit,
        turns=state.turns,
        turn_limit=state.turn_limit,
        cells=sum(cell.status is not None for cell in code),
        cell=first_line(shown.source) if shown is not None else "",
        running_seconds=session.clock.monotonic() - running.began if running is not None else None,
        output=last_line(output_text(outputs[-1:])),
        over=session.guard.over.reason if session.guard.over is not None else None,
    )


class LiveView:
    """Shows one attempt while it runs; use it as a context manager and hand it to the runner as observer.

    Args:
        console: where to; a panel if it is a terminal, else plain lines.
        label: words before the paper's name, such as ``2 of 4``.

    Attributes:
        problem: why the view stopped, None while it works.
    """

    def __init__(self, console: Console, label: str = "") -> None:
        self.problem: str | None = None
        self._console, self._label = console, label
        self._now: Glimpse | None = None
        self._plain = not console.is_terminal or console.is_dumb_terminal
        self._live: Live | None = None
        self._next_look = 0.0
        self._said_at = 0.0
        self._said: set[str] = set()

    def __enter__(self) -> Self:
        if not self._plain:
            self._live = Live(
                get_renderable=self._panel, console=self._console, refresh_per_second=5, transient=True, screen=False
            )
            self._contain(self._live.start)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._live is not None:
            self._contain(self._live.stop)

    def __call__(self, session: Session) -> None:
        """Take a look; called by the session after every change."""
        if self.problem is None:
            self._contain(lambda: self._look(session))

    def _contain(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as problem:  # noqa: BLE001 - the border to the screen; the CLI says that the view stopped
            self.problem = f"{type(problem).__name__}: {problem}"

    def _look(self, session: Session) -> None:
        now = time.monotonic()
        if self._plain:
            self._say(session, now)
        elif now >= self._next_look:
            self._next_look = now + LOOK_SECONDS
            seen = glimpse(session)
            if not seen.output and self._now is not None:
                seen = replace(seen, output=self._now.output)
            self._now = seen  # the drawing thread picks it up

    def _panel(self) -> RenderableType:
        return panel(self._now, self._label)

    def _say(self, session: Session, now: float) -> None:
        if not self._said_at:
            self._print(self._label, head_text(glimpse(session)))
            self._said_at = now
        cells = [cell for cell in session.cells.values() if cell.author != "harness"]
        ended = [cell for cell in cells if cell.status is not None and cell.cell not in self._said]
        for cell in ended:
            self._said.add(cell.cell)
            line = first_line(cell.source)[:_PLAIN_LIMIT]
            self._print(f"{session.wall_clock_seconds:7.1f} s", f"{cell.status:<11}", line)
            self._said_at = now
        if now - self._said_at >= QUIET_SECONDS:
            seen = glimpse(session)
            doing = "between cells" if seen.running_seconds is None else f"cell runs {seen.running_seconds:.0f} s"
            self._print(f"{seen.elapsed:7.1f} s", doing, f"| {seen.spend_text} | {seen.output}")
            self._said_at = now

    def _print(self, *words: str) -> None:
        self._console.print(Text(" ".join(filter(None, words))), soft_wrap=True)


def panel(seen: Glimpse | None, label: str = "") -> RenderableType:
    """Return what a terminal shows of an attempt."""
    if seen is None:
        return Text(f"{label} starting the kernel …".strip(), style="dim")
    turns = f"{seen.turns}" + (f" of {seen.turn_limit}" if seen.turn_limit else "")
    if seen.over is not None:
        doing = f"ending: {seen.over}"
    elif seen.running_seconds is None:
        doing = "between cells"
    else:
        doing = f"cell runs {seen.running_seconds:.0f} s"
    share = float(min(seen.share, Decimal(1)))
    colour = "red" if share >= 0.95 else "yellow" if share >= 0.8 else "cyan"
    budget = Table.grid(padding=(0, 1))
    budget.add_row(ProgressBar(total=1, completed=share, width=_BAR_WIDTH, complete_style=colour), seen.spend_text)
    grid = Table.grid(padding=(0, 1))
    grid.add_column(style="dim", no_wrap=True, width=len("elapsed"))
    grid.add_column(no_wrap=True, overflow="ellipsis")
    grid.add_row("elapsed", f"{clock_text(seen.elapsed)}   turns {turns}   {doing}")
    grid.add_row("budget", budget)
    grid.add_row("cell", Text(seen.cell, no_wrap=True, overflow="ellipsis"))
    grid.add_row("output", Text(seen.output, no_wrap=True, overflow="ellipsis"))
    title = Text(" ".join(filter(None, (label, head_text(seen)))), style="bold", no_wrap=True, overflow="ellipsis")
    return Group(title, grid)


def head_text(seen: Glimpse) -> str:
    """Return the line that says what runs where."""
    return f"{seen.paper} | tier {seen.tier} | agent {seen.agent} | kernel {seen.kernel}"


def kernel_text(kind: str, unsandboxed: bool) -> str:
    """Return where the cells run, in words."""
    return f"{kind} (unsandboxed: a plain process of this user)" if unsandboxed else kind


def format_hours(hours: Decimal) -> str:
    """Return hours with as many digits as a person reads."""
    return format_decimal(hours.quantize(Decimal("0.0001")) if hours < 10 else hours.quantize(Decimal("0.1")))


def clock_text(seconds: float) -> str:
    """Return a duration as ``1:02:03`` or ``2:03``."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def first_line(text: str) -> str:
    """Return the first line that holds anything, fit for a terminal."""
    return next((line for line in map(printable, text.splitlines()) if line), "")


def last_line(text: str) -> str:
    """Return the last line that holds anything, fit for a terminal."""
    return next((line for line in map(printable, reversed(text.splitlines())) if line), "")


def printable(line: str) -> str:
    """Return a line without control characters: what a cell prints must not steer the terminal."""
    return "".join(sign if sign.isprintable() else " " for sign in line[:_LINE_LIMIT]).strip()
