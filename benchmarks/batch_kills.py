"""A batch that is killed at random and run again: the same table, nothing left over, no work done twice.

``reclaim batch run`` of a suite with the null agents and the replay, each twice. First undisturbed, which gives the
table that is expected, and once more, which must change no file. Then in another folder: again and again the pool, or
the pool and every runner, is ended with SIGKILL at a random moment of the batch, and the batch is run again, the last
time to its end.

    python benchmarks/batch_kills.py --kernel docker --kills 10
    python benchmarks/batch_kills.py --kernel docker --paper small/adam-nonconvergence-toy --repeats 1 --kills 3
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from reclaim_nb.batch.plan import Plan, declare, make_plan
from reclaim_nb.batch.settle import look
from reclaim_nb.kernels.leftovers import find_leftovers
from reclaim_nb.record.folder import AttemptFolder, is_held
from reclaim_nb.record.index import Index
from reclaim_nb.record.verify import verify_record

AGENTS = ("replay", "nothing", "constant", "copy")
_GRACE_SECONDS = 20.0

Line = tuple[str, str | None, str | None, str | None]


def start(plan: Plan, runs: Path, slots: int) -> subprocess.Popen[bytes]:
    """Start the batch as a person would, in a session of its own."""
    file = runs.parent / f"{runs.name}.json"
    file.write_text(json.dumps(plan.model_dump(mode="json")))
    command = [sys.executable, "-m", "reclaim_nb.cli", "batch", "run", str(file), "--runs", str(runs)]
    with open(runs.parent / f"{runs.name}.out", "a") as output:
        return subprocess.Popen(
            [*command, "--slots", str(slots), "--json"],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def finish(plan: Plan, runs: Path, slots: int) -> float:
    """Run the batch to its end; return the seconds it took."""
    began = time.perf_counter()
    code = start(plan, runs, slots).wait()
    if code != 0:
        tail = (runs.parent / f"{runs.name}.out").read_text()[-2000:]
        raise SystemExit(f"the batch ended with exit code {code}: {tail}")
    return time.perf_counter() - began


def kill(pool: subprocess.Popen[bytes], runs: Path, with_runners: bool) -> int:
    """End the pool, and the runners of its attempts or not, with SIGKILL; return how many processes were killed."""
    pool.kill()
    pool.wait()
    killed = 1
    for lock in runs.rglob(".lock") if with_runners else ():
        if is_held(AttemptFolder(lock.parent)):
            words = lock.read_text().split()
            if len(words) > 1:
                os.kill(int(words[1]), signal.SIGKILL)
                killed += 1
    return killed


def table(plan: Plan, runs: Path) -> list[Line]:
    """Return the last making of each declared attempt: place, end reason, outcome, cause."""
    rows = {row.path: row for row in Index(runs).rows()}
    lines = []
    for one in declare(plan, runs):
        state = look(one, plan.retries)
        row = rows.get(str(state.folder.path.relative_to(runs))) if state is not None and state.final else None
        lines.append((one.key, *((row.reason, row.outcome, row.cause) if row is not None else (None, None, None))))
    return lines


def stamps(runs: Path) -> dict[str, int]:
    """Return when each file of the attempts was last written."""
    names = ("stream.jsonl", "attempt.ipynb", "verdict.", "intake.json")
    return {str(path): path.stat().st_mtime_ns for path in runs.rglob("*") if path.name.startswith(names)}


def left(plan: Plan, runs: Path) -> list[str]:
    """Return what the batch's attempts left on the machine, after what is ending has had time to end."""
    ids = {row.id for row in Index(runs).rows() if row.batch == plan.name}
    deadline = time.monotonic() + _GRACE_SECONDS
    while (found := [str(one) for one in find_leftovers() if one.attempt in ids]) and time.monotonic() < deadline:
        time.sleep(0.5)
    held = [lock for lock in runs.rglob(".lock") if is_held(AttemptFolder(lock.parent))]
    parts = list(runs.rglob(".*.part"))
    return [*found, *map(str, held), *map(str, parts)]


def unsound(runs: Path) -> list[str]:
    """Return the records that do not verify."""
    checks = ((path.parent, verify_record(AttemptFolder(path.parent))) for path in runs.rglob("stream.jsonl"))
    return [f"{folder}: {check.problems}" for folder, check in checks if not check.sound]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="small")
    parser.add_argument("--paper", action="append", help="a single paper instead of the suite; may be repeated")
    parser.add_argument("--agent", action="append", help=f"default: {', '.join(AGENTS)}")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--kernel", choices=["docker", "local"], default="docker")
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    papers: dict[str, Any] = {"papers": options.paper} if options.paper else {"suite": options.suite}
    plan = make_plan(
        {
            "name": "kills",
            **papers,
            "agents": options.agent or AGENTS,
            "repeats": options.repeats,
            "settings": {"kernel": options.kernel},
            "retries": options.kills + 2,  # a fault that was made on purpose is not to use up its repeats
        }
    )
    chance = random.Random(options.seed)
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="reclaim-kills-", ignore_cleanup_errors=True) as folder:
        calm, killed = Path(folder) / "calm", Path(folder) / "killed"
        calm.mkdir()
        killed.mkdir()
        seconds = finish(plan, calm, options.slots)
        expected, before = table(plan, calm), stamps(calm)
        print(f"undisturbed: {len(expected)} attempts in {seconds:.0f} s", flush=True)
        again = finish(plan, calm, options.slots)
        same = stamps(calm) == before
        print(f"run again: {again:.1f} s, {'no file changed' if same else 'FILES CHANGED'}", flush=True)
        problems += [] if same else ["the second run did new work"]
        for number in range(1, options.kills + 1):
            pool = start(plan, killed, options.slots)
            # A run that finds nothing to do is what starting takes; the rest is shared out among the kills.
            wait = again + chance.uniform(0, 0.9) * max(1.0, seconds - again) / options.kills
            try:
                pool.wait(timeout=wait)
                print(f"kill {number}: it had ended by itself before", flush=True)
                continue
            except subprocess.TimeoutExpired:
                with_runners = chance.random() < 0.6
                many = kill(pool, killed, with_runners)
                print(f"kill {number}: after {wait:.1f} s, {many} processes", flush=True)
        finish(plan, killed, options.slots)
        found = table(plan, killed)
        differing = [f"{a} instead of {b}" for a, b in zip(found, expected, strict=True) if a != b]
        makings = len(list(killed.rglob("stream.jsonl")))
        print(
            f"killed and resumed: {len(found)} attempts, {makings} makings; {len(differing)} lines differ", flush=True
        )
        problems += [*differing, *_named("left over", [*left(plan, calm), *left(plan, killed)])]
        problems += _named("not sound", unsound(killed))
        for outcome in sorted({(line[0].split("/")[2], *line[1:]) for line in expected}, key=str):
            count = sum((line[0].split("/")[2], *line[1:]) == outcome for line in expected)
            print(f"  {count:3d} x {', '.join(map(str, outcome))}")
    for problem in problems:
        print(f"PROBLEM: {problem}")
    print("same table, nothing left over" if not problems else f"{len(problems)} problems")
    raise SystemExit(1 if problems else 0)


def _named(name: str, what: Iterable[str]) -> list[str]:
    return [f"{name}: {one}" for one in what]


if __name__ == "__main__":
    main()
