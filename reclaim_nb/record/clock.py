"""The one clock of the package: UTC wall time and a monotonic second counter, replaceable in tests."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Source of time for records and limits."""

    def now(self) -> str:
        """Return the time as ISO 8601 in UTC with microseconds, ending in ``Z``."""

    def monotonic(self) -> float:
        """Return seconds on a clock that never goes back."""


class SystemClock:
    """The machine's own clock."""

    def now(self) -> str:
        return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def monotonic(self) -> float:
        return time.monotonic()


def seconds_between(started: str, ended: str) -> float:
    """Return the seconds from one recorded time to another."""
    return (parse_time(ended) - parse_time(started)).total_seconds()


def parse_time(text: str) -> datetime:
    """Return a recorded time as an aware datetime."""
    return datetime.fromisoformat(text)
