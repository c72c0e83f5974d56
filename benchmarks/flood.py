"""Floods: 20,000 flushed prints against stock papermill, and the runner's memory while 1 GB is printed."""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time

from _attempt import run

from reclaim_nb.attempts.session import Session

PRINTS = "for i in range(20_000):\n    print('line', i, flush=True)"
GIGABYTE = "for i in range(1_000):\n    print('x' * 999_990, i)"


def attempt_prints(kernel: str) -> float:
    """Return the seconds of the printing cell in an attempt, and check that nothing is missing."""
    seconds = 0.0

    async def work(session: Session) -> None:
        nonlocal seconds
        await session.run_cell("1+1")
        began = time.perf_counter()
        result = await session.run_cell(PRINTS)
        seconds = time.perf_counter() - began
        whole = ""
        while len(whole) < 300_000:
            part = await session.read_output(result.cell, len(whole), 100_000)
            if not part:
                break
            whole += part
        lines = whole.splitlines()
        assert len(lines) == 20_000 and lines[-1] == "line 19999", f"{len(lines)} lines, last {lines[-1:]}"

    run(kernel, work)
    return seconds


def papermill_prints() -> float:
    """Return the seconds that stock papermill needs for the same cell on a plain kernel, its start taken off."""
    code = (
        "import sys, time, tempfile\n"
        "sys.modules['rfc3987_syntax'] = None\n"
        "import nbformat, papermill\n"
        "from nbformat.v4 import new_code_cell, new_notebook\n"
        "meta = {'kernelspec': {'name': 'python3', 'display_name': 'p', 'language': 'python'}}\n"
        "def go(source):\n"
        "    notebook = new_notebook(cells=[new_code_cell(source)], metadata=meta)\n"
        "    nbformat.write(notebook, 'in.ipynb')\n"
        "    began = time.perf_counter()\n"
        "    papermill.execute_notebook('in.ipynb', 'out.ipynb', progress_bar=False)\n"
        "    return time.perf_counter() - began\n"
        f"empty = go('1+1'); full = go({PRINTS!r})\n"
        "print(full - empty)\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def memory(kernel: str) -> tuple[float, float]:
    """Return seconds of the cell and peak memory (MB) of this process while 1 GB is printed."""
    seconds = 0.0

    async def work(session: Session) -> None:
        nonlocal seconds
        began = time.perf_counter()
        result = await session.run_cell(GIGABYTE)
        seconds = time.perf_counter() - began
        assert result.status == "ok" and result.text.rstrip().endswith("999"), result.detail

    folder = run(kernel, work)
    sizes = [(folder / name).stat().st_size / 1e6 for name in ("payloads.bin", "stream.jsonl", "attempt.ipynb")]
    print("1 GB printed: payloads.bin {:.1f} MB, stream.jsonl {:.1f} MB, attempt.ipynb {:.2f} MB".format(*sizes))
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", choices=["docker", "local"], default="docker")
    parser.add_argument("--only", choices=["prints", "memory"])
    options = parser.parse_args()
    if options.only != "prints":
        seconds, megabytes = memory(options.kernel)
        print(f"1 GB printed: {seconds:.1f} s, runner's peak memory {megabytes:.0f} MB (bar 200)")
    if options.only != "memory":
        ours, theirs = attempt_prints(options.kernel), papermill_prints()
        print(f"20,000 flushed prints: attempt {ours:.2f} s (bar 3), stock papermill {theirs:.2f} s")
        print(f"ratio {ours / theirs:.2f}")


if __name__ == "__main__":
    main()
