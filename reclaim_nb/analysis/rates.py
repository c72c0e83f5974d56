"""Rates of success with intervals, counted both ways for what was not graded, and the best agent of each tier.

Three bases, because they differ and each answers another question:

- ``graded``: attempts with a verdict that says success or failure. What the published benchmark's means are taken over.
- ``attempts``: those, and attempts that ended as the agent's result but that no grader has decided.
- ``papers``: everything that was declared, also what was never begun or is no result of the agent: with one repeat, the
  papers of the tier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import bootstrap
from statsmodels.stats.proportion import proportion_confint

from reclaim_nb.analysis.columns import series

GROUPS = ("tier", "agent", "conditions")
BASES = ("graded", "attempts", "papers")
UNGRADED_AS = ("not_reproduced", "reproduced")
ALPHA = 0.05
FEW_PAPERS = 5
"""No interval of a mean is drawn from fewer papers."""
_SEED = 20250101
_DTYPES = {"tier": "tier", "outcome": "outcome", "cause": "cause", "self_report": "outcome"}


def tally(attempts: pd.DataFrame) -> dict[str, int]:
    """Count declared attempts so that nothing is left out of sight.

    Returns:
        ``declared``, and of these: ``reproduced``; ``graded``, success or failure; ``ungraded``, ended without a
        decision; ``excluded``, no result of the agent; ``missing``, not ended.
    """
    found = attempts["standing"].value_counts()
    return {
        "declared": len(attempts),
        "graded": int(found["success"] + found["failure"]),
        "reproduced": int(found["success"]),
        "ungraded": int(found["undecided"]),
        "excluded": int(found["excluded"]),
        "missing": int(found["missing"]),
    }


def groups(attempts: pd.DataFrame, by: Sequence[str]) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield the groups of a frame that hold anything, with the value of each grouping column; no columns: all of it."""
    if not by:
        yield {}, attempts
        return
    for key, group in attempts.groupby(list(by), observed=True, dropna=False, sort=True):
        yield dict(zip(by, key, strict=True)), group


def tidy(records: list[dict[str, Any]], columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Return records as a frame in which our words keep their order."""
    frame = pd.DataFrame.from_records(records, columns=None if columns is None else list(columns))
    for name in ("tier", "outcome", "cause", "self_report"):
        if name in frame and set(frame[name].dropna()) <= set(series([], _DTYPES[name]).cat.categories):
            frame[name] = series(frame[name].tolist(), _DTYPES[name])
    return frame


def wilson(successes: float, n: float, alpha: float = ALPHA) -> tuple[float, float]:
    """Return the Wilson score interval of a proportion, NaN without observations.

    Source: statsmodels ``proportion_confint(method="wilson")``; Wilson, JASA 22 (1927).
    """
    if n <= 0:
        return float("nan"), float("nan")
    low, high = proportion_confint(successes, n, alpha=alpha, method="wilson")
    return float(low), float(high)


def effective_n(success: pd.Series[Any], papers: pd.Series[Any]) -> float:
    """Return how many independent attempts a rate is worth when papers were attempted several times.

    The variance of the mean, clustered by paper, against that of independent attempts (the effective sample size of
    Korn and Graubard, Survey Methodology 24, 1998); never less than the papers, never more than the attempts.

    Args:
        success: 0 or 1 for each attempt.
        papers: the paper of each attempt.
    """
    n, clusters = len(success), int(papers.nunique())
    if n == clusters:
        return float(n)
    rate = float(success.mean())
    if clusters < 2 or rate in (0.0, 1.0):
        return float(clusters)
    # What statsmodels' OLS on a constant gives with cov_type="cluster"; a fit for each of hundreds of rates takes long.
    sums = np.bincount(pd.factorize(papers)[0], weights=success.to_numpy(float) - rate)
    variance = float((sums**2).sum()) / n**2 * clusters / (clusters - 1)
    return float(np.clip(rate * (1 - rate) / variance, clusters, n)) if variance > 0 else float(n)


def rate_interval(success: pd.Series[Any], papers: pd.Series[Any], alpha: float = ALPHA) -> tuple[float, float, float]:
    """Return the Wilson interval of a rate over attempts of which several may be at one paper, and their effective n.

    Args:
        success: true or false for each attempt.
        papers: the paper of each attempt.
        alpha: 1 minus the confidence level.
    """
    n = len(success)
    worth = effective_n(success, papers) if n else 0.0
    low, high = wilson(int(success.sum()) * worth / n if n else 0, worth, alpha)
    return low, high, worth


def mean_interval(values: pd.Series[Any], papers: pd.Series[Any], alpha: float = ALPHA) -> tuple[float, float]:
    """Return the interval of a mean over attempts: a bootstrap over papers with a fixed seed (scipy, percentile).

    NaN where there are fewer than :data:`FEW_PAPERS` papers, too few to draw from, or nothing varies.
    """
    of_paper = values.astype(float).groupby(papers.to_numpy()).agg(["sum", "size"])
    if len(of_paper) < FEW_PAPERS or np.ptp(values.to_numpy(float)) == 0:
        return float("nan"), float("nan")
    drawn = bootstrap(
        (of_paper["sum"].to_numpy(float), of_paper["size"].to_numpy(float)),
        lambda sums, sizes, axis: sums.sum(axis=axis) / sizes.sum(axis=axis),
        paired=True,
        vectorized=True,
        confidence_level=1 - alpha,
        n_resamples=2000,
        method="percentile",
        rng=np.random.default_rng(_SEED),
    )
    return float(drawn.confidence_interval.low), float(drawn.confidence_interval.high)


def rates(attempts: pd.DataFrame, by: Sequence[str] = GROUPS, alpha: float = ALPHA) -> pd.DataFrame:
    """Return rates of success with Wilson intervals over all three bases, ungraded counted both ways.

    Args:
        attempts: frame of attempts.
        by: grouping columns.
        alpha: 1 minus the confidence level.

    Returns:
        one row per group, base and way of counting what is not graded (``ungraded_as``; over ``graded`` nothing is left
        to count, so both ways agree): ``reproduced`` of ``n``, ``rate``, ``low``, ``high``; ``effective_n``, which is
        smaller than ``n`` where papers were attempted several times; and the counts of :func:`tally`.
    """
    records = []
    for key, group in groups(attempts[[*dict.fromkeys((*by, "standing", "paper_key"))]], by):
        counts = tally(group)
        for base in BASES:
            taken = _taken(group, base)
            for way in UNGRADED_AS:
                decided = taken["standing"].isin(("success", "failure"))
                success = (taken["standing"] == "success") | (~decided if way == "reproduced" else False)
                n, k = len(taken), int(success.sum())
                low, high, worth = rate_interval(success, taken["paper_key"], alpha)
                records.append(
                    {
                        **key,
                        "base": base,
                        "ungraded_as": way,
                        **counts,
                        "reproduced": k,
                        "n": n,
                        "rate": k / n if n else float("nan"),
                        "low": low,
                        "high": high,
                        "effective_n": worth,
                    }
                )
    columns = [*by, "base", "ungraded_as", "reproduced", "n", "rate", "low", "high", "effective_n"]
    columns += ["declared", "graded", "ungraded", "excluded", "missing"]
    return tidy(records, columns)


def _taken(group: pd.DataFrame, base: str) -> pd.DataFrame:
    if base == "papers":
        return group
    left_out = ("excluded", "missing") if base == "attempts" else ("excluded", "missing", "undecided")
    return group[~group["standing"].isin(left_out)]


def best_of_tier(attempts: pd.DataFrame, base: str = "papers", ungraded_as: str = "not_reproduced") -> pd.DataFrame:
    """Return the agent with the highest rate in each tier, with its interval.

    The interval is that agent's own; that it was chosen for being the best makes its rate look better than it is.

    Args:
        attempts: frame of attempts.
        base, ungraded_as: see :func:`rates`.

    Returns:
        the rows of :func:`rates`, one per tier; agents with equal rates share a row, joined by an equals sign.
    """
    found = rates(attempts)
    found = found[(found["base"] == base) & (found["ungraded_as"] == ungraded_as) & (found["n"] > 0)]
    rows = []
    for _, tier in found.groupby("tier", observed=True):
        best = tier[tier["rate"] == tier["rate"].max()]
        row = best.iloc[0].copy()
        row["agent"] = " = ".join(_who(one) for _, one in best.iterrows())
        rows.append(row)
    return tidy([dict(row) for row in rows], [name for name in found.columns if name != "conditions"])


def _who(row: pd.Series[Any]) -> str:
    return f"{row['agent']}+{row['conditions']}" if row["conditions"] else str(row["agent"])


def scores(attempts: pd.DataFrame, by: Sequence[str] = ("agent", "tier")) -> pd.DataFrame:
    """Return what the published release prints of its sweeps: graded runs, mean score, reproduced, hours.

    Returns:
        ``n``, ``mean_score`` (0 to 10, missing for attempts without scores), ``reproduced``, ``spent_hours``,
        ``budget_hours``, ``excluded`` and ``ungraded`` for each group.
    """
    records = []
    for key, group in groups(attempts, by):
        counts = tally(group)
        graded = group[group["standing"].isin(("success", "failure"))]
        records.append(
            {
                **key,
                "n": counts["graded"],
                "mean_score": graded["score"].astype("Float64").mean(),
                "reproduced": counts["reproduced"],
                "spent_hours": graded["spent_hours"].sum(),
                "budget_hours": graded["budget_hours"].sum(),
                "excluded": counts["excluded"],
                "ungraded": counts["ungraded"],
                "missing": counts["missing"],
            }
        )
    return tidy(records)
