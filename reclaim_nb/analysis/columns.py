"""The columns of every frame, with dtype, unit and meaning: what the documentation prints and what loading enforces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from reclaim_nb.analysis.outcomes import CAUSES, OUTCOMES, STANDINGS, TIERS

_AS_RECORDED = len("2026-01-01T00:00:00.000000Z")


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        dtype: of pandas; ``tier``, ``outcome``, ``cause`` and ``standing`` are ordered categories of our words.
        text: meaning, with what a missing value says.
        unit: of its numbers, empty without one.
    """

    dtype: str
    text: str
    unit: str = ""


_CATEGORIES: dict[str, tuple[str, ...]] = {
    "tier": TIERS,
    "outcome": tuple(OUTCOMES),
    "cause": tuple(CAUSES),
    "standing": tuple(STANDINGS),
}

_HOURS = "H100-hours or CPU-hours"

ATTEMPTS: dict[str, Column] = {
    "attempt": Column(
        "string", "folder of its last making, relative to the runs folder; of one not begun, where it will be"
    ),
    "batch": Column("string", "batch"),
    "suite": Column("string", "suite"),
    "paper": Column("string", "paper card"),
    "paper_key": Column(
        "string", "what pairs attempts at the same target: the arXiv id where one card has it, else suite/paper"
    ),
    "agent": Column("string", "agent; with the model where one agent was used with several"),
    "model": Column("string", "model of the agent, missing for agents without one"),
    "conditions": Column("string", "conditions, joined by `+`, empty when neutral"),
    "repeat": Column("Int64", "number of the repeat, from 1"),
    "makings": Column("Int64", "how often it was begun", "count"),
    "faults": Column("Int64", "makings that ended by a fault of the harness or by a person's cancelling", "count"),
    "tier": Column("tier", "tier of the paper"),
    "device": Column("string", "gpu or cpu"),
    "band": Column("string", "band of the budget in H100-hours, for gpu only"),
    "area": Column("string", "area of the paper"),
    "arxiv": Column("string", "arXiv id"),
    "title": Column("string", "title of the paper, or its claim"),
    "state": Column("string", "running, ended, dead_runner, unreadable or not_begun"),
    "reason": Column("string", "end reason, missing while it has not ended"),
    "standing": Column("standing", "how it stands in a rate"),
    "started": Column("datetime64[ns, UTC]", "first event"),
    "updated": Column("datetime64[ns, UTC]", "last event"),
    "wall_clock_seconds": Column("Float64", "duration", "s"),
    "budget_hours": Column("Float64", "budget", _HOURS),
    "need_hours": Column("Float64", "need by audit, missing where unknown", _HOURS),
    "spent_hours": Column("Float64", "spend, over all of its cells", _HOURS),
    "of_budget": Column("Float64", "spend as a share of the budget", "1"),
    "of_need": Column("Float64", "spend as a share of the need, missing where that is unknown or zero", "1"),
    "held_seconds": Column("Float64", "time in which cells ran", "s"),
    "charged_seconds": Column("Float64", "device seconds charged", "s"),
    "turns": Column("Int64", "cells run by the agent, or rounds of an imported one", "count"),
    "tokens": Column("Int64", "model tokens, in and out", "count"),
    "usd": Column("Float64", "cost of the model, missing where unknown", "USD"),
    "submitted": Column("string", "value handed in"),
    "self_report": Column(
        "outcome", "what the handed-in value, or the agent's report, claims to be; missing: no claim"
    ),
    "outcome": Column("outcome", "outcome of the verdict, missing without one"),
    "cause": Column("cause", "primary cause, missing when reproduced"),
    "contributing": Column("string", "further causes, joined by `+`"),
    "value": Column("string", "measured value in the target's unit, exact"),
    "unit": Column("string", "unit of the target"),
    "grader": Column("string", "grader of the verdict"),
    "verdicts": Column("Int64", "verdicts there are", "count"),
    "flags": Column("string", "flags of the verdict, joined by `;`; `kind:severity` for imported ones"),
    "score": Column("Int64", "score of an imported run, 0 to 10", "points"),
    "mode": Column("string", "failure mechanism of an imported run, in the release's word"),
    "kernel": Column("string", "docker or local, missing for imported ones"),
    "unsandboxed": Column("boolean", "its cells ran without a sandbox"),
    "network": Column("string", "none, allowlist or open"),
    "imported": Column("boolean", "made elsewhere and brought in"),
    "card_sha256": Column("string", "hash of the card it was made with"),
    "audit": Column("string", "of that card: sound, doubtful or broken; missing for imported ones"),
    "provisional": Column("boolean", "the target of that card was only seen second-hand; missing for imported ones"),
    "departed": Column("string", "why that card is not one of its frozen suite; missing where nothing says so"),
}

CELLS: dict[str, Column] = {
    "attempt": Column("string", "folder of the making, relative to the runs folder"),
    "cell": Column("string", "id of the cell; of an imported run, its tool calls by number"),
    "position": Column("Int64", "place in the notebook, from 0"),
    "cell_type": Column("string", "code or markdown"),
    "author": Column("string", "harness, agent or human"),
    "turn": Column("Int64", "turn of the agent"),
    "status": Column(
        "string", "ok, error, interrupted, timeout, killed or not_run; missing for Markdown and running cells"
    ),
    "started": Column("datetime64[ns, UTC]", "begin of the execution"),
    "ended": Column("datetime64[ns, UTC]", "end of the execution"),
    "at_seconds": Column(
        "Float64", "begin, from the attempt's first event; of imported runs, the seconds of all calls before", "s"
    ),
    "held_seconds": Column("Float64", "duration of the execution", "s"),
    "charged_seconds": Column("Float64", "device seconds charged", "s"),
    "hours": Column("Float64", "the meter after the cell", _HOURS),
    "messages": Column("Int64", "kernel messages", "count"),
    "gaps": Column("Int64", "messages that are known to be lost", "count"),
    "source_chars": Column("Int64", "length of the source", "characters"),
    "anchors": Column("Int64", "anchors checked in it", "count"),
    "submits": Column("Int64", "values handed in by it", "count"),
}

VERDICTS: dict[str, Column] = {
    "attempt": Column("string", "folder of the making, relative to the runs folder"),
    "file": Column("string", "name of the verdict's file"),
    "grader": Column("string", "grader"),
    "grader_version": Column("string", "version of the grader and of its rules"),
    "model": Column("string", "model that was asked, or that none was"),
    "outcome": Column("outcome", "outcome"),
    "cause": Column("cause", "primary cause"),
    "contributing": Column("string", "further causes, joined by `+`"),
    "value": Column("string", "measured value in the target's unit, exact"),
    "place": Column("string", "inside, near or outside the published criterion; missing without a value"),
    "strict_place": Column("string", "the same for the strict criterion"),
    "tolerances": Column("Float64", "distance beyond the nearest bound", "tolerances"),
    "self_report": Column("outcome", "claim of an imported run's report"),
    "flags": Column("string", "flags, joined by `;`"),
    "score": Column("Int64", "score of an imported run, 0 to 10", "points"),
    "mode": Column("string", "failure mechanism of an imported run"),
    "written": Column("datetime64[ns, UTC]", "time of the file"),
    "newest": Column("boolean", "the newest of its attempt: the one that stands in the frame of attempts"),
}

PAPERS: dict[str, Column] = {
    "batch": Column("string", "batch"),
    "suite": Column("string", "suite"),
    "paper": Column("string", "paper card"),
    "paper_key": Column("string", "what pairs attempts at the same paper"),
    "tier": Column("tier", "tier"),
    "device": Column("string", "gpu or cpu"),
    "band": Column("string", "band of the budget in H100-hours, for gpu only"),
    "area": Column("string", "area"),
    "arxiv": Column("string", "arXiv id"),
    "title": Column("string", "title, or claim"),
    "need_hours": Column("Float64", "need by audit", _HOURS),
    "budget_hours": Column("Float64", "budget", _HOURS),
    "audit": Column("string", "sound, doubtful or broken; missing for imported ones"),
    "provisional": Column("boolean", "its target was only seen second-hand; missing for imported ones"),
    "anchors": Column("Int64", "anchors on the card", "count"),
    "strict": Column("boolean", "the card has a strict criterion"),
}

FRAMES: dict[str, dict[str, Column]] = {
    "attempts": ATTEMPTS,
    "cells": CELLS,
    "verdicts": VERDICTS,
    "papers": PAPERS,
}


def typed(records: Iterable[Mapping[str, Any]], columns: Mapping[str, Column]) -> pd.DataFrame:
    """Return records as a frame with exactly these columns, in this order and of these dtypes."""
    rows = list(records)
    return typed_columns({name: [row.get(name) for row in rows] for name in columns}, columns)


def typed_columns(values: Mapping[str, list[Any]], columns: Mapping[str, Column]) -> pd.DataFrame:
    """Return lists, one for each column, as a frame with exactly these columns, in this order and of these dtypes."""
    return pd.DataFrame({name: series(values[name], column.dtype) for name, column in columns.items()}, copy=False)


def series(values: list[Any], dtype: str) -> pd.Series[Any]:
    """Return values as a column of one of the dtypes above; words that are not ours, and what is no number or no whole
    number where one is due, become missing."""
    if dtype in _CATEGORIES:
        return pd.Series(pd.Categorical(values, categories=list(_CATEGORIES[dtype]), ordered=True))
    if dtype.startswith("datetime64"):
        return _times(values)
    if dtype in ("Float64", "Int64"):
        return _numbers(values, whole=dtype == "Int64")
    if dtype == "boolean":  # the index holds them as numbers
        return pd.Series([None if value is None or value is pd.NA else bool(value) for value in values], dtype=dtype)
    return pd.Series(values, dtype=dtype)


def _numbers(values: list[Any], whole: bool) -> pd.Series[Any]:
    try:
        found = np.array(values, dtype=np.float64)  # a missing one becomes NaN; several times quicker than pandas
    except (TypeError, ValueError):
        numbers = pd.to_numeric(pd.Series(values, dtype=object), errors="coerce")
        found = numbers.to_numpy(np.float64, copy=True, na_value=np.nan)
    missing = np.isnan(found)
    if not whole:
        return pd.Series(pd.arrays.FloatingArray(found, missing))
    missing |= np.abs(found) >= 2.0**63
    found[missing] = 0
    missing |= found != np.trunc(found)
    return pd.Series(pd.arrays.IntegerArray(found.astype(np.int64), missing))


def _are_as_recorded(texts: list[Any]) -> bool:
    """Tell whether all are texts of the form in which times are recorded, in years that nanoseconds can hold."""
    if not texts:
        return True
    if set(map(type, texts)) != {str} or set(map(len, texts)) != {_AS_RECORDED}:
        return False
    last_letters = "".join(texts)[_AS_RECORDED - 1 :: _AS_RECORDED]
    return last_letters == "Z" * len(texts) and min(texts) >= "1678" and max(texts) < "2262"


def _times(values: list[Any]) -> pd.Series[Any]:
    """Return times, as recorded text or as nanoseconds, as a column; what is no time becomes missing."""
    if _are_as_recorded([value for value in values if value is not None]):
        try:  # several times quicker than pandas
            found = np.array(["NaT" if value is None else value[:-1] for value in values], dtype="datetime64[ns]")
            return pd.Series(pd.DatetimeIndex(found, tz="UTC"))
        except ValueError:
            pass
    texts = pd.Series(values, dtype=object)
    form = None if any(isinstance(value, int) for value in values) else "ISO8601"
    times = pd.to_datetime(texts, utc=True, errors="coerce", format=form)
    return times.astype("datetime64[ns, UTC]")


def as_markdown() -> str:
    """Return the documentation of all frames as Markdown tables."""
    parts = []
    for name, columns in FRAMES.items():
        parts.append(f"### {name}\n\n| column | dtype | unit | meaning |\n| --- | --- | --- | --- |")
        parts.extend(f"| `{key}` | {c.dtype} | {c.unit or '-'} | {c.text} |" for key, c in columns.items())
        parts.append("")
    return "\n".join(parts)
