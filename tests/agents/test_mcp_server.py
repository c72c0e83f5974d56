"""The session's tools over MCP: the official client on loopback HTTP and over stdio, a real kernel behind them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from agent_helpers import events, make_by, usage
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from reclaim_nb.agents.mcp_bridge import TOKEN
from reclaim_nb.agents.mcp_server import ToolServer
from reclaim_nb.agents.tools import TOOLS
from reclaim_nb.attempts.session import Session

pytestmark = pytest.mark.slow  # each test runs a kernel

CELL = 'print("lorem " * 5000)\nx = 41'


async def _solve(tools: Any, told: dict[str, str]) -> None:
    listed = (await tools.list_tools()).tools
    told["tools"] = " ".join(tool.name for tool in listed)
    assert {tool.name: tool.input_schema for tool in listed} == {tool.name: tool.schema for tool in TOOLS}
    for name, call in {
        "cell": ("run_cell", {"source": CELL}),
        "variables": ("run_cell", {"source": "print(x + 1)"}),
        "paper": ("read_paper", {"query": "Settings"}),
        "anchor": ("check_anchor", {"name": "rows", "value": "683"}),
        "wrong": ("run_cell", {"code": "1"}),
        "refused": ("read_output", {"cell": "none"}),
        "submitted": ("submit", {"value": "42", "note": "a test"}),
        "after": ("run_cell", {"source": "print('too late')"}),
    }.items():
        result = await tools.call_tool(call[0], call[1])
        told[name] = ("ERROR " if result.is_error else "") + result.content[0].text


def _check(told: dict[str, str], finished: Any) -> None:
    assert finished.reason == "submitted"
    assert told["tools"].split() == [tool.name for tool in TOOLS]
    assert "characters left out" in told["cell"] and "42" in told["variables"]
    assert "100 trees" in told["paper"] and "agrees" in told["anchor"]
    assert told["wrong"].startswith("ERROR") and "source: Field required" in told["wrong"]
    assert told["refused"].startswith("ERROR") and "no cell" in told["refused"]
    assert told["submitted"] == "the attempt is over: submitted"
    assert usage(finished)["turns"] == 3
    assert "too late" not in [event.data["source"] for event in events(finished, "cell")]


def test_the_official_client_works_over_loopback_http(tmp_path: Path) -> None:
    told: dict[str, str] = {}

    async def work(session: Session) -> None:
        async with ToolServer(session) as server:
            headers = {"Authorization": f"Bearer {server.token}"}
            async with (
                httpx2.AsyncClient(headers=headers) as http,
                Client(streamable_http_client(server.url, http_client=http)) as tools,
            ):
                await _solve(tools, told)

    _check(told, make_by(tmp_path, work))


def test_the_official_client_works_over_stdio(tmp_path: Path) -> None:
    told: dict[str, str] = {}

    async def work(session: Session) -> None:
        async with ToolServer(session) as server:
            words = ["-m", "reclaim_nb.agents.mcp_bridge", server.url]
            bridge = StdioServerParameters(command=sys.executable, args=words, env={TOKEN: server.token})
            async with Client(stdio_client(bridge)) as tools:
                await _solve(tools, told)

    _check(told, make_by(tmp_path, work))


def test_without_the_token_nothing_is_answered(tmp_path: Path) -> None:
    statuses: list[int] = []

    async def work(session: Session) -> None:
        async with ToolServer(session) as server, httpx2.AsyncClient() as http:
            for header in (None, "Bearer wrong", "Basic abc", f"Bearer {server.token}x"):
                headers = {"Authorization": header} if header else {}
                statuses.append((await http.post(server.url, json={}, headers=headers)).status_code)

    finished = make_by(tmp_path, work)
    assert statuses == [401] * 4
    assert finished.reason == "agent_stopped"
