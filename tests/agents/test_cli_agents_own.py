"""Any command by configuration: a small program behind the stdio bridge, driven by an adapter file."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from agent_helpers import events, make, usage
from in_step import time_passes

from reclaim_nb.agents.adapter import UsageReader, adapter_names, fill_words, load_adapter
from reclaim_nb.agents.listing import list_agents
from reclaim_nb.agents.process import end_tree
from reclaim_nb.attempts.runner import Finished, resume_attempt
from reclaim_nb.attempts.session import Session
from reclaim_nb.errors import AttemptError
from reclaim_nb.record.verify import verify_record

pytestmark = pytest.mark.slow  # each test runs a kernel

COMMAND = Path(__file__).with_name("some_command.py")


def adapter_file(folder: Path, mode: str, **more: Any) -> Path:
    adapter = {
        "name": "some-command",
        "program": sys.executable,
        "install": "it is here",
        "words": [str(COMMAND), mode, "$url"],
        "stdin": "$system\n\n$prompt",
        "environment": {"RECLAIM_MCP_TOKEN": "$token"},
        "keys": ["SOME_KEY"],
        "reach": "everything its user can",
        "usage": [
            {
                "where": {"type": "usage"},
                "key": "id",
                "input_tokens": ["tokens.in"],
                "output_tokens": ["tokens.out"],
            }
        ],
        "faults": ["service unavailable"],
    } | more
    path = folder / "some-command.yaml"
    path.write_text(yaml.safe_dump(adapter), "utf-8")
    return path


def attempt(folder: Path, mode: str, adapter: dict[str, Any] | None = None, **request: Any) -> Finished:
    path = adapter_file(folder, mode, **(adapter or {}))
    return make(folder / "runs", None, agent="command", model=None, options={"adapter": str(path)}, **request)


def transcript(finished: Finished) -> list[dict[str, Any]]:
    lines = (finished.folder.path / "agent.transcript.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def leaky(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """An attempt in which the command also tells what it finds around it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOME_KEY", "planted-key-of-the-command")
        patch.setenv("OTHER_SECRET", "planted-secret-of-the-host")
        patch.setenv("HARMLESS", "planted-harmless-value")
        return attempt(tmp_path_factory.mktemp("leaky"), "leak")


def test_a_fifth_command_is_a_small_file(leaky: Finished) -> None:
    finished = leaky
    assert (finished.reason, finished.detail) == ("submitted", None)
    assert finished.notebook["metadata"]["reclaim"]["submission"]["value"] == "42"
    assert "42" in transcript(finished)[1]["text"]
    assert usage(finished)["model"] == {
        "requests": 2,
        "input_tokens": 300,
        "cached_tokens": 0,
        "cache_write_tokens": 0,
        "output_tokens": 30,
        "reasoning_tokens": 0,
        "usd": None,
    }
    assert verify_record(finished.folder).sound


def test_what_it_gets_of_the_host_is_its_own_key_and_little_else(leaky: Finished) -> None:
    finished = leaky
    variables = next(event["variables"] for event in transcript(finished) if event["type"] == "environment")
    assert variables["SOME_KEY"] == variables["RECLAIM_MCP_TOKEN"] == "[redacted]"
    assert "OTHER_SECRET" not in variables and "HARMLESS" not in variables
    assert variables["HOME"] != str(Path.home())
    for path in finished.folder.path.rglob("*"):
        if path.is_file():
            assert b"planted-" not in path.read_bytes(), path
    exited = [event.data for event in events(finished, "model") if event.data["what"] == "exited"]
    assert exited[-1]["files_left"] == ["notes.txt"]


def has_told_of_children(session: Session) -> bool:
    path = session.recorder.folder.path / "agent.transcript.jsonl"
    return path.exists() and b'"children"' in path.read_bytes()


@pytest.mark.parametrize(
    ("mode", "limits", "reason", "processes"),
    [("tree", {"wall_clock_seconds": 600}, "wall_clock", 3), ("greedy", {"tokens": 5000}, "token_limit", 1)],
)
def test_its_whole_process_tree_ends_at_a_limit(
    tmp_path: Path, mode: str, limits: dict[str, Any], reason: str, processes: int
) -> None:
    finished = attempt(tmp_path, mode, observer=time_passes(has_told_of_children), **limits)
    assert finished.reason == reason
    started = [event.data for event in events(finished, "model") if event.data["what"] == "started"]
    pids = [started[0]["pid"]]
    for event in transcript(finished):
        pids += event.get("pids", [])
    assert len(set(pids)) == processes
    assert not [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie"]


@pytest.mark.parametrize(
    ("mode", "adapter", "reason"),
    [
        ("crash", {}, "infrastructure_error"),
        ("crash-later", {}, "agent_error"),
        (
            "crash-later",
            {"words": [str(COMMAND), "crash-later", "$url", "--service"]},
            "infrastructure_error",
        ),
    ],
)
def test_a_crash_is_told_from_a_fault_of_its_service(
    tmp_path: Path, mode: str, adapter: dict[str, Any], reason: str
) -> None:
    finished = attempt(tmp_path, mode, adapter)
    assert finished.reason == reason
    assert "exit code" in (finished.detail or "")


@pytest.mark.parametrize(("goes_on", "runs"), [(False, 1), (True, 2)])
def test_one_that_stops_is_asked_once_where_it_can_go_on(tmp_path: Path, goes_on: bool, runs: int) -> None:
    finished = attempt(tmp_path, "idle", {"goes_on": goes_on})
    assert finished.reason == "agent_stopped"
    tasks = [event for event in transcript(finished) if event["type"] == "task"]
    assert [task["asked"] for task in tasks] == [False, True][:runs]


def test_after_a_killed_runner_the_old_command_is_ended_and_a_new_one_goes_on(tmp_path: Path) -> None:
    options = {"adapter": str(adapter_file(tmp_path, "twice"))}
    text = (
        f"import sys; sys.path.insert(0, {str(COMMAND.parent)!r})\n"
        "from pathlib import Path; from agent_helpers import make\n"
        f"make(Path({str(tmp_path / 'runs')!r}), None, agent='command', model=None, options={options!r})"
    )
    runner = subprocess.Popen([sys.executable, "-c", text])
    pids: list[int] = []
    deadline = time.monotonic() + 240
    while not pids:
        assert runner.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
        for path in tmp_path.rglob("agent.transcript.jsonl"):
            written = path.read_text().rpartition("\n")[0]  # what follows the last line is still being written
            for line in written.splitlines():
                pids += json.loads(line).get("pids", [])
    runner.kill()
    runner.wait()
    orphan = psutil.Process(pids[0])
    finished = resume_attempt(next(tmp_path.rglob("stream.jsonl")).parent)
    assert finished.reason == "submitted"
    assert not orphan.is_running()
    folders = [event.data["scratch"] for event in events(finished, "model") if event.data["what"] == "started"]
    assert len(folders) == 2 and not any(Path(folder).exists() for folder in folders)
    tasks = [event for event in transcript(finished) if event["type"] == "task"]
    assert [task["continued"] for task in tasks] == [False, True]
    assert usage(finished)["turns"] == 2


def test_a_process_that_got_the_same_id_is_left_alone() -> None:
    with psutil.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        end_tree(process.pid, process.create_time() - 100)
        time.sleep(0.1)
        assert process.is_running()
        end_tree(process.pid, process.create_time())
        assert process.wait(10) != 0


# ---- adapters ------------------------------------------------------------------------------------------------


def test_the_adapters_that_ship_are_sound_and_listed() -> None:
    assert adapter_names() == ["claude-code", "codex", "gemini-cli", "opencode"]
    listed = {info.name: info for info in list_agents()}
    for name in adapter_names():
        adapter = load_adapter(name)
        assert adapter.name == name and adapter.reach and adapter.switched_off
        assert listed[name].kind == "command"
        assert listed[name].installed or listed[name].note == adapter.install
        values = dict.fromkeys(("url", "token", "prompt", "system", "home", "config", "scratch", "python"), "x")
        values |= dict.fromkeys(("model", "base_url", "provider", "model_name", "again"), "")
        with_none = fill_words(adapter.words, values)
        assert "" not in with_none or name == "claude-code"
        assert len(fill_words(adapter.words, values | {"model": "m"})) > len(with_none)
    assert listed["replay"].installed and listed["model"].version


def test_a_sum_at_the_end_replaces_what_was_counted_one_by_one() -> None:
    reader = UsageReader(load_adapter("claude-code"), None)
    line = {"type": "assistant", "message": {"id": "a", "model": "nobody-knows", "usage": {"input_tokens": 10}}}
    reader.begin_run()
    assert reader.take(json.dumps(line)) and reader.take(json.dumps(line))
    assert (reader.total.requests, reader.total.input_tokens, reader.total.usd) == (1, 10, None)
    end = {"type": "result", "num_turns": 2, "usage": {"input_tokens": 10, "output_tokens": 5}, "total_cost_usd": 0.25}
    assert reader.take(json.dumps(end))
    assert (reader.total.requests, reader.total.tokens, str(reader.total.usd)) == (2, 15, "0.25")
    reader.begin_run()
    assert reader.take(json.dumps(end))
    assert (reader.total.tokens, str(reader.total.usd)) == (30, "0.50")


@pytest.mark.parametrize("line", ["", "no json", "[]", "1", '{"type": "assistant"}', '{"type": "result", "usage": 3}'])
def test_lines_that_tell_nothing_are_passed_over(line: str) -> None:
    reader = UsageReader(load_adapter("claude-code"), None)
    assert not reader.take(line)


@pytest.mark.parametrize(
    ("agent", "options", "told"),
    [
        ("command", {}, "adapter=FILE"),
        ("command", {"adapter": "/nowhere.yaml"}, "no adapter"),
        ("codex", {"program": "/nowhere/codex"}, "not installed"),
        ("codex", {"api_key": "s"}, "api_key"),
    ],
)
def test_wrong_options_are_told_before_anything_begins(
    tmp_path: Path, agent: str, options: dict[str, Any], told: str
) -> None:
    with pytest.raises(AttemptError, match=told):
        make(tmp_path, None, agent=agent, model=None, options=options)
