"""After ``kill -9`` of the runner the conversation goes on from the record, against the same live kernel."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from agent_helpers import events, usage
from in_step import until_let_go
from model_endpoint import Call, Endpoint, Request, Step, call, say

from reclaim_nb.attempts.runner import Finished, resume_attempt
from reclaim_nb.record.verify import verify_record

pytestmark = pytest.mark.slow  # each test runs a kernel

RUN = """
import sys
sys.path.insert(0, {helpers!r})
from pathlib import Path
from agent_helpers import make

make(Path({folder!r}), {url!r}, conditions={conditions!r})
"""


def run_killed_and_resumed(
    folder: Path,
    endpoint: Endpoint,
    when: Callable[[], bool],
    killed: Callable[[], None],
    conditions: tuple[str, ...] = (),
) -> Finished:
    """Run an attempt in a process of its own, kill that as soon as ``when`` holds, call ``killed``, resume it here."""
    text = RUN.format(helpers=str(Path(__file__).parent), folder=str(folder), url=endpoint.url, conditions=conditions)
    runner = subprocess.Popen([sys.executable, "-c", text])
    try:
        deadline = time.monotonic() + 240
        while not when():
            assert runner.poll() is None, "the runner ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        runner.kill()  # SIGKILL
        runner.wait()
        killed()
    stream = next(folder.rglob("stream.jsonl"))
    return resume_attempt(stream.parent)


def test_killed_while_a_cell_runs(tmp_path: Path) -> None:
    go = tmp_path / "go"
    slow = f"x = 41\nprint('begun')\n{until_let_go(str(go))}x += 1"

    def begun() -> bool:
        return any(b'"text":"begun' in stream.read_bytes() for stream in tmp_path.rglob("stream.jsonl"))

    steps = [
        Step(calls=(Call("write_markdown", {"text": "first"}), Call("run_cell", {"source": slow}), Call("budget"))),
        call("run_cell", source="print('x is', x)"),
        call("submit", value="42"),
    ]
    with Endpoint(steps) as endpoint:
        finished = run_killed_and_resumed(tmp_path / "runs", endpoint, begun, go.touch)
    assert finished.reason == "submitted"
    first, second, third = endpoint.requests
    assert second.body["messages"][: len(first.body["messages"])] == first.body["messages"]
    markdown, interrupted, budget = second.outputs
    assert markdown.startswith("cell ") and "the runner was away" in interrupted and "CPU-hours" in budget
    assert "x is 42" in third.outputs[-1]
    written = [event.data["cell"] for event in events(finished, "cell") if event.data["author"] == "agent"]
    assert len(written) == len(set(written)) == 3
    assert usage(finished)["model"]["requests"] == 3
    assert usage(finished)["turns"] == 2
    assert verify_record(finished.folder).sound


def test_killed_while_the_service_thinks(tmp_path: Path) -> None:
    asked, killed = threading.Event(), threading.Event()

    def script(request: Request) -> Step:
        if request.number == 0:
            return call("run_cell", source="y = 7")
        if request.number == 1:
            asked.set()
            killed.wait(240)
            return Step(text="too late")
        return call("run_cell", source="print(6 * y)") if len(request.outputs) == 1 else call("submit", value="42")

    with Endpoint(script) as endpoint:
        finished = run_killed_and_resumed(tmp_path, endpoint, asked.is_set, killed.set)
    assert finished.reason == "submitted"
    assert endpoint.requests[2].body == endpoint.requests[1].body
    assert "42" in endpoint.requests[3].outputs[-1]
    assert usage(finished)["model"]["requests"] == 3


@pytest.mark.parametrize("conditions", [(), ("nudge",)])
def test_killed_after_it_was_asked(tmp_path: Path, conditions: tuple[str, ...]) -> None:
    asked, killed = threading.Event(), threading.Event()

    def script(request: Request) -> Step:
        if request.number == 1:
            asked.set()
            killed.wait(240)
            return Step(text="too late")
        return say("I stop.")

    with Endpoint(script) as endpoint:
        finished = run_killed_and_resumed(tmp_path, endpoint, asked.is_set, killed.set, conditions)
    assert finished.reason == "agent_stopped"
    assert len(endpoint.requests) == 3
    assert endpoint.requests[2].body == endpoint.requests[1].body
