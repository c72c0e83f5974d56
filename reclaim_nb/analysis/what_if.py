"""The same measured values by other bounds, and by smaller budgets. Nothing is measured again."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

import pandas as pd

from reclaim_nb.analysis.frames import Runs
from reclaim_nb.analysis.outcomes import OUTCOMES, standing
from reclaim_nb.analysis.places import OUTCOME_OF_PLACE
from reclaim_nb.errors import CardError
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.criterion import Band
from reclaim_nb.papers.numbers import CONTEXT

Rule = Literal["published", "strict"]

_BY_DISTANCE = frozenset({"reproduced", "near_miss", "not_reproduced"})
_COLUMNS = ("outcome", "cause", "value", "card_sha256", "spent_hours", "budget_hours")


def what_if(
    runs: Runs, *, tolerance: Decimal = Decimal(1), rule: Rule = "published", budget: Decimal = Decimal(1)
) -> pd.DataFrame:
    """Return the frame of attempts as it would be under another rule.

    Only what was decided by distance is decided anew. An attempt that spent more than the budget allows then has no
    result in time, so it is not reproduced (C06); what its agent would have done with less is not known, so this says
    least, not what would happen.

    Args:
        runs: the attempts.
        tolerance: how many times as wide the accepted band is, each bound moved away from the claimed value.
        rule: the card's published criterion, or its strict one where it has one.
        budget: share of each budget that is granted.

    Returns:
        the frame with ``outcome``, ``cause`` and ``standing`` as they would be, and ``outcome_before``.
    """
    attempts = runs.attempts
    outcomes: list[str | None] = []
    causes: list[str | None] = []
    for row in attempts[list(_COLUMNS)].astype(object).itertuples(index=False, name=None):
        given = {name: None if pd.isna(value) else value for name, value in zip(_COLUMNS, row, strict=True)}
        outcome, cause = _decide(runs.cards.get(str(given["card_sha256"])), given, tolerance, rule)
        if outcome == "reproduced" and _over(given, budget):
            outcome, cause = "not_reproduced", "C06"
        outcomes.append(outcome)
        causes.append(cause)
    standings = [
        standing(outcome, None if pd.isna(reason) else reason, state)
        for outcome, reason, state in zip(outcomes, attempts["reason"], attempts["state"], strict=True)
    ]
    return attempts.assign(
        outcome_before=attempts["outcome"],
        outcome=pd.Categorical(outcomes, list(OUTCOMES), ordered=True),
        cause=pd.Categorical(causes, attempts["cause"].cat.categories, ordered=True),
        standing=pd.Categorical(standings, attempts["standing"].cat.categories, ordered=True),
    )


def flipped(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the papers at which an attempt is reproduced before and not then, or the other way.

    Returns:
        ``tier``, ``paper``, ``attempts``, ``before`` and ``then`` reproduced, ``gained`` and ``lost``.
    """
    before, then = frame["outcome_before"] == "reproduced", frame["outcome"] == "reproduced"
    counted = frame.assign(before=before, then=then, gained=~before & then, lost=before & ~then)
    changed = counted[counted["gained"] | counted["lost"]]["paper_key"].unique()
    rows = []
    for key in sorted(changed):
        group = counted[counted["paper_key"] == key]
        sums = {name: int(group[name].sum()) for name in ("before", "then", "gained", "lost")}
        first = group.iloc[0]
        rows.append({"tier": first["tier"], "paper": first["paper"], "attempts": len(group), **sums})
    return pd.DataFrame(rows, columns=["tier", "paper", "attempts", "before", "then", "gained", "lost"])


def widened(band: Band, times: Decimal, claimed: Decimal | None) -> Band:
    """Return a band whose bounds lie ``times`` as far from the claimed value; it always holds that value."""
    change = CONTEXT.multiply(band.tolerance, CONTEXT.subtract(times, Decimal(1)))
    low = None if band.low is None else CONTEXT.subtract(band.low, change)
    high = None if band.high is None else CONTEXT.add(band.high, change)
    if claimed is not None:
        low = None if low is None or band.low is None or band.low > claimed else min(low, claimed)
        high = None if high is None or band.high is None or band.high < claimed else max(high, claimed)
    places = max([band.places, *(-int(b.as_tuple().exponent) for b in (low, high) if b is not None)])
    return replace(band, low=low, high=high, tolerance=CONTEXT.multiply(band.tolerance, times), places=places)


def _decide(
    card: PaperCard | None, row: dict[str, Any], tolerance: Decimal, rule: Rule
) -> tuple[str | None, str | None]:
    outcome, cause, value = row["outcome"], row["cause"], row["value"]
    if card is None or outcome not in _BY_DISTANCE or value is None or cause not in (None, "C14"):
        return outcome, cause
    criterion = card.strict if rule == "strict" and card.strict is not None else card.criterion
    if criterion is None or criterion.needs_baseline or (tolerance == 1 and criterion is card.criterion):
        return outcome, cause
    try:
        band = criterion.band()
        if tolerance != 1:
            band = widened(band, tolerance, criterion.value)
        place = band.decide(Decimal(str(value))).place
    except (CardError, InvalidOperation):
        return outcome, cause
    decided = OUTCOME_OF_PLACE[place]
    return decided, None if decided == "reproduced" else "C14"


def _over(row: dict[str, Any], budget: Decimal) -> bool:
    spent, granted = row["spent_hours"], row["budget_hours"]
    return budget < 1 and spent is not None and granted is not None and float(spent) > float(budget) * float(granted)
