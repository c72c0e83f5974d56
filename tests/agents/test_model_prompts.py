"""What a model is sent and what conditions change, in real attempts; and that no secret is among it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from agent_helpers import PAPER, events, make
from model_endpoint import Call, Endpoint, Request, Step, call, say

from reclaim_nb.agents.tools import TOOLS
from reclaim_nb.attempts.limits import limits_for
from reclaim_nb.attempts.prompts import render_prompts
from reclaim_nb.attempts.spec import KernelFacts
from reclaim_nb.papers.suite import find_paper
from reclaim_nb.papers.view import agent_view

pytestmark = pytest.mark.slow  # each test runs a kernel

CARD = find_paper(PAPER).card


def test_a_model_gets_exactly_the_prompts_and_tools_of_the_spec(tmp_path: Path) -> None:
    sent = []
    for model in ("one:a", "other:b"):
        with Endpoint([call("submit")]) as endpoint:
            finished = make(tmp_path, endpoint.url, model=model, kernel="local", repeat=len(sent) + 1)
        body = endpoint.requests[0].body
        told = prompts_of(finished)
        assert [m["content"] for m in body["messages"]] == [told.system, told.task]
        functions = [(t["function"]["name"], t["function"]["parameters"]) for t in body["tools"]]
        assert functions == [(tool.name, tool.schema) for tool in TOOLS]
        sent.append(json.dumps({**body, "model": ""}, sort_keys=True))
        assert finished.notebook["metadata"]["reclaim"]["spec"]["prompt_sha256"] == told.sha256
    assert sent[0] == sent[1]


def prompts_of(finished: Any) -> Any:
    spec = events(finished)[0].data["spec"]
    return render_prompts(agent_view(CARD), limits_for(CARD), KernelFacts.model_validate(spec["kernel"]))


# ---- conditions ----------------------------------------------------------------------------------------------

SPIN = "import time\nend = time.process_time() + {}\nwhile time.process_time() < end: pass"


def test_the_anchor_gate_stops_spending_until_an_anchor_agrees(tmp_path: Path) -> None:
    steps = [
        call("run_cell", source=SPIN.format(60)),
        call("run_cell", source="print('refused')"),
        call("check_anchor", name="rows", value="1"),
        call("run_cell", source="print('refused again')"),
        call("check_anchor", name="rows", value="683"),
        call("run_cell", source=SPIN.format(1) + "\nprint('spent')"),
        call("submit"),
    ]
    with Endpoint(steps) as endpoint:
        finished = make(tmp_path, endpoint.url, budget_hours="0.004", conditions=("anchor_gate",))
    told = endpoint.requests[-1].outputs
    assert "interrupted" in told[0] and "no anchor has agreed" in told[0]
    assert "no anchor has agreed" in told[1] and "does not agree" in told[2] and "no anchor has agreed" in told[3]
    assert "spent" in told[5]
    assert finished.reason == "submitted"
    sources = [event.data["source"] for event in events(finished, "cell")]
    assert not any("refused" in source for source in sources)
    assert "Anchor first" in endpoint.requests[0].body["messages"][1]["content"]


def test_the_nudge_is_said_once_when_it_stops_without_a_value(tmp_path: Path) -> None:
    with Endpoint([say("I give up."), call("submit"), call("run_cell", source="1")]) as endpoint:
        finished = make(tmp_path, endpoint.url, conditions=("nudge",))
    assert finished.reason == "submitted"
    assert "CPU-hours spent" in endpoint.requests[1].body["messages"][-1]["content"]


def test_the_nudge_also_meets_a_submission_without_a_value(tmp_path: Path) -> None:
    with Endpoint([call("submit", note="no"), call("submit", note="still no")]) as endpoint:
        finished = make(tmp_path, endpoint.url, conditions=("nudge",))
    assert finished.reason == "submitted"
    assert "CPU-hours spent" in endpoint.requests[1].outputs[0]
    assert finished.notebook["metadata"]["reclaim"]["submission"]["note"] == "still no"


def test_without_conditions_a_submission_without_a_value_stands(tmp_path: Path) -> None:
    with Endpoint([call("submit", note="no")]) as endpoint:
        finished = make(tmp_path, endpoint.url)
    assert (finished.reason, len(endpoint.requests)) == ("submitted", 1)


# ---- secrets -------------------------------------------------------------------------------------------------


def test_no_secret_of_the_host_gets_into_the_kernel_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_KEY", "planted-service-key")
    monkeypatch.setenv("OPENAI_API_KEY", "planted-openai-key")
    monkeypatch.setenv("MY_VARIABLE", "planted-plain-variable")

    def script(request: Request) -> Step:
        if request.number == 0:
            echo = {"error": {"message": f"wrong key {request.headers['authorization']}", "type": "x", "code": None}}
            return Step(status=500, body=echo, headers=(("retry-after-ms", "10"),))
        if request.number == 1:
            look = "import os\nprint(dict(os.environ))\n!env\n"
            return Step(text="the key is planted-service-key", calls=(Call("run_cell", {"source": look}),))
        return call("submit", note="done")

    with Endpoint(script) as endpoint:
        finished = make(tmp_path, endpoint.url, options={"key_env": "SERVICE_KEY"})
    assert finished.reason == "submitted"
    assert endpoint.requests[0].headers["authorization"] == "Bearer planted-service-key"
    assert "PATH" in endpoint.requests[2].outputs[0] and "planted-" not in endpoint.requests[2].outputs[0]
    found = [path.name for path in tmp_path.rglob("*") if path.is_file() and b"planted-" in path.read_bytes()]
    assert found == []
    assert "[redacted]" in finished.folder.stream.read_text()


def test_a_container_sees_nothing_of_the_hosts_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel_image: Any
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted-openai-key")
    monkeypatch.setenv("MY_VARIABLE", "planted-plain-variable")
    look = "!env; cat /proc/*/environ | tr '\\0' '\\n'"
    with Endpoint([call("run_cell", source=look), call("submit")]) as endpoint:
        finished = make(tmp_path, endpoint.url, kernel="docker")
    assert finished.reason == "submitted"
    assert "PATH=" in endpoint.requests[1].outputs[0]
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"planted-" in path.read_bytes()]


def test_a_key_is_not_sent_to_an_address_it_was_not_meant_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted-openai-key")
    for model in ("openai:gpt-4o", "openai-chat:gpt-4o", "vllm:q"):
        with Endpoint([call("submit")]) as endpoint:
            make(tmp_path, endpoint.url, model=model)
        assert "planted-" not in json.dumps(endpoint.requests[0].headers)
