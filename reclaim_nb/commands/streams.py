"""Standard output and standard error of a command that goes on when nobody reads them any more."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

OUTPUT = "standard output"


class _Lasting(io.FileIO):
    """A descriptor that takes what is written to it; what is never going to be read goes nowhere."""

    def __init__(self, descriptor: int, name: str, forgiven: type[OSError]) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._called, self._forgiven = name, forgiven

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except self._forgiven:
            _to_nowhere(self.fileno())
            return super().write(data)
        except OSError as problem:
            raise OSError(problem.errno, problem.strerror, self._called) from problem


@contextlib.contextmanager
def lasting() -> Iterator[None]:
    """Let a command write as if it were read to the end, for as long as this is entered.

    A reader that goes away (`| head -1`) is no fault: the command does its work and ends with its own exit code. What
    cannot be written to standard output for another reason, such as a full disk, is an error that names it; standard
    error, on which nothing but progress and messages stand, never is. A stream that is closed is one that nobody reads.
    """
    before = sys.stdout, sys.stderr
    sys.stdout = _made(sys.stdout, sys.__stdout__, OUTPUT, BrokenPipeError)
    sys.stderr = _made(sys.stderr, sys.__stderr__, "standard error", OSError)
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:  # which was told of; the interpreter is not to try it once more
                _to_nowhere(stream.fileno())
        sys.stdout, sys.stderr = before


def _made(stream: TextIO | None, own: TextIO | None, name: str, forgiven: type[OSError]) -> TextIO:
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    if stream is not own or not isinstance(stream, io.TextIOWrapper):  # whoever replaced it takes care of it
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="replace")  # type: ignore[attr-defined]
        return stream
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Lasting(stream.fileno(), name, forgiven)),
        encoding=stream.encoding,
        errors="replace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _to_nowhere(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, descriptor)
    finally:
        os.close(nowhere)
