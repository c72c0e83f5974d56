"""A grading model behind the scripted endpoint: it recognises each question and gives the answer it was told to."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from reclaim_nb.grading.model import ModelGrader, grade_with_model
from reclaim_nb.grading.verdict import Verdict
from tests.agents.model_endpoint import Endpoint, Request, Step, Usage, say
from tests.grading.made import Made

MODEL = "scripted:judge"
MARKS = {
    "value": "Which printed number",
    "made": "Where does this number come from",
    "split": "Which data did",
    "metric": "Which metric did",
    "configuration": "Which experiment",
    "weights": "Which weights",
    "items": "On how many items",
    "scale": "Was anything smaller",
}
Given = Mapping[str, Any] | str | Step | Callable[[Request], Step]


def texts(request: Request) -> list[str]:
    """Return the texts of all messages of a request."""
    return [str(message.get("content") or "") for message in request.body["messages"]]


def question_of(request: Request) -> str:
    """Return the name of the question that a request asks."""
    for text in reversed(texts(request)):
        for name, mark in MARKS.items():
            if text.startswith(f"**{mark}"):
                return name
    raise AssertionError("no question in this request")


def fence_of(request: Request) -> str:
    """Return the word in the marks around evidence."""
    found = re.search(r"hold this word: `(\w+)`", texts(request)[0])
    assert found is not None
    return found[1]


class Judge:
    """The script.

    Args:
        answers: by question, for every vote.
        votes: by number of the vote, what it answers otherwise.
    """

    def __init__(self, answers: Mapping[str, Given], votes: Mapping[int, Mapping[str, Given]] | None = None) -> None:
        self._answers, self._votes = answers, votes or {}
        self._fences: list[str] = []

    def __call__(self, request: Request) -> Step:
        fence = fence_of(request)
        if fence not in self._fences:
            self._fences.append(fence)
        name = question_of(request)
        given = self._votes.get(self._fences.index(fence), {}).get(name, self._answers[name])
        if isinstance(given, Step):
            return given
        if callable(given):
            return given(request)
        return say(given if isinstance(given, str) else json.dumps(given), usage=Usage(100, 0, 20, 0))


def cite(cell: str, text: str, output: int | None = None) -> list[dict[str, Any]]:
    """Return a list of one citation."""
    return [{"cell": cell, "output": output, "text": text}]


def sound(cell: str, number: str, line: str, source: str, items: int | None = 10000) -> dict[str, Given]:
    """Return the answers of a model that finds nothing wrong.

    Args:
        cell: the measuring cell.
        number: the printed number.
        line: what its output holds around it.
        source: some of its source.
        items: the number of items.
    """
    fine = {"as_asked": "yes", "found": "as asked", "citations": cite(cell, source)}
    return {
        "value": {"number": number, "citations": cite(cell, line, 0)},
        "made": {"made": "computed", "citations": cite(cell, source)},
        **dict.fromkeys(("split", "metric", "configuration", "weights", "scale"), fine),
        "items": {"items": items, "citations": cite(cell, line, 0) if items is not None else []},
    }


def judged(
    made: Made,
    answers: Mapping[str, Given],
    votes: Mapping[int, Mapping[str, Given]] | None = None,
    *,
    requests: list[Request] | None = None,
    settings: dict[str, Any] | None = None,
    retries: int = 1,
    count: int = 3,
    **more: Any,
) -> Verdict:
    """Grade an attempt with a scripted model behind a real HTTP service."""
    with Endpoint(Judge(answers, votes)) as endpoint:
        options = {"base_url": endpoint.url, "retry_seconds": 0.01, "retries": retries, "settings": settings or {}}
        verdict = grade_with_model(made.folder, made.card, ModelGrader(MODEL, options, votes=count, **more))
        if requests is not None:
            requests.extend(endpoint.requests)
    return verdict


def records(made: Made) -> list[Path]:
    """Return the files of recorded answers of an attempt."""
    return sorted(made.folder.path.glob("grading.*.jsonl"))
