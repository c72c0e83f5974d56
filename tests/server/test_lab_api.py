"""The REST addresses: what they answer, to whom, and what they refuse; against ``openapi.yaml``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from lab_papers import ATTEMPT, json_schema
from tornado.httpclient import HTTPClientError, HTTPResponse

import reclaim_nb.server
from reclaim_nb.record.folder import AttemptFolder, is_held
from reclaim_nb.record.index import row_of
from reclaim_nb.server.extension import ROUTES

API = yaml.safe_load((Path(reclaim_nb.server.__file__).parent / "openapi.yaml").read_text("utf-8"))
Fetch = Callable[..., Awaitable[HTTPResponse]]


def schema(name: str) -> dict[str, Any]:
    return json_schema(API, name)


async def get(fetch: Fetch, address: str, model: str) -> dict[str, Any]:
    answer = json.loads((await fetch("reclaim", "api", *address.split("/"))).body)
    jsonschema.validate(answer, schema(model))
    found: dict[str, Any] = answer
    return found


async def refused(call: Awaitable[HTTPResponse]) -> tuple[int, str]:
    with pytest.raises(HTTPClientError) as caught:
        await call
    assert caught.value.response is not None
    answer = json.loads(caught.value.response.body)
    jsonschema.validate(answer, schema("Message"))
    return caught.value.code, answer["message"]


def post(fetch: Fetch, address: str, body: Any) -> Awaitable[HTTPResponse]:
    text = body if isinstance(body, str) else json.dumps(body)
    return fetch("reclaim", "api", *address.split("/"), method="POST", body=text)


def test_file_names_every_address_and_method_and_no_other() -> None:
    """The OpenAPI file and the handlers agree."""
    methods = {
        address: {name for name in ("get", "post", "put", "patch", "delete") if name in handler.__dict__}
        for address, _, handler in ROUTES
    }
    named = {
        address: {method for method in entry if method not in ("parameters",)}
        for address, entry in API["paths"].items()
    }
    assert methods == named


async def test_reading(jp_fetch: Fetch, runs: Path) -> None:
    status = await get(jp_fetch, "status", "Status")
    assert status["runs"] == str(runs) and status["runs_path"] == "runs"

    suites = (await get(jp_fetch, "suites", "Suites"))["suites"]
    (tiny,) = [suite for suite in suites if suite["name"] == "tiny"]
    assert [paper["id"] for paper in tiny["papers"]] == ["good", "slow"]
    assert tiny["papers"][0]["criterion"] == "3.9 to 4.1 count, bounds included"
    assert "small" in {suite["name"] for suite in suites}

    card = await get(jp_fetch, "papers/tiny/good", "Card")
    assert card["scale"]["band"] == {
        "low": "3.9",
        "high": "4.1",
        "open": False,
        "text": "3.9 to 4.1 count, bounds included",
        "tolerance": "0.1",
    }
    assert card["scale"]["baseline"]["value"] == "3" and card["scale"]["siblings"][0]["value"] == "4.5"

    listed = await get(jp_fetch, "attempts", "Attempts")
    (row,) = listed["attempts"]
    assert (row["path"], row["state"], row["outcome"]) == (ATTEMPT, "ended", "reproduced")

    found = await get(jp_fetch, f"attempts/{ATTEMPT}", "AttemptDetail")
    assert found["contents_path"] == f"runs/{ATTEMPT}/attempt.ipynb"
    assert found["verdicts"][0]["verdict"]["value"] == "4.0"
    assert found["verdicts"][0]["verdict"]["citations"]
    assert found["paper"]["scale"]["target"] == "4.0"
    assert found["spec"]["kernel"]["kind"] == "local"

    options = await get(jp_fetch, "options", "Options")
    assert [kernel["name"] for kernel in options["kernels"]] == ["local"]
    assert "command" not in {agent["name"] for agent in options["agents"]}


async def test_record_check_finds_an_edited_cell(jp_fetch: Fetch, runs: Path) -> None:
    assert (await get(jp_fetch, f"records/{ATTEMPT}", "Record"))["state"] == "sound"

    file = runs / ATTEMPT / "attempt.ipynb"
    notebook = json.loads(file.read_text("utf-8"))
    cell = next(cell for cell in notebook["cells"] if cell["metadata"].get("replays") == "measure")
    cell["source"] = ["sum = 4"]
    file.write_text(json.dumps(notebook), "utf-8")

    check = await get(jp_fetch, f"records/{ATTEMPT}", "Record")
    assert check["state"] == "broken" and check["cells"] == [cell["id"]]


@pytest.mark.parametrize("address", sorted({address for address, _, _ in ROUTES}))
async def test_nothing_is_told_without_authentication(
    http_server_client: Any, jp_base_url: str, runs: Path, address: str
) -> None:
    filled = address.format(suite="tiny", paper="good", attempt=ATTEMPT, batch="single")
    for method in API["paths"][address]:
        if method == "parameters":
            continue
        body = "{}" if method == "post" else None
        with pytest.raises(HTTPClientError) as caught:
            await http_server_client.fetch(
                f"{jp_base_url.rstrip('/')}{filled}", method=method.upper(), body=body, follow_redirects=False
            )
        assert caught.value.code in (302, 403)
        assert ATTEMPT not in (caught.value.response.body or b"").decode("utf-8", "replace")


@pytest.mark.parametrize(
    "name",
    [
        "../../../../etc",
        "single/tiny/good/replay/..",
        "single/tiny/good/..%2F..%2F..%2F..%2Fetc/01",
        "single/tiny/good/replay/02",
        "single/tiny/good/link/01",
        ".hidden/tiny/good/replay/01",
        "single/tiny/good/" + "x" * 300 + "/01",
    ],
)
async def test_names_lead_nowhere_else(jp_fetch: Fetch, runs: Path, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside" / "01"
    outside.mkdir(parents=True)
    (outside / "stream.jsonl").write_text("secret\n")
    (runs / "single/tiny/good/link").symlink_to(outside.parent)
    for kind in ("attempts", "records"):
        with pytest.raises(HTTPClientError) as caught:
            await jp_fetch("reclaim", "api", kind, *name.split("/"))
        assert caught.value.code == 404
        assert b"secret" not in (caught.value.response.body if caught.value.response else b"")


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        ("not json", 400, "JSON"),
        ("[]", 400, "object"),
        ({}, 400, "paper"),
        ({"paper": "/etc/passwd"}, 400, "paper"),
        ({"paper": "tiny/../good"}, 400, "paper"),
        ({"paper": "tiny/none", "kernel": "local"}, 400, "no paper"),
        ({"paper": "tiny/good", "runs": "/tmp"}, 400, "runs"),
        ({"paper": "tiny/good", "kernel": "docker"}, 400, "may not be started here"),
        ({"paper": "tiny/good", "kernel": "auto"}, 400, "name the kernel"),
        ({"paper": "tiny/good", "kernel": "local", "agent": "command"}, 400, "may not be started here"),
        ({"paper": "tiny/good", "kernel": "local", "conditions": ["luck"]}, 400, "condition"),
        ({"paper": "tiny/good", "kernel": "local", "budget_hours": -1}, 400, "budget_hours"),
        ({"paper": "tiny/good", "kernel": "local", "options": {"notebook": "/etc/passwd"}}, 400, "outside"),
        ({"paper": "tiny/good", "kernel": "local", "options": {"nonsense": 1}}, 409, "no option"),
        ("x" * 70_000, 413, "bytes"),
    ],
)
async def test_only_what_is_configured_is_started(
    jp_fetch: Fetch, runs: Path, body: Any, code: int, words: str
) -> None:
    status, message = await refused(post(jp_fetch, "attempts", body))
    assert status == code and words in message
    assert len((await get(jp_fetch, "attempts", "Attempts"))["attempts"]) == 1


async def test_an_attempt_is_started_and_stopped(jp_fetch: Fetch, runs: Path) -> None:
    answer = json.loads(
        (await post(jp_fetch, "attempts", {"paper": "tiny/slow", "kernel": "local", "budget_hours": 0.02})).body
    )
    jsonschema.validate(answer, schema("Started"))
    folder = AttemptFolder(runs / answer["path"])
    while not folder.stream.exists():
        await asyncio.sleep(0.05)
    assert is_held(folder)

    status, message = await refused(post(jp_fetch, "attempts", {"paper": "tiny/good", "kernel": "local"}))
    assert status == 409 and "slots" in message
    status, message = await refused(post(jp_fetch, f"actions/{answer['path']}", {"action": "resume"}))
    assert status == 409 and "nothing to resume" in message

    await post(jp_fetch, f"actions/{answer['path']}", {"action": "stop"})
    while is_held(folder):
        await asyncio.sleep(0.05)
    row = row_of(folder)
    assert row.reason == "cancelled" and row.budget_hours == "0.02"
    status, message = await refused(post(jp_fetch, f"actions/{answer['path']}", {"action": "stop"}))
    assert status == 409 and "nothing to stop" in message


async def test_grading_adds_a_verdict(jp_fetch: Fetch, runs: Path) -> None:
    verdict = runs / ATTEMPT / "verdict.rules.json"
    verdict.unlink()
    assert (await post(jp_fetch, f"actions/{ATTEMPT}", {"action": "grade"})).code == 202
    assert json.loads(verdict.read_text("utf-8"))["outcome"] == "reproduced"
    status, _ = await refused(post(jp_fetch, f"actions/{ATTEMPT}", {"action": "delete"}))
    assert status == 400


async def test_the_file_browser_cannot_save_over_a_record(jp_fetch: Fetch, runs: Path) -> None:
    path = f"runs/{ATTEMPT}/attempt.ipynb"
    before = (runs / ATTEMPT / "attempt.ipynb").read_bytes()
    model = json.loads((await jp_fetch("api", "contents", path)).body)
    with pytest.raises(HTTPClientError) as caught:
        await jp_fetch("api", "contents", path, method="PUT", body=json.dumps(model))
    assert caught.value.code == 403
    assert (runs / ATTEMPT / "attempt.ipynb").read_bytes() == before

    copy = {"type": "notebook", "content": model["content"], "format": "json"}
    assert (await jp_fetch("api", "contents", "copy.ipynb", method="PUT", body=json.dumps(copy))).code == 201
