"""Running a measurement again from the server: in its own process, its verdict beside the others."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from lab_papers import AGAIN_SLOW, ATTEMPT
from lab_requests import Fetch, get, post, refused
from lab_talk import replay

from reclaim_nb.kernels.box import PREFIX, Box, box_root
from reclaim_nb.kernels.images import ImageInfo, engine
from reclaim_nb.record.folder import AttemptFolder, Lock
from reclaim_nb.record.reader import read_events
from reclaim_nb.server import processes
from reclaim_nb.server.again import LOCK, NOTHING, STATE


@pytest.fixture
def jp_server_config(jp_server_config: dict[str, Any], request: pytest.FixtureRequest) -> dict[str, Any]:
    jp_server_config["ReclaimServer"] |= getattr(request, "param", {})
    return jp_server_config


async def ended(fetch: Fetch, attempt: str = ATTEMPT) -> dict[str, Any]:
    while True:
        found = await get(fetch, f"attempts/{attempt}", "AttemptDetail")
        # Its process may live a little longer, and counts as one that runs.
        if not found["reexecution"]["running"] and not processes.again():
            return found
        await asyncio.sleep(0.2)


async def test_a_measurement_is_run_again_and_its_verdict_stands_beside_the_others(jp_fetch: Fetch, runs: Path) -> None:
    before = await get(jp_fetch, f"attempts/{ATTEMPT}", "AttemptDetail")
    assert before["reexecution"] == {"running": False, **NOTHING, "results": []}

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


async def stopped_midway(fetch: Fetch, papers: Path, runs: Path, kernel: str) -> str:
    """Stop a re-execution while its cell runs, look at what is left of it, and return the id that it ran under."""
    made = replay(papers, runs, AGAIN_SLOW, runs.parent / "slow.ipynb", kernel=kernel).folder
    attempt = made.path.relative_to(runs).as_posix()
    files = {path.name for path in made.path.iterdir()}
    assert (await post(fetch, f"actions/{attempt}", {"action": "reexecute"})).code == 202
    stream = AttemptFolder(made.path / "reexecution.1" / "same").stream
    while not (stream.exists() and "time.sleep" in stream.read_text("utf-8").rpartition('"execute"')[0]):
        await asyncio.sleep(0.1)
    again = next(read_events(stream)).data["spec"]["id"]
    assert boxes_of(again)

    assert (await post(fetch, f"actions/{attempt}", {"action": "stop-reexecution"})).code == 202
    after = (await ended(fetch, attempt))["reexecution"]
    assert (after["stopped"], after["problem"], after["results"]) == (True, None, [])
    assert after["started"] < after["ended"]
    assert {path.name for path in made.path.iterdir()} - files == {LOCK, STATE, processes.LOG}
    assert not boxes_of(again)
    status, message = await refused(post(fetch, f"actions/{attempt}", {"action": "stop-reexecution"}))
    assert status == 409 and "nothing to stop" in message
    return str(again)


def boxes_of(attempt: str) -> list[Path]:
    """Return what is there of an attempt's kernel."""
    found = box_root().glob(f"{PREFIX}????????")
    return [path for path in found if Box(path).description().get("attempt") == attempt]


async def test_one_that_is_stopped_leaves_nothing_but_that(jp_fetch: Fetch, papers: Path, runs: Path) -> None:
    await stopped_midway(jp_fetch, papers, runs, "local")


@pytest.mark.parametrize("jp_server_config", [{"kernels": ["docker"]}], indirect=True)
async def test_one_in_a_container_is_stopped_with_its_container(
    jp_fetch: Fetch, papers: Path, runs: Path, kernel_image: ImageInfo
) -> None:
    again = await stopped_midway(jp_fetch, papers, runs, "docker")
    with closing(engine()) as api:
        assert not api.containers.list(all=True, filters={"label": f"org.reclaim.attempt={again}"})


@pytest.mark.parametrize("jp_server_config", [{"kernels": ["docker"]}], indirect=True)
async def test_only_in_a_kernel_that_may_be_started(jp_fetch: Fetch, runs: Path) -> None:
    status, message = await refused(post(jp_fetch, f"actions/{ATTEMPT}", {"action": "reexecute"}))
    assert status == 400 and "local" in message and "choose one of docker" in message
