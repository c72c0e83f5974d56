"""Which agents there are, and which can run here."""

from __future__ import annotations

import importlib.util
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from reclaim_nb.agents.adapter import adapter_names, load_adapter
from reclaim_nb.attempts.agent import agent_names

Kind = Literal["model", "command", "replay", "null", "other"]

_KINDS: dict[str, Kind] = {
    "model": "model",
    "command": "command",
    "replay": "replay",
    "nothing": "null",
    "constant": "null",
    "copy": "null",
}


@dataclass(frozen=True, slots=True)
class AgentInfo:
    """One agent.

    Attributes:
        name: what ``--agent`` takes.
        kind: a model, an external command, a replayed notebook, a null agent.
        installed: it can run here.
        version: of the program or package behind it, None when it has none or does not tell.
        note: how to get it, or what it can reach beside the session's tools.
        switched_off: what of its own tools is off; empty where that is no question.
    """

    name: str
    kind: Kind
    installed: bool
    version: str | None
    note: str
    switched_off: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def list_agents() -> list[AgentInfo]:
    """Return every agent, with whether it is installed and its version; external commands are asked for theirs."""
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(_info, agent_names()))


def _info(name: str) -> AgentInfo:
    if name in adapter_names():
        return _command(name)
    if name == "model":
        found = importlib.util.find_spec("pydantic_ai") is not None
        note = "any provider of pydantic-ai, any OpenAI-compatible address (--option base_url=URL)"
        return AgentInfo(name, "model", found, _package("pydantic-ai-slim"), note if found else _extra())
    if name == "command":
        found = importlib.util.find_spec("mcp") is not None
        note = "any command, by a file that tells how to drive it (--option adapter=FILE)"
        return AgentInfo(name, "command", found, _package("mcp"), note if found else _extra())
    return AgentInfo(name, _KINDS.get(name, "other"), True, None, "")


def _command(name: str) -> AgentInfo:
    from reclaim_nb.agents.command import program_version

    adapter = load_adapter(name)
    program = shutil.which(adapter.program)
    if program is None:
        return AgentInfo(name, "command", False, None, adapter.install, adapter.switched_off)
    told = program_version(program, adapter)
    return AgentInfo(name, "command", True, told, " ".join(adapter.reach.split()), adapter.switched_off)


def _package(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _extra() -> str:
    return "pip install 'reclaim-nb[agents]'"
