"""Pictures for paper, drawn by a second process while the first draws the same for the screen."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from typing import Any

import matplotlib as mpl
from loky import ProcessPoolExecutor, cpu_count

from reclaim_nb.analysis.figures import FIGURES, figure
from reclaim_nb.analysis.frames import Runs
from reclaim_nb.analysis.markup import pdf
from reclaim_nb.bulk import uncollected

_IDLE_SECONDS = 60.0
"""After which the second process ends, also when this one was killed."""

_LOST = (BrokenProcessPool, OSError)
"""What is raised when there is no second process: it was killed, or there is no memory or semaphore for it."""


class PaperPrinter:
    """Draws figures of runs for paper: in a second process where there is a second processor, else here.

    They are drawn here too until that process is there, which takes as long as a picture or two, and when it is lost.
    The bytes are the same.

    Args:
        runs: what is drawn.
    """

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._pool: ProcessPoolExecutor | None = None
        if cpu_count() < 2:
            return
        try:
            self._pool = ProcessPoolExecutor(1, timeout=_IDLE_SECONDS)
            # As something to do, and not with its start, whose end would be waited for. No picture shows a paper card.
            self._there = self._pool.submit(_take, replace(runs, read_cards=dict))
        except _LOST:
            self._pool = None

    def begin(self, name: str, *args: Any) -> Callable[[], bytes]:
        """Begin to draw a figure, and return what waits for its PDF.

        Args:
            name: of the figure.
            args: what it needs beside the runs.

        Raises:
            Exception: by what is returned, whatever the figure's function raises.
        """
        begun: Future[bytes | None] | None = None
        if self._pool is not None and self._there.done():
            try:
                begun = self._pool.submit(_draw_taken, name, args, _settings())
            except _LOST:
                self._pool = None

        def finished() -> bytes:
            if begun is not None:
                try:
                    if drawn := begun.result():
                        return drawn
                except _LOST:
                    pass
                self._pool = None
            return _draw(self._runs, name, args)

        return finished


def _settings() -> dict[str, Any]:
    """Return what this process has changed of how matplotlib draws."""
    usual: Any = mpl.rcParamsDefault
    now: Any = mpl.rcParams.copy()
    return {name: now[name] for name in now if name != "backend" and now[name] != usual[name]}


_taken: Runs | None = None
"""What the second process draws; None in another that was started when the first had ended."""


def _take(runs: Runs) -> None:
    global _taken
    _taken = runs
    for name in FIGURES:  # what they import takes longer than any of them
        figure(name)


def _draw_taken(name: str, args: tuple[Any, ...], settings: Any) -> bytes | None:
    if _taken is None:
        return None
    with mpl.rc_context(settings):
        return _draw(_taken, name, args)


@uncollected()
def _draw(runs: Runs, name: str, args: tuple[Any, ...]) -> bytes:
    return pdf(figure(name)(runs, *args, size="paper"))
