"""Large texts of a stream, kept compressed beside it and named by hash.

A message's long text does not stand in its line but as ``{"$payload": {offset, length, bytes, sha256}}``: ``length``
compressed bytes from ``offset`` of ``payloads.bin``, which are ``bytes`` bytes of UTF-8 when unpacked. Past a cap per
attempt the text is cut: ``{"$cut": {bytes, sha256, kept}}`` still counts and hashes the whole, while ``kept`` (a
payload) holds head, tail and the lines where a number stands beside a word of interest.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reclaim_nb.errors import RecordError, UnsoundRecord

INLINE_CHARS = 16 * 1024
"""Texts up to this long stand in the line itself."""

MESSAGE_CAP = 64 * 1024 * 1024
"""Most bytes of one text that are kept whole."""

ATTEMPT_CAP = 256 * 1024 * 1024
"""Most bytes of all texts of an attempt that are kept whole."""

KEPT_END = 4 * 1024
"""Characters kept of each end of a text that is cut."""

DEEPEST = 100
"""Levels of nesting that are kept as structure; no reader of the record can then run out of stack."""

WINDOWS = 40
"""Most lines kept from the inside of a text that is cut."""

WINDOW_REACH = 200
"""Characters kept on each side of a word of interest, within its line."""

OCCURRENCES = 500
"""Most places of one word that are looked at in one text."""

_DIGIT = re.compile(r"\d")

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
        self._words = tuple(sorted({word.lower() for word in (*WORDS, *self.policy.words) if word.strip()}))
        self._last: tuple[int, str] | None = None

    def resume(self, stored: int) -> None:
        """Count bytes that an earlier runner stored against the attempt's cap."""
        self._stored = stored

    @property
    def stored(self) -> int:
        """Uncompressed bytes kept so far."""
        return self._stored

    def put(self, text: str) -> dict[str, Any]:
        """Store a text and return what stands for it in the line: ``$payload`` or ``$cut``.

        Raises:
            RecordError: when the disk does not take it; nothing of it is then left in the file.
        """
        raw = to_bytes(text)
        if len(raw) <= self.policy.message_cap and self._stored + len(raw) <= self.policy.attempt_cap:
            reference = {"$payload": self._append(text, raw)}
            self._stored += len(raw)
            return reference
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
            UnsoundRecord: when the bytes are missing or are not the ones that were recorded.
        """
        try:
            payload = reference["$payload"] if "$payload" in reference else reference["$cut"]["kept"]
            offset, length, sha256 = int(payload["offset"]), int(payload["length"]), str(payload["sha256"])
        except (KeyError, TypeError, ValueError):
            raise UnsoundRecord(f"{self.path}: {str(reference)[:200]} names no bytes of this file") from None
        if self._last is not None and self._last[0] == offset:
            return self._last[1]
        try:
            with open(self.path, "rb") as file:
                file.seek(offset)
                raw = zlib.decompress(file.read(length))
        except (OSError, ValueError, zlib.error) as problem:
            raise UnsoundRecord(f"{self.path}: bytes at {offset} cannot be read back ({problem})") from problem
        if hashlib.sha256(raw).hexdigest() != sha256:
            raise UnsoundRecord(f"{self.path}: bytes at {offset} are not the ones that were recorded")
        return raw.decode("utf-8", "surrogatepass")

    def _append(self, text: str, raw: bytes) -> dict[str, Any]:
        packed = zlib.compress(raw, 1)
        try:
            if self._file is None:
                self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            view = memoryview(packed)
            while view:
                view = view[os.write(self._file, view) :]
        except OSError as problem:
            if self._file is not None:
                os.ftruncate(self._file, self._offset)
            raise RecordError(
                f"{self.path}: the record cannot be written ({problem.strerror}); free space, then `reclaim resume`"
            ) from problem
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
        lines = list(itertools.islice(self._lines_of_interest(inner), WINDOWS))
        middle = "".join(f"\n[…] {line}" for line in lines)
        return f"{text[:KEPT_END]}\n[… cut: {len(inner)} characters …]{middle}\n[…]\n{text[-KEPT_END:]}"

    def _lines_of_interest(self, text: str) -> Iterator[str]:
        """Yield the surroundings, at most a line, of each word of interest that stands near a digit."""
        end = 0
        for start, length in self._found_words(text):
            if start < end:
                continue
            begin = max(end, start - WINDOW_REACH, text.rfind("\n", max(0, start - WINDOW_REACH), start) + 1)
            stop = text.find("\n", start + length, start + length + WINDOW_REACH)
            end = stop if stop >= 0 else start + length + WINDOW_REACH
            window = text[begin:end]
            if _DIGIT.search(window):
                yield window

    def _found_words(self, text: str) -> list[tuple[int, int]]:
        """Return where words of interest stand, a bounded number of each; plain searches, because floods are large."""
        lower = text.lower()
        if len(lower) != len(text):
            lower = text  # a letter changed its length, and positions would not fit
        found = []
        for word in self._words:
            position = lower.find(word)
            for _ in range(OCCURRENCES):
                if position < 0:
                    break
                found.append((position, len(word)))
                position = lower.find(word, position + 1)
        return sorted(found)


def spill(content: Any, store: PayloadStore, depth: int = 0) -> Any:
    """Return content with every long text replaced by what stands for it.

    What a kernel sent that looks like one of these is wrapped as ``{"$raw": ...}``; what is nested too deeply becomes
    its JSON text.
    """
    if isinstance(content, str):
        return store.put(content) if len(content) > INLINE_CHARS else content
    if not isinstance(content, dict | list):
        return content
    if depth == DEEPEST:
        return store.put(_as_text(content))
    if isinstance(content, dict):
        spilled_dict = {key: spill(item, store, depth + 1) for key, item in content.items()}
        return {"$raw": spilled_dict} if _looks_special(content) else spilled_dict
    spilled = [spill(item, store, depth + 1) for item in content]
    if len(spilled) > 1000:
        return {"$json": store.put(json.dumps(spilled))}
    return spilled


def _as_text(content: Any) -> str:
    try:
        return json.dumps(content)
    except (RecursionError, ValueError):
        return "[nested too deeply to be kept]"


def _looks_special(content: dict[str, Any]) -> bool:
    return len(content) == 1 and next(iter(content)).startswith("$")


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
                return resolve(json.loads(text), store)
            except ValueError:
                return text
        if len(content) == 1 and isinstance(content.get("$raw"), dict):
            content = content["$raw"]
        return {key: resolve(item, store) for key, item in content.items()}
    if isinstance(content, list):
        return [resolve(item, store) for item in content]
    return content


def references(content: Any) -> Iterable[dict[str, Any]]:
    """Yield every ``$payload``/``$cut`` object inside a JSON value."""
    if is_reference(content):
        yield content
    elif isinstance(content, dict):
        if len(content) == 1 and isinstance(content.get("$raw"), dict):
            content = content["$raw"]
        for item in content.values():
            yield from references(item)
    elif isinstance(content, list):
        for item in content:
            yield from references(item)
