"""``reclaim-local``: the kernel as a plain process with resource limits. It is no sandbox and says so."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from typing import Any

import psutil
from traitlets import List, Unicode

from reclaim_nb.kernels.box import Box
from reclaim_nb.kernels.owner import process_start
from reclaim_nb.kernels.provisioner import MIB, BoxProvisioner, Death, kill_those_younger

FAMILY_SECONDS = 0.25
"""How long the list of the kernel's processes is good for the meter; looking for them anew costs milliseconds."""

PASSED_ON = ("PATH", "LANG", "LC_ALL", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "OMP_NUM_THREADS")
"""The only variables of the host that a local kernel sees; keys and tokens are not among them."""


class ReclaimLocalProvisioner(BoxProvisioner):
    """Starts the kernel as a process of this user: for Binder and machines without a container engine."""

    python = Unicode(sys.executable, help="Python that runs the kernel.").tag(config=True)

    gpus = List(Unicode(), help="GPU ids that the kernel is shown; empty: whatever the machine shows.").tag(config=True)

    kind = "local"

    _process: subprocess.Popen[bytes] | None = None
    _pid: int | None = None
    _started: str | None = None
    _cpu: float = 0.0
    _lost: float = 0.0
    _known: tuple[float, list[psutil.Process]] = (0.0, [])

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._strangers: set[psutil.Process] = set()

    @property
    def has_process(self) -> bool:
        return self._pid is not None

    def _launch(self, command: list[str]) -> None:
        assert self.box is not None
        variables = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        variables |= self.kernel_environment(self.workspace, self.release)
        if self.gpus:
            variables["CUDA_VISIBLE_DEVICES"] = ",".join(self.gpus)
        with open(self.box.path / "kernel.log", "ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd=self.workspace,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._pid = self.pid = self._process.pid
        self._limit(self._pid)
        self._started = process_start(self._pid)
        self.box.describe(kind="local", pid=self._pid, started=self._started, attempt=self.attempt_id)

    def _limit(self, pid: int) -> None:
        if not hasattr(resource, "prlimit"):  # Linux alone can set the limits of another process
            return
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
        resource.prlimit(pid, resource.RLIMIT_DATA, (self.memory_mib * MIB, self.memory_mib * MIB))
        if self.file_mib:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (self.file_mib * MIB, self.file_mib * MIB))

    async def poll(self) -> int | None:
        if self._pid is None:
            return self.death.exit_code if self.death else 0
        code = self._exit_code()
        if code is not None and self.death is None:
            self.death = Death(code, False, _sentence(code))
        return code

    def _exit_code(self) -> int | None:
        if self._process is not None:
            return self._process.poll()
        return None if self._alive() else -1

    def _alive(self) -> bool:
        return self._pid is not None and process_start(self._pid) == self._started

    async def send_signal(self, signum: int) -> None:
        if self._pid is None or await self.poll() is not None:
            return
        try:
            os.kill(self._pid, signum)
        except ProcessLookupError:
            return

    async def kill(self, restart: bool = False) -> None:
        for process in self._family(with_kernel=True):
            try:
                process.kill()
            except psutil.Error:
                continue
        if self._process is not None:
            self._process.wait()
            await self.poll()

    async def cleanup(self, restart: bool = False) -> None:
        if self._pid is not None:
            await self.kill()
            self._pid = self._process = None
        await super().cleanup(restart)

    async def get_provisioner_info(self) -> dict[str, Any]:
        return {**await super().get_provisioner_info(), "pid": self._pid, "started": self._started}

    async def load_provisioner_info(self, provisioner_info: dict[str, Any]) -> None:
        await super().load_provisioner_info(provisioner_info)
        self._pid, self._started = provisioner_info["pid"], provisioner_info["started"]

    def cpu_seconds(self) -> float | None:
        if time.monotonic() - self._known[0] > FAMILY_SECONDS:
            self._known = (time.monotonic(), self._family(with_kernel=True))
        total = self._lost + _cpu_of(self._known[1])
        if total < self._cpu:
            # A process ended: its seconds are its parent's by now or, where nobody waited for it, nobody's.
            self._known = (time.monotonic(), self._family(with_kernel=True))
            total = self._lost + _cpu_of(self._known[1])
            self._lost += max(0.0, self._cpu - total)
        self._cpu = max(self._cpu, total)
        return self._cpu

    def process_ids(self) -> set[int]:
        return {process.pid for process in self._family(with_kernel=True)}

    def kill_younger(self, seconds: float) -> int:
        return kill_those_younger(self._family(with_kernel=False), seconds)

    def _family(self, with_kernel: bool) -> list[psutil.Process]:
        """Return the kernel's descendants, and what else is in its session or has its box in the environment."""
        if self._pid is None:
            return []
        kernel: psutil.Process | None = None
        family: dict[int, psutil.Process] = {}
        try:
            if self._alive():  # else the pid may be somebody else's by now
                kernel = psutil.Process(self._pid)
                family = {child.pid: child for child in kernel.children(recursive=True)}
        except psutil.Error:
            pass
        everything = list(psutil.process_iter())
        self._strangers.intersection_update(everything)
        for process in everything:
            if process.pid in family or process.pid == self._pid or process in self._strangers:
                continue
            if self.box is not None and belongs_to(process.pid, self._pid, self.box):
                family[process.pid] = process
            else:
                self._strangers.add(process)
        found = list(family.values())
        return [kernel, *found] if with_kernel and kernel is not None else found


def belongs_to(pid: int, kernel: int, box: Box) -> bool:
    """Tell whether a process is in a local kernel's session, or was started in its box and has moved away."""
    try:
        if os.getsid(pid) == kernel:
            return True
        with open(f"/proc/{pid}/environ", "rb") as file:
            return f"RECLAIM_HEARTBEAT={box.heartbeat}".encode() in file.read().split(b"\0")
    except OSError:
        return False


def _cpu_of(processes: list[psutil.Process]) -> float:
    total = 0.0
    for process in processes:
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def _sentence(code: int) -> str:
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"the kernel was ended by {name}"
    return f"the kernel ended itself with exit code {code}"
