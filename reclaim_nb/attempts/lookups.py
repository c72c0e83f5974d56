"""Questions to the kernel that are no part of the attempt: what a name can be completed to, what an object is.

A person at a notebook asks them with every press of Tab. The answers go to the person alone: they stand in no cell, are
no evidence, and cost nothing. What user code *prints* while it is looked at is recorded as any output outside of cells.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Literal

from reclaim_nb.attempts.meter import Meter
from reclaim_nb.kernels.link import KernelLink, Message

SECONDS = 8.0
"""How long an answer is waited for; the first one of a kernel takes a second or two."""

FREE_SHARE = 0.1
"""Looking is free up to this part of the budget: an object can compute while it is looked at."""

KINDS = {"complete_request": "complete_reply", "inspect_request": "inspect_reply"}
QUIET = (*KINDS.values(), "status")
"""What of a look-up is not recorded."""

Kind = Literal["complete_request", "inspect_request"]


class Lookups:
    """Asks a kernel, one question at a time.

    Args:
        link: the link to the kernel, at the moment it is asked for.
    """

    def __init__(self, link: Callable[[], KernelLink]) -> None:
        self._link = link
        self._answers: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._asked: set[str] = set()

    async def ask(self, kind: Kind, content: dict[str, Any], meter: Meter, free_seconds: float) -> dict[str, Any]:
        """Return the content of the reply, an empty one where there is none in time.

        Args:
            kind: what is asked.
            content: of the request.
            meter: the attempt's; what the answer costs is not charged.
            free_seconds: most charged seconds that look-ups may leave out in all.
        """
        with meter.free(free_seconds):
            request = self._link().send("shell", kind, content)
            self._asked.add(request)
            answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
            self._answers[request] = answer
            try:
                async with asyncio.timeout(SECONDS):
                    return await answer
            except TimeoutError:
                return {}
            finally:
                del self._answers[request]

    def take(self, message: Message) -> bool:
        """Tell whether a message belongs to a look-up and is not to be recorded."""
        if message.parent not in self._asked or message.kind not in QUIET:
            return False
        answer = self._answers.get(message.parent)
        if message.kind != "status" and answer is not None and not answer.done():
            answer.set_result(message.content or {})
        return True
