"""Kill the runner with ``kill -9`` at random moments, then resume (or clean and resume), and look what is left.

After every kill it must hold that

- every event that was on disk is still there, byte for byte, so no finished cell is lost or changed;
- no cell that had finished is run again;
- the record is sound and ended;
- no container, private folder or process of the attempt is left.

    python benchmarks/chaos.py --kills 100 --kernel docker

Prints one line per kill that broke a rule, and a summary; exits with 1 when a rule was broken.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from reclaim_nb.attempts.runner import resume_attempt
from reclaim_nb.errors import ReclaimError, RecordError
from reclaim_nb.kernels.box import Box, box_root
from reclaim_nb.kernels.leftovers import find_leftovers
from reclaim_nb.record.events import decode
from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.record.verify import verify_record

CELLS = [
    "x = 0; print('begun')",
    "x += 1\nfor i in range(20_000): print('line', i)",
    "import time\nfor i in range(10): print(i, flush=True); time.sleep(0.03)",
    "x += 1; display({'text/plain': 'shown'}, raw=True); print('y' * 300_000)",
    "attempt.budget(); attempt.read_paper(''); print(attempt)",
    "import subprocess; subprocess.run(['sh', '-c', 'for i in 1 2 3; do echo $i; sleep 0.1; done'])",
    "open('result.txt', 'w').write('84.3'); x += 1",
    "1 / 0",
    "print(x)",
    "attempt.submit(0.99, note='handed in')",
]
RUNNER = """
import json, sys
from reclaim_nb.attempts.prepare import Request, prepare
from reclaim_nb.attempts.runner import run_attempt
run_attempt(prepare(Request(**json.loads(sys.argv[1]))))
"""


@dataclass(frozen=True)
class Plan:
    """One kill: when, in seconds after the first event (or after the start), and what follows it."""

    number: int
    before_the_stream: bool
    delay: float
    clean: bool
    again: float | None


@dataclass
class Outcome:
    """What one kill led to."""

    stage: str
    ended: str
    finished: int
    broken: list[str] = field(default_factory=list)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--kernel", choices=("docker", "local"), default="docker")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="attempts at the same time")
    parser.add_argument("--again", type=float, default=0.2, help="share of resumes that are killed as well, once")
    parser.add_argument("--clean", type=float, default=0.2, help="share of kills that are cleaned up first")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    notebook = folder / "cells.ipynb"
    cells = [{"cell_type": "code", "id": f"c{n}", "metadata": {}, "source": s} for n, s in enumerate(CELLS)]
    notebook.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    whole = min(_duration(folder, notebook, options.kernel, f"undisturbed-{n}") for n in range(2))
    print(f"an undisturbed attempt takes {whole:.1f} s from its first event; {options.kills} are killed in that time")
    dice = random.Random(options.seed)
    plans = [
        Plan(
            n,
            before_the_stream=dice.random() < 0.1,
            delay=dice.uniform(0.0, 1.05 * whole),
            clean=dice.random() < options.clean,
            again=dice.uniform(0.0, whole) if dice.random() < options.again else None,
        )
        for n in range(options.kills)
    ]
    began = time.monotonic()
    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(lambda plan: _one(folder, notebook, options.kernel, plan), plans))
    _summary(outcomes, time.monotonic() - began, options)
    broken = any(outcome.broken for outcome in outcomes)
    if not broken:
        shutil.rmtree(folder)
    else:
        print(f"the folders are kept: {folder}")
    return int(broken)


def _summary(outcomes: list[Outcome], seconds: float, options: argparse.Namespace) -> None:
    for number, outcome in enumerate(outcomes):
        for problem in outcome.broken:
            print(f"kill {number} ({outcome.stage}): {problem}")
    print(f"{len(outcomes)} runners killed in {seconds:.0f} s (kernel {options.kernel}, seed {options.seed})")
    for title, counts in (
        ("killed", Counter(outcome.stage for outcome in outcomes)),
        ("ended", Counter(outcome.ended for outcome in outcomes)),
    ):
        print(f"  {title}: " + ", ".join(f"{name} {count}" for name, count in counts.most_common()))
    print(f"  finished cells before the kills: {sum(outcome.finished for outcome in outcomes)}")
    print(f"  rules broken: {sum(len(outcome.broken) for outcome in outcomes)}")


def _start(folder: Path, notebook: Path, kernel: str, name: str) -> tuple[subprocess.Popen[bytes], AttemptFolder]:
    request: dict[str, Any] = {
        "paper": "small/iforest-breastw",
        "agent": "replay",
        "options": {"notebook": str(notebook)},
        "kernel": kernel,
        "runs": str(folder / "runs"),
        "batch": name,
        "repeat": 1,
    }
    with open(folder / f"{name}.log", "wb") as log:
        process = subprocess.Popen([sys.executable, "-c", RUNNER, json.dumps(request)], stdout=log, stderr=log)
    return process, AttemptFolder(folder / "runs" / name / "small" / "iforest-breastw" / "replay" / "01")


def _duration(folder: Path, notebook: Path, kernel: str, name: str) -> float:
    process, attempt = _start(folder, notebook, kernel, name)
    _wait_for_stream(process, attempt)
    began = time.monotonic()
    process.wait()
    if not attempt.stream.exists() or not verify_record(attempt).ended:
        raise SystemExit((folder / f"{name}.log").read_text())
    return time.monotonic() - began


def _wait_for_stream(process: subprocess.Popen[bytes], attempt: AttemptFolder) -> None:
    while process.poll() is None and not attempt.stream.exists():
        time.sleep(0.005)


def _one(folder: Path, notebook: Path, kernel: str, plan: Plan) -> Outcome:
    process, attempt = _start(folder, notebook, kernel, f"kill-{plan.number:03d}")
    if not plan.before_the_stream:
        _wait_for_stream(process, attempt)
    _kill_after(process, plan.delay)
    before = attempt.stream.read_bytes() if attempt.stream.exists() else b""
    events = _whole_events(before)
    outcome = Outcome(_stage(events, bool(before)), "", sum(event["kind"] == "cell_end" for event in events))
    identity = events[0]["data"]["spec"]["id"] if events else None
    try:
        if plan.clean:
            with _cleaning:
                for leftover in find_leftovers():
                    if leftover.attempt == identity:
                        leftover.remove()
        if plan.again is not None and events:
            code = "import sys; from reclaim_nb.attempts.runner import resume_attempt; resume_attempt(sys.argv[1])"
            command = [sys.executable, "-c", code, str(attempt.path)]
            quiet = subprocess.DEVNULL
            _kill_after(subprocess.Popen(command, stdout=quiet, stderr=quiet), 1.0 + plan.again)
        outcome.ended = resume_attempt(attempt.path).reason if before else "never began"
    except RecordError as problem:
        if events:
            outcome.broken.append(str(problem))
        outcome.ended = "never began"
    except ReclaimError as problem:
        outcome.broken.append(f"resume refused: {problem}")
        outcome.ended = "refused"
    except Exception as problem:  # noqa: BLE001 - whatever it is, it is a finding
        outcome.broken.append(f"resume failed: {problem!r}")
        outcome.ended = "failed"
    if events:
        outcome.broken += _check(attempt, before, identity)
    outcome.broken += [f"left: {trace}" for trace in _traces(identity, process.pid)]
    return outcome


_cleaning = threading.Lock()


def _kill_after(process: subprocess.Popen[bytes], delay: float) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(delay)
    process.kill()
    process.wait()


def _whole_events(stream: bytes) -> list[dict[str, Any]]:
    events = []
    for line in stream.split(b"\n"):
        try:
            event = decode(line)
        except ValueError:
            continue
        events.append({"kind": event.kind, "data": event.data})
    return events


def _stage(events: list[dict[str, Any]], stream: bool) -> str:
    kinds = [event["kind"] for event in events]
    if not kinds:
        return "before the first event" if stream else "before the stream"
    if "end" in kinds:
        return "after the end"
    if "runner" not in kinds:
        return "before the kernel was up"
    if kinds.count("execute") > kinds.count("cell_end"):
        return "in a running cell"
    return "between cells" if "limit" not in kinds else "while ending"


def _check(attempt: AttemptFolder, before: bytes, identity: str) -> list[str]:
    broken = []
    after = attempt.stream.read_bytes()
    if not after.startswith(before):
        broken.append("events that were on disk have changed")
    check = verify_record(attempt)
    broken += check.problems
    if not check.ended:
        broken.append("the attempt has no end")
    finished = {
        event["data"]["cell"]
        for event in _whole_events(before)
        if event["kind"] == "cell_end" and event["data"]["status"] in ("ok", "error")
    }
    events = _whole_events(after)
    origin = {
        event["data"]["cell"]: event["data"]["metadata"].get("replays")
        for event in events
        if event["kind"] == "cell" and event["data"]["author"] == "agent"
    }
    for cell in finished:
        same = [other for other, source in origin.items() if source is not None and source == origin.get(cell)]
        if len(same) > 1:
            broken.append(f"cell {cell} had finished and was run again")
    ends = Counter(event["data"]["cell"] for event in events if event["kind"] == "cell_end")
    broken += [f"cell {cell} has {count} ends" for cell, count in ends.items() if count != 1]
    broken += [f"cell {cell} has no end" for cell in _code_cells(events) if cell not in ends]
    return broken


def _code_cells(events: list[dict[str, Any]]) -> list[str]:
    cells = [event["data"] for event in events if event["kind"] == "cell"]
    return [data["cell"] for data in cells if data["cell_type"] == "code"]


def _traces(identity: str | None, runner: int) -> list[str]:
    found = []
    for path in box_root().glob("reclaim-????????"):
        owner = Box(path).owner()
        mine = identity is not None and Box(path).description().get("attempt") == identity
        if mine or (owner is not None and owner.pid == runner and owner.is_gone()):
            found.append(f"folder {path}")
    if identity is None:
        # Nothing of it can be resumed; what a dead runner may have left is for `reclaim clean`.
        with _cleaning:
            for leftover in find_leftovers():
                if str(leftover.box) in {trace.removeprefix("folder ") for trace in found}:
                    leftover.remove()
        return [trace for trace in found if Path(trace.removeprefix("folder ")).exists()]
    mark = f"RECLAIM_ATTEMPT={identity}".encode()
    for process in psutil.process_iter():
        try:
            with open(f"/proc/{process.pid}/environ", "rb") as file:
                if mark in file.read().split(b"\0") and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(f"process {process.pid}")
        except (OSError, psutil.Error):
            continue
    return found + _containers(identity)


def _containers(identity: str) -> list[str]:
    from reclaim_nb.kernels.images import engine, engine_problem

    if engine_problem() is not None:
        return []
    client = engine()
    try:
        found = client.api.containers(all=True, filters={"label": f"org.reclaim.attempt={identity}"})
    finally:
        client.close()
    return [f"container {container['Id'][:12]}" for container in found]


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    sys.exit(main())
