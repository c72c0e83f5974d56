"""Comparisons on the same papers: agents with agents, and an agent with itself under a condition."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.stats import permutation_test
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW

from reclaim_nb.analysis.outcomes import TIERS
from reclaim_nb.analysis.rates import ALPHA, tally

Repeats = Literal["first", "any", "majority"]
_SEED = 20250101
_DECIDED = ("success", "failure")


def per_paper(attempts: pd.DataFrame, column: str = "agent", repeats: Repeats = "first") -> pd.DataFrame:
    """Return whether each paper was reproduced, one column for each agent.

    Args:
        attempts: frame of attempts.
        column: what tells the columns apart, ``agent`` or ``conditions``.
        repeats: which of several graded repeats counts: the first; any that reproduced; or more than half of them.

    Returns:
        frame indexed by tier and paper, ``True``, ``False`` or missing where nothing was graded.
    """
    graded = attempts[attempts["standing"].isin(_DECIDED)].sort_values("repeat")
    graded = graded.assign(success=graded["standing"] == "success", tier=graded["tier"].astype("string"))
    table = graded.groupby(["tier", "paper_key", column], observed=True)["success"]
    if repeats == "first":
        chosen = table.first()
    elif repeats == "any":
        chosen = table.max()
    else:
        chosen = table.mean() > 0.5
    return chosen.astype("boolean").unstack(column)


def compare_agents(
    attempts: pd.DataFrame,
    *,
    by_tier: bool = True,
    repeats: Repeats = "first",
    correction: str = "holm",
    alpha: float = ALPHA,
) -> pd.DataFrame:
    """Compare every two agents on the papers that both have a graded attempt at: exact McNemar test.

    Args:
        attempts: frame of attempts, of one condition.
        by_tier: compare within each tier, and over all; else over all only.
        repeats: see :func:`per_paper`.
        correction: of statsmodels ``multipletests``, over the pairs of agents within each tier.
        alpha: level of the corrected tests.

    Returns:
        one row per tier (``all`` for all of them) and pair: ``n`` papers of both, ``both``, ``only_first``,
        ``only_second``, ``neither``, ``difference`` of the rates on these papers, ``p``, ``p_corrected``,
        ``different``; ``left_out`` papers that only one has a graded attempt at; ``ungraded`` and ``excluded``
        attempts of the two.
    """
    table = per_paper(attempts, "agent", repeats)
    have = set(table.index.get_level_values("tier"))
    tiers = [*(tier for tier in TIERS if by_tier and tier in have), "all"]
    records: list[dict[str, Any]] = []
    for tier in tiers:
        part = table if tier == "all" else table[table.index.get_level_values("tier") == tier]
        family = []
        for first, second in combinations(sorted(table.columns), 2):
            both = part[[first, second]].dropna()
            a, b = both[first].to_numpy(bool), both[second].to_numpy(bool)
            cells = [[int((a & b).sum()), int((a & ~b).sum())], [int((~a & b).sum()), int((~a & ~b).sum())]]
            of_two = attempts[attempts["agent"].isin((first, second))]
            if tier != "all":
                of_two = of_two[of_two["tier"] == tier]
            counts = tally(of_two)
            family.append(
                {
                    "tier": tier,
                    "first": first,
                    "second": second,
                    "n": len(both),
                    "both": cells[0][0],
                    "only_first": cells[0][1],
                    "only_second": cells[1][0],
                    "neither": cells[1][1],
                    "difference": float(a.mean() - b.mean()) if len(both) else float("nan"),
                    "p": float(mcnemar(cells, exact=True).pvalue) if len(both) else float("nan"),
                    "left_out": _one_sided(part[[first, second]]),
                    "ungraded": counts["ungraded"],
                    "excluded": counts["excluded"],
                }
            )
        _correct(family, correction, alpha)
        records += family
    columns = ["tier", "first", "second", "n", "both", "only_first", "only_second", "neither", "difference", "p"]
    columns += ["p_corrected", "different", "left_out", "ungraded", "excluded"]
    return pd.DataFrame.from_records(records, columns=columns)


def _one_sided(sides: pd.DataFrame) -> int:
    return int(np.sum(np.sum(sides.notna().to_numpy(), axis=1) == 1))


def _correct(family: list[dict[str, Any]], correction: str, alpha: float) -> None:
    tested = [one for one in family if not np.isnan(one["p"])]
    if tested:
        different, corrected, _, _ = multipletests([one["p"] for one in tested], alpha=alpha, method=correction)
        for one, yes, p in zip(tested, different, corrected, strict=True):
            one["different"], one["p_corrected"] = bool(yes), float(p)


def condition_effect(
    attempts: pd.DataFrame, condition: str, by: Sequence[str] = ("agent",), alpha: float = ALPHA
) -> pd.DataFrame:
    """Return what a condition changes: the rate with it minus the rate without it, on the same papers.

    Attempts are paired by agent, paper and their other conditions; repeats are averaged before. The interval is
    Student's over papers (statsmodels ``DescrStatsW``), p that of the exact sign-flip permutation test (scipy; drawn
    with a fixed seed where there are too many papers to go through all). Where every pair differs alike there is no
    spread to take an interval from, and none is given.

    Args:
        attempts: frame of attempts.
        condition: name of the condition.
        by: grouping columns.
        alpha: 1 minus the confidence level.

    Returns:
        for each group ``n`` papers, ``with``, ``without``, ``difference``, ``low``, ``high``, ``p``;
        ``left_out`` papers graded on one side only; ``ungraded`` and ``excluded`` attempts.
    """
    parts = attempts["conditions"].fillna("").str.split("+")
    has = parts.map(lambda names: condition in names)
    others = parts.map(lambda names: "+".join(name for name in names if name and name != condition))
    frame = attempts.assign(with_it=has, others=others)
    records = []
    for key, group in frame.groupby(list(by), observed=True):
        if not group["with_it"].any() or group["with_it"].all():
            continue
        graded = group[group["standing"].isin(_DECIDED)]
        success = graded.assign(success=(graded["standing"] == "success").astype(float))
        index = ["agent", "paper_key", "others"]
        sides = success.groupby([*index, "with_it"], observed=True)["success"].mean().unstack("with_it")
        sides = sides.reindex(columns=[False, True])
        pairs = sides.dropna().groupby("paper_key").mean()
        difference = (pairs[True] - pairs[False]).to_numpy(float)
        counts = tally(group)
        records.append(
            {
                **dict(zip(by, key, strict=True)),
                "condition": condition,
                "n": len(pairs),
                "with": pairs[True].mean(),
                "without": pairs[False].mean(),
                **_paired(difference, alpha),
                "left_out": _one_sided(sides),
                "ungraded": counts["ungraded"],
                "excluded": counts["excluded"],
            }
        )
    columns = [*by, "condition", "n", "with", "without", "difference", "low", "high", "p", "left_out", "ungraded"]
    return pd.DataFrame.from_records(records, columns=[*columns, "excluded"])


def _paired(difference: np.ndarray[Any, Any], alpha: float) -> dict[str, float]:
    nothing = float("nan")
    if not len(difference):
        return {"difference": nothing, "low": nothing, "high": nothing, "p": nothing}
    mean = float(difference.mean())
    if len(difference) < 2 or np.ptp(difference) == 0:
        low = high = nothing
    else:
        low, high = (float(bound) for bound in DescrStatsW(difference).tconfint_mean(alpha=alpha))
    test = permutation_test(
        (difference,), np.mean, permutation_type="samples", n_resamples=20000, rng=np.random.default_rng(_SEED)
    )
    return {"difference": mean, "low": low, "high": high, "p": float(test.pvalue)}
