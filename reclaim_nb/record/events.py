"""One line of a stream: its form, its bytes, its hash."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import from_json

SCHEMA = 1
"""Version of the stream's form, written into the first event."""

GENESIS = "0" * 64
"""What the first event names as the hash of the line before it."""

KINDS = frozenset(
    {"attempt", "runner", "cell", "execute", "message", "cell_end", "tool", "model", "meter", "network", "note"}
    | {"limit", "end"}
)

_INT_BITS = 4300 * 3
"""Integers longer than this have more digits than Python reads back from decimal text by default."""

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
    """Return the line of an event without newline: compact ASCII JSON, so any text (lone surrogates too) survives.

    Raises:
        ValueError, TypeError: when the data is not strict JSON; :func:`plain` makes it so.
    """
    event = {"seq": seq, "time": time, "prev": prev, "kind": kind, "data": data}
    return json.dumps(event, separators=(",", ":"), allow_nan=False).encode("ascii")


def parse(text: bytes) -> Any:
    """Return the value of a JSON text: what :func:`json.loads` returns, and its errors, several times as quickly.

    Raises:
        ValueError: when it is not JSON.
        RecursionError: when it is nested too deeply.
    """
    try:
        return from_json(text)
    except ValueError:
        return json.loads(text)  # lone surrogates, deep nesting, or no JSON at all


def decode(line: bytes) -> Event:
    """Return the event of a line.

    Raises:
        ValueError: when the line is not an event.
    """
    try:
        raw = parse(line)
    except RecursionError:
        raise ValueError("nested too deeply for an event line") from None
    if not isinstance(raw, dict) or set(raw) != {"seq", "time", "prev", "kind", "data"}:
        raise ValueError("not an event line")
    if type(raw["seq"]) is not int or not isinstance(raw["data"], dict):
        raise ValueError("not an event line")
    if not all(isinstance(raw[name], str) for name in ("time", "prev", "kind")) or raw["kind"] not in KINDS:
        raise ValueError("not an event line")
    return Event(raw["seq"], raw["time"], raw["prev"], raw["kind"], raw["data"], line_hash(line))


def plain(value: Any) -> Any:
    """Return a value as strict JSON: NaN and infinities become ``{"$float": "nan"}``, what is no JSON its text."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(value)}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > _INT_BITS:
        return {"$int": hex(value)}
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)
