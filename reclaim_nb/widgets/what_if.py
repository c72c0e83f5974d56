"""Verdicts by another tolerance, rule or budget, made anew while a slider moves."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd

from reclaim_nb.analysis import rates, what_if
from reclaim_nb.analysis.frames import Runs, load_runs
from reclaim_nb.analysis.markup import Table
from reclaim_nb.widgets.view import Shown, View, note


class WhatIf(View):
    """Rates with intervals, and the cards that flip, when tolerance, rule or budget were others.

    Args:
        runs: a runs folder, or frames that were loaded already.
    """

    def __init__(self, runs: Runs | Path | str) -> None:
        super().__init__()
        self._runs = runs if isinstance(runs, Runs) else load_runs(runs)
        self.tolerance, self.budget = Decimal(1), Decimal(1)
        self.rule: what_if.Rule = "published"

    def choose(
        self,
        tolerance: Decimal | float | None = None,
        rule: what_if.Rule | None = None,
        budget: Decimal | float | None = None,
    ) -> None:
        """Decide by other bounds; see :func:`reclaim_nb.analysis.what_if.what_if`."""
        self.tolerance = self.tolerance if tolerance is None else Decimal(str(tolerance))
        self.budget = self.budget if budget is None else Decimal(str(budget))
        self.rule = self.rule if rule is None else rule
        self.refresh()

    def frame(self) -> pd.DataFrame:
        """Return the attempts as they would be."""
        return what_if.what_if(self._runs, tolerance=self.tolerance, rule=self.rule, budget=self.budget)

    def parts(self) -> Sequence[Shown | str]:
        frame = self.frame()
        if frame.empty:
            return [note("There is no attempt to decide about.")]
        flipped = what_if.flipped(frame)
        told = f"{self.tolerance} x the tolerance, {self.rule} rule, {self.budget * 100:f} % of the budget"
        now = rates.rates(frame)
        now = now[now["base"] == "graded"] if "base" in now else now
        before = rates.rates(self._runs.attempts)
        before = before[before["base"] == "graded"] if "base" in before else before
        keys = ["tier", "agent", "conditions"]
        beside = before[[*keys, "rate"]].rename(columns={"rate": "as graded"}).astype({"as graded": object})
        beside["as graded"] = ["" if pd.isna(rate) else f"{100 * float(rate):.0f} %" for rate in beside["as graded"]]
        now = now[[*keys, "n", "reproduced", "rate", "low", "high"]].merge(beside, on=keys, how="left")
        now = now.drop_duplicates(keys)
        parts: list[Shown | str] = [Table("what_if", f"Reproduced of graded attempts: {told}.", now, interval="rate")]
        undecided = int(self._runs.attempts["value"].isna().sum())
        parts.append(
            Table("flipped", f"{len(flipped)} papers at which a result changes.", flipped)
            if len(flipped)
            else note("No result changes.")
        )
        if undecided:
            parts.append(note(f"{undecided} attempts have no measured value of ours; their outcome stays as it is."))
        return parts

    def controls(self) -> Any:
        from ipywidgets import Dropdown, FloatLogSlider, FloatSlider, VBox

        wide = {"width": "420px"}
        style = {"description_width": "90px"}
        shared = {"layout": wide, "style": style, "continuous_update": False}
        tolerance = FloatLogSlider(value=1, base=2, min=-3, max=3, step=0.25, description="Tolerance x", **shared)
        budget = FloatSlider(value=1, min=0.05, max=1, step=0.05, description="Budget x", **shared)
        rule = Dropdown(options=["published", "strict"], description="Rule", layout=wide, style=style)
        tolerance.observe(lambda change: self.choose(tolerance=round(change["new"], 4)), "value")
        budget.observe(lambda change: self.choose(budget=round(change["new"], 4)), "value")
        rule.observe(lambda change: self.choose(rule=change["new"]), "value")
        return VBox([tolerance, rule, budget])
