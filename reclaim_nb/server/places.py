"""Where things may be read: names in requests become folders here and nowhere else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from reclaim_nb.errors import ReclaimError
from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.record.stamps import IMPORTED

LEVELS = 5
"""An attempt lies at ``batch/suite/paper/agent/repeat``."""

_PART = re.compile(r"[^/\\\x00-\x1f]{1,255}")


class NotFound(ReclaimError):
    """There is nothing of that name in the configured folders."""


@dataclass(frozen=True)
class Places:
    """The folders that a server may read.

    Attributes:
        runs: folder of all attempts.
        root: folder that the server's file browser shows, None when it has none on disk.
    """

    runs: Path
    root: Path | None = None

    def attempt(self, name: str) -> AttemptFolder:
        """Return the folder of an attempt.

        Args:
            name: ``batch/suite/paper/agent/repeat``.

        Raises:
            NotFound: when it is no such name, or nothing is there, or it leads out of the runs folder.
        """
        parts = name.split("/")
        plain = len(parts) == LEVELS and all(_PART.fullmatch(part) and not part.startswith(".") for part in parts)
        folder = AttemptFolder(self.runs.joinpath(*parts)) if plain else None
        if folder is None or not _inside(folder.path, self.runs) or not _is_attempt(folder):
            raise NotFound(f"there is no attempt {name!r} in {self.runs}; the list of attempts may be out of date")
        return folder

    def contents_path(self, folder: AttemptFolder) -> str | None:
        """Return the path by which the file browser opens the notebook, None when it lies outside of its root."""
        return self.path_of(folder.notebook)

    def path_of(self, file: Path) -> str | None:
        """Return the path by which the file browser opens a file, None when it lies outside of its root."""
        return None if self.root is None else _relative(file, self.root)

    def inside_root(self, path: str) -> Path | None:
        """Return what the file browser shows by a path, None when it leads out of its root or to what it hides."""
        parts = [part for part in path.split("/") if part]
        if self.root is None or not all(_PART.fullmatch(part) and not part.startswith(".") for part in parts):
            return None
        place = self.root.joinpath(*parts)
        return place if _inside(place, self.root) else None

    @property
    def runs_path(self) -> str | None:
        """The runs folder as the file browser names it, None when it lies outside of its root."""
        return None if self.root is None else _relative(self.runs, self.root)


def _inside(path: Path, parent: Path) -> bool:
    try:
        return path.resolve().is_relative_to(parent.resolve())
    except (OSError, RuntimeError):  # a loop of links
        return False


def _is_attempt(folder: AttemptFolder) -> bool:
    try:
        return folder.stream.is_file() or (folder.path / IMPORTED).is_file()
    except OSError:  # a name that no file system takes
        return False


def _relative(path: Path, root: Path) -> str | None:
    path, root = path.resolve(), root.resolve()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else None
