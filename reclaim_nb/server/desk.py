"""A person's attempt as the lab works on it: where its working notebook is, handing in and closing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any, Literal

from jupyter_server.auth.decorator import authorized
from pydantic import BaseModel, ConfigDict, Field
from tornado.web import authenticated

from reclaim_nb.agents.desk_client import DESK, NOTEBOOK, DeskGone, DeskLine
from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.server.handlers import Handler, answers
from reclaim_nb.server.places import Places
from reclaim_nb.server.processes import Refused

PATIENCE_SECONDS = 5.0
"""How long a runner that is starting or ending is waited for."""


class DeskBody(BaseModel):
    """What a person asks of the runner of an attempt of theirs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    do: Literal["submit", "close"]
    value: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Of ``submit``: the measured number as text, None when there is none."""
    cell: Annotated[str, Field(min_length=1, max_length=120)] | None = None
    note: Annotated[str, Field(max_length=2000)] = ""


def desk(places: Places, folder: AttemptFolder) -> dict[str, Any]:
    """Return where a person works on an attempt, and whether its runner takes cells now."""
    path = folder.path / NOTEBOOK
    return {
        "contents_path": places.path_of(path) if path.is_file() else None,
        "open": (folder.path / DESK).exists(),
    }


def is_working_notebook(file: Path) -> bool:
    """Tell whether a file is a person's working notebook, the one file of an attempt that a person saves."""
    return file.name == NOTEBOOK and file.is_file()


def ask(folder: AttemptFolder, body: DeskBody) -> dict[str, Any]:
    """Ask the runner, and return ``state`` (``over`` or ``told``) and the ``text`` of its answer.

    Raises:
        Refused: when nobody listens, or the runner does not take it.
    """
    try:
        line = DeskLine(folder.path, PATIENCE_SECONDS)
        try:
            answer = line.ask(body.do, value=body.value, cell=body.cell, note=body.note)
        finally:
            line.close()
    except DeskGone as problem:
        raise Refused(str(problem)) from None
    if answer["is"] == "refused":
        raise Refused(str(answer["text"]))
    if answer["is"] == "told":
        return {"state": "told", "text": str(answer["text"])}
    return {"state": "over", "text": str(answer.get("detail") or answer.get("reason") or "closed by the person")}


class DeskHandler(Handler):
    """The desk of one attempt."""

    @authenticated
    @authorized
    @answers
    async def get(self, name: str) -> None:
        folder = self.places.attempt(name)
        self.tell(await asyncio.to_thread(desk, self.places, folder))

    @authenticated
    @authorized
    @answers
    async def post(self, name: str) -> None:
        folder = self.places.attempt(name)
        answer = await asyncio.to_thread(ask, folder, self.body(DeskBody))
        self.watch.soon()
        self.tell(answer, 202)
