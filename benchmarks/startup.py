"""Start-up: kernel of an attempt against `docker run` of the same image, and command typed to first cell executed."""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from jupyter_client.connect import write_connection_file

from reclaim_nb.kernels.box import LAUNCHER
from reclaim_nb.kernels.images import image_name
from reclaim_nb.kernels.kernel import Kernel, KernelConfig
from reclaim_nb.kernels.link import KernelLink


async def ours() -> float:
    """Return the seconds until the kernel of an attempt answers."""
    workspace = Path(tempfile.mkdtemp())
    began = time.perf_counter()
    kernel = await Kernel.start(
        KernelConfig(kind="docker"),
        lambda message: None,
        workspace=workspace,
        release=None,
        attempt_id="bench",
        batch="bench",
    )
    seconds = time.perf_counter() - began
    await kernel.stop()
    return seconds


async def plain() -> float:
    """Return the seconds until a kernel answers that the docker command line started from the same image."""
    folder = Path(tempfile.mkdtemp(prefix="rb-"))
    folder.chmod(0o777)
    shutil.copy(LAUNCHER, folder / "launcher.py")
    file, connection = write_connection_file(
        str(folder / "c.json"), 1, 2, 3, 4, 5, transport="ipc", ip=str(folder / "k"), key=b"benchmark"
    )
    Path(file).chmod(0o644)
    command = ["docker", "run", "-d", "--init", "--network", "none", "--read-only", "--tmpfs", "/tmp"]
    command += ["-v", f"{folder}:{folder}", "-e", "HOME=/tmp", image_name()]
    command += ["python", str(folder / "launcher.py"), "-f", file]
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    identity = (await process.communicate())[0].decode().strip()
    link = KernelLink(dict(connection), lambda message: None)

    async def alive() -> None:
        return None

    try:
        await link.ready(30, alive)
        return time.perf_counter() - began
    finally:
        link.close()
        subprocess.run(["docker", "rm", "-f", identity], capture_output=True, check=False)


def first_cell(kernel: str) -> float:
    """Return the seconds from the command to the end of its first code cell, by the record's own time."""
    runs = tempfile.mkdtemp(prefix="reclaim-bench-")
    command = [str(Path(sys.executable).with_name("reclaim")), "run", "small/ntk-relu-gradient-angle"]
    command += ["--agent", "constant", "--kernel", kernel, "--runs", runs, "--no-grade"]
    began = time.time()
    subprocess.run(command, check=True, capture_output=True)
    stream = next(Path(runs).rglob("stream.jsonl"))
    for line in stream.read_text().splitlines():
        event = json.loads(line)
        if event["kind"] == "cell_end":
            ended = event["data"]["ended"]
            from reclaim_nb.record.clock import parse_time

            return parse_time(ended).timestamp() - began
    raise SystemExit("no cell was run")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    mine: list[float] = []
    theirs: list[float] = []
    commands: list[float] = []
    for _ in range(options.rounds):
        mine.append(asyncio.run(ours()))
        theirs.append(asyncio.run(plain()))
        commands.append(first_cell("docker"))
    for name, seconds in (("kernel of an attempt ready  ", mine), ("`docker run` to kernel ready", theirs)):
        print(f"{name}  median {statistics.median(seconds):.2f} s  of {sorted(round(s, 2) for s in seconds)}")
    print(f"ratio {statistics.median(mine) / statistics.median(theirs):.2f}  (bar 1.3)")
    print(f"command to first cell        median {statistics.median(commands):.2f} s  (bar 3)")


if __name__ == "__main__":
    main()
