"""What every boxed kernel has on the host: a private folder with sockets, connection file, heartbeat and owner."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import threading
import time
from pathlib import Path
from typing import Any

from reclaim_nb.errors import KernelError
from reclaim_nb.kernels.owner import Owner
from reclaim_nb.record.files import write_atomic

PREFIX = "reclaim-"
LAUNCHER = Path(__file__).with_name("launcher.py")
HEARTBEAT_SECONDS = 2.0
FORSAKEN_SECONDS = 3600.0


def box_root() -> Path:
    """Return where private folders are made: short, because a socket's path holds about 107 bytes."""
    return Path(os.environ.get("RECLAIM_BOXES") or "/tmp")


class Box:
    """The private folder of one kernel.

    ``s/`` holds the sockets and is the kernel's to write; ``h/`` holds what the host gives (connection file, launcher,
    heartbeat) and is read-only for the kernel; ``owner.json`` and ``kernel.json`` are never shown to it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stop: threading.Event | None = None

    @classmethod
    def create(cls, kind: str = "", attempt: str = "") -> Box:
        """Make a new private folder owned by this process.

        Args:
            kind: what will run in it, ``docker`` or ``local``.
            attempt: id of the attempt; from the first moment on, so that a resume finds what a dead runner began.
        """
        root = box_root()
        path = root / f"{PREFIX}{secrets.token_hex(4)}"
        if len(str(path)) > 80:
            raise KernelError(f"{root}: too long for sockets; set RECLAIM_BOXES to a shorter folder, such as /tmp")
        path.mkdir(mode=0o711)
        box = cls(path)
        box.own()
        box.describe(kind=kind, attempt=attempt)
        (path / "s").mkdir(mode=0o700)
        (path / "h").mkdir(mode=0o755)
        shutil.copyfile(LAUNCHER, box.launcher)
        box.launcher.chmod(0o644)
        box.beat()
        return box

    @property
    def sockets(self) -> str:
        return str(self.path / "s" / "k")

    @property
    def launcher(self) -> Path:
        return self.path / "h" / "launcher.py"

    @property
    def connection_file(self) -> Path:
        return self.path / "h" / "connection.json"

    @property
    def heartbeat(self) -> Path:
        return self.path / "h" / "heartbeat"

    def own(self) -> None:
        """Write down that this process owns the box now."""
        write_atomic(self.path / "owner.json", json.dumps(Owner.me().to_json()).encode())

    def owner(self) -> Owner | None:
        """Return the owner, None when it cannot be read."""
        try:
            return Owner.from_json(json.loads((self.path / "owner.json").read_text()))
        except (OSError, ValueError):
            return None

    def describe(self, **facts: Any) -> None:
        """Write down what runs in the box, for the clean-up after a dead runner."""
        write_atomic(self.path / "kernel.json", json.dumps(facts).encode())

    def description(self) -> dict[str, Any]:
        """Return what :meth:`describe` wrote, empty when nothing."""
        try:
            facts: dict[str, Any] = json.loads((self.path / "kernel.json").read_text())
        except (OSError, ValueError):
            return {}
        return facts

    def give_to(self, uid: int, gid: int) -> None:
        """Hand sockets and connection file to the kernel's user, where this process may."""
        if os.geteuid() == 0 and uid != 0:
            os.chown(self.path / "s", uid, gid)
            os.chown(self.connection_file, uid, gid)

    def beat(self) -> None:
        """Show the kernel that its runner lives."""
        self.heartbeat.touch()

    def is_forsaken(self) -> bool:
        """Tell whether nobody has beaten for far longer than a kernel waits for its runner.

        It judges a folder that names no owner: its maker died in the very moment of making it.
        """
        last = 0.0
        for path in (self.path, self.heartbeat):
            with contextlib.suppress(OSError):
                last = max(last, path.stat().st_mtime)
        return abs(time.time() - last) > FORSAKEN_SECONDS

    def start_heartbeat(self) -> None:
        """Beat every two seconds until :meth:`stop_heartbeat`, or until this process dies."""
        if self._stop is not None:
            return
        stop = self._stop = threading.Event()

        def run() -> None:
            while not stop.wait(HEARTBEAT_SECONDS):
                try:
                    self.beat()
                except OSError:
                    return

        threading.Thread(target=run, daemon=True, name="reclaim-heartbeat").start()

    def stop_heartbeat(self) -> None:
        if self._stop is not None:
            self._stop.set()
            self._stop = None

    def remove(self) -> None:
        """Remove the folder; a second call does nothing."""
        self.stop_heartbeat()
        shutil.rmtree(self.path, ignore_errors=True)
