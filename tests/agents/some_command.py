"""A command that knows MCP over stdio alone: ``some_command.py MODE URL``, its task on standard input.

It speaks the protocol by hand, as a program in any language would, and so starts at once; the official client is in
``test_mcp_server.py``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def tell(**event: object) -> None:
    print(json.dumps(event), flush=True)


class Tools:
    """The session's tools behind the stdio bridge."""

    def __init__(self, url: str) -> None:
        words = [sys.executable, "-m", "reclaim_nb.agents.mcp_bridge", url]
        self._bridge = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._number = 0
        client = {"name": "some-command", "version": "1"}
        self._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._send({"method": "notifications/initialized"})

    def call(self, name: str, **arguments: object) -> str:
        """Call a tool and return its text."""
        return str(self._ask("tools/call", {"name": name, "arguments": arguments})["content"][0]["text"])

    def close(self) -> None:
        assert self._bridge.stdin is not None
        self._bridge.stdin.close()
        self._bridge.wait(10)

    def _ask(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": parameters})
        assert self._bridge.stdout is not None
        for line in self._bridge.stdout:
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == self._number and "method" not in answer:
                result: dict[str, Any] = answer["result"]
                return result
        raise SystemExit("the bridge has gone")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._bridge.stdin is not None
        self._bridge.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._bridge.stdin.flush()


def main(mode: str, url: str) -> int:
    task = sys.stdin.read()
    tell(type="task", characters=len(task), continued="has been started again" in task, asked="without calling" in task)
    if mode == "crash":
        print("a fault of its own", file=sys.stderr)
        return 3
    tools = Tools(url)
    tell(type="cell", text=tools.call("run_cell", source="print(6 * 7)"))
    tell(type="usage", id="one", tokens={"in": 100, "out": 10})
    if mode == "leak":
        tell(type="environment", variables=dict(os.environ))
        print("key", os.environ.get("SOME_KEY"), file=sys.stderr)
        Path("notes.txt").write_text("left behind")
    if mode == "tree":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=False)
        stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
        other = subprocess.Popen([sys.executable, "-c", stubborn])
        tell(type="children", pids=[child.pid, other.pid])
        time.sleep(600)
    if mode == "greedy":
        for number in range(50):
            tell(type="usage", id=str(number), tokens={"in": 1000, "out": 0})
            time.sleep(0.02)
        time.sleep(600)
    if mode == "crash-later":
        print("service unavailable" if "--service" in sys.argv else "bug", file=sys.stderr)
        return 4
    if mode == "twice" and "has been started again" not in task:
        tell(type="children", pids=[os.getpid()])
        time.sleep(600)
    if mode != "idle":
        tools.call("submit", value="42", note="six times seven")
        tell(type="usage", id="two", tokens={"in": 200, "out": 20})
    tools.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
