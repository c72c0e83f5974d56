"""What repeats say: the chance that one of k attempts reproduces a paper, and how much repeats differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from scipy.stats import hypergeom

from reclaim_nb.analysis.rates import ALPHA, groups, mean_interval, tally, tidy


def pass_at_k(
    attempts: pd.DataFrame,
    ks: Sequence[int] | None = None,
    by: Sequence[str] = ("tier", "agent", "conditions"),
    alpha: float = ALPHA,
) -> pd.DataFrame:
    """Return the chance that at least one of k attempts reproduces a paper, averaged over papers.

    For a paper with c successes among m graded repeats it is the chance that k of them, drawn without putting back,
    hold a success (scipy ``hypergeom``; the unbiased estimator of Chen et al., arXiv 2107.03374). Papers with fewer
    than k graded repeats cannot say, and are counted as ``too_few``. The interval is that of
    :func:`~reclaim_nb.analysis.rates.mean_interval`.

    Args:
        attempts: frame of attempts.
        ks: numbers of attempts; default: 1 to the most repeats there are.
        by: grouping columns.
        alpha: 1 minus the confidence level.

    Returns:
        for each group and ``k``: ``n`` papers, ``too_few``, ``pass_at_k``, ``low``, ``high``; counts of others.
    """
    records: list[dict[str, Any]] = []
    for key, group in groups(attempts, by):
        graded = group[group["standing"].isin(("success", "failure"))]
        success = (graded["standing"] == "success").astype(int)
        papers = success.groupby(graded["paper_key"]).agg(["size", "sum"])
        sizes, wins = papers["size"].to_numpy(int), papers["sum"].to_numpy(int)
        counts = tally(group)
        for k in ks or range(1, int(sizes.max(initial=0)) + 1):
            enough = sizes >= k
            chances = hypergeom.sf(0, sizes[enough], wins[enough], k)
            low, high = mean_interval(pd.Series(chances), papers.index[enough].to_series(), alpha)
            records.append(
                {
                    **key,
                    "k": k,
                    "n": int(enough.sum()),
                    "too_few": int((~enough).sum()),
                    "pass_at_k": float(chances.mean()) if len(chances) else float("nan"),
                    "low": low,
                    "high": high,
                    **{name: counts[name] for name in ("excluded", "ungraded", "missing")},
                }
            )
    columns = [*by, "k", "n", "too_few", "pass_at_k", "low", "high", "excluded", "ungraded", "missing"]
    return tidy(records, columns)
