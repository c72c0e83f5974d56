"""Bringing one declared attempt to its final result, whoever worked on it before and however that ended.

Everything is found out from the files: a folder that is missing is made, one at work elsewhere is waited for, one whose
runner died is gone on with, and one that ended by a fault of the harness is made again. So it may be called any number
of times, by any process that sees the files, and nothing is done twice.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

from reclaim_nb.attempts.reasons import ENDINGS, EndReason
from reclaim_nb.attempts.runner import resume_attempt
from reclaim_nb.batch.lock import told_to_stop
from reclaim_nb.batch.plan import Declared
from reclaim_nb.data import data_folder
from reclaim_nb.errors import AttemptError, AttemptExists, RecordError, Stopped
from reclaim_nb.record.folder import AttemptFolder, is_held, safe_name
from reclaim_nb.record.reader import last_event

WAIT_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Settled:
    """What came of a declared attempt.

    Attributes:
        folder: folder of the last making.
        reason: its end reason.
        makings: how often it was begun.
        final: nothing more is to be done for it.
        hours: what it spent in the end, of its device; None while it has not ended.
    """

    folder: AttemptFolder
    reason: EndReason | None
    makings: int
    final: bool
    hours: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return what a pool is told of it by another process."""
        told = {"folder": str(self.folder.path), "reason": self.reason, "final": self.final, "hours": self.hours}
        return {**told, "problem": None}


def not_begun(problem: str | None) -> dict[str, Any]:
    """Return what a pool is told of an attempt that could not be begun, or whose process died without a word."""
    return {"folder": None, "reason": None, "final": False, "hours": None, "problem": problem}


def said(problem: Exception) -> str:
    """Return what people are told of a problem; of one of the disk, what and where."""
    if isinstance(problem, OSError) and problem.strerror:
        return f"{problem.strerror}: {problem.filename}" if problem.filename else problem.strerror
    return str(problem)


def look(declared: Declared, retries: int) -> Settled | None:
    """Return how a declared attempt stands, from its files alone; None when it was never begun."""
    makings = 0
    while declared.folder(makings + 1).path.exists():
        makings += 1
    if not makings:
        return None
    folder = declared.folder(makings)
    end = _end(folder)
    if end is None:
        return Settled(folder, None, makings, False)
    reason: EndReason = end["reason"]
    hours = (end.get("usage") or {}).get("hours")
    final = not ENDINGS[reason].repeat or (reason != "cancelled" and _faults(declared, makings) > retries)
    return Settled(folder, reason, makings, final, None if hours is None else str(hours))


def _faults(declared: Declared, makings: int) -> int:
    """Return how many makings ended by a fault of the harness; what a person stopped is no fault."""
    return sum(end_reason(declared.folder(making)) != "cancelled" for making in range(1, makings + 1))


def end_reason(folder: AttemptFolder) -> EndReason | None:
    """Return the end reason of an attempt, None when it has not ended."""
    end = _end(folder)
    return None if end is None else end["reason"]


def _end(folder: AttemptFolder) -> dict[str, Any] | None:
    last = last_event(folder.stream)
    return None if last is None or last.kind != "end" else last.data


def settle(declared: Declared, retries: int, gpus: Sequence[str] | None = None) -> Settled:
    """Bring one declared attempt to its final result.

    Args:
        declared: the attempt.
        retries: how often it is made again after a fault that is not the agent's.
        gpus: ids of the GPUs it may choose from; default: all of this machine.

    Returns:
        How it stands; not final when this process was told to stop.

    Raises:
        ReclaimError: when it cannot even be begun.
    """
    try:
        return _settle(declared, retries, gpus)
    except Stopped:
        state = look(declared, retries)
        if state is None:
            return Settled(declared.folder(), "cancelled", 0, False)
        if state.reason is None and not is_held(state.folder) and not state.folder.stream.exists():
            _bury(state.folder, "cancelled", "stopped before anything was recorded")
            return Settled(state.folder, "cancelled", state.makings, False)
        return state


def _settle(declared: Declared, retries: int, gpus: Sequence[str] | None) -> Settled:
    while True:
        state = look(declared, retries)
        if state is not None and state.final:
            _grade(state.folder)
            return state
        if told_to_stop(batch_of(declared)):
            raise Stopped(f"{batch_of(declared)}: the batch was told to stop")
        if state is None or state.reason is not None:
            if _make(declared, 1 if state is None else state.makings + 1, gpus) == "cancelled":
                raise Stopped("the attempt was cancelled")
        elif is_held(state.folder):
            time.sleep(WAIT_SECONDS)
        elif (reason := _go_on(state.folder)) == "cancelled":
            raise Stopped("the attempt was cancelled")
        elif reason is not None and end_reason(state.folder) is None:
            raise RecordError(
                f"{state.folder.path}: the disk does not take its end; free space, then run the batch again"
            )


def batch_of(declared: Declared) -> Path:
    """Return the folder of the batch that an attempt belongs to."""
    return Path(declared.request.runs) / safe_name(declared.request.batch)


@contextmanager
def heeding_sigterm() -> Iterator[None]:
    """Let SIGTERM end what this process does between attempts, as it ends an attempt: in order, by an exception."""

    def stop(number: int, frame: object) -> None:
        raise Stopped("told to stop by a signal")

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _make(declared: Declared, again: int, gpus: Sequence[str] | None) -> EndReason | None:
    import papermill

    request = declared.made_again(again)
    parameters = {name: value for name, value in vars_of(request).items() if value not in (None, "", {}, ())}
    try:
        notebook = papermill.execute_notebook(
            str(data_folder("templates") / "attempt.ipynb"),
            None,
            parameters,
            engine_name="reclaim",
            progress_bar=False,
            log_output=False,
            gpus=gpus,
        )
    except AttemptExists:
        return None  # another process began it in this very moment
    return end_reason(AttemptFolder(declared.folder(again).path)) if notebook is not None else None


def vars_of(request: object) -> dict[str, object]:
    """Return a request as papermill's parameters."""
    values = dict(vars(request))
    return values | {name: ",".join(values[name]) for name in ("conditions", "allow")}


def _go_on(folder: AttemptFolder) -> EndReason | None:
    try:
        return resume_attempt(folder.path).reason
    except RecordError:
        if is_held(folder) or end_reason(folder) is not None:
            return None
        _bury(folder, "infrastructure_error", "the runner died before anything was recorded that could be gone on with")
        return None
    except AttemptError:
        if is_held(folder):
            return None  # another process was quicker
        raise


def _bury(folder: AttemptFolder, reason: EndReason, detail: str) -> None:
    """End a folder in which nothing that can be gone on with was recorded; what is there stays."""
    from reclaim_nb.attempts.recorder import Recorder
    from reclaim_nb.record.clock import SystemClock
    from reclaim_nb.record.folder import Lock

    lock = Lock(folder)
    lock.take()
    try:
        if end_reason(folder) is None:
            if folder.stream.exists() and folder.stream.stat().st_size:
                folder.stream.rename(folder.stream.with_suffix(".broken.jsonl"))
            recorder = Recorder(folder, SystemClock())
            try:
                recorder.append("end", {"reason": reason, "detail": detail, "usage": {}, "submission": None})
                recorder.save()
            finally:
                recorder.close()
    finally:
        lock.release()


def needs_verdict(folder: AttemptFolder) -> bool:
    """Tell whether an attempt has ended with a result of the agent that nobody has graded yet."""
    reason = end_reason(folder)
    return reason is not None and ENDINGS[reason].grade and not folder.verdicts()


def _grade(folder: AttemptFolder) -> None:
    if not needs_verdict(folder):
        return
    from reclaim_nb.grading.verdict import replay, write_verdict

    write_verdict(folder, replay(folder))


@contextmanager
def _heeding_stop(batch: Path) -> Iterator[None]:
    """Send this process SIGTERM once its batch is told to stop; nobody else would."""
    over = Event()

    def look() -> None:
        while not over.wait(WAIT_SECONDS):
            if told_to_stop(batch):
                os.kill(os.getpid(), signal.SIGTERM)
                return

    thread = Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def main() -> None:
    """Settle the attempt that is given as JSON on standard input; print its state as one JSON line."""
    import logging
    import sys

    from reclaim_nb.errors import ReclaimError
    from reclaim_nb.quick import spare_the_grammar

    spare_the_grammar()
    logging.getLogger("papermill").setLevel(logging.ERROR)
    retries = int(sys.argv[1])
    declared = Declared.from_json(sys.stdin.read())
    try:
        with heeding_sigterm(), _heeding_stop(batch_of(declared)):
            answer = settle(declared, retries).to_json()
    except Stopped:
        answer = not_begun(None)
    except (ReclaimError, OSError) as problem:
        answer = not_begun(said(problem))
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
