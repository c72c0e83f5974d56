"""``reclaim rebuild``: a new suite from a new conference, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from reclaim_nb.commands import exits, screen
from reclaim_nb.commands.attempt import AsJson

rebuild = typer.Typer(
    help="A new suite from a new conference: steps over plain files in one folder, each resumable.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Place = Annotated[Path, typer.Argument(help="Folder of the rebuild.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Most papers, for trying it out.")]


@rebuild.command("collect")
def collect(
    folder: Place,
    venue: Annotated[
        str | None, typer.Option(help="OpenReview's venueid, such as NeurIPS.cc/2025/Conference; once.")
    ] = None,
    suite: Annotated[str | None, typer.Option(help="Name of the suite; default: the folder's.")] = None,
    title: Annotated[str | None, typer.Option(help="Title of the suite.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the draw.")] = 0,
    count: Annotated[int, typer.Option(min=1, help="Cards to select.")] = 100,
    limit: Limit = None,
    as_json: AsJson = False,
) -> None:
    """List the accepted papers of a venue. Set $RECLAIM_CONTACT: services are told who asks."""
    from reclaim_nb.rebuild.folder import Folder
    from reclaim_nb.rebuild.run import begin

    if venue is not None and not (folder / "venue.yaml").exists():
        begin(folder, venue=venue, suite=suite, title=title, seed=seed, count=count)
    _do("collect", Folder(folder), limit, as_json)


@rebuild.command("match")
def match(folder: Place, limit: Limit = None, as_json: AsJson = False) -> None:
    """Find each paper's preprint by exact id, or exact title and authors; else none."""
    _do("match", _folder(folder), limit, as_json)


@rebuild.command("read")
def read(folder: Place, limit: Limit = None, as_json: AsJson = False) -> None:
    """Read each paper: LaTeX source of a pinned version first, PDF second."""
    _do("read", _folder(folder), limit, as_json)


@rebuild.command("probe")
def probe(folder: Place, limit: Limit = None, as_json: AsJson = False) -> None:
    """Ask for code, data and weights, dated; the tier follows from the answers."""
    _do("probe", _folder(folder), limit, as_json)


@rebuild.command("draft")
def draft(
    folder: Place,
    model: Annotated[str | None, typer.Option(help="Model that reads, provider:model.")] = None,
    option: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="Option of the model.")] = None,
    settle: Annotated[
        str | None, typer.Option(metavar="PAPER=1|2", help="Take one of two readings that disagree.")
    ] = None,
    by: Annotated[str, typer.Option(help="With --settle: who decides.")] = "",
    reason: Annotated[str, typer.Option(help="With --settle: why.")] = "",
    limit: Limit = None,
    as_json: AsJson = False,
) -> None:
    """Draft cards from two readings of a model; where they disagree a person decides."""
    from reclaim_nb.rebuild.folder import RebuildError
    from reclaim_nb.rebuild.run import settle as take

    place = _folder(folder)
    if settle is not None:
        paper, _, pick = settle.rpartition("=")
        if pick not in ("1", "2"):
            raise RebuildError(f"--settle {settle}: give the paper's id and the reading, such as aB3x=1")
        take(place, paper, int(pick), by, reason)
    from reclaim_nb.commands.attempt import parse_options
    from reclaim_nb.rebuild.extract import reading

    with reading(model, parse_options(option or [])) as reader:
        _do("draft", place, limit, as_json, reader=reader)


@rebuild.command("select")
def select(folder: Place, as_json: AsJson = False) -> None:
    """Draw the suite's cards, stratified by tier and band, by the seed in venue.yaml."""
    _do("select", _folder(folder), None, as_json)


@rebuild.command("review")
def review(
    folder: Place,
    rater: Annotated[str, typer.Option(help="Who decides: small letters, digits, hyphens.")],
    paper: Annotated[str | None, typer.Option(help="Paper to decide about; default: show the next one.")] = None,
    decision: Annotated[str | None, typer.Option(help="accept, edit, refuse, or adjudicate=RATER.")] = None,
    reason: Annotated[str, typer.Option(help="Why; needed unless the card is accepted.")] = "",
    edit: Annotated[
        list[str] | None, typer.Option(metavar="FIELD=VALUE", help="A field to change; each with one --source.")
    ] = None,
    source: Annotated[list[str] | None, typer.Option(help="Where the edited value stands in the paper.")] = None,
    signature: Annotated[str, typer.Option(help="Full name of the person, who signs with it.")] = "",
    as_json: AsJson = False,
) -> None:
    """Decide about cards one at a time; `templates/review.ipynb` does the same in a notebook."""
    from reclaim_nb.rebuild import review as people
    from reclaim_nb.rebuild.folder import RebuildError

    place = _folder(folder)
    if decision is not None and paper is not None:
        if decision.startswith("adjudicate="):
            picked = decision.partition("=")[2]
            people.adjudicate(place, paper, rater, picked, signature=signature, reason=reason)
        elif decision in ("accept", "edit", "refuse"):
            pairs = [one.partition("=") for one in edit or ()]
            if len(pairs) != len(source or ()):
                raise RebuildError("each --edit needs one --source: where the value stands in the paper")
            edits = {
                name: {"value": value, "source": s} for (name, _, value), s in zip(pairs, source or (), strict=True)
            }
            people.record(place, paper, rater, decision, signature=signature, reason=reason, edits=edits)  # type: ignore[arg-type]
        else:
            raise RebuildError(f"--decision {decision}: expected accept, edit, refuse or adjudicate=RATER")
    left = people.waiting(place, rater)
    told = people.agreement(place)
    states = {one: people.final(place, one).state for one in people.chosen(place)}
    if as_json:
        screen.print_json({"waiting": left, "states": states, "agreement": vars(told)})
        return
    if decision is None and (paper or left):
        typer.echo(people.as_markdown(place, paper or left[0]) + "\n")
    typer.echo(f"{len(left)} of {len(states)} cards wait for {rater}: {' '.join(left)}")
    typer.echo(told.as_text())


@rebuild.command("selftest")
def selftest(folder: Place, limit: Limit = None, as_json: AsJson = False) -> None:
    """Grade made-up attempts with each card: target-like, near miss, poor, missing, injected, null agents."""
    _do("selftest", _folder(folder), limit, as_json)


@rebuild.command("freeze")
def freeze(
    folder: Place,
    version: Annotated[str, typer.Option(help="Version of the suite.")] = "1",
    key: Annotated[Path | None, typer.Option(help="SSH key to sign the manifest with.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write the suite: cards, hashes, seal, canary, dev split, errata file. It is never written again."""
    from reclaim_nb.rebuild.finish import freeze as write
    from reclaim_nb.rebuild.services import today

    made = write(_folder(folder), version, today(), key=key)
    if as_json:
        screen.print_json({"suite": str(made)})
    else:
        typer.echo(f"frozen: {made}")


@rebuild.command("drift")
def drift(
    folder: Place,
    date: Annotated[str | None, typer.Option(help="Date of the look; default: today.")] = None,
    as_json: AsJson = False,
) -> None:
    """Ask again about everything a frozen suite rests on. Exit code 1: a card has decayed."""
    from reclaim_nb.rebuild.finish import drift as look
    from reclaim_nb.rebuild.services import Services, today

    place, day = _folder(folder), date or today()
    with Services(place, cache=f"cache/drift-{day}") as services:
        record = look(place, services, day)
    if as_json:
        screen.print_json(record)
    else:
        for row in record["cards"]:
            changes = "; ".join(f"{one['what']}: {one['change']}" for one in row["changes"])
            typer.echo(f"{row['state']:<10} {row['card']} {screen.one_line(changes)}".rstrip())
    if any(row["state"] == "decayed" for row in record["cards"]):
        raise typer.Exit(exits.ERROR)


@rebuild.command("status")
def status(folder: Place, as_json: AsJson = False) -> None:
    """Show where a rebuild stands: papers by step, refusals, open questions, what came of the selected cards."""
    from reclaim_nb.rebuild.run import overview

    found = overview(_folder(folder))
    if as_json:
        screen.print_json(found)
        return
    typer.echo(f"{found['venue']}: {found['papers']} papers")
    for step, counts in found["steps"].items():
        typer.echo(f"  {step}: {', '.join(f'{number} {name}' for name, number in counts.items())}")
    for paper, step, why in found["refusals"]:
        typer.echo(f"  refused {paper}: {step}: {screen.one_line(why)}")
    for paper, why in found["questions"].items():
        typer.echo(f"  question {paper}: {screen.one_line(why)}")
    if found["selected"]:
        typer.echo(f"selected: {', '.join(f'{number} {state}' for state, number in found['selected'].items())}")
    if found["frozen"]:
        typer.echo(f"frozen: {found['frozen']}")


def _folder(path: Path) -> Any:
    from reclaim_nb.rebuild.folder import Folder

    return Folder(path)


def _do(step: str, folder: Any, limit: int | None, as_json: bool, reader: Any = None) -> None:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from reclaim_nb.rebuild.folder import Later, RebuildError
    from reclaim_nb.rebuild.run import run_step

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen.side(), transient=True) as bar:
        task = bar.add_task(step, total=None)

        def told(paper: str, done: int, whole: int) -> None:
            bar.update(task, description=f"{step} {paper}", completed=done, total=whole)

        try:
            done = run_step(step, folder, limit=limit, reader=reader, progress=told)
        except Later as problem:
            raise RebuildError(f"{problem}; what is done is kept, run the same command again") from problem
    if as_json:
        screen.print_json(vars(done))
    else:
        for line in done.lines():
            typer.echo(screen.one_line(line))
    if done.later:
        raise typer.Exit(exits.ERROR)
