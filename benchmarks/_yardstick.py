"""How quick the machine is at the moment, so that seconds measured at different hours can be compared."""

from __future__ import annotations

import time


def yardstick() -> str:
    """Say how long a fixed loop of plain Python takes here and now: the least of three."""
    seconds = min(_loop() for _ in range(3))
    return f"yardstick: five million additions take {seconds:.2f} s here and now"


def _loop() -> float:
    began = time.perf_counter()
    total = 0
    for number in range(5_000_000):
        total += number
    return time.perf_counter() - began
