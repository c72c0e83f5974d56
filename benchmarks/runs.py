"""Ten thousand attempts: the first look at a runs folder, loading it again, the report's figures, and memory.

Every measurement is a process of its own, as a person's would be: the time of its imports is told apart, and its memory
is the most it ever held. Folders are written by ``synthetic.py`` unless a runs folder is given; its index is then
taken away and built anew.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _yardstick import yardstick

BARS = {"first": 60.0, "load": 2.0, "figures": 10.0, "memory": 1024.0}
_FIGURES = ("overview", "success", "causes", "spend", "success_by_spend", "agreement")


def first(runs: Path) -> dict[str, float]:
    """Build the index, and load."""
    return {"first": _timed(lambda: _load(runs))}


def load(runs: Path) -> dict[str, float]:
    """Load twice, in a new process (the bar) and in one that is warm; and without cells, which are read when asked."""
    from reclaim_nb.analysis.frames import load_runs

    found = {"load": _timed(lambda: _load(runs)), "load warm": _timed(lambda: _load(runs))}
    return {**found, "load without cells": _timed(lambda: load_runs(runs))}


def figures(runs: Path) -> dict[str, float]:
    """Draw what the report shows, in both themes for the screen and once for paper, and write it as files."""
    from reclaim_nb.analysis.story import Story

    times = {}
    with tempfile.TemporaryDirectory(prefix="reclaim-figures-") as out:
        story = Story(runs, out=out)
        for name in _FIGURES:
            times[f"figure {name}"] = _timed(lambda name=name: story.picture(name))  # type: ignore[misc]
        times["figure timelines"] = _timed(story.timelines)
    return {"figures": sum(times.values()), **times}


def report(runs: Path) -> dict[str, float]:
    """Make the whole report, its notebook in a kernel."""
    from reclaim_nb.analysis.report import make_report

    with tempfile.TemporaryDirectory(prefix="reclaim-report-") as out:
        return {"report": _timed(lambda: make_report(runs, out))}


STEPS = {"first": first, "load": load, "figures": figures, "report": report}


def _load(runs: Path) -> None:
    from reclaim_nb.analysis.frames import load_runs

    loaded = load_runs(runs)
    print(f"{len(loaded.attempts)} declared attempts, {len(loaded.cells)} cells", file=sys.stderr)


def _timed(work: object) -> float:
    began = time.perf_counter()
    work()  # type: ignore[operator]
    return time.perf_counter() - began


def _step(name: str, runs: Path) -> None:
    began = time.perf_counter()
    import matplotlib.backends.backend_agg
    import matplotlib.backends.backend_pdf  # noqa: F401

    import reclaim_nb.analysis.story  # noqa: F401

    imports = time.perf_counter() - began
    found = STEPS[name](runs)
    used = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(json.dumps({**found, "imports": imports, "memory": used / 1024}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, help="an existing runs folder")
    parser.add_argument("--attempts", type=int, default=10_000)
    parser.add_argument("--step", choices=list(STEPS), help="measure only this, in this process")
    options = parser.parse_args()
    if options.step is not None:
        _step(options.step, options.runs)
        return
    with tempfile.TemporaryDirectory(prefix="reclaim-runs-") as folder:
        runs = options.runs
        if runs is None:
            from synthetic import write_runs

            runs = Path(folder) / "runs"
            print(f"{write_runs(runs, options.attempts)} attempt folders written", flush=True)
        for name in ("index.sqlite", "index.sqlite-wal", "index.sqlite-shm"):
            (runs / name).unlink(missing_ok=True)
        for step in STEPS:
            print(yardstick(), flush=True)
            command = [sys.executable, __file__, "--step", step, "--runs", str(runs)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            for name, value in found.items():
                unit = "MB" if name == "memory" else "s"
                bar = f"  (bar {BARS[name]:g} {unit})" if name in BARS else ""
                label = f"{step}: {name}" if name in ("memory", "imports") else name
                print(f"{label:26s} {value:8.2f} {unit}{bar}", flush=True)


if __name__ == "__main__":
    main()
