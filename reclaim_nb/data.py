"""Where the files that ship with the package are: templates and papers."""

from __future__ import annotations

from pathlib import Path

from reclaim_nb.errors import ReclaimError

_PACKAGE = Path(__file__).resolve().parent


def data_folder(name: str) -> Path:
    """Return the folder ``templates`` or ``papers``, from the wheel or from a source checkout."""
    for folder in (_PACKAGE / "_data" / name, _PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise ReclaimError(f"the folder '{name}' that ships with reclaim-nb is missing; reinstall the package")
