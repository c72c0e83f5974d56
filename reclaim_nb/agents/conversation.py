"""The conversation with a model: what is sent, how it is kept in the record, and what is shortened when it grows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from reclaim_nb.agents.secrets import Redactor
from reclaim_nb.attempts.tools import shorten
from reclaim_nb.record.events import Event

FULL = 0.85
"""Share of the context window beyond which older outputs are shortened."""

ROOM = 0.6
"""Share of the context window they are shortened to."""

KEPT_CHARACTERS = 400
"""What is left of an output that is shortened; shorter ones stay."""

_FIRST_GUESS = 3.0
"""Characters of a token, before the service has counted any."""


class Conversation:
    """Messages between the harness and a model, in order.

    Attributes:
        messages: all of them, whole.
        shortened: calls whose outputs are sent shortened, as ``request.index``.
        number: requests made so far.
        unsent: messages at the end that no request has recorded yet.
    """

    def __init__(self, redactor: Redactor) -> None:
        self.messages: list[ModelMessage] = []
        self.shortened: set[str] = set()
        self.number = 0
        self.unsent = 0
        self._redactor = redactor
        self._characters_per_token = _FIRST_GUESS

    # ---- growing ---------------------------------------------------------------------------------------------

    def begin(self, system: str, task: str) -> None:
        """Put the first message: who the model is, and its task."""
        self._add(ModelRequest([SystemPromptPart(system), UserPromptPart(task)]))

    def say(self, text: str) -> None:
        """Put a message of the harness."""
        self._add(ModelRequest([UserPromptPart(text)]))

    def put_outputs(self, outputs: list[ToolReturnPart]) -> None:
        """Put what the tools gave back."""
        self._add(ModelRequest(list(outputs)))

    def put_answer(self, response: ModelResponse) -> None:
        """Put the model's answer, and learn from its usage how many characters a token has."""
        sent = self.to_send()
        self.messages.append(response)
        if response.usage.input_tokens > 0:
            measured = _characters(sent) / response.usage.input_tokens
            self._characters_per_token = min(max(measured, 1.0), 6.0)

    @property
    def last(self) -> ModelMessage:
        return self.messages[-1]

    def calls(self) -> list[tuple[str, ToolCallPart]]:
        """Return the tool calls of the last answer, each with its name in the record."""
        assert isinstance(self.last, ModelResponse)
        parts = [part for part in self.last.parts if isinstance(part, ToolCallPart)]
        return [(f"{self.number}.{index}", part) for index, part in enumerate(parts)]

    # ---- what is sent ----------------------------------------------------------------------------------------

    def to_send(self) -> list[ModelMessage]:
        """Return the messages as they are sent: older outputs shortened where they were."""
        if not self.shortened:
            return list(self.messages)
        return [self._as_sent(message) for message in self.messages]

    def make_room(self, context_tokens: int | None, *, refused: bool = False) -> bool:
        """Shorten older outputs, the oldest first, when the conversation nears the model's window.

        Args:
            context_tokens: size of the window, None when unknown.
            refused: the service said that it is too long.

        Returns:
            Whether anything was shortened.
        """
        size = self.estimate()
        window = context_tokens or size
        if not refused and (context_tokens is None or size <= FULL * window):
            return False
        goal = ROOM * min(window, size) if refused else ROOM * window
        before = len(self.shortened)
        for part in self._outputs():
            if self.estimate() <= goal:
                break
            self.shortened.add(part.metadata["call"])
        return len(self.shortened) > before

    def estimate(self) -> int:
        """Return about how many tokens the next request has."""
        return int(_characters(self.to_send()) / self._characters_per_token)

    def _outputs(self) -> Iterable[ToolReturnPart]:
        """Return the outputs that can be shortened, oldest first; those nobody has read yet are none."""
        for message in self.messages[:-1]:
            for part in message.parts:
                if not isinstance(part, ToolReturnPart) or part.metadata["call"] in self.shortened:
                    continue
                if len(str(part.content)) > KEPT_CHARACTERS + 200:
                    yield part

    def _as_sent(self, message: ModelMessage) -> ModelMessage:
        if not isinstance(message, ModelRequest):
            return message
        return dataclasses.replace(message, parts=[self._part_as_sent(part) for part in message.parts])

    def _part_as_sent(self, part: Any) -> Any:
        if not isinstance(part, ToolReturnPart) or part.metadata["call"] not in self.shortened:
            return part
        text, _ = shorten(str(part.content), KEPT_CHARACTERS)
        cell = part.metadata.get("cell")
        again = f'read_output(cell="{cell}")' if cell else f"{part.tool_name}, called again,"
        return dataclasses.replace(part, content=f"{text}\n\n(shortened to save room; {again} has it all)")

    def _add(self, message: ModelRequest) -> None:
        self.messages.append(message)
        self.unsent += 1

    # ---- the record ------------------------------------------------------------------------------------------

    def request_event(self) -> dict[str, Any]:
        """Return what the record gets of the next request: the messages no earlier one had, and which are short."""
        self.number += 1
        fresh = self.messages[-self.unsent :] if self.unsent else []
        self.unsent = 0
        return {"number": self.number, "messages": self._dump(fresh), "shortened": sorted(self.shortened)}

    def answer_event(self) -> dict[str, Any]:
        """Return what stands in the record about the last answer."""
        return {"number": self.number, "message": self._dump([self.last])[0]}

    def restore(self, events: Iterable[Event]) -> str | None:
        """Take the conversation from the record of an earlier runner.

        Args:
            events: the attempt's events so far.

        Returns:
            What the harness had to say last and did not get to, None when nothing.
        """
        pending: str | None = None
        for event in events:
            if event.kind != "model":
                continue
            data = event.data
            if data["what"] == "request":
                self.messages += ModelMessagesTypeAdapter.validate_python(data["messages"])
                self.number, self.shortened, pending = data["number"], set(data["shortened"]), None
            elif data["what"] == "answer":
                self.messages += ModelMessagesTypeAdapter.validate_python([data["message"]])
                pending = None
            elif data["what"] == "shortened":
                self.shortened = set(data["shortened"])
            elif data["what"] == "asked":
                pending = data["text"]
        return pending

    def _dump(self, messages: list[ModelMessage]) -> list[dict[str, Any]]:
        dumped = ModelMessagesTypeAdapter.dump_python(messages, mode="json")
        plain: list[dict[str, Any]] = self._redactor.json(dumped)
        return plain


def output_part(call: ToolCallPart, name: str, text: str, *, cell: str | None) -> ToolReturnPart:
    """Return the output of a tool call.

    Args:
        call: the call.
        name: its name in the record.
        text: what the tool gave back.
        cell: the cell that has the whole output.
    """
    return ToolReturnPart(call.tool_name, text, call.tool_call_id, metadata={"call": name, "cell": cell})


def _characters(messages: Iterable[ModelMessage]) -> int:
    total = 0
    for message in messages:
        for part in message.parts:
            content = part.args if isinstance(part, ToolCallPart) else getattr(part, "content", "")
            total += len(content if isinstance(content, str) else str(content or "")) + 20
    return total
