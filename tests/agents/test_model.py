"""A model that writes the cells: a scripted service with OpenAI's wire format, a real kernel."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from agent_helpers import events, grade_outcome, make, solve, usage
from in_step import HEEDED, has, time_passes
from model_endpoint import Call, Endpoint, Request, Step, Usage, call, say

from reclaim_nb.errors import AttemptError
from reclaim_nb.record.verify import verify_record

pytestmark = pytest.mark.slow  # each test runs a kernel


def test_a_model_that_does_the_work_reproduces_the_paper(tmp_path: Path) -> None:
    with Endpoint(solve) as endpoint:
        finished = make(tmp_path, endpoint.url)
    assert (finished.reason, finished.detail) == ("submitted", None)
    assert grade_outcome(finished) == "reproduced"
    assert verify_record(finished.folder).sound
    written = [cell for cell in finished.notebook["cells"] if cell["metadata"]["reclaim"]["author"] == "agent"]
    assert [cell["metadata"]["reclaim"]["status"] for cell in written] == ["ok", "ok"]


def test_a_model_that_prints_the_papers_value_is_disqualified(tmp_path: Path) -> None:
    with Endpoint(
        [call("run_cell", source="auc = 0.99\nprint('ROC AUC', auc)"), call("submit", value="0.99")]
    ) as endpoint:
        finished = make(tmp_path, endpoint.url)
    assert finished.reason == "submitted"
    assert grade_outcome(finished) == "disqualified"


def test_usage_in_the_notebook_is_what_the_service_counted(tmp_path: Path) -> None:
    counted = [Usage(1000, 0, 50, 10), Usage(1500, 900, 70, 30), Usage(2000, 1400, 9, 0)]
    steps = [
        Step(calls=(Call("budget"),), usage=counted[0]),
        Step(calls=(Call("run_cell", {"source": "print(1)"}),), usage=counted[1]),
        Step(calls=(Call("submit", {"note": "nothing measured"}),), usage=counted[2]),
    ]
    with Endpoint(steps) as endpoint:
        finished = make(tmp_path, endpoint.url)
    assert usage(finished)["model"] == {
        "requests": 3,
        "input_tokens": sum(u.input for u in counted),
        "cached_tokens": sum(u.cached for u in counted),
        "cache_write_tokens": 0,
        "output_tokens": sum(u.output for u in counted),
        "reasoning_tokens": sum(u.reasoning for u in counted),
        "usd": None,
    }
    assert usage(finished)["tokens"] == sum(u.input + u.output for u in counted)
    assert usage(finished)["usd"] is None


def test_the_price_of_a_known_model_is_counted_by_its_list(tmp_path: Path) -> None:
    steps = [Step(calls=(Call("submit"),), usage=Usage(1_000_000, 0, 100_000))]
    with Endpoint(steps) as endpoint:
        finished = make(tmp_path, endpoint.url, options={"price_as": "openai:gpt-4o"})
    assert Decimal(usage(finished)["usd"]) == Decimal("2.5") + Decimal(1)


def test_faults_of_the_service_are_survived_and_cost_no_wall_clock(tmp_path: Path) -> None:
    steps: list[Any] = [
        Step(status=429, headers=(("retry-after-ms", "1500"),)),
        Step(status=500),
        call("run_cell", source="print('still here')"),
        Step(calls=(Call("budget"),), cut=True),
        Step(status=503),
        Step(calls=(Call("submit", {"note": "done"}),)),
    ]
    with Endpoint(steps) as endpoint:
        finished = make(tmp_path, endpoint.url)
    assert finished.reason == "submitted"
    failures = [event.data for event in events(finished, "model") if event.data["what"] == "failure"]
    assert [failure["remedy"] for failure in failures] == ["again"] * 4
    assert failures[0]["wait_seconds"] == 1.5
    stamps = [event.time for event in events(finished) if event.kind in ("runner", "end")]
    from reclaim_nb.record.clock import seconds_between

    waited = sum(failure["wait_seconds"] for failure in failures)
    assert usage(finished)["wall_clock_seconds"] <= seconds_between(*stamps) - waited
    assert usage(finished)["model"]["requests"] == 2


def test_a_service_that_never_recovers_is_no_result_of_the_agent(tmp_path: Path) -> None:
    with Endpoint([Step(status=500)]) as endpoint:
        finished = make(tmp_path, endpoint.url, options={"retries": 2})
    assert finished.reason == "infrastructure_error"
    assert len(endpoint.requests) == 3


@pytest.mark.parametrize("status", [401, 404, 400])
def test_a_request_that_is_refused_is_not_made_again(tmp_path: Path, status: int) -> None:
    with Endpoint([Step(status=status)]) as endpoint:
        finished = make(tmp_path, endpoint.url)
    assert finished.reason == "infrastructure_error"
    assert len(endpoint.requests) == 1


WRONG = [
    (Call("run_cell", raw='{"source": "print(1)"'), "not JSON"),
    (Call("run_cell", raw="[1, 2]"), "wrong arguments"),
    (Call("run_cell", {"code": "print(1)"}), "source: Field required"),
    (Call("run_cell", {"source": "print(1)", "timeout": -1}), "greater than 0"),
    (Call("shell", {"command": "ls"}), "there is no tool 'shell'"),
]


def test_each_malformed_call_is_answered_readably_and_is_a_turn(tmp_path: Path) -> None:
    heard: list[str] = []

    def script(request: Request) -> Step:
        done = len(request.outputs)
        heard[:] = request.outputs
        return Step(calls=(WRONG[done][0],)) if done < len(WRONG) else call("submit")

    with Endpoint(script) as endpoint:
        finished = make(tmp_path, endpoint.url)
    assert finished.reason == "submitted"
    assert len(heard) == len(WRONG)
    for (wrong, told), answer in zip(WRONG, heard, strict=True):
        assert told in answer, wrong
    assert usage(finished)["turns"] == len(WRONG)
    assert not [event for event in events(finished, "cell") if event.data["author"] == "agent"]


def test_a_refused_call_is_no_turn_and_says_why(tmp_path: Path) -> None:
    steps = [
        call("check_anchor", name="nothing", value="1"),
        call("read_output", cell="none"),
        call("submit", value="about 0.9"),
        call("submit"),
    ]
    with Endpoint(steps) as endpoint:
        finished = make(tmp_path, endpoint.url)
    told = endpoint.requests[-1].outputs
    assert "`rows`" in told[0] and "no cell" in told[1] and "not a number" in told[2]
    assert (finished.reason, usage(finished)["turns"]) == ("submitted", 0)


def test_digits_arrive_as_the_model_wrote_them(tmp_path: Path) -> None:
    with Endpoint([Step(calls=(Call("submit", raw='{"value": 0.9870}'),))]) as endpoint:
        finished = make(tmp_path, endpoint.url)
    assert finished.notebook["metadata"]["reclaim"]["submission"]["value"] == "0.9870"


def test_several_calls_of_one_answer_run_in_order(tmp_path: Path) -> None:
    both = Step(calls=(Call("run_cell", {"source": "x = 6"}), Call("run_cell", {"source": "print(7 * x)"})))
    with Endpoint([both, call("submit", value="42")]) as endpoint:
        finished = make(tmp_path, endpoint.url)
    assert finished.reason == "submitted"
    assert "42" in endpoint.requests[1].outputs[1]


def test_a_submission_from_a_cell_ends_the_conversation(tmp_path: Path) -> None:
    with Endpoint([call("run_cell", source="attempt.submit(1.5)"), call("run_cell", source="print(2)")]) as endpoint:
        finished = make(tmp_path, endpoint.url)
    assert finished.reason == "submitted"
    assert len(endpoint.requests) == 1


# ---- limits --------------------------------------------------------------------------------------------------

SPIN = "import time\nend = time.time() + 60\nwhile time.time() < end: pass"


@pytest.mark.parametrize(
    ("reason", "limits", "step"),
    [
        ("turn_limit", {"turns": 2}, call("run_cell", source="print(1)")),
        ("turn_limit", {"turns": 2}, Step(calls=(Call("nonsense"),))),
        ("token_limit", {"tokens": 300}, call("budget")),
        ("cost_limit", {"usd": "0.01"}, Step(calls=(Call("budget"),), usage=Usage(2000, 0, 100))),
        (
            "wall_clock",
            {"wall_clock_seconds": 600, "observer": time_passes(has("begun"))},
            call("run_cell", source="import time; open('begun', 'w').close(); time.sleep(60)"),
        ),
        ("wall_clock", {"wall_clock_seconds": 3}, Step(calls=(Call("budget"),), delay=30)),
        ("budget_exhausted", {"budget_hours": "0.0005"}, call("run_cell", source=SPIN)),
    ],
)
def test_each_limit_ends_with_its_reason(tmp_path: Path, reason: str, limits: dict[str, Any], step: Step) -> None:
    with Endpoint([step]) as endpoint:
        finished = make(tmp_path, endpoint.url, limits=HEEDED, options={"price_as": "openai:gpt-4o"}, **limits)
    assert finished.reason == reason
    assert [event.data["which"] for event in events(finished, "limit") if event.data["stop"]] == [reason]
    assert verify_record(finished.folder).sound


def test_the_limit_reached_first_decides(tmp_path: Path) -> None:
    step = Step(calls=(Call("run_cell", {"source": "print(1)"}),), usage=Usage(100, 0, 100))
    with Endpoint([step]) as endpoint:
        finished = make(tmp_path, endpoint.url, turns=5, tokens=500)
    assert (finished.reason, usage(finished)["turns"]) == ("token_limit", 2)


def test_a_dollar_limit_without_a_price_does_not_begin(tmp_path: Path) -> None:
    with Endpoint([call("submit")]) as endpoint:
        finished = make(tmp_path, endpoint.url, usd="1")
    assert finished.reason == "infrastructure_error"
    assert "price" in (finished.detail or "")
    assert endpoint.requests == []


# ---- stopping ------------------------------------------------------------------------------------------------


def test_a_model_that_calls_nothing_is_asked_once(tmp_path: Path) -> None:
    with Endpoint([say("I think it holds.")]) as endpoint:
        finished = make(tmp_path, endpoint.url)
    assert finished.reason == "agent_stopped"
    assert len(endpoint.requests) == 2
    assert "without calling a tool" in endpoint.requests[1].body["messages"][-1]["content"]


def test_a_model_that_goes_on_when_asked_may_go_on(tmp_path: Path) -> None:
    with Endpoint([say("Done?"), call("run_cell", source="print(1)"), say("Done."), say("unheard")]) as endpoint:
        finished = make(tmp_path, endpoint.url)
    assert finished.reason == "agent_stopped"
    assert len(endpoint.requests) == 3


def test_an_answer_cut_off_by_the_service_is_named_so(tmp_path: Path) -> None:
    with Endpoint([Step(text="I would like to", finish="length")]) as endpoint:
        finished = make(tmp_path, endpoint.url)
    assert finished.reason == "agent_stopped"
    assert "cut off" in (finished.detail or "")


# ---- context -------------------------------------------------------------------------------------------------


def test_older_outputs_are_shortened_near_the_window_and_can_be_read_again(tmp_path: Path) -> None:
    def script(request: Request) -> Step:
        done = len(request.outputs)
        size = sum(len(str(m.get("content") or "")) for m in request.body["messages"]) // 4
        if done < 6:
            source = f"print('cell {done} ' + 'lorem ipsum ' * 900)"
            return Step(calls=(Call("run_cell", {"source": source}),), usage=Usage(size, 0, 20))
        return Step(calls=(Call("submit"),), usage=Usage(size, 0, 20))

    with Endpoint(script) as endpoint:
        finished = make(tmp_path, endpoint.url, options={"context_tokens": 10_000})
    assert finished.reason == "submitted"
    last = endpoint.requests[-1].outputs
    assert "read_output(cell=" in last[0] and len(last[0]) < 1000
    assert len(last[-1]) > 10_000
    assert all(sum(map(len, request.outputs)) < 45_000 for request in endpoint.requests)
    recorded = [event.data["shortened"] for event in events(finished, "model") if event.data["what"] == "request"]
    assert recorded[0] == [] and recorded[-1]


def test_a_conversation_the_service_finds_too_long_is_shortened_and_sent_again(tmp_path: Path) -> None:
    too_long = {"error": {"message": "maximum context length", "type": "x", "code": "context_length_exceeded"}}

    def script(request: Request) -> Step:
        if sum(map(len, request.outputs)) > 20_000:
            return Step(status=400, body=too_long)
        return call("run_cell", source="print('lorem ipsum ' * 900)") if len(request.outputs) < 4 else call("submit")

    with Endpoint(script) as endpoint:
        finished = make(tmp_path, endpoint.url)
    assert finished.reason == "submitted"
    assert len(endpoint.requests[-1].outputs) == 4


def test_a_conversation_that_cannot_be_shortened_ends_the_attempt(tmp_path: Path) -> None:
    too_long = {"error": {"message": "maximum context length", "type": "x", "code": "context_length_exceeded"}}
    with Endpoint([Step(status=400, body=too_long)]) as endpoint:
        finished = make(tmp_path, endpoint.url)
    assert finished.reason == "agent_stopped"
    assert "context window" in (finished.detail or "")


# ---- options -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "options", "told"),
    [
        (None, {}, "provider:model"),
        ("gpt-4o", {}, "provider:model"),
        ("nobody:knows", {}, "--model nobody:knows"),
        ("x:y", {"base_url": "http://user:pass@localhost/v1"}, "no login"),
        ("x:y", {"base_url": "http://localhost/v1?key=abc"}, "no login"),
        ("x:y", {"base_url": "http://localhost/v1", "key_env": "RECLAIM_TEST_UNSET"}, "not set"),
        ("x:y", {"base_url": "http://localhost/v1", "api_key": "s"}, "api_key"),
    ],
)
def test_wrong_options_are_told_before_anything_begins(
    tmp_path: Path, model: str | None, options: dict[str, Any], told: str
) -> None:
    with pytest.raises(AttemptError, match=told):
        make(tmp_path, None, model=model, options=options)
