"""Overhead of the pool: many attempts of one second on two slots, against the time the attempts themselves take.

An attempt's own time is what its record says, from its first event to its last. The ideal is the sum of these divided
by the slots; what the pool adds (processes, imports, grading, the gaps between attempts) is the rest.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from nbformat.v4 import new_code_cell, new_notebook, writes

from reclaim_nb.batch.plan import make_plan
from reclaim_nb.batch.pool import run_plan
from reclaim_nb.record.clock import seconds_between
from reclaim_nb.record.index import Index


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attempts", type=int, default=200)
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--kernel", choices=["docker", "local"], default="local")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="reclaim-pool-") as folder:
        notebook = Path(folder) / "second.ipynb"
        notebook.write_text(writes(new_notebook(cells=[new_code_cell("import time\ntime.sleep(1)")])))
        repeats = min(99, options.attempts)
        papers = ["small/ntk-relu-gradient-angle", "small/iforest-breastw", "small/adam-nonconvergence-toy"]
        plan = make_plan(
            {
                "name": "bench",
                "papers": papers[: -(-options.attempts // repeats)],
                "agents": [{"name": "replay", "options": {"notebook": str(notebook)}}],
                "repeats": repeats,
                "settings": {"kernel": options.kernel},
            }
        )
        began = time.perf_counter()
        progress = run_plan(plan, Path(folder) / "runs", slots=options.slots)
        seconds = time.perf_counter() - began
        rows = Index(Path(folder) / "runs").rows()
        own = sum(seconds_between(row.started, row.updated) for row in rows if row.started and row.updated)
    ideal = own / options.slots
    print(f"{progress.done} attempts on {options.slots} slots: {seconds:.1f} s; their own time {own:.1f} s")
    print(f"ratio to the ideal {seconds / ideal:.2f}  (bar 1.25)")
    print(f"ratio to nothing but the sleeping {seconds * options.slots / len(rows):.2f}")


if __name__ == "__main__":
    main()
