"""``reclaim attempt``: a person makes an attempt in a notebook."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reclaim_nb.commands import exits, running, screen
from reclaim_nb.commands.attempt import AsJson, Runs, positive
from reclaim_nb.errors import AttemptError

if TYPE_CHECKING:
    from reclaim_nb.record.folder import AttemptFolder

LOG = "runner.log"
"""File of the attempt folder with what a runner in the background says."""

START_SECONDS = 300.0
"""How long a runner in the background has to start: a GPU container may take its time."""

END_SECONDS = 300.0
"""How long it has to end and grade."""

attempt = typer.Typer(help="Make an attempt yourself, in a notebook.", no_args_is_help=True, rich_markup_mode=None)

Folder = Annotated[Path, typer.Argument(help="Attempt folder, or a notebook in it.")]


@attempt.callback()
def _group() -> None:
    """Make an attempt yourself, in a notebook."""


@attempt.command(
    "open",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    short_help="Begin an attempt of your own, or come back to one.",
)
def open_attempt(
    context: typer.Context,
    paper: Annotated[str, typer.Argument(help="suite/slug or a paper folder; or the folder of an attempt of yours.")],
    runs: Runs = Path("runs"),
    person: Annotated[str | None, typer.Option(help="A name or pseudonym for the record.")] = None,
    wall_clock_seconds: Annotated[
        str | None, typer.Option(parser=positive, metavar="<number>", help="Most seconds of the attempt.")
    ] = None,
    condition: Annotated[
        list[str] | None, typer.Option(help="Named change of what you are told; may be repeated.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Begin an attempt of your own, or come back to one.

    A runner in the background holds the kernel, the clock and the record; you work in a notebook that passes its cells
    on to it. Close the notebook or the server and come back: the attempt is where you left it, and its clock runs on.
    Should the runner die, the same command with the attempt's folder goes on. All other options of `reclaim run` are
    taken as well, such as --kernel or --budget-hours. The notebook says how to hand in; the result is graded as any.
    """
    known = _attempt_at(paper)
    if known is None:
        words = ["run", paper, "--agent", "human", "--runs", str(runs)]
        words += ["--option", f"person={person}"] if person else []
        words += ["--wall-clock-seconds", wall_clock_seconds] if wall_clock_seconds else []
        words += [word for name in condition or () for word in ("--condition", name)]
        folder = _start([*words, *context.args], runs)
    else:
        if given := context.args or [
            name for name, value in (("--condition", condition), ("--person", person)) if value
        ]:
            raise AttemptError(f"{known.path}: this attempt has begun, so {' '.join(given)} cannot be set any more")
        folder = known if _listens(known) else _start(["resume", str(known.path)], known.path)
    _tell(folder, as_json)


@attempt.command("submit", short_help="Hand in a value and end the attempt.")
def submit(
    folder: Folder,
    value: Annotated[str | None, typer.Argument(help="The measured number; leave it out if there is none.")] = None,
    cell: Annotated[str | None, typer.Option(help="Id of the cell of attempt.ipynb that shows the number.")] = None,
    note: Annotated[str, typer.Option(help="What was measured, and how it departs from the paper.")] = "",
    as_json: AsJson = False,
) -> None:
    """Hand in a value and end the attempt; the same as `attempt.submit(...)` in a cell."""
    _end(folder, as_json, "submit", value=value, cell=cell, note=note)


@attempt.command("close", short_help="End the attempt without a value.")
def close(folder: Folder, as_json: AsJson = False) -> None:
    """End the attempt without a value. To leave and come back later, just close the notebook instead."""
    _end(folder, as_json, "close")


def _attempt_at(path: str) -> AttemptFolder | None:
    from reclaim_nb.errors import RecordError
    from reclaim_nb.record.folder import open_folder
    from reclaim_nb.record.reader import first_event, last_event

    if not Path(path).exists():
        return None
    try:
        folder = open_folder(path)
    except RecordError:
        return None
    agent = first_event(folder.stream).data["spec"]["agent"]["name"]
    if agent != "human":
        raise AttemptError(f"{folder.path}: this attempt is by the agent {agent}; `reclaim resume` goes on with it")
    last = last_event(folder.stream)
    if last is not None and last.kind == "end":
        raise AttemptError(f"{folder.path}: this attempt has ended: {last.data['reason']}; begin a new one")
    return folder


def _listens(folder: AttemptFolder) -> bool:
    from reclaim_nb.agents.desk_client import DeskGone, DeskLine

    try:
        DeskLine(folder.path).close()
    except DeskGone:
        return False
    return True


def _start(words: list[str], place: Path) -> AttemptFolder:
    """Start a runner that outlives this command, and return its attempt folder once a person can begin.

    Args:
        words: the command line after ``reclaim``.
        place: an existing or new folder on the disk of the attempt, for the log.

    Raises:
        AttemptError: when it does not start, with what it said.
    """
    from reclaim_nb.agents.human import NOTICE
    from reclaim_nb.record.folder import open_folder

    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="reclaim-open-") as private:
        notice = Path(private) / "folder"
        handle, name = tempfile.mkstemp(prefix=".runner-", suffix=".log", dir=place)
        log = Path(name)
        with os.fdopen(handle, "wb") as file:
            runner = subprocess.Popen(
                [sys.executable, "-m", "reclaim_nb.cli", *words],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env=os.environ | {NOTICE: str(notice)},
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS
        while not notice.exists():
            if runner.poll() is not None or time.monotonic() > deadline:
                said = log.read_text("utf-8", "replace").strip()
                log.unlink()
                if runner.returncode is None:
                    runner.terminate()
                raise AttemptError(f"the attempt did not begin: {said.removeprefix('error: ')[-2000:] or 'no word'}")
            time.sleep(0.05)
        folder = open_folder(Path(notice.read_text("utf-8")))
        log.replace(folder.path / LOG)
    return folder


def _tell(folder: AttemptFolder, as_json: bool) -> None:
    from reclaim_nb.agents.desk_client import NOTEBOOK, DeskLine

    line = DeskLine(folder.path)
    state = line.ask("hello")
    line.close()
    notebook = folder.path / NOTEBOOK
    if as_json:
        facts = {"folder": str(folder.path), "notebook": str(notebook), "runner": state.get("runner")}
        screen.print_json({**facts, "budget": state.get("budget")})
        return
    pairs: list[tuple[str, Any]] = [
        ("work in", str(notebook)),
        ("open it", f"jupyter lab {notebook}"),
        ("budget", str(state.get("budget") or state.get("detail") or state.get("reason"))),
        ("hand in", f"attempt.submit(value) in a cell, or: reclaim attempt submit {folder.path} VALUE"),
        ("give up", f"reclaim attempt close {folder.path}"),
        ("come back", f"reclaim attempt open {folder.path}"),
    ]
    for text in running.without_effect(folder):
        pairs.append(("note", text))
    screen.print_facts(screen.screen(), pairs)


def _end(path: Path, as_json: bool, do: str, **words: Any) -> None:
    from reclaim_nb.agents.desk_client import DeskLine

    line = DeskLine(path)
    answer = line.ask(do, **words)
    line.close()
    if answer["is"] in ("refused", "told"):
        raise AttemptError(answer["text"])
    _wait_for(answer["runner"])
    made = running.report(line.folder)
    if as_json:
        screen.print_json(made.to_json())
    else:
        running.print_report(made, screen.screen())
    if made.exit_code != exits.DONE:
        raise typer.Exit(made.exit_code)


def _wait_for(runner: dict[str, Any]) -> None:
    """Wait until the runner has ended, which it does after grading."""
    from reclaim_nb.kernels.owner import Owner

    owner, deadline = Owner.from_json(runner), time.monotonic() + END_SECONDS
    while not owner.is_gone() and time.monotonic() < deadline:
        time.sleep(0.05)
