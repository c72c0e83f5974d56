"""Runners in processes of their own, to be killed, and the helpers that look at what they left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from attempt_helpers import Cells, script, tiny_paper, wait_for

CODE = """
import json, os, signal, sys
from pathlib import Path
from attempt_helpers import prepared
from reclaim_nb.attempts.runner import run_attempt
from reclaim_nb.record.stream import StreamWriter
folder, kernel, cells, how = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]), json.loads(sys.argv[4])
mark, write = sys.argv[5].encode(), StreamWriter._write
def write_and_freeze(self, data):
    write(self, data)
    if mark and mark in data:
        os.kill(os.getpid(), signal.SIGSTOP)
StreamWriter._write = write_and_freeze
made = prepared(folder, cells, kernel, **how)
print(made.folder.path, made.spec.id, flush=True)
finished = run_attempt(made)
print(finished.reason, finished.detail, flush=True)
"""


class RunnerProcess:
    """A runner of one attempt at the tiny paper.

    Args:
        freezes: the runner stops itself once it has written an event with this text, so that a kill meets it there.

    Attributes:
        path: the attempt folder.
        attempt: id of the attempt.
    """

    def __init__(self, folder: Path, cells: Cells, kernel: str, freezes: str = "", **how: object) -> None:
        import json

        tiny_paper(folder)
        self.process = subprocess.Popen(
            [sys.executable, "-c", CODE, str(folder), kernel, json.dumps(dict(cells)), json.dumps(how), freezes],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
            start_new_session=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()[1]
        path, self.attempt = line.split()
        self.path = Path(path)

    @property
    def stream(self) -> bytes:
        """The stream as it is on disk now."""
        path = self.path / "stream.jsonl"
        return path.read_bytes() if path.exists() else b""

    def wait(self, mark: str, count: int = 1) -> None:
        """Wait until the stream holds a text that often."""
        wait_for(lambda: self.stream.count(mark.encode()) >= count, f"{mark} in the stream")

    def kill(self) -> bytes:
        """Kill the runner as nothing else can, and return the stream as it left it."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)
        self.close()
        return self.stream

    def end(self) -> str:
        """Wait for the runner's end and return what it said."""
        out, err = self.process.communicate(timeout=120)
        assert self.process.returncode == 0, err
        return out.strip()

    def close(self) -> None:
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()


__all__ = ["RunnerProcess", "script"]
