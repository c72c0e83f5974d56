"""Several criteria side by side on the same measured values, and the cards whose result depends on the choice."""

from __future__ import annotations

import pandas as pd

from reclaim_nb.analysis.frames import OUTCOME_OF_PLACE, Runs, place_of
from reclaim_nb.analysis.outcomes import OUTCOMES, standing
from reclaim_nb.analysis.rates import best_of_tier, rates, tidy

CRITERIA = {
    "published": "the published bar, exactly as published; of imported runs, the auditor's verdict",
    "strict": "the card's second criterion, where it has one; else the published bar",
    "unflagged": "imported runs only: reproduced, and no provenance flag above low",
}

_NEEDED = ("outcome", "cause", "value", "flags", "card_sha256")
_BY_DISTANCE = frozenset({"reproduced", "near_miss", "not_reproduced"})


def by_criterion(runs: Runs) -> pd.DataFrame:
    """Return the frame of attempts once per criterion.

    Only what was decided by distance is decided anew: a disqualified attempt stays so, whatever its value, and one with
    a value but another cause than plain distance (C14) keeps its outcome. No value is measured again.

    Returns:
        frame of attempts with a column ``criterion``; ``outcome`` and ``standing`` by that criterion; ``decided_by``:
        ``strict`` or ``published``, since cards without a strict criterion are decided by the published one.
    """
    frames = []
    for criterion in CRITERIA:
        attempts = runs.attempts
        if criterion == "unflagged":
            attempts = attempts[attempts["imported"].fillna(False)]
            if attempts.empty:
                continue
        outcomes, by = [], []
        for row in attempts[list(_NEEDED)].astype(object).itertuples(index=False, name=None):
            given = {name: None if pd.isna(value) else str(value) for name, value in zip(_NEEDED, row, strict=True)}
            outcome, decided_by = _decide(runs, given, criterion)
            outcomes.append(outcome)
            by.append(decided_by)
        frame = attempts.assign(
            criterion=criterion, outcome=pd.Categorical(outcomes, list(OUTCOMES), ordered=True), decided_by=by
        )
        standings = [
            standing(outcome, None if pd.isna(reason) else reason, state)
            for outcome, reason, state in zip(outcomes, frame["reason"], frame["state"], strict=True)
        ]
        frame["standing"] = pd.Categorical(standings, attempts["standing"].cat.categories, ordered=True)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def _decide(runs: Runs, row: dict[str, str | None], criterion: str) -> tuple[str | None, str]:
    outcome, value = row["outcome"], row["value"]
    if criterion == "unflagged":
        flagged = any(flag.rpartition(":")[2] in ("med", "high") for flag in (row["flags"] or "").split(";"))
        return ("near_miss" if outcome == "reproduced" and flagged else outcome), "unflagged"
    card = runs.cards.get(row["card_sha256"] or "")
    if criterion == "published" or card is None or card.strict is None:
        return outcome, "published"
    if outcome not in _BY_DISTANCE or value is None or row["cause"] not in (None, "C14"):
        return outcome, "strict"
    place = place_of(card, value, "strict")
    return (OUTCOME_OF_PLACE[place] if place else "needs_human"), "strict"


def criteria_rates(runs: Runs) -> pd.DataFrame:
    """Return the rates of every criterion side by side: the rows of :func:`reclaim_nb.analysis.rates.rates`."""
    return rates(by_criterion(runs), by=("criterion", "tier", "agent", "conditions"))


def criteria_best(runs: Runs) -> pd.DataFrame:
    """Return the best agent of each tier by every criterion."""
    parts = []
    for criterion, frame in by_criterion(runs).groupby("criterion", sort=False):
        best = best_of_tier(frame)
        best.insert(0, "criterion", criterion)
        parts.append(best)
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def flips(runs: Runs) -> pd.DataFrame:
    """Return the papers at which some attempt is reproduced by one criterion and not by another.

    Returns:
        one row per paper and other criterion: ``n`` graded attempts, reproduced by the ``published`` and by the other
        (``reproduced_then``), ``gained`` and ``lost`` attempts; ``ungraded`` and ``excluded`` ones.
    """
    frame = by_criterion(runs)
    base = frame[frame["criterion"] == "published"].set_index("attempt")
    records = []
    for criterion, other in frame[frame["criterion"] != "published"].groupby("criterion", sort=False):
        other = other.set_index("attempt")
        before = base.loc[other.index, "standing"] == "success"
        after = other["standing"] == "success"
        changed = other[(before != after).to_numpy()]
        for paper in changed["paper_key"].unique():
            here = (other["paper_key"] == paper).to_numpy()
            standings = other["standing"][here]
            records.append(
                {
                    "criterion": criterion,
                    "tier": other["tier"][here].iloc[0],
                    "paper": other["paper"][here].iloc[0],
                    "n": int(standings.isin(("success", "failure")).sum()),
                    "published": int(before[here].sum()),
                    "reproduced_then": int(after[here].sum()),
                    "gained": int((~before & after)[here].sum()),
                    "lost": int((before & ~after)[here].sum()),
                    "ungraded": int((standings == "undecided").sum()),
                    "excluded": int((standings == "excluded").sum()),
                }
            )
    columns = ["criterion", "tier", "paper", "n", "published", "reproduced_then", "gained", "lost", "ungraded"]
    return tidy(records, [*columns, "excluded"])
