"""Grading by rules: an attempt of 500 cells and 50 MB, against half of it and against only reading its stream."""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from _yardstick import yardstick

from reclaim_nb.papers.loading import LoadedCard
from reclaim_nb.papers.suite import find_paper
from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.record.payloads import PayloadStore, spill
from reclaim_nb.record.reader import read_events
from reclaim_nb.record.render import Rendering
from reclaim_nb.record.stream import StreamWriter

PAPER = "small/iforest-breastw"
CELL_BYTES = 100_000
MESSAGE_BYTES = 10_000
SOURCES = (
    """import numpy as np
rng = np.random.default_rng({n})
config{n} = dict(lr=1e-3, trees=100)""",
    """data{n} = load_breastw(Path("data") / "part{n}.csv")
X{n}, y{n} = data{n}[:, :-1], data{n}[:, -1]""",
    """for epoch in range(30):
    loss = train_step(model{n}, X{n}, lr=config{n}["lr"])
    print(f"epoch {{epoch}} loss {{loss:.4f}}")""",
    """scores{n} = model{n}.decision_function(X{n})
auc = roc_auc_score(y{n}, scores{n})
print(f"test ROC AUC {{auc:.4f}}")""",
    """%matplotlib inline
import matplotlib.pyplot as plt
plt.hist(scores{n}, bins=30)
plt.show()""",
    """table{n} = summarise(scores{n}, by=["fold", "seed"])
table{n}.to_csv("out/table{n}.csv")
print(table{n})""",
)
GRADE = """
import resource, sys, time
from pathlib import Path
from reclaim_nb.grading.verdict import grade
from reclaim_nb.papers.suite import find_paper
from reclaim_nb.record.folder import AttemptFolder
folder, card = AttemptFolder(Path(sys.argv[1])), find_paper(sys.argv[2])
began, busy = time.perf_counter(), time.process_time()
verdict = grade(folder, card)
seconds, megabytes = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(seconds, megabytes, f"{time.process_time() - busy:.2f}", verdict.outcome, verdict.value)
"""
"""In a process of its own: the peak of memory is then that of grading alone."""
READ = """
import json, sys, time
began = time.perf_counter()
events = sum(1 for line in open(sys.argv[1], 'rb') if json.loads(line))
print(time.perf_counter() - began, events)
"""


def lines(chance: random.Random, cell: int, size: int) -> str:
    """Return what a cell prints: a log of training with tables, warnings and paths in it."""
    found: list[str] = []
    length = 0
    while length < size:
        step = len(found)
        kind = chance.randrange(8)
        if kind < 5:
            line = f"epoch {step // 50} step {step} loss {chance.random():.4f} lr 0.0010 {chance.randrange(900)} it/s"
        elif kind == 5:
            line = (
                f"  {step:4d}  fold {step % 5}  {chance.random():.4f}  {chance.random():.4f}  {chance.randrange(683)}"
            )
        elif kind == 6:
            line = f"/work/out/run{cell}/checkpoint-{step}.npz written in {chance.random():.2f} s"
        else:
            line = "UserWarning: y_pred contains classes that are not in y_true, which is ignored in this average"
        found.append(line)
        length += len(line) + 1
    return "\n".join(found) + "\n"


def write(place: Path, card: LoadedCard, cells: int) -> AttemptFolder:
    """Write an attempt of some cells, each with 100 kB of output, as a runner would."""
    folder = AttemptFolder(place)
    folder.path.mkdir(parents=True)
    chance = random.Random(0)
    spec = {
        "id": f"bench-{cells}",
        "card_sha256": card.sha256,
        "card": card.card.model_dump(mode="json"),
        "kernel": {"name": "reclaim-local"},
    }
    with StreamWriter(folder.stream, PayloadStore(folder.payloads)) as stream:
        stream.append("attempt", {"schema": 1, "spec": spec})
        for cell in range(cells):
            name = f"c{cell:03d}"
            source = SOURCES[cell % len(SOURCES)].format(n=cell)
            about = {"cell": name, "cell_type": "code", "author": "agent", "turn": cell}
            stream.append("cell", {**about, "source": source, "metadata": {}})
            stream.append("execute", {"cell": name, "msg_id": f"m{cell}"})
            text = lines(chance, cell, CELL_BYTES)
            if "ROC AUC" in source:
                text += f"test ROC AUC {0.98 + cell / 100_000:.4f}\n"
            for start in range(0, len(text), MESSAGE_BYTES):
                content = {"name": "stdout", "text": text[start : start + MESSAGE_BYTES]}
                message = {"cell": name, "channel": "iopub", "msg_type": "stream", "msg_id": f"s{start}"}
                more = {"parent": f"m{cell}", "metadata": {}, "late": False, "from": None}
                stream.append("message", {**message, **more, "content": spill(content, stream.payloads)})
            seconds = {"held_seconds": 1.0, "charged_seconds": 1.0, "started": "", "ended": ""}
            status = {"status": "ok", "execution_count": cell + 1, "messages": 10, "gaps": 0, "idle": True}
            stream.append("cell_end", {"cell": name, **status, **seconds, "detail": None})
        usage = {"charged_seconds": float(cells)}
        stream.append("end", {"reason": "agent_stopped", "detail": None, "usage": usage, "submission": None})
    rendering = Rendering(folder.store())
    for event in read_events(folder.stream):
        rendering.apply(event)
    folder.notebook.write_bytes(rendering.to_bytes())
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=500)
    parser.add_argument("--times", type=int, default=3, help="how often each is measured; the least counts")
    options = parser.parse_args()
    card = find_paper(PAPER)
    with tempfile.TemporaryDirectory(prefix="reclaim-bench-") as place:
        of_all = write(Path(place) / "whole", card, options.cells)
        half = write(Path(place) / "half", card, options.cells // 2)
        took: dict[str, list[float]] = {"whole": [], "half": [], "read": [], "memory": [], "busy": []}
        said: list[str] = []
        for _ in range(options.times):
            for name, folder in (("whole", of_all), ("half", half)):
                seconds, megabytes, (busy, *said) = run(GRADE, folder.path, PAPER)
                took[name].append(seconds)
                if name == "whole":
                    took["memory"].append(megabytes)
                    took["busy"].append(float(busy))
            took["read"].append(run(READ, of_all.stream)[0])
        size = of_all.stream.stat().st_size / 1e6
        sizes = f"{size:.1f} MB of stream, {half.stream.stat().st_size / 1e6:.1f} MB in the half"
    best = {name: min(values) for name, values in took.items()}
    print(f"{options.cells} cells, {sizes}; verdict: {' '.join(said)}")
    peak, whole, busy = max(took["memory"]), best["whole"], best["busy"]
    print(f"grading {whole:.2f} s, {busy:.2f} s of a processor (bar 2), peak memory {peak:.0f} MB (bar 300)")
    print(f"half of it {best['half']:.2f} s: ratio {best['whole'] / best['half']:.2f} for twice the size")
    print(f"only reading the stream's JSON {best['read']:.2f} s: ratio {best['whole'] / best['read']:.1f}")
    print(yardstick())


def run(code: str, *words: object) -> tuple[float, float, list[str]]:
    """Run some code in a process of its own and return the numbers it prints first, and the rest."""
    command = [sys.executable, "-c", code, *map(str, words)]
    first, second, *rest = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(first), float(second), rest


if __name__ == "__main__":
    main()
