"""The link to a running kernel: sends requests, hands every message that arrives to one listener."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import zmq
from jupyter_client.session import Session

from reclaim_nb.errors import KernelError

OVERSIZE = 16 * 1024 * 1024
"""Bytes of a message's content past which it is recorded but not parsed."""

BATCH = 64
"""Messages taken from one channel before the event loop gets its turn."""

QUEUE = 100
"""Messages waiting on the host; beyond, the kernel waits."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message from the kernel.

    Attributes:
        channel: ``iopub``, ``shell``, ``control`` or ``stdin``.
        kind: the message type.
        id: message id.
        parent: id of the request it belongs to, empty when none.
        content: parsed content; None when it was too large or no JSON, then ``raw`` holds its bytes.
        metadata: message metadata.
        raw: bytes of content that was not parsed.
        buffers: bytes of binary buffers that came along.
    """

    channel: str
    kind: str
    id: str
    parent: str
    content: dict[str, Any] | None
    metadata: dict[str, Any] = field(default_factory=dict)
    raw: bytes = b""
    buffers: int = 0


class KernelLink:
    """Sockets to one kernel.

    Args:
        connection: connection info of the kernel.
        listener: called with every message, in the order of each channel.
    """

    def __init__(self, connection: dict[str, Any], listener: Callable[[Message], None]) -> None:
        self._listener = listener
        key = connection["key"]
        self._session = Session(key=key if isinstance(key, bytes) else str(key).encode(), username="reclaim")
        self._context = zmq.Context()
        self._context.linger = 0
        self._sockets: dict[str, zmq.Socket[bytes]] = {}
        self._loop = asyncio.get_running_loop()
        identity = uuid.uuid4().hex.encode()
        for channel, kind in (
            ("iopub", zmq.SUB),
            ("shell", zmq.DEALER),
            ("stdin", zmq.DEALER),
            ("control", zmq.DEALER),
        ):
            socket = self._context.socket(kind)
            socket.setsockopt(zmq.RECONNECT_IVL, 20)
            socket.setsockopt(zmq.RCVHWM, QUEUE)
            if kind == zmq.SUB:
                socket.setsockopt(zmq.SUBSCRIBE, b"")
            else:
                socket.setsockopt(zmq.IDENTITY, identity)
            socket.connect(f"ipc://{connection['ip']}-{connection[channel + '_port']}")
            self._sockets[channel] = socket
            self._loop.add_reader(socket.fileno(), self._drain, channel)
        self._closed = False

    async def ready(self, timeout: float, alive: Callable[[], Any]) -> dict[str, Any]:
        """Wait until the kernel answers and its outputs arrive; return its ``kernel_info``.

        Args:
            timeout: seconds.
            alive: awaitable function that returns None while the kernel lives.

        Raises:
            KernelError: when it dies or does not answer in time.
        """
        info: dict[str, Any] = {}
        heard: set[str] = set()
        told = asyncio.Event()
        inner = self._listener
        asked: set[str] = set()

        def listen(message: Message) -> None:
            if message.parent in asked:
                heard.add(message.channel)
                if message.kind == "kernel_info_reply" and message.content:
                    info.update(message.content)
                told.set()
            else:
                inner(message)

        self._listener = listen
        try:
            deadline = self._loop.time() + timeout
            while not (info and "iopub" in heard):
                asked.add(self.send("shell", "kernel_info_request", {}))
                until = self._loop.time() + 0.5
                while self._loop.time() < until and not (info and "iopub" in heard):
                    told.clear()
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(0.05):
                            await told.wait()
                if (code := await alive()) is not None:
                    raise KernelError(f"the kernel died while starting (exit code {code})")
                if self._loop.time() > deadline:
                    raise KernelError(f"the kernel did not answer within {timeout:.0f} s")
            return info
        finally:
            self._listener = inner

    def send(self, channel: str, kind: str, content: dict[str, Any], parent: dict[str, Any] | None = None) -> str:
        """Send a request and return its message id."""
        message = self._session.msg(kind, content, parent=parent)
        self._put(channel, message)
        return str(message["header"]["msg_id"])

    def execute(self, source: str, before: Callable[[str], object] = lambda request: None) -> str:
        """Ask for a cell to be run and return the request's id.

        Args:
            source: the cell's source.
            before: called with the id before the request is sent; nothing is sent when it raises.
        """
        content = {
            "code": source,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": True,
            "stop_on_error": False,
        }
        message = self._session.msg("execute_request", content)
        request = str(message["header"]["msg_id"])
        before(request)
        self._put("shell", message)
        return request

    def _put(self, channel: str, message: dict[str, Any]) -> None:
        self._session.send(self._sockets[channel], message)
        # A zmq descriptor signals only changes; after a send, look for what came meanwhile.
        self._loop.call_soon(self._drain, channel)

    def answer_input(self, value: str) -> None:
        """Answer the kernel's request for input."""
        self.send("stdin", "input_reply", {"value": value})

    def close(self) -> None:
        """Let go of the sockets; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        for socket in self._sockets.values():
            self._loop.remove_reader(socket.fileno())
            socket.close(0)
        self._context.term()

    def drain(self) -> None:
        """Take what has arrived on every channel, now."""
        for channel in self._sockets:
            self._drain(channel)

    def _drain(self, channel: str) -> None:
        if self._closed:
            return
        socket = self._sockets[channel]
        for _ in range(BATCH):
            if not int(socket.getsockopt(zmq.EVENTS)) & zmq.POLLIN:
                return
            try:
                frames = socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            message = self._parse(channel, frames)
            if message is not None:
                self._listener(message)
            if self._closed:
                return
        self._loop.call_soon(self._drain, channel)

    def _parse(self, channel: str, frames: list[bytes]) -> Message | None:
        try:
            start = frames.index(b"<IDS|MSG>")
            signature, header, parent, metadata, content = frames[start + 1 : start + 6]
        except ValueError:
            return Message(channel, "malformed", "", "", None, raw=b"".join(frames)[:OVERSIZE])
        if not hmac.compare_digest(self._session.sign([header, parent, metadata, content]), signature):
            return Message(channel, "unsigned", "", "", None, raw=content[:OVERSIZE])
        buffers = sum(map(len, frames[start + 6 :]))
        try:
            head, above = json.loads(header), json.loads(parent)
            kind, message_id = str(head["msg_type"]), str(head["msg_id"])
            parent_id = str(above.get("msg_id", ""))
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            return Message(channel, "malformed", "", "", None, raw=content[:OVERSIZE])
        if len(content) > OVERSIZE:
            return Message(channel, kind, message_id, parent_id, None, {}, content, buffers)
        try:
            body, extra = json.loads(content), json.loads(metadata)
        except (ValueError, RecursionError):
            body = extra = None
        if not isinstance(body, dict) or not isinstance(extra, dict):
            return Message(channel, kind, message_id, parent_id, None, {}, content, buffers)
        return Message(channel, kind, message_id, parent_id, body, extra, b"", buffers)
