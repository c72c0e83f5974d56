"""The agent that plays a notebook: in order, as it stands, and each cell once."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from agent_helpers import PAPER, events, make

from reclaim_nb.agents.replay import ORIGIN, Replay
from reclaim_nb.attempts.cells import CellSummary
from reclaim_nb.attempts.runner import Finished
from reclaim_nb.errors import AttemptError
from reclaim_nb.papers.suite import find_paper


def cell(name: str, source: str, kind: str = "code") -> dict[str, Any]:
    return {"cell_type": kind, "id": name, "metadata": {}, "source": source.splitlines(keepends=True)}


def notebook(folder: Path, *cells: dict[str, Any]) -> str:
    path = folder / "source.ipynb"
    path.write_text(json.dumps({"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return str(path)


def replay(folder: Path, *cells: dict[str, Any]) -> Finished:
    options = {"notebook": notebook(folder, *cells)}
    return make(folder / "runs", None, agent="replay", model=None, options=options)


@pytest.mark.slow
def test_cells_are_played_in_order_as_they_stand_until_one_hands_in(tmp_path: Path) -> None:
    finished = replay(
        tmp_path,
        cell("a", "# A title\n", "markdown"),
        cell("b", "x = 20\ny = 22"),
        cell("c", "  \n"),
        cell("d", "not for anybody", "raw"),
        cell("e", "1 / 0"),
        cell("f", "print(x + y)\nattempt.submit(x + y)"),
        cell("g", "print('too late')"),
    )
    assert finished.reason == "submitted"
    written = [event.data for event in events(finished, "cell") if event.data["author"] == "agent"]
    assert [(data["metadata"][ORIGIN], data["source"]) for data in written] == [
        ("a", "# A title\n"),
        ("b", "x = 20\ny = 22"),
        ("e", "1 / 0"),
        ("f", "print(x + y)\nattempt.submit(x + y)"),
    ]
    assert [event.data["status"] for event in events(finished, "cell_end")][-3:] == ["ok", "error", "ok"]
    assert finished.notebook["metadata"]["reclaim"]["submission"]["value"] == "42"


@pytest.mark.slow
def test_a_notebook_that_hands_nothing_in_ends_as_stopped(tmp_path: Path) -> None:
    finished = replay(tmp_path, cell("a", "print(6 * 7)"))
    assert (finished.reason, finished.detail) == ("agent_stopped", None)


class Noting:
    """Stands where a session does and notes what it is asked for; the real one is above."""

    def __init__(self, *cells: CellSummary) -> None:
        self.cells = {one.cell: one for one in cells}
        self.asked: list[str] = []

    async def run_cell(self, source: str, timeout: float | None = None, *, metadata: dict[str, Any]) -> None:
        self.asked.append(metadata[ORIGIN])

    async def write_markdown(self, text: str, *, metadata: dict[str, Any]) -> None:
        self.asked.append(metadata[ORIGIN])


async def _asked(agent: Replay, *cells: CellSummary) -> list[str]:
    session = Noting(*cells)
    await agent.write(session)  # type: ignore[arg-type]
    return session.asked


@pytest.mark.parametrize(
    ("status", "again"), [("ok", False), ("error", False), ("interrupted", True), ("not_run", True), ("killed", True)]
)
def test_after_a_resume_only_what_did_not_end_is_played_again(tmp_path: Path, status: str, again: bool) -> None:
    agent = Replay({"notebook": notebook(tmp_path, cell("a", "1"), cell("b", "2"))}, find_paper(PAPER))
    played = CellSummary("x", "agent", "code", "1", {ORIGIN: "a"}, status)
    theirs = dataclasses.replace(played, cell="y", author="harness", metadata={ORIGIN: "b"}, status="ok")
    assert asyncio.run(_asked(agent, played, theirs)) == (["a", "b"] if again else ["b"])


def test_without_a_notebook_it_plays_the_solution_beside_the_card() -> None:
    card = find_paper(PAPER)
    solution = json.loads((card.path.parent / "solution.ipynb").read_text())
    expected = [c for c in solution["cells"] if c["cell_type"] in ("code", "markdown") and "".join(c["source"]).strip()]
    assert len(asyncio.run(_asked(Replay({}, card)))) == len(expected) > 2


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"notebook": "/nowhere.ipynb"}, "no notebook to replay"),
        ({"book": "x"}, "no option book"),
        ({"notebook": __file__}, "not a notebook"),
    ],
)
def test_wrong_options_are_told_before_anything_begins(tmp_path: Path, options: dict[str, Any], told: str) -> None:
    with pytest.raises(AttemptError, match=told):
        make(tmp_path, None, agent="replay", model=None, options=options)
    assert not list(tmp_path.iterdir())
