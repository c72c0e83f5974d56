"""Agents for tests, found by entry point like any other: one plays given cells, one is a function of the test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from reclaim_nb.attempts.session import Session
from reclaim_nb.papers.loading import LoadedCard

FUNCTIONS: dict[str, Callable[[Session], Awaitable[None]]] = {}
"""What :class:`Function` calls, by name."""


class Script:
    """Plays the cells of its option ``cells``, in order; after a resume, those that were not played.

    A cell is ``{"case": name, "source": text, "timeout": seconds or None}``. A case that was interrupted is not played
    again.
    """

    def __init__(self, options: dict[str, Any], card: LoadedCard) -> None:
        self._cells: list[dict[str, Any]] = options["cells"]

    async def write(self, session: Session) -> None:
        played = {cell.metadata.get("case") for cell in session.cells.values()}
        for cell in self._cells:
            if cell["case"] not in played:
                await session.run_cell(cell["source"], cell.get("timeout"), metadata={"case": cell["case"]})


class Function:
    """Calls ``FUNCTIONS[options["name"]]``."""

    def __init__(self, options: dict[str, Any], card: LoadedCard) -> None:
        self._function = FUNCTIONS[options["name"]]

    async def write(self, session: Session) -> None:
        await self._function(session)
