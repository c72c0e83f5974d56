"""``reclaim papers``: the cards there are, what an agent sees of one, and whether they hold together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reclaim_nb.commands import exits, screen
from reclaim_nb.commands.attempt import AsJson, KernelKind, Network
from reclaim_nb.errors import CardError

if TYPE_CHECKING:
    from reclaim_nb.papers.loading import LoadedCard
    from reclaim_nb.papers.suite import Suite

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
    cells: dict[str, list[str]] = {name: [] for name in ("paper", "tier", "target", "budget", "title")}
    for one in suites:
        for loaded in one:
            card = loaded.card
            value = card.target.printed or "-" if card.target.value is None else format_decimal(card.target.value)
            cells["paper"].append(loaded.name)
            cells["tier"].append(card.tier)
            cells["target"].append(f"{card.target.metric} {value} {screen.unit_text(card.target.unit)}".strip())
            cells["budget"].append(f"{format_decimal(card.budget.hours)} {card.hours_unit}")
            cells["title"].append(card.title)
    screen.print_columns(console, cells, least={"target": 20, "title": 24}, less=("title", "budget", "target"))
    for message in broken:
        console.print(f"broken: {screen.one_line(message)}", soft_wrap=True)


@papers.command("overview")
def overview(
    suite: Annotated[str, typer.Argument(help="Name or folder of a suite.")] = "neurips2025",
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw it too: .svg, .pdf or .png by the file's name.")
    ] = None,
    dark: Annotated[bool, typer.Option("--dark", help="Draw on a dark ground.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show a suite at a glance: papers by tier and band of hours, areas, hours, audit."""
    from dataclasses import asdict

    from reclaim_nb.papers.overview import areas, grid
    from reclaim_nb.papers.suite import find_suite
    from reclaim_nb.papers.totals import PUBLISHED_BANDS, totals

    found = find_suite(suite)
    sums = totals(loaded.card for loaded in found)
    if figure is not None:
        _draw_overview(found, figure, dark)
    if as_json:
        tiers, fields = [asdict(row) for row in grid(sums)], [asdict(row) for row in areas(sums)]
        drawn = str(figure) if figure is not None else None
        screen.print_json(
            {"suite": found.name, "lines": sums.lines(), "tiers": tiers, "areas": fields, "figure": drawn}
        )
        return
    console = screen.screen()
    bands = [one for one in sums.bands if one in PUBLISHED_BANDS or sums.bands[one]]
    table = screen.table("tier", *(f"{one} h" if one[0].isdigit() else one for one in bands), "papers", "H100-hours")
    for row in grid(sums):
        hours = f"{row.h100_hours:,.1f}"
        table.add_row(row.tier, *(str(row.bands[one]) for one in bands), str(row.papers), hours)
    whole = [str(sums.bands[one]) for one in bands]
    table.add_row("all", *whole, str(sums.cards), f"{sums.h100_hours:,.1f}")
    console.print(table)
    table = screen.table("area", "papers", "H100-hours")
    for field in areas(sums):
        table.add_row(field.area, str(field.papers), f"{field.h100_hours:,.1f}")
    console.print(table)
    for line in sums.lines():
        console.print(line, soft_wrap=True)
    if figure is not None:
        console.print(f"drawn: {figure}", soft_wrap=True)


def _draw_overview(suite: Suite, path: Path, dark: bool) -> None:
    from reclaim_nb.analysis.figures import figure as figure_of
    from reclaim_nb.analysis.suites import suite_runs

    draw = figure_of("overview")
    drawn = draw(
        suite_runs(suite), theme="dark" if dark else "light", size="paper" if path.suffix == ".pdf" else "screen"
    )
    try:
        drawn.savefig(path)
    except (OSError, ValueError) as problem:
        raise CardError(f"{path}: cannot be written: {problem}") from None


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


@papers.command("probe")
def probe(
    what: Annotated[list[str], typer.Argument(help="Suites, papers or their folders.")],
    again: Annotated[bool, typer.Option("--again", help="Ask also what was answered lately.")] = False,
    days: Annotated[float, typer.Option(min=0, help="Days for which an answer is not asked for again.")] = 7.0,
    as_json: AsJson = False,
) -> None:
    """Ask the network whether code, commit, data and weights are there, and whether the paper prints the value.

    One request a second to a host, waits that a server asks for, answers kept for a week. The dated record of each
    paper lies in the cache ($RECLAIM_CACHE, else ~/.cache/reclaim). Exit code 1: something is missing, gated or not
    what the card says.
    """
    from reclaim_nb.papers.fetch_cache import Cache
    from reclaim_nb.papers.fetch_web import Web
    from reclaim_nb.papers.probe import probe_paper
    from reclaim_nb.papers.suite import find_paper, load_suite

    places = [_place(name) for name in what]
    cards = [
        loaded
        for path in places
        for loaded in (
            [find_paper(str(path))] if path.is_file() or (path / "paper.yaml").exists() else load_suite(path)
        )
    ]
    side, console, cache, web = screen.side(), screen.screen(), Cache.default(), Web()
    records, silent = [], set[str]()
    try:
        for loaded in cards:
            record = probe_paper(
                loaded,
                cache=cache,
                web=web,
                again=again,
                days=days,
                silent=silent,
                progress=lambda line: side.print(screen.one_line(line), style="dim", soft_wrap=True),
            )
            records.append(record)
            if not as_json:
                console.print(f"{record.paper}, {record.time}: {cache.probe_file(record.paper)}", soft_wrap=True)
                for one in record.answers:
                    console.print(f"  {one.state:<9} {one.what}: {screen.one_line(one.text)}", soft_wrap=True)
    finally:
        web.close()
    faults = sum(len(record.faults) for record in records)
    if as_json:
        screen.print_json(
            {"records": [one.model_dump(mode="json", by_alias=True) for one in records], "faults": faults}
        )
    else:
        unclear = sum(one.state == "unclear" for record in records for one in record.answers)
        console.print(f"\n{len(records)} papers, {faults} faults, {unclear} answers unclear", soft_wrap=True)
    if faults:
        raise typer.Exit(exits.ERROR)


@papers.command("gold")
def gold(
    paper: Annotated[str, typer.Argument(help="suite/slug, or a paper folder.")],
    notebook: Annotated[
        Path | None, typer.Option("--from", help="Reference notebook; default: solution.ipynb beside the card.")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="How often it is replayed; spread is told of two or more.")] = 1,
    kernel: Annotated[KernelKind, typer.Option(help="Where it is replayed.")] = KernelKind.docker,
    network: Annotated[Network, typer.Option(help="Network of the container.")] = Network.none,
    allow: Annotated[list[str] | None, typer.Option(metavar="HOST", help="Host to reach under allowlist.")] = None,
    cpus: Annotated[float, typer.Option(min=0, help="Most CPUs of a container; 0: all.")] = 0.0,
    memory_mib: Annotated[int, typer.Option(min=64, help="Most memory of the kernel, MiB.")] = 4096,
    runs: Annotated[Path, typer.Option(help="Folder of all attempts.")] = Path("runs"),
    out: Annotated[Path | None, typer.Option(help="Write the record here as YAML, and leave the card alone.")] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Put it in the place of a gold run that is there.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Replay a reference notebook in the paper's container and write what comes out onto the card.

    A value outside the published bar makes the card broken, with that as the reason. The suite's manifest is brought up
    to date.
    """
    from reclaim_nb.commands import running
    from reclaim_nb.grading.gold import gold_of
    from reclaim_nb.papers.gold import enter_gold, gold_document, outside_the_bar, refuse_frozen
    from reclaim_nb.papers.suite import dump_yaml, find_paper

    loaded = find_paper(paper)
    source = notebook or loaded.path.parent / "solution.ipynb"
    if out is None:
        refuse_frozen(loaded)
    if out is None and loaded.card.gold is not None and not replace:
        raise CardError(f"{loaded.path}: the card has a gold run already; take its place with --replace, or use --out")
    given = {
        "paper": paper,
        "agent": "replay",
        "options": {"notebook": str(source)},
        "kernel": kernel.value,
        "network": network.value,
        "allow": ",".join(allow) if allow else None,
        "cpus": cpus,
        "memory_mib": memory_mib,
        "runs": str(runs),
        "batch": "gold",
    }
    folders = [running.make_attempt(given, f"replay {turn + 1} of {repeats}") for turn in range(repeats)]
    made = gold_of(folders, loaded.card, source)
    document = dump_yaml({"gold": gold_document(made)})
    if out is not None:
        out.write_text(document, "utf-8")
        path, broken = out, outside_the_bar(loaded.card, made)
    else:
        entered = enter_gold(loaded, made, replace=replace)
        path, broken = entered.path, entered.broken
    if as_json:
        facts = made.model_dump(mode="json")
        screen.print_json({"paper": loaded.name, "gold": facts, "path": path, "broken": broken})
        return
    typer.echo(document, nl=False)
    console = screen.screen()
    console.print(f"written to {path}", soft_wrap=True)
    if broken is not None:
        console.print(f"the card is broken: {screen.one_line(broken)}", soft_wrap=True)


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
