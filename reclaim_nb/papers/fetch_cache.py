"""The cache of what was fetched: files by their hash, whole releases by what was asked for, shared by all attempts.

    blobs/<ab>/<sha256>         a file; it gets this name only once its bytes have that hash
    seen/<sha256 of url>.json   which blob an address gave, and when
    parts/                      downloads under way or broken off
    git/<sha256 of url>/        repositories, bare
    releases/<key>/             ready for attempts: ``release/``, ``intake.json``, ``paper.md``, ``fetched.json``
    probes/                     what ``reclaim papers probe`` found

Everything is made under another name and renamed when it is whole, so nothing half is ever found.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reclaim_nb.errors import FetchError
from reclaim_nb.papers.fetch_web import full_disk

CACHE_VARIABLE = "RECLAIM_CACHE"
_FRESH_SECONDS = 60.0


def cache_folder() -> Path:
    """Return the folder of the cache: ``$RECLAIM_CACHE``, else ``reclaim`` in the user's cache folder."""
    if own := os.environ.get(CACHE_VARIABLE):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "reclaim"


@dataclass(frozen=True)
class Cache:
    """The cache in one folder; it is made when something is put into it."""

    path: Path

    @classmethod
    def default(cls) -> Cache:
        """Return this user's cache."""
        return cls(cache_folder().expanduser().absolute())

    def blob(self, sha256: str) -> Path | None:
        """Return the file with that hash, None where it is not here."""
        path = self._blob_path(sha256)
        return path if path.is_file() else None

    def take(self, part: Path) -> str:
        """Move a whole file into the cache and return its sha256.

        Raises:
            FetchError: the disk refuses.
        """
        try:
            with part.open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            path = self._blob_path(sha256)
            path.parent.mkdir(parents=True, exist_ok=True)
            part.chmod(0o444)
            os.replace(part, path)
        except OSError as problem:
            raise full_disk(part, problem) or FetchError(f"{part}: cannot be moved into the cache: {problem}") from None
        part.with_name(part.name + ".json").unlink(missing_ok=True)
        return sha256

    def seen(self, url: str) -> dict[str, Any] | None:
        """Return what an address gave the last time: ``sha256``, ``time``; None where it or its file is not here."""
        facts = read_json(self._seen_path(url))
        return facts if facts is not None and self.blob(str(facts.get("sha256"))) is not None else None

    def saw(self, url: str, sha256: str, when: str) -> None:
        """Note what an address gave."""
        write_json(self._seen_path(url), {"url": url, "sha256": sha256, "time": when})

    def part(self, url: str) -> Path:
        """Return where the bytes of an address gather until they are whole."""
        return self._folder("parts") / f"{_name(url)}.part"

    def repository(self, url: str) -> Path:
        """Return the folder of a bare repository."""
        return self._folder("git") / _name(url)

    def release(self, key: str) -> Path:
        """Return the folder of a release, which may not be there."""
        return self.path / "releases" / key

    def probe_file(self, name: str) -> Path:
        """Return the file of a probe record."""
        return self._folder("probes") / f"{name.replace('/', '--')}.json"

    @contextmanager
    def held(self, name: str) -> Iterator[None]:
        """Hold a name against other processes that fetch the same; the system frees it when this process ends."""
        handle = os.open(self._folder("locks") / _name(name), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    @contextmanager
    def staging(self) -> Iterator[Path]:
        """Give a fresh folder on the cache's disk, removed afterwards; by a later one where this process is killed."""
        folder = self._folder("staging")
        for left in folder.iterdir():
            _remove_unless_held(left)
        path = Path(tempfile.mkdtemp(dir=folder))
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield path
        finally:
            remove_tree(path)
            os.close(handle)

    def publish(self, made: Path, key: str) -> Path:
        """Give a finished folder its name in one step; what had that name is removed.

        Raises:
            FetchError: the disk refuses.
        """
        final = self.release(key)
        final.parent.mkdir(parents=True, exist_ok=True)
        with self.staging() as aside:
            if final.exists():
                os.replace(final, aside / "old")
            os.replace(made, final)
        return final

    def link(self, sha256: str, target: Path) -> None:
        """Put a file of the cache at another place, without a second copy where the disk can do that.

        Raises:
            FetchError: the disk refuses.
        """
        blob = self._blob_path(sha256)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(blob, target)
            except OSError as problem:
                if full_disk(target, problem):
                    raise
                shutil.copyfile(blob, target)
                target.chmod(0o444)
        except OSError as problem:
            raise full_disk(target, problem) or FetchError(f"{target}: cannot be written: {problem}") from problem

    def free_bytes(self) -> int:
        """Return the room left on the cache's disk, bytes."""
        return shutil.disk_usage(self._folder("parts")).free

    def _blob_path(self, sha256: str) -> Path:
        return self.path / "blobs" / sha256[:2] / sha256

    def _seen_path(self, url: str) -> Path:
        return self._folder("seen") / f"{_name(url)}.json"

    def _folder(self, name: str) -> Path:
        folder = self.path / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise FetchError(
                f"{folder}: cannot be made: {problem}; set {CACHE_VARIABLE} to another folder"
            ) from problem
        return folder


def read_json(path: Path) -> dict[str, Any] | None:
    """Return a JSON object, None where there is none that can be read."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def write_json(path: Path, value: Any) -> None:
    """Replace a JSON file in one step.

    Raises:
        FetchError: the disk refuses.
    """
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n")


def write_text(path: Path, text: str) -> None:
    """Replace a text file in one step.

    Raises:
        FetchError: the disk refuses.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as problem:
        partial.unlink(missing_ok=True)
        raise full_disk(path, problem) or FetchError(f"{path}: cannot be written: {problem}") from problem


def remove_tree(path: Path) -> None:
    """Remove a folder whose parts may be read-only."""
    for folder, _, _ in os.walk(path):
        mode = os.stat(folder).st_mode
        if not mode & stat.S_IWUSR:
            os.chmod(folder, mode | stat.S_IRWXU)
    shutil.rmtree(path, ignore_errors=True)


def _remove_unless_held(folder: Path) -> None:
    try:
        if time.time() - folder.stat().st_mtime < _FRESH_SECONDS:
            return  # perhaps made just now and not held yet
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return  # another process has just removed it
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove_tree(folder)
    except BlockingIOError:
        return
    finally:
        os.close(handle)


def _name(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
