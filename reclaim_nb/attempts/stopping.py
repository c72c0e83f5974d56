"""Running a coroutine to its end: signals become one cancellation, and a loop that runs already is left alone."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any, TypeVar

from reclaim_nb.errors import Stopped

T = TypeVar("T")
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine and return its value.

    The first SIGINT or SIGTERM, whenever it comes, cancels the coroutine once; later ones change nothing. Where a loop
    runs already, as in a notebook, the work is done in a thread of its own.
    """
    stop = _Stop()
    if _loop_runs():
        return _in_thread(work, stop)
    if threading.current_thread() is not threading.main_thread():
        return asyncio.run(stop.cancellable(work))
    before = {number: signal.signal(number, stop.on_signal) for number in SIGNALS}
    stop.also = [handler for handler in before.values() if isinstance(handler, StopAsked)]
    if any(one.asked for one in stop.also):  # between two attempts
        stop.ask()
    try:
        return asyncio.run(stop.cancellable(work))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class StopAsked:
    """Remembers, while entered, that this process was told to stop: for work that runs several attempts in a row.

    The attempt that runs then ends as ``cancelled``, or as it was about to; this says that no other is to begin. Where
    signals are not this process's to handle, as in a notebook or a thread, it remembers nothing.

    Attributes:
        asked: somebody has.
    """

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> StopAsked:
        if threading.current_thread() is threading.main_thread() and not _loop_runs():
            self._before = {number: signal.signal(number, self) for number in SIGNALS}
        return self

    def __exit__(self, *exc: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.asked = True

    def check(self) -> None:
        """Pass when nobody has asked.

        Raises:
            Stopped: when somebody has.
        """
        if self.asked:
            raise Stopped("told to stop by a signal; what had been run so far is removed")


class _Stop:
    """Cancels one task, once, from a signal handler or another thread."""

    def __init__(self) -> None:
        self._asked = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self.also: list[StopAsked] = []

    async def cancellable(self, work: Coroutine[Any, Any, T]) -> T:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        if self._asked and self._task is not None:
            self._task.cancel()
        return await work

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        for asked in self.also:
            asked(number, frame)
        self.ask()

    def ask(self) -> None:
        if self._loop is None:
            self._asked = True
            return
        with contextlib.suppress(RuntimeError):  # the loop has closed: there is nothing left to stop
            self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._asked or self._task is None:
            print("ending already: the kernel is stopped and the record closed", file=sys.stderr)
            return
        self._asked = True
        self._task.cancel()


def _loop_runs() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _in_thread(work: Coroutine[Any, Any, T], stop: _Stop) -> T:
    with ThreadPoolExecutor(1, "reclaim-runner") as pool:
        future = pool.submit(asyncio.run, stop.cancellable(work))
        while True:
            try:
                return future.result()
            except KeyboardInterrupt:
                stop.ask()
