"""The pool of one machine: each attempt in its own process, so that one crash is one attempt."""

from __future__ import annotations

import json
import logging
import math
import multiprocessing
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType

import psutil

from reclaim_nb.attempts.gpus import Wanted, free, machine_gpus, same_ids, wanted
from reclaim_nb.attempts.prepare import Request
from reclaim_nb.attempts.stopping import StopAsked
from reclaim_nb.batch.check import declare_checked
from reclaim_nb.batch.lock import HeldBatch, only_pool, pool_at_work, stop_pool
from reclaim_nb.batch.plan import Declared, Plan, differing_fields, kept_plan
from reclaim_nb.batch.progress import Progress, Watcher
from reclaim_nb.batch.server_box import keep_server_in_box
from reclaim_nb.batch.settle import heeding_sigterm, look, needs_verdict, not_begun, said, settle
from reclaim_nb.errors import AttemptError, ReclaimError, Stopped
from reclaim_nb.kernels.owner import process_start
from reclaim_nb.record.folder import safe_name, write_json
from reclaim_nb.record.index import spend_so_far

PRELOAD = ["reclaim_nb.batch.warm"]
"""Imported once in the server that attempts are forked from: an attempt then starts in milliseconds."""
PLACES = "*/*/*/*"
"""Where attempts lie in the folder of their batch: suite, paper, agent, repeat."""
STARTS = 3
"""How often an attempt's process is started where its server is killed meanwhile."""
_TELL_AGAIN_SECONDS = 10.0
_LOOK_SECONDS = 5.0
"""Least time between two looks at what running attempts have spent."""


def batch_folder(plan: Plan, runs: Path | str) -> Path:
    """Return the folder of a batch."""
    return Path(runs) / safe_name(plan.name)


def keep_plan(plan: Plan, runs: Path | str) -> None:
    """Write the plan into its batch's folder, after comparing it by meaning with one that attempts were made by.

    Raises:
        AttemptError: when attempts of the same name would mean something else, naming what differs.
    """
    folder = batch_folder(plan, runs)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "plan.json"
    if file.exists() and any(folder.glob(PLACES)):
        old = kept_plan(file)
        if old.name != plan.name:
            raise AttemptError(f"{folder}: holds the batch {old.name!r}, so {plan.name!r} needs another name")
        if names := differing_fields(old, plan):
            raise AttemptError(
                f"{file}: the batch {plan.name!r} was begun with another {', '.join(names)}; "
                "attempts would not be comparable: use another name"
            )
    write_json(file, plan.model_dump(mode="json"))


def run_plan(
    plan: Plan,
    runs: Path | str,
    *,
    slots: int | None = None,
    gpus: Sequence[str] | None = None,
    watcher: Watcher | None = None,
) -> Progress:
    """Carry out what is missing of a plan on this machine.

    Args:
        plan: the plan.
        runs: folder of all attempts.
        slots: attempts at the same time; default: :func:`default_slots`.
        gpus: ids of the GPUs that may be handed out, each to one attempt at a time; default: all of this machine.
        watcher: told whenever something has changed, and twice a second.

    Raises:
        AttemptError: when another pool is at work on the batch, the plan differs from the one it was begun with, or
            nothing could be begun by it.
        CardError: when a paper is not found.
        KernelError: when this machine has not what it asks for.
    """
    declared = declare_checked(plan, runs, gpus)
    slots = slots or default_slots(plan)
    keep_plan(plan, runs)
    with StopAsked() as person, only_pool(batch_folder(plan, runs)) as held:
        progress = Progress.of(declared)
        begun: list[Declared] = []
        missing: list[Declared] = []
        for one in declared:
            state = look(one, plan.retries)
            if state is not None and state.final and not needs_verdict(state.folder):
                progress.finished(one, state.hours)
            else:
                (missing if state is None else begun).append(one)
        # What a killed pool left comes first: its kernels may live, and hold memory and GPUs.
        _Pool(plan, held, person, slots, progress, watcher, gpus).run([*begun, *missing])
    return progress


def default_slots(plan: Plan) -> int:
    """Return how many attempts of a plan this machine carries: two CPUs for each, and the memory that each may take."""
    one = Request(paper="", **plan.settings)
    by_cpus = (os.cpu_count() or 2) // max(2, math.ceil(one.cpus))
    return max(1, min(by_cpus, psutil.virtual_memory().total // 2**20 // one.memory_mib))


@dataclass
class _AtWork:
    declared: Declared
    process: BaseProcess
    started: str | None
    tell_at: float = 0.0
    """When it is sent the signal to stop, or sent it again: one that comes between two attempts may be lost."""


class _Pool:
    def __init__(
        self,
        plan: Plan,
        held: HeldBatch,
        person: StopAsked,
        slots: int,
        progress: Progress,
        watcher: Watcher | None,
        gpus: Sequence[str] | None,
    ) -> None:
        self._retries, self._slots = plan.retries, slots
        self._held, self._person = held, person
        self._progress, self._watcher = progress, watcher
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(PRELOAD)
        self._at_work: dict[Connection, _AtWork] = {}
        self._gpus = None if gpus is None else same_ids(gpus)
        self._crashes: dict[str, int] = {}
        self._stopping = False
        self._look_again = 0.0

    def run(self, todo: list[Declared]) -> None:
        waiting = deque(todo)
        keep_server_in_box()
        while (waiting and not self._stopping) or self._at_work:
            self._heed_stop()
            while not self._stopping and len(self._at_work) < self._slots and (one := self._next(waiting)):
                self._begin(one)
            self._tell()
            for connection in wait(list(self._at_work), timeout=0.5):
                if isinstance(connection, Connection):
                    self._heed_stop()  # which it may have seen before this pool did
                    self._end(connection)
        self._look_again = 0.0
        self._tell()
        if not self._held.in_place():
            raise AttemptError(
                f"{self._held.folder}: the batch was moved or deleted while this pool was at work; "
                "put it back, or run it where it lies now"
            )

    def _next(self, waiting: deque[Declared]) -> Declared | None:
        """Take the next attempt whose GPUs are free out of those that wait; None when none can begin now."""
        others_wait = False
        for place, declared in enumerate(waiting):
            want = wanted(declared.request.gpus, declared.device)
            if not want.number or (not others_wait and self._room(want)):
                del waiting[place]
                return declared
            # Only attempts without GPUs may pass one that waits for some, or it might wait for ever.
            others_wait = True
        return None

    def _room(self, want: Wanted) -> bool:
        if want.ids:
            return len(free(same_ids(want.ids))) == want.number
        if self._gpus is None:
            self._gpus = machine_gpus()
        total = len(self._gpus)
        ours = sum(wanted(one.request.gpus, one.device).number for one in self._declared())
        # Those of ours that have only just begun may not hold theirs yet.
        used = max(ours, total - len(free(self._gpus)))
        return want.number <= total - used or want.number > total  # more than there are: the attempt says so itself

    def _declared(self) -> list[Declared]:
        return [one.declared for one in self._at_work.values()]

    def _begin(self, declared: Declared) -> None:
        for _ in range(STARTS):
            ours, theirs = self._context.Pipe(duplex=False)
            process = self._context.Process(target=_work, args=(declared.to_json(), self._retries, self._gpus, theirs))
            try:
                with _without_main():
                    process.start()
            except (EOFError, ConnectionError):  # the server was killed; the next start makes a new one
                ours.close()
            else:
                self._at_work[ours] = _AtWork(declared, process, process_start(process.pid or 0))
                self._progress.running[declared.key] = time.monotonic()
                return
            finally:
                theirs.close()
            self._heed_stop()
            if self._stopping:
                return
        self._progress.problems[declared.key] = f"the server that begins attempts was killed {STARTS} times"

    def _end(self, connection: Connection) -> None:
        ended = self._at_work.pop(connection)
        declared, process = ended.declared, ended.process
        began = self._progress.running.pop(declared.key)
        try:
            answer = json.loads(connection.recv())
        except EOFError:
            answer = not_begun(None)
        connection.close()
        process.join()
        if answer["problem"] is not None:
            self._progress.problems[declared.key] = answer["problem"]
        elif answer["final"]:
            self._progress.finished(declared, answer["hours"])
            self._progress.seconds.append(time.monotonic() - began)
        elif not self._stopping:
            # The process died before its attempt was settled; the files say how far it got.
            crashes = self._crashes[declared.key] = self._crashes.get(declared.key, 0) + 1
            if crashes > self._retries:
                what = "it was stopped" if answer["reason"] == "cancelled" else "its process died"
                self._progress.problems[declared.key] = f"{what} {crashes} times (exit {process.exitcode})"
            else:
                self._begin(declared)

    def _tell(self) -> None:
        if self._watcher is None:
            return
        if time.monotonic() >= self._look_again:
            self._look_again = time.monotonic() + _LOOK_SECONDS
            self._progress.spending = self._spending()
        self._watcher(self._progress)

    def _spending(self) -> dict[str, Decimal]:
        """Return what attempts at work have spent by their records so far."""
        found: dict[str, Decimal] = {}
        for declared in self._declared():
            state = look(declared, self._retries)
            if state is not None and state.folder.stream.exists():
                hours = Decimal(spend_so_far(state.folder.stream) or 0)
                found[declared.device] = found.get(declared.device, Decimal(0)) + hours
        return found

    def _heed_stop(self) -> None:
        """Once a stop is asked for, or the folder is gone, cancel whatever is at work; it can be made again."""
        self._stopping = self._stopping or self._person.asked or self._held.told_to_stop()
        self._stopping = self._stopping or not self._held.in_place()
        if not self._stopping:
            return
        for one in self._at_work.values():
            # Not is_alive(): it says no for all, once the server that they were forked from is gone.
            pid = one.process.pid
            due = time.monotonic() >= one.tell_at
            if due and pid is not None and one.started is not None and process_start(pid) == one.started:
                one.tell_at = time.monotonic() + _TELL_AGAIN_SECONDS
                os.kill(pid, signal.SIGTERM)


def _work(text: str, retries: int, gpus: tuple[str, ...] | None, answers: Connection) -> None:
    logging.getLogger("papermill").setLevel(logging.ERROR)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.setpgrp()  # Ctrl-C reaches the pool alone, which then stops its attempts in order
    try:
        with heeding_sigterm():
            answer = settle(Declared.from_json(text), retries, gpus).to_json()
    except Stopped:
        answer = not_begun(None)
    except (ReclaimError, OSError) as problem:
        answer = not_begun(said(problem))
    with suppress(BrokenPipeError):  # the pool was killed; the next one looks at the files
        answers.send(json.dumps(answer))


@contextmanager
def _without_main() -> Iterator[None]:
    """Keep a new process from running the main script, with all its imports, once more; no attempt needs it."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


__all__ = ["batch_folder", "default_slots", "keep_plan", "only_pool", "pool_at_work", "run_plan", "stop_pool"]
