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

from reclaim_nb.kernels.provisioner import MIB, BoxProvisioner, Death

FAMILY_SECONDS = 0.25
"""How long the list of the kernel's processes is good for the meter; looking for them anew costs milliseconds."""

PASSED_ON = ("PATH", "LANG", "LC_ALL", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "OMP_NUM_THREADS")
"""The only variables of the host that a local kernel sees; keys and tokens are not among them."""


class ReclaimLocalProvisioner(BoxProvisioner):
    """Starts the kernel as a process of this user: for Binder and machines without a container engine."""

    python = Unicode(sys.executable, help="Python that runs the kernel.").tag(config=True)

    gpus = List(Unicode(), help="GPU ids that the kernel is shown; empty: whatever the machine shows.").tag(config=True)

    _process: subprocess.Popen[bytes] | None = None
    _pid: int | None = None
    _started: float | None = None
    _cpu: float = 0.0
    _known: tuple[float, list[psutil.Process]] = (0.0, [])

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
        self._started = psutil.Process(self._pid).create_time()
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
        try:
            process = psutil.Process(self._pid)
            return process.create_time() == self._started and process.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            return False

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
        total = 0.0
        if time.monotonic() - self._known[0] > FAMILY_SECONDS:
            self._known = (time.monotonic(), self._family(with_kernel=True))
        for process in self._known[1]:
            try:
                times = process.cpu_times()
            except psutil.Error:
                continue
            total += times.user + times.system + times.children_user + times.children_system
        # A child that ends unwaited takes its seconds along; what was counted once stays counted.
        self._cpu = max(self._cpu, total)
        return self._cpu

    def process_ids(self) -> set[int]:
        return {process.pid for process in self._family(with_kernel=True)}

    def kill_younger(self, than: float) -> int:
        killed = 0
        for process in self._family(with_kernel=False):
            try:
                if process.create_time() >= than - 0.05:
                    process.kill()
                    killed += 1
            except psutil.Error:
                continue
        return killed

    def _family(self, with_kernel: bool) -> list[psutil.Process]:
        """Return the kernel's descendants and whatever else is in its session."""
        if self._pid is None:
            return []
        try:
            kernel = psutil.Process(self._pid)
            family = {process.pid: process for process in kernel.children(recursive=True)}
        except psutil.Error:
            family = {}
            kernel = None
        for process in psutil.process_iter():
            try:
                if process.pid != self._pid and os.getsid(process.pid) == self._pid:
                    family.setdefault(process.pid, process)
            except (OSError, psutil.Error):
                continue
        found = list(family.values())
        return [kernel, *found] if with_kernel and kernel is not None else found


def _sentence(code: int) -> str:
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"the kernel was ended by {name}"
    return f"the kernel ended itself with exit code {code}"
