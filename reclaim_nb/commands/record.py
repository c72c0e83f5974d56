"""``reclaim status`` and ``reclaim verify-record``: what is on disk, and whether it is sound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reclaim_nb.commands import exits, screen
from reclaim_nb.commands.attempt import AsJson

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from reclaim_nb.record.folder import AttemptFolder
    from reclaim_nb.record.index import Row

AttemptPath = Annotated[Path, typer.Argument(help="Attempt folder, its notebook or its stream.")]


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
    if rows:
        _print_rows(rows, console)
        console.print()
    console.print(footer(rows), soft_wrap=True)
    for row in rows:
        if row.problem:
            console.print(f"unreadable: {row.path}: {screen.one_line(row.problem)}", soft_wrap=True)
        elif row.state == "dead_runner":
            console.print(f"dead runner: `reclaim resume {runs / row.path}` goes on with it", soft_wrap=True)


def _print_rows(rows: list[Row], console: Console) -> None:
    cells: dict[str, Sequence[str | Text]] = {
        "tier": [row.tier or "?" for row in rows],
        "paper": [f"{row.suite}/{row.paper}" for row in rows],
        "agent": [row.agent + (f" ({row.model})" if row.model else "") for row in rows],
        "batch": [row.batch for row in rows],
        "repeat": [row.path.rpartition("/")[2] for row in rows],
        "state": [state_text(row) for row in rows],
        "spent": [screen.spend_text(row, short=True) for row in rows],
        "outcome": [screen.outcome_text(row.outcome, console) if row.reason or row.outcome else "-" for row in rows],
    }
    less = ("tier", "spent", "repeat", "batch", "state")
    screen.print_columns(console, cells, least={"paper": 20, "agent": 12, "batch": 10}, less=less)


def verify_record(
    path: Annotated[Path, typer.Argument(help="Attempt folder, its notebook or its stream; or a folder of attempts.")],
    as_json: AsJson = False,
) -> None:
    """Check records: the chain of the stream, the large texts beside it, the notebook, and every verdict.

    Verdicts are computed again from what they rest on: the stream, a model's recorded answers, re-executions.
    """
    from rich.progress import track

    from reclaim_nb.record.folder import AttemptFolder, open_folder

    below = _below(path)
    folders = [AttemptFolder(one) for one in below] or [open_folder(path)]
    side = screen.side()
    quiet = not below or not side.is_terminal
    looked_at = track(folders, "checking records", console=side, transient=True, disable=quiet)
    found = [_checked(folder) for folder in looked_at]
    if as_json:
        screen.print_json(found if below else found[0])
    else:
        console = screen.screen()
        for one in found:
            if not below:
                _tell_check(one, console)
            elif not one["sound"]:
                console.print("\n".join(map(screen.one_line, one["problems"])), soft_wrap=True)
        if below:
            sound = sum(one["sound"] for one in found)
            console.print(f"{sound} of {len(found)} records are sound, with their verdicts", soft_wrap=True)
    if not all(one["sound"] for one in found):
        raise typer.Exit(exits.UNSOUND)


def _below(path: Path) -> list[Path]:
    """Return the attempts below a folder that is none itself; those of a re-execution are a part of its verdict."""
    if not path.is_dir() or (path / "stream.jsonl").exists():
        return []
    found = (stream.parent for stream in path.rglob("stream.jsonl"))
    return sorted(one for one in found if not any(part.startswith("reexecution.") for part in one.parts))


def _checked(folder: AttemptFolder) -> dict[str, Any]:
    """Return what a check of one attempt found, as it is printed for programs."""
    from reclaim_nb.grading.again import verdicts_again
    from reclaim_nb.record.verify import verify_record

    check = verify_record(folder)
    again = verdicts_again(folder) if check.sound and check.ended else []
    problems = [*check.problems, *(f"{folder.path / one.file}: {one.text}" for one in again if one.state == "differs")]
    return {
        "folder": str(folder.path),
        "sound": not problems,
        "events": check.events,
        "head": check.head,
        "ended": check.ended,
        "problems": problems,
        "verdicts": [asdict(one) for one in again],
    }


def _tell_check(found: dict[str, Any], console: Console) -> None:
    for problem in found["problems"]:
        console.print(screen.one_line(problem), soft_wrap=True)
    for one in found["verdicts"]:
        if one["state"] != "differs":
            text = one["text"] or "computed again from its records, the same to the byte"
            console.print(screen.one_line(f"{one['file']}: {text}"), soft_wrap=True)
    word = "sound" if found["sound"] else "NOT sound"
    state = "" if found["ended"] else ", not ended"
    console.print(f"{word}: {found['events']} events{state}, head {found['head']}", soft_wrap=True)


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
