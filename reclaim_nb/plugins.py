"""What other packages have registered, asked for once: looking through all installed packages takes a while."""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points


@lru_cache(maxsize=64)
def registered(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group, in order of their names; what is installed later is not seen.

    Args:
        group: name of the group, for example ``reclaim_nb.agents``.
    """
    return tuple(sorted(entry_points(group=group), key=lambda entry: entry.name))
