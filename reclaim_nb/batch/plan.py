"""A plan: suite x agents x repeats x conditions, as data."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from reclaim_nb.attempts.prepare import Request, agent_label, limits_of, suite_name
from reclaim_nb.errors import AttemptError, CardError
from reclaim_nb.near import near
from reclaim_nb.papers.card import Device
from reclaim_nb.papers.loading import LoadedCard, read_yaml, what_is_wrong
from reclaim_nb.papers.suite import find_paper, find_suite, suite_folders
from reclaim_nb.record.folder import AttemptFolder, repeat_name, safe_name

PLANNED_BY_PLAN = ("paper", "agent", "model", "options", "conditions", "batch", "runs", "repeat", "again")
"""Fields of a request that the plan itself sets; the others may stand under ``settings``."""


class AgentPlan(BaseModel):
    """One agent of a plan: a registered name, and what it is given."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    model: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)


class Plan(BaseModel):
    """What a batch consists of.

    Attributes:
        name: name of the batch, a folder below the runs folder.
        suite: a suite whose papers are attempted; ``papers`` names single ones, ``suite/slug``.
        agents: who attempts them; a plain name stands for an agent without options.
        repeats: attempts of each agent at each paper.
        conditions: sets of conditions; each is run apart. One empty set by default.
        settings: anything else a request can say: kernel, network, limits, memory (see :class:`Request`).
        order: ``cheapest`` first by need, or as ``given``.
        retries: how often an attempt is made again after a fault that is not the agent's.
        include_broken, include_provisional: take cards that rates leave out.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1)
    suite: str | None = None
    papers: tuple[str, ...] = ()
    agents: tuple[AgentPlan, ...] = Field(min_length=1)
    repeats: int = Field(default=1, ge=1, le=99)
    conditions: tuple[tuple[str, ...], ...] = ((),)
    settings: dict[str, Any] = Field(default_factory=dict)
    order: Literal["cheapest", "given"] = "cheapest"
    retries: int = Field(default=2, ge=0, le=20)
    include_broken: bool = False
    include_provisional: bool = False

    @model_validator(mode="before")
    @classmethod
    def _names(cls, raw: Any) -> Any:
        agents = raw.get("agents") if isinstance(raw, dict) else None
        if isinstance(agents, str):
            agents = [agents]
        if isinstance(agents, Sequence):
            raw = {**raw, "agents": [{"name": a} if isinstance(a, str) else a for a in agents]}
        return raw

    @model_validator(mode="after")
    def _coherent(self) -> Plan:
        if self.suite is None and not self.papers:
            raise ValueError("name a suite or papers")
        known = {field.name for field in dataclasses.fields(Request)} - set(PLANNED_BY_PLAN)
        if unknown := sorted(set(self.settings) - known):
            names = ", ".join(f"{name}{near(name, known)}" for name in unknown)
            raise ValueError(f"settings has no {names}; there are {', '.join(sorted(known))}")
        return self

    def of_request(self) -> dict[str, Any]:
        """Return the settings as a request takes them."""
        settings = dict(self.settings)
        if isinstance(hosts := settings.get("allow"), str | list | tuple):
            settings["allow"] = tuple(hosts.split(",") if isinstance(hosts, str) else hosts)
        return settings


@dataclass(frozen=True)
class Declared:
    """One attempt that a plan asks for: a row of the batch, however often faults make it necessary again."""

    request: Request
    suite: str
    paper: str
    label: str
    need: Decimal | None
    device: Device = "cpu"
    budget: Decimal = Decimal(0)
    """Hours granted, in CPU-hours or H100-equivalent GPU-hours by ``device``."""

    @property
    def key(self) -> str:
        """Its place below the batch's folder."""
        parts = (self.suite, self.paper, safe_name(self.label), repeat_name(self.request.repeat or 1))
        return "/".join(parts)

    def folder(self, again: int = 1) -> AttemptFolder:
        """Return the folder of its first making, or of a later one."""
        request = self.request
        parts = (safe_name(request.batch), safe_name(self.suite), safe_name(self.paper), safe_name(self.label))
        return AttemptFolder(Path(request.runs).joinpath(*parts, repeat_name(request.repeat or 1, again)))

    def made_again(self, again: int) -> Request:
        """Return the request for another making."""
        return dataclasses.replace(self.request, again=again)

    def to_json(self) -> str:
        """Return it as text, for another process."""
        return json.dumps(
            {
                "request": dataclasses.asdict(self.request),
                "suite": self.suite,
                "paper": self.paper,
                "label": self.label,
                "need": None if self.need is None else str(self.need),
                "device": self.device,
                "budget": str(self.budget),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Declared:
        """Return what :meth:`to_json` wrote."""
        raw = json.loads(text)
        given = raw["request"]
        request = Request(**{**given, **{name: tuple(given[name]) for name in ("conditions", "allow")}})
        need = None if raw["need"] is None else Decimal(raw["need"])
        budget = Decimal(raw["budget"])
        return cls(request, raw["suite"], raw["paper"], raw["label"], need, raw["device"], budget)


def load_plan(path: Path) -> Plan:
    """Read a plan from YAML or JSON.

    Raises:
        AttemptError: when it is not a plan, naming the field.
    """
    try:
        raw = read_yaml(path, digits=False)
    except CardError as problem:
        raise AttemptError(str(problem)) from None
    return make_plan(raw, str(path))


def kept_plan(file: Path) -> Plan:
    """Return the plan that a batch keeps beside its attempts.

    Raises:
        AttemptError: when it cannot be read.
    """
    try:
        raw = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as problem:
        raise AttemptError(f"{file}: the plan of the batch cannot be read: {problem}") from problem
    return make_plan(raw, str(file))


def make_plan(raw: Any, source: str = "plan") -> Plan:
    """Return a plan from plain data.

    Raises:
        AttemptError: when it is not a plan, naming the field.
    """
    try:
        return Plan.model_validate(raw)
    except ValidationError as problem:
        raise AttemptError(f"{source}: {what_is_wrong(problem, Plan)}") from None


def declare(plan: Plan, runs: Path | str) -> list[Declared]:
    """Return every attempt that a plan asks for, in the order in which they are to be made.

    Raises:
        AttemptError: when the plan asks for one twice, or for an impossible limit.
        CardError: when a suite or paper is not found.
    """
    declared, settings = [], plan.of_request()
    known = [folder.resolve() for folder in suite_folders()]
    for loaded in _cards(plan):
        name = _name(loaded, known)
        for agent in plan.agents:
            for conditions in plan.conditions:
                for repeat in range(1, plan.repeats + 1):
                    request = Request(
                        paper=name,
                        agent=agent.name,
                        model=agent.model,
                        options=dict(agent.options),
                        runs=str(runs),
                        batch=plan.name,
                        repeat=repeat,
                        conditions=tuple(conditions),
                        **settings,
                    )
                    label = agent_label(agent.name, agent.model, conditions)
                    need = loaded.card.need.hours
                    budget = limits_of(request, loaded.card).budget_hours
                    place = (suite_name(loaded), loaded.card.id, label)
                    declared.append(Declared(request, *place, need, loaded.card.device, budget))
    keys = [one.key for one in declared]
    if twice := {key for key in keys if keys.count(key) > 1}:
        raise AttemptError(f"the plan asks twice for {', '.join(sorted(twice))}; tell the agents apart by model")
    if plan.order == "cheapest":
        # What the audit could not tell comes last, not first.
        declared.sort(key=lambda one: (one.need is None, one.need or Decimal(0)))
    return declared


def _name(loaded: LoadedCard, known: list[Path]) -> str:
    """Return what a card is found by again, also by another process: its place where its suite is not a known one."""
    file = loaded.path.resolve()
    return loaded.name if any(file.is_relative_to(folder) for folder in known) else str(file)


def _cards(plan: Plan) -> list[LoadedCard]:
    cards = [*(find_suite(plan.suite).cards if plan.suite else ()), *map(find_paper, plan.papers)]
    return [
        loaded
        for loaded in cards
        if (plan.include_broken or loaded.card.audit.state != "broken")
        and (plan.include_provisional or not loaded.card.provisional)
    ]


def differing_fields(old: Plan, new: Plan) -> list[str]:
    """Return the names of what changed between two plans that makes their attempts differ in meaning.

    More papers, agents, conditions or repeats only add attempts, and the order changes none.
    """
    before, after = old.settings, new.settings
    names = sorted({*before, *after})
    return [f"settings.{name}" for name in names if before.get(name) != after.get(name)]
