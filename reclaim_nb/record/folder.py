"""The attempt folder: names of its files, making it, holding it."""

from __future__ import annotations

import fcntl
import json
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reclaim_nb.errors import AttemptError, AttemptExists, RecordError
from reclaim_nb.record.files import write_atomic
from reclaim_nb.record.payloads import PayloadStore, Policy

RUNNER_LOCK = ".lock"
LOOKING_SECONDS = 10.0
"""How long whoever wants a lock waits at most for processes that only look at it."""


@dataclass(frozen=True)
class AttemptFolder:
    """``runs/<batch>/<suite>/<paper>/<agent>/<repeat>/`` and what lies in it."""

    path: Path

    @property
    def notebook(self) -> Path:
        return self.path / "attempt.ipynb"

    @property
    def stream(self) -> Path:
        return self.path / "stream.jsonl"

    @property
    def payloads(self) -> Path:
        return self.path / "payloads.bin"

    @property
    def intake(self) -> Path:
        return self.path / "intake.json"

    @property
    def workspace(self) -> Path:
        return self.path / "workspace"

    @property
    def workspace_archive(self) -> Path:
        """What the workspace was packed into, where the attempt was to archive it."""
        return self.path / "workspace.tar.gz"

    def verdicts(self) -> list[Path]:
        """Return the verdict files, oldest name first."""
        return sorted(self.path.glob("verdict.*.json"))

    def store(self, policy: Policy | None = None) -> PayloadStore:
        """Return the store of the attempt's large texts."""
        return PayloadStore(self.payloads, policy)

    def read_intake(self) -> dict[str, Any] | None:
        """Return the intake manifest, None when nothing was shipped."""
        if not self.intake.exists():
            return None
        intake: dict[str, Any] = json.loads(self.intake.read_text("utf-8"))
        return intake


def open_folder(path: Path | str) -> AttemptFolder:
    """Return the attempt folder at a path: the folder itself, its notebook or its stream.

    Raises:
        RecordError: when there is no stream.
    """
    path = Path(path)
    folder = AttemptFolder(path if path.is_dir() else path.parent)
    if not folder.stream.exists():
        raise RecordError(f"{path}: not an attempt folder (it holds no stream.jsonl)")
    return folder


def safe_name(text: str) -> str:
    """Return text usable as one folder name everywhere; different texts that collide are told apart by the caller."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")
    return name[:80] or "unnamed"


def create_folder(
    runs: Path, batch: str, suite: str, paper: str, agent: str, repeat: int | None, again: int = 1
) -> AttemptFolder:
    """Make a new attempt folder; without a repeat the next free number is taken, also when many start at once.

    Args:
        runs: folder of all attempts.
        batch, suite, paper, agent: names of the folders on the way.
        repeat: which repeat.
        again: how often this repeat has been made, with this time; more than 1 after a fault of the harness.

    Raises:
        AttemptExists: when that repeat exists already.
    """
    parent = runs / safe_name(batch) / safe_name(suite) / safe_name(paper) / safe_name(agent)
    parent.mkdir(parents=True, exist_ok=True)
    number = repeat if repeat is not None else 1
    while True:
        folder = AttemptFolder(parent / repeat_name(number, again))
        try:
            folder.path.mkdir()
        except FileExistsError:
            if repeat is not None:
                raise AttemptExists(
                    f"{folder.path} exists: repeat {repeat} was started before; "
                    "`reclaim resume` it, or choose another --repeat or --batch"
                ) from None
            number += 1
            continue
        folder.workspace.mkdir()
        return folder


def repeat_name(repeat: int, again: int = 1) -> str:
    """Return the name of a repeat's folder: ``03``; ``03-2`` when a fault of the harness made it necessary again."""
    return f"{repeat:02d}" if again == 1 else f"{repeat:02d}-{again}"


class Lock:
    """Held by the one runner that works on an attempt; the system frees it when that process ends, however it ends.

    Args:
        folder: the attempt.
        name: of the lock's file; another one for work that is not the runner's.
    """

    def __init__(self, folder: AttemptFolder, name: str = RUNNER_LOCK) -> None:
        self._path = folder.path / name
        self._file: int | None = None

    def take(self) -> None:
        """Take the attempt.

        Raises:
            AttemptError: when a live runner has it.
        """
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            take_lock(handle)
        except BlockingIOError:
            owner = os.read(handle, 200).decode("utf-8", "replace").strip()
            os.close(handle)
            raise AttemptError(f"{self._path.parent}: a runner is at work on this attempt ({owner})") from None
        os.ftruncate(handle, 0)
        os.write(handle, f"pid {os.getpid()} on {os.uname().nodename}\n".encode())
        self._file = handle

    def release(self) -> None:
        """Let the attempt go."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def take_lock(handle: int) -> None:
    """Take the lock of an open file alone, past those who only look whether it is held.

    They share it for a moment, or for as long as a busy machine lets them stand there; whoever works holds it alone.

    Args:
        handle: the open file.

    Raises:
        BlockingIOError: when somebody holds it alone.
    """
    deadline = time.monotonic() + LOOKING_SECONDS
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)  # refused at once where somebody works
        fcntl.flock(handle, fcntl.LOCK_UN)
        time.sleep(0.005)


def is_held(folder: AttemptFolder, name: str = RUNNER_LOCK) -> bool:
    """Tell whether a live runner works on the attempt, or whoever holds the lock of another name."""
    try:
        handle = os.open(folder.path / name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except PermissionError:
        return True  # whoever made it does not let it be told, so that nobody else may take the attempt
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file atomically, with sorted keys, so that the same value gives the same bytes."""
    write_atomic(path, (json.dumps(value, indent=1, sort_keys=True, allow_nan=False) + "\n").encode("utf-8"))


def write_new(path: Path, value: Any) -> None:
    """Write a JSON file that must not exist yet.

    Raises:
        RecordError: when it does.
    """
    if path.exists():
        raise RecordError(f"{path} exists already; records are added to, never replaced")
    write_json(path, value)
