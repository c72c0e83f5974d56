"""Papers whose cards are not to be counted: rates leave them out by default, by name, and say how many."""

from __future__ import annotations

import pandas as pd

BROKEN = "whose card the audit calls broken"
PROVISIONAL = "whose target was only seen second-hand"


def uncounted(frame: pd.DataFrame, *, broken: bool = True, provisional: bool = True) -> pd.Series[bool]:
    """Return which rows of a frame of attempts or papers are not to be counted.

    Args:
        frame: with the columns ``audit`` and ``provisional``.
        broken: leave out what the audit calls broken.
        provisional: leave out what was only seen second-hand.
    """
    out = pd.Series(False, index=frame.index)
    if broken:
        out |= _broken(frame)
    if provisional:
        out |= _provisional(frame)
    return out


def sentences(left_out: pd.DataFrame) -> list[str]:
    """Say what was left out: how many attempts, and at which papers.

    Args:
        left_out: attempts that were left out.
    """
    said = []
    broken = _broken(left_out)
    for part, why in ((left_out[broken], BROKEN), (left_out[~broken & _provisional(left_out)], PROVISIONAL)):
        if len(part):
            names = sorted(set(part["suite"] + "/" + part["paper"]))
            attempts = f"{len(part):,} declared attempt{'s' if len(part) > 1 else ''}"
            papers = f"{len(names)} paper{'s' if len(names) > 1 else ''}"
            said.append(f"{attempts} at {papers} {why}: {', '.join(names)}")
    return said


def _broken(frame: pd.DataFrame) -> pd.Series[bool]:
    return frame["audit"].eq("broken").fillna(False).astype(bool)


def _provisional(frame: pd.DataFrame) -> pd.Series[bool]:
    return frame["provisional"].fillna(False).astype(bool)
