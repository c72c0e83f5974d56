"""``reclaim run`` and ``reclaim resume``."""

from __future__ import annotations

import json
import os
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from reclaim_nb.commands import exits, running, screen
from reclaim_nb.errors import AttemptError, WrongOption

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Runs = Annotated[Path, typer.Option(help="Folder of all attempts.")]


def positive(text: str) -> str:
    """Return the text of a number above zero; a budget's digits are kept as they were typed."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal(0)
    if not number.is_finite() or number <= 0:
        raise typer.BadParameter(f"{text!r} is not a number above 0")
    return text


class KernelKind(StrEnum):
    """Where cells run."""

    auto = "auto"
    docker = "docker"
    local = "local"


class WorkspaceKept(StrEnum):
    """What becomes of the working folder."""

    keep = "keep"
    archive = "archive"
    drop = "drop"


class Network(StrEnum):
    """What a container reaches."""

    none = "none"
    allowlist = "allowlist"
    open = "open"


def run(
    paper: Annotated[str, typer.Argument(help="suite/slug, as `reclaim papers list` shows it, or a paper folder.")],
    agent: Annotated[str, typer.Option(help="Who writes the cells: see `reclaim agents list`.")] = "replay",
    model: Annotated[str | None, typer.Option(help="Model of an agent that has one.")] = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Option of the agent; may be repeated.")
    ] = None,
    kernel: Annotated[
        KernelKind, typer.Option(help="Container, plain process, or a container where engine and image are there.")
    ] = KernelKind.auto,
    runs: Runs = Path("runs"),
    batch: Annotated[str, typer.Option(help="Name of the batch it belongs to.")] = "single",
    repeat: Annotated[int | None, typer.Option(min=1, help="Which repeat; default: the next free one.")] = None,
    budget_hours: Annotated[
        str | None,
        typer.Option(parser=positive, metavar="<number>", help="Device hours granted; default: the card's."),
    ] = None,
    wall_clock_seconds: Annotated[
        str | None, typer.Option(parser=positive, metavar="<number>", help="Most seconds of the attempt.")
    ] = None,
    turns: Annotated[int | None, typer.Option(min=1, help="Most cells the agent may run.")] = None,
    tokens: Annotated[int | None, typer.Option(min=1, help="Most model tokens, in and out.")] = None,
    usd: Annotated[
        str | None, typer.Option(parser=positive, metavar="<number>", help="Most US dollars for the model.")
    ] = None,
    cell_seconds: Annotated[
        str | None, typer.Option(parser=positive, metavar="<number>", help="Most seconds of one cell.")
    ] = None,
    network: Annotated[
        Network,
        typer.Option(help="Network of a container; allowlist: the card's hosts and those of --allow, by a proxy."),
    ] = Network.none,
    allow: Annotated[
        list[str] | None, typer.Option(metavar="HOST", help="Host to reach under allowlist; may be repeated.")
    ] = None,
    memory_mib: Annotated[int, typer.Option(min=64, help="Most memory of the kernel, MiB.")] = 4096,
    cpus: Annotated[float, typer.Option(min=0, help="Most CPUs of a container; 0: all.")] = 0.0,
    gpus: Annotated[str, typer.Option(help="GPU ids of a container, separated by commas, or count=N.")] = "",
    device_factor: Annotated[
        str | None,
        typer.Option(parser=positive, metavar="<number>", help="H100-equivalents of a GPU second; default: by table."),
    ] = None,
    image: Annotated[str, typer.Option(help="Image of the container; default: this version's.")] = "",
    condition: Annotated[
        list[str] | None, typer.Option(help="Named change of what the agent is told; may be repeated.")
    ] = None,
    workspace: Annotated[
        WorkspaceKept, typer.Option(help="What becomes of the working folder when the attempt has ended.")
    ] = WorkspaceKept.keep,
    workspace_mib: Annotated[int | None, typer.Option(min=1, help="Most MiB in the working folder.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the harness.")] = 0,
    no_grade: Annotated[bool, typer.Option("--no-grade", help="Leave the grading for later.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make one attempt at a paper, grade it, and say what came of it.

    The same as `papermill templates/attempt.ipynb out.ipynb --engine reclaim -p paper PAPER`, with a live view.
    """
    _refuse_a_person(agent, paper)
    folder = running.make_attempt(
        {
            "paper": paper,
            "agent": agent,
            "model": model,
            "options": parse_options(option or []) or None,
            "kernel": kernel.value,
            "runs": str(runs),
            "batch": batch,
            "repeat": repeat,
            "budget_hours": budget_hours,
            "wall_clock_seconds": None if wall_clock_seconds is None else float(wall_clock_seconds),
            "turns": turns,
            "tokens": tokens,
            "usd": usd,
            "cell_seconds": None if cell_seconds is None else float(cell_seconds),
            "network": network.value,
            "allow": ",".join(allow) if allow else None,
            "memory_mib": memory_mib,
            "cpus": cpus,
            "gpus": gpus or None,
            "device_factor": device_factor,
            "image": image or None,
            "conditions": ",".join(condition) if condition else None,
            "workspace": workspace.value,
            "workspace_mib": workspace_mib,
            "seed": seed,
        }
    )
    _finish(folder, no_grade, as_json)


def resume(
    path: Annotated[Path, typer.Argument(help="Attempt folder, its notebook or its stream.")],
    no_grade: Annotated[bool, typer.Option("--no-grade", help="Leave the grading for later.")] = False,
    as_json: AsJson = False,
) -> None:
    """Go on with an attempt whose runner died.

    Its kernel is taken over with all variables and the interrupted cell is marked. When the kernel is gone the attempt
    ends as infrastructure_error, with everything up to then kept.
    """
    _finish(running.go_on(path), no_grade, as_json)


def parse_options(given: list[str]) -> dict[str, Any]:
    """Return agent options from ``NAME=VALUE``: numbers, true, false, null and JSON as such, all else as text.

    Raises:
        WrongOption: when one has no ``=``.
    """
    options: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise WrongOption(f"--option {text}: expected NAME=VALUE")
        try:
            options[name] = json.loads(value)
        except ValueError:
            options[name] = value
    return options


def _refuse_a_person(agent: str, paper: str) -> None:
    """Refuse to wait for a person whom nobody told where to work; `reclaim attempt open` tells."""
    if agent != "human":
        return
    from reclaim_nb.agents.human import NOTICE

    if NOTICE not in os.environ:
        raise AttemptError(
            f"a person works in a notebook: `reclaim attempt open {paper}` begins one, says where it is, and takes the "
            "options of `reclaim run`"
        )


def _finish(folder: Any, no_grade: bool, as_json: bool) -> None:
    if not no_grade:
        running.grade_if_due(folder)
    made = running.report(folder)
    if as_json:
        screen.print_json(made.to_json())
    else:
        running.print_report(made, screen.screen(), graded=not no_grade)
    if made.exit_code != exits.DONE:
        raise typer.Exit(made.exit_code)
