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
    """List the agents, each with a sentence."""
    from importlib.metadata import entry_points

    from reclaim_nb.attempts.agent import GROUP

    found = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            text = (entry.load().__doc__ or "").strip().partition("\n")[0]
            found.append({"name": entry.name, "text": text, "problem": None})
        except ImportError as problem:  # an agent of another package, without what it needs
            found.append({"name": entry.name, "text": "", "problem": str(problem)})
    if as_json:
        screen.print_json({"agents": found})
        return
    table = screen.table("agent", "what it does")
    for one in found:
        table.add_row(one["name"], one["text"] if one["problem"] is None else f"cannot be loaded: {one['problem']}")
    screen.screen().print(table)
