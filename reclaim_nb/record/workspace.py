"""What becomes of an attempt's workspace once the attempt has ended: kept, packed into one file, or dropped."""

from __future__ import annotations

import os
import shutil
import tarfile
from pathlib import Path
from typing import Literal

from reclaim_nb.errors import RecordError
from reclaim_nb.record.files import sync_folder
from reclaim_nb.record.folder import AttemptFolder

WorkspacePolicy = Literal["keep", "archive", "drop"]


def settle_workspace(folder: AttemptFolder, policy: WorkspacePolicy) -> None:
    """Carry out a policy; a second call, also after one that was cut off, goes on where it stopped.

    Raises:
        RecordError: when the disk refuses; the workspace is then still there.
    """
    if policy == "keep" or not folder.workspace.is_dir():
        return
    try:
        if policy == "archive":
            _pack(folder.workspace, folder.workspace_archive)
        _remove(folder.workspace)
    except OSError as problem:
        raise RecordError(
            f"{folder.workspace}: could not be settled ({problem.strerror}); `reclaim resume` tries again"
        ) from problem


def copy_workspace(folder: AttemptFolder, target: Path) -> None:
    """Copy an attempt's workspace, as it was left, to a folder that does not exist yet.

    Raises:
        RecordError: when it was dropped, or its archive is not whole.
    """
    if folder.workspace.is_dir():
        shutil.copytree(folder.workspace, target, symlinks=True)
    elif folder.workspace_archive.exists():
        target.mkdir()
        try:
            with tarfile.open(folder.workspace_archive) as archive:
                # Links that lead outside and devices are an agent's to make and nobody's to follow.
                archive.extractall(target, filter=_harmless)
        except (tarfile.TarError, OSError, EOFError) as problem:
            raise RecordError(f"{folder.workspace_archive}: cannot be unpacked ({problem})") from problem
    else:
        raise RecordError(f"{folder.path}: its workspace was dropped, so what needs its files cannot be run again")


def _pack(source: Path, archive: Path) -> None:
    part = archive.with_name(f".{archive.name}.part")
    with open(part, "wb") as file:
        with tarfile.open(fileobj=file, mode="w:gz", compresslevel=1) as packed:
            packed.add(source, arcname=".")
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, archive)
    sync_folder(archive.parent)


def _remove(folder: Path) -> None:
    gone = folder.with_name(f".{folder.name}.part")  # renamed first: half a workspace never looks like a whole one
    if gone.exists():
        shutil.rmtree(gone)
    os.rename(folder, gone)
    shutil.rmtree(gone)


def _harmless(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo | None:
    try:
        return tarfile.data_filter(member, path)
    except tarfile.FilterError:
        return None
