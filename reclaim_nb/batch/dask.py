"""A plan on a Dask cluster: the same settling of the same files, on whatever machines see the runs folder.

The scheduler holds no truth. A lost worker's attempt is given to another worker, which finds it on disk: at work (the
attempt's own process outlives its worker) and waits, or dead and goes on with it. A lost scheduler or client is
replaced by calling :func:`run_on_dask` again. A stop is asked for in the batch's folder, where every worker sees it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from reclaim_nb.attempts.stopping import StopAsked
from reclaim_nb.batch import lock
from reclaim_nb.batch.check import declare_checked
from reclaim_nb.batch.lock import HeldBatch, only_pool
from reclaim_nb.batch.plan import Declared, Plan
from reclaim_nb.batch.pool import batch_folder, keep_plan
from reclaim_nb.batch.progress import Progress, Watcher
from reclaim_nb.batch.settle import batch_of, look, needs_verdict, not_begun
from reclaim_nb.record.folder import is_held

RESCHEDULE = 20
"""How many workers may be lost under one attempt before it is given up."""
LOOK_SECONDS = 0.25
LATE_SECONDS = 60.0
"""How long a shared folder may take to show here what was written elsewhere."""


def settle_elsewhere(text: str, retries: int, token: str) -> dict[str, Any]:
    """Settle one attempt in a process of its own and return what it said; runs on a worker.

    Args:
        text: the declared attempt as JSON.
        retries: see :func:`~reclaim_nb.batch.settle.settle`.
        token: of the batch that is held, as its folder must show it here.
    """
    batch = batch_of(Declared.from_json(text))
    if lock.token(batch) != token:
        return not_begun(
            f"the worker on {os.uname().nodename} does not see this batch in {batch}; "
            "give every worker the runs folder under the same path"
        )
    if lock.told_to_stop(batch):
        return not_begun(None)
    command = [sys.executable, "-m", "reclaim_nb.batch.settle", str(retries)]
    # A session of its own: the attempt outlives the worker, and whoever asks next waits for it.
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, start_new_session=True)
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines:
        return not_begun(f"exit code {done.returncode}: {done.stderr.strip()[-500:]}")
    answer: dict[str, Any] = json.loads(lines[-1])
    return answer


def run_on_dask(
    plan: Plan,
    runs: Path | str,
    client: Any,
    *,
    resources: dict[str, float] | None = None,
    watcher: Watcher | None = None,
) -> Progress:
    """Carry out what is missing of a plan on a Dask cluster, until it is done or told to stop.

    Args:
        plan: the plan.
        runs: folder of all attempts, the same path on every worker.
        client: a ``distributed.Client``.
        resources: what one attempt takes of a worker, for example ``{"GPU": 1}``.
        watcher: told whenever something has changed.

    Raises:
        AttemptError: when another pool is at work on the batch, the plan differs from the one it was begun with, or
            nothing could be begun by it; the machines of the cluster are not asked.
        CardError: when a paper is not found.
    """
    runs = Path(runs).resolve()
    declared = declare_checked(plan, runs, here=False)
    keep_plan(plan, runs)
    progress = Progress.of(declared)
    with only_pool(batch_folder(plan, runs)) as held, StopAsked() as person:
        todo: dict[Any, Declared] = {}
        for one in declared:
            state = look(one, plan.retries)
            if state is not None and state.final and not needs_verdict(state.folder):
                progress.finished(one, state.hours)
                continue
            future = client.submit(
                settle_elsewhere,
                one.to_json(),
                plan.retries,
                held.token,
                key=f"reclaim/{plan.name}/{one.key}",
                resources=resources,
                retries=RESCHEDULE,
                pure=False,
            )
            todo[future] = one
            progress.running[one.key] = time.monotonic()
        _Watch(plan, held, person, client, progress, watcher).until_done(todo)
    return progress


class _Watch:
    """Takes what the workers say of each attempt, and believes it once the files say the same here."""

    def __init__(
        self, plan: Plan, held: HeldBatch, person: StopAsked, client: Any, progress: Progress, watcher: Watcher | None
    ) -> None:
        self._plan, self._held, self._person, self._client = plan, held, person, client
        self._progress, self._watcher = progress, watcher

    def until_done(self, todo: dict[Any, Declared]) -> None:
        from distributed import as_completed

        ended = as_completed(list(todo))
        self._tell()
        while todo:
            for future in ended.next_batch(block=False):
                if (one := todo.pop(future, None)) is not None:
                    self._ended(one, future)
                    self._tell()
            if self._stopping():
                self._give_up(todo)
            time.sleep(LOOK_SECONDS)

    def _stopping(self) -> bool:
        told = self._held.told_to_stop()
        if self._person.asked and not told:
            lock.ask_to_stop(self._held.folder)
        return told or self._person.asked

    def _give_up(self, todo: dict[Any, Declared]) -> None:
        """Wait no more for what no worker has and nobody works on; workers end the rest by themselves."""
        at_workers = {key for keys in self._client.processing().values() for key in keys}
        for future, one in list(todo.items()):
            state = look(one, self._plan.retries)
            at_work = future.key in at_workers or (state is not None and is_held(state.folder))
            if not at_work and future.status == "pending":
                del todo[future]
                future.cancel()
                self._progress.running.pop(one.key)

    def _ended(self, one: Declared, future: Any) -> None:
        began = self._progress.running.pop(one.key)
        if future.status == "finished":
            answer = future.result()
        else:
            answer = not_begun(f"given up by the cluster: {future.exception()}")
        if answer["final"] and self._seen(one):
            self._progress.finished(one, answer["hours"])
            self._progress.seconds.append(time.monotonic() - began)
        elif answer["final"]:
            problem = f"a worker says that it has ended, in {answer['folder']}; here it has not"
            self._progress.problems[one.key] = problem
        elif answer["problem"] is not None or not self._stopping():
            self._progress.problems[one.key] = answer["problem"] or "stopped"

    def _seen(self, one: Declared) -> bool:
        """Tell whether the files here show an attempt as final; shared folders may show it late."""
        deadline = time.monotonic() + LATE_SECONDS
        while time.monotonic() < deadline:
            state = look(one, self._plan.retries)
            if state is not None and state.final:
                return True
            if self._stopping():
                return False
            time.sleep(LOOK_SECONDS)
        return False

    def _tell(self) -> None:
        if self._watcher is not None:
            self._watcher(self._progress)
