"""A fact: what a detector saw, where, in which words. Never a label."""

from __future__ import annotations

import hashlib
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

TEXT_LIMIT = 300
"""Characters of the matched text that a fact shows; its hash is of the whole."""


class Fact(BaseModel):
    """One thing a detector saw.

    Attributes:
        rule: name of what was seen, such as ``literal_without_computation``.
        cell: id of the cell, None where it is about the attempt.
        output: index of the output in the cell's history, None where it is about source or record.
        text: the matched text, shortened.
        sha256: hash of the whole matched text.
        details: what else was read there, by name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rule: str
    cell: str | None = None
    output: int | None = None
    text: str = ""
    sha256: str = ""
    details: dict[str, str | int | bool | None] = Field(default_factory=dict)


def fact(rule: str, cell: str | None, output: int | None, text: str, **details: Any) -> Fact:
    """Return a fact about a matched text; details become texts, whole numbers or booleans."""
    plain = {
        key: value if isinstance(value, bool | int) or value is None else str(value) for key, value in details.items()
    }
    shown = text if len(text) <= TEXT_LIMIT else text[: TEXT_LIMIT - 1] + "…"
    raw = text.encode("utf-8", "surrogatepass")
    return Fact(
        rule=rule,
        cell=cell,
        output=output,
        text=shown.encode("utf-8", "replace").decode("utf-8"),
        sha256=hashlib.sha256(raw).hexdigest(),
        details=plain,
    )
