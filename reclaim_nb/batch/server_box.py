"""Where the server that attempts are forked from keeps its socket: a box, so that it is found when its pool was killed.

Left to itself, :mod:`multiprocessing` makes a folder that only the process itself takes away again, in its last moment.
"""

from __future__ import annotations

from multiprocessing import current_process, util
from typing import Any, cast

from reclaim_nb.kernels.box import PREFIX, Box, box_root

KIND = "pool"
_here: list[Box] = []
"""The box of this process, which stays until its end: the server may outlive the pool that started it."""


def keep_server_in_box() -> None:
    """Take away the boxes of pools that are dead, and have the server of this process keep its socket in a new one.

    Raises:
        KernelError: when there is no place for a box.
    """
    for path in box_root().glob(f"{PREFIX}????????"):
        old = Box(path)
        owner = old.owner()
        if owner is not None and owner.is_gone() and old.description().get("kind") == KIND:
            old.remove()
    if _here:
        return
    box = Box.create(KIND)
    _here.append(box)
    # Where its get_temp_dir() would note the folder it makes; a longer path would be too long for a socket.
    cast(Any, current_process())._config["tempdir"] = str(box.path)
    util.Finalize(None, box.remove, exitpriority=-100)
