"""``reclaim grade``, ``reclaim status`` and ``reclaim verify-record``: what is on disk, and what it is worth."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reclaim_nb.commands import exits, running, screen
from reclaim_nb.commands.attempt import AsJson
from reclaim_nb.errors import AttemptError

if TYPE_CHECKING:
    from reclaim_nb.record.index import Row

AttemptPath = Annotated[Path, typer.Argument(help="Attempt folder, its notebook or its stream.")]


def grade(path: AttemptPath, as_json: AsJson = False) -> None:
    """Grade an attempt from its record. An earlier verdict stays; a new one is added beside it."""
    from reclaim_nb.record.folder import open_folder
    from reclaim_nb.record.index import row_of

    folder = open_folder(path)
    if row_of(folder).reason is None:
        raise AttemptError(f"{folder.path}: the attempt has not ended; `reclaim resume` goes on with it")
    running.grade_now(folder)
    made = running.report(folder)
    if as_json:
        screen.print_json(made.to_json())
    else:
        running.print_report(made, screen.screen())


def status(
    runs: Annotated[Path, typer.Argument(help="Folder of all attempts.")] = Path("runs"), as_json: AsJson = False
) -> None:
    """List the attempts of a folder: where each stands, what it spent, what came of it."""
    from reclaim_nb.record.index import Index

    rows = Index(runs).rows()
    if as_json:
        screen.print_json({"attempts": [row.to_json() for row in rows], "counts": counts(rows)})
        return
    console = screen.screen()
    table = screen.table("tier", "paper", "agent", "batch", "repeat", "state", "spent", "outcome")
    for row in rows:
        table.add_row(
            row.tier or "?",
            f"{row.suite}/{row.paper}",
            row.agent + (f" ({row.model})" if row.model else ""),
            row.batch,
            f"{row.repeat:02d}",
            state_text(row),
            screen.spend_text(row, short=True),
            screen.outcome_text(row.outcome, console) if row.reason or row.outcome else "-",
        )
    if rows:
        console.print(table)
        console.print()
    console.print(footer(rows), soft_wrap=True)
    for row in rows:
        if row.problem:
            console.print(f"unreadable: {row.path}: {screen.one_line(row.problem)}", soft_wrap=True)
        elif row.state == "dead_runner":
            console.print(f"dead runner: `reclaim resume {runs / row.path}` goes on with it", soft_wrap=True)


def verify_record(path: AttemptPath, as_json: AsJson = False) -> None:
    """Check a record: the chain of the stream, the large texts beside it, and the notebook cell by cell."""
    from reclaim_nb.record.folder import open_folder
    from reclaim_nb.record.verify import verify_record

    folder = open_folder(path)
    check = verify_record(folder)
    if as_json:
        screen.print_json(
            {
                "folder": str(folder.path),
                "sound": check.sound,
                "events": check.events,
                "head": check.head,
                "ended": check.ended,
                "problems": check.problems,
            }
        )
    else:
        console = screen.screen()
        for problem in check.problems:
            console.print(screen.one_line(problem), soft_wrap=True)
        word = "sound" if check.sound else "NOT sound"
        state = "" if check.ended else ", not ended"
        console.print(f"{word}: {check.events} events{state}, head {check.head}", soft_wrap=True)
    if not check.sound:
        raise typer.Exit(exits.UNSOUND)


def state_text(row: Row) -> str:
    """Return where an attempt stands, in words."""
    return row.reason if row.reason is not None else row.state.replace("_", " ")


def counts(rows: list[Row]) -> dict[str, int]:
    """Count attempts so that nothing is left out of sight.

    Returns:
        ``attempts``; ``running``, ``ended``, ``dead_runner``, ``unreadable`` by state; ``graded``, and ``ungraded``:
        ended without a verdict that says something; ``infrastructure_error`` and ``cancelled`` by end reason.
    """
    states = Counter(row.state for row in rows)
    ended = [row for row in rows if row.state == "ended"]
    graded = sum(row.outcome not in (None, "ungraded") for row in ended)
    reasons = Counter(row.reason for row in ended)
    return {
        "attempts": len(rows),
        **{state: states[state] for state in ("running", "ended", "dead_runner", "unreadable")},  # type: ignore[index]
        "graded": graded,
        "ungraded": len(ended) - graded,
        "infrastructure_error": reasons["infrastructure_error"],
        "cancelled": reasons["cancelled"],
    }


def footer(rows: list[Row]) -> str:
    """Return the counts as one line."""
    found = counts(rows)
    outcomes = Counter(row.outcome for row in rows if row.outcome not in (None, "ungraded"))
    told = ", ".join(f"{number} {outcome.replace('_', ' ')}" for outcome, number in outcomes.most_common() if outcome)
    parts = [
        f"{found['attempts']} attempts: {found['running']} running, {found['ended']} ended, "
        f"{found['dead_runner']} with a dead runner, {found['unreadable']} unreadable",
        f"{found['graded']} graded{f' ({told})' if told else ''}, {found['ungraded']} ungraded",
        f"{found['infrastructure_error']} infrastructure errors, {found['cancelled']} cancelled",
    ]
    return "; ".join(parts)
