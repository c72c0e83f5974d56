"""``reclaim report`` and ``reclaim import-published``: many attempts, and the published ones beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reclaim_nb.commands import screen
from reclaim_nb.commands.attempt import AsJson, Runs


def report(
    runs: Annotated[Path, typer.Argument(help="Folder of all attempts.")] = Path("runs"),
    out: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("report"),
    batch: Annotated[
        list[str] | None, typer.Option(help="A batch to report on; may be repeated. Default: all.")
    ] = None,
    include_broken: Annotated[bool, typer.Option(help="Take papers whose card the audit calls broken.")] = False,
    include_provisional: Annotated[
        bool, typer.Option(help="Take papers whose target was only seen second-hand.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Report on attempts: a notebook, one HTML file in which nothing can run, tables and figures."""
    from reclaim_nb.analysis.report import make_report

    made = make_report(runs, out, batch or (), include_broken=include_broken, include_provisional=include_provisional)
    parts = {"page": made.page, "notebook": made.notebook, "tables": made.tables, "figures": made.figures}
    if as_json:
        screen.print_json({name: str(path) for name, path in parts.items()})
    else:
        screen.print_facts(screen.screen(), [(name, str(path)) for name, path in parts.items()])


def export(
    runs: Annotated[Path, typer.Argument(help="Folder of all attempts.")] = Path("runs"),
    out: Annotated[Path, typer.Option(help="A new folder, or a file ending in .zip.")] = Path("runs-crate.zip"),
    batch: Annotated[list[str] | None, typer.Option(help="A batch to export; may be repeated. Default: all.")] = None,
    workspaces: Annotated[bool, typer.Option("--workspaces", help="Take archived workspaces along.")] = False,
    license: Annotated[str, typer.Option(help="Under which the records are shared: a URL, or a sentence.")] = "",
    as_json: AsJson = False,
) -> None:
    """Export ended attempts as an RO-Crate: records, verdicts, and what a catalogue can read of them."""
    from reclaim_nb.analysis.crate import export_crate

    done = export_crate(runs, out, batch or (), workspaces=workspaces, license=license)
    if as_json:
        document = {"path": str(done.path), "attempts": done.attempts, "files": done.files}
        screen.print_json({**document, "left_out": list(done.left_out)})
        return
    console = screen.screen()
    console.print(f"{done.attempts} attempts in {done.files} files: {done.path}", soft_wrap=True)
    for line in done.left_out:
        console.print(f"left out: {line}", soft_wrap=True, markup=False)


def import_published(
    path: Annotated[Path, typer.Argument(help="The published release's folder, its index.json, or a CSV of its runs.")],
    runs: Runs = Path("runs"),
    batch: Annotated[str, typer.Option(help="Name of the batch they are put in.")] = "published",
    bundles: Annotated[bool, typer.Option(help="Copy the runs' transcripts too.")] = True,
    as_json: AsJson = False,
) -> None:
    """Import the published runs (repository mithils3/reclaim) into a runs folder. Doing it again changes nothing."""
    from reclaim_nb.analysis.importing import import_published as take_in

    done = take_in(path, runs, batch=batch, bundles=bundles)
    if as_json:
        document = {"folder": str(done.folder), "written": done.written, "kept": done.kept, "bundles": done.bundles}
        screen.print_json(document)
        return
    console = screen.screen()
    told = f"{done.written} runs imported, {done.kept} were there already, {done.bundles} transcripts copied"
    console.print(f"{told}: {done.folder}", soft_wrap=True)
    console.print(f"`reclaim report {runs} --batch {batch}` reports on them.", soft_wrap=True)
