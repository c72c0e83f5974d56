"""An external command: read line by line, and ended with everything it started."""

from __future__ import annotations

import asyncio
import contextlib
import os
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psutil

GRACE_SECONDS = 3.0
TICK_SECONDS = 0.5
LONGEST_LINE = 16 * 1024 * 1024
"""A longer line of output is cut into pieces."""

OnLine = Callable[[str], Awaitable[None]]


class Process:
    """A running command, in a session of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._created = _created(process.pid)
        self._rest = {"out": b"", "err": b""}

    @classmethod
    async def start(cls, words: list[str], *, cwd: Path, environment: dict[str, str], stdin: str) -> Process:
        """Start a command and give it its input.

        Raises:
            OSError: when it cannot be started.
        """
        process = await asyncio.create_subprocess_exec(
            *words,
            cwd=cwd,
            env=environment,
            stdin=PIPE if stdin else DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            start_new_session=True,
        )
        if process.stdin is not None:
            with contextlib.suppress(ConnectionError):
                process.stdin.write(stdin.encode("utf-8", "backslashreplace"))
                await process.stdin.drain()
            process.stdin.close()
        return cls(process)

    @property
    def identity(self) -> dict[str, Any]:
        """What tells this process from any other."""
        return {"pid": self._process.pid, "created": self._created}

    async def read(self, on_line: OnLine, on_error: OnLine, on_tick: Callable[[], Awaitable[None]]) -> int:
        """Hand on every line until the command ends, and return its exit code; may be called again when cancelled.

        Args:
            on_line, on_error: called with each line of standard output and standard error.
            on_tick: called every half second, and once more at the end.
        """
        assert self._process.stdout is not None and self._process.stderr is not None
        lines = [
            asyncio.ensure_future(self._lines(self._process.stdout, "out", on_line)),
            asyncio.ensure_future(self._lines(self._process.stderr, "err", on_error)),
        ]
        try:
            waiting = set(lines)
            while waiting:
                done, waiting = await asyncio.wait(waiting, timeout=TICK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
                await on_tick()
        finally:
            for task in lines:
                task.cancel()
            await asyncio.gather(*lines, return_exceptions=True)
        return await self._process.wait()

    async def end(self) -> int:
        """End the command with all its descendants, first politely, and return its exit code."""
        await asyncio.to_thread(end_tree, self._process.pid, self._created)
        return await self._process.wait()

    async def _lines(self, stream: asyncio.StreamReader, name: str, take: OnLine) -> None:
        while chunk := await stream.read(65536):
            *lines, rest = (self._rest[name] + chunk).split(b"\n")
            self._rest[name] = rest if len(rest) < LONGEST_LINE else b""
            for line in lines if self._rest[name] or not rest else [*lines, rest]:
                await take(line.decode("utf-8", "replace"))
        if self._rest[name]:
            rest, self._rest[name] = self._rest[name], b""
            await take(rest.decode("utf-8", "replace"))


def end_tree(pid: int, created: float, grace_seconds: float = GRACE_SECONDS) -> None:
    """End a process with all its descendants and whatever else is in its session.

    Args:
        pid: its id.
        created: when it was created, so that a process that has got the same id since is left alone.
        grace_seconds: between asking and killing.
    """
    family = _family(pid, created)
    for process in family:
        with contextlib.suppress(psutil.Error):
            process.terminate()
    _, alive = psutil.wait_procs(family, grace_seconds)
    for process in {*alive, *_family(pid, created)}:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(alive, 1.0)


def _family(pid: int, created: float) -> list[psutil.Process]:
    family: dict[int, psutil.Process] = {}
    with contextlib.suppress(psutil.Error):
        head = psutil.Process(pid)
        if abs(head.create_time() - created) > 0.05:
            return []
        family = {process.pid: process for process in [head, *head.children(recursive=True)]}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            # A session keeps its leader's id, and no new process gets that id while one of the session lives.
            if os.getsid(process.pid) == pid and process.create_time() >= created - 0.05:
                family.setdefault(process.pid, process)
    return list(family.values())


def _created(pid: int) -> float:
    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return 0.0
