"""A plan looked at as a whole before anything of it is kept: one mistake is told once, not by every attempt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from reclaim_nb.attempts.agent import make_agent
from reclaim_nb.attempts.conditions import check_conditions
from reclaim_nb.attempts.prepare import Request, check_batch_name, kernel_facts
from reclaim_nb.attempts.spec import AgentSpec
from reclaim_nb.batch.plan import AgentPlan, Declared, Plan, declare
from reclaim_nb.errors import AttemptError, ReclaimError
from reclaim_nb.kernels.gpu import choose_gpus
from reclaim_nb.papers.loading import LoadedCard, what_is_wrong
from reclaim_nb.papers.suite import find_paper

T = TypeVar("T")


def declare_checked(
    plan: Plan, runs: Path | str, gpus: Sequence[str] | None = None, *, here: bool = True
) -> list[Declared]:
    """Return every attempt that a plan asks for, and refuse a plan by which nothing could be begun.

    What holds for some papers and not for others, as a notebook to replay, is left to their attempts.

    Args:
        plan: the plan.
        runs: folder of all attempts.
        gpus: ids of the GPUs that are handed out; default: all of this machine.
        here: the attempts run on this machine, so its engine and devices are asked too.

    Raises:
        AttemptError: naming what is wrong, and what there is.
        CardError: when a suite or paper is not found.
        KernelError: when this machine has not what is asked for.
    """
    check_batch_name(plan.name)
    for conditions in plan.conditions:
        check_conditions(conditions)
    _check_settings(plan)
    declared = declare(plan, runs)
    if not declared:
        raise AttemptError(f"the plan {plan.name!r} declares no attempt: no card of it counts in rates")
    missing = [one for one in declared if not one.folder().path.exists()]
    cards = {one.request.paper: find_paper(one.request.paper) for one in missing}
    for agent in plan.agents:
        _one_works(cards.values(), partial(_make, agent))
    if here:
        if gpus:
            choose_gpus(gpus)
        of_device = {one.device: one.request for one in missing}
        _one_works(of_device.items(), lambda one: kernel_facts(one[1], one[0], cards[one[1].paper].card))
    return declared


@cache
def _settings() -> type[BaseModel]:
    """Return the fields of a request as a model, which takes no text for a number."""
    fields: dict[str, Any] = {name: (hint, None) for name, hint in get_type_hints(Request, include_extras=True).items()}
    return create_model("Settings", __config__=ConfigDict(strict=True, extra="forbid"), **fields)


def _check_settings(plan: Plan) -> None:
    try:
        _settings().model_validate(plan.of_request())
    except ValidationError as problem:
        wrong = what_is_wrong(problem, _settings())
        raise AttemptError(f"settings of the plan {plan.name!r}: {wrong}") from None


def _make(agent: AgentPlan, loaded: LoadedCard) -> None:
    try:
        make_agent(AgentSpec(name=agent.name, model=agent.model, options=agent.options), loaded)
    except ImportError as problem:
        raise AttemptError(f"the agent {agent.name!r} cannot be loaded: {problem}") from problem


def _one_works(things: Iterable[T], attempt: Callable[[T], object]) -> None:
    """Raise the first problem when there are only problems."""
    first: ReclaimError | None = None
    for thing in things:
        try:
            attempt(thing)
            return
        except ReclaimError as problem:
            first = first or problem
    if first is not None:
        raise first
