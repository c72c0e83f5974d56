"""Asking a grading model: one conversation a vote, one question at a time; all of it recorded, nothing decided."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import ToolDefinition

from reclaim_nb.agents.conversation import Conversation, output_part
from reclaim_nb.agents.secrets import Redactor
from reclaim_nb.agents.service import Service, remedy, wait_seconds
from reclaim_nb.grading.model.dossier import Dossier
from reclaim_nb.grading.model.prompts import GraderPrompts
from reclaim_nb.grading.model.questions import Answer, Question
from reclaim_nb.grading.model.records import RecordWriter
from reclaim_nb.grading.model.votes import asked_next, taken

AGAIN = 2
"""How often a question is asked again after an answer that cannot be read."""
READINGS = 12
"""Most rounds of reading for one question."""

TOOLS = [
    ToolDefinition(
        name="read_cell",
        description="Read the source of a cell, or characters of one of its outputs.",
        parameters_json_schema={
            "type": "object",
            "properties": {
                "cell": {"type": "string", "description": "Id of the cell."},
                "output": {"type": "integer", "description": "Number of the output; leave it out for the source."},
                "start": {"type": "integer", "description": "First character.", "default": 0},
                "length": {"type": "integer", "description": "Number of characters.", "default": 8000},
            },
            "required": ["cell"],
        },
        strict=False,
    ),
    ToolDefinition(
        name="list_cells",
        description="List executed cells in order, with the first line of each.",
        parameters_json_schema={
            "type": "object",
            "properties": {"start": {"type": "integer", "description": "Place of the first one, from 0."}},
        },
        strict=False,
    ),
]


@dataclass(frozen=True)
class Asking:
    """What one vote needs.

    Attributes:
        service: the model.
        prompts: the texts.
        redactor: keeps keys out of the record.
        writer: where everything is recorded.
        random: for waits.
    """

    service: Service
    prompts: GraderPrompts
    redactor: Redactor
    writer: RecordWriter
    random: random.Random


class _GivenUp(Exception):
    """The service does not answer this vote."""


async def hold_vote(asking: Asking, dossier: Dossier, fence: str, vote: int) -> None:
    """Ask all questions of one vote and record what comes back.

    Args:
        asking: the model and where it is recorded.
        dossier: what it gets to see.
        fence: the word in the marks.
        vote: number of the vote.
    """
    prompts = asking.prompts
    conversation = Conversation(asking.redactor)
    parts = dossier.parts()
    first = prompts.filled("dossier", **parts, rubric=prompts.filled("rubric"))
    conversation.begin(prompts.filled("system", fence=fence), first)
    answers: dict[str, Answer] = {}
    while (question := asked_next(answers)) is not None:
        text = prompts.filled(f"questions/{question.name}")
        conversation.say(prompts.filled("question", question=text, form=question.answer.form))
        try:
            answer = await _ask(asking, conversation, dossier, question, vote)
        except _GivenUp:
            return
        if answer is None or dossier.voids(answer):
            return
        answers[question.name] = answer


async def _ask(
    asking: Asking, conversation: Conversation, dossier: Dossier, question: Question, vote: int
) -> Answer | None:
    readings = wrong = 0
    while True:
        message = await _send(asking, conversation, question, vote)
        found = taken(question, message)
        if isinstance(found, Answer):
            return found
        if found is None:
            readings += 1
            calls = conversation.calls()
            if readings > READINGS:
                enough = asking.prompts.filled("enough")
                conversation.put_outputs([output_part(call, name, enough, cell=None) for name, call in calls])
                if readings > READINGS + AGAIN:
                    return None
                continue
            conversation.put_outputs([output_part(call, name, _read(dossier, call), cell=None) for name, call in calls])
            continue
        wrong += 1
        if wrong > AGAIN:
            return None
        conversation.say(asking.prompts.filled("again", problem=found))


async def _send(asking: Asking, conversation: Conversation, question: Question, vote: int) -> dict[str, Any]:
    """Send the conversation until it is answered; return the answer as it stands in the record."""
    service, writer = asking.service, asking.writer
    at = {"vote": vote, "question": question.name}
    conversation.make_room(service.context_tokens)
    writer.add("request", **at, **conversation.request_event())
    failures = 0
    while True:
        began = time.monotonic()
        try:
            spoken = await service.ask(conversation.to_send(), tools=TOOLS)
        except Exception as problem:  # whatever a client raises is recorded and sorted here
            failures += 1
            what = remedy(problem)
            what = "give_up" if what == "again" and failures > service.options.retries else what
            what = "give_up" if what == "shorten" and not conversation.make_room(None, refused=True) else what
            wait = wait_seconds(problem, failures, service.options, asking.random) if what == "again" else 0.0
            error = asking.redactor.text(f"{type(problem).__name__}: {problem}")[:2000]
            failure = {"try": failures, "error": error, "remedy": what, "wait_seconds": round(wait, 3)}
            writer.add("failure", **at, **failure)
            if what in ("stop", "give_up"):
                raise _GivenUp from problem
            await asyncio.sleep(wait)
            continue
        conversation.put_answer(spoken.response)
        answer = conversation.answer_event()
        seconds = round(time.monotonic() - began, 3)
        writer.add("answer", **at, **answer, seconds=seconds, usage=spoken.usage.to_json())
        message: dict[str, Any] = answer["message"]
        return message


def _read(dossier: Dossier, call: ToolCallPart) -> str:
    try:
        given = call.args_as_dict()
    except Exception:  # noqa: BLE001 - a model's JSON can be anything; it is told so
        return "the arguments are not a JSON object"
    tools: dict[str, Callable[[], str]] = {
        "read_cell": lambda: dossier.read_cell(
            str(given.get("cell")),
            None if given.get("output") is None else int(given["output"]),
            max(0, int(given.get("start") or 0)),
            int(given.get("length") or 8000),
        ),
        "list_cells": lambda: dossier.list_cells(max(0, int(given.get("start") or 0))),
    }
    if call.tool_name not in tools:
        return f"there is no tool {call.tool_name!r}; there are {', '.join(tools)}"
    try:
        return tools[call.tool_name]()
    except (TypeError, ValueError):
        return "output, start and length are whole numbers; cell is the id of a cell"


__all__ = ["AGAIN", "TOOLS", "Asking", "hold_vote"]
