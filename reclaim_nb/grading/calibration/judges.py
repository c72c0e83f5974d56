"""Grading models that answer badly in a known way, for scenarios about the judge itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from reclaim_nb.grading.model import ModelGrader

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models.function import AgentInfo

ANSWERS = {
    "broken": '{"outcome": "repro',
    "by_position": json.dumps(
        {"number": "84.1", "citations": [{"cell": "3", "output": 0, "text": "test top-1 84.1 n=10000"}]}
    ),
}


def judge(kind: str) -> ModelGrader:
    """Return a grader whose model always answers the same.

    Args:
        kind: ``broken``: JSON that is cut off; ``by_position``: a citation that names a cell by its position.
    """
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.models.function import FunctionModel

    from reclaim_nb.agents.service import Service, ServiceOptions

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse([TextPart(ANSWERS[kind])])

    name = f"scripted:{kind.replace('_', '-')}"
    return ModelGrader(name, service=Service(name, ServiceOptions(), FunctionModel(answer)))
