"""The protocol of an agent, and finding agents by name."""

from __future__ import annotations

from typing import Any, Protocol, cast

from reclaim_nb.attempts.session import Session
from reclaim_nb.attempts.spec import AgentSpec
from reclaim_nb.errors import AttemptError
from reclaim_nb.near import near
from reclaim_nb.papers.loading import LoadedCard
from reclaim_nb.plugins import registered

GROUP = "reclaim_nb.agents"


class Agent(Protocol):
    """Writes the cells of an attempt through the session's tools.

    ``write`` returns when the agent wants to stop; a tool raises :class:`~reclaim_nb.attempts.tools.AttemptOver` when
    the attempt has ended, which the agent lets pass. After a resume ``write`` is called again with the cells so far in
    ``session.cells``, and goes on from there.
    """

    async def write(self, session: Session) -> None:
        """Write cells until done."""


class AgentFactory(Protocol):
    """Makes an agent for one attempt."""

    def __call__(self, options: dict[str, Any], card: LoadedCard) -> Agent:
        """Return an agent.

        Args:
            options: what the spec says about it.
            card: the paper and its folder.

        Raises:
            AttemptError: when an option is wrong or something the agent needs is missing.
        """


def agent_names() -> list[str]:
    """Return the names of the agents that are installed."""
    return sorted({entry.name for entry in registered(GROUP)})


def make_agent(spec: AgentSpec, card: LoadedCard) -> Agent:
    """Return the agent of a spec; its model, where one is named, is the option ``model``.

    Raises:
        AttemptError: when there is none, with the names there are.
    """
    model = {"model": spec.model} if spec.model else {}
    return find_agent(spec.name)({**spec.options, **model}, card)


def find_agent(name: str) -> AgentFactory:
    """Return what makes the agent of a name.

    Raises:
        AttemptError: when there is none, with the names there are.
        ImportError: when it is of another package and misses something.
    """
    for entry in registered(GROUP):
        if entry.name == name:
            return cast(AgentFactory, entry.load())
    raise AttemptError(f"there is no agent {name!r}{near(name, agent_names())}; there are {', '.join(agent_names())}")
