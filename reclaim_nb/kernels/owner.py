"""Who owns a box: enough to prove later that the owner is gone, also when its pid was given to another process."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

import psutil

_LINUX = sys.platform == "linux"


@dataclass(frozen=True, slots=True)
class Owner:
    """A process on a machine.

    Attributes:
        host: name of the machine.
        boot: id of the machine's boot, so a pid of an earlier boot proves nothing alive.
        namespace: pid namespace; a pid of another namespace cannot be judged.
        pid: process id.
        started: start of the process, see :func:`process_start`.
    """

    host: str
    boot: str
    namespace: str
    pid: int
    started: str

    @classmethod
    def me(cls) -> Self:
        """Return this process."""
        pid = os.getpid()
        return cls(os.uname().nodename, _boot(), _namespace(), pid, process_start(pid) or "")

    @classmethod
    def from_json(cls, data: dict[str, object]) -> Self:
        """Return the owner that :meth:`to_json` wrote; missing parts are left empty and prove nothing."""
        return cls(
            str(data.get("host", "")),
            str(data.get("boot", "")),
            str(data.get("namespace", "")),
            _number(data.get("pid")),
            str(data.get("started", "")),
        )

    def to_json(self) -> dict[str, object]:
        return asdict(self)

    def is_gone(self) -> bool:
        """Tell whether the owner is *proven* gone: same machine, and its process is not there any more."""
        if not self.pid or self.host != os.uname().nodename:
            return False
        if self.boot != _boot():
            return bool(self.boot)
        if self.namespace != _namespace():
            return False
        return process_start(self.pid) != self.started


def _number(value: object) -> int:
    try:
        return int(str(value))
    except ValueError:
        return 0


def _boot() -> str:
    path = Path("/proc/sys/kernel/random/boot_id")
    return path.read_text().strip() if path.exists() else str(int(psutil.boot_time()))


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def process_start(pid: int) -> str | None:
    """Return when a live process began, as text to be compared only; None when there is none (nor for a zombie).

    On Linux it is counted in clock ticks since the boot: the time of day would change with every step of the clock.
    """
    if _LINUX:
        fields = _stat(pid)
        return None if fields is None or fields[0] in ("Z", "X") else fields[19]
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}"
    except psutil.Error:
        return None


def process_age(pid: int) -> float | None:
    """Return how long ago a process began, seconds, None when there is none."""
    if _LINUX:
        fields = _stat(pid)
        if fields is None:
            return None
        return time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
    try:
        return time.time() - float(psutil.Process(pid).create_time())
    except psutil.Error:
        return None


def _stat(pid: int) -> list[str] | None:
    """Return the fields of ``/proc/<pid>/stat`` from the third on (see proc(5)), None when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return None
