"""The index of a runs folder: one row for each attempt, cached in SQLite.

Files are the truth and this is a cache: it can be deleted at any time, and is built anew when it is missing, damaged or
of another version. Only attempts whose files have changed are read again, and of those only the first event, the end of
the stream and the verdicts.

Attempts that were made elsewhere and brought in have no stream of ours: their folder holds ``imported.json`` instead,
whose ``row`` says what a row is to show. Whoever needs more of each attempt than a row adds tables (:class:`Derived`).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from reclaim_nb.errors import RecordError
from reclaim_nb.record.events import decode
from reclaim_nb.record.folder import AttemptFolder, is_held
from reclaim_nb.record.reader import check_is_file, first_event, last_event
from reclaim_nb.record.stamps import IMPORTED, LEVELS, Stamp, read_stamps

INDEX = "index.sqlite"
SCHEMA = 4
"""Raised whenever a row's meaning changes; an index of another number is built anew."""

_LOCK = ".index.lock"
_TAIL_BYTES = 262144
_BUSY_SECONDS = 10.0
_COUNT = re.compile(r"[0-9]{1,9}")
UNREADABLE = (RecordError, OSError, KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError)
"""What reading a record fails with that is damaged, or was never one."""
_SPEND_KEYS = ("meter", "usage")
_CHUNK = 500
"""Attempts whose further tables are stored at a time: a first look that is cut short is not lost."""

State = Literal["running", "ended", "dead_runner", "unreadable"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Row:
    """One attempt as a table shows it.

    Attributes:
        path: the attempt folder, relative to the runs folder, with ``/``.
        batch, suite, paper, agent, repeat: where it stands; ``again``: how often that repeat was made, with this time.
        id, title, tier, device: of the spec; empty when the record cannot be read.
        model: of agents that have one; ``conditions``: names of what the agent is told differently, with commas.
        kernel: ``docker`` or ``local``; ``unsandboxed``: its cells ran without a sandbox.
        metric, target, unit: name of the target, its value (or what is printed where there is none), its unit.
        budget_hours, spent_hours: as text, in CPU-hours or H100-equivalent GPU-hours by ``device``; None: not known.
        started, updated: UTC time of the first and the last event.
        reason, detail: end reason and a sentence on it, None while the attempt has not ended.
        submitted: what the agent handed in.
        outcome, cause, value, grader: of the newest verdict, None without one and where the record cannot be read.
        verdicts: how many verdicts there are.
        imported: made elsewhere and brought in; there is no stream of ours.
        problem: why the record cannot be read, None when it can.
        state: ``running``, ``ended``, ``dead_runner`` (neither ended nor held by a live runner) or ``unreadable``; it
            is found out at every look and never stored.
    """

    path: str
    batch: str
    suite: str
    paper: str
    agent: str
    repeat: int
    again: int = 1
    id: str = ""
    title: str = ""
    tier: str = ""
    device: str = ""
    model: str | None = None
    conditions: str = ""
    kernel: str = ""
    unsandboxed: bool = False
    metric: str = ""
    target: str | None = None
    unit: str = ""
    budget_hours: str | None = None
    spent_hours: str | None = None
    started: str | None = None
    updated: str | None = None
    reason: str | None = None
    detail: str | None = None
    submitted: str | None = None
    outcome: str | None = None
    cause: str | None = None
    value: str | None = None
    grader: str | None = None
    verdicts: int = 0
    imported: bool = False
    problem: str | None = None
    state: State = "ended"

    @property
    def hours_unit(self) -> str:
        """What spend and budget are counted in."""
        return "CPU-hours" if self.device == "cpu" else "H100-hours"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


_COLUMNS = tuple(field.name for field in fields(Row) if field.name != "state")
_FLAGS = tuple(map(_COLUMNS.index, ("unsandboxed", "imported")))
_NUMBERS = tuple(map(_COLUMNS.index, ("repeat", "again", "verdicts", "unsandboxed", "imported")))
_TEXTS = tuple(map(_COLUMNS.index, ("path", "batch", "suite", "paper", "agent")))
_REASON, _IMPORTED, _PROBLEM = map(_COLUMNS.index, ("reason", "imported", "problem"))


_MAY_LACK = frozenset(field.name for field in fields(Row) if field.default is None)
_IMPORTABLE = frozenset(_COLUMNS) - {
    *("path", "kernel", "unsandboxed", "outcome", "cause", "value", "grader"),
    *("verdicts", "imported", "problem"),
}
"""What ``imported.json`` may say; outcomes stand in verdicts, and the rest is found out here."""


@dataclass(frozen=True, slots=True)
class Derived:
    """A further table of the index: what one function finds in an attempt folder, kept as long as its files stay.

    Attributes:
        name: of the table.
        version: raised whenever what is found, or its meaning, changes; the table is then filled anew.
        columns: names of the values in each row that ``read`` returns.
        source: what is read, so that a new verdict does not have a long stream read again.
        read: returns the rows of one attempt; an attempt that cannot be read has none.
    """

    name: str
    version: int
    columns: tuple[str, ...]
    source: Literal["record", "verdicts"]
    read: Callable[[AttemptFolder], Iterable[tuple[Any, ...]]]

    @property
    def table(self) -> str:
        return f"{self.name}_{self.version}"

    def rows_of(self, folder: AttemptFolder, path: str) -> list[tuple[Any, ...]]:
        """Return the rows of one attempt, the path it is known by in front; none where it cannot be read."""
        try:
            return [(path, *map(_storable, values)) for values in self.read(folder)]
        except UNREADABLE:
            return []  # its row says that it is unreadable, and why


class Index:
    """All attempts below a runs folder.

    Args:
        runs: the runs folder.

    Attributes:
        reread: attempts whose files the last :meth:`rows` had to read; the others came from the cache.
    """

    def __init__(self, runs: Path | str) -> None:
        self.runs = Path(runs)
        self.reread = 0
        self._stamps: dict[str, Stamp] = {}

    @property
    def path(self) -> Path:
        """The SQLite file."""
        return self.runs / INDEX

    def rows(self) -> list[Row]:
        """Return every attempt, in order of its path, as it is on disk now.

        Raises:
            RecordError: when there is no such folder.
        """
        return [_row(line) for line in self._look(())[0]]

    def read(self, *tables: Derived) -> tuple[dict[str, list[Any]], dict[str, list[tuple[Any, ...]]]]:
        """Return every attempt as :meth:`rows` does, but column by column, and further tables of the same look.

        Args:
            tables: what is wanted beside the rows.

        Returns:
            the columns by the name of a row's field, and by the name of each table its rows: the path of the attempt,
            then the table's columns.

        Raises:
            RecordError: when there is no such folder.
        """
        lines, derived = self._look(tables)
        names = (*_COLUMNS, "state")
        columns = (
            dict(zip(names, map(list, zip(*lines, strict=True)), strict=True)) if lines else {n: [] for n in names}
        )
        for place in _FLAGS:
            columns[_COLUMNS[place]] = list(map(bool, columns[_COLUMNS[place]]))
        return columns, derived

    def _look(self, tables: Iterable[Derived]) -> tuple[list[tuple[Any, ...]], dict[str, list[tuple[Any, ...]]]]:
        """Return the columns of every attempt with its state last, in order of its path, and further tables."""
        if not self.runs.is_dir():
            raise RecordError(f"{self.runs}: no such folder; attempts are made by `reclaim run` and `reclaim demo`")
        stamps = self._stamps = dict(read_stamps(self.runs))

        def work(database: sqlite3.Connection) -> tuple[list[tuple[Any, ...]], dict[str, list[tuple[Any, ...]]]]:
            lines = self._refresh(database, stamps)
            return lines, {table.name: self._derive(database, table, stamps) for table in tables}

        lines, derived = self._cached(work)
        return sorted((*line, state) for line, state in map(self._now, lines)), derived

    def further(self, table: Derived) -> list[tuple[Any, ...]]:
        """Return the rows of one more table at the last look's attempts, without looking at the folder again."""
        return self._cached(lambda database: self._derive(database, table, self._stamps))

    def _derive(self, database: sqlite3.Connection, table: Derived, stamps: dict[str, Stamp]) -> list[tuple[Any, ...]]:
        _make_table(database, table)
        part = 0 if table.source == "record" else 1
        wanted = {path: stamp[part] for path, stamp in stamps.items()}
        known: dict[str, str] = dict(database.execute(f"SELECT path, stamp FROM {table.table}_stamps"))
        gone = [(path,) for path in known.keys() - wanted]
        changed = [path for path, stamp in wanted.items() if known.get(path) != stamp]
        if gone:
            with database:
                database.executemany(f"DELETE FROM {table.table} WHERE path = ?", gone)
                database.executemany(f"DELETE FROM {table.table}_stamps WHERE path = ?", gone)
        marks = ", ".join("?" * (len(table.columns) + 1))
        for start in range(0, len(changed), _CHUNK):
            chunk = changed[start : start + _CHUNK]
            found = [line for path in chunk for line in table.rows_of(AttemptFolder(self.runs / path), path)]
            with database:
                database.executemany(f"DELETE FROM {table.table} WHERE path = ?", [(path,) for path in chunk])
                database.executemany(f"INSERT INTO {table.table} VALUES ({marks})", found)
                database.executemany(
                    f"INSERT OR REPLACE INTO {table.table}_stamps VALUES (?, ?)",
                    [(path, wanted[path]) for path in chunk],
                )
        rows = database.execute(f"SELECT * FROM {table.table} ORDER BY rowid").fetchall()
        # Another process with an older look may have added what is gone, or taken away what is new.
        return rows if not gone and len(known) == len(wanted) else [row for row in rows if row[0] in wanted]

    def _now(self, line: tuple[Any, ...]) -> tuple[tuple[Any, ...], State]:
        """Return an attempt's columns and its state; read once more where it may have ended since it was read."""
        if not _says_its_end(line):
            if is_held(AttemptFolder(self.runs / line[0])):
                return line, "running"
            line = self._line(line[0])
        if _says_its_end(line):
            return line, "ended"
        return line, "dead_runner" if line[_PROBLEM] is None else "unreadable"

    def _refresh(self, database: sqlite3.Connection, stamps: dict[str, Stamp]) -> list[tuple[Any, ...]]:
        known: dict[str, str] = dict(database.execute("SELECT path, stamp FROM attempts"))
        changed = [path for path, stamp in stamps.items() if known.get(path) != "/".join(stamp)]
        self.reread = len(changed)
        fresh = {path: self._line(path) for path in changed}
        names, marks = ", ".join((*_COLUMNS, "stamp")), ", ".join("?" * (len(_COLUMNS) + 1))
        with database:
            database.executemany("DELETE FROM attempts WHERE path = ?", [(path,) for path in known.keys() - stamps])
            database.executemany(
                f"INSERT OR REPLACE INTO attempts ({names}) VALUES ({marks})",
                [(*line, "/".join(stamps[path])) for path, line in fresh.items()],
            )
        kept = database.execute(f"SELECT {', '.join(_COLUMNS)} FROM attempts").fetchall()
        _check(kept)
        lines = {line[0]: line for line in kept if line[0] in stamps}
        if missing := stamps.keys() - lines.keys() - fresh.keys():  # another process has cleaned up with an older look
            fresh |= {path: self._line(path) for path in missing}
        return list({**lines, **fresh}.values())

    def _line(self, path: str) -> tuple[Any, ...]:
        row = row_of(AttemptFolder(self.runs / path), path)
        return tuple(_storable(getattr(row, name)) for name in _COLUMNS)

    def _cached(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do the work on the index; on a new one when it is broken; in memory when the folder does not allow it."""
        try:
            with _holding(self.runs / _LOCK, fcntl.LOCK_SH), _database(self.path) as database:
                return work(database)
        except (sqlite3.Error, OSError):
            pass
        try:
            # Nobody else may have the file open while it is taken away: a journal of the old one would ruin the new.
            with _holding(self.runs / _LOCK, fcntl.LOCK_EX | fcntl.LOCK_NB):
                for suffix in ("-wal", "-shm", ""):
                    self.path.with_name(INDEX + suffix).unlink(missing_ok=True)
                with _database(self.path) as database:
                    return work(database)
        except (sqlite3.Error, OSError):
            pass
        with _database(None) as database:
            return work(database)


def row_of(folder: AttemptFolder, path: str | None = None) -> Row:
    """Read one attempt's row from its files, without the state.

    Args:
        folder: the attempt folder.
        path: what the row is to call it; default: its last five parts.
    """
    parts = folder.path.resolve().parts[-LEVELS:]
    batch, suite, paper, agent, repeat = parts
    number, _, again = repeat.partition("-")
    place = Row(
        path or "/".join(parts),
        batch,
        suite,
        paper,
        agent,
        repeat=int(number) if _COUNT.fullmatch(number) else 0,
        again=int(again) if _COUNT.fullmatch(again) else 1,
    )
    try:
        if (folder.path / IMPORTED).exists() and not folder.stream.exists():
            return _with_verdict(_imported(place, read_imported(folder)), folder)
        row = _with_end(_with_begin(place, folder), folder)
    except UNREADABLE as problem:
        text = str(problem) if isinstance(problem, RecordError) else f"{type(problem).__name__}: {problem}"
        return replace(place, problem=text)  # and no verdict: nobody can check what it rests on
    return _with_verdict(row, folder)


def read_imported(folder: AttemptFolder) -> dict[str, Any]:
    """Return what an imported attempt's folder says of it.

    Raises:
        RecordError: when it says nothing that can be read.
    """
    path = folder.path / IMPORTED
    try:
        check_is_file(path)
        document = json.loads(path.read_text("utf-8"))
        if isinstance(document, dict) and isinstance(document.get("row"), dict):
            return document
    except (OSError, ValueError, RecursionError) as problem:
        raise RecordError(f"{path}: cannot be read ({problem}); import it again") from problem
    raise RecordError(f"{path}: holds no row; import it again")


def read_verdict(folder: AttemptFolder) -> dict[str, Any] | None:
    """Return the newest verdict of an attempt as JSON, None when it has none that can be read."""
    found: list[tuple[int, str, dict[str, Any]]] = []
    for path in folder.verdicts():
        with contextlib.suppress(RecordError, OSError):
            found.append((path.stat().st_mtime_ns, path.name, read_verdict_file(path)))
    return max(found, key=lambda item: item[:2])[2] if found else None


def read_verdict_file(path: Path) -> dict[str, Any]:
    """Return a verdict as JSON, checked as far as a table needs it.

    Raises:
        RecordError: when it cannot be read, or is no verdict.
    """
    try:
        check_is_file(path)
        verdict = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise RecordError(f"{path}: cannot be read ({problem})") from problem
    if not isinstance(verdict, dict) or not isinstance(verdict.get("outcome"), str):
        raise RecordError(f"{path}: not a verdict")
    for name in ("contributing", "flags"):
        if not isinstance(verdict.get(name) or [], list):
            raise RecordError(f"{path}: not a verdict ({name} is no list)")
    return verdict


def _with_begin(row: Row, folder: AttemptFolder) -> Row:
    try:
        first = first_event(folder.stream)
    except RecordError:
        last = last_event(folder.stream)
        if last is None or last.seq or last.kind != "end":
            raise
        return replace(row, started=last.time)  # ended in the place of a runner that died before it began
    return _with_spec(replace(row, started=first.time), first.data["spec"])


def _with_spec(row: Row, spec: dict[str, Any]) -> Row:
    card, target = spec["card"], spec["card"]["target"]
    return replace(
        row,
        batch=str(spec["batch"]),
        suite=str(spec["suite"]),
        paper=str(spec["paper"]),
        agent=str(spec["agent"]["name"]),
        model=_text(spec["agent"].get("model")),
        conditions=",".join(spec.get("conditions") or ()),
        repeat=_count(spec["repeat"]),
        again=_count(spec.get("again", 1)),
        id=str(spec["id"]),
        title=str(card["title"]),
        tier=str(spec["tier"]),
        device=str(spec["device"]),
        kernel=str(spec["kernel"]["kind"]),
        unsandboxed=bool(spec["kernel"]["unsandboxed"]),
        metric=str(target["metric"]),
        target=_text(target["value"] if target.get("value") is not None else target.get("printed")),
        unit=str(target["unit"]),
        budget_hours=_text(spec["limits"]["budget_hours"]),
    )


def _imported(row: Row, document: dict[str, Any]) -> Row:
    given = {name: value for name, value in document["row"].items() if name in _IMPORTABLE}
    for name, value in given.items():
        if name in ("repeat", "again"):
            given[name] = _count(value)
        elif not (isinstance(value, str) or (value is None and name in _MAY_LACK)):
            raise RecordError(f"{IMPORTED}: {name} is not a text ({value!r})")
    return replace(row, imported=True, **given)


def _with_end(row: Row, folder: AttemptFolder) -> Row:
    last = last_event(folder.stream)
    if last is None or last.kind != "end":
        return replace(row, updated=last.time if last else None, spent_hours=spend_so_far(folder.stream))
    return replace(
        row,
        updated=last.time,
        reason=str(last.data["reason"]),
        detail=_text(last.data.get("detail")),
        spent_hours=_text((last.data.get("usage") or {}).get("hours")),
        submitted=_text((last.data.get("submission") or {}).get("value")),
    )


def _with_verdict(row: Row, folder: AttemptFolder) -> Row:
    verdict = read_verdict(folder)
    if verdict is None:
        return row
    return replace(
        row,
        outcome=_text(verdict.get("outcome")),
        cause=_text(verdict.get("cause")),
        value=_text(verdict.get("value")),
        grader=_text(verdict.get("grader")),
        verdicts=len(folder.verdicts()),
    )


def spend_so_far(stream: Path) -> str | None:
    """Return the hours that the last event with a meter reading names; None when the stream's end holds none."""
    with open(stream, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL_BYTES))
        lines = file.read().splitlines()
    for line in reversed(lines):
        try:
            event = decode(line)
        except ValueError:
            continue
        readings = [event.data] if event.kind == "meter" else [event.data.get(key) for key in _SPEND_KEYS]
        for reading in readings:
            if isinstance(reading, dict) and "hours" in reading:
                return str(reading["hours"])
    return None


@contextmanager
def _holding(path: Path, how: int) -> Iterator[None]:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, how)
        yield
    finally:
        os.close(handle)


@contextmanager
def _database(path: Path | None) -> Iterator[sqlite3.Connection]:
    database = sqlite3.connect(":memory:" if path is None else path, timeout=_BUSY_SECONDS)
    try:
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, SCHEMA):
            raise sqlite3.DatabaseError(f"index of version {version}")
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        columns = ", ".join(f"{name} TEXT PRIMARY KEY" if name == "path" else name for name in (*_COLUMNS, "stamp"))
        database.execute(f"CREATE TABLE IF NOT EXISTS attempts ({columns})")
        database.execute(f"PRAGMA user_version = {SCHEMA}")
        yield database
    finally:
        database.close()


def _make_table(database: sqlite3.Connection, table: Derived) -> None:
    """Make a further table where it is missing, and drop what an older version of it left."""
    have = {str(name) for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if f"{table.table}_stamps" in have:
        return
    with database:
        for name in have:
            if name.startswith(f"{table.name}_"):
                database.execute(f"DROP TABLE {name}")
        database.execute(f"CREATE TABLE IF NOT EXISTS {table.table} ({', '.join(('path', *table.columns))})")
        database.execute(f"CREATE INDEX IF NOT EXISTS {table.table}_path ON {table.table} (path)")
        database.execute(f"CREATE TABLE IF NOT EXISTS {table.table}_stamps (path TEXT PRIMARY KEY, stamp)")


def _check(lines: list[tuple[Any, ...]]) -> None:
    """Raise when a damaged index holds something else than was put into it."""
    for places, kind in ((_NUMBERS, int), (_TEXTS, str)):
        for place in places:
            if found := {type(line[place]) for line in lines} - {kind}:
                raise sqlite3.DatabaseError(f"index: {_COLUMNS[place]} holds {', '.join(map(str, found))}")


def _row(line: tuple[Any, ...]) -> Row:
    values = list(line)
    for place in _FLAGS:
        values[place] = bool(values[place])
    return Row(*values)


def _count(value: Any) -> int:
    if not _COUNT.fullmatch(str(value)):
        raise ValueError(f"{value!r} is no number of a repeat")
    return int(value)


def _says_its_end(line: tuple[Any, ...]) -> bool:
    return line[_REASON] is not None or bool(line[_IMPORTED])


def _storable(value: Any) -> Any:
    """Return a value as SQLite takes it: text as UTF-8, and numbers as large as it holds them."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return float(value)
    return value


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
