"""Starting, stopping, resuming, grading, re-executing: each in a process of its own that goes on when the server ends.

A process is handed a request on its standard input and answers with one line, as soon as the attempt has a folder or it
is certain that there will be none; from then on its files tell everything.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from reclaim_nb.attempts.prepare import Request
from reclaim_nb.batch.plan import Plan
from reclaim_nb.errors import AttemptError
from reclaim_nb.record.folder import RUNNER_LOCK, AttemptFolder, is_held
from reclaim_nb.server.again import LOCK

ANSWER_SECONDS = 90.0
"""A process that has not answered by then is ended; a cold start with a container takes a tenth of it."""

LOG = "runner.log"


class Refused(AttemptError):
    """What was asked for cannot be done as things stand."""


async def start(request: Request, grade: bool) -> str:
    """Begin an attempt and return the path of its folder.

    Raises:
        Refused: when it cannot begin.
    """
    answer = await _ask({"do": "run", "request": asdict(request), "grade": grade})
    return str(answer["folder"])


async def start_batch(plan: Plan, runs: Path, slots: int) -> None:
    """Begin to carry out a plan, or go on with it; it returns when the pool is at work.

    Args:
        plan: the plan.
        runs: folder of all attempts.
        slots: most attempts at the same time.

    Raises:
        Refused: when it cannot begin.
    """
    await _ask({"do": "batch", "plan": plan.model_dump(mode="json"), "runs": str(runs), "slots": slots})


async def resume(folder: AttemptFolder, grade: bool = True) -> None:
    """Go on with an attempt whose runner died.

    Raises:
        Refused: when a runner is at work on it, or it cannot be resumed.
    """
    if is_held(folder):
        raise Refused("a runner is at work on this attempt; there is nothing to resume")
    await _ask({"do": "resume", "folder": str(folder.path), "grade": grade})


async def grade(folder: AttemptFolder) -> None:
    """Grade an attempt that has ended; the answer comes when the verdict is written.

    Raises:
        Refused: when it cannot be graded.
    """
    await _ask({"do": "grade", "folder": str(folder.path)}, seconds=600.0)


async def reexecute(folder: AttemptFolder, whole: bool = False) -> None:
    """Begin to run an attempt's measurement again; the verdict with it is written when that has ended.

    Args:
        folder: the attempt.
        whole: run the whole notebook in an empty workspace, not the measurement alone.

    Raises:
        Refused: when that is going on already, or there is nothing to run again.
    """
    if is_held(folder, LOCK):
        raise Refused("this attempt is being re-executed; wait for its verdict")
    await _ask({"do": "reexecute", "folder": str(folder.path), "whole": whole})
    _again.append(folder)


def again() -> int:
    """Return how many re-executions that this server began are going on."""
    _again[:] = [folder for folder in _again if is_held(folder, LOCK)]
    return len(_again)


def stop(folder: AttemptFolder) -> int:
    """Ask the runner of an attempt to end it as ``cancelled``; return its process id.

    Raises:
        Refused: when no runner of this machine is at work on it.
    """
    if not is_held(folder):
        raise Refused("no runner is at work on this attempt; there is nothing to stop")
    return _tell_to_stop(folder, RUNNER_LOCK, "the runner of this attempt")


def stop_reexecution(folder: AttemptFolder) -> int:
    """Ask the process that re-executes an attempt to stop and leave nothing behind; return its process id.

    Raises:
        Refused: when no process of this machine re-executes it.
    """
    if not is_held(folder, LOCK):
        raise Refused("this attempt is not being re-executed; there is nothing to stop")
    return _tell_to_stop(folder, LOCK, "the re-execution of this attempt")


def _tell_to_stop(folder: AttemptFolder, lock: str, who: str) -> int:
    owner = (folder.path / lock).read_text("utf-8", "replace").split()
    # written by whoever holds the lock: "pid N on HOST"
    if len(owner) != 4 or owner[0] != "pid" or not owner[1].isdigit():
        raise Refused(f"{who} is only just starting; try again in a second")
    if owner[3] != os.uname().nodename:
        raise Refused(f"{who} is on {owner[3]}; stop it there")
    pid = int(owner[1])
    try:
        os.kill(pid, signal.SIGTERM)
    except (ProcessLookupError, PermissionError) as problem:
        raise Refused(f"{who} (pid {pid}) cannot be told to stop: {problem.strerror}") from None
    return pid


async def _ask(task: dict[str, Any], seconds: float = ANSWER_SECONDS) -> dict[str, Any]:
    process = subprocess.Popen(
        [sys.executable, "-m", "reclaim_nb.server.work"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # a signal to the server, or its end, is none to the attempt
        cwd=Path.cwd(),
    )
    try:
        line = await asyncio.wait_for(asyncio.to_thread(_exchange, process, task), seconds)
    except TimeoutError:
        process.kill()
        raise Refused(f"no answer within {seconds:.0f} s; the machine may be overloaded: try again") from None
    _children.append(process)
    try:
        answer = json.loads(line)
    except ValueError:
        raise Refused("the process ended without an answer; `reclaim doctor` looks for what is wrong") from None
    if answer.get("problem") is not None:
        raise Refused(str(answer["problem"]))
    return dict(answer)


def _exchange(process: subprocess.Popen[bytes], task: dict[str, Any]) -> bytes:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps(task, default=str).encode() + b"\n")
    process.stdin.close()
    return process.stdout.readline()


_children: list[subprocess.Popen[bytes]] = []
_again: list[AttemptFolder] = []


def reap() -> None:
    """Take note of processes that have ended, so that the system forgets them."""
    _children[:] = [process for process in _children if process.poll() is None]
