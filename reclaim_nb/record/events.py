"""One line of a stream: its form, its bytes, its hash."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field
from typing import Any

SCHEMA = 1
"""Version of the stream's form, written into the first event."""

GENESIS = "0" * 64
"""What the first event names as the hash of the line before it."""

KINDS = frozenset(
    {"attempt", "runner", "cell", "execute", "message", "cell_end", "tool", "model", "meter", "network", "note"}
    | {"limit", "end"}
)

DURABLE = frozenset({"attempt", "runner", "cell", "cell_end", "tool", "model", "meter", "limit", "end"})
"""Kinds that are on the disk (fdatasync) before the writer goes on; the others follow with the next of these."""


@dataclass(frozen=True, slots=True)
class Event:
    """One recorded fact.

    Attributes:
        seq: position in the stream, from 0.
        time: host time, ISO 8601 UTC.
        prev: sha256 of the line before.
        kind: one of :data:`KINDS`.
        data: JSON object; its form depends on the kind.
        hash: sha256 of this line without its newline.
    """

    seq: int
    time: str
    prev: str
    kind: str
    data: dict[str, Any]
    hash: str = field(default="", compare=False)


def line_hash(line: bytes) -> str:
    """Return the sha256 of a line without its newline."""
    return hashlib.sha256(line).hexdigest()


def encode(seq: int, time: str, prev: str, kind: str, data: dict[str, Any]) -> bytes:
    """Return the line of an event without newline: compact ASCII JSON, so any text (lone surrogates too) survives."""
    event = {"seq": seq, "time": time, "prev": prev, "kind": kind, "data": data}
    try:
        text = json.dumps(event, separators=(",", ":"), allow_nan=False)
    except ValueError:
        text = json.dumps(plain(event), separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")


def decode(line: bytes) -> Event:
    """Return the event of a line.

    Raises:
        ValueError: when the line is not an event.
    """
    raw = json.loads(line)
    if not isinstance(raw, dict) or set(raw) != {"seq", "time", "prev", "kind", "data"} or raw["kind"] not in KINDS:
        raise ValueError("not an event line")
    return Event(raw["seq"], raw["time"], raw["prev"], raw["kind"], raw["data"], line_hash(line))


def plain(value: Any) -> Any:
    """Return JSON without NaN and infinities, which strict readers refuse; they become the strings of their names."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(value)}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)
