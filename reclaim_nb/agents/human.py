"""The agent that is a person: a working notebook in Jupyter writes the cells, this process records them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from reclaim_nb.agents.desk import Desk
from reclaim_nb.agents.desk_client import KERNEL, NOTEBOOK
from reclaim_nb.attempts.prompts import fill
from reclaim_nb.attempts.session import Session
from reclaim_nb.data import data_folder
from reclaim_nb.errors import WrongOption
from reclaim_nb.papers.loading import LoadedCard
from reclaim_nb.record.files import write_atomic

NOTICE = "RECLAIM_DESK_NOTICE"
"""Variable that names a file; the attempt folder is written into it once the person can begin."""


class HumanOptions(BaseModel):
    """Options of the agent ``human``.

    Attributes:
        person: a name or pseudonym that tells people apart; it is recorded.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    person: str | None = None


class Human:
    """Lets a person write the cells from a working notebook (`reclaim attempt open`)."""

    def __init__(self, options: dict[str, Any], card: LoadedCard) -> None:
        try:
            HumanOptions.model_validate(options)
        except ValidationError as problem:
            names = ", ".join(HumanOptions.model_fields)
            raise WrongOption(f"options of the agent human: {problem.errors()[0]['msg']}; there are {names}") from None

    async def write(self, session: Session) -> None:
        """Take cells until the person submits or closes, or a limit is reached."""
        folder = session.recorder.folder
        path = folder.path / NOTEBOOK
        if not path.exists():
            write_atomic(path, json.dumps(working_notebook(session), indent=1).encode())
        async with Desk(session) as desk:
            if notice := os.environ.get(NOTICE):
                write_atomic(Path(notice), str(folder.path.absolute()).encode())
            await desk.until_over()


def working_notebook(session: Session) -> dict[str, Any]:
    """Return the notebook in which a person works: what every agent is told, and an empty cell."""
    folder, prompts = session.recorder.folder, session.prompts
    about = fill((data_folder("templates") / "human.md").read_text("utf-8"), {"notebook": folder.notebook.name})
    cells: list[dict[str, Any]] = [
        {"cell_type": "markdown", "id": name, "metadata": {}, "source": text}
        for name, text in (("about", about), ("rules", prompts.system), ("task", prompts.task))
    ]
    code: dict[str, Any] = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
    cells += [{**code, "id": "budget", "source": "attempt.budget()"}, {**code, "id": "first", "source": ""}]
    kernel = {"name": KERNEL, "display_name": "RECLAIM (attempt)", "language": "python"}
    reclaim = {"attempt": session.spec.id, "working": True}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}, "reclaim": reclaim}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
