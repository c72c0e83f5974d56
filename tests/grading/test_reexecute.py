"""Measuring again: what is left out, what is changed, and what follows from the result for the verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reclaim_nb.errors import RecordError
from reclaim_nb.grading.detectors import detect_all
from reclaim_nb.grading.examine import examine
from reclaim_nb.grading.reexecute import Reexecution, read_reexecution
from reclaim_nb.grading.reexecute.change import change_cell, changed_names
from reclaim_nb.grading.reexecute.plan import plan, without
from reclaim_nb.grading.reexecute.record import LeftOutPart, Run, verdict_with
from tests.grading.made import C, Made, make

SHOW = "print('top-1', 100 * evaluate(model, test))"


def made(path: Path, *before: str, printed: str = "84.2") -> Made:
    return make(path / "attempt", [*map(C, before), C(SHOW, [f"top-1 {printed}\n"])])


# ---- which cells ------------------------------------------------------------------------------------------------


def test_the_measuring_cell_brings_what_it_reads_and_nothing_else(tmp_path: Path) -> None:
    cells = ["from toy import load, train, evaluate", "test = load('test')", "plot = 1", "model = train(load('train'))"]
    attempt = made(tmp_path, *cells)
    evidence = examine(attempt.folder, attempt.card).evidence
    assert [cell.cell for cell in plan(evidence, [], "c04", "cell").cells] == ["c00", "c01", "c03", "c04"]
    assert [cell.cell for cell in plan(evidence, [], "c04", "notebook").cells] == ["c00", "c01", "c02", "c03", "c04"]


def test_what_is_written_to_disk_is_done_again(tmp_path: Path) -> None:
    attempt = made(tmp_path, "np.save('pred.npy', pred)", "test = np.load('pred.npy')")
    evidence = examine(attempt.folder, attempt.card).evidence
    assert "c00" in [cell.cell for cell in plan(evidence, [], "c02", "cell").cells]


@pytest.mark.parametrize(
    ("hook", "row", "left"),
    [
        ("import sklearn.metrics as m\nm.accuracy_score = lambda *a: 0.843", 1, "import sklearn.metrics as m\npass"),
        ("import time; time.time = lambda: 0", 0, "import time; pass"),
        ("x = 1\nget_ipython().input_transformers_post.append(f)\ny = 2", 1, "x = 1\npass\ny = 2"),
        ("if True:\n    m.accuracy_score = f", 1, "if True:\n    pass"),
    ],
)
def test_hooks_are_taken_out_and_what_stands_beside_them_stays(hook: str, row: int, left: str) -> None:
    source, gone = without(hook, [hook.splitlines()[row].strip()])
    assert source == left and len(gone) == 1


def test_a_hook_of_the_attempt_is_left_out_by_the_detectors_word(tmp_path: Path) -> None:
    attempt = made(
        tmp_path, "import sklearn.metrics as m\nm.accuracy_score = lambda *a, **k: 0.843", "model = test = m"
    )
    seen = examine(attempt.folder, attempt.card)
    planned = plan(seen.evidence, detect_all(seen.evidence, seen.card), "c02", "cell")
    assert [part.cell for part in planned.left_out] == ["c00"]
    assert "lambda" not in "".join(cell.source for cell in planned.cells)


# ---- changed inputs ---------------------------------------------------------------------------------------------


def changed(**values: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Run the changing cell on some names; return which it says it changed, and what they hold then."""
    lines: list[str] = []
    space: dict[str, Any] = {**values, "print": lines.append}
    exec(change_cell([*values, "absent"], 0), space)
    return changed_names("\n".join(lines)), space


@pytest.mark.parametrize(
    "value",
    [
        np.arange(100.0),
        np.arange(100),
        [0.1, 0.2, 0.3, 0.4],
        list(range(50)),
        (0.5, 0.25, 0.125),
        {"labels": list(range(50))},
        [np.zeros(3), np.arange(30.0)],
    ],
    ids=["floats", "whole numbers", "list", "list of whole numbers", "tuple", "dict", "list of arrays"],
)
def test_data_of_every_usual_kind_is_changed(value: Any) -> None:
    before = repr(value)
    said, space = changed(value=value)
    assert said == ("value",)
    assert repr(space["value"]) != before


def test_what_is_no_data_is_left_alone() -> None:
    said, space = changed(text="abc", one=3, function=len, module=json)
    assert said == ()
    assert (space["text"], space["one"]) == ("abc", 3)


def test_a_forged_line_of_the_changing_cell_changes_nothing() -> None:
    assert changed_names("reclaim-changed: not json") == ()
    assert changed_names('top-1 84.3\nreclaim-changed: ["x"]') == ("x",)


# ---- the verdict ------------------------------------------------------------------------------------------------


def again(attempt: Made, text: str | None, *, under_change: str | None = None, hooks: bool = False) -> Reexecution:
    seen = examine(attempt.folder, attempt.card)
    changes = ()
    if under_change is not None:
        changes = (Run(folder="r/c", stream_head="1", status="ok", text=under_change, value="0", changed=("test",)),)
    return Reexecution(
        attempt="made/1",
        card_sha256=seen.card_sha256,
        stream_head=seen.evidence.head,
        what="cell",
        measuring=attempt.ids[-1],
        cells=tuple(attempt.ids),
        left_out=(LeftOutPart(cell="c00", text="m.accuracy_score = f"),) if hooks else (),
        kernel="reclaim-local",
        original="84.2",
        tolerance="0.5",
        same=Run(folder="r/s", stream_head="0", status="ok" if text else "error", text=text, value=text),
        changes=changes,
    )


@pytest.mark.parametrize(
    ("rerun", "outcome", "cause"),
    [
        ({"text": "84.2"}, "reproduced", None),
        ({"text": "84.6"}, "reproduced", None),  # within the criterion's noise
        ({"text": "71.9"}, "needs_human", "G01"),
        ({"text": "71.9", "hooks": True}, "disqualified", "C12"),
        ({"text": "84.2", "under_change": "84.2"}, "disqualified", "C12"),
        ({"text": "84.2", "under_change": "12.5"}, "reproduced", None),
        ({"text": None}, "reproduced", None),
    ],
    ids=["again", "noise", "differs", "differs without hooks", "a constant", "answers to inputs", "no number"],
)
def test_what_came_out_again_decides(rerun: dict[str, Any], outcome: str, cause: str | None, tmp_path: Path) -> None:
    attempt = made(tmp_path)
    seen = examine(attempt.folder, attempt.card)
    verdict = verdict_with(seen, again(attempt, **rerun), "0" * 64, "reexecution.1.json")
    assert (verdict.outcome, verdict.cause) == (outcome, cause)
    assert verdict.grader == "rules+reexecution" and verdict.records == {"reexecution.1.json": "0" * 64}
    assert verdict.to_bytes() == verdict_with(seen, again(attempt, **rerun), "0" * 64, "reexecution.1.json").to_bytes()


def test_a_reexecution_of_another_record_is_refused(tmp_path: Path) -> None:
    attempt, other = made(tmp_path / "a"), made(tmp_path / "b", printed="84.3")
    with pytest.raises(RecordError, match="another record"):
        verdict_with(examine(other.folder, other.card), again(attempt, "84.2"), "0" * 64, "reexecution.1.json")


def test_a_file_that_is_no_reexecution_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "reexecution.1.json"
    attempt = made(tmp_path)
    path.write_bytes(again(attempt, "84.2").to_bytes())
    assert read_reexecution(path)[0] == again(attempt, "84.2")
    path.write_text("{}")
    with pytest.raises(RecordError, match="no record of a re-execution"):
        read_reexecution(path)
