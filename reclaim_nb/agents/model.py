"""The agent that is a model: a plain loop of request, tool calls, request."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

from reclaim_nb.agents.secrets import Redactor
from reclaim_nb.agents.service import Spoken, make_service, remedy, tool_definitions, wait_seconds
from reclaim_nb.agents.tools import call_tool, recorded_answer
from reclaim_nb.attempts.session import Session
from reclaim_nb.attempts.tools import AttemptOver
from reclaim_nb.errors import ReclaimError
from reclaim_nb.papers.loading import LoadedCard

if TYPE_CHECKING:
    from pydantic_ai.messages import ToolCallPart

    from reclaim_nb.agents.conversation import Conversation


class AgentFailed(ReclaimError):
    """The agent's own program failed; the text holds no secrets."""


class ModelAgent:
    """Lets a model write the cells.

    Options: see :class:`~reclaim_nb.agents.service.ServiceOptions`, and ``model``, which ``--model`` sets.
    """

    def __init__(self, options: dict[str, Any], card: LoadedCard) -> None:
        options = dict(options)
        self._service = make_service(options.pop("model", None), options)
        self._redactor = Redactor.of_environment()

    async def write(self, session: Session) -> None:
        """Hold the conversation until the model submits, stops, or a limit is reached."""
        if session.limits.usd is not None and not self._service.has_price:
            detail = f"the price of {self._service.name} is not known, so the limit in dollars could not be kept"
            raise AttemptOver("infrastructure_error", f"{detail}; set the option price_as, or no such limit")
        try:
            await _Talk(session, self._service, self._redactor).hold()
        except (AttemptOver, ReclaimError):
            raise
        except Exception as problem:  # noqa: BLE001 - its text may hold a key, so it goes on without it
            text = self._redactor.text(f"{type(problem).__name__}: {problem}")
            raise AgentFailed(text) from None


class _Talk:
    """One conversation over one attempt."""

    def __init__(self, session: Session, service: Any, redactor: Redactor) -> None:
        from reclaim_nb.agents.conversation import Conversation

        self._session, self._service, self._redactor = session, service, redactor
        self._conversation: Conversation = Conversation(redactor)
        self._random = random.Random(session.spec.seed)

    async def hold(self) -> None:
        from pydantic_ai.messages import ModelResponse

        conversation = self._conversation
        pending = conversation.restore(self._session.recorder.history)
        if not conversation.messages:
            conversation.begin(self._session.prompts.system, self._session.prompts.task)
        elif pending is not None and not conversation.calls():
            conversation.say(pending)
        while True:
            if not isinstance(conversation.last, ModelResponse):
                await self._session.model.require_means()
                await self._ask()
            await self._session.model.require_means()
            calls = conversation.calls()
            if calls:
                conversation.put_outputs([await self._carry_out(name, call) for name, call in calls])
            elif (words := self._session.model.last_words()) is not None:
                conversation.say(words)
            else:
                raise AttemptOver("agent_stopped", self._how_it_stopped())

    async def _carry_out(self, name: str, call: ToolCallPart) -> Any:
        from reclaim_nb.agents.conversation import output_part

        answer = recorded_answer(self._session, name)  # an earlier runner had run it and died
        if answer is None:
            answer = await call_tool(self._session, call.tool_name, call.args, name)
        if self._session.over:
            self._session.require_open()
        return output_part(call, name, answer.text, cell=answer.cell)

    async def _ask(self) -> None:
        """Send the conversation until it is answered."""
        conversation, book = self._conversation, self._session.model
        conversation.make_room(self._service.context_tokens)
        first = conversation.number == 0
        event = conversation.request_event()
        book.record("request", event | (self._facts() if first else {}))
        failures = 0
        while True:
            began = self._session.clock.monotonic()
            try:
                spoken: Spoken = await book.until_over(self._service.ask(conversation.to_send()))
            except AttemptOver:
                raise
            except Exception as problem:  # noqa: BLE001 - whatever a client raises is recorded and sorted here
                failures += 1
                await self._after_failure(problem, failures, began)
                continue
            conversation.put_answer(spoken.response)
            seconds = round(self._session.clock.monotonic() - began, 3)
            book.record("answer", conversation.answer_event() | {"seconds": seconds}, spoken.usage)
            return

    async def _after_failure(self, problem: Exception, failures: int, began: float) -> None:
        book, options = self._session.model, self._service.options
        text = self._redactor.text(f"{type(problem).__name__}: {problem}")[:2000]
        what = remedy(problem)
        if what == "again" and failures > options.retries:
            what = "give_up"
        wait = wait_seconds(problem, failures, options, self._random) if what == "again" else 0.0
        number = self._conversation.number
        failure = {"number": number, "try": failures, "error": text, "remedy": what, "wait_seconds": round(wait, 3)}
        book.record("failure", failure)
        if what == "again":
            with book.waiting(since=began):
                await book.until_over(asyncio.sleep(wait))
        elif what == "shorten":
            if not self._conversation.make_room(self._service.context_tokens, refused=True):
                raise AttemptOver("agent_stopped", "the conversation no longer fits into the model's context window")
            book.record("shortened", {"number": number, "shortened": sorted(self._conversation.shortened)})
        elif what == "stop":
            raise AttemptOver("agent_stopped", f"the service withheld the model's answer: {text}")
        else:
            raise AttemptOver("infrastructure_error", f"the model service failed {failures} times: {text}")

    def _facts(self) -> dict[str, Any]:
        tools = [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters_json_schema}
            for tool in tool_definitions()
        ]
        return {"model": self._service.name, "context_tokens": self._service.context_tokens, "tools": tools}

    def _how_it_stopped(self) -> str:
        reason = getattr(self._conversation.last, "finish_reason", None)
        cut = "; its last answer was cut off at the output limit of the service" if reason == "length" else ""
        return f"the model called no tool twice{cut}"
