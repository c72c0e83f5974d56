"""A person's attempt by the REST addresses: begun, worked on, handed in, graded; and who is refused."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from lab_papers import ATTEMPT
from test_lab_api import Fetch, get, post, refused, schema

from reclaim_nb.agents.desk_client import DeskLine
from reclaim_nb.record.folder import AttemptFolder, is_held
from reclaim_nb.record.index import row_of

HUMAN = {"paper": "tiny/good", "kernel": "local", "agent": "human", "options": {"person": "anna"}}


async def begin(fetch: Fetch, runs: Path, **more: Any) -> tuple[str, AttemptFolder]:
    path = json.loads((await post(fetch, "attempts", HUMAN | more)).body)["path"]
    while not (await get(fetch, f"desk/{path}", "Desk"))["open"]:
        await asyncio.sleep(0.1)
    return path, AttemptFolder(runs / path)


def execute(folder: AttemptFolder, source: str) -> dict[str, Any]:
    line = DeskLine(folder.path)
    line.send("execute", source=source, cell="a")
    while (answer := line.receive())["is"] == "message":
        pass
    line.close()
    return answer


async def ask(fetch: Fetch, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = json.loads((await post(fetch, f"desk/{path}", body)).body)
    jsonschema.validate(answer, schema("DeskAnswer"))
    found: dict[str, Any] = answer
    return found


async def test_a_person_begins_works_hands_in_and_is_graded(jp_fetch: Fetch, runs: Path) -> None:
    path, folder = await begin(jp_fetch, runs)
    desk = await get(jp_fetch, f"desk/{path}", "Desk")
    assert desk["contents_path"] == f"runs/{path}/work.ipynb"
    source = "mean = 4.003\nprint(f'mean of the draws = {mean}')"
    assert (await asyncio.to_thread(execute, folder, source))["status"] == "ok"

    # The person's notebook is theirs to save; the record beside it is nobody's.
    for name, code in (("work.ipynb", 200), ("attempt.ipynb", 403)):
        model = json.loads((await jp_fetch("api", "contents", f"runs/{path}/{name}")).body)
        saved = jp_fetch("api", "contents", f"runs/{path}/{name}", method="PUT", body=json.dumps(model))
        if code == 200:
            assert (await saved).code == 200
        else:
            assert (await refused_code(saved)) == code

    status, message = await refused(post(jp_fetch, f"desk/{path}", {"do": "submit", "value": "many"}))
    assert status == 409 and "not a number" in message
    answer = await ask(jp_fetch, path, {"do": "submit", "value": "4.003", "note": "the mean"})
    assert answer["state"] == "over"
    while not folder.verdicts():
        await asyncio.sleep(0.1)
    row = row_of(folder)
    assert (row.agent, row.reason, row.submitted, row.verdicts) == ("human", "submitted", "4.003", 1)
    assert await get(jp_fetch, f"desk/{path}", "Desk") == desk | {"open": False}
    status, message = await refused(post(jp_fetch, f"desk/{path}", {"do": "close"}))
    assert status == 409 and "has ended: submitted" in message


async def refused_code(call: Any) -> int:
    from tornado.httpclient import HTTPClientError

    with pytest.raises(HTTPClientError) as caught:
        await call
    return caught.value.code


async def test_a_person_closes_and_is_told_once_where_the_condition_says_so(jp_fetch: Fetch, runs: Path) -> None:
    path, folder = await begin(jp_fetch, runs, conditions=["nudge"])
    answer = await ask(jp_fetch, path, {"do": "close"})
    assert answer["state"] == "told" and "CPU-hours" in answer["text"]
    assert (await ask(jp_fetch, path, {"do": "close"}))["state"] == "over"
    while is_held(folder):
        await asyncio.sleep(0.1)
    assert row_of(folder).reason == "agent_stopped"


async def test_an_attempt_that_is_no_persons_has_no_desk(jp_fetch: Fetch, runs: Path) -> None:
    assert await get(jp_fetch, f"desk/{ATTEMPT}", "Desk") == {"contents_path": None, "open": False}
    status, message = await refused(post(jp_fetch, f"desk/{ATTEMPT}", {"do": "submit", "value": "1"}))
    assert status == 409 and "has ended" in message
    # Nor can one be made by saving a file of that name.
    new = {"type": "notebook", "format": "json", "content": {"cells": [], "metadata": {}, "nbformat": 4}}
    path = f"runs/{ATTEMPT}/work.ipynb"
    assert await refused_code(jp_fetch("api", "contents", path, method="PUT", body=json.dumps(new))) == 403
