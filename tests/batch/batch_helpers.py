"""A plan of quick attempts: null agents at small papers, on plain processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import nbformat

from reclaim_nb.batch.plan import Declared, Plan, declare, make_plan
from reclaim_nb.batch.settle import look
from reclaim_nb.kernels.leftovers import find_leftovers
from reclaim_nb.record.folder import AttemptFolder, is_held
from reclaim_nb.record.index import Index
from reclaim_nb.record.verify import verify_record

PAPERS = ["small/ntk-relu-gradient-angle", "small/iforest-breastw"]

HANDS_IN = "attempt.submit('1')"


def quick_plan(name: str = "quick", **changes: Any) -> Plan:
    """Return a plan of four attempts."""
    raw = {
        "name": name,
        "papers": PAPERS,
        "agents": ["constant", "nothing"],
        "settings": {"kernel": "local", "abandon_seconds": 60},
    }
    return make_plan({**raw, **changes})


def waiting_plan(folder: Path, **changes: Any) -> Plan:
    """Return a plan of one attempt that hands in once the file ``go`` lies in a folder."""
    from in_step import until_let_go  # which a process of a test's own would not find

    cells = [nbformat.v4.new_code_cell(until_let_go(str(folder / "go"))), nbformat.v4.new_code_cell(HANDS_IN)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "waits.ipynb")
    replay = {"name": "replay", "options": {"notebook": str(folder / "waits.ipynb")}}
    return quick_plan(papers=["small/adam-nonconvergence-toy"], agents=[replay], **changes)


def table(runs: Path) -> list[tuple[str, str | None, str | None, str | None]]:
    """Return what a batch's table says: place, end reason, outcome, cause."""
    return [(row.path, row.reason, row.outcome, row.cause) for row in Index(runs).rows()]


def start_pool(plan: Plan, runs: Path, *options: str, slots: int = 2) -> subprocess.Popen[bytes]:
    """Start ``reclaim batch run`` as its own process, on this machine or as the options say."""
    file = runs.parent / f"{plan.name}.json"
    file.write_text(json.dumps(plan.model_dump(mode="json")))
    command = [sys.executable, "-m", "reclaim_nb.cli", "batch", "run", str(file), "--runs", str(runs)]
    # A file, not a pipe: the attempts of a killed pool would hold a pipe open for as long as they live.
    with open(output_of(plan, runs), "w") as output:
        return subprocess.Popen(
            [*command, *(options or ("--slots", str(slots))), "--json"],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def output_of(plan: Plan, runs: Path) -> Path:
    """Return the file that a pool prints to."""
    return runs.parent / f"{plan.name}.out"


def kill_hard(process: subprocess.Popen[bytes], runs: Path | None = None) -> None:
    """End a pool with SIGKILL, and with it every runner of its attempts (or the pool alone without ``runs``)."""
    process.kill()
    process.wait()
    if runs is None:
        return
    for lock in runs.rglob(".lock"):
        folder = AttemptFolder(lock.parent)
        if is_held(folder):
            pid = int(lock.read_text().split()[1])
            with suppress(ProcessLookupError):  # it may have just ended
                os.kill(pid, signal.SIGKILL)


def wait_until(true: Any, seconds: float = 180.0) -> None:
    """Wait for a state, and say so if it never comes."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise AssertionError("the state that was waited for did not come")
        time.sleep(0.02)


def check_final(plan: Plan, runs: Path) -> None:
    """Check that every declared attempt has exactly one final result, a sound record, and that nothing is left."""
    for one in declare(plan, runs):
        state = look(one, plan.retries)
        assert state is not None and state.final, one.key
        for again in range(1, state.makings + 1):
            folder = one.folder(again)
            assert not is_held(folder), folder
            check = verify_record(folder)
            assert check.sound, (folder, check.problems)
    assert [left for left in find_leftovers() if left.attempt in ids(plan, runs)] == []


def ids(plan: Plan, runs: Path) -> set[str]:
    """Return the ids of a plan's attempts, all makings."""
    return {row.id for row in Index(runs).rows() if row.batch == plan.name}


def first(plan: Plan, runs: Path) -> Declared:
    """Return the first declared attempt of a plan."""
    return declare(plan, runs)[0]
