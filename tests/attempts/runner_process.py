"""Runners in processes of their own, to be killed, and the helpers that look at what they left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
from attempt_helpers import Cells, script, tiny_paper, wait_for

FREEZES = """
import json, os, signal, sys
from pathlib import Path
from attempt_helpers import prepared
from in_step import has, time_passes
from reclaim_nb.attempts.runner import resume_attempt, run_attempt
from reclaim_nb.record.stream import StreamWriter
mark, left, write = sys.argv[1].encode(), int(sys.argv[2]), StreamWriter._write
def write_and_freeze(self, data):
    global left
    write(self, data)
    if mark and mark in data:
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGSTOP)
StreamWriter._write = write_and_freeze
"""

BEGIN = """
folder, kernel, cells, how = Path(sys.argv[3]), sys.argv[4], json.loads(sys.argv[5]), json.loads(sys.argv[6])
made = prepared(folder, cells, kernel, **how)
print(made.folder.path, made.spec.id, flush=True)
finished = run_attempt(made, time_passes(has(sys.argv[7])) if sys.argv[7] else None)
print(finished.reason, finished.detail, flush=True)
"""

RESUME = "resume_attempt(sys.argv[3])"

BEGUN = '"text":"begun'
"""What the stream holds once a cell that prints it has begun."""


class RunnerProcess:
    """A runner of one attempt at the tiny paper.

    Args:
        freezes: the runner stops itself once it has written an event with this text, so that a kill meets it there.
        times: which event with this text it is.
        ages_after: name of the file in the working folder after which ages have passed for the attempt.

    Attributes:
        path: the attempt folder.
        attempt: id of the attempt.
    """

    def __init__(
        self,
        folder: Path,
        cells: Cells,
        kernel: str,
        freezes: str = "",
        times: int = 1,
        ages_after: str = "",
        **how: object,
    ) -> None:
        tiny_paper(folder)
        words = str(folder), kernel, json.dumps(dict(cells)), json.dumps(how), ages_after
        self._begin(BEGIN, freezes, times, *words)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()[1]
        path, self.attempt = line.split()
        self.path = Path(path)

    def _begin(self, code: str, freezes: str, times: int, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", FREEZES + code, freezes, str(times), *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, Path(__file__).parents[:2]))},
            start_new_session=True,
        )

    def resume(self, freezes: str) -> None:
        """Have another runner go on with the attempt, once the first was killed."""
        self._begin(RESUME, freezes, 1, str(self.path))

    @property
    def stream(self) -> bytes:
        """The stream as it is on disk now."""
        path = self.path / "stream.jsonl"
        return path.read_bytes() if path.exists() else b""

    def wait(self, mark: str, count: int = 1) -> None:
        """Wait until the stream holds a text that often."""
        wait_for(lambda: self.stream.count(mark.encode()) >= count, f"{mark} in the stream")

    def wait_frozen(self) -> None:
        """Wait until the runner has stopped itself."""

        def frozen() -> bool:
            assert self.process.poll() is None, self.process.communicate()
            return psutil.Process(self.process.pid).status() == psutil.STATUS_STOPPED

        wait_for(frozen, "the runner has stopped itself")

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
