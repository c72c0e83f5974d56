"""Who works on a batch, and whether it is told to stop: one file in the batch's folder, seen by every host that works.

Its first line says whose the batch is now; a line that is added asks for a stop. Nobody is sent a signal by way of it:
a process id means nothing on another host, and every process that works on the batch reads the file again and again.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from reclaim_nb.errors import AttemptError
from reclaim_nb.kernels.owner import Owner
from reclaim_nb.record.folder import take_lock

LOCK = ".pool.lock"
"""File of a batch's folder that its pool holds locked."""
_STOP = "stop"


class HeldBatch:
    """A batch that this process alone works on.

    Attributes:
        token: what the first line of its file says; who reads the same there sees the same folder.
    """

    def __init__(self, folder: Path, handle: int) -> None:
        self.folder = folder
        self._handle = handle
        self.token = json.dumps(Owner.me().to_json())
        os.ftruncate(handle, 0)
        os.write(handle, f"{self.token}\n".encode())
        os.fsync(handle)

    def told_to_stop(self) -> bool:
        """Tell whether somebody has asked for a stop since it is held."""
        return told_to_stop(self.folder)

    def in_place(self) -> bool:
        """Tell whether the folder still lies where it was when it was taken."""
        try:
            return os.path.samestat(os.stat(self.folder / LOCK), os.fstat(self._handle))
        except FileNotFoundError:
            return False


@contextmanager
def only_pool(folder: Path) -> Iterator[HeldBatch]:
    """Hold a batch; what was asked of those who held it before is forgotten.

    Raises:
        AttemptError: when another pool is at work on it.
    """
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            take_lock(handle)
        except BlockingIOError:
            owner = _owner(token(folder))
            who = f" (pid {owner.pid} on {owner.host})" if owner is not None else ""
            raise AttemptError(f"{folder}: a pool is at work on this batch{who}") from None
        yield HeldBatch(folder, handle)
    finally:
        os.close(handle)


def pool_at_work(folder: Path) -> int | None:
    """Return the pid of the pool at work on a batch, on whatever host; None when there is none."""
    try:
        handle = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = _owner(token(folder))
        return None if owner is None else owner.pid  # it has only just begun
    finally:
        os.close(handle)
    return None


def stop_pool(folder: Path) -> int | None:
    """Tell the pool at work on a batch to stop; return its pid, None when there is none."""
    pid = pool_at_work(folder)
    if pid is not None:
        ask_to_stop(folder)
    return pid


def ask_to_stop(folder: Path) -> None:
    """Ask whoever works on a batch to stop; it holds until the batch is run again."""
    handle = os.open(folder / LOCK, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    try:
        os.write(handle, f"{_STOP}\n".encode())
    finally:
        os.close(handle)


def told_to_stop(folder: Path) -> bool:
    """Tell whether a stop was asked for since the batch was last begun."""
    return _STOP in _lines(folder)[1:]


def token(folder: Path) -> str:
    """Return the first line of a batch's file, empty where there is none."""
    return next(iter(_lines(folder)), "")


def _lines(folder: Path) -> list[str]:
    try:
        return (folder / LOCK).read_text("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return []


def _owner(line: str) -> Owner | None:
    with suppress(ValueError):
        found = json.loads(line)
        if isinstance(found, dict):
            return Owner.from_json(found)
    return None
