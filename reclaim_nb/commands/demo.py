"""``reclaim demo``: attempts of three small papers, one for each tier, and one by an agent that cheats."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reclaim_nb.commands import exits, running, screen
from reclaim_nb.commands.attempt import AsJson, KernelKind
from reclaim_nb.errors import AttemptError

if TYPE_CHECKING:
    from rich.console import Console

PLAN = (
    ("small/prv-accountant-gaussian", "replay"),
    ("small/iforest-breastw", "replay"),
    ("small/adam-nonconvergence-toy", "replay"),
    ("small/iforest-breastw", "constant"),
)
"""Papers and agents: run, retrain, reimplement, and a null agent that prints the paper's value without measuring."""


def demo(
    kernel: Annotated[KernelKind, typer.Option(help="Where the cells run; local needs no container engine.")] = (
        KernelKind.local
    ),
    runs: Annotated[Path, typer.Option(help="Folder of all attempts.")] = Path("runs"),
    as_json: AsJson = False,
) -> None:
    """Make attempts of three small papers and one by a null agent, and show what a grader says of them.

    Takes a minute or two; needs no key, and no container engine unless --kernel docker is given.
    """
    if kernel is KernelKind.local:
        require_packages([paper for paper, _ in PLAN])
    made = []
    for number, (paper, agent) in enumerate(PLAN, start=1):
        parameters = {"paper": paper, "agent": agent, "kernel": kernel.value, "runs": str(runs), "batch": "demo"}
        folder = running.make_attempt(parameters, f"{number} of {len(PLAN)}:")
        running.grade_if_due(folder)
        made.append(running.report(folder))
        if made[-1].exit_code == exits.CANCELLED:
            break
    if as_json:
        screen.print_json({"attempts": [one.to_json() for one in made]})
    else:
        _print(made, screen.screen())
    if code := exits.worst([one.exit_code for one in made]):
        raise typer.Exit(code)


def require_packages(papers: list[str]) -> None:
    """Check that a plain process can import what the papers' experiments need.

    Raises:
        AttemptError: when packages are missing, with how to get them.
    """
    missing = sorted({name for paper in papers for name in missing_packages(paper)})
    if missing:
        raise AttemptError(
            f"the demo's papers need {', '.join(missing)}, which this Python does not have: "
            "pip install 'reclaim-nb[small]', or use --kernel docker"
        )


def missing_packages(paper: str) -> list[str]:
    """Return the packages of a paper's environment that are not installed for this Python."""
    import re
    from importlib.metadata import PackageNotFoundError, version

    from reclaim_nb.papers.suite import find_paper

    missing = []
    for requirement in find_paper(paper).card.environment.packages:
        found = re.match(r"[A-Za-z0-9._-]+", requirement)
        if found is None:
            continue
        try:
            version(found.group())
        except PackageNotFoundError:
            missing.append(requirement)
    return missing


def _why(one: running.Report) -> str:
    """Return what was measured or handed in, what counts as reproduced, and what the verdict says."""
    row = one.row
    number = f"measured {row.value}" if row.value else f"handed in {row.submitted}" if row.submitted else "no number"
    return f"{number}, reproduced if {one.criterion or '-'}; {one.explanation or 'not graded'}"


def _print(made: list[running.Report], console: Console) -> None:
    from rich.text import Text

    table = screen.table("tier", "paper", "agent", "target", "observed", "spent", "outcome")
    for one in made:
        row = one.row
        outcome = screen.outcome_text(row.outcome, console)
        if row.cause:
            outcome = Text.assemble(outcome, f" ({row.cause})")
        table.add_row(
            row.tier,
            row.paper,
            row.agent,
            screen.target_text(row),
            screen.one_line(row.value or "-"),
            screen.spend_text(row, short=True),
            outcome if row.reason in ("submitted", "agent_stopped") else Text.assemble(outcome, f"; {row.reason}"),
        )
    console.print(table)
    console.print()
    for one in made:
        console.print(f"{one.row.paper}, {one.row.agent}: {screen.one_line(_why(one))}", soft_wrap=True)
    console.print("\nEach attempt is one notebook:")
    for one in made:
        console.print(f"  {one.folder.notebook}", soft_wrap=True)
    console.print(
        "\nOpen one with `jupyter lab PATH`, or any reader of notebooks; its verdict lies beside it as verdict.*.json."
    )
    if any(one.row.unsandboxed for one in made):
        console.print("The cells ran as plain processes of this user (unsandboxed); --kernel docker boxes them in.")
