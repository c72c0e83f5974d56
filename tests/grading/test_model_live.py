"""The model grader against a real model server, for the wire format; no quality of the small model is claimed.

``make test-model`` starts one, see ``tests/model_server.py``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from reclaim_nb.grading.model import ModelGrader, grade_with_model, regrade
from reclaim_nb.grading.model.records import GradingRecord
from tests.grading.made import C, make

pytestmark = [
    pytest.mark.model,
    pytest.mark.slow,
    pytest.mark.timeout(3600),
]


def test_a_real_server_is_asked_every_vote_and_the_record_gives_the_same_verdict_again(
    model_server: str, tmp_path: Path
) -> None:
    source = "print(f'FINAL test top-1 {evaluate(model, test):.1f} n={len(test)}')"
    made = make(
        tmp_path / "attempt", [C("model = train(data)", ["done\n"]), C(source, ["FINAL test top-1 84.1 n=10000\n"])]
    )
    options = {
        "base_url": model_server,
        "context_tokens": 4096,
        "settings": {"max_tokens": 60, "temperature": 0, "timeout": 1500.0},
        "retries": 0,
    }
    verdict = grade_with_model(made.folder, made.card, ModelGrader("llama.cpp:smollm2", options, votes=1, seed="live"))
    (path,) = made.folder.path.glob("grading.*.jsonl")
    record = GradingRecord.read(path)
    answers = [line for line in record.lines if line["what"] == "answer"]
    assert answers, "the server answered nothing"
    assert verdict.asked is not None
    assert verdict.asked.usage["requests"] == len(answers)
    assert int(verdict.asked.usage["input_tokens"] or 0) > 500 and int(verdict.asked.usage["output_tokens"] or 0) > 0
    # A small model may answer anything; it never turns a measurement into something better than the rules find.
    assert verdict.outcome in ("reproduced", "not_reproduced", "needs_human", "ungraded")
    assert verdict.outcome != "ungraded" or verdict.cause == "G01"
    assert regrade(made.folder, made.card, path).to_bytes() == verdict.to_bytes()
