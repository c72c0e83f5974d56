"""Make the recorded batch anew: ``python -m reclaim_nb.demo.record`` (or ``make demo-batch``)."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from reclaim_nb.data import data_folder
from reclaim_nb.demo import BATCH
from reclaim_nb.errors import AttemptError
from reclaim_nb.papers.suite import PAPERS_VARIABLE

KEPT = ("attempt.ipynb", "stream.jsonl", "payloads.bin", "intake.json", "verdict.*.json", "plan.json")
"""Files of the record; locks, indexes and workspaces are no part of it."""


def record(target: Path) -> int:
    """Make every attempt of the plan and put their records in place of the ones that are there.

    Attempts are made in a temporary folder, from a copy of the papers, so that a record names no folder of whoever made
    it, and what is there stays until the new batch is whole.

    Args:
        target: runs folder that ships with the package.

    Returns:
        how many attempts were recorded.

    Raises:
        AttemptError: when an attempt has no verdict.
    """
    from reclaim_nb.batch.plan import load_plan
    from reclaim_nb.batch.pool import run_plan

    plan = load_plan(Path(__file__).with_name("plan.yaml"))
    with tempfile.TemporaryDirectory(prefix="reclaim-recorded-") as scratch:
        papers, runs = Path(scratch) / "papers", Path(scratch) / "runs"
        shutil.copytree(data_folder("papers") / "small", papers / "small")
        os.environ[PAPERS_VARIABLE] = str(papers)
        progress = run_plan(plan, runs, slots=1, watcher=lambda now: print(f"{now.done} of {now.total}", flush=True))
        if progress.done < progress.total:
            raise AttemptError(f"{progress.done} of {progress.total} attempts were made: {progress.problems}")
        whole = Path(scratch) / "kept" / BATCH
        for pattern in KEPT:
            for file in sorted((runs / BATCH).rglob(pattern)):
                place = whole / file.relative_to(runs / BATCH)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, place)
        attempts = sorted(path.parent for path in whole.rglob("stream.jsonl"))
        if bare := [str(path.relative_to(whole)) for path in attempts if not list(path.glob("verdict.*.json"))]:
            raise AttemptError(f"no verdict in {', '.join(bare)}")
        shutil.rmtree(target / BATCH, ignore_errors=True)
        shutil.copytree(whole, target / BATCH)
    return len(attempts)


if __name__ == "__main__":
    print(f"{record(Path(__file__).resolve().parent / 'runs')} attempts recorded")
    sys.exit(0)
