"""What attempts spent: failed ones against need and budget, who stopped early, success against spend, cost."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.discrete.discrete_model import Logit
from statsmodels.tools.sm_exceptions import ConvergenceWarning, HessianInversionWarning, PerfectSeparationWarning
from statsmodels.tools.tools import add_constant

from reclaim_nb.analysis.rates import ALPHA, groups, mean_interval, rate_interval, tally, tidy

MEASURES = {"of_budget": "budget_hours", "of_need": "need_hours"}
EARLY = 0.5
BINS = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.99, float("inf"))
"""Edges of spend as a share of the budget; the last bin holds attempts that the budget ended."""
_NAN = float("nan")


def failed(attempts: pd.DataFrame) -> pd.DataFrame:
    """Return the attempts that count as failures: graded, and not reproduced."""
    return attempts[attempts["standing"] == "failure"]


def _beside(attempts: pd.DataFrame) -> dict[str, int]:
    counts = tally(attempts)
    return {name: counts[name] for name in ("excluded", "ungraded", "missing")}


def spend_of_failed(attempts: pd.DataFrame, by: Sequence[str] = (), alpha: float = ALPHA) -> pd.DataFrame:
    """Return what share of budget and need failed attempts spent.

    Args:
        attempts: frame of attempts.
        by: grouping columns; none: all attempts together.
        alpha: 1 minus the confidence level.

    Returns:
        one row per group and ``measure`` (``of_budget``, ``of_need``): ``n`` failed attempts whose share is known,
        ``unknown`` others; ``mean`` of the shares with ``low``, ``high``, a bootstrap over papers; ``median``,
        ``q25``, ``q75``; ``aggregate``: hours spent over hours granted (or needed), all attempts together; counts of
        others.
    """
    records = []
    for key, group in groups(attempts, by):
        lost = failed(group)
        for measure, whole in MEASURES.items():
            known = lost[lost[measure].notna()]
            shares = known[measure].to_numpy(float)
            low, high = mean_interval(known[measure], known["paper_key"], alpha)
            quantiles = np.quantile(shares, (0.25, 0.5, 0.75)) if len(shares) else (_NAN,) * 3
            total = float(known[whole].sum())
            records.append(
                {
                    **key,
                    "measure": measure,
                    "n": len(shares),
                    "unknown": len(lost) - len(shares),
                    "mean": float(shares.mean()) if len(shares) else _NAN,
                    "low": low,
                    "high": high,
                    "q25": float(quantiles[0]),
                    "median": float(quantiles[1]),
                    "q75": float(quantiles[2]),
                    "aggregate": float(known["spent_hours"].sum()) / total if total else _NAN,
                    **_beside(group),
                }
            )
    return tidy(records)


def stopped_early(
    attempts: pd.DataFrame, by: Sequence[str] = (), share: float = EARLY, alpha: float = ALPHA
) -> pd.DataFrame:
    """Return the share of failed attempts that ended with most of what they had, and needed, unspent.

    Early is: spend below ``share`` of the budget, and below ``share`` of the need where that is known (C02).

    Args:
        attempts: frame of attempts.
        by: grouping columns.
        share: the bound.
        alpha: 1 minus the confidence level.

    Returns:
        for each group ``early`` of ``n`` failed attempts with known spend, ``rate`` with Wilson ``low``, ``high`` and
        the ``effective_n`` that they are of; ``need_unknown`` of them judged by the budget alone; counts of others.
    """
    records = []
    for key, group in groups(attempts, by):
        known = failed(group).dropna(subset=["of_budget"])
        early = (known["of_budget"] < share) & (known["of_need"].isna() | (known["of_need"] < share).fillna(True))
        n, k = len(known), int(early.sum())
        low, high, worth = rate_interval(early, known["paper_key"], alpha)
        records.append(
            {
                **key,
                "early": k,
                "n": n,
                "rate": k / n if n else _NAN,
                "low": low,
                "high": high,
                "effective_n": worth,
                "need_unknown": int(known["of_need"].isna().sum()),
                **_beside(group),
            }
        )
    return tidy(records)


def success_by_spend(
    attempts: pd.DataFrame, by: Sequence[str] = (), bins: Sequence[float] = BINS, alpha: float = ALPHA
) -> pd.DataFrame:
    """Return the rate of success among graded attempts that spent alike.

    Args:
        attempts: frame of attempts.
        by: grouping columns.
        bins: edges of spend as a share of the budget.
        alpha: 1 minus the confidence level.

    Returns:
        for each group and bin ``from``, ``to`` (shares), ``reproduced`` of ``n``, ``rate``, Wilson ``low``, ``high``
        and the ``effective_n`` that they are of, mean share ``spent``; counts of others for the whole group.
    """
    records = []
    for key, group in groups(attempts, by):
        graded = group[group["standing"].isin(("success", "failure")) & group["of_budget"].notna()]
        spent = graded["of_budget"].to_numpy(float)
        success = graded["standing"] == "success"
        for start, end in pairwise(bins):
            inside = (spent >= start) & (spent < end)
            n, k = int(inside.sum()), int(success[inside].sum())
            low, high, worth = rate_interval(success[inside], graded["paper_key"][inside], alpha)
            records.append(
                {
                    **key,
                    "from": start,
                    "to": end,
                    "reproduced": k,
                    "n": n,
                    "rate": k / n if n else _NAN,
                    "low": low,
                    "high": high,
                    "effective_n": worth,
                    "spent": float(spent[inside].mean()) if n else _NAN,
                    **_beside(group),
                }
            )
    return tidy(records)


def spend_odds(attempts: pd.DataFrame, by: Sequence[str] = (), alpha: float = ALPHA) -> pd.DataFrame:
    """Return how the odds of success change when spend doubles: an association, spend was not assigned.

    Logistic regression of success on the binary logarithm of spend as a share of the budget, with errors clustered by
    paper (statsmodels ``Logit``). No estimate where the fit does not settle or success can be told from spend alone.

    Returns:
        for each group ``n`` graded attempts with spend above zero, ``zero_spend`` left out, ``odds_ratio`` per
        doubling, ``low``, ``high``, ``p``; counts of others.
    """
    records: list[dict[str, Any]] = []
    for key, group in groups(attempts, by):
        graded = group[group["standing"].isin(("success", "failure")) & group["of_budget"].notna()]
        used = graded[graded["of_budget"] > 0]
        records.append(
            {
                **key,
                "n": len(used),
                "zero_spend": len(graded) - len(used),
                **_odds(used, alpha),
                **_beside(group),
            }
        )
    return tidy(records)


def _odds(used: pd.DataFrame, alpha: float) -> dict[str, float]:
    none = {"odds_ratio": _NAN, "low": _NAN, "high": _NAN, "p": _NAN}
    success = (used["standing"] == "success").to_numpy(float)
    doublings = np.log2(used["of_budget"].to_numpy(float))
    papers = pd.factorize(used["paper_key"])[0]
    if len(set(success)) < 2 or len(used) < 10 or np.ptp(doublings) == 0 or len(set(papers)) < 2:
        return none
    with warnings.catch_warnings(), np.errstate(over="ignore"):
        for kind in (PerfectSeparationWarning, ConvergenceWarning, HessianInversionWarning):
            warnings.simplefilter("error", kind)
        try:
            fit = Logit(success, add_constant(doublings)).fit(
                disp=False, cov_type="cluster", cov_kwds={"groups": papers}
            )
        except (PerfectSeparationWarning, ConvergenceWarning, HessianInversionWarning, np.linalg.LinAlgError):
            return none
    low, high = fit.conf_int(alpha)[1]
    return {
        "odds_ratio": float(np.exp(fit.params[1])),
        "low": float(np.exp(low)),
        "high": float(np.exp(high)),
        "p": float(fit.pvalues[1]),
    }


def cost(attempts: pd.DataFrame, by: Sequence[str] = ("agent",)) -> pd.DataFrame:
    """Return what attempts cost, all that ended, also failed and ungraded ones.

    Returns:
        for each group ``n`` attempts that ended, ``hours`` and ``hours_per_success``, ``tokens``, ``usd`` and
        ``usd_per_success``, ``wall_hours``; ``usd_unknown`` attempts without a known cost; counts of others. Hours are
        H100-equivalent GPU-hours, or CPU-hours: group by ``device`` where a batch holds both.
    """
    records: list[dict[str, Any]] = []
    for key, group in groups(attempts, by):
        ended = group[group["state"] == "ended"]
        won = int((ended["standing"] == "success").sum())
        hours, usd = float(ended["spent_hours"].sum()), ended["usd"]
        known = bool(usd.notna().any())
        records.append(
            {
                **key,
                "n": len(ended),
                "reproduced": won,
                "hours": hours,
                "hours_per_success": hours / won if won else _NAN,
                "tokens": int(ended["tokens"].sum()),
                "usd": float(usd.sum()) if known else _NAN,
                "usd_per_success": float(usd.sum()) / won if won and known else _NAN,
                "usd_unknown": int(usd.isna().sum()),
                "wall_hours": float(ended["wall_clock_seconds"].sum()) / 3600,
                **_beside(group),
            }
        )
    return tidy(records)
