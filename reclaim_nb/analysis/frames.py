"""Frames of many attempts: one row per declared attempt, per cell, per verdict and per paper."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any

import pandas as pd

from reclaim_nb.analysis import columns
from reclaim_nb.analysis.declared import PAPER_KEY, band_of, declared_attempts, paper_keys
from reclaim_nb.analysis.outcomes import standing
from reclaim_nb.analysis.readers import CELLS, CELLS_TABLE, FACTS, FACTS_TABLE, VERDICTS, VERDICTS_TABLE, read_card
from reclaim_nb.analysis.uncounted import departed, uncounted
from reclaim_nb.attempts.reasons import ENDINGS
from reclaim_nb.bulk import uncollected
from reclaim_nb.errors import RecordError
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.recorded import FrozenSuites, MadeWith
from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.record.index import Index
from reclaim_nb.record.reader import first_event

_OF_ROW = (
    *("batch", "suite", "paper", "agent", "repeat", "tier", "device", "title", "state", "reason", "started"),
    *("updated", "unit", "imported", "submitted", "verdicts"),
)
_OF_FACTS = (
    *("model", "area", "arxiv", "need_hours", "network", "card_sha256", "audit", "provisional"),
    *("wall_clock_seconds", "held_seconds", "charged_seconds", "turns", "tokens", "usd"),
)
_OF_CARD = ("suite", "paper", "card_sha256", "card_path", "frozen")
_OF_VERDICT = ("outcome", "cause", "contributing", "value", "grader", "flags", "score", "mode")
_NO_FACTS = (None,) * (1 + len(FACTS))
_NO_VERDICT = (None,) * (1 + len(VERDICTS))

Columns = dict[str, list[Any]]


@dataclass(frozen=True)
class Runs:
    """A runs folder as it was at one look. The columns of each frame: :mod:`reclaim_nb.analysis.columns`.

    Attributes:
        path: the runs folder.
        attempts: one row per declared attempt: what was asked for, however often faults made it necessary again,
            and also where nothing has come of it yet.
        verdicts: one row per verdict, of every making.
        papers: one row per paper of each batch, also those that no attempt has reached.
        left_out: declared attempts at papers whose cards are not to be counted (broken, provisional, or departed from
            their frozen suite), in the columns of the frame of attempts; they stand in no other frame.
        notes: what a reader of these frames has to know: records that cannot be read, batches whose plan is lost.
        read_cells, read_cards: how :attr:`cells` and :attr:`cards` are got when they are first asked for; cells also of
            a single attempt.
    """

    path: Path
    attempts: pd.DataFrame
    verdicts: pd.DataFrame
    papers: pd.DataFrame
    left_out: pd.DataFrame
    notes: tuple[str, ...] = ()
    read_cells: Callable[[str | None], pd.DataFrame] = field(
        default=lambda attempt: columns.typed([], columns.CELLS), repr=False
    )
    read_cards: Callable[[], dict[str, PaperCard]] = field(default=dict, repr=False)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """One row per cell, of every making; read at the first use, since few questions need it and it is long."""
        return self.read_cells(None)

    def cells_of(self, attempt: str) -> pd.DataFrame:
        """Return one row per cell of one attempt, without reading those of all others."""
        if "cells" in vars(self):
            return self.cells[self.cells["attempt"] == attempt].reset_index(drop=True)
        return self.read_cells(attempt)

    @cached_property
    def cards(self) -> dict[str, PaperCard]:
        """The paper cards by their hash, as they stand in the attempts' records."""
        return self.read_cards()

    def only(self, **wanted: str | Iterable[str]) -> Runs:
        """Return the part of these runs in which columns of the frame of attempts have given values.

        Args:
            wanted: column and value, or column and several values: ``only(batch="b", tier=("run", "retrain"))``.
        """
        attempts, papers, out = self.attempts, self.papers, self.left_out
        for name, values in wanted.items():
            chosen = [values] if isinstance(values, str) else list(values)
            attempts, out = attempts[attempts[name].isin(chosen)], out[out[name].isin(chosen)]
            if name in papers.columns:
                papers = papers[papers[name].isin(chosen)]
        kept = set(attempts["attempt"])
        return replace(
            self,
            attempts=attempts.reset_index(drop=True),
            papers=papers.reset_index(drop=True),
            verdicts=self.verdicts[self.verdicts["attempt"].isin(kept)].reset_index(drop=True),
            left_out=out.reset_index(drop=True),
            read_cells=lambda attempt: (
                self.cells[self.cells["attempt"].isin(kept)].reset_index(drop=True)
                if attempt is None
                else self.cells_of(attempt)
                if attempt in kept
                else columns.typed([], columns.CELLS)
            ),
            read_cards=lambda: self.cards,
        )


@uncollected()
def load_runs(
    path: Path | str,
    *,
    grader: str | None = None,
    include_broken: bool = False,
    include_provisional: bool = False,
) -> Runs:
    """Load a runs folder as frames.

    The first look reads every attempt; later ones only what has changed (see :mod:`reclaim_nb.record.index`), and any
    number of processes may look while attempts are being made.

    Args:
        path: the runs folder.
        grader: whose verdicts stand in the frame of attempts; default: the newest verdict, whoever gave it.
        include_broken: take attempts at papers whose card the audit calls broken.
        include_provisional: take attempts at papers whose target was only seen second-hand.

    Returns:
        the frames; hours in H100-equivalent GPU-hours or CPU-hours as ``device`` says. What was left out for its card
        is named in ``left_out``.

    Raises:
        RecordError: when there is no such folder.
    """
    path = Path(path)
    index = Index(path)
    rows, tables = index.read(FACTS_TABLE, VERDICTS_TABLE)
    known = {line[0]: line for line in tables["facts"]}
    facts = _by_column([known.get(one, _NO_FACTS) for one in rows["path"]], FACTS)
    verdicts = [line for line in tables["verdicts"] if line[-1] is None]
    chosen = _newest(verdicts, grader)
    declared, papers, lost = declared_attempts(path, rows, facts)
    makings: dict[str, list[int]] = defaultdict(list)
    for place, one in enumerate(rows["path"]):
        makings[_key(one)].append(place)
    found = _begun(rows, list(makings.values()), facts, chosen)
    _add_not_begun(found, [one for one in declared if one["attempt"] not in makings])
    found["agent"] = _agents(found["agent"], found["model"])
    here = zip(*(found[name] for name in PAPER_KEY), strict=True)
    keys = paper_keys([*here, *(tuple(one[name] for name in PAPER_KEY) for one in papers)])
    found["paper_key"] = keys[: len(found["attempt"])]
    paper_frame = columns.typed(papers, columns.PAPERS)
    paper_frame["paper_key"] = columns.series(keys[len(found["attempt"]) :], "string")
    attempts = columns.typed_columns(found, columns.ATTEMPTS).sort_values("attempt", ignore_index=True)
    out = uncounted(attempts, broken=not include_broken, provisional=not include_provisional)
    uncounted_papers = uncounted(paper_frame, broken=not include_broken, provisional=not include_provisional)
    uncounted_papers |= _same_papers(paper_frame, attempts[departed(attempts)])
    hidden = {rows["path"][place] for name in attempts["attempt"][out] for place in makings.get(_key(name), ())}
    seen = set(rows["path"]) - hidden
    return Runs(
        path,
        attempts[~out].reset_index(drop=True),
        _verdict_frame(verdicts, chosen, seen),
        paper_frame[~uncounted_papers].reset_index(drop=True),
        attempts[out].reset_index(drop=True),
        tuple(
            [
                *_card_notes(rows, facts),
                *lost,
                *(f"{one}: {why}" for one, why in _zip(rows["path"], rows["problem"]) if why),
                *(f"{line[0]}: a verdict is left out: {line[-1]}" for line in tables["verdicts"] if line[-1]),
                *_twice(rows),
                *_unknown(grader, verdicts),
            ]
        ),
        lambda attempt: _read_cells(index, seen) if attempt is None else _read_cells_of(path, attempt, seen),
        lambda: _read_cards(path, rows, facts),
    )


def _key(path: str) -> str:
    """Return what all makings of one declared attempt share: the folder of its agent, and the repeat."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/{name.partition('-')[0]}"


def _newest(verdicts: list[tuple[Any, ...]], grader: str | None) -> dict[str, tuple[Any, ...]]:
    """Return the newest verdict of each attempt, as its row in the index."""
    by, written, file = (1 + VERDICTS.index(name) for name in ("grader", "written", "file"))
    newest: dict[str, tuple[Any, ...]] = {}
    for verdict in verdicts:
        if grader is not None and verdict[by] != grader:
            continue
        before = newest.get(verdict[0])
        if before is None or (verdict[written], verdict[file]) > (before[written], before[file]):
            newest[verdict[0]] = verdict
    return newest


def _begun(rows: Columns, makings: list[list[int]], facts: Columns, chosen: dict[str, tuple[Any, ...]]) -> Columns:
    """Return the columns of what was begun: the last making of each stands for it.

    Args:
        rows: columns of the index.
        makings: places of the rows that are makings of the same declared attempt.
        facts: columns of what is known of each row beyond them.
        chosen: the verdict of each attempt that has one.
    """
    again = rows["again"]
    places = [made[0] if len(made) == 1 else max(made, key=again.__getitem__) for made in makings]
    of, fact = rows, facts
    if len(places) < len(again):  # otherwise each was made once, and all of it stands as it is
        last = itemgetter(*places, places[0])  # of one place it would give the value itself
        of, fact = ({name: list(last(values)[:-1]) for name, values in part.items()} for part in (of, fact))
    verdict = _by_column([chosen.get(path, _NO_VERDICT) for path in of["path"]], VERDICTS)
    found: Columns = {"attempt": of["path"], **{name: of[name] for name in _OF_ROW}}
    found |= {name: fact[name] for name in _OF_FACTS}
    found |= {name: verdict[name] for name in _OF_VERDICT}
    found["departed"] = _departed([{**of, **fact}[name] for name in _OF_CARD])
    fault = [reason in ENDINGS and not ENDINGS[reason].counts for reason in rows["reason"]]
    spent, budget, need = (
        list(map(_number, values)) for values in (of["spent_hours"], of["budget_hours"], found["need_hours"])
    )
    imported = of["imported"]
    return found | {
        "conditions": [names or "" for names in fact["conditions"]],
        "makings": list(map(len, makings)),
        "faults": [sum(fault[place] for place in made) for made in makings],
        "band": [name or band_of(device, hours) for name, device, hours in _zip(fact["band"], of["device"], budget)],
        "standing": list(map(standing, found["outcome"], of["reason"], of["state"])),
        "budget_hours": budget,
        "need_hours": need,
        "spent_hours": spent,
        "of_budget": list(map(_share, spent, budget)),
        "of_need": list(map(_share, spent, need)),
        "self_report": [
            report if elsewhere else claim
            for claim, elsewhere, report in _zip(fact["claim"], imported, verdict["self_report"])
        ],
        "kernel": [kernel or None for kernel in of["kernel"]],
        "unsandboxed": [None if elsewhere else flag for elsewhere, flag in _zip(imported, of["unsandboxed"])],
    }


def _departed(of_card: list[list[Any]]) -> list[str | None]:
    """Say of each attempt why its card is not that of its frozen suite; the same few cards stand in many records."""
    suites, said = FrozenSuites(), dict[tuple[Any, ...], str | None]()
    for one in dict.fromkeys(_zip(*of_card)):
        said[one] = suites.departed(MadeWith(*one)) if one[2] is not None else None
    return [said[one] for one in _zip(*of_card)]


def _same_papers(papers: pd.DataFrame, attempts: pd.DataFrame) -> pd.Series[bool]:
    """Return which papers some attempts are at."""
    names = ["batch", "suite", "paper"]
    at = set(attempts[names].itertuples(index=False, name=None))
    return pd.Series([one in at for one in papers[names].itertuples(index=False, name=None)], papers.index, dtype=bool)


def _add_not_begun(found: Columns, declared: list[dict[str, Any]]) -> None:
    """Put declared attempts that nothing has come of below the others."""
    same: dict[str, Any] = {"makings": 0, "faults": 0, "verdicts": 0, "state": "not_begun"}
    same["standing"] = standing(None, None, "not_begun")
    for name, values in found.items() if declared else ():
        more = [same[name]] * len(declared) if name in same else [one.get(name) for one in declared]
        found[name] = values + more  # a new list: the old one may be a column of the index


def _agents(agents: list[Any], models: list[Any]) -> list[Any]:
    """Put the model behind an agent's name where one agent was used with several."""
    used: dict[str, set[Any]] = defaultdict(set)
    for agent, model in set(_zip(agents, models)):
        used[agent].add(model)
    return [f"{agent}/{model}" if model and len(used[agent]) > 1 else agent for agent, model in _zip(agents, models)]


def _verdict_frame(lines: list[tuple[Any, ...]], chosen: dict[str, tuple[Any, ...]], seen: set[str]) -> pd.DataFrame:
    lines = [line for line in lines if line[0] in seen]
    found = _by_column(lines, VERDICTS)
    found["newest"] = [chosen.get(line[0]) is line for line in lines]
    return columns.typed_columns(found, columns.VERDICTS)


@uncollected()
def _read_cells(index: Index, seen: set[str]) -> pd.DataFrame:
    lines = [line for line in index.further(CELLS_TABLE) if line[0] in seen]
    return columns.typed_columns(_by_column(lines, CELLS), columns.CELLS)


def _read_cells_of(path: Path, attempt: str, seen: set[str]) -> pd.DataFrame:
    lines = CELLS_TABLE.rows_of(AttemptFolder(path / attempt), attempt) if attempt in seen else []
    return columns.typed_columns(_by_column(lines, CELLS), columns.CELLS)


def _by_column(lines: list[tuple[Any, ...]], names: Sequence[str]) -> Columns:
    found = [list(column) for column in zip(*lines, strict=True)] or [[] for _ in ("attempt", *names)]
    return dict(zip(("attempt", *names), found, strict=True))


def _card_notes(rows: Columns, facts: Columns) -> list[str]:
    """Say of each card that cannot be read so, once, where it stands first."""
    first: dict[Any, str] = {}
    for path, sha256, problem in _zip(rows["path"], facts["card_sha256"], facts["card_problem"]):
        if problem is not None:
            first.setdefault(sha256, f"{path}: its card cannot be read: {problem}")
    return list(first.values())


def _unknown(grader: str | None, verdicts: list[tuple[Any, ...]]) -> list[str]:
    """Say so where a grader is asked for of whom there is no verdict at all."""
    known = sorted({str(line[1 + VERDICTS.index("grader")]) for line in verdicts})
    if grader is None or grader in known:
        return []
    return [f"no verdict is by {grader!r}; there are verdicts by {', '.join(known) or 'nobody'}"]


def _twice(rows: Columns) -> list[str]:
    """Say of attempts that lie in several places so: copied, or linked; each place counts."""
    first: dict[str, str] = {}
    said = []
    for path, one, imported in _zip(rows["path"], rows["id"], rows["imported"]):
        if one and not imported and first.setdefault(one, path) != path:
            said.append(f"{path}: the same attempt as {first[one]}, and counted once more")
    return said


def _read_cards(path: Path, rows: Columns, facts: Columns) -> dict[str, PaperCard]:
    """Read each card once, from the first attempt that was made with it."""
    first: dict[str, str] = {}
    for attempt, sha256, problem in _zip(rows["path"], facts["card_sha256"], facts["card_problem"]):
        if sha256 is not None and problem is None:
            first.setdefault(sha256, attempt)
    cards = {}
    for sha256, attempt in first.items():
        try:
            card = first_event(AttemptFolder(path / attempt).stream).data["spec"]["card"]
        except (RecordError, KeyError):
            continue  # imported, or gone since it was looked at
        read = read_card(json.dumps(card, sort_keys=True))
        if isinstance(read, PaperCard):
            cards[sha256] = read
    return cards


def _share(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _zip(*parts: Iterable[Any]) -> Iterable[tuple[Any, ...]]:
    return zip(*parts, strict=True)


def _number(text: Any) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
