"""What an attempt knows of its agent's model: usage and limits, the record of the conversation, time spent waiting."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from reclaim_nb.attempts.conditions import NUDGE
from reclaim_nb.attempts.model_usage import ModelUsage
from reclaim_nb.attempts.prompts import fill

if TYPE_CHECKING:
    from reclaim_nb.attempts.session import Session

T = TypeVar("T")


class ModelBook:
    """The model's side of one session.

    Attributes:
        usage: what the model has used.
        asked: an agent that wanted to stop without a submission has been told so.
    """

    def __init__(self, session: Session) -> None:
        self._session, self._clock = session, session.clock
        self.usage = ModelUsage()
        self.asked = False
        self._waited = 0.0
        self._waiting_since: float | None = None

    @property
    def waited_seconds(self) -> float:
        """Seconds spent waiting for a service, which are not the agent's."""
        since = self._waiting_since
        return self._waited + (0.0 if since is None else self._clock.monotonic() - since)

    def record(
        self, what: str, data: dict[str, Any], usage: ModelUsage | None = None, *, total: ModelUsage | None = None
    ) -> None:
        """Record something said to or by the model, and what it took.

        Args:
            what: ``request``, ``answer``, ``failure``, ``asked``, ...
            data: JSON, without secrets.
            usage: what it took, to be added to what the model has used.
            total: what the model has used in all, from an agent that only learns that.
        """
        if usage is not None:
            self.usage = self.usage + usage
            data = {**data, "usage": usage.to_json()}
        if total is not None:
            self.usage = total
            data = {**data, "usage_total": total.to_json()}
        self._session.recorder.append("model", {"what": what, **data, "meter": self._session.spend()})

    async def require_means(self) -> None:
        """Pass when the model may be asked again.

        Raises:
            AttemptOver: when the attempt has ended, or a limit of tokens or dollars is reached.
        """
        session, limits = self._session, self._session.limits
        session.require_open()
        if limits.tokens is not None and session.tokens >= limits.tokens:
            raise await session.guard.limit("token_limit", f"{session.tokens:,} of {limits.tokens:,} tokens")
        if limits.usd is not None and session.usd is not None and session.usd >= limits.usd:
            raise await session.guard.limit("cost_limit", f"{session.usd} of {limits.usd} US dollars")

    async def refuse_call(self, name: str, arguments: Any, problem: str) -> None:
        """Record a tool call that could not be understood; it counts as a turn.

        Raises:
            AttemptOver: when the attempt has ended, or the limit of turns is reached.
        """
        session = self._session
        session.require_open()
        await session.count_turn()
        call = {"name": name, "arguments": arguments, "result": {"error": problem}, "cell": None}
        session.recorder.append("tool", {**call, "turn": session.turns, "meter": session.spend()})

    async def until_over(self, work: Coroutine[Any, Any, T]) -> T:
        """Await something outside the attempt, such as a service, and cancel it when the attempt ends first.

        Raises:
            AttemptOver: when the attempt ends first.
        """
        task = asyncio.ensure_future(work)
        ended = asyncio.ensure_future(self._session.guard.ended.wait())
        try:
            await asyncio.wait({task, ended}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                self._session.require_open()
            return await task
        finally:
            ended.cancel()
            task.cancel()
            await asyncio.gather(task, ended, return_exceptions=True)

    @contextlib.contextmanager
    def waiting(self, since: float | None = None) -> Iterator[None]:
        """Time inside is spent waiting for a service, and is no wall clock of the agent.

        Args:
            since: time on the session's monotonic clock from which it counts; now, if not given.
        """
        began = self._waiting_since = self._clock.monotonic() if since is None else since
        try:
            yield
        finally:
            self._waiting_since = None
            self._waited += self._clock.monotonic() - began

    def last_words(self) -> str | None:
        """Return what an agent is told that stops without a submission; None when it has been told before."""
        session = self._session
        if session.over or session.submission is not None or self.asked:
            return None
        self.asked = True
        words = session.prompts.asked
        if NUDGE in session.spec.conditions:
            words = fill(session.prompts.nudge, {"left": f"{session.budget_state().text}."})
        self.record("asked", {"text": words})
        return words
