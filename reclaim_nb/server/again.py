"""Re-executions of an attempt: the work itself, and how it stands, by the files in the attempt's folder.

Whether one is going on is told by a lock that the system frees with its process; everything else by files.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reclaim_nb.errors import ReclaimError, Stopped
from reclaim_nb.record.clock import SystemClock
from reclaim_nb.record.folder import AttemptFolder, Lock, is_held, write_json

LOCK = ".reexecute.lock"
STATE = ".reexecute.json"
"""What the last one was asked for and what became of it; no part of the record."""
NOTHING: dict[str, Any] = {"whole": None, "started": None, "ended": None, "stopped": False, "problem": None}
"""How it stands where none was asked for yet."""

RESULTS = "reexecution.*.json"


def run_again(folder: AttemptFolder, whole: bool, begun: Callable[[], None]) -> Path:
    """Run an attempt's measurement again, as ``reclaim reexecute`` does, and add the verdict with it.

    Args:
        folder: an attempt that has ended.
        whole: the whole notebook in an empty workspace, not the measurement alone.
        begun: called when the first kernel is about to start.

    Returns:
        The file of the verdict.

    Raises:
        Stopped: when this process was told to stop before all had run; nothing is then left of it but that.
        ReclaimError: when it cannot be done; what came after ``begun`` is also kept for :func:`state`.
    """
    from reclaim_nb.attempts.stopping import StopAsked
    from reclaim_nb.commands.running import recorded_card
    from reclaim_nb.grading.reexecute import grade_with_reexecution, reexecute
    from reclaim_nb.grading.verdict import write_verdict

    lock = Lock(folder, LOCK)
    told = NOTHING | {"whole": whole, "started": SystemClock().now()}
    with StopAsked() as stop:
        lock.take()
        try:
            write_json(folder.path / STATE, told)
            found = reexecute(folder, what="notebook" if whole else "cell", begun=begun, stop=stop)
            return write_verdict(folder, grade_with_reexecution(folder, recorded_card(folder), found))
        except Stopped:
            told["stopped"] = True
            raise
        except Exception as problem:
            text = str(problem) if isinstance(problem, ReclaimError) else f"{type(problem).__name__}: {problem}"
            told["problem"] = text
            raise
        finally:
            write_json(folder.path / STATE, told | {"ended": SystemClock().now()})
            lock.release()


def state(folder: AttemptFolder) -> dict[str, Any]:
    """Return whether an attempt is being re-executed, how the last try ended, and every result, oldest first."""
    running = is_held(folder, LOCK)
    try:
        last = json.loads((folder.path / STATE).read_text("utf-8"))
        told = {name: last.get(name, none) for name, none in NOTHING.items()}
    except (OSError, ValueError, AttributeError):
        told = dict(NOTHING)
    if not running and told["started"] is not None and told["ended"] is None:
        told["problem"] = "its process ended before it was done; runner.log beside the record may say why"
    return {"running": running, **told, "results": [_result(path) for path in _results(folder)]}


def _results(folder: AttemptFolder) -> list[Path]:
    return sorted(folder.path.glob(RESULTS), key=lambda path: (len(path.name), path.name))


def _result(path: Path) -> dict[str, Any]:
    from reclaim_nb.grading.reexecute import read_reexecution

    try:
        rerun, _ = read_reexecution(path)
    except ReclaimError as problem:
        return {"file": path.name, "problem": str(problem), "result": None}
    result = {
        "what": rerun.what,
        "kernel": rerun.kernel,
        "measuring": rerun.measuring,
        "cells": list(rerun.cells),
        "original": rerun.original,
        "again": rerun.same.value,
        "detail": rerun.same.detail or rerun.same.status,
        "agrees": rerun.agrees,
        "changed": list(dict.fromkeys(name for run in rerun.changes for name in run.changed)),
        "constant": rerun.constant,
        "left_out": [{"cell": part.cell, "text": part.text} for part in rerun.left_out],
    }
    return {"file": path.name, "problem": None, "result": result}
