"""``reclaim agents``: who can write cells."""

from __future__ import annotations

import typer

from reclaim_nb.commands import screen
from reclaim_nb.commands.attempt import AsJson

agents = typer.Typer(help="The agents that are installed.", no_args_is_help=True, rich_markup_mode=None)


@agents.callback()
def _group() -> None:
    """The agents that are installed."""


@agents.command("list")
def list_agents(as_json: AsJson = False) -> None:
    """List the agents: which can run here, in which version, and how to get the others.

    Of a command that is installed it is told what the command can reach beside the attempt's own tools.
    """
    from reclaim_nb.agents.listing import list_agents as find_agents

    found = find_agents()
    if as_json:
        screen.print_json({"agents": [agent.to_json() for agent in found]})
        return
    table = screen.table("agent", "kind", "installed", "version", "what it does, reaches, or how to get it")
    for agent in found:
        note = agent.note if agent.installed else f"missing: {agent.note}"
        off = f" Switched off: {agent.switched_off}." if agent.installed and agent.switched_off else ""
        table.add_row(agent.name, agent.kind, "yes" if agent.installed else "no", agent.version or "-", note + off)
    screen.screen().print(table)
