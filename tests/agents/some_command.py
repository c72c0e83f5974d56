"""A command that knows MCP over stdio alone: ``some_command.py MODE URL``, its task on standard input."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client


def tell(**event: object) -> None:
    print(json.dumps(event), flush=True)


async def main(mode: str, url: str) -> int:
    task = sys.stdin.read()
    tell(type="task", characters=len(task), continued="has been started again" in task, asked="without calling" in task)
    if mode == "crash":
        print("a fault of its own", file=sys.stderr)
        return 3
    bridge = StdioServerParameters(
        command=sys.executable, args=["-m", "reclaim_nb.agents.mcp_bridge", url], env=dict(os.environ)
    )
    async with Client(stdio_client(bridge)) as tools:
        cell = await tools.call_tool("run_cell", {"source": "print(6 * 7)"})
        tell(type="cell", text=cell.content[0].text)
        tell(type="usage", id="one", tokens={"in": 100, "out": 10})
        if mode == "leak":
            tell(type="environment", variables=dict(os.environ))
            print("key", os.environ.get("SOME_KEY"), file=sys.stderr)
            Path("notes.txt").write_text("left behind")
        if mode == "tree":
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=False)
            stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
            other = subprocess.Popen([sys.executable, "-c", stubborn])
            tell(type="children", pids=[os.getpid(), child.pid, other.pid])
            await asyncio.sleep(600)
        if mode == "greedy":
            for number in range(50):
                tell(type="usage", id=str(number), tokens={"in": 1000, "out": 0})
                await asyncio.sleep(0.02)
            await asyncio.sleep(600)
        if mode == "crash-later":
            print("service unavailable" if "--service" in sys.argv else "bug", file=sys.stderr)
            return 4
        if mode == "twice" and "has been started again" not in task:
            tell(type="children", pids=[os.getpid()])
            await asyncio.sleep(600)
        if mode != "idle":
            await tools.call_tool("submit", {"value": "42", "note": "six times seven"})
            tell(type="usage", id="two", tokens={"in": 200, "out": 20})
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1], sys.argv[2])))
