"""Who owns a box: enough to prove later that the owner is gone, also when its pid was given to another process."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

import psutil


@dataclass(frozen=True, slots=True)
class Owner:
    """A process on a machine.

    Attributes:
        host: name of the machine.
        boot: id of the machine's boot, so a pid of an earlier boot proves nothing alive.
        namespace: pid namespace; a pid of another namespace cannot be judged.
        pid: process id.
        started: start time of the process, seconds since the epoch as text.
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
        return cls(os.uname().nodename, _boot(), _namespace(), pid, _started(pid) or "")

    @classmethod
    def from_json(cls, data: dict[str, object]) -> Self:
        """Return the owner that :meth:`to_json` wrote; missing parts are left empty and prove nothing."""
        return cls(
            str(data.get("host", "")),
            str(data.get("boot", "")),
            str(data.get("namespace", "")),
            int(str(data.get("pid", 0) or 0)),
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
        return _started(self.pid) != self.started


def _boot() -> str:
    path = Path("/proc/sys/kernel/random/boot_id")
    return path.read_text().strip() if path.exists() else str(int(psutil.boot_time()))


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _started(pid: int) -> str | None:
    """Return the start time of a live process, None when there is none (a zombie counts as none)."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return f"{process.create_time():.2f}"
    except psutil.Error:
        return None
