"""Runs inside the box as ``python launcher.py -f CONNECTION_FILE``: an IPython kernel that loses no output.

It needs ipykernel (6.29 or later) and nothing of this package, and runs on Python 3.8 and later, so a paper's own image
can keep its old Python. What it changes, all of it about the record and none of it about results:

- the publishing socket waits for its reader instead of dropping messages, and printing waits for the socket, so memory
  stays bounded;
- a burst of flushes is sent together; a single flush is still sent before ``print`` returns;
- text that UTF-8 cannot hold is printed as an escape instead of being lost;
- in an attempt, ``input()`` is refused, and the global ``attempt`` offers the attempt's tools;
- a kernel whose runner has been gone for long ends itself.
"""

import json
import os
import pathlib
import re
import sys
import threading
import time

import zmq
from ipykernel.iostream import OutStream
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp

CHUNK = 256 * 1024
QUEUE = 200
BURST_SECONDS = 0.01
TOOL_MARK = "\u2063reclaim-tool:"
SURROGATES = re.compile("[\ud800-\udfff]")


class LosslessStream(OutStream):
    """Output stream that holds at most ``CHUNK`` characters before it waits for the socket."""

    flush_timeout = 24 * 3600.0
    _unsent = 0
    _last_wait = 0.0

    def write(self, string):
        if isinstance(string, str) and not string.isascii():
            string = SURROGATES.sub(lambda match: f"\\u{ord(match.group()):04x}", string)
        if not isinstance(string, str) or len(string) <= CHUNK:
            written = super().write(string)
            self._count(len(string))
            return written
        for start in range(0, len(string), CHUNK):
            super().write(string[start : start + CHUNK])
            self._count(CHUNK)
        return len(string)

    def flush(self):
        now = time.monotonic()
        if now - self._last_wait >= BURST_SECONDS or not self._is_master_process():
            super().flush()
            self._unsent = 0
            self._last_wait = time.monotonic()
        else:
            self.pub_thread.schedule(self._flush)

    def _count(self, length):
        self._unsent += length
        if self._unsent >= CHUNK:
            super().flush()
            self._unsent = 0


class AttemptKernel(IPythonKernel):
    """IPython kernel in which nobody sits at the keyboard."""

    def raw_input(self, prompt=""):
        if not str(prompt).startswith(TOOL_MARK):
            raise EOFError("input() has nobody to ask in an attempt: give the value in the cell")
        return super().raw_input(prompt)

    def getpass(self, prompt="", stream=None):
        raise EOFError("getpass() has nobody to ask in an attempt")


class LosslessApp(IPKernelApp):
    """Kernel application with the lossless stream and socket."""

    outstream_class = "reclaim_launcher.LosslessStream"

    def _bind_socket(self, s, port):
        if s is self.iopub_socket:
            s.setsockopt(zmq.XPUB_NODROP, 1)
            s.setsockopt(zmq.SNDHWM, QUEUE)
        return super()._bind_socket(s, port)


class ToolError(RuntimeError):
    """A tool of the attempt refused the call; the text says why."""


class _Shown(dict):
    """A tool's answer: a dictionary that prints as its own summary."""

    def __repr__(self):
        return str(self.get("text", dict.__repr__(self)))


class Attempt:
    """The attempt's tools, as every agent has them, for use from a cell."""

    def __init__(self, kernel, release):
        self._kernel = kernel
        self._release = release

    @property
    def release(self):
        """Folder with what the authors released (read-only), None if nothing is here."""
        return pathlib.Path(self._release) if self._release else None

    def read_paper(self, query=""):
        """Return a section of the paper by its heading, or the passages that fit a query; all headings without one."""
        return self._call("read_paper", query=str(query))["text"]

    def check_anchor(self, name, value):
        """Compare a computed number with another number of the paper that is cheap to check."""
        return self._call("check_anchor", name=str(name), value=_number(value))

    def budget(self):
        """Return what is spent and what is left, of the device and of every other limit."""
        return self._call("budget")

    def submit(self, value, note="", cell=None):
        """Hand in the value and end the attempt after this cell. ``cell``: id of the cell that measured it."""
        return self._call("submit", value=_number(value), note=str(note), cell=cell)

    def read_output(self, cell, start=0, length=10000):
        """Return characters of a cell's whole output, also where the notebook shows only a part."""
        return self._call("read_output", cell=str(cell), start=int(start), length=int(length))["text"]

    def _call(self, tool, /, **arguments):
        request = TOOL_MARK + json.dumps({"name": tool, "arguments": arguments})
        answer = json.loads(self._kernel.raw_input(request))
        if "error" in answer:
            raise ToolError(answer["error"])
        return _Shown(answer["result"])

    def __repr__(self):
        return "<attempt: read_paper, check_anchor, budget, read_output, submit, release>"


def _number(value):
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return str(value)
    try:
        return repr(float(value)) if type(value).__name__ != "Decimal" else str(value)
    except (TypeError, ValueError):
        return str(value)


def _pack(message):
    return json.dumps(message, default=str, allow_nan=False).encode("ascii")


def _watch(heartbeat, seconds):
    while True:
        time.sleep(min(seconds / 4, 5.0))
        try:
            silent = time.time() - os.stat(heartbeat).st_mtime
        except OSError:
            silent = seconds + 1
        if silent > seconds:
            os._exit(75)


def main():
    app = LosslessApp.instance()
    attempt = os.environ.get("RECLAIM_ATTEMPT")
    if attempt:
        app.kernel_class = AttemptKernel
    app.initialize()
    app.session.pack = _pack
    if attempt:
        app.shell.user_ns["attempt"] = Attempt(app.kernel, os.environ.get("RECLAIM_RELEASE"))
        app.shell.user_ns_hidden["attempt"] = None
    heartbeat = os.environ.get("RECLAIM_HEARTBEAT")
    if heartbeat:
        seconds = float(os.environ.get("RECLAIM_ABANDON_SECONDS", "600"))
        threading.Thread(target=_watch, args=(heartbeat, seconds), daemon=True, name="reclaim-watch").start()
    app.start()


if __name__ == "__main__":
    sys.modules["reclaim_launcher"] = sys.modules["__main__"]
    main()
