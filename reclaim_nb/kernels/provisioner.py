"""The part that both provisioners share: ipc transport in a private folder, heartbeat, facts about a death."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning import KernelProvisionerBase
from traitlets import Bool, Dict, Float, Int, Unicode

from reclaim_nb.errors import KernelError
from reclaim_nb.kernels.box import Box
from reclaim_nb.kernels.owner import process_age, process_start

MIB = 1024 * 1024
SOCKETS = (1, 2, 3, 4, 5)
"""Numbers of the shell, iopub, stdin, hb and control sockets."""

CLOCK_TICK = 0.02
"""How exactly the start of a process is known, seconds."""

DYING_SECONDS = 2.0
"""How long killed processes are waited for."""


@dataclass(frozen=True, slots=True)
class Death:
    """How a kernel ended: exit code (negative: signal), whether memory ran out, and a sentence for people."""

    exit_code: int | None
    out_of_memory: bool
    text: str


class BoxProvisioner(KernelProvisionerBase):  # type: ignore[misc]
    """A kernel in a box over ipc sockets; subclasses say what the box is."""

    python = Unicode("python", help="Python that runs the kernel in the box.").tag(config=True)
    workspace = Unicode("", help="Folder on the host that is the kernel's working folder; empty: a fresh one.").tag(
        config=True
    )
    release = Unicode("", help="Folder on the host with what the authors released; read-only in the box.").tag(
        config=True
    )
    attempt_id = Unicode("", help="Id of the attempt; empty outside attempts.").tag(config=True)
    batch = Unicode("", help="Name of the batch of the attempt.").tag(config=True)
    memory_mib = Int(4096, help="Most memory of the box, MiB.").tag(config=True)
    pids = Int(512, help="Most processes and threads in the box.").tag(config=True)
    file_mib = Int(0, help="Largest single file that may be written, MiB; 0: no bound.").tag(config=True)
    abandon_seconds = Float(600.0, help="Seconds without a runner after which the kernel ends itself.").tag(config=True)
    keep_alive = Bool(True, help="Let the kernel outlive a runner that dies, so that it can be resumed.").tag(
        config=True
    )
    environment = Dict(help="Environment variables of the kernel, beside the few it needs.").tag(config=True)

    kind = ""
    box: Box | None = None
    death: Death | None = None
    unsandboxed = True

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        manager = self.parent
        kwargs.pop("extra_arguments", None)
        kwargs.pop("transport_encryption", None)
        kwargs.pop("cwd", None)
        if self.box is None:
            self.box = Box.create(self.kind, self.attempt_id)
        manager.transport = "ipc"
        manager.ip = self.box.sockets
        manager.connection_file = str(self.box.connection_file)
        for index, name in zip(SOCKETS, ("shell", "iopub", "stdin", "hb", "control"), strict=True):
            setattr(manager, f"{name}_port", index)
        manager.write_connection_file()
        self.connection_info = manager.get_connection_info()
        self.death = None
        command = [self.python, str(self.box.launcher), "-f", str(self.box.connection_file)]
        kwargs.pop("env", None)
        prepared: dict[str, Any] = await super().pre_launch(cmd=command, env={}, **kwargs)
        return prepared

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        assert self.box is not None
        if not self.workspace:
            fresh = self.box.path / "workspace"
            fresh.mkdir(exist_ok=True)
            self.workspace = str(fresh)
        launch = asyncio.ensure_future(asyncio.to_thread(self._launch, cmd))
        try:
            await asyncio.shield(launch)
        except asyncio.CancelledError:
            await asyncio.wait([launch])  # what the thread starts must be known, or nobody could end it
            raise
        self.box.start_heartbeat()
        return self.connection_info

    def _launch(self, command: list[str]) -> None:
        raise NotImplementedError

    def kernel_environment(self, workspace: str, release: str) -> dict[str, str]:
        """Return the variables of the kernel's process: none of the host's own."""
        assert self.box is not None
        variables = {
            "RECLAIM_HEARTBEAT": str(self.box.heartbeat),
            "RECLAIM_ABANDON_SECONDS": str(self.abandon_seconds),
            "PYTHONUNBUFFERED": "1",
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        }
        if self.attempt_id:
            variables["RECLAIM_ATTEMPT"] = self.attempt_id
        if release:
            variables["RECLAIM_RELEASE"] = release
        return {**variables, **self.environment}

    async def wait(self) -> int | None:
        while True:
            code: int | None = await self.poll()
            if code is not None:
                return code
            await asyncio.sleep(0.1)

    async def terminate(self, restart: bool = False) -> None:
        await self.send_signal(15)

    async def cleanup(self, restart: bool = False) -> None:
        if self.box is not None and not restart:
            await asyncio.to_thread(self.box.remove)
            self.box = None

    async def get_provisioner_info(self) -> dict[str, Any]:
        info: dict[str, Any] = await super().get_provisioner_info()
        info["box"] = str(self.box.path) if self.box else None
        return info

    async def load_provisioner_info(self, provisioner_info: dict[str, Any]) -> None:
        """Take over a box that another process started.

        Raises:
            KernelError: when the box is gone.
        """
        path = Path(str(provisioner_info["box"]))
        if not (path / "h" / "connection.json").exists():
            raise KernelError(f"{path}: the kernel's private folder is gone, and the kernel with it")
        # A cell may have removed them. What is connected works on without names; a new connection would wait for ever.
        # The box is not taken over then, so that what removes leftovers still finds process and folder together.
        if missing := [name for name in SOCKETS if not Path(f"{Box(path).sockets}-{name}").exists()]:
            raise KernelError(
                f"{path}: the kernel cannot be reached any more, since its sockets {missing} were removed"
            )
        self.box = Box(path)
        # The record holds no signing key, so the connection comes from the box itself.
        connection = json.loads(self.box.connection_file.read_text())
        await super().load_provisioner_info({**provisioner_info, "connection_info": connection})
        self.box.own()
        self.box.beat()
        self.box.start_heartbeat()

    def cpu_seconds(self) -> float | None:
        """Return the CPU seconds that everything in the box has used, None when it cannot be read."""
        raise NotImplementedError

    def process_ids(self) -> set[int]:
        """Return the host pids of everything in the box."""
        raise NotImplementedError

    def kill_younger(self, seconds: float) -> int:
        """Kill the box's processes, except the kernel, that began in the last ``seconds``; return how many."""
        raise NotImplementedError


def kill_those_younger(processes: Iterable[psutil.Process], seconds: float) -> int:
    """Kill those of the processes that began in the last ``seconds``; return how many, once they are dead."""
    killed = []
    for process in processes:
        age = process_age(process.pid)
        if age is None or age > seconds + CLOCK_TICK:
            continue
        with contextlib.suppress(psutil.Error):
            process.kill()
            killed.append(process.pid)
    # A killed process lives until it is next scheduled; the next cell must not meet it.
    deadline = time.monotonic() + DYING_SECONDS
    while time.monotonic() < deadline and any(process_start(pid) is not None for pid in killed):
        time.sleep(0.005)
    return len(killed)


def user_of_box() -> tuple[int, int]:
    """Return uid and gid that a box runs as: this user, but never root."""
    return (1000, 1000) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
