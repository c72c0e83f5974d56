"""Records that are damaged, or made to do harm: each spoils itself alone, and is named."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from reclaim_nb.analysis.frames import Runs, load_runs
from reclaim_nb.cli import app
from reclaim_nb.demo import recorded_runs
from reclaim_nb.record.index import Index

PAPER = "recorded/small/iforest-breastw"
SPOILED = f"{PAPER}/replay/01"
NESTED = b"[" * 300_000


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """The four recorded attempts at one paper."""
    shutil.copytree(recorded_runs() / PAPER, tmp_path / "runs" / PAPER)
    return tmp_path / "runs"


@pytest.fixture(autouse=True)
def nobody_waits() -> Iterator[None]:
    """End a test that hangs on a pipe long before its time is up."""

    def late(number: int, frame: object) -> None:
        raise AssertionError("it waits for ever")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def with_verdict(change: dict[str, Any]) -> Callable[[Path], None]:
    def spoil(attempt: Path) -> None:
        file = attempt / "verdict.rules.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **change}))

    return spoil


def with_event(place: int, change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def spoil(attempt: Path) -> None:
        stream = attempt / "stream.jsonl"
        lines = stream.read_bytes().splitlines()
        event = json.loads(lines[place])
        change(event["data"])
        lines[place] = json.dumps(event, separators=(",", ":")).encode()
        stream.write_bytes(b"\n".join(lines) + b"\n")

    return spoil


def holding(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda attempt: (attempt / name).write_bytes(content) and None


def instead(name: str, make: Callable[[Path], object]) -> Callable[[Path], None]:
    def spoil(attempt: Path) -> None:
        (attempt / name).unlink(missing_ok=True)
        make(attempt / name)

    return spoil


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def imported(row: dict[str, Any], content: bytes = b"") -> Callable[[Path], None]:
    def spoil(attempt: Path) -> None:
        shutil.rmtree(attempt)
        attempt.mkdir()
        (attempt / "imported.json").write_bytes(content or json.dumps({"row": row}).encode())

    return spoil


def unended(attempt: Path) -> None:
    stream = attempt / "stream.jsonl"
    stream.write_bytes(b"\n".join(stream.read_bytes().splitlines()[:-1]) + b"\n")


def after_its_end(attempt: Path) -> None:
    with open(attempt / "stream.jsonl", "ab") as file:
        file.write(b"not an event\n" * 2_000_000)


UNREADABLE: dict[str, Callable[[Path], None]] = {
    "stream is a pipe": instead("stream.jsonl", os.mkfifo),
    "stream is a folder": instead("stream.jsonl", Path.mkdir),
    "stream is a link to itself": instead("stream.jsonl", loop),
    "stream begins with millions of lines": holding("stream.jsonl", b"zz\n" * 4_000_000),
    "end without a reason": with_event(-1, dict.clear),
    "usage is a list": with_event(-1, lambda data: data.update(usage=[1])),
    "repeat is beyond numbers": with_event(0, lambda data: data["spec"].update(repeat=2**70)),
    "conditions are no words": with_event(0, lambda data: data["spec"].update(conditions=[1])),
    "imported suite is a number": imported({"suite": 5}),
    "imported suite is nothing": imported({"suite": None}),
    "imported title is a list": imported({"title": [1]}),
    "imported reason is an object": imported({"reason": {}}),
    "imported again is beyond numbers": imported({"again": 10**40}),
    "imported is nested": imported({}, NESTED),
}
NO_VERDICT: dict[str, Callable[[Path], None]] = {
    "is nested": holding("verdict.rules.json", NESTED),
    "is not UTF-8": holding("verdict.rules.json", b"\xff\xfe{}"),
    "is a list": holding("verdict.rules.json", b"[1]"),
    "has a number of ten thousand digits": holding("verdict.rules.json", b'{"score":' + b"9" * 10_000 + b"}"),
    "has causes that are a number": with_verdict({"contributing": 5}),
    "has flags that are a number": with_verdict({"flags": 7}),
    "has an outcome that is an object": with_verdict({"outcome": {}}),
    "is a link to itself": instead("verdict.rules.json", loop),
    "is a pipe": instead("verdict.rules.json", os.mkfifo),
}
HARMLESS: dict[str, Callable[[Path], None]] = {
    "score beyond numbers": with_verdict({"score": 10**30}),
    "meaning in half a letter": with_verdict({"meaning": "\ud800", "value": "\ud800"}),
    "tokens beyond numbers": with_event(-1, lambda data: data["usage"].update(tokens=2**70)),
    "detail in half a letter": with_event(-1, lambda data: data.update(detail="\ud800")),
    "title in half a letter": with_event(0, lambda data: data["spec"]["card"].update(title="\udcff")),
    "another verdict that is none": holding("verdict.other.json", b'{"outcome": "reproduced", "contributing": 5}'),
    "another verdict that is a pipe": lambda attempt: os.mkfifo(attempt / "verdict.other.json"),
    "a lock that is a folder": lambda attempt: (attempt / ".lock").mkdir(),
}


def looked_at(runs: Path) -> tuple[Runs, pd.Series[Any]]:
    """Look twice, the second time from the index; return the frames and the row of the spoiled attempt."""
    for _ in range(2):
        loaded = load_runs(runs)
        assert len(loaded.cells) > 0
        rows = loaded.attempts.set_index("attempt")
        others = rows.drop(index=SPOILED)["outcome"].astype(str)
        assert others.tolist() == ["disqualified", "disqualified", "not_reproduced"]
    assert CliRunner().invoke(app, ["status", str(runs)]).exit_code == 0
    return loaded, rows.loc[SPOILED]


@pytest.mark.parametrize("what", UNREADABLE)
def test_what_cannot_be_read_is_one_row_and_a_note(runs: Path, what: str) -> None:
    UNREADABLE[what](runs / SPOILED)
    loaded, row = looked_at(runs)
    assert (row["state"], row["standing"]) == ("unreadable", "missing")
    assert any(note.startswith(f"{SPOILED}: ") for note in loaded.notes), loaded.notes
    [kept] = [one for one in Index(runs).rows() if one.path == SPOILED]
    assert (kept.outcome, kept.reason) == (None, None)


@pytest.mark.parametrize("what", NO_VERDICT)
def test_a_verdict_that_is_none_is_left_out_with_a_note(runs: Path, what: str) -> None:
    NO_VERDICT[what](runs / SPOILED)
    loaded, row = looked_at(runs)
    assert (row["state"], row["standing"]) == ("ended", "undecided")
    [note] = loaded.notes
    assert note.startswith(f"{SPOILED}: a verdict is left out: ") and "verdict.rules.json" in note


@pytest.mark.parametrize("what", HARMLESS)
def test_what_stands_beside_a_result_does_not_take_it_away(runs: Path, what: str) -> None:
    HARMLESS[what](runs / SPOILED)
    loaded, row = looked_at(runs)
    assert (row["state"], row["outcome"]) == ("ended", "reproduced")
    assert load_runs(runs, grader="rules").attempts.set_index("attempt").loc[SPOILED, "outcome"] == "reproduced"
    assert len(loaded.notes) == ("verdict" in what or "title" in what)


@pytest.mark.parametrize("make", [Path.mkdir, loop, os.mkfifo], ids=["folder", "link", "pipe"])
def test_a_lock_that_is_none_holds_nobody_off(runs: Path, make: Callable[[Path], object]) -> None:
    unended(runs / SPOILED)
    make(runs / SPOILED / ".lock")
    assert looked_at(runs)[1]["state"] == "dead_runner"


def test_lines_behind_the_end_are_not_searched_for_ever(runs: Path) -> None:
    after_its_end(runs / SPOILED)
    assert looked_at(runs)[1]["state"] == "dead_runner"


@pytest.mark.parametrize("content", [b"\xff{", NESTED, None], ids=["letters", "nested", "folder"])
def test_a_plan_that_is_none_costs_a_note(runs: Path, content: bytes | None) -> None:
    plan = runs / "recorded" / "plan.json"
    plan.mkdir() if content is None else plan.write_bytes(content)
    [note] = looked_at(runs)[0].notes
    assert note.startswith("recorded: what was declared cannot be told: ")


def test_a_link_to_itself_and_a_name_in_no_letters_hide_nothing_else(runs: Path) -> None:
    (runs / "loop").symlink_to("loop")
    shutil.copytree(os.fsencode(runs / PAPER), os.fsencode(runs) + b"/b\xff/small/iforest-breastw")
    loaded = load_runs(runs)
    assert (loaded.attempts["state"] == "unreadable").sum() == 4
    assert (loaded.attempts["outcome"] == "reproduced").sum() == 1


def test_a_grader_of_whom_there_is_no_verdict_is_named(runs: Path) -> None:
    assert load_runs(runs, grader="rules").notes == ()
    assert load_runs(runs, grader="ruels").notes == ("no verdict is by 'ruels'; there are verdicts by rules",)


def test_a_copied_batch_is_named(runs: Path) -> None:
    shutil.copytree(runs / "recorded", runs / "backup")
    notes = load_runs(runs).notes
    assert len(notes) == 4 and all("the same attempt as" in note for note in notes)


def test_a_runner_that_died_before_it_began_is_a_fault_and_no_riddle(runs: Path) -> None:
    from reclaim_nb.batch.settle import _bury
    from reclaim_nb.record.folder import AttemptFolder

    unbegun = runs / PAPER / "replay" / "02"
    unbegun.mkdir()
    _bury(AttemptFolder(unbegun), "infrastructure_error", "its runner died")
    row = load_runs(runs).attempts.set_index("attempt").loc[f"{PAPER}/replay/02"]
    assert (row["state"], row["reason"], row["standing"]) == ("ended", "infrastructure_error", "excluded")
    assert row["faults"] == 1
