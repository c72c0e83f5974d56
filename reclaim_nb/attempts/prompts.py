"""What an agent is told: files under ``templates/prompts/``, filled in from the card's agent view.

The texts depend on the card, the limits, the kernel and the conditions, and on nothing else: every agent is told the
same. Their hash stands in the spec.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Template

from reclaim_nb.attempts.conditions import CONDITIONS, GATE
from reclaim_nb.attempts.limits import Limits
from reclaim_nb.attempts.spec import KernelFacts
from reclaim_nb.data import data_folder
from reclaim_nb.papers.numbers import format_decimal
from reclaim_nb.papers.view import AgentView, as_markdown


@dataclass(frozen=True, slots=True)
class Prompts:
    """Texts for one attempt.

    Attributes:
        system: what the notebook, the tools and a result are.
        task: the card, the place, the limits, and the conditions.
        asked: said once to an agent that stops without handing anything in.
        nudge: said once under the condition ``nudge``; ``$left`` stands for what is left.
        continued: said to an agent that starts anew in an attempt with cells; ``$cells`` stands for these.
    """

    system: str
    task: str
    asked: str
    nudge: str
    continued: str

    @property
    def sha256(self) -> str:
        """Hash of all texts, each with its length before it."""
        parts = (self.system, self.task, self.asked, self.nudge, self.continued)
        return hashlib.sha256(b"".join(f"{len(p.encode())}:{p}".encode() for p in parts)).hexdigest()


def render_prompts(view: AgentView, limits: Limits, kernel: KernelFacts, conditions: Sequence[str] = ()) -> Prompts:
    """Return what every agent is told about an attempt.

    Args:
        view: what an agent may see of the card.
        limits: the attempt's limits.
        kernel: where cells run.
        conditions: names from :data:`~reclaim_nb.attempts.conditions.CONDITIONS`.

    Raises:
        ReclaimError: when the prompt files are missing.
    """
    names = [name for name in sorted(conditions) if CONDITIONS[name].in_task and (name != GATE or view.anchors)]
    told = [_file(f"conditions/{name}") for name in names]
    task = fill(
        _file("task"),
        {
            "card": as_markdown(view),
            "where": _where(view, kernel),
            "limits": _limits(view, limits),
            "conditions": "".join(f"{text}\n" for text in told),
        },
    )
    return Prompts(_file("system"), task, _file("asked"), _file("conditions/nudge"), _file("continued"))


def fill(text: str, values: Mapping[str, str]) -> str:
    """Put values in the place of ``$name``; what is put in is not looked at again."""
    return Template(text).substitute(values)


def _file(name: str) -> str:
    return (data_folder("templates") / "prompts" / f"{name}.md").read_text("utf-8")


def _where(view: AgentView, kernel: KernelFacts) -> str:
    place = "A container" if kernel.kind == "docker" else "A plain process"
    memory = f"{kernel.memory_mib / 1024:g} GiB of memory"
    devices = f"{len(kernel.gpus)} GPU{'s' if len(kernel.gpus) != 1 else ''}" if kernel.gpus else "no GPU"
    network = "with a network" if kernel.network == "open" else "without a network"
    if kernel.network == "allowlist":
        hosts = ", ".join(entry.partition("=")[0] for entry in kernel.allow) or "nothing"
        network = f"with a network that reaches only {hosts}, through the proxy that the environment names"
    paper = f" The paper's experiment ran on {_environment(view)}." if _environment(view) else ""
    return f"{place} with {memory} and {devices}, {network}. The working folder is yours.{paper}"


def _environment(view: AgentView) -> str:
    told = view.environment
    parts = [
        f"Python {told.python}" if told.python else None,
        told.framework,
        f"CUDA {told.cuda}" if told.cuda else None,
    ]
    return ", ".join(part for part in parts if part)


def _limits(view: AgentView, limits: Limits) -> str:
    device = "CPU time" if view.device == "cpu" else "device time"
    parts = [
        f"{format_decimal(limits.budget_hours)} {view.budget.unit} of {device} while cells run or leave work behind"
    ]
    if limits.wall_clock_seconds is not None:
        parts.append(f"{limits.wall_clock_seconds:g} seconds in all")
    if limits.turns is not None:
        parts.append(f"{limits.turns} cells")
    if limits.cell_seconds is not None:
        parts.append(f"{limits.cell_seconds:g} seconds for one cell")
    if limits.tokens is not None:
        parts.append(f"{limits.tokens:,} model tokens")
    if limits.usd is not None:
        parts.append(f"{format_decimal(limits.usd)} US dollars for the model")
    return "; ".join(parts) + ". The first limit that is reached ends the attempt."
