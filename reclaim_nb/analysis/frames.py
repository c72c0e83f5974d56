"""Frames of many attempts: one row per declared attempt, per cell, per verdict and per paper."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import ValidationError

from reclaim_nb.analysis import columns
from reclaim_nb.analysis.declared import band_of, declared_attempts, name_papers
from reclaim_nb.analysis.outcomes import standing
from reclaim_nb.analysis.readers import CELLS, CELLS_TABLE, FACTS, FACTS_TABLE, VERDICTS, VERDICTS_TABLE
from reclaim_nb.attempts.reasons import ENDINGS
from reclaim_nb.errors import CardError, RecordError
from reclaim_nb.grading.cause import Outcome
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.record.index import Index, Row
from reclaim_nb.record.reader import first_event

OUTCOME_OF_PLACE: dict[str, Outcome] = {"inside": "reproduced", "near": "near_miss", "outside": "not_reproduced"}


@dataclass(frozen=True)
class Runs:
    """A runs folder as it was at one look. The columns of each frame: :mod:`reclaim_nb.analysis.columns`.

    Attributes:
        path: the runs folder.
        attempts: one row per declared attempt: what was asked for, however often faults made it necessary again,
            and also where nothing has come of it yet.
        cells: one row per cell, of every making.
        verdicts: one row per verdict, of every making.
        papers: one row per paper of each batch, also those that no attempt has reached.
        cards: the paper cards by their hash, as they stand in the attempts' records.
        notes: what a reader of these frames has to know: records that cannot be read, batches whose plan is lost.
    """

    path: Path
    attempts: pd.DataFrame
    cells: pd.DataFrame
    verdicts: pd.DataFrame
    papers: pd.DataFrame
    cards: dict[str, PaperCard] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def only(self, **wanted: str | Iterable[str]) -> Runs:
        """Return the part of these runs in which columns of the frame of attempts have given values.

        Args:
            wanted: column and value, or column and several values: ``only(batch="b", tier=("run", "retrain"))``.
        """
        attempts, papers = self.attempts, self.papers
        for name, values in wanted.items():
            chosen = [values] if isinstance(values, str) else list(values)
            attempts = attempts[attempts[name].isin(chosen)]
            if name in papers.columns:
                papers = papers[papers[name].isin(chosen)]
        kept = set(attempts["attempt"])
        return replace(
            self,
            attempts=attempts.reset_index(drop=True),
            papers=papers.reset_index(drop=True),
            cells=self.cells[self.cells["attempt"].isin(kept)].reset_index(drop=True),
            verdicts=self.verdicts[self.verdicts["attempt"].isin(kept)].reset_index(drop=True),
        )


def load_runs(path: Path | str, *, grader: str | None = None) -> Runs:
    """Load a runs folder as frames.

    The first look reads every attempt; later ones only what has changed (see :mod:`reclaim_nb.record.index`), and any
    number of processes may look while attempts are being made.

    Args:
        path: the runs folder.
        grader: whose verdicts stand in the frame of attempts; default: the newest verdict, whoever gave it.

    Returns:
        the frames; hours in H100-equivalent GPU-hours or CPU-hours as ``device`` says.

    Raises:
        RecordError: when there is no such folder.
    """
    path = Path(path)
    rows, tables = Index(path).read(FACTS_TABLE, CELLS_TABLE, VERDICTS_TABLE)
    facts = {line[0]: dict(zip(FACTS, line[1:], strict=True)) for line in tables["facts"]}
    verdicts = [{"attempt": line[0], **dict(zip(VERDICTS, line[1:], strict=True))} for line in tables["verdicts"]]
    chosen = _newest(verdicts, grader)
    for verdict in verdicts:
        verdict["newest"] = chosen.get(verdict["attempt"]) is verdict
    cards, notes = _cards(path, rows, facts)
    declared, papers, lost = declared_attempts(path, rows, facts, cards)
    makings: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        makings[_key(row)].append(row)
    records = [_record(made, facts, chosen, cards) for made in makings.values()]
    records += [_not_begun(one) for one in declared if _declared_key(one) not in makings]
    _name_agents(records)
    name_papers([*records, *papers])
    frame = columns.typed(records, columns.ATTEMPTS)
    return Runs(
        path,
        frame.sort_values("attempt", ignore_index=True),
        _cell_frame(tables["cells"]),
        columns.typed([{**v, "written": pd.Timestamp(v["written"], unit="ns")} for v in verdicts], columns.VERDICTS),
        columns.typed(papers, columns.PAPERS),
        cards,
        tuple([*notes, *lost, *(f"{row.path}: {row.problem}" for row in rows if row.problem)]),
    )


def _key(row: Row) -> str:
    """Return what all makings of one declared attempt share: the folder of its agent, and the repeat."""
    return f"{row.path.rpartition('/')[0]}/{row.repeat:02d}"


def _declared_key(one: dict[str, Any]) -> str:
    return str(one["attempt"])


def _newest(verdicts: list[dict[str, Any]], grader: str | None) -> dict[str, dict[str, Any]]:
    newest: dict[str, dict[str, Any]] = {}
    for verdict in verdicts:
        if grader is not None and verdict["grader"] != grader:
            continue
        before = newest.get(verdict["attempt"])
        if before is None or (verdict["written"], verdict["file"]) > (before["written"], before["file"]):
            newest[verdict["attempt"]] = verdict
    return newest


def _cards(path: Path, rows: list[Row], facts: dict[str, dict[str, Any]]) -> tuple[dict[str, PaperCard], list[str]]:
    """Read each card once, from the first attempt that was made with it."""
    cards: dict[str, PaperCard] = {}
    notes = []
    tried = set()
    for row in rows:
        sha256 = facts.get(row.path, {}).get("card_sha256")
        if row.imported or sha256 is None or sha256 in tried:
            continue
        tried.add(sha256)
        try:
            cards[sha256] = PaperCard.model_validate(
                first_event(AttemptFolder(path / row.path).stream).data["spec"]["card"]
            )
        except (RecordError, ValidationError, OSError, KeyError) as problem:
            notes.append(f"{row.path}: its card cannot be read: {str(problem).splitlines()[0]}")
    return cards, notes


def _record(
    made: list[Row],
    facts: dict[str, dict[str, Any]],
    chosen: dict[str, dict[str, Any]],
    cards: dict[str, PaperCard],
) -> dict[str, Any]:
    row = max(made, key=lambda making: (making.again, making.path))
    fact, verdict = facts.get(row.path, {}), chosen.get(row.path, {})
    card = cards.get(str(fact.get("card_sha256")))
    spent, budget, need = _number(row.spent_hours), _number(row.budget_hours), _number(fact.get("need_hours"))
    report = verdict.get("self_report") if row.imported else _claim(row, fact, card)
    outcome = verdict.get("outcome")
    return {
        **{name: getattr(row, name) for name in ("batch", "suite", "paper", "repeat", "tier", "device", "title")},
        **{name: getattr(row, name) for name in ("state", "reason", "started", "updated", "unit", "imported")},
        **{name: fact.get(name) for name in ("area", "wall_clock_seconds", "held_seconds", "charged_seconds")},
        **{name: fact.get(name) for name in ("turns", "tokens", "usd", "network", "card_sha256")},
        **{name: verdict.get(name) for name in ("outcome", "cause", "contributing", "value", "grader", "flags")},
        **{name: verdict.get(name) for name in ("score", "mode")},
        "attempt": row.path,
        "arxiv": fact.get("arxiv"),
        "agent": row.agent,
        "model": fact.get("model"),
        "conditions": fact.get("conditions") or "",
        "makings": len(made),
        "faults": sum(making.reason in ENDINGS and not ENDINGS[making.reason].counts for making in made),
        "band": fact.get("band") or band_of(row.device, budget),
        "standing": standing(outcome, row.reason, row.state),
        "budget_hours": budget,
        "need_hours": need,
        "spent_hours": spent,
        "of_budget": spent / budget if spent is not None and budget else None,
        "of_need": spent / need if spent is not None and need else None,
        "submitted": row.submitted,
        "self_report": report,
        "verdicts": row.verdicts,
        "kernel": row.kernel or None,
        "unsandboxed": None if row.imported else row.unsandboxed,
    }


def _not_begun(one: dict[str, Any]) -> dict[str, Any]:
    return {
        **one,
        "makings": 0,
        "faults": 0,
        "verdicts": 0,
        "state": "not_begun",
        "standing": standing(None, None, "not_begun"),
    }


def _claim(row: Row, fact: dict[str, Any], card: PaperCard | None) -> str | None:
    """Return what handing a value in claims: an outcome by the published criterion, None where nothing is claimed."""
    if fact.get("submission") is None or card is None or card.criterion is None:
        return None
    if row.submitted is None:
        return "not_reproduced"
    place = place_of(card, row.submitted)
    return OUTCOME_OF_PLACE.get(place or "")


@lru_cache(maxsize=65536)
def _place(criterion: Any, value: str) -> str | None:
    try:
        number = Decimal(value)
        return str(criterion.decide(number).place) if number.is_finite() else None
    except (CardError, ArithmeticError):
        return None


def place_of(card: PaperCard, value: str, criterion: str = "criterion") -> str | None:
    """Return where a value stands against a card's criterion.

    Args:
        card: the card.
        value: decimal text, in the target's unit.
        criterion: ``criterion``, which is the published one, or ``strict``.

    Returns:
        inside, near or outside; None where the card has no such criterion or it needs a baseline of the same attempt.
    """
    rule = getattr(card, criterion)
    return None if rule is None else _place(rule, value)


def _cell_frame(lines: list[tuple[Any, ...]]) -> pd.DataFrame:
    frame = pd.DataFrame.from_records(lines, columns=["attempt", *CELLS])
    return pd.DataFrame(
        {name: columns.series(frame[name].tolist(), column.dtype) for name, column in columns.CELLS.items()}
    )


def _name_agents(records: list[dict[str, Any]]) -> None:
    """Put the model behind an agent's name where one agent was used with several."""
    models: dict[str, set[Any]] = defaultdict(set)
    for record in records:
        models[record["agent"]].add(record.get("model"))
    for record in records:
        if len(models[record["agent"]]) > 1 and record.get("model"):
            record["agent"] = f"{record['agent']}/{record['model']}"


def _number(text: Any) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
