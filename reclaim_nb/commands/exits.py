"""Exit codes, which scripts can rely on."""

from __future__ import annotations

from reclaim_nb.errors import ReclaimError, Stopped, UnsoundRecord, WrongOption

DONE = 0
ERROR = 1
USAGE = 2
INFRASTRUCTURE = 3
CANCELLED = 4
UNSOUND = 5

INTERRUPTED = 130
"""What typer exits with on Ctrl-C."""

TEXT = (
    "Exit codes: 0 done, whatever came of the attempt; 1 what was asked for cannot be done; 2 wrong usage; "
    "3 infrastructure_error: the harness, the engine or the machine failed; 4 cancelled; 5 a record is not sound."
)


def of_reason(reason: str | None) -> int:
    """Return the exit code of an attempt that ended for a reason; None: it has not ended."""
    if reason == "cancelled":
        return CANCELLED
    return INFRASTRUCTURE if reason in (None, "infrastructure_error") else DONE


def of_error(problem: ReclaimError) -> int:
    """Return the exit code of a command that ended with an error."""
    if isinstance(problem, Stopped):
        return CANCELLED
    if isinstance(problem, WrongOption):
        return USAGE
    return UNSOUND if isinstance(problem, UnsoundRecord) else ERROR


def worst(codes: list[int]) -> int:
    """Return the exit code of several attempts: cancelled before infrastructure before done."""
    return max(codes, default=DONE)


def from_typer(code: object) -> int:
    """Return our code for the one that typer exits with."""
    return code if isinstance(code, int) else DONE if code is None else ERROR
