"""Rates by tier, and what was spent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reclaim_nb.analysis.frames import Runs, load_runs
from reclaim_nb.analysis.outcomes import TIERS
from reclaim_nb.analysis.story import Story
from reclaim_nb.widgets.view import Shown, View, chooser, note


class _OfBatch(View):
    """A part of a report, of one batch or of all, of one tier or of all."""

    def __init__(self, runs: Runs | Path | str) -> None:
        super().__init__()
        self._runs = runs if isinstance(runs, Runs) else load_runs(runs)
        self.batch = ""
        self.tier = ""

    def choose(self, batch: str | None = None, tier: str | None = None) -> None:
        """Show another part; an empty text is all.

        Raises:
            RecordError: when there is no such batch.
        """
        self.batch = self.batch if batch is None else batch
        self.tier = self.tier if tier is None else tier
        self.refresh()

    def controls(self) -> Any:
        from ipywidgets import HBox

        batch = chooser("Batch", sorted(self._runs.attempts["batch"].dropna().unique()))
        tier = chooser("Tier", list(TIERS))
        batch.observe(lambda change: self.choose(batch=change["new"]), "value")
        tier.observe(lambda change: self.choose(tier=change["new"]), "value")
        return HBox([batch, tier])

    def _story(self) -> Story:
        runs = self._runs.only(tier=self.tier) if self.tier else self._runs
        return Story(runs, [self.batch] if self.batch else [])

    def parts(self) -> Sequence[Shown | str]:
        try:
            story = self._story()
            empty = story.attempts.empty
        except KeyError:
            empty = True
        if empty:
            return [note("No attempt is among these: choose another batch or tier, or make one with `reclaim run`.")]
        return self._told(story)

    def _told(self, story: Story) -> Sequence[Shown | str]:
        raise NotImplementedError


class TierSummary(_OfBatch):
    """Reproduced by tier and agent, with intervals, and what stands beside each rate.

    Args:
        runs: a runs folder, or frames that were loaded already.
    """

    def _told(self, story: Story) -> Sequence[Shown | str]:
        return [story.heading(), story.lead(), story.picture("success"), story.rates(), story.outcomes()]


class BudgetView(_OfBatch):
    """Spend against need and budget, of failures above all.

    Args:
        runs: a runs folder, or frames that were loaded already.
    """

    def _told(self, story: Story) -> Sequence[Shown | str]:
        return [story.picture("spend"), story.spend(), story.stopped_early(), story.cost()]
