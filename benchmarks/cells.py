"""Overhead of a cell: an attempt with record and save, against bare nbclient on the same kind of kernel."""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time

from _attempt import with_session
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from reclaim_nb.attempts.session import Session
from reclaim_nb.kernels.kernel import KernelConfig, kernel_manager

SOURCE = "1+1"


async def attempt(kernel: str, cells: int) -> list[float]:
    """Return the seconds of each cell in an attempt."""
    seconds: list[float] = []

    async def work(session: Session) -> None:
        await session.run_cell(SOURCE)
        for _ in range(cells):
            began = time.perf_counter()
            await session.run_cell(SOURCE)
            seconds.append(time.perf_counter() - began)

    await with_session(kernel, work, turns=cells + 1)
    return seconds


async def bare(kernel: str, cells: int) -> list[float]:
    """Return the seconds of each cell through nbclient, without record or save."""
    config = KernelConfig(kind=kernel)  # type: ignore[arg-type]
    manager = kernel_manager(config.name, config.traits() | {"workspace": tempfile.mkdtemp()})
    notebook = new_notebook(cells=[new_code_cell(SOURCE) for _ in range(cells + 1)])
    client = NotebookClient(notebook, km=manager)
    seconds: list[float] = []
    async with client.async_setup_kernel(cleanup_kc=True):
        await client.async_execute_cell(notebook.cells[0], 0)
        for index in range(1, cells + 1):
            began = time.perf_counter()
            await client.async_execute_cell(notebook.cells[index], index)
            seconds.append(time.perf_counter() - began)
    await manager.shutdown_kernel(now=True)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", choices=["docker", "local"], default="docker")
    parser.add_argument("--cells", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(options.rounds):
        ours += asyncio.run(attempt(options.kernel, options.cells))
        theirs += asyncio.run(bare(options.kernel, options.cells))
    for name, seconds in (("attempt", ours), ("nbclient", theirs)):
        ordered = sorted(seconds)
        print(
            f"{name:9} {len(seconds)} cells  mean {statistics.mean(seconds) * 1e3:6.2f} ms  "
            f"median {statistics.median(seconds) * 1e3:6.2f} ms  p95 {ordered[int(len(ordered) * 0.95)] * 1e3:6.2f} ms"
        )
    print(
        f"ratio     mean {statistics.mean(ours) / statistics.mean(theirs):.2f}  "
        f"median {statistics.median(ours) / statistics.median(theirs):.2f}  (bar 1.5)"
    )


if __name__ == "__main__":
    main()
