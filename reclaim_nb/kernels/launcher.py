"""Runs inside the box as ``python launcher.py -f CONNECTION_FILE``: an IPython kernel that loses no output.

It needs ipykernel (6.29 or later) and nothing of this package, and runs on Python 3.8 and later, so a paper's own image
can keep its old Python. What it changes, all of it about the record and none of it about results:

- the publishing socket waits for its reader instead of dropping messages, and printing waits for the socket, so memory
  stays bounded;
- a burst of flushes is sent together; a single flush is still sent before ``print`` returns;
- text that UTF-8 cannot hold is printed as an escape instead of being lost;
- what a thread prints belongs to the cell that started the thread, and what a process wrote before its cell ended
  belongs to that cell;
- in an attempt, ``input()`` is refused, and the global ``attempt`` offers the attempt's tools;
- a kernel whose runner has been gone for long ends itself.
"""

import codecs
import contextvars
import fcntl
import json
import os
import pathlib
import re
import select
import struct
import sys
import termios
import threading
import time

import zmq
from ipykernel.iostream import OutStream
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp

CHUNK = 256 * 1024
QUEUE = 200
BURST_SECONDS = 0.01
PIPE_SECONDS = 0.5
TOOL_MARK = "\u2063reclaim-tool:"
SURROGATES = re.compile("[\ud800-\udfff]")


class LosslessStream(OutStream):
    """Output stream that holds at most ``CHUNK`` characters before it waits for the socket."""

    flush_timeout = 24 * 3600.0
    _unsent = 0
    _last_wait = 0.0

    def __init__(self, *args, **kwargs):
        self._pipe_lock = threading.Lock()
        super().__init__(*args, **kwargs)

    def _watch_pipe_fd(self):
        # What processes write to the descriptor itself; a character may come in two parts.
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        try:
            while self._should_watch:
                select.select([self._fid], [], [])
                with self._pipe_lock:
                    data = os.read(self._fid, CHUNK)
                    self.write(decoder.decode(data))
                if not data:
                    return
        except (OSError, ValueError):
            self._exc = sys.exc_info()

    def take_pipe(self):
        """Wait until what was written to the descriptor so far has been taken, unless it goes on and on."""
        if getattr(self, "_fid", None) is None:
            return
        deadline = time.monotonic() + PIPE_SECONDS
        while time.monotonic() < deadline:
            with self._pipe_lock:
                if not struct.unpack("i", fcntl.ioctl(self._fid, termios.FIONREAD, b"    "))[0]:
                    return
            time.sleep(0.0005)

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
            self.flush_now()
        elif self.pub_thread is not None:
            self.pub_thread.schedule(self._flush)

    def flush_now(self):
        """Return only when the text is sent."""
        super().flush()
        self._unsent = 0
        self._last_wait = time.monotonic()

    def _count(self, length):
        self._unsent += length
        if self._unsent >= CHUNK:
            super().flush()
            self._unsent = 0


class LosslessKernel(IPythonKernel):
    """IPython kernel that ends a cell only when all that its processes have written is taken."""

    streams = ()

    async def do_execute(self, *args, **kwargs):
        reply = await super().do_execute(*args, **kwargs)
        for stream in self.streams:
            stream.take_pipe()
        return reply


class AttemptKernel(LosslessKernel):
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


def _keep_order(thread, publisher, streams):
    # What the publishing thread itself sends goes out at once: queued, a text flushed before an error would follow it.
    schedule = thread.schedule
    thread.schedule = lambda call: call() if threading.current_thread() is thread.thread else schedule(call)

    # A display waits until the texts before it are gone, or the texts after it would be sent along with those.
    def flush_streams():
        for stream in streams:
            stream.flush_now()

    publisher._flush_streams = flush_streams


def _keep_parents(*holders):
    """Let a thread's output belong to the cell that started the thread, not to the one that runs when it prints."""
    values = [value for holder in holders for value in vars(holder).values()]
    variables = [value for value in values if isinstance(value, contextvars.ContextVar)]
    start = threading.Thread.start

    def start_with_parents(self):
        given = [(variable, variable.get()) for variable in variables if variable.get(None) is not None]
        run = self.run

        def run_with_parents():
            for variable, value in given:
                variable.set(value)
            run()

        if given:
            self.run = run_with_parents
        start(self)

    threading.Thread.start = start_with_parents


def main():
    app = LosslessApp.instance()
    attempt = os.environ.get("RECLAIM_ATTEMPT")
    app.kernel_class = AttemptKernel if attempt else LosslessKernel
    app.initialize()
    app.session.pack = _pack
    streams = app.kernel.streams = [s for s in (sys.stdout, sys.stderr) if isinstance(s, LosslessStream)]
    _keep_order(app.iopub_thread, app.shell.display_pub, streams)
    _keep_parents(*streams, app.shell.displayhook, app.shell.display_pub, app.kernel)
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
