"""Batches as the lab sees them: what a plan file would do, and how the batches of the runs folder stand."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

from reclaim_nb.batch.plan import Declared, Plan, declare, load_plan
from reclaim_nb.batch.pool import batch_folder, default_slots, pool_at_work
from reclaim_nb.batch.progress import Progress
from reclaim_nb.batch.settle import look
from reclaim_nb.errors import AttemptError, ReclaimError
from reclaim_nb.papers.numbers import format_decimal
from reclaim_nb.server.options import check_agent
from reclaim_nb.server.places import NotFound, Places

PLAN_BYTES = 256 * 1024
"""A larger file is no plan that a person wrote."""

SUFFIXES = (".yaml", ".yml")
MOST_FILES = 200
"""Most files of a folder that are looked into."""


def plan_file(places: Places, path: str) -> Path:
    """Return the file that the file browser shows by a path.

    Raises:
        NotFound: when there is none, or it is no file that can be a plan.
    """
    file = places.inside_root(path)
    if file is None or file.suffix not in SUFFIXES or not _is_small_file(file):
        raise NotFound(f"{path}: there is no plan file of that name in the file browser's folder")
    return file


def plans_in(places: Places, folder: str) -> list[str]:
    """Return the names of the files of a folder that are plans, whole or not.

    Raises:
        NotFound: when there is no such folder.
    """
    place = places.inside_root(folder)
    if place is None or not os.path.isdir(place):  # unlike Path.is_dir, it takes any name
        raise NotFound(f"{folder}: there is no such folder in the file browser")
    files = sorted(file for file in place.iterdir() if file.suffix in SUFFIXES and not file.name.startswith("."))
    return [file.name for file in files[:MOST_FILES] if _looks_like_a_plan(file)]


def _looks_like_a_plan(file: Path) -> bool:
    try:
        raw = yaml.safe_load(file.read_text("utf-8")) if _is_small_file(file) else None
    except (OSError, ValueError, yaml.YAMLError, RecursionError):
        return False
    return isinstance(raw, dict) and "agents" in raw and ("suite" in raw or "papers" in raw)


def _is_small_file(file: Path) -> bool:
    return os.path.isfile(file) and file.stat().st_size <= PLAN_BYTES


def preview(plan: Plan, places: Places, slots: int) -> dict[str, Any]:
    """Return what carrying out a plan would do.

    Args:
        plan: the plan.
        places: the folders.
        slots: attempts that may run at the same time here.
    """
    declared = declare(plan, places.runs)
    progress, missing = Progress.of(declared), []
    for one in declared:
        state = look(one, plan.retries)
        if state is not None and state.final:
            progress.finished(one, state.hours)
        else:
            missing.append(one)
    return {
        "name": plan.name,
        "suites": sorted({one.suite for one in declared}),
        "papers": list(dict.fromkeys(f"{one.suite}/{one.paper}" for one in declared)),
        "agents": list(dict.fromkeys(one.label for one in declared)),
        "repeats": plan.repeats,
        "kernel": str(plan.settings.get("kernel", "auto")),
        "network": str(plan.settings.get("network", "none")),
        "total": len(declared),
        "done": progress.done,
        "slots": min(slots, default_slots(plan)),
        "most_hours": _hours(missing),
        "running": pool_at_work(batch_folder(plan, places.runs)) is not None,
    }


def _hours(declared: list[Declared]) -> list[dict[str, str]]:
    """Return the hours that attempts may spend at most, by what they are counted in."""
    return [
        {"unit": unit, "hours": format_decimal(Decimal(hours["granted"]))}
        for unit, hours in Progress.of(declared).hours().items()
    ]


def check_plan(plan: Plan, agents: list[str], kernels: list[str], papers: set[str], places: Places) -> None:
    """Refuse a plan that asks for what this server is not configured for.

    Args:
        plan: the plan.
        agents, kernels: what may be started.
        papers: ``suite/slug`` of all papers of the configured suites.
        places: the folders.

    Raises:
        AttemptError: naming what may be asked for.
    """
    for agent in plan.agents:
        check_agent(agent.name, agent.options, agents, places.root)
    kernel = plan.settings.get("kernel", "auto")
    if kernel not in kernels and not (kernel == "auto" and set(kernels) == {"docker", "local"}):
        raise AttemptError(
            f"settings.kernel: {kernel!r} may not be started here; name one of {', '.join(kernels)} in the plan"
        )
    suites = {name.partition("/")[0] for name in papers}
    unknown = [*([plan.suite] if plan.suite not in (None, *suites) else []), *(set(plan.papers) - papers)]
    if unknown:
        raise AttemptError(f"{', '.join(map(str, unknown))}: not in the configured suites (ReclaimServer.papers_dirs)")


def read_plan(places: Places, path: str) -> Plan:
    """Read a plan file of the file browser; what is wrong is told without the server's own folders.

    Raises:
        NotFound: when there is none.
        AttemptError: when it is not a plan.
    """
    file = plan_file(places, path)
    try:
        return load_plan(file)
    except AttemptError as problem:
        raise AttemptError(str(problem).replace(str(file), path)) from None


class Batches:
    """The batches of a runs folder; what a plan amounts to is worked out anew only when the plan has changed."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._known: dict[str, tuple[int, dict[str, Any]]] = {}

    def get(self) -> list[dict[str, Any]]:
        """Return every batch with a plan: its name, how many attempts it declares, and whether a pool is at work."""
        runs = self._places.runs
        files = sorted(runs.glob("*/plan.json")) if runs.is_dir() else []
        found = []
        for file in files:
            facts = self._facts(file)
            if facts is not None:
                found.append({**facts, "running": pool_at_work(file.parent) is not None})
        return found

    def plan(self, name: str) -> Plan:
        """Return the plan that a batch was begun with.

        Raises:
            NotFound: when there is no such batch.
        """
        file = self._places.runs / name / "plan.json"
        plain = name not in (".", "..") and "/" not in name and "\0" not in name
        if not plain or not os.path.isfile(file) or (facts := self._facts(file)) is None or facts["folder"] != name:
            raise NotFound(f"there is no batch {name!r} in {self._places.runs}")
        return Plan.model_validate_json(file.read_text("utf-8"))

    def _facts(self, file: Path) -> dict[str, Any] | None:
        try:
            stamp = file.stat().st_mtime_ns
            known = self._known.get(str(file))
            if known is None or known[0] != stamp:
                plan = Plan.model_validate_json(file.read_text("utf-8"))
                declared = declare(plan, self._places.runs)
                facts = {
                    "folder": file.parent.name,
                    "name": plan.name,
                    "total": len(declared),
                    "retries": plan.retries,
                    "hours": _hours(declared),
                }
                known = self._known[str(file)] = (stamp, facts)
            return known[1]
        except (OSError, ValueError, ReclaimError):  # of another version, or its suite is not here: it cannot be shown
            return None
