"""What the tools of an attempt give back to whoever writes the cells."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from reclaim_nb.errors import AttemptError
from reclaim_nb.papers.numbers import format_decimal
from reclaim_nb.record.text import collapse, cut_middle, visible

TOOL_MARK = "\u2063reclaim-tool:"
"""Begins a tool call that a cell sends through the kernel's input channel; see ``kernels/launcher.py``."""

SHOWN_CHARACTERS = 12_000
"""Most characters of a cell's output that go back at once; the middle is cut, and ``read_output`` has it all."""

MOST_DIGITS = 400
"""More digits than any float has: a number beyond would only cost time and space."""

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")

HANDED_IN = "handed in {}; the attempt ends after this cell"
"""What a cell shows that hands in a value."""


class AttemptOver(Exception):
    """The attempt has ended or is ending; no tool works any more."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"the attempt is over: {reason}{f' ({detail})' if detail else ''}")
        self.reason = reason
        self.detail = detail


class ToolRefused(AttemptError):
    """A tool call cannot be carried out; the text tells the agent why and what to do."""


@dataclass(frozen=True, slots=True)
class CellResult:
    """What running a cell gave.

    Attributes:
        cell: id of the cell.
        status: ``ok``, ``error``, ``interrupted``, ``timeout``, ``killed``.
        text: its output as text, cut in the middle when long.
        cut: characters left out of ``text``.
        execution_count: Jupyter's number of the execution.
        held_seconds: seconds it ran.
        charged_seconds: device seconds it was charged.
        detail: a sentence on the status, None when there is nothing to say.
    """

    cell: str
    status: str
    text: str
    cut: int
    execution_count: int | None
    held_seconds: float
    charged_seconds: float
    detail: str | None


@dataclass(frozen=True, slots=True)
class BudgetState:
    """What is granted, spent and left; hours in the card's unit, None for a limit that is not set."""

    device: str
    unit: str
    granted_hours: Decimal
    spent_hours: Decimal
    wall_clock_seconds: float
    wall_clock_limit: float | None
    turns: int
    turn_limit: int | None
    tokens: int
    token_limit: int | None
    usd: Decimal | None
    usd_limit: Decimal | None

    @property
    def left_hours(self) -> Decimal:
        return max(Decimal(0), self.granted_hours - self.spent_hours)

    @property
    def text(self) -> str:
        """One line for people and models."""
        parts = [
            f"{format_decimal(self.spent_hours.quantize(Decimal('0.0001')))} of "
            f"{format_decimal(self.granted_hours)} {self.unit} spent",
            f"{self.wall_clock_seconds:.0f} s passed"
            + (f" of {self.wall_clock_limit:.0f} s" if self.wall_clock_limit else ""),
            f"{self.turns} cells run" + (f" of {self.turn_limit}" if self.turn_limit else ""),
        ]
        if self.token_limit:
            parts.append(f"{self.tokens:,} of {self.token_limit:,} tokens")
        if self.usd_limit is not None:
            parts.append(f"{self.usd if self.usd is not None else 'unknown'} of {self.usd_limit} US dollars")
        return "; ".join(parts)

    def to_json(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "device": self.device,
            "unit": self.unit,
            "granted_hours": str(self.granted_hours),
            "spent_hours": str(self.spent_hours),
            "left_hours": str(self.left_hours),
            "wall_clock_seconds": round(self.wall_clock_seconds, 1),
            "wall_clock_limit": self.wall_clock_limit,
            "turns": self.turns,
            "turn_limit": self.turn_limit,
            "tokens": self.tokens,
            "token_limit": self.token_limit,
            "usd": None if self.usd is None else str(self.usd),
            "usd_limit": None if self.usd_limit is None else str(self.usd_limit),
        }


def output_text(outputs: list[dict[str, Any]]) -> str:
    """Return notebook outputs as the text that a terminal would show."""
    parts = []
    for output in outputs:
        kind = output["output_type"]
        if kind == "stream":
            parts.append(collapse(_join(output["text"])))
        elif kind == "error":
            parts.append("\n".join(output["traceback"]) or f"{output['ename']}: {output['evalue']}")
        else:
            parts.append(bundle_text(output["data"]))
    return _ANSI.sub("", "\n".join(part.rstrip("\n") for part in parts if part))


def bundle_text(data: dict[str, Any]) -> str:
    """Return the text of a MIME bundle, with a word for what is no text."""
    text = _join(data.get("text/plain", ""))
    others = [mime for mime in data if mime.startswith(("image/", "video/", "audio/"))]
    return text + (f"\n[{', '.join(others)}]" if others else "")


def shorten(text: str, limit: int = SHOWN_CHARACTERS) -> tuple[str, int]:
    """Return text fit to go back to an agent, and the characters left out of its middle."""
    return cut_middle(visible(text), limit)


def as_decimal(value: object) -> Decimal:
    """Return a number that an agent gave as text.

    Raises:
        ToolRefused: when it is no finite number.
    """
    try:
        number = Decimal(str(value).strip()[: 4 * MOST_DIGITS])
    except InvalidOperation:
        raise ToolRefused(f"{value!r} is not a number; give digits such as 0.9873") from None
    if not number.is_finite():
        raise ToolRefused(f"{value!r} is not a finite number")
    if abs(number.adjusted()) > MOST_DIGITS or len(number.as_tuple().digits) > MOST_DIGITS:
        raise ToolRefused(f"{str(value)[:40]!r}… is out of reach of any measurement; give digits such as 0.9873")
    return number


def _join(text: Any) -> str:
    return "".join(text) if isinstance(text, list) else str(text)
