"""The pool of one machine: each attempt in its own process, so that one crash is one attempt."""

from __future__ import annotations

import fcntl
import json
import logging
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from reclaim_nb.batch.plan import Declared, Plan, declare, differing_fields
from reclaim_nb.batch.settle import Settled, look, needs_verdict, settle
from reclaim_nb.errors import AttemptError, ReclaimError
from reclaim_nb.record.folder import safe_name, write_json

PRELOAD = ["reclaim_nb.batch.warm"]
"""Imported once in the server that attempts are forked from: an attempt then starts in milliseconds."""


@dataclass
class Progress:
    """How a batch stands.

    Attributes:
        total: declared attempts.
        done: those with a final result.
        running: keys of those at work, with the time each began.
        problems: what could not be begun, by key.
        seconds: duration of each attempt that this pool finished.
    """

    total: int
    done: int = 0
    running: dict[str, float] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def eta_seconds(self, slots: int) -> float | None:
        """Return the seconds that are left by the mean duration so far, None before the first has finished."""
        left = self.total - self.done - len(self.problems)
        if not self.seconds:
            return None
        return left * (sum(self.seconds) / len(self.seconds)) / max(1, slots)

    def to_json(self) -> dict[str, object]:
        return {
            "total": self.total,
            "done": self.done,
            "running": sorted(self.running),
            "problems": self.problems,
            "elapsed_seconds": round(time.monotonic() - self.began, 1),
        }


Watcher = Callable[[Progress], None]


def batch_folder(plan: Plan, runs: Path | str) -> Path:
    """Return the folder of a batch."""
    return Path(runs) / safe_name(plan.name)


def keep_plan(plan: Plan, runs: Path | str) -> None:
    """Write the plan into its batch's folder, after comparing it by meaning with one that is there.

    Raises:
        AttemptError: when attempts of the same name would mean something else, naming what differs.
    """
    folder = batch_folder(plan, runs)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "plan.json"
    if file.exists():
        old = Plan.model_validate_json(file.read_text("utf-8"))
        if names := differing_fields(old, plan):
            raise AttemptError(
                f"{file}: the batch {plan.name!r} was begun with another {', '.join(names)}; "
                "attempts would not be comparable: use another name"
            )
    write_json(file, plan.model_dump(mode="json"))


def run_plan(plan: Plan, runs: Path | str, *, slots: int | None = None, watcher: Watcher | None = None) -> Progress:
    """Carry out what is missing of a plan on this machine.

    Args:
        plan: the plan.
        runs: folder of all attempts.
        slots: attempts at the same time; default: one for each two CPUs.
        watcher: told whenever something has changed, and twice a second.

    Raises:
        AttemptError: when another pool is at work on the batch, or the plan differs from the one it was begun with.
        CardError: when a paper is not found.
    """
    slots = slots or max(1, (os.cpu_count() or 2) // 2)
    declared = declare(plan, runs)
    keep_plan(plan, runs)
    with only_pool(batch_folder(plan, runs)):
        progress = Progress(len(declared))
        todo = []
        for one in declared:
            state = look(one, plan.retries)
            if state is not None and state.final and not needs_verdict(state.folder):
                progress.done += 1
            else:
                todo.append(one)
        _Pool(plan, slots, progress, watcher).run(todo)
    return progress


class _Pool:
    def __init__(self, plan: Plan, slots: int, progress: Progress, watcher: Watcher | None) -> None:
        self._retries, self._slots = plan.retries, slots
        self._progress, self._watcher = progress, watcher
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(PRELOAD)
        self._at_work: dict[Connection, tuple[Declared, BaseProcess]] = {}
        self._crashes: dict[str, int] = {}
        self._stopping = False

    def run(self, todo: list[Declared]) -> None:
        waiting = list(reversed(todo))
        with self._signals():
            while (waiting and not self._stopping) or self._at_work:
                while waiting and not self._stopping and len(self._at_work) < self._slots:
                    self._begin(waiting.pop())
                self._tell()
                for connection in wait(list(self._at_work), timeout=0.5):
                    if isinstance(connection, Connection):
                        self._end(connection)
        self._tell()

    def _begin(self, declared: Declared) -> None:
        ours, theirs = self._context.Pipe(duplex=False)
        process = self._context.Process(target=_work, args=(declared.to_json(), self._retries, theirs))
        process.start()
        theirs.close()
        self._at_work[ours] = (declared, process)
        self._progress.running[declared.key] = time.monotonic()

    def _end(self, connection: Connection) -> None:
        declared, process = self._at_work.pop(connection)
        began = self._progress.running.pop(declared.key)
        try:
            answer = json.loads(connection.recv())
        except EOFError:
            answer = {"final": False, "problem": None}
        connection.close()
        process.join()
        if answer["problem"] is not None:
            self._progress.problems[declared.key] = answer["problem"]
        elif answer["final"]:
            self._progress.done += 1
            self._progress.seconds.append(time.monotonic() - began)
        elif not self._stopping:
            # The process died before its attempt was settled; the files say how far it got.
            crashes = self._crashes[declared.key] = self._crashes.get(declared.key, 0) + 1
            if crashes > self._retries:
                self._progress.problems[declared.key] = f"its process died {crashes} times (exit {process.exitcode})"
            else:
                self._begin(declared)

    def _tell(self) -> None:
        if self._watcher is not None:
            self._watcher(self._progress)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """SIGINT and SIGTERM: begin nothing more, and cancel what is at work; its folders can be made again."""

        def stop(number: int, frame: object) -> None:
            self._stopping = True
            for _, process in self._at_work.values():
                if process.pid is not None and process.is_alive():
                    os.kill(process.pid, signal.SIGTERM)

        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _work(text: str, retries: int, answers: Connection) -> None:
    logging.getLogger("papermill").setLevel(logging.ERROR)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.setpgrp()  # Ctrl-C reaches the pool alone, which then stops its attempts in order
    try:
        state: Settled = settle(Declared.from_json(text), retries)
        answer: dict[str, bool | str | None] = {"final": state.final, "problem": None}
    except ReclaimError as problem:
        answer = {"final": False, "problem": str(problem)}
    answers.send(json.dumps(answer))


@contextmanager
def only_pool(folder: Path) -> Iterator[None]:
    handle = os.open(folder / ".pool.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())
        yield
    except BlockingIOError:
        pid = os.read(handle, 20).decode().strip()
        raise AttemptError(f"{folder}: a pool is at work on this batch (pid {pid})") from None
    finally:
        os.close(handle)


def stop_pool(folder: Path) -> int | None:
    """Tell the pool at work on a batch to stop; return its pid, None when there is none."""
    file = folder / ".pool.lock"
    if not file.exists():
        return None
    handle = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        pid = int(os.read(handle, 20).decode().strip())
        os.kill(pid, signal.SIGTERM)
        return pid
    finally:
        os.close(handle)
    return None
