"""Attempts by agents that talk to a scripted endpoint, and what their records say."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from model_endpoint import Request, Step, call, say

from reclaim_nb.attempts.prepare import Request as AttemptRequest
from reclaim_nb.attempts.prepare import prepare
from reclaim_nb.attempts.runner import Finished, Observer, run_attempt
from reclaim_nb.attempts.session import Session
from reclaim_nb.record.events import Event
from reclaim_nb.record.reader import read_events

PAPER = "small/iforest-breastw"

LOAD = """
import sys

import numpy as np
from sklearn.metrics import roc_auc_score

sys.path.insert(0, str(attempt.release))
from train import anomaly_scores, load_breastw

features, labels = load_breastw()
print("rows", len(labels))
"""

MEASURE = """
auc = np.array([roc_auc_score(labels, anomaly_scores(features, seed)) for seed in range(3)])
print(f"ROC AUC {auc.mean():.4f} (mean of {len(auc)} seeds, n={len(labels)})")
"""


def make(
    folder: Path,
    endpoint_url: str | None,
    *,
    limits: dict[str, Any] | None = None,
    observer: Observer | None = None,
    **request: Any,
) -> Finished:
    """Make an attempt in a local kernel by a model behind an endpoint, unless the request says otherwise.

    Args:
        limits: fields of the spec's limits that a request has no name for.
        observer: of the session.
    """
    options = dict(request.pop("options", {}))
    if endpoint_url is not None:
        options = {"base_url": endpoint_url, "retry_seconds": 0.05, **options}
    given = {"paper": PAPER, "agent": "model", "model": "scripted:tiny", "kernel": "local", **request}
    prepared = prepare(AttemptRequest(runs=str(folder), options=options, **given))
    spec = prepared.spec.model_copy(update={"limits": prepared.spec.limits.model_copy(update=limits)})
    return run_attempt(dataclasses.replace(prepared, spec=spec), observer)


class Doing:
    """An agent that does what a coroutine function does."""

    def __init__(self, work: Callable[[Session], Awaitable[None]]) -> None:
        self._work = work

    async def write(self, session: Session) -> None:
        await self._work(session)


def make_by(folder: Path, work: Callable[[Session], Awaitable[None]], **request: Any) -> Finished:
    """Make an attempt in which a coroutine function is the agent."""
    prepared = prepare(AttemptRequest(PAPER, agent="nothing", kernel="local", runs=str(folder), **request))
    return run_attempt(dataclasses.replace(prepared, agent=Doing(work)))


def solve(request: Request, name: str = "{}") -> Step:
    """Solve the paper: load, check an anchor, measure, submit what the cell printed."""
    steps = [
        call(name.format("run_cell"), source=LOAD),
        call(name.format("check_anchor"), name="rows", value="683"),
        call(name.format("run_cell"), source=MEASURE),
    ]
    done = len(request.outputs)
    if done < len(steps):
        return steps[done]
    if "the attempt is over" in request.outputs[-1]:
        return say("Handed in.")
    found = re.search(r"ROC AUC ([0-9.]+)", request.outputs[-1])
    assert found is not None, request.outputs[-1]
    return call(name.format("submit"), value=found[1], note="mean over three seeds")


def events(finished: Finished, kind: str | None = None) -> list[Event]:
    """Return the events of an attempt, of one kind or all."""
    return [event for event in read_events(finished.folder.stream) if kind in (None, event.kind)]


def usage(finished: Finished) -> dict[str, Any]:
    """Return the usage that stands in the notebook."""
    facts: dict[str, Any] = finished.notebook["metadata"]["reclaim"]["usage"]
    return facts


def grade_outcome(finished: Finished) -> str:
    """Grade an attempt without a model and return the outcome."""
    from reclaim_nb.grading import grade
    from reclaim_nb.papers.card import PaperCard

    card = PaperCard.model_validate(events(finished)[0].data["spec"]["card"])
    return str(grade(finished.folder, card).outcome)
