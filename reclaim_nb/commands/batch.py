"""``reclaim batch``: many attempts by a plan."""

from __future__ import annotations

import json
import shlex
import sys
import time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reclaim_nb.commands import exits, screen
from reclaim_nb.commands.attempt import AsJson, KernelKind, Runs
from reclaim_nb.errors import AttemptError, Stopped
from reclaim_nb.near import near

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.text import Text

    from reclaim_nb.batch.plan import Plan
    from reclaim_nb.batch.progress import Progress
    from reclaim_nb.record.index import Row

batch = typer.Typer(help="Many attempts by a plan.", no_args_is_help=True, rich_markup_mode=None)

Slots = Annotated[
    int | None, typer.Option(min=1, help="Attempts at a time; default: as many as CPUs and memory carry.")
]
Gpus = Annotated[
    str | None, typer.Option(help="Ids of GPUs to hand out, separated by commas; default: all of this machine.")
]
DaskAddress = Annotated[str | None, typer.Option(help="Address of a Dask scheduler that carries the plan out.")]
ClusterFile = Annotated[Path | None, typer.Option(help="Cluster file: start a Dask cluster for this plan.")]
PlanFile = Annotated[Path | None, typer.Argument(help="Plan as YAML or JSON; options below stand for one.")]


@batch.command("run")
def run_batch(
    context: typer.Context,
    plan_file: PlanFile = None,
    name: Annotated[str | None, typer.Option(help="Name of the batch.")] = None,
    suite: Annotated[str | None, typer.Option(help="Suite whose papers are attempted.")] = None,
    paper: Annotated[list[str] | None, typer.Option(help="A single paper; may be repeated.")] = None,
    agent: Annotated[list[str] | None, typer.Option(help="An agent; may be repeated.")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Attempts of each agent at each paper.")] = 1,
    kernel: Annotated[KernelKind | None, typer.Option(help="Where cells run.")] = None,
    runs: Runs = Path("runs"),
    slots: Slots = None,
    gpus: Gpus = None,
    dask: DaskAddress = None,
    cluster: ClusterFile = None,
    as_json: AsJson = False,
) -> None:
    """Make what is missing of a batch. Running it again does only what is not done yet.

    With --json one line of JSON is printed for every change, and the summary last.
    """
    if plan_file is not None:
        from reclaim_nb.batch.plan import load_plan

        if said := _given(context, "name", "suite", "paper", "agent", "repeats", "kernel"):
            raise typer.BadParameter(f"{said} do not go with a plan file, which says it itself: change the plan")
        plan = load_plan(plan_file)
    else:
        from reclaim_nb.batch.plan import make_plan

        if not suite and not paper:
            raise typer.BadParameter("name a plan file, or a --suite, or papers with --paper")
        settings = {} if kernel is None else {"kernel": kernel.value}
        plan = make_plan(
            {
                "name": name or (Path(suite).name if suite else "batch"),
                "suite": suite,
                "papers": paper or [],
                "agents": agent or ["replay"],
                "repeats": repeats,
                "settings": settings,
            },
            "options",
        )
    _check_places(context)
    _run(plan, runs, slots, gpus, dask, cluster, as_json)


@batch.command("resume")
def resume_batch(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the batch.")],
    runs: Runs = Path("runs"),
    slots: Slots = None,
    gpus: Gpus = None,
    dask: DaskAddress = None,
    cluster: ClusterFile = None,
    as_json: AsJson = False,
) -> None:
    """Go on with a batch by the plan it was begun with: the same as running that plan again."""
    _check_places(context)
    _run(_kept_plan(name, runs), runs, slots, gpus, dask, cluster, as_json)


def _given(context: typer.Context, *names: str) -> str:
    """Return those of some options that were typed, as one types them."""
    sources = {name: context.get_parameter_source(name) for name in names}
    return ", ".join(
        f"--{name}" for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"
    )


def _check_places(context: typer.Context) -> None:
    """Refuse what only the pool of this machine heeds where a cluster does the work."""
    if (cluster := _given(context, "dask", "cluster")) and (said := _given(context, "slots", "gpus")):
        raise typer.BadParameter(f"{said} do not go with {cluster}: its workers say what runs where")
    if "," in cluster:
        raise typer.BadParameter(f"name one of {cluster}")


def _kept_plan(name: str, runs: Path) -> Plan:
    from reclaim_nb.batch.plan import kept_plan
    from reclaim_nb.record.folder import safe_name

    file = runs / safe_name(name) / "plan.json"
    if not file.exists():
        plans = {one.parent.name for one in runs.glob("*/plan.json")}
        raise AttemptError(f"there is no batch {name!r} below {runs}{near(name, plans)}; `reclaim batch run` makes one")
    return kept_plan(file)


def _run(
    plan: Plan,
    runs: Path,
    slots: int | None,
    gpus: str | None,
    dask: str | None,
    cluster: Path | None,
    as_json: bool,
) -> None:
    watch = _JsonLines() if as_json else _Live(plan, runs)
    try:
        with watch:
            progress = _carry_out(plan, runs, slots, gpus, dask, cluster, watch)
    except KeyboardInterrupt:  # of a cluster; the pool of this machine stops its attempts in order
        progress = _standing(plan, runs)
    rows = _rows(plan.name, runs)
    if as_json:
        print(json.dumps({"batch": plan.name, **progress.to_json(), "attempts": [row.to_json() for row in rows]}))
    else:
        _print_table(rows, progress)
    if progress.done + len(progress.problems) < progress.total:
        raise Stopped(_left(plan.name, runs, progress))
    if progress.problems:
        raise typer.Exit(exits.INFRASTRUCTURE)


def _left(name: str, runs: Path, progress: Progress) -> str:
    """Say how many attempts are left, and how to go on."""
    words = shlex.join(["reclaim", "batch", "resume", name, "--runs", str(runs)])
    left = progress.total - progress.done
    return f"{left} of {progress.total} attempts have no final result; go on with `{words}`"


def _standing(plan: Plan, runs: Path) -> Progress:
    """Return how a batch stands by its files."""
    from reclaim_nb.batch.plan import declare
    from reclaim_nb.batch.progress import Progress
    from reclaim_nb.batch.settle import look
    from reclaim_nb.record.folder import is_held

    declared = declare(plan, runs)
    progress = Progress.of(declared)
    now = time.monotonic()
    for one in declared:
        state = look(one, plan.retries)
        if state is not None and state.final:
            progress.finished(one, state.hours)
        elif state is not None and is_held(state.folder):
            progress.running[one.key] = now
    return progress


@batch.command("status")
def batch_status(
    name: Annotated[str, typer.Argument(help="Name of the batch.")],
    runs: Runs = Path("runs"),
    as_json: AsJson = False,
) -> None:
    """Show how a batch stands, from its files."""
    from reclaim_nb.batch.pool import batch_folder, pool_at_work

    plan = _kept_plan(name, runs)
    progress = _standing(plan, runs)
    pool = pool_at_work(batch_folder(plan, runs))
    rows = _rows(name, runs)
    if as_json:
        told = {"batch": name, "pool": pool, **progress.to_json(), "attempts": [row.to_json() for row in rows]}
        for of_a_pool in ("elapsed_seconds", "eta_seconds"):
            told.pop(of_a_pool)
        screen.print_json(told)
        return
    _print_table(rows, progress)
    if pool is not None:
        screen.side().print(f"a pool (pid {pool}) is at work on it", soft_wrap=True)
    elif progress.done < progress.total:
        screen.side().print(f"no pool is at work; {_left(name, runs, progress)}", soft_wrap=True)


@batch.command("stop")
def stop_batch(
    name: Annotated[str, typer.Argument(help="Name of the batch.")],
    runs: Runs = Path("runs"),
) -> None:
    """Stop the pool at work on a batch; its running attempts are cancelled, and `batch run` makes them again."""
    from reclaim_nb.batch.pool import batch_folder, stop_pool

    pid = stop_pool(batch_folder(_kept_plan(name, runs), runs))
    if pid is None:
        typer.echo(f"no pool is at work on {name!r}")
    else:
        typer.echo(f"told the pool (pid {pid}) to stop; it cancels its attempts and ends")


def _carry_out(
    plan: Plan,
    runs: Path,
    slots: int | None,
    gpus: str | None,
    dask: str | None,
    cluster: Path | None,
    watch: Any,
) -> Progress:
    if dask is None and cluster is None:
        from reclaim_nb.batch.pool import run_plan

        ids = None if gpus is None else [one.strip() for one in gpus.split(",") if one.strip()]
        return run_plan(plan, runs, slots=slots, gpus=ids, watcher=watch)
    from reclaim_nb.batch.dask import run_on_dask

    if cluster is not None:
        from reclaim_nb.batch.cluster import cluster_client, load_cluster

        config = load_cluster(cluster)
        with cluster_client(config) as client:
            return run_on_dask(plan, runs, client, resources=config.resources or None, watcher=watch)
    try:
        from distributed import Client
    except ImportError:
        raise AttemptError("a Dask cluster needs Dask: pip install 'reclaim-nb[dask]'") from None
    with Client(dask) as client:
        return run_on_dask(plan, runs, client, watcher=watch)


def _rows(name: str, runs: Path) -> list[Row]:
    from reclaim_nb.record.folder import safe_name
    from reclaim_nb.record.index import Index

    return [row for row in Index(runs).rows() if row.path.split("/")[0] == safe_name(name)]


class _JsonLines:
    """A line of JSON whenever the numbers have changed."""

    def __init__(self) -> None:
        self._last = ""

    def __enter__(self) -> _JsonLines:
        return self

    def __exit__(self, *exc: object) -> None:
        sys.stdout.flush()

    def __call__(self, progress: Progress) -> None:
        state = progress.to_json()
        for of_time in ("elapsed_seconds", "eta_seconds"):
            state.pop(of_time)
        text = json.dumps(state, sort_keys=True)
        if text != self._last:
            self._last = text
            print(json.dumps(progress.to_json()), flush=True)


class _Live:
    """The batch on a terminal: a bar, what runs, the time that is left."""

    def __init__(self, plan: Plan, runs: Path) -> None:
        self._plan, self._runs = plan, runs
        self._console = screen.side()
        self._live: Any = None
        self._said = -1

    def __enter__(self) -> _Live:
        from reclaim_nb.record.folder import safe_name

        if self._console.is_terminal:
            from rich.live import Live

            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        if (folder := safe_name(self._plan.name)) != self._plan.name:
            self._console.print(f"{self._plan.name}: its attempts lie in {self._runs / folder}", soft_wrap=True)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, progress: Progress) -> None:
        if self._live is None:
            if progress.done != self._said:
                self._said = progress.done
                self._console.print(f"{self._plan.name}: {progress.done} of {progress.total} done", soft_wrap=True)
            return
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.text import Text

        left = progress.eta_seconds(max(1, len(progress.running)))
        eta = f", about {left / 60:.0f} min left" if left is not None else ""
        head = f"{self._plan.name}: {progress.done} of {progress.total} done{eta}"
        now = time.monotonic()
        lines = [Text(f"  {hours}") for hours in _hours(progress)]
        lines += [Text(f"  {now - began:6.0f} s  {key}") for key, began in sorted(progress.running.items())]
        self._live.update(Group(Text(head), ProgressBar(progress.total, progress.done), *lines), refresh=True)


def _hours(progress: Progress) -> list[str]:
    """Say what was spent of what was granted, a line for each kind of hours."""
    from reclaim_nb.attempts.live import format_hours

    return [
        f"{format_hours(Decimal(hours['spent']))} of {hours['granted']} {unit} spent"
        for unit, hours in progress.hours().items()
    ]


def _print_table(rows: list[Row], progress: Progress) -> None:
    from reclaim_nb.grading.calibration.known import known_text
    from reclaim_nb.grading.cause import CODES

    console = screen.screen()
    _table(rows, console)
    for code in sorted({row.cause for row in rows if row.cause}):
        console.print(f"{code}: {CODES.get(code, 'of another version')}", soft_wrap=True)  # type: ignore[call-overload]
    faults = sum(row.reason in ("infrastructure_error", "cancelled") for row in rows)
    ungraded = sum(row.outcome in (None, "ungraded") for row in _last_makings(rows))
    console.print(
        f"{progress.done} of {progress.total} declared attempts have a final result; {len(rows)} were made, "
        f"{faults} of them ended by a fault or a stop and count for nobody; {ungraded} without a verdict"
    )
    for line in _hours(progress):
        console.print(line)
    console.print(known_text(), soft_wrap=True)
    for key, problem in sorted(progress.problems.items()):
        console.print(f"not made: {key}: {problem}", soft_wrap=True)


def _last_makings(rows: list[Row]) -> list[Row]:
    """Return of every attempt the making that counts: the last."""
    makings = sorted(rows, key=lambda row: row.again)
    return list({(row.suite, row.paper, row.agent, row.repeat): row for row in makings}.values())


_LESS = ("tier", "spent", "repeat", "ended", "observed")
"""What a terminal that is too narrow leaves out, the least important first."""


def _table(rows: list[Row], console: Console) -> None:
    """Print the attempts, a line each."""
    cells: dict[str, Sequence[str | Text]] = {
        "tier": [row.tier for row in rows],
        "paper": [row.paper for row in rows],
        "agent": [row.agent for row in rows],
        "repeat": [row.path.rpartition("/")[2] for row in rows],
        "observed": [screen.one_line(row.value or "-") for row in rows],
        "spent": [screen.spend_text(row, short=True) for row in rows],
        "ended": [row.reason or row.state.replace("_", " ") for row in rows],
        "outcome": [_outcome(row, console) for row in rows],
    }
    screen.print_columns(console, cells, least={"paper": 20, "agent": 12, "observed": 8}, less=_LESS)


def _outcome(row: Row, console: Console) -> Text:
    outcome = screen.outcome_text(row.outcome, console)
    if row.cause:
        outcome.append(f" ({row.cause})")
    return outcome
