"""Forced ``kill -9`` of the runner at random moments: is anything lost, is anything left?

Each round starts a runner as its own process, kills it after a random time, and then resumes or cleans up. Checked each
time: every byte that the stream held at the kill is still there, so no finished cell is lost or changed; the record is
sound; the attempt has ended; and no container, process or private folder of the attempt is left.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from nbformat.v4 import new_code_cell, new_notebook, writes

from reclaim_nb.attempts.reasons import ENDINGS
from reclaim_nb.attempts.runner import resume_attempt
from reclaim_nb.errors import ReclaimError
from reclaim_nb.kernels.box import PREFIX, Box, box_root
from reclaim_nb.kernels.leftovers import find_leftovers
from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.record.reader import last_event, read_events
from reclaim_nb.record.verify import verify_record

CELLS = [
    "import time\nstate = 1",
    "for i in range(20):\n    print('step', i)\n    time.sleep(0.02)",
    "state += 1\nstate",
    "for i in range(3000):\n    print('flood', i, flush=True)",
    "raise ValueError('an error of the agent')",
    "import subprocess\njob = subprocess.Popen(['sleep', '30'])\njob.pid > 0",
    "time.sleep(0.5)\nprint('slept', state)",
    "print(attempt.budget())",
    "assert state == 2\nattempt.submit('0.5', note='chaos')",
]
RUNNER = (
    "import sys\n"
    "sys.modules.setdefault('rfc3987_syntax', None)\n"
    "from reclaim_nb.attempts.prepare import Request, prepare\n"
    "from reclaim_nb.attempts.runner import run_attempt\n"
    "request = Request(paper='small/iforest-breastw', runs=sys.argv[1], kernel=sys.argv[2], "
    "options={'notebook': sys.argv[3]}, abandon_seconds=120)\n"
    "print(run_attempt(prepare(request)).reason)\n"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--kernel", choices=["docker", "local"], default="docker")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    found: collections.Counter[str] = collections.Counter()
    faults: list[str] = []
    with tempfile.TemporaryDirectory(prefix="reclaim-chaos-") as folder:
        notebook = Path(folder) / "cells.ipynb"
        notebook.write_text(writes(new_notebook(cells=[new_code_cell(source) for source in CELLS])))
        rounds = 0
        while found["killed"] < options.kills:
            rounds += 1
            runs = Path(folder) / f"{rounds:03d}"
            outcome, problems = one_round(runs, options.kernel, notebook, chance)
            found.update(outcome)
            faults += [f"round {rounds}: {problem}" for problem in problems]
            for problem in problems:
                print(f"FAULT round {rounds}: {problem}", flush=True)
    for name, number in sorted(found.items()):
        print(f"{number:5} {name}")
    print(f"{found['killed']} kills, {found['finished cells before the kill']} finished cells, {len(faults)} faults")
    sys.exit(1 if faults else 0)


def one_round(runs: Path, kernel: str, notebook: Path, chance: random.Random) -> tuple[list[str], list[str]]:
    """Run, kill, resume or clean, and check; return what happened and what was wrong."""
    runner = subprocess.Popen(
        [sys.executable, "-c", RUNNER, str(runs), kernel, str(notebook)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for_the_moment(runner, runs, chance)
    if runner.poll() is not None:
        return ["ended before it was to be killed"], []
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    streams = list(runs.rglob("stream.jsonl"))
    if not streams or not streams[0].stat().st_size:
        leftovers = clean(None)
        return ["killed", "killed before the first event"], still_there(leftovers)
    folder = AttemptFolder(streams[0].parent)
    before = folder.stream.read_bytes()
    events = list(read_events(folder.stream))
    identity = events[0].data["spec"]["id"]
    happened = ["killed", f"killed after {events[-1].kind}"]
    happened += ["finished cells before the kill"] * sum(event.kind == "cell_end" for event in events)
    problems = []
    if chance.random() < 0.8:
        try:
            finished = resume_attempt(folder.path)
            happened.append(f"resumed, ended {finished.reason}")
            if finished.reason != "submitted":
                problems.append(f"resumed and ended {finished.reason}: {finished.detail}")
        except ReclaimError as problem:
            problems.append(f"not resumed: {problem}")
    else:
        clean(identity)
        happened.append("cleaned")
        finished = resume_attempt(folder.path)
        happened.append(f"resumed after the clean-up, ended {finished.reason}")
    after = folder.stream.read_bytes()
    if not after.startswith(before):
        problems.append("bytes that were in the stream at the kill are gone or changed")
    check = verify_record(folder)
    problems += check.problems
    last = last_event(folder.stream)
    if last is None or last.kind != "end" or last.data["reason"] not in ENDINGS:
        problems.append("the attempt has no end")
    cells = json.loads(folder.notebook.read_text())["cells"]
    missing = {e.data["cell"] for e in events if e.kind == "cell_end"} - {cell["id"] for cell in cells}
    if missing:
        problems.append(f"finished cells are not in the notebook: {', '.join(sorted(missing))}")
    problems += still_there([identity])
    return happened, problems


def wait_for_the_moment(runner: subprocess.Popen[bytes], runs: Path, chance: random.Random) -> None:
    """Wait for a random moment: one in five by the clock, the others by what the stream holds, however busy we are."""
    if chance.random() < 0.2:
        with contextlib.suppress(subprocess.TimeoutExpired):
            runner.wait(chance.uniform(0.2, 4.0))
        return
    lines, deadline = chance.randint(1, 110), time.monotonic() + 60
    while runner.poll() is None and time.monotonic() < deadline:
        stream = next(runs.rglob("stream.jsonl"), None) if runs.exists() else None
        if stream is not None and stream.read_bytes().count(b"\n") >= lines:
            break
        time.sleep(0.005)
    with contextlib.suppress(subprocess.TimeoutExpired):
        runner.wait(chance.uniform(0.0, 0.3))


def clean(identity: str | None) -> list[str]:
    """Remove leftovers of one attempt (or of all dead runners) and return the attempts' ids."""
    removed = []
    for leftover in find_leftovers():
        if identity in (None, leftover.attempt):
            leftover.remove()
            removed.append(leftover.attempt)
    return removed


def still_there(identities: list[str]) -> list[str]:
    """Return what is left of attempts: containers, boxes, kernels."""
    deadline = time.monotonic() + 3
    while True:
        left = [f"{item.kind} {item.name} is left" for item in find_leftovers() if item.attempt in identities]
        for path in box_root().glob(f"{PREFIX}????????"):
            if Box(path).description().get("attempt") in identities:
                left.append(f"{path} is left")
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.1)


if __name__ == "__main__":
    main()
