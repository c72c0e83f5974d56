"""Attempts one by one, and a batch while it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from reclaim_nb.analysis.frames import Runs, load_runs
from reclaim_nb.analysis.markup import Table
from reclaim_nb.analysis.outcomes import OUTCOMES, TIERS
from reclaim_nb.errors import RecordError
from reclaim_nb.widgets.view import Shown, View, chooser, note

_COLUMNS = ("tier", "paper", "agent", "conditions", "repeat", "outcome", "cause", "value", "unit")
_REST = ("spent_hours", "budget_hours", "reason", "state", "attempt")


class RunsExplorer(View):
    """A table of attempts that is filtered by words, tier, outcome and agent.

    Args:
        runs: a runs folder, or frames that were loaded already.
    """

    def __init__(self, runs: Runs | Path | str) -> None:
        super().__init__()
        self._runs = runs if isinstance(runs, Runs) else load_runs(runs)
        self.chosen = {"words": "", "tier": "", "outcome": "", "agent": ""}

    def choose(self, **chosen: str) -> None:
        """Filter by ``words``, ``tier``, ``outcome`` or ``agent``; an empty text takes a filter away."""
        self.chosen.update({name: chosen[name] for name in self.chosen if name in chosen})
        self.refresh()

    def found(self) -> pd.DataFrame:
        """Return the attempts that fit."""
        attempts = self._runs.attempts
        for name in ("tier", "outcome", "agent"):
            if wanted := self.chosen[name]:
                attempts = attempts[attempts[name].astype("string") == wanted]
        if tokens := self.chosen["words"].lower().split():
            columns = attempts[[*_COLUMNS, "title", "area", "reason", "batch"]].astype("string").fillna("")
            text = columns.agg(" ".join, axis=1).str.lower().str.replace("_", " ")
            for token in tokens:
                attempts = attempts[text.loc[attempts.index].str.contains(token, regex=False)]
        return attempts

    def parts(self) -> Sequence[Shown | str]:
        found = self.found()
        if found.empty:
            return [note("Nothing fits the filter.")]
        told = f"{len(found)} of {len(self._runs.attempts)} attempts."
        shown = found[[*_COLUMNS, *_REST]].replace("", None).dropna(axis=1, how="all")
        return [Table("explored", told, shown)]

    def controls(self) -> Any:
        from ipywidgets import HBox, Text

        words = Text(placeholder="papers, agents, causes", continuous_update=False, layout={"width": "240px"})
        parts = {
            "words": words,
            "tier": chooser("Tier", list(TIERS)),
            "outcome": chooser("Outcome", list(OUTCOMES)),
            "agent": chooser("Agent", sorted(self._runs.attempts["agent"].dropna().unique())),
        }
        for name, part in parts.items():
            part.observe(lambda change, name=name: self.choose(**{name: change["new"]}), "value")
        return HBox(list(parts.values()), layout={"flex_flow": "row wrap"})


class BatchMonitor(View):
    """How far a batch is: what was declared, what runs, what came of the rest.

    Args:
        runs: the runs folder.
        batch: name of the batch.
    """

    def __init__(self, runs: Path | str, batch: str) -> None:
        super().__init__()
        self._path, self._batch = Path(runs), batch

    def progress(self) -> pd.DataFrame:
        """Return one row per agent: declared, not begun, running, ended, reproduced, faults, hours.

        Raises:
            RecordError: when there is no such runs folder.
        """
        attempts = load_runs(self._path).attempts
        attempts = attempts[attempts["batch"] == self._batch]
        rows = []
        for agent, group in attempts.groupby("agent", observed=True):
            states = group["state"].value_counts()
            rows.append(
                {
                    "agent": agent,
                    "declared": len(group),
                    "not begun": int(states.get("not_begun", 0)),
                    "running": int(states.get("running", 0)),
                    "ended": int(states.get("ended", 0)),
                    "broken off": int(states.get("dead_runner", 0) + states.get("unreadable", 0)),
                    "reproduced": int((group["outcome"] == "reproduced").sum()),
                    "faults": int(group["faults"].sum()),
                    "spent_hours": float(group["spent_hours"].fillna(0).sum()),
                }
            )
        return pd.DataFrame(rows)

    def parts(self) -> Sequence[Shown | str]:
        try:
            frame = self.progress()
        except RecordError as problem:
            return [note(str(problem))]
        if frame.empty:
            return [note(f"No attempt of batch {self._batch} is declared yet; `reclaim batch run PLAN` begins one.")]
        declared, ended = int(frame["declared"].sum()), int(frame["ended"].sum())
        bar = f'<progress max="{declared}" value="{ended}" style="width:100%"></progress>'
        return [bar, Table("monitor", f"Batch {self._batch}: {ended} of {declared} attempts have ended.", frame)]

    def controls(self) -> Any:
        from ipywidgets import Button

        button = Button(description="Look again", icon="refresh")
        button.on_click(lambda _: self.refresh())
        return button

    async def watch(self, seconds: float = 5.0) -> None:
        """Look again and again until everything has ended; ``asyncio.ensure_future`` makes it go on beside cells."""
        while True:
            self.refresh()
            frame = self.progress()
            if frame.empty or int(frame[["not begun", "running"]].to_numpy().sum()) == 0:
                return
            await asyncio.sleep(seconds)
