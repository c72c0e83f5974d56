"""Leftovers are removed when their owner is proven gone, and only then."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from docker.errors import APIError
from hypothesis import given
from hypothesis import strategies as st

from reclaim_nb.kernels.box import FORSAKEN_SECONDS, Box
from reclaim_nb.kernels.docker_provisioner import remove_box
from reclaim_nb.kernels.images import ImageInfo, engine, engine_problem
from reclaim_nb.kernels.leftovers import find_leftovers
from reclaim_nb.kernels.owner import Owner, process_start

START = (
    "import asyncio, sys, tempfile\n"
    "from pathlib import Path\n"
    "from reclaim_nb.kernels import box\n"
    "from reclaim_nb.kernels.kernel import Kernel, KernelConfig\n"
    "box.HEARTBEAT_SECONDS = 0.2\n"
    "async def main():\n"
    "    config = KernelConfig(kind=sys.argv[1], abandon_seconds=float(sys.argv[3]))\n"
    "    kernel = await Kernel.start(config, lambda message: None, workspace=Path(tempfile.mkdtemp()),\n"
    "        release=None, attempt_id=sys.argv[2], batch='t')\n"
    "    print((await kernel.info())['provisioner']['box'], flush=True)\n"
    "    await asyncio.sleep(600)\n"
    "asyncio.run(main())\n"
)


class Runner:
    """A process that holds a kernel."""

    def __init__(self, kind: str, attempt: str, abandon: float = 600.0) -> None:
        command = [sys.executable, "-c", START, kind, attempt, str(abandon)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.box = Box(Path(self.process.stdout.readline().strip()))
        assert self.box.path.is_dir()
        self.attempt = attempt

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def mine(attempt: str) -> list[str]:
    return [left.kind for left in find_leftovers() if left.attempt == attempt]


def sweep(attempt: str) -> None:
    for left in find_leftovers():
        if left.attempt == attempt:
            left.remove()


@pytest.fixture(params=["local", pytest.param("docker", marks=pytest.mark.docker)])
def runner(request: pytest.FixtureRequest) -> Iterator[Runner]:
    if request.param == "docker":
        request.getfixturevalue("kernel_image")
    runner = Runner(request.param, f"left-{request.param}-{os.getpid()}")
    yield runner
    runner.kill()
    sweep(runner.attempt)


def test_a_live_runner_keeps_its_kernel_and_a_dead_ones_is_removed_whole(runner: Runner) -> None:
    facts = runner.box.description()
    assert mine(runner.attempt) == []
    runner.kill()
    assert mine(runner.attempt) == ["container" if facts["kind"] == "docker" else "process"]
    sweep(runner.attempt)
    assert mine(runner.attempt) == []
    assert not runner.box.path.exists()
    if facts["kind"] == "docker":
        client = engine()
        names = [one["Id"] for one in client.api.containers(all=True)]
        client.close()
        assert facts["container"] not in names
    else:
        assert not psutil.pid_exists(facts["pid"])


def test_an_owner_on_another_machine_is_never_judged(runner: Runner) -> None:
    owner = runner.box.owner()
    assert owner is not None
    runner.kill()
    (runner.box.path / "owner.json").write_text(json.dumps(replace(owner, host="elsewhere").to_json()))
    assert mine(runner.attempt) == []
    (runner.box.path / "owner.json").write_text(json.dumps(owner.to_json()))
    assert len(mine(runner.attempt)) == 1


def test_an_abandoned_kernel_ends_itself() -> None:
    runner = Runner("local", f"abandoned-{os.getpid()}", abandon=3.0)
    pid = runner.box.description()["pid"]
    runner.kill()
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(pid).wait(timeout=60)
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    sweep(runner.attempt)
    assert not runner.box.path.exists()


def test_other_containers_are_not_touched(kernel_image: ImageInfo) -> None:
    client = engine()
    other = client.api.create_container(kernel_image.id, ["sleep", "60"], labels={"somebody": "else"})["Id"]
    try:
        assert other[:12] not in [left.name for left in find_leftovers()]
    finally:
        client.api.remove_container(other, force=True)
        client.close()


def test_this_process_is_not_gone_and_a_reused_pid_is() -> None:
    me = Owner.me()
    assert not me.is_gone()
    assert replace(me, started="1").is_gone(), "the pid lives, but began at another time: it was given away"
    assert replace(me, boot="another-boot").is_gone(), "nothing outlives a boot"


def test_a_process_that_has_ended_is_gone() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    owner = replace(Owner.me(), pid=process.pid, started=process_start(process.pid) or "")
    assert not owner.is_gone()
    process.kill()
    deadline = time.monotonic() + 10
    while not owner.is_gone() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert owner.is_gone(), "also while it is a zombie"
    process.wait()
    assert owner.is_gone()


@given(st.dictionaries(st.text(), st.one_of(st.none(), st.integers(), st.text())))
def test_an_owner_that_cannot_be_read_proves_nothing(data: dict[str, object]) -> None:
    assert not Owner.from_json({**data, "host": "elsewhere"}).is_gone()
    assert not Owner.from_json({}).is_gone()


@pytest.mark.parametrize("kind", ["local", "docker"])
def test_a_box_is_its_attempts_from_the_first_moment(kind: str) -> None:
    attempt = f"begun-{kind}-{os.getpid()}"
    code = (
        f"import os; from reclaim_nb.kernels.box import Box; Box.create({kind!r}, {attempt!r}); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    found = [left for left in find_leftovers() if left.attempt == attempt]
    if kind == "local" or engine_problem() is None:
        assert [left.pid for left in found] == [None]
        sweep(attempt)
        assert not found[0].box.exists()
    else:
        assert found == [], "without an engine nobody can tell whether a container still uses it"
        sweep(attempt)


def test_a_box_without_an_owner_is_a_leftover_once_nobody_has_beaten_for_long() -> None:
    box = Box.create("local", "forsaken")
    try:
        (box.path / "owner.json").unlink()
        assert box.path not in [left.box for left in find_leftovers()]
        long_ago = time.time() - FORSAKEN_SECONDS - 60
        os.utime(box.heartbeat, (long_ago, long_ago))
        assert box.path not in [left.box for left in find_leftovers()], "its folder was written to a moment ago"
        os.utime(box.path, (long_ago, long_ago))
        assert box.path in [left.box for left in find_leftovers()]
        box.beat()
        assert box.path not in [left.box for left in find_leftovers()]
    finally:
        box.remove()


def test_a_container_that_the_engine_is_still_starting_is_removed(kernel_image: ImageInfo) -> None:
    client = engine()
    container = client.api.create_container(kernel_image.id, ["sleep", "60"])["Id"]
    with ThreadPoolExecutor(1) as pool:
        starting = pool.submit(client.api.start, container)
        remove_box(Box(Path("/nowhere")), container)
        assert starting.exception() is None or isinstance(starting.exception(), APIError), "gone before it was started"
    remove_box(Box(Path("/nowhere")), container)
    names = [one["Id"] for one in client.api.containers(all=True)]
    client.close()
    assert container not in names
