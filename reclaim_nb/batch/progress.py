"""How a batch stands, in numbers: what the live table, the JSON lines and widgets show."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from reclaim_nb.batch.plan import Declared

UNITS = {"gpu": "H100-hours", "cpu": "CPU-hours"}


@dataclass
class Progress:
    """How a batch stands.

    Attributes:
        total: declared attempts.
        done: those with a final result.
        running: keys of those at work, with the time each began.
        problems: what could not be begun, by key.
        seconds: duration of each attempt that this pool finished.
        granted: hours that all declared attempts may spend, by device.
        spent: hours that ended attempts have spent, by device.
        spending: hours that those at work have spent so far, by device.
    """

    total: int
    done: int = 0
    running: dict[str, float] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    granted: dict[str, Decimal] = field(default_factory=dict)
    spent: dict[str, Decimal] = field(default_factory=dict)
    spending: dict[str, Decimal] = field(default_factory=dict)

    @classmethod
    def of(cls, declared: Iterable[Declared]) -> Progress:
        """Return the progress of declared attempts before anybody has looked at them."""
        declared = list(declared)
        granted: dict[str, Decimal] = {}
        for one in declared:
            granted[one.device] = granted.get(one.device, Decimal(0)) + one.budget
        return cls(len(declared), granted=granted)

    def finished(self, one: Declared, hours: str | None) -> None:
        """Count an attempt that has its final result, with the hours it spent."""
        self.done += 1
        self.spent[one.device] = self.spent.get(one.device, Decimal(0)) + Decimal(hours or 0)

    def eta_seconds(self, slots: int) -> float | None:
        """Return the seconds that are left by the mean duration so far, None before the first has finished."""
        left = self.total - self.done - len(self.problems)
        if not self.seconds:
            return None
        return left * (sum(self.seconds) / len(self.seconds)) / max(1, slots)

    def hours(self) -> dict[str, dict[str, str]]:
        """Return spend and grant by unit: of what has ended and what is at work, against all that was declared."""
        return {
            UNITS[device]: {
                "spent": str(self.spent.get(device, Decimal(0)) + self.spending.get(device, Decimal(0))),
                "granted": str(granted),
            }
            for device, granted in sorted(self.granted.items())
        }

    def to_json(self) -> dict[str, Any]:
        eta = self.eta_seconds(max(1, len(self.running)))
        return {
            "total": self.total,
            "done": self.done,
            "running": sorted(self.running),
            "problems": self.problems,
            "hours": self.hours(),
            "elapsed_seconds": round(time.monotonic() - self.began, 1),
            "eta_seconds": None if eta is None else round(eta),
        }


Watcher = Callable[[Progress], None]
