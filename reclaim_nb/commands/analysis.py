"""``reclaim report`` and ``reclaim import-published``: many attempts, and the published ones beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reclaim_nb.commands import screen
from reclaim_nb.commands.attempt import AsJson, Runs
from reclaim_nb.errors import AttemptError

_EXTRA = "analysis"


def report(
    runs: Annotated[Path, typer.Argument(help="Folder of all attempts.")] = Path("runs"),
    out: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("report"),
    batch: Annotated[
        list[str] | None, typer.Option(help="A batch to report on; may be repeated. Default: all.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Report on attempts: a notebook, one HTML file in which nothing can run, tables and figures."""
    try:
        from reclaim_nb.analysis.report import make_report
    except ModuleNotFoundError as missing:
        raise _without(missing) from missing
    made = make_report(runs, out, batch or ())
    parts = {"page": made.page, "notebook": made.notebook, "tables": made.tables, "figures": made.figures}
    if as_json:
        screen.print_json({name: str(path) for name, path in parts.items()})
    else:
        screen.print_facts(screen.screen(), [(name, str(path)) for name, path in parts.items()])


def import_published(
    path: Annotated[Path, typer.Argument(help="The published release's folder, its index.json, or a CSV of its runs.")],
    runs: Runs = Path("runs"),
    batch: Annotated[str, typer.Option(help="Name of the batch they are put in.")] = "published",
    bundles: Annotated[bool, typer.Option(help="Copy the runs' transcripts too.")] = True,
    as_json: AsJson = False,
) -> None:
    """Import the published runs (repository mithils3/reclaim) into a runs folder. Doing it again changes nothing."""
    try:
        from reclaim_nb.analysis.importing import import_published as take_in
    except ModuleNotFoundError as missing:
        raise _without(missing) from missing
    done = take_in(path, runs, batch=batch, bundles=bundles)
    if as_json:
        document = {"folder": str(done.folder), "written": done.written, "kept": done.kept, "bundles": done.bundles}
        screen.print_json(document)
        return
    console = screen.screen()
    told = f"{done.written} runs imported, {done.kept} were there already, {done.bundles} transcripts copied"
    console.print(f"{told}: {done.folder}", soft_wrap=True)
    console.print(f"`reclaim report {runs} --batch {batch}` reports on them.", soft_wrap=True)


def _without(missing: ModuleNotFoundError) -> AttemptError:
    return AttemptError(f"this needs {missing.name}, which is not installed: pip install 'reclaim-nb[{_EXTRA}]'")
