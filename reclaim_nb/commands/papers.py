"""``reclaim papers``: the cards there are, what an agent sees of one, and whether they hold together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reclaim_nb.commands import exits, screen
from reclaim_nb.commands.attempt import AsJson

if TYPE_CHECKING:
    from reclaim_nb.papers.loading import LoadedCard

papers = typer.Typer(help="The paper cards: list, show, check.", no_args_is_help=True, rich_markup_mode=None)


@papers.command("list")
def list_papers(
    suite: Annotated[str | None, typer.Argument(help="Name or folder of a suite; default: every suite.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the papers of every suite that ships with the package or lies in $RECLAIM_PAPERS."""
    from reclaim_nb.papers.numbers import format_decimal
    from reclaim_nb.papers.suite import find_suite, load_suite, suite_folders

    suites = [find_suite(suite)] if suite else [load_suite(folder, keep_going=True) for folder in suite_folders()]
    broken = [message for one in suites for message in one.broken]
    if as_json:
        screen.print_json({"papers": [_facts(loaded) for one in suites for loaded in one], "broken": broken})
        return
    console = screen.screen()
    table = screen.table("paper", "tier", "target", "budget", "title", whole="paper")
    for one in suites:
        for loaded in one:
            card = loaded.card
            value = card.target.printed or "-" if card.target.value is None else format_decimal(card.target.value)
            table.add_row(
                loaded.name,
                card.tier,
                f"{card.target.metric} {value} {screen.unit_text(card.target.unit)}".strip(),
                f"{format_decimal(card.budget.hours)} {card.hours_unit}",
                card.title,
            )
    console.print(table)
    for message in broken:
        console.print(f"broken: {screen.one_line(message)}", soft_wrap=True)


@papers.command("show")
def show(
    paper: Annotated[str, typer.Argument(help="suite/slug, or a paper folder.")],
    everything: Annotated[
        bool, typer.Option("--all", help="The whole card, with what is withheld from agents.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show a paper card as an agent sees it."""
    from reclaim_nb.papers.suite import find_paper
    from reclaim_nb.papers.view import agent_view, as_markdown

    loaded = find_paper(paper)
    if as_json:
        model = loaded.card if everything else agent_view(loaded.card)
        screen.print_json(model.model_dump(mode="json", by_alias=True))
    elif everything:
        typer.echo(loaded.path.read_text("utf-8"), nl=False)
    else:
        _print_markdown(as_markdown(agent_view(loaded.card)))


def fetch(
    paper: Annotated[str, typer.Argument(help="suite/slug, or a paper folder.")],
    again: Annotated[
        bool, typer.Option("--again", help="Look at every source anew, and make the release anew.")
    ] = False,
    accept_changes: Annotated[
        bool,
        typer.Option("--accept-changes", help="With --again: take what changed upstream and the card does not pin."),
    ] = False,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Leave out what cannot be had, and say so, instead of failing.")
    ] = False,
    most_gib: Annotated[float, typer.Option(min=0.001, help="Most GiB of the release in all.")] = 50.0,
    as_json: AsJson = False,
) -> None:
    """Bring what a paper's authors published into the cache: code, data, weights, the paper's text.

    Whole or not at all. Attempts then mount it read-only; outputs of shipped notebooks are removed before. Running it
    again after an interruption goes on where it stopped. The cache is $RECLAIM_CACHE, else ~/.cache/reclaim.
    """
    from reclaim_nb.papers.fetch import GIB, fetch_paper
    from reclaim_nb.papers.suite import find_paper

    loaded = find_paper(paper)
    side = screen.side()
    if loaded.release_folder is not None and not again:
        side.print(f"nothing to fetch: the release lies beside the card, {loaded.release_folder}", soft_wrap=True)
        if as_json:
            screen.print_json({"path": str(loaded.release_folder)})
        return
    done = fetch_paper(
        loaded,
        again=again,
        accept_changes=accept_changes,
        keep_going=keep_going,
        most_bytes=int(most_gib * GIB),
        progress=lambda line: side.print(screen.one_line(line), style="dim", soft_wrap=True),
    )
    facts = done.facts
    if as_json:
        screen.print_json({**facts.model_dump(mode="json", by_alias=True), "path": str(done.path)})
        return
    size = sum(file.size for file in facts.tree)
    pairs: list[tuple[str, Any]] = [
        ("paper", loaded.name),
        ("release", f"{len(facts.tree)} files, {size / 1e6:.1f} MB, in {done.path}"),
    ]
    for one in facts.repositories:
        pairs.append((one.folder, f"{one.url} at {one.commit}{'' if one.pinned else ' (not pinned by the card)'}"))
    pairs += [("not pinned", f"{one.path}: sha256 {one.sha256}") for one in facts.files if not one.pinned]
    if facts.text is not None:
        pairs.append(("text", facts.text.url))
    pairs += [("stripped", f"outputs of {name}") for name in facts.stripped]
    pairs += [("missing", f"{one.what}: {one.why}") for one in facts.missing]
    screen.print_facts(screen.screen(), pairs)


@papers.command("check")
def check(
    what: Annotated[
        list[str] | None, typer.Argument(help="Suites, papers or their folders; default: every suite.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check cards, manifests and bounds. Errors make the exit code 1; warnings and notes do not."""
    from reclaim_nb.papers.check import check_path, summarise
    from reclaim_nb.papers.suite import suite_folders

    paths = [_place(name) for name in what] if what else suite_folders()
    findings = [finding for path in paths for finding in check_path(path)]
    errors = sum(finding.level == "error" for finding in findings)
    suites = [path for path in paths if path.is_dir() and not (path / "paper.yaml").exists()]
    totals = {str(folder): summarise(folder) for folder in suites}
    if as_json:
        summaries = {name: one.lines() for name, one in totals.items()}
        found = [vars(finding) for finding in findings]
        screen.print_json({"checked": paths, "findings": found, "errors": errors, "totals": summaries})
    else:
        console = screen.screen()
        for finding in findings:
            console.print(screen.one_line(str(finding)), soft_wrap=True)
        for name, one in totals.items():
            console.print(f"\n{name}", soft_wrap=True)
            for line in one.lines():
                console.print(f"  {line}", soft_wrap=True)
        console.print(f"\n{errors} errors, {len(findings) - errors} warnings and notes")
    if errors:
        raise typer.Exit(exits.ERROR)


def _place(name: str) -> Path:
    """Return the folder of a suite, or the file of a card."""
    from reclaim_nb.papers.suite import find_paper, suite_folders

    for folder in suite_folders():
        if folder.name == name:
            return folder
    path = Path(name)
    return path if path.exists() else find_paper(name).path


def _facts(loaded: LoadedCard) -> dict[str, object]:
    card = loaded.card
    return {
        "name": loaded.name,
        "title": card.title,
        "tier": card.tier,
        "device": card.device,
        "metric": card.target.metric,
        "value": None if card.target.value is None else str(card.target.value),
        "unit": card.target.unit,
        "budget_hours": str(card.budget.hours),
        "hours_unit": card.hours_unit,
        "audit": card.audit.state,
        "path": str(loaded.path),
        "sha256": loaded.sha256,
        "changed": loaded.changed,
    }


def _print_markdown(text: str) -> None:
    console = screen.screen()
    if not console.is_terminal:
        typer.echo(text, nl=False)
        return
    from rich.markdown import Markdown

    console.print(Markdown(text))
