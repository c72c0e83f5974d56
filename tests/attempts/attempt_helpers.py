"""Attempts at a tiny paper that exists for the test alone, and what may be said of each afterwards."""

from __future__ import annotations

import dataclasses
import itertools
import json
import time
import warnings
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import psutil
import script_agent
import yaml

from reclaim_nb.attempts.prepare import Prepared, Request, prepare
from reclaim_nb.attempts.runner import Finished, Observer, run_attempt
from reclaim_nb.attempts.session import Session
from reclaim_nb.kernels.box import Box, box_root
from reclaim_nb.record.events import Event
from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.record.reader import read_events, resolved
from reclaim_nb.record.verify import verify_record

Cells = Mapping[str, str | tuple[str, float]]
"""Source by name of the case; with a tuple, source and time limit in seconds."""

_names = itertools.count()


def tiny_paper(folder: Path, *, release: dict[str, str] | None = None, **changes: Any) -> Path:
    """Write a paper folder ``<folder>/tiny/toy`` and return it."""
    paper = folder / "tiny" / "toy"
    paper.mkdir(parents=True, exist_ok=True)
    card = {
        "id": "toy",
        "title": "A toy",
        "authors": ["A. Author"],
        "release": {"code": None, "data": [{"name": "toy data"}], "weights": None},
        "device": "cpu",
        "target": {
            "claim": "Adding two and two gives 4.",
            "metric": "sum",
            "value": 4,
            "unit": "count",
            "direction": "higher",
        },
        "criterion": {"rule": "within", "low": 3.9, "high": 4.1, "basis": "plus or minus 0.1"},
        "need": {"hours": 0.01},
        "budget": {"hours": 0.5, "rationale": "plenty"},
        "anchors": [{"name": "two", "what": "the first summand", "value": 2, "unit": "count"}],
    } | changes
    (paper / "paper.yaml").write_text(yaml.safe_dump(card, sort_keys=False), "utf-8")
    (paper / "paper.md").write_text("# A toy\n\n## Method\n\nAdd two and two.\n\n## Result\n\nThe sum is 4.\n", "utf-8")
    for name, text in (release or {}).items():
        (paper / "release").mkdir(exist_ok=True)
        (paper / "release" / name).write_text(text, "utf-8")
    return paper


def script(cells: Cells) -> dict[str, Any]:
    """Return the options of the agent ``script``."""
    return {
        "cells": [
            {"case": case, "source": cell if isinstance(cell, str) else cell[0]}
            | ({} if isinstance(cell, str) else {"timeout": cell[1]})
            for case, cell in cells.items()
        ]
    }


def prepared(
    folder: Path,
    agent: Cells | Callable[[Session], Awaitable[None]],
    kernel: str = "local",
    *,
    limits: dict[str, Any] | None = None,
    kernel_options: dict[str, Any] | None = None,
    kernel_facts: dict[str, Any] | None = None,
    paper: Path | None = None,
    **request: Any,
) -> Prepared:
    """Prepare an attempt of cells, or of a function, at the tiny paper.

    Args:
        limits, kernel_options, kernel_facts: fields of the spec that a request has no name for.
    """
    if isinstance(agent, Mapping):
        chosen: dict[str, Any] = {"agent": "script", "options": script(agent)}
    else:
        name = f"function-{next(_names)}"
        script_agent.FUNCTIONS[name] = agent
        chosen = {"agent": "function", "options": {"name": name}}
    made = prepare(
        Request(paper=str(paper or tiny_paper(folder)), runs=str(folder / "runs"), kernel=kernel, **chosen, **request)
    )
    spec = made.spec
    if limits:
        spec = spec.model_copy(update={"limits": spec.limits.model_copy(update=limits)})
    if kernel_options:
        options = spec.kernel.options | kernel_options
        spec = spec.model_copy(update={"kernel": spec.kernel.model_copy(update={"options": options})})
    if kernel_facts:
        spec = spec.model_copy(update={"kernel": spec.kernel.model_copy(update=kernel_facts)})
    return dataclasses.replace(made, spec=spec)


@dataclass
class Result:
    """An attempt that has ended."""

    folder: AttemptFolder
    reason: str
    detail: str | None

    @cached_property
    def notebook(self) -> dict[str, Any]:
        notebook: dict[str, Any] = json.loads(self.folder.notebook.read_bytes(), parse_constant=_refuse)
        return notebook

    @cached_property
    def events(self) -> list[Event]:
        return list(read_events(self.folder.stream))

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the data of the events of a kind."""
        return [event.data for event in self.events if event.kind == kind]

    @cached_property
    def cells(self) -> dict[str, dict[str, Any]]:
        """The agent's code cells of the notebook, by case."""
        return {cell["metadata"]["case"]: cell for cell in self.notebook["cells"] if "case" in cell.get("metadata", {})}

    def status(self, case: str) -> str:
        status: str = self.cells[case]["metadata"]["reclaim"]["status"]
        return status

    def facts(self, case: str) -> dict[str, Any]:
        facts: dict[str, Any] = self.cells[case]["metadata"]["reclaim"]
        return facts

    def end(self, case: str) -> dict[str, Any]:
        """Return the cell_end of a case."""
        cell = self.cells[case]["id"]
        (end,) = [data for data in self.of("cell_end") if data["cell"] == cell]
        return end

    def shown(self, case: str) -> str:
        """Return everything that the notebook shows under a cell."""
        return json.dumps(self.cells[case]["outputs"], ensure_ascii=False)

    def text(self, case: str, name: str = "stdout") -> str:
        """Return a stream's text as the notebook shows it."""
        return "".join("".join(o["text"]) for o in self.cells[case]["outputs"] if o.get("name") == name)

    def messages(self, case: str) -> list[dict[str, Any]]:
        """Return the recorded messages of a case, with their whole texts."""
        cell, store = self.cells[case]["id"], self.folder.store()
        return [
            resolved(event, store) for event in self.events if event.kind == "message" and event.data["cell"] == cell
        ]

    def printed(self, case: str, name: str = "stdout") -> str:
        """Return all that a cell printed, from the record."""
        return "".join(
            data["content"]["text"]
            for data in self.messages(case)
            if data["msg_type"] == "stream" and data["content"]["name"] == name
        )


def _refuse(name: str) -> None:
    raise AssertionError(f"{name} is no strict JSON")


def run(folder: Path, agent: Cells | Callable[[Session], Awaitable[None]], kernel: str = "local", **how: Any) -> Result:
    """Run an attempt and check what must hold however it ends."""
    observer: Observer | None = how.pop("observer", None)
    made = prepared(folder, agent, kernel, **how)
    return checked(run_attempt(made, observer))


def checked(finished: Finished) -> Result:
    """Check what must hold of every ended attempt: a sound record, a valid notebook, nothing left running."""
    import nbformat  # here, because it takes seconds and the runners of some tests need none of it

    result = Result(finished.folder, finished.reason, finished.detail)
    check = verify_record(finished.folder)
    assert check.problems == []
    assert check.ended
    assert result.of("end")[-1]["reason"] == finished.reason
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nbformat.validate(nbformat.from_dict(result.notebook))
    opened = {data["cell"] for data in result.of("cell") if data["cell_type"] == "code"}
    assert opened == {data["cell"] for data in result.of("cell_end")}, "every code cell has its end"
    assert not list(finished.folder.path.glob(".*.part"))
    attempt = result.of("attempt")[0]["spec"]["id"]
    assert traces_of(attempt) == []
    return result


def traces_of(attempt: str) -> list[str]:
    """Return what is left of an attempt on this machine: containers, private folders, processes."""
    found = [f"container {name}" for name in containers_of(attempt)]
    for path in box_root().glob("reclaim-????????"):
        if Box(path).description().get("attempt") == attempt:
            found.append(f"folder {path}")
    return found + [f"process {pid}" for pid in processes_of(attempt)]


def processes_of(attempt: str) -> list[int]:
    """Return the live processes that were started in an attempt's local kernel, by their environment."""
    mark = f"RECLAIM_ATTEMPT={attempt}".encode()
    found = []
    for process in psutil.process_iter():
        try:
            environment = Path(f"/proc/{process.pid}/environ").read_bytes()
            if mark in environment.split(b"\0") and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except (OSError, psutil.Error):
            continue
    return found


def containers_of(attempt: str) -> list[str]:
    from reclaim_nb.kernels.images import engine, engine_problem

    if engine_problem() is not None:
        return []
    client = engine()
    try:
        found = client.api.containers(all=True, filters={"label": f"org.reclaim.attempt={attempt}"})
    finally:
        client.close()
    return [container["Id"][:12] for container in found]


def wait_for(condition: Callable[[], Any], what: str, seconds: float = 120.0) -> Any:
    """Wait until a condition holds and return its value."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"{what}: not within {seconds:g} s")
