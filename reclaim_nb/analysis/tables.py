"""Tables of outcomes, causes and claims: what became of attempts, and what agents said of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.stats.inter_rater import cohens_kappa

from reclaim_nb.analysis.outcomes import OUTCOMES
from reclaim_nb.analysis.rates import ALPHA, groups, rate_interval, tally, tidy


def outcomes(attempts: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Count outcomes; attempts without a verdict are rows of their own, so that the counts add up to ``declared``.

    Returns:
        for each group, one row per outcome that occurs: ``outcome`` (``no verdict``, and by state what has not ended),
        ``count``, ``share`` of ``n`` declared attempts; counts of :func:`reclaim_nb.analysis.rates.tally`.
    """
    records = []
    for key, group in groups(attempts, by):
        named = group["outcome"].astype("string")
        unended = group["state"].where(group["state"] != "ended")
        words = (
            unended.fillna(named).fillna(group["reason"].where(group["standing"] == "excluded")).fillna("no verdict")
        )
        found = words.value_counts()
        order = [word for word in (*OUTCOMES, *sorted(set(found.index) - set(OUTCOMES))) if word in found.index]
        counts = tally(group)
        records += [
            {
                **key,
                "outcome": word,
                "count": int(found[word]),
                "n": len(group),
                "share": found[word] / len(group),
                **{name: counts[name] for name in ("graded", "excluded", "ungraded", "missing")},
            }
            for word in order
        ]
    return tidy(records)


def causes(attempts: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Count primary causes of failed attempts, and of attempts of which each cause is said at all.

    Returns:
        for each group and cause that occurs: ``primary`` and ``contributing`` counts, ``share`` of the ``n`` failed
        attempts for which it is the primary one; a last row per group, with no cause, holds failures without any.
    """
    records = []
    for key, group in groups(attempts, by):
        lost = group[group["standing"] == "failure"]
        primary = lost["cause"].astype("string").value_counts()
        further = Counter(code for codes in lost["contributing"].fillna("") for code in codes.split("+") if code)
        counts = tally(group)
        beside = {name: counts[name] for name in ("excluded", "ungraded", "missing")}
        for code in sorted({*primary.index, *further}):
            count = int(primary.get(code, 0))
            records.append(
                {
                    **key,
                    "cause": code,
                    "primary": count,
                    "contributing": further[code],
                    "n": len(lost),
                    "share": count / len(lost),
                    **beside,
                }
            )
        if unnamed := int(lost["cause"].isna().sum()):
            records.append(
                {
                    **key,
                    "cause": None,
                    "primary": unnamed,
                    "contributing": 0,
                    "n": len(lost),
                    "share": unnamed / len(lost),
                    **beside,
                }
            )
    columns = [*by, "cause", "primary", "contributing", "n", "share", "excluded", "ungraded", "missing"]
    return tidy(records, columns)


def claims(attempts: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Set what agents claim against verdicts.

    Returns:
        for each group and pair of ``self_report`` (missing: no claim) and ``outcome``: ``count`` of ``n`` graded
        attempts; counts of others.
    """
    records = []
    for key, group in groups(attempts, by):
        graded = group[group["standing"].isin(("success", "failure"))]
        pairs = graded.groupby(["self_report", "outcome"], observed=True, dropna=False).size().reset_index(name="count")
        counts = tally(group)
        for claim, outcome, count in pairs.itertuples(index=False, name=None):
            records.append(
                {
                    **key,
                    "self_report": None if pd.isna(claim) else claim,
                    "outcome": outcome,
                    "count": int(count),
                    "n": len(graded),
                    **{name: counts[name] for name in ("excluded", "ungraded", "missing")},
                }
            )
    return tidy(records)


def overclaims(attempts: pd.DataFrame, by: Sequence[str] = (), alpha: float = ALPHA) -> pd.DataFrame:
    """Return how often "reproduced" was claimed and not so, and how often success was not claimed.

    Returns:
        for each group and ``what`` (``claimed, not reproduced`` among claims of success; ``reproduced, not claimed``
        among successes): ``count`` of ``n``, ``rate``, Wilson ``low``, ``high`` and the ``effective_n`` that they are
        of; ``no_claim`` graded attempts without a claim; counts of others.
    """
    records = []
    for key, group in groups(attempts, by):
        graded = group[group["standing"].isin(("success", "failure"))]
        claimed = (graded["self_report"] == "reproduced").fillna(False).astype(bool)
        success = graded["standing"] == "success"
        counts = tally(group)
        for what, among, which in (
            ("claimed, not reproduced", claimed, claimed & ~success),
            ("reproduced, not claimed", success, success & ~claimed),
        ):
            n, k = int(among.sum()), int(which.sum())
            low, high, worth = rate_interval(which[among], graded["paper_key"][among], alpha)
            records.append(
                {
                    **key,
                    "what": what,
                    "count": k,
                    "n": n,
                    "rate": k / n if n else float("nan"),
                    "low": low,
                    "high": high,
                    "effective_n": worth,
                    "no_claim": int(graded["self_report"].isna().sum()),
                    **{name: counts[name] for name in ("excluded", "ungraded", "missing")},
                }
            )
    return tidy(records)


def agreement(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return how far every two graders agree on the outcomes of the attempts that both have graded.

    Of several verdicts of one grader the newest counts.

    Args:
        verdicts: frame of verdicts.

    Returns:
        one row per pair of graders: ``n`` attempts of both, ``agree``, ``rate`` with Wilson ``low``, ``high`` and the
        ``effective_n`` that they are of, Cohen's ``kappa`` (statsmodels; missing where one grader gave a single
        outcome), ``left_out`` attempts of one only.
    """
    newest = verdicts.sort_values("written").groupby(["attempt", "grader"], as_index=False).last()
    table = newest.pivot(index="attempt", columns="grader", values="outcome")
    records: list[dict[str, Any]] = []
    for first, second in combinations(sorted(table.columns), 2):
        both = table[[first, second]].dropna()
        words = list(OUTCOMES)
        counts = np.zeros((len(words), len(words)), dtype=int)
        for a, b in both.itertuples(index=False):
            counts[words.index(a), words.index(b)] += 1
        n, k = len(both), int(np.trace(counts))
        low, high, worth = rate_interval(both[first] == both[second], both.index.to_series().map(_paper_of))
        used = counts[np.ix_(*[np.flatnonzero(counts.sum(axis=0) + counts.sum(axis=1))] * 2)]
        varied = min(np.count_nonzero(counts.sum(axis=0)), np.count_nonzero(counts.sum(axis=1))) > 1
        records.append(
            {
                "first": first,
                "second": second,
                "n": n,
                "agree": k,
                "rate": k / n if n else float("nan"),
                "low": low,
                "high": high,
                "effective_n": worth,
                "kappa": float(cohens_kappa(used).kappa) if varied else float("nan"),
                "left_out": len(table[[first, second]].dropna(how="all")) - n,
            }
        )
    columns = ["first", "second", "n", "agree", "rate", "low", "high", "effective_n", "kappa", "left_out"]
    return pd.DataFrame.from_records(records, columns=columns)


def _paper_of(attempt: str) -> str:
    """Return suite and paper out of an attempt's place below the runs folder."""
    return "/".join(attempt.split("/")[1:3]) or attempt
