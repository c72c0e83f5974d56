"""Papers whose cards are not to be counted: rates leave them out by default, by name, and say how many."""

from __future__ import annotations

import pandas as pd

BROKEN = "whose card the audit calls broken"
PROVISIONAL = "whose target was only seen second-hand"
DEPARTED = "whose card is not that of its frozen suite"


def uncounted(frame: pd.DataFrame, *, broken: bool = True, provisional: bool = True) -> pd.Series[bool]:
    """Return which rows of a frame of attempts or papers are not to be counted.

    Args:
        frame: with the columns ``audit`` and ``provisional``.
        broken: leave out what the audit calls broken.
        provisional: leave out what was only seen second-hand.

    What departs from its frozen suite is always left out.
    """
    out = departed(frame)
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
    gone, broken = departed(left_out), _broken(left_out)
    parts = (
        (left_out[gone], DEPARTED),
        (left_out[~gone & broken], BROKEN),
        (left_out[~gone & ~broken & _provisional(left_out)], PROVISIONAL),
    )
    for part, why in parts:
        if len(part):
            names = sorted(set(part["suite"] + "/" + part["paper"]))
            attempts = f"{len(part):,} declared attempt{'s' if len(part) > 1 else ''}"
            papers = f"{len(names)} paper{'s' if len(names) > 1 else ''}"
            said.append(f"{attempts} at {papers} {why}: {', '.join(names)}")
    return said + [f"why: {why}" for why in sorted(set(left_out.loc[gone, "departed"]))]


def departed(frame: pd.DataFrame) -> pd.Series[bool]:
    """Return which attempts were made with a card that is not that of its frozen suite; of papers, none."""
    if "departed" not in frame.columns:
        return pd.Series(False, index=frame.index)
    return frame["departed"].notna()


def _broken(frame: pd.DataFrame) -> pd.Series[bool]:
    return frame["audit"].eq("broken").fillna(False).astype(bool)


def _provisional(frame: pd.DataFrame) -> pd.Series[bool]:
    return frame["provisional"].fillna(False).astype(bool)
