"""The real commands from their registry packages, against scripted services of their wire formats.

They are looked for in PATH and in ``$RECLAIM_CLIS`` (such as ``/somewhere/node_modules/.bin``).
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from agent_helpers import events, grade_outcome, make, solve, usage
from model_endpoint import Call, Endpoint, Request, Step, say

from reclaim_nb.agents.adapter import load_adapter
from reclaim_nb.agents.tools import TOOLS
from reclaim_nb.attempts.runner import Finished
from reclaim_nb.record.verify import verify_record

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Cli:
    """A command: its agent, the model it is given, how it names our tools, what else it offers."""

    agent: str
    model: str
    tool: str
    path: str
    also: tuple[str, ...] = ()
    openai_url: bool = True


CLIS = [
    Cli("claude-code", "claude-sonnet-4-5", "mcp__attempt__{}", "/v1/messages", openai_url=False),
    Cli(
        "codex",
        "gpt-5",
        "mcp__attempt/{}",
        "/v1/responses",
        also=("list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource", "request_user_input"),
    ),
    Cli("gemini-cli", "gemini-2.5-pro", "mcp_attempt_{}", "/v1beta/models/", openai_url=False),
    Cli("opencode", "scripted/tiny", "attempt_{}", "/v1/chat/completions"),
]


@pytest.fixture(params=CLIS, ids=lambda cli: cli.agent)
def cli(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    adapter = load_adapter(request.param.agent)
    folders = os.pathsep.join(filter(None, (os.environ.get("RECLAIM_CLIS"), os.environ["PATH"])))
    if shutil.which(adapter.program, path=folders) is None:
        pytest.skip(f"{adapter.program} is not installed ({adapter.install}, or name its folder in RECLAIM_CLIS)")
    monkeypatch.setenv("PATH", folders)
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, f"planted-{name.lower()}")
    yield request.param


def attempt(folder: Path, cli: Cli, endpoint: Endpoint, **request: Any) -> Finished:
    options = {"base_url": endpoint.url if cli.openai_url else endpoint.origin}
    return make(folder, None, agent=cli.agent, model=cli.model, options=options, **request)


def asks_with_tools(request: Request) -> bool:
    """Commands ask their service about titles and the like as well; those requests have no tools."""
    return bool(request.tools)


def test_it_finds_the_tools_runs_cells_and_submits(cli: Cli, tmp_path: Path) -> None:
    with Endpoint(lambda request: solve(request, cli.tool), own=asks_with_tools) as endpoint:
        finished = attempt(tmp_path, cli, endpoint)
    assert (finished.reason, finished.detail) == ("submitted", None)
    assert grade_outcome(finished) == "reproduced"
    assert verify_record(finished.folder).sound
    assert endpoint.requests[0].path.startswith(cli.path)
    assert sorted(endpoint.requests[0].tools) == sorted([*(cli.tool.format(t.name) for t in TOOLS), *cli.also])
    system_and_task = json.dumps(endpoint.requests[0].body)
    assert "You are asked whether one published result" in system_and_task
    assert "Three CPU minutes" not in system_and_task and "subsample 256 without replacement" not in system_and_task

    spent = usage(finished)["model"]
    assert (spent["input_tokens"], spent["output_tokens"]) == (500, 100)
    assert usage(finished)["turns"] == 2
    names = {path.name for path in finished.folder.path.iterdir()}
    assert {"attempt.ipynb", "stream.jsonl", "intake.json", "workspace", "agent.transcript.jsonl"} <= names
    exited = [event.data for event in events(finished, "model") if event.data["what"] == "exited"]
    assert exited[-1]["files_left"] == []
    for path in finished.folder.path.rglob("*"):
        if path.is_file():
            assert b"planted-" not in path.read_bytes(), path


def test_it_is_ended_at_a_limit_while_its_cell_runs(cli: Cli, tmp_path: Path) -> None:
    # The device budget, for it begins to be spent with the cell, however long the command takes to get there.
    spin = Step(calls=(Call(cli.tool.format("run_cell"), {"source": "while True: pass"}),))
    with Endpoint([spin], own=asks_with_tools) as endpoint:
        finished = attempt(tmp_path, cli, endpoint, budget_hours="0.0005")
    assert finished.reason == "budget_exhausted"
    ended = [event.data["status"] for event in events(finished, "cell_end")]
    assert ended[-1] == "interrupted"
    started = next(event.data for event in events(finished, "model") if event.data["what"] == "started")
    assert events(finished, "model")[-1].data["what"] == "exited"
    assert not psutil.pid_exists(started["pid"])


def test_it_is_asked_once_when_it_stops(cli: Cli, tmp_path: Path) -> None:
    with Endpoint([say("It looks plausible.")], own=asks_with_tools) as endpoint:
        finished = attempt(tmp_path, cli, endpoint)
    assert finished.reason == "agent_stopped"
    assert len(endpoint.requests) == 2
    assert "You answered without calling a tool" in json.dumps(endpoint.requests[1].body)


def test_a_token_limit_ends_it(cli: Cli, tmp_path: Path) -> None:

    def look_up(request: Request) -> Step:  # another query each time, for gemini ends what it takes for a loop
        return Step(calls=(Call(cli.tool.format("read_paper"), {"query": f"trees {request.number}"}),))

    with Endpoint(look_up, own=asks_with_tools) as endpoint:
        finished = attempt(tmp_path, cli, endpoint, tokens=300, wall_clock_seconds=240)
    assert finished.reason == "token_limit"
    assert 300 <= usage(finished)["tokens"] < 1000
