"""Running a measurement again from the server: in its own process, its verdict beside the others."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from lab_papers import ATTEMPT
from lab_requests import Fetch, get, post, refused

from reclaim_nb.record.folder import AttemptFolder, Lock
from reclaim_nb.server import processes
from reclaim_nb.server.again import LOCK, STATE


@pytest.fixture
def jp_server_config(jp_server_config: dict[str, Any], request: pytest.FixtureRequest) -> dict[str, Any]:
    jp_server_config["ReclaimServer"] |= getattr(request, "param", {})
    return jp_server_config


async def ended(fetch: Fetch) -> dict[str, Any]:
    while True:
        found = await get(fetch, f"attempts/{ATTEMPT}", "AttemptDetail")
        # Its process may live a little longer, and counts as one that runs.
        if not found["reexecution"]["running"] and not processes.again():
            return found
        await asyncio.sleep(0.2)


async def test_a_measurement_is_run_again_and_its_verdict_stands_beside_the_others(jp_fetch: Fetch, runs: Path) -> None:
    before = await get(jp_fetch, f"attempts/{ATTEMPT}", "AttemptDetail")
    nothing = {"running": False, "whole": None, "started": None, "ended": None, "problem": None, "results": []}
    assert before["reexecution"] == nothing

    assert (await post(jp_fetch, f"actions/{ATTEMPT}", {"action": "reexecute"})).code == 202
    during = await get(jp_fetch, f"attempts/{ATTEMPT}", "AttemptDetail")
    assert during["reexecution"]["running"] and not during["reexecution"]["results"]
    status, message = await refused(post(jp_fetch, f"actions/{ATTEMPT}", {"action": "reexecute"}))
    assert status == 409 and "slots" in message

    after = await ended(jp_fetch)
    assert after["reexecution"]["problem"] is None
    (one,) = after["reexecution"]["results"]
    result = one["result"]
    assert (result["what"], result["kernel"], result["agrees"], result["constant"]) == (
        "cell",
        "reclaim-local",
        True,
        False,
    )
    assert result["changed"] == ["draws"] and result["original"] == result["again"]
    files = [one["file"] for one in after["verdicts"]]
    assert files == ["verdict.rules.json", "verdict.rules+reexecution.json"]
    assert after["verdicts"][1]["verdict"]["outcome"] == "reproduced"
    assert (await get(jp_fetch, f"records/{ATTEMPT}", "Record"))["state"] == "sound"


async def test_what_went_wrong_is_kept(jp_fetch: Fetch, runs: Path) -> None:
    folder = AttemptFolder(runs / ATTEMPT)
    status, message = await refused(post(jp_fetch, f"actions/{ATTEMPT}", {"action": "grade", "whole": True}))
    assert status == 400 and "reexecute" in message

    lock = Lock(folder, LOCK)
    lock.take()
    try:
        status, message = await refused(post(jp_fetch, f"actions/{ATTEMPT}", {"action": "reexecute"}))
        assert status == 409 and "wait for its verdict" in message
    finally:
        lock.release()

    whole = folder.stream.read_bytes()
    folder.stream.write_bytes(whole.replace(b"mean of the draws", b"mean of the drawn", 1))
    status, message = await refused(post(jp_fetch, f"actions/{ATTEMPT}", {"action": "reexecute"}))
    assert status == 409 and "void" in message
    assert "void" in (await ended(jp_fetch))["reexecution"]["problem"]

    # A process that was killed has left no end.
    (folder.path / STATE).write_text(json.dumps({"whole": False, "started": "2026-01-01T00:00:00.000000Z"}), "utf-8")
    assert "runner.log" in (await ended(jp_fetch))["reexecution"]["problem"]


@pytest.mark.parametrize("jp_server_config", [{"kernels": ["docker"]}], indirect=True)
async def test_only_in_a_kernel_that_may_be_started(jp_fetch: Fetch, runs: Path) -> None:
    status, message = await refused(post(jp_fetch, f"actions/{ATTEMPT}", {"action": "reexecute"}))
    assert status == 400 and "local" in message and "choose one of docker" in message
