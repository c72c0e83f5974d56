"""Attempts of which there is more to tell: by a model that says what a script has it say, and by edited notebooks."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from reclaim_nb.attempts.prepare import Request, prepare
from reclaim_nb.attempts.runner import Finished, run_attempt
from reclaim_nb.commands.running import grade_now

sys.path.insert(0, str(Path(__file__).parent.parent / "agents"))  # where the scripted service lies

from model_endpoint import Call, Endpoint, Step, say

HOSTILE = '<img src=x onerror="window.hacked = 1"><script>window.hacked = 1</script> **bold**'

DRAW = """import random
rng = random.Random(0)
draws = [rng.random() * 8 for _ in range(20000)]
print(len(draws), 'draws')"""
ASK = """import urllib.request
for url in ("http://data.example/draws.csv", "http://elsewhere.example/weights.bin"):
    try:
        print(urllib.request.urlopen(url, timeout=8).status)
    except Exception as problem:
        print(url, type(problem).__name__, problem)"""
FLOOD = "for step in range(20000):\n    print('step', step, flush=True)"
MEASURE = "mean = sum(draws) / len(draws)\nprint(f'mean of the draws = {mean:.3f}')"

SAID = "I draw as the paper does, and check the number of draws before anything else."

SCRIPT = [
    Step(text=SAID, calls=(Call("run_cell", {"source": DRAW}),)),
    Step(calls=(Call("check_anchor", {"name": "draws", "value": "20000"}), Call("check_anchor", {"name": "none"}))),
    Step(text=HOSTILE, calls=(Call("write_markdown", {"text": f"# What is next\n\n{HOSTILE}"}),)),
    Step(text="Is there anything to be had from the network?", calls=(Call("run_cell", {"source": ASK}),)),
    Step(calls=(Call("run_cell", {"source": FLOOD}),)),
    Step(text="Now the measurement.\n" + "A long thought. " * 600, calls=(Call("run_cell", {"source": MEASURE}),)),
    Step(calls=(Call("submit", {"value": "4.003", "note": "mean of 20,000 draws"}),)),
    say("Handed in."),
]


def talk(papers: Path, runs: Path, **request: Any) -> Finished:
    """Make and grade an attempt at ``tiny/good`` by a model that follows the script."""
    with Endpoint(SCRIPT) as endpoint:
        given = {"agent": "model", "model": "scripted:tiny", "kernel": "local", **request}
        options = {"base_url": endpoint.url, "retry_seconds": 0.05}
        finished = run_attempt(
            prepare(Request(paper=str(papers / "tiny" / "good"), runs=str(runs), options=options, **given))
        )
    grade_now(finished.folder)
    return finished


def replay(papers: Path, runs: Path, cells: dict[str, str], notebook: Path, **request: Any) -> Finished:
    """Make and grade an attempt at ``tiny/good`` whose cells are others than those of its reference notebook."""
    document = json.loads((papers / "tiny" / "good" / "solution.ipynb").read_text("utf-8"))
    document["cells"] = [
        {"cell_type": "code", "id": id, "metadata": {}, "source": text, "outputs": [], "execution_count": None}
        for id, text in cells.items()
    ]
    notebook.write_text(json.dumps(document), "utf-8")
    given = {"agent": "replay", "kernel": "local", "options": {"notebook": str(notebook)}, **request}
    finished = run_attempt(prepare(Request(paper=str(papers / "tiny" / "good"), runs=str(runs), **given)))
    grade_now(finished.folder)
    return finished
