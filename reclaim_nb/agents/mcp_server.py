"""The session's tools as an MCP server on loopback, for agents that are programs of their own."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server import Server

from reclaim_nb import __version__
from reclaim_nb.agents.tools import TOOLS, call_tool
from reclaim_nb.attempts.session import Session
from reclaim_nb.attempts.tools import AttemptOver

NAME = "attempt"
"""What the server calls itself; commands show the tools under this name."""

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class ToolServer:
    """Serves a session's tools while it is entered.

    Only 127.0.0.1 can reach it, and only with the token, which is drawn anew each time.

    Attributes:
        url: address of the server.
        token: what goes into the header ``Authorization: Bearer ...``.
        calls: tool calls so far.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.token = secrets.token_urlsafe(32)
        self.url = ""
        self.calls = 0
        self._server: _Quiet | None = None
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> ToolServer:
        logging.getLogger("mcp").setLevel(logging.ERROR)
        listening = socket.socket()
        listening.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        app = self._mcp().streamable_http_app(session_idle_timeout=None)  # a cell may run for days
        config = uvicorn.Config(
            _Guarded(app, self.token), log_config=None, access_log=False, timeout_graceful_shutdown=1
        )
        self._server = _Quiet(config)
        self._task = asyncio.create_task(self._server.serve(sockets=[listening]))
        while not self._server.started and not self._task.done():
            await asyncio.sleep(0.01)
        if self._task.done():
            self._task.result()
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._server is not None and self._task is not None
        self._server.should_exit = True
        await asyncio.gather(self._task, return_exceptions=True)

    def _mcp(self) -> Server[Any]:
        async def list_tools(context: Any, parameters: Any) -> types.ListToolsResult:
            return types.ListToolsResult(tools=tool_list())

        async def call(context: Any, parameters: types.CallToolRequestParams) -> types.CallToolResult:
            return await self._call(parameters.name, parameters.arguments or {})

        return Server(NAME, version=__version__, on_list_tools=list_tools, on_call_tool=call)

    async def _call(self, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        self.calls += 1
        try:
            answer = await call_tool(self._session, name, arguments)
        except AttemptOver as over:
            return _result(str(over), error=over.reason != "submitted")
        return _result(answer.text, error=answer.refused)


def tool_list() -> list[types.Tool]:
    """Return the session's tools as MCP lists them."""
    return [types.Tool(name=tool.name, description=tool.description, input_schema=tool.schema) for tool in TOOLS]


def _result(text: str, *, error: bool) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=error)


class _Guarded:
    """Refuses requests without the token, before anything reads them."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]], token: str) -> None:
        self._app, self._expected = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not hmac.compare_digest(_authorization(scope), self._expected):
            headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": b"a token is needed"})
            return
        await self._app(scope, receive, send)


def _authorization(scope: Scope) -> bytes:
    given: bytes = dict(scope["headers"]).get(b"authorization", b"")
    return given


class _Quiet(uvicorn.Server):
    """Leaves signals to the runner."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
