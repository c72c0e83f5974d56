"""The process of one attempt that was started from a server: ``python -m reclaim_nb.server.work``."""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reclaim_nb.errors import ReclaimError
from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.server.processes import LOG


def main() -> int:
    """Read one task from standard input, answer with one line, and carry it out."""
    task = json.loads(sys.stdin.readline())
    logging.getLogger("papermill").setLevel(logging.ERROR)
    try:
        work = {"run": _run, "resume": _resume, "grade": _grade, "reexecute": _reexecute, "batch": _batch}
        work[task["do"]](task)
    except ReclaimError as problem:
        _answer({"problem": str(problem)})
        return 1
    except Exception as problem:  # noqa: BLE001 - the border of the process: whoever asked is told, and so is the log
        print(traceback.format_exc(), file=sys.stderr)
        _answer({"problem": f"{type(problem).__name__}: {problem}"})
        return 1
    return 0


def _run(task: dict[str, Any]) -> None:
    from reclaim_nb.attempts.agent import make_agent
    from reclaim_nb.attempts.gpus import given
    from reclaim_nb.attempts.prepare import Request, prepare
    from reclaim_nb.attempts.runner import run_attempt
    from reclaim_nb.attempts.spec import AgentSpec
    from reclaim_nb.papers.suite import find_paper

    asked = task["request"]
    request = Request(**{**asked, "conditions": tuple(asked["conditions"])})
    # What the agent refuses is refused before there is a folder.
    make_agent(AgentSpec(name=request.agent, model=request.model, options=request.options), find_paper(request.paper))
    with given(request, waits=False) as request:  # whoever asked waits for an answer
        prepared = prepare(request)
        _log_into(prepared.folder.path)
        taken = _once(prepared.folder)  # with the first of its record: before that nobody can be shown anything
        finished = run_attempt(prepared, taken)
        taken(None)
    if task["grade"]:
        _grade_if_due(finished.folder.path)


def _once(folder: AttemptFolder) -> Callable[[object], None]:
    """Return what answers with an attempt's folder when it is first called."""
    answered = False

    def taken(_: object) -> None:
        nonlocal answered
        if not answered:
            answered = True
            _answer({"folder": str(folder.path)})

    return taken


def _resume(task: dict[str, Any]) -> None:
    from reclaim_nb.attempts.runner import resume_attempt
    from reclaim_nb.record.folder import open_folder

    folder = open_folder(task["folder"])
    _log_into(folder.path)

    taken = _once(folder)
    resume_attempt(folder.path, taken, waits=False)  # whoever asked waits for an answer
    taken(None)
    if task["grade"]:
        _grade_if_due(folder.path)


def _grade(task: dict[str, Any]) -> None:
    from reclaim_nb.commands.running import grade_now
    from reclaim_nb.record.folder import open_folder

    path = grade_now(open_folder(task["folder"]))
    _answer({"verdict": path.name})


def _batch(task: dict[str, Any]) -> None:
    from reclaim_nb.batch.check import declare_checked
    from reclaim_nb.batch.plan import make_plan
    from reclaim_nb.batch.pool import batch_folder, default_slots, keep_plan, run_plan

    plan = make_plan(task["plan"])
    declare_checked(plan, task["runs"])
    keep_plan(plan, task["runs"])
    _log_into(batch_folder(plan, task["runs"]), "pool.log")
    progress = run_plan(
        plan,
        task["runs"],
        slots=min(int(task["slots"]), default_slots(plan)),
        watcher=lambda _: _answer({"batch": plan.name}),
    )
    for key, problem in sorted(progress.problems.items()):
        print(f"not made: {key}: {problem}", file=sys.stderr)


def _reexecute(task: dict[str, Any]) -> None:
    from reclaim_nb.commands.grading import ended
    from reclaim_nb.server.again import run_again

    folder = ended(Path(task["folder"]))
    _log_into(folder.path)
    run_again(folder, task["whole"], lambda: _answer({"folder": str(folder.path)}))


def _grade_if_due(path: Path) -> None:
    from reclaim_nb.commands.running import grade_if_due
    from reclaim_nb.record.folder import open_folder

    grade_if_due(open_folder(path))


def _answer(answer: dict[str, Any]) -> None:
    global _answered
    if _answered:
        return  # whoever asked has had an answer; what comes later stands in the log and in the record
    _answered = True
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
    # Nobody reads any more: what a library prints must not end the attempt by a broken pipe.
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


_answered = False


def _log_into(folder: Path, name: str = LOG) -> None:
    handle = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    os.dup2(handle, sys.stderr.fileno())
    os.close(handle)


if __name__ == "__main__":
    sys.exit(main())
