"""Large texts of a stream, kept compressed beside it and named by hash.

A message's long text does not stand in its line but as ``{"$payload": {offset, length, bytes, sha256}}``: ``length``
compressed bytes from ``offset`` of ``payloads.bin``, which are ``bytes`` bytes of UTF-8 when unpacked. Past a cap per
attempt the text is cut: ``{"$cut": {bytes, sha256, kept}}`` still counts and hashes the whole, while ``kept`` (a
payload) holds head, tail and the lines where a number stands beside a word of interest.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reclaim_nb.errors import RecordError

INLINE_CHARS = 16 * 1024
"""Texts up to this long stand in the line itself."""

MESSAGE_CAP = 64 * 1024 * 1024
"""Most bytes of one text that are kept whole."""

ATTEMPT_CAP = 256 * 1024 * 1024
"""Most bytes of all texts of an attempt that are kept whole."""

KEPT_END = 4 * 1024
"""Characters kept of each end of a text that is cut."""

WINDOWS = 40
"""Most lines kept from the inside of a text that is cut."""

WORDS = ("final", "test", "result", "mean", "accuracy", "acc", "auc", "loss", "error", "score", "perplexity", "f1")
"""Words of interest for any paper; a card adds its metric's own."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How much of an attempt's large texts is kept; sizes in bytes."""

    message_cap: int = MESSAGE_CAP
    attempt_cap: int = ATTEMPT_CAP
    words: tuple[str, ...] = WORDS


def to_bytes(text: str) -> bytes:
    """Return UTF-8 with lone surrogates kept, so that every Python string has bytes."""
    return text.encode("utf-8", "surrogatepass")


class PayloadStore:
    """Appends texts to ``payloads.bin`` and reads them back."""

    def __init__(self, path: Path, policy: Policy | None = None) -> None:
        self.path = path
        self.policy = policy or Policy()
        self._file: int | None = None
        self._offset = path.stat().st_size if path.exists() else 0
        self._stored = 0
        words = "|".join(sorted(map(re.escape, {w.lower() for w in (*WORDS, *self.policy.words) if w.strip()})))
        self._interest = re.compile(rf"^.*?(?:{words}).*?\d.*$|^.*?\d.*?(?:{words}).*$", re.IGNORECASE | re.MULTILINE)
        self._last: tuple[int, str] | None = None

    def resume(self, stored: int) -> None:
        """Count bytes that an earlier runner stored against the attempt's cap."""
        self._stored = stored

    @property
    def stored(self) -> int:
        """Uncompressed bytes kept so far."""
        return self._stored

    def put(self, text: str) -> dict[str, Any]:
        """Store a text and return what stands for it in the line: ``$payload`` or ``$cut``."""
        raw = to_bytes(text)
        if len(raw) <= self.policy.message_cap and self._stored + len(raw) <= self.policy.attempt_cap:
            self._stored += len(raw)
            return {"$payload": self._append(text, raw)}
        kept = self._kept(text)
        return {
            "$cut": {
                "bytes": len(raw),
                "sha256": hashlib.sha256(raw).hexdigest(),
                "kept": self._append(kept, to_bytes(kept)),
            }
        }

    def sync(self) -> None:
        """Make everything stored so far durable."""
        if self._file is not None:
            os.fdatasync(self._file)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def get(self, reference: dict[str, Any]) -> str:
        """Return the text that a ``$payload`` or ``$cut`` stands for (of a cut, what was kept).

        Raises:
            RecordError: when the bytes are missing or are not the ones that were recorded.
        """
        payload = reference["$payload"] if "$payload" in reference else reference["$cut"]["kept"]
        if self._last is not None and self._last[0] == payload["offset"]:
            return self._last[1]
        try:
            with open(self.path, "rb") as file:
                file.seek(payload["offset"])
                raw = zlib.decompress(file.read(payload["length"]))
        except (OSError, zlib.error) as problem:
            raise RecordError(f"{self.path}: bytes at {payload['offset']} cannot be read back ({problem})") from problem
        if hashlib.sha256(raw).hexdigest() != payload["sha256"]:
            raise RecordError(f"{self.path}: bytes at {payload['offset']} are not the ones that were recorded")
        return raw.decode("utf-8", "surrogatepass")

    def _append(self, text: str, raw: bytes) -> dict[str, Any]:
        if self._file is None:
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        packed = zlib.compress(raw, 1)
        view = memoryview(packed)
        while view:
            view = view[os.write(self._file, view) :]
        reference = {
            "offset": self._offset,
            "length": len(packed),
            "bytes": len(raw),
            "sha256": hashlib.sha256(raw).hexdigest(),
        }
        self._last = (self._offset, text)
        self._offset += len(packed)
        return reference

    def _kept(self, text: str) -> str:
        if len(text) <= 2 * KEPT_END:
            return text
        inner = text[KEPT_END:-KEPT_END]
        lines: list[str] = []
        for match in self._interest.finditer(inner):
            lines.append(match.group()[:400])
            if len(lines) == WINDOWS:
                break
        middle = "".join(f"\n[…] {line}" for line in lines)
        return f"{text[:KEPT_END]}\n[… cut: {len(inner)} characters …]{middle}\n[…]\n{text[-KEPT_END:]}"


def spill(content: Any, store: PayloadStore) -> Any:
    """Return content with every long text replaced by what stands for it."""
    if isinstance(content, str):
        return store.put(content) if len(content) > INLINE_CHARS else content
    if isinstance(content, dict):
        return {key: spill(item, store) for key, item in content.items()}
    if isinstance(content, list):
        spilled = [spill(item, store) for item in content]
        if len(spilled) > 1000:
            return {"$json": store.put(json.dumps(spilled))}
        return spilled
    return content


def is_reference(value: Any) -> bool:
    """Tell whether a JSON value stands for a stored text."""
    return isinstance(value, dict) and len(value) == 1 and next(iter(value)) in ("$payload", "$cut")


def resolve(content: Any, store: PayloadStore) -> Any:
    """Return content with every stored text put back in place."""
    if is_reference(content):
        return store.get(content)
    if isinstance(content, dict):
        if len(content) == 1 and "$json" in content:
            text = store.get(content["$json"])
            try:
                return json.loads(text)
            except ValueError:
                return text
        return {key: resolve(item, store) for key, item in content.items()}
    if isinstance(content, list):
        return [resolve(item, store) for item in content]
    return content


def references(content: Any) -> Iterable[dict[str, Any]]:
    """Yield every ``$payload``/``$cut`` object inside a JSON value."""
    if is_reference(content):
        yield content
    elif isinstance(content, dict):
        for item in content.values():
            yield from references(item)
    elif isinstance(content, list):
        for item in content:
            yield from references(item)
