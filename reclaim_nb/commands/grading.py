"""``reclaim grade`` and ``reclaim reexecute``: verdicts from the record alone, and from measuring once more."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reclaim_nb.commands import running, screen
from reclaim_nb.commands.attempt import AsJson, KernelKind, parse_options
from reclaim_nb.commands.record import AttemptPath
from reclaim_nb.errors import AttemptError, UnsoundRecord

if TYPE_CHECKING:
    from reclaim_nb.grading.model import ModelGrader
    from reclaim_nb.grading.reexecute import Reexecution
    from reclaim_nb.record.folder import AttemptFolder

Model = Annotated[str | None, typer.Option(metavar="PROVIDER:NAME", help="Ask a model too; default: rules alone.")]
ModelOption = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="Option of the model, such as base_url; may be repeated."),
]


def odd(votes: int) -> int:
    """Return a number of votes that has a majority."""
    if votes % 2 == 0:
        raise typer.BadParameter(f"{votes} is not an odd number")
    return votes


Votes = Annotated[int, typer.Option(min=1, callback=odd, help="How often the model is asked; an odd number.")]


def grade(
    path: AttemptPath,
    model: Model = None,
    option: ModelOption = None,
    votes: Votes = 3,
    allow_same_model: Annotated[
        str | None, typer.Option(metavar="PROVIDER:NAME", help="Let the agent's own model grade, by its name.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Grade an attempt from its record: by rules, or with a model. Earlier verdicts stay; a new one is added."""
    folder = ended(path)
    if model is None:
        if option or allow_same_model:
            raise AttemptError("--option and --allow-same-model are for a model; name one with --model PROVIDER:NAME")
        running.grade_now(folder)
    else:
        from reclaim_nb.grading.model import grade_with_model
        from reclaim_nb.grading.verdict import write_verdict

        grader = model_grader(model, option, votes, allow_same_model)
        write_verdict(folder, grade_with_model(folder, running.recorded_card(folder), grader))
    _tell(folder, as_json)


def reexecute(
    path: AttemptPath,
    whole: Annotated[
        bool, typer.Option("--whole", help="Run the whole notebook in an empty workspace, not the measurement alone.")
    ] = False,
    kernel: Annotated[
        KernelKind | None, typer.Option(help="Where to run; default: where the attempt ran.", show_default=False)
    ] = None,
    no_change: Annotated[
        bool, typer.Option("--no-change", help="Do not run it once more with changed inputs.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the changed inputs.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Run an attempt's measurement again in a fresh kernel, without earlier cells' hooks, and grade with the result.

    It runs once as it was and once with changed inputs: a measurement answers to them, a constant does not.
    """
    from reclaim_nb.attempts.stopping import StopAsked
    from reclaim_nb.grading.reexecute import grade_with_reexecution, read_reexecution
    from reclaim_nb.grading.reexecute import reexecute as run_again
    from reclaim_nb.grading.verdict import write_verdict

    folder = ended(path)
    where: Any = None if kernel is None else kernel.value
    what: Any = "notebook" if whole else "cell"
    card = running.recorded_card(folder)
    with StopAsked() as stop:
        found = run_again(folder, what=what, kernel=where, change=not no_change, seed=seed, stop=stop)
    write_verdict(folder, grade_with_reexecution(folder, card, found))
    rerun, _ = read_reexecution(found)
    if as_json:
        made = running.report(folder)
        screen.print_json({"reexecution": rerun.model_dump(mode="json", by_alias=True), **made.to_json()})
        return
    console = screen.screen()
    screen.print_facts(console, [*_told(rerun), ("record", str(found))])
    console.print()
    running.print_report(running.report(folder), console)


def ended(path: Path) -> AttemptFolder:
    """Return an attempt's folder.

    Raises:
        AttemptError: when the attempt has not ended.
        UnsoundRecord: when that cannot be read.
    """
    from reclaim_nb.record.folder import open_folder
    from reclaim_nb.record.index import row_of

    folder = open_folder(path)
    row = row_of(folder)
    if row.problem is not None:
        raise UnsoundRecord(row.problem)
    if row.reason is None:
        raise AttemptError(f"{folder.path}: the attempt has not ended; `reclaim resume` goes on with it")
    return folder


def model_grader(model: str, option: list[str] | None, votes: int, allow_same: str | None = None) -> ModelGrader:
    """Return the grader that the options of a command name."""
    from reclaim_nb.grading.model import ModelGrader

    return ModelGrader(model, parse_options(option or []), votes=votes, allow_same=allow_same)


def _tell(folder: AttemptFolder, as_json: bool) -> None:
    made = running.report(folder)
    if as_json:
        screen.print_json(made.to_json())
    else:
        running.print_report(made, screen.screen())


def _told(rerun: Reexecution) -> list[tuple[str, str]]:
    """Return what came of a re-execution, in words."""
    agrees = {True: "came out again", False: "did NOT come out again", None: "there is no number to compare"}
    constant = {True: "the same number: a CONSTANT", False: "another number", None: "nothing could be changed"}
    changed = ", ".join(dict.fromkeys(name for run in rerun.changes for name in run.changed))
    pairs = [
        ("run again", f"{rerun.what} in {rerun.kernel}: cells {', '.join(rerun.cells)}"),
        ("recorded", rerun.original),
        ("again", f"{rerun.same.value or rerun.same.detail or rerun.same.status}: {agrees[rerun.agrees]}"),
        ("changed inputs", f"{changed or '-'}: {constant[rerun.constant]}"),
    ]
    pairs += [("left out", f"cell {part.cell}: {part.text}") for part in rerun.left_out]
    return pairs
