"""The live view: what it shows, and that it cannot harm what it shows."""

from __future__ import annotations

import io
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from reclaim_nb.attempts.live import Glimpse, LiveView, clock_text, first_line, last_line, panel, printable
from reclaim_nb.attempts.prepare import Request, prepare
from reclaim_nb.attempts.runner import run_attempt

SEEN = Glimpse(
    paper="small/toy",
    tier="run",
    agent="replay",
    kernel="docker",
    elapsed=75.0,
    spent=Decimal("0.0125"),
    budget=Decimal("0.05"),
    unit="CPU-hours",
    turns=4,
    turn_limit=500,
    cells=3,
    cell="train(model)",
    running_seconds=12.3,
    output="epoch 3",
    over=None,
)


def drawn(seen: Glimpse | None, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width, markup=False)
    console.print(panel(seen))
    return console.file.getvalue()  # type: ignore[attr-defined]


class Broken(io.StringIO):
    """A stream that takes nothing."""

    def write(self, text: str) -> int:
        raise OSError("the screen is gone")


def test_the_panel_shows_paper_agent_time_budget_turns_cell_and_output() -> None:
    text = " ".join(drawn(SEEN).split())  # how wide a column is drawn differs between versions of rich
    for part in (
        "small/toy | tier run | agent replay | kernel docker",
        "1:15 turns 4 of 500 cell runs 12 s",
        "0.0125 of 0.05 CPU-hours (25%)",
        "cell train(model)",
        "output epoch 3",
    ):
        assert part in text
    assert "ending: wall_clock" in drawn(replace(SEEN, over="wall_clock"))
    assert "between cells" in drawn(replace(SEEN, running_seconds=None))
    assert "starting the kernel" in drawn(None)


def test_a_spend_above_the_budget_is_drawn_and_said() -> None:
    assert "(240%)" in drawn(replace(SEEN, spent=Decimal("0.12")))


@pytest.mark.parametrize("width", [10, 20, 40])
def test_a_narrow_terminal_gets_lines_that_fit(width: int) -> None:
    lines = drawn(replace(SEEN, cell="x" * 500, output="y" * 500), width).splitlines()
    assert all(len(line) <= width for line in lines)


def test_what_looks_like_markup_is_shown_as_it_is() -> None:
    text = drawn(replace(SEEN, cell="a[bold red]", output="[/] :smile: [link=x]y"))
    assert "a[bold red]" in text
    assert "[/] :smile: [link=x]y" in text


@given(st.text())
def test_no_control_character_reaches_the_terminal(text: str) -> None:
    for line in (printable(text), first_line(text), last_line(text)):
        assert all(sign.isprintable() for sign in line)


@given(st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=20), min_size=1))
def test_first_and_last_line_are_the_first_and_last_that_hold_something(words: list[str]) -> None:
    text = "\n\n" + "\n \n".join(words) + "\n\n"
    assert (first_line(text), last_line(text)) == (words[0], words[-1])


def test_durations() -> None:
    assert [clock_text(seconds) for seconds in (0, 59.9, 60, 3599, 3600, 360000)] == (
        ["0:00", "0:59", "1:00", "59:59", "1:00:00", "100:00:00"]
    )


@pytest.mark.parametrize("terminal", [False, True])
def test_a_view_that_breaks_leaves_the_attempt_whole(
    tmp_path: Path, terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    console = Console(file=Broken(), force_terminal=terminal)
    prepared = prepare(Request("small/iforest-breastw", agent="nothing", kernel="local", runs=str(tmp_path)))
    with LiveView(console) as view:
        finished = run_attempt(prepared, view)
    assert finished.reason == "agent_stopped"
    assert view.problem is not None
    assert "the screen is gone" in view.problem


def test_in_a_notebook_nothing_moves_a_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    """`!reclaim` in a cell writes to a pseudo-terminal, whose escape codes a notebook shows as they are."""
    from reclaim_nb.commands import screen

    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("JPY_PARENT_PID", "1")
    assert not screen.side().is_terminal and not screen.screen().is_terminal
    monkeypatch.delenv("JPY_PARENT_PID")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert screen.side().is_terminal
