"""What a new attempt can be made with here, and refusing everything else."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from reclaim_nb.attempts.agent import GROUP
from reclaim_nb.attempts.conditions import CONDITIONS, check_conditions
from reclaim_nb.errors import AttemptError
from reclaim_nb.server.models import StartBody


def options(agents: Sequence[str], kernels: Sequence[str]) -> dict[str, Any]:
    """Return the agents, kernels and conditions that can be chosen, with a sentence on each."""
    return {
        "agents": [one for one in _agents() if one["name"] in agents],
        "kernels": [_kernel(kind) for kind in kernels],
        "conditions": [{"name": name, "text": condition.text} for name, condition in CONDITIONS.items()],
    }


def check_start(body: StartBody, agents: Sequence[str], kernels: Sequence[str], root: Path | None) -> None:
    """Refuse what this server is not configured for.

    Args:
        body: what is asked for.
        agents, kernels: what may be started.
        root: folder of the file browser, the only one that a notebook to replay may be taken from.

    Raises:
        AttemptError: naming what may be asked for.
    """
    check_agent(body.agent, body.options, agents, root)
    check_conditions(body.conditions)
    if body.kernel != "auto":
        check_kernel(body.kernel, kernels)
    if body.kernel == "auto" and set(kernels) != {"docker", "local"}:
        raise AttemptError(f"name the kernel: this server allows {', '.join(kernels)} alone")


def check_agent(agent: str, options: dict[str, Any], agents: Sequence[str], root: Path | None) -> None:
    """Refuse an agent that may not be started here, or one that reads what the file browser does not show.

    Raises:
        AttemptError: naming what may be asked for.
    """
    if agent not in agents:
        raise AttemptError(f"the agent {agent!r} may not be started here; choose one of {', '.join(agents)}")
    if (notebook := options.get("notebook")) is not None:
        file = (root / str(notebook)).resolve() if root is not None else None
        if root is None or file is None or not file.is_relative_to(root.resolve()):
            raise AttemptError(f"{notebook}: outside of the file browser's folder; copy the notebook into it")


def check_kernel(kind: str, kernels: Sequence[str]) -> None:
    """Refuse a kernel that this server is not configured for.

    Raises:
        AttemptError: naming those that may be asked for.
    """
    if kind not in kernels:
        raise AttemptError(f"the kernel {kind!r} may not be started here; choose one of {', '.join(kernels)}")


@cache
def _agents() -> tuple[dict[str, Any], ...]:
    found = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            text = (entry.load().__doc__ or "").strip().partition("\n")[0]
            found.append({"name": entry.name, "text": text, "problem": None})
        except ImportError as problem:  # an agent without what it needs
            found.append({"name": entry.name, "text": "", "problem": str(problem)})
    return tuple(found)


def _kernel(kind: str) -> dict[str, Any]:
    if kind != "docker":
        return {"name": kind, "text": "a plain process of this user, without a sandbox", "problem": None}
    from reclaim_nb.kernels.images import engine_problem, image_info

    problem = engine_problem()
    if problem is None and image_info() is None:
        problem = "the kernel image is not there yet; `reclaim image build` makes it"
    return {"name": kind, "text": "a container without a network", "problem": problem}
