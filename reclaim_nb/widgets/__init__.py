"""Widgets that tell the story of many attempts. Needs the extra ``reclaim-nb[widgets]``.

Each shows its result as an ordinary output, so that a saved notebook still holds it when no kernel runs; its controls
are ipywidgets.
"""

from __future__ import annotations

from reclaim_nb.widgets.explorer import BatchMonitor, RunsExplorer
from reclaim_nb.widgets.rating import RaterPanel
from reclaim_nb.widgets.summary import BudgetView, TierSummary
from reclaim_nb.widgets.what_if import WhatIf

__all__ = ["BatchMonitor", "BudgetView", "RaterPanel", "RunsExplorer", "TierSummary", "WhatIf"]
