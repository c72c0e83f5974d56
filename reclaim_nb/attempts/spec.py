"""Everything that was decided before an attempt began, as one document in its record."""

from __future__ import annotations

from functools import lru_cache
from importlib import metadata
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from reclaim_nb.attempts.limits import Limits
from reclaim_nb.record.workspace import WorkspacePolicy

PACKAGES = (
    *("reclaim-nb", "papermill", "nbformat", "jupyter_client", "ipykernel", "docker", "pyzmq"),
    *("pydantic-ai-slim", "genai-prices", "mcp"),
)


class AgentSpec(BaseModel):
    """Who writes the cells: a registered name and its options; ``model`` for agents that have one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    model: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)


class KernelFacts(BaseModel):
    """Where the cells run, as it was at the start."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: Literal["docker", "local"]
    image: str = ""
    image_digest: str = ""
    network: str
    allow: list[str] = Field(default_factory=list)
    block: list[str] = Field(default_factory=list)
    proxy_digest: str = ""
    unsandboxed: bool
    memory_mib: int
    cpus: float
    pids: int
    gpus: list[str] = Field(default_factory=list)
    gpu_name: str = ""
    device_factor: str = "1"
    abandon_seconds: float
    options: dict[str, Any] = Field(default_factory=dict)


class AttemptSpec(BaseModel):
    """One agent at one paper once.

    Attributes:
        id: unique id of the attempt.
        batch, suite, paper, repeat: where it stands.
        again: how often this repeat has been made; more than 1 after a fault of the harness.
        card_sha256: hash of the card's file.
        card: the whole card, so that the record stands alone.
        frozen: version and seal of the frozen suite that the card is of; None: the suite is not frozen.
        agent, kernel, limits: see there.
        release: where the authors' release came from; of a fetched one its commits, hash and what is missing.
        conditions: named changes of what an agent is told; neutral when empty.
        prompt_sha256: hash of what agents are told, the same for all of them.
        workspace: what becomes of the working folder once the attempt has ended.
        seed: seed for whatever the harness draws at random.
        packages: versions of the packages that made the record.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    batch: str
    suite: str
    paper: str
    title: str
    tier: str
    device: str
    repeat: int
    again: int = 1
    card_sha256: str
    card: dict[str, Any]
    frozen: dict[str, str] | None = None
    agent: AgentSpec
    kernel: KernelFacts
    limits: Limits
    release: dict[str, Any] = Field(default_factory=dict)
    conditions: tuple[str, ...] = ()
    prompt_sha256: str = ""
    workspace: WorkspacePolicy = "keep"
    seed: int = 0
    packages: dict[str, str] = Field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json")


def package_versions() -> dict[str, str]:
    """Return the versions of the packages that take part in making a record."""
    return {name: version for name in PACKAGES if (version := _version(name)) is not None}


@lru_cache(maxsize=64)
def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
