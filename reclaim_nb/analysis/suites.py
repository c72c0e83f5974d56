"""A suite as frames, so that the figures of attempts draw it before there are any."""

from __future__ import annotations

from reclaim_nb.analysis import columns
from reclaim_nb.analysis.frames import Runs
from reclaim_nb.papers.suite import Suite
from reclaim_nb.papers.totals import band


def suite_runs(suite: Suite) -> Runs:
    """Return a suite's papers in the form of runs without attempts; bands are those of the need, as in its totals."""
    papers = [
        {
            "batch": suite.name,
            "suite": suite.name,
            "paper": loaded.card.id,
            "tier": loaded.card.tier,
            "device": loaded.card.device,
            "band": band(loaded.card),
            "area": loaded.card.area,
            "arxiv": loaded.card.arxiv,
            "title": loaded.card.title,
            "budget_hours": float(loaded.card.budget.hours),
            "need_hours": None if loaded.card.need.hours is None else float(loaded.card.need.hours),
        }
        for loaded in suite
    ]
    return Runs(
        suite.folder,
        attempts=columns.typed([], columns.ATTEMPTS),
        verdicts=columns.typed([], columns.VERDICTS),
        papers=columns.typed(papers, columns.PAPERS),
        left_out=columns.typed([], columns.ATTEMPTS),
    )
