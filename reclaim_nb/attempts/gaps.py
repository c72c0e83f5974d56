"""Finding messages that were lost: the kernel numbers what it sends."""

from __future__ import annotations


class GapCounter:
    """Counts numbers that are missing from the kernel's own count of its messages.

    The end of a message id is a running number per session and process. Channels overtake each other, so a number
    counts as missing only when a cell closes without it.
    """

    def __init__(self) -> None:
        self._seen: dict[str, set[int]] = {}
        self._closed: dict[str, int] = {}

    def add(self, message_id: str) -> None:
        """Take note of a message."""
        sender, _, number = message_id.rpartition("_")
        if sender and len(number) < 20 and number.isascii() and number.isdigit():
            self._seen.setdefault(sender, set()).add(int(number))

    def close(self) -> int:
        """Return how many numbers are missing since the last call, and forget what came before."""
        missing = 0
        for sender, seen in self._seen.items():
            last = max(seen)
            first = self._closed.get(sender, min(seen) - 1)
            missing += max(0, last - first - sum(1 for number in seen if number > first))
            self._closed[sender] = max(last, first)
        self._seen = {}
        return missing
