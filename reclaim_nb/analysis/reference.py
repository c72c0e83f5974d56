"""The published figures beside what the published records give: where text and records differ, and by how much."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from reclaim_nb.analysis.importing import read_batch
from reclaim_nb.analysis.outcomes import TIERS
from reclaim_nb.analysis.published import PRINTED
from reclaim_nb.analysis.rates import best_of_tier, scores
from reclaim_nb.analysis.spend import spend_of_failed


def recomputed(attempts: pd.DataFrame) -> dict[str, str]:
    """Return what the paper's text prints, computed from records, with as many digits or one more.

    Args:
        attempts: frame of attempts of one imported release.
    """
    best = best_of_tier(attempts).set_index("tier")
    share = next(row for row in spend_of_failed(attempts).to_dict("records") if row["measure"] == "of_budget")
    modes = attempts["mode"].value_counts()
    found = {}
    for tier in TIERS:
        if tier in best.index:
            row = best.loc[tier]
            found[f"best_{tier}"] = f"{row['rate']:.0%} ({row['reproduced']} of {row['n']})".replace("%", " %")
    return found | {
        "failed_share_mean": f"{100 * share['mean']:.1f} %",
        "failed_share_aggregate": f"{100 * share['aggregate']:.1f} %",
        "near_misses": str(modes.get("near-miss-partial", 0)),
        "unchecked_builds": str(modes.get("reimplement-without-validating", 0)),
    }


def against_text(attempts: pd.DataFrame) -> pd.DataFrame:
    """Set each figure of the published text beside the one from the records.

    Returns:
        ``what``, ``text``, ``records``, ``agree``, and ``why`` where they differ.
    """
    found = recomputed(attempts)
    rows = []
    for printed in PRINTED:
        records = found.get(printed.statistic)
        if records is None:
            continue
        agree = records.split(" (")[0] == printed.text
        rows.append(
            {
                "what": printed.what,
                "text": printed.text,
                "records": records,
                "agree": agree,
                "why": "" if agree else printed.why,
            }
        )
    return pd.DataFrame(rows, columns=["what", "text", "records", "agree", "why"])


def against_sweeps(runs: Path, batch: str, attempts: pd.DataFrame) -> pd.DataFrame:
    """Set the release's own totals of each agent and tier beside those of the frame.

    Args:
        runs: the runs folder.
        batch: an imported batch.
        attempts: its frame of attempts.

    Returns:
        for each sweep ``n``, ``mean_score``, ``reproduced``, ``spent_hours``, ``budget_hours``, each with ``_release``,
        and ``agree``, to the digits that the release prints; empty when the release says nothing of itself.
    """
    document = read_batch(runs / batch) or {}
    sweeps = pd.DataFrame(document.get("sweeps") or [])
    if sweeps.empty:
        return sweeps
    theirs = sweeps.rename(
        columns={
            "model": "agent",
            "n_reproduced": "reproduced",
            "spent_h100": "spent_hours",
            "budget_h100": "budget_hours",
        }
    )
    ours = scores(attempts)
    ours = ours.assign(tier=ours["tier"].astype(str))
    digits = {"n": 0, "mean_score": 2, "reproduced": 0, "spent_hours": 1, "budget_hours": 1}
    both = theirs[["agent", "tier", *digits]].merge(
        ours[["agent", "tier", *digits]], on=["agent", "tier"], how="outer", suffixes=("_release", "")
    )
    agree = pd.Series(True, index=both.index)
    for name, places in digits.items():
        # Half a unit of the last printed digit, and what binary fractions add to it.
        agree &= (both[name].astype(float) - both[f"{name}_release"].astype(float)).abs() <= 0.5 * 10**-places + 1e-9
    return both.assign(agree=agree)
