"""The agent that plays the cells of a notebook: a reference attempt, or somebody's work made anew."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reclaim_nb.attempts.session import Session
from reclaim_nb.errors import AttemptError, WrongOption
from reclaim_nb.papers.loading import LoadedCard

ORIGIN = "replays"
"""Cell metadata that names the cell of the source notebook."""


@dataclass(frozen=True)
class _Cell:
    origin: str
    type: str
    source: str


class Replay:
    """Plays a notebook's cells in order, one at a time; tools are called from the cells themselves.

    Options:
        notebook: path of the notebook; without it the ``solution.ipynb`` beside the card.
    """

    def __init__(self, options: dict[str, Any], card: LoadedCard) -> None:
        unknown = set(options) - {"notebook"}
        if unknown:
            raise WrongOption(f"the agent replay has no option {', '.join(sorted(unknown))}; it has: notebook")
        path = Path(options["notebook"]) if options.get("notebook") else card.path.parent / "solution.ipynb"
        if not path.exists():
            raise AttemptError(f"{path}: no notebook to replay; name one with --option notebook=PATH")
        self._cells = _read(path)

    async def write(self, session: Session) -> None:
        """Play what has not been played; a cell that a dead runner interrupted is played again as a new cell."""
        played = {
            summary.metadata.get(ORIGIN)
            for summary in session.cells.values()
            if summary.author == "agent" and summary.status not in ("interrupted", "not_run", "killed")
        }
        for cell in self._cells:
            if cell.origin in played:
                continue
            if cell.type == "markdown":
                await session.write_markdown(cell.source, metadata={ORIGIN: cell.origin})
            else:
                await session.run_cell(cell.source, metadata={ORIGIN: cell.origin})


def _read(path: Path) -> list[_Cell]:
    try:
        notebook = json.loads(path.read_text("utf-8"))
        cells = [
            _Cell(str(cell.get("id", index)), cell["cell_type"], "".join(cell["source"]))
            for index, cell in enumerate(notebook["cells"])
        ]
    except (ValueError, KeyError, TypeError) as problem:
        raise AttemptError(f"{path}: not a notebook ({problem})") from problem
    return [cell for cell in cells if cell.type in ("code", "markdown") and cell.source.strip()]
