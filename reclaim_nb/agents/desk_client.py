"""Talking to the runner of a person's attempt: what its working notebook and the command line have in common."""

from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path
from typing import Any

from reclaim_nb.errors import AttemptError
from reclaim_nb.record.folder import AttemptFolder, is_held, open_folder
from reclaim_nb.record.reader import last_event

DESK = "desk.json"
"""File of the attempt folder that says where its runner listens; it is there while one does."""

NOTEBOOK = "work.ipynb"
"""The person's working notebook in the attempt folder. What is graded is ``attempt.ipynb`` beside it."""

KERNEL = "reclaim-attempt"
"""Name of the kernelspec of working notebooks."""

PATIENCE_SECONDS = 20.0
"""How long a runner that is starting or ending is waited for."""


class DeskGone(AttemptError):
    """No runner listens; the text says why and what to do."""


class DeskLine:
    """A line to the runner: one JSON object a line, each way.

    Args:
        folder: the attempt folder, or a file in it.
        patience: seconds to wait for a runner that is starting.

    Raises:
        DeskGone: when no runner listens.
        RecordError: when it is no attempt folder.
    """

    def __init__(self, folder: Path | str, patience: float = PATIENCE_SECONDS) -> None:
        self.folder = open_folder(folder)
        self._socket = _connect(self.folder, patience)
        self._lines = self._socket.makefile("rb")

    def send(self, do: str, **words: Any) -> None:
        """Send one request.

        Raises:
            DeskGone: when the runner is gone.
        """
        try:
            self._socket.sendall(json.dumps({"do": do, **words}).encode() + b"\n")
        except OSError:
            raise DeskGone(why_gone(self.folder)) from None

    def receive(self) -> dict[str, Any]:
        """Return the next answer.

        Raises:
            DeskGone: when the runner is gone.
        """
        try:
            line = self._lines.readline()
        except OSError:
            line = b""
        if not line.endswith(b"\n"):
            raise DeskGone(why_gone(self.folder))
        answer: dict[str, Any] = json.loads(line)
        return answer

    def ask(self, do: str, **words: Any) -> dict[str, Any]:
        """Send a request and return the one answer to it.

        Raises:
            DeskGone: when the runner is gone.
        """
        self.send(do, **words)
        return self.receive()

    def close(self) -> None:
        """Let go of the line; what runs goes on."""
        self._lines.close()
        self._socket.close()


def why_gone(folder: AttemptFolder) -> str:
    """Return why nobody listens, and what to do about it."""
    last = last_event(folder.stream)
    if last is not None and last.kind == "end":
        detail = f" ({last.data['detail']})" if last.data.get("detail") else ""
        return f"the attempt has ended: {last.data['reason']}{detail}; its notebook is {folder.notebook}"
    if is_held(folder):
        return f"{folder.path}: the runner of this attempt is ending it, or takes no cells from a person"
    return f"{folder.path}: the runner of this attempt is gone; `reclaim attempt open {folder.path}` goes on with it"


def _connect(folder: AttemptFolder, patience: float) -> socket.socket:
    deadline = time.monotonic() + patience
    while True:
        line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            line.connect(json.loads((folder.path / DESK).read_text("utf-8"))["socket"])
            return line
        except (OSError, ValueError, KeyError):
            line.close()
        last = last_event(folder.stream)
        over = last is not None and last.kind == "end"
        if over or not is_held(folder) or time.monotonic() > deadline:
            raise DeskGone(why_gone(folder))
        time.sleep(0.1)


def attempt_of_kernel() -> Path:
    """Return the attempt folder that a working notebook's kernel serves: Jupyter starts it where the notebook lies."""
    return Path(os.environ.get("RECLAIM_ATTEMPT_FOLDER") or os.getcwd())
