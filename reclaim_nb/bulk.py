"""Making very many objects that stay, in which the garbage collector finds nothing and looks again and again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the cyclic garbage collector from running meanwhile; also usable as a decorator.

    For work that reads a large record into objects and keeps them: a quarter of its time would go into looking for
    garbage that is not there. Safe beside other threads: whoever finds it off leaves it to whoever turned it off.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
