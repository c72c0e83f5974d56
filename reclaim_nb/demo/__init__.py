"""A recorded batch that ships with the package: real attempts at the small papers, to look at without making any."""

from __future__ import annotations

import shutil
from pathlib import Path

from reclaim_nb.errors import ReclaimError

BATCH = "recorded"
"""Name of the batch."""


def recorded_runs() -> Path:
    """Return the runs folder with the recorded batch; it may be read-only, so look at a copy of it.

    Raises:
        ReclaimError: when it was left out of the installation.
    """
    folder = Path(__file__).resolve().parent / "runs"
    if not (folder / BATCH).is_dir():
        raise ReclaimError(f"{folder}: the recorded batch is missing; reinstall the package, or `make demo-batch`")
    return folder


def copy_recorded(runs: Path) -> Path:
    """Copy the recorded batch into a runs folder, where an index may be kept beside it.

    A batch of that name that is there already is left as it is.

    Args:
        runs: the runs folder; made if missing.

    Returns:
        the folder of the batch.
    """
    target = runs / BATCH
    if not target.exists():
        shutil.copytree(recorded_runs() / BATCH, target)
    return target
