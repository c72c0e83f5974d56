"""The index: always what is on disk, whatever becomes of the cache."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from reclaim_nb.errors import RecordError
from reclaim_nb.record.folder import AttemptFolder, Lock
from reclaim_nb.record.index import INDEX, Index, Row, row_of


@pytest.fixture
def many(runs: Path, copied: Path) -> Path:
    """A runs folder with four attempts."""
    for number in (2, 3, 4):
        shutil.copytree(copied, copied.with_name(f"{number:02d}"))
    return runs


def rows(runs: Path) -> tuple[list[Row], int]:
    index = Index(runs)
    return index.rows(), index.reread


def cut_end(folder: Path) -> None:
    """Take the end event off a stream, as if its runner had died before it."""
    lines = (folder / "stream.jsonl").read_text().splitlines(keepends=True)
    assert json.loads(lines[-1])["kind"] == "end"
    (folder / "stream.jsonl").write_text("".join(lines[:-1]))


def test_a_row_holds_what_a_table_needs(runs: Path, copied: Path) -> None:
    ((row,), _) = rows(runs)
    assert row.path == "single/small/iforest-breastw/constant/01"
    assert (row.batch, row.suite, row.paper, row.agent, row.repeat) == (
        *("single", "small", "iforest-breastw", "constant"),
        1,
    )
    assert (row.tier, row.metric, row.target, row.unit) == ("retrain", "ROC AUC", "0.99", "fraction")
    assert (row.budget_hours, row.hours_unit) == ("0.05", "CPU-hours")
    assert row.spent_hours is not None
    assert float(row.spent_hours) > 0
    assert (row.state, row.reason, row.submitted) == ("ended", "submitted", "0.99")
    assert row.started is not None
    assert row.updated is not None
    assert row.started < row.updated
    assert (row.kernel, row.unsandboxed) == ("local", True)
    assert row == row_of(AttemptFolder(copied))


def test_only_what_changed_is_read_again(many: Path, copied: Path) -> None:
    assert rows(many)[1] == 4
    first, reread = rows(many)
    assert reread == 0
    (copied / "verdict.other.json").write_text('{"outcome": "near_miss", "cause": "C14", "grader": "other"}')
    second, reread = rows(many)
    assert reread == 1
    assert second[1:] == first[1:]
    assert (second[0].outcome, second[0].cause, second[0].grader) == ("near_miss", "C14", "other")
    assert second[0].verdicts == first[0].verdicts + 1
    cut_end(copied.with_name("02"))
    third, reread = rows(many)
    assert reread == 1
    assert [row.state for row in third] == ["ended", "dead_runner", "ended", "ended"]
    shutil.rmtree(copied.with_name("03"))
    fourth, reread = rows(many)
    assert (len(fourth), reread) == (3, 0)


def test_state_and_spend_of_an_attempt_that_has_not_ended(runs: Path, copied: Path) -> None:
    ended = row_of(AttemptFolder(copied))
    cut_end(copied)
    ((row,), _) = rows(runs)
    assert (row.state, row.reason) == ("dead_runner", None)
    assert row.spent_hours is not None  # from the last event that names it
    assert 0 < float(row.spent_hours) <= float(ended.spent_hours or 0)
    lock = Lock(AttemptFolder(copied))
    lock.take()
    assert rows(runs)[0][0].state == "running"  # the state is looked at each time, not stored
    lock.release()
    assert rows(runs)[0][0].state == "dead_runner"


def _garbage(index: Path) -> None:
    index.write_bytes(b"this is no database" * 500)


def _truncated(index: Path) -> None:
    os.truncate(index, 5000)


def _deleted(index: Path) -> None:
    index.unlink()


def _deleted_beside_a_journal(index: Path) -> None:
    index.unlink()
    index.with_name(f"{INDEX}-wal").write_bytes(os.urandom(8192))


def _sql(*statements: str) -> Callable[[Path], None]:
    def change(index: Path) -> None:
        database = sqlite3.connect(index)
        with database:
            for statement in statements:
                database.execute(statement)
        database.close()

    return change


CHANGES = {
    "garbage": _garbage,
    "truncated": _truncated,
    "deleted": _deleted,
    "journal": _deleted_beside_a_journal,
    "version": _sql("PRAGMA user_version = 99"),
    "table": _sql("DROP TABLE attempts"),
    "column": _sql("ALTER TABLE attempts DROP COLUMN tier"),
    "repeat": _sql("UPDATE attempts SET repeat = 'many'"),
    "paper": _sql("UPDATE attempts SET paper = NULL"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_broken_index_is_built_anew(many: Path, change: Callable[[Path], None]) -> None:
    before, _ = rows(many)
    change(many / INDEX)
    assert rows(many)[0] == before
    assert rows(many) == (before, 0)  # and the new one serves


def test_without_a_place_for_the_index_the_rows_are_the_same(many: Path) -> None:
    before, _ = rows(many)
    for name in (INDEX, f"{INDEX}-wal", f"{INDEX}-shm"):
        (many / name).unlink(missing_ok=True)
    (many / INDEX).mkdir()
    assert rows(many) == (before, 4)


def test_an_unreadable_record_is_a_row_that_says_so(many: Path, copied: Path) -> None:
    (copied / "stream.jsonl").write_bytes(b"\x00\xff\n")
    found, _ = rows(many)
    assert [row.state for row in found] == ["unreadable", "ended", "ended", "ended"]
    assert found[0].problem
    assert (found[0].paper, found[0].agent, found[0].repeat) == ("iforest-breastw", "constant", 1)


def test_folders_that_hold_no_attempt_are_passed_over(many: Path) -> None:
    before, _ = rows(many)
    (many / "notes.txt").write_text("mine")
    (many / "a" / "b" / "c" / "d" / "01").mkdir(parents=True)
    (many / "a" / "b" / "c" / "d" / "01" / "verdict.rules.json").write_text("{}")
    (many / ".hidden" / "b" / "c" / "d" / "01").mkdir(parents=True)
    assert rows(many)[0] == before
    with pytest.raises(RecordError, match="no such folder"):
        Index(many / "none").rows()


def test_many_processes_at_once_see_every_attempt(many: Path) -> None:
    program = (
        "import sys\nfrom pathlib import Path\nfrom reclaim_nb.record.index import Index, INDEX\n"
        "for turn in range(15):\n"
        "    if turn % 5 == int(sys.argv[2]):\n"
        "        (Path(sys.argv[1]) / INDEX).unlink(missing_ok=True)\n"
        "    found = Index(sys.argv[1]).rows()\n"
        "    assert [row.path[-2:] for row in found] == ['01', '02', '03', '04'], found\n"
        "    assert all(row.reason == 'submitted' for row in found), found\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", program, str(many), str(n)], stderr=subprocess.PIPE, text=True)
        for n in range(4)
    ]
    for process in processes:
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said
    assert len(rows(many)[0]) == 4
