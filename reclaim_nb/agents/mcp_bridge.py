"""``python -m reclaim_nb.agents.mcp_bridge URL``: the tool server over stdio, for commands that know no other way.

The token comes from the variable RECLAIM_MCP_TOKEN, so that it stands in no command line.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import httpx2
import mcp_types as types
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server import Server
from mcp.server.stdio import stdio_server

TOKEN = "RECLAIM_MCP_TOKEN"


async def bridge(url: str, token: str) -> None:
    """Pass on the listing and the calls of tools until standard input ends.

    Args:
        url: address of the tool server.
        token: its token.
    """
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(30.0, read=None)) as http,
        Client(streamable_http_client(url, http_client=http), read_timeout_seconds=None) as tools,
    ):

        async def list_tools(context: Any, parameters: Any) -> types.ListToolsResult:
            return await tools.list_tools()

        async def call(context: Any, parameters: types.CallToolRequestParams) -> types.CallToolResult:
            return await tools.call_tool(parameters.name, parameters.arguments or {})

        server: Server[Any] = Server("attempt", on_list_tools=list_tools, on_call_tool=call)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(bridge(sys.argv[1], os.environ[TOKEN]))
