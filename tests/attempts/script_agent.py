"""Agents for tests, found by entry point like any other: one plays given cells, one is a function of the test."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from reclaim_nb.attempts.session import Session
from reclaim_nb.papers.loading import LoadedCard

FUNCTIONS: dict[str, Callable[[Session], Awaitable[None]]] = {}
"""What :class:`Function` calls, by name."""


class Script:
    """Plays the cells of its option ``cells``, in order; after a resume, those that were not played.

    A cell is ``{"case": name, "source": text, "timeout": seconds or None}``. A case that was interrupted is not played
    again unless the option ``again`` says so. The option ``thinks`` has the seconds to wait before a case.
    """

    def __init__(self, options: dict[str, Any], card: LoadedCard) -> None:
        self._cells: list[dict[str, Any]] = options["cells"]
        self._again = bool(options.get("again"))
        self._thinks: dict[str, float] = options.get("thinks", {})

    async def write(self, session: Session) -> None:
        unfinished = ("interrupted", "not_run", "killed") if self._again else ()
        played = {cell.metadata.get("case") for cell in session.cells.values() if cell.status not in unfinished}
        for cell in self._cells:
            if cell["case"] not in played:
                await asyncio.sleep(self._thinks.get(cell["case"], 0))
                await session.run_cell(cell["source"], cell.get("timeout"), metadata={"case": cell["case"]})


class Function:
    """Calls ``FUNCTIONS[options["name"]]``."""

    def __init__(self, options: dict[str, Any], card: LoadedCard) -> None:
        self._function = FUNCTIONS[options["name"]]

    async def write(self, session: Session) -> None:
        await self._function(session)
