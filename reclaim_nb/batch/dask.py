"""A plan on a Dask cluster: the same settling of the same files, on whatever machines see the runs folder.

The scheduler holds no truth. A lost worker's attempt is given to another worker, which finds it on disk: at work (the
attempt's own process outlives its worker) and waits, or dead and goes on with it. A lost scheduler or client is
replaced by calling :func:`run_on_dask` again.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from reclaim_nb.batch.check import declare_checked
from reclaim_nb.batch.plan import Declared, Plan
from reclaim_nb.batch.pool import batch_folder, keep_plan, only_pool
from reclaim_nb.batch.progress import Progress, Watcher
from reclaim_nb.batch.settle import look, needs_verdict, not_begun

RESCHEDULE = 20
"""How many workers may be lost under one attempt before it is given up."""


def settle_elsewhere(text: str, retries: int) -> dict[str, Any]:
    """Settle one attempt in a process of its own and return what it said; runs on a worker.

    Args:
        text: the declared attempt as JSON.
        retries: see :func:`~reclaim_nb.batch.settle.settle`.
    """
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
    """Carry out what is missing of a plan on a Dask cluster.

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
    from distributed import as_completed

    runs = Path(runs).resolve()
    declared = declare_checked(plan, runs, here=False)
    keep_plan(plan, runs)
    progress = Progress.of(declared)
    with only_pool(batch_folder(plan, runs)):
        futures: dict[Any, Declared] = {}
        for one in declared:
            state = look(one, plan.retries)
            if state is not None and state.final and not needs_verdict(state.folder):
                progress.finished(one, state.hours)
                continue
            future = client.submit(
                settle_elsewhere,
                one.to_json(),
                plan.retries,
                key=f"reclaim/{plan.name}/{one.key}",
                resources=resources,
                retries=RESCHEDULE,
                pure=False,
            )
            futures[future] = one
            progress.running[one.key] = time.monotonic()
        if watcher is not None:
            watcher(progress)
        for future in as_completed(list(futures)):
            one = futures[future]
            began = progress.running.pop(one.key)
            if future.status == "finished":
                answer = future.result()
            else:
                answer = not_begun(f"given up by the cluster: {future.exception()}")
            if answer["final"]:
                progress.finished(one, answer["hours"])
                progress.seconds.append(time.monotonic() - began)
            else:
                progress.problems[one.key] = answer["problem"] or "stopped"
            if watcher is not None:
                watcher(progress)
    return progress
