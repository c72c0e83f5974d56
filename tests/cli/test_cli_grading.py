"""The commands that grade: with a model, by measuring again, and against labels."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from cli_helpers import RECLAIM, Call, in_process, write_notebook

from reclaim_nb.record.folder import AttemptFolder
from tests.agents.model_endpoint import Endpoint
from tests.grading.made import C, make
from tests.grading.scripted_judge import Judge, sound

HELD = """import hashlib
hits = [int(hashlib.sha256(str(n).encode()).digest()[0] > 2) for n in range(20_000)]"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An attempt whose measuring cell reads data, after a cell that changes how numbers are shown."""
    place = tmp_path_factory.mktemp("measured")
    notebook = write_notebook(place / "cells.ipynb", HELD, 'print("ROC AUC", round(sum(hits) / len(hits), 4))')
    words = ("run", "small/iforest-breastw", "--option", f"notebook={notebook}", "--kernel", "local")
    ran = in_process(*words, "--runs", place / "runs", "--json")
    assert ran.code == 0, ran.err
    return Path(ran.json["folder"])


@pytest.fixture
def own(measured: Path, tmp_path: Path) -> AttemptFolder:
    """A copy of that attempt, without verdicts."""
    place = tmp_path / "runs" / measured.relative_to(measured.parents[4])
    return AttemptFolder(Path(shutil.copytree(measured, place, ignore=shutil.ignore_patterns("verdict.*", "reexec*"))))


def measuring(folder: AttemptFolder) -> str:
    """Return the id of the cell that prints the number."""
    cells = json.loads(folder.notebook.read_text())["cells"]
    return next(cell["id"] for cell in cells if "print(" in "".join(cell["source"]) and cell["execution_count"])


def test_a_model_is_asked_and_its_verdict_stands_beside_that_of_the_rules(reclaim: Call, own: AttemptFolder) -> None:
    assert reclaim("grade", own.path).code == 0
    value = json.loads(next(own.path.glob("verdict.rules.json")).read_text())["citations"][0]["text"]
    answers = sound(measuring(own), value, f"ROC AUC {value}", "round(sum(hits)", None)
    with Endpoint(Judge(answers)) as endpoint:
        words = ("--model", "scripted:judge", "--option", f"base_url={endpoint.url}", "--votes", 1)
        ran = reclaim("grade", own.path, *words, "--json")
    assert ran.code == 0, ran.err
    verdict = ran.json["verdict"]
    assert (verdict["grader"], verdict["outcome"]) == ("model-scripted:judge", "reproduced")
    assert verdict["asked"]["valid"] == 1
    assert {path.name[:13] for path in own.path.glob("verdict.*.json")} == {"verdict.rules", "verdict.model"}


def test_a_model_that_does_not_answer_leaves_the_attempt_ungraded(reclaim: Call, own: AttemptFolder) -> None:
    words = ("--model", "scripted:judge", "--option", "base_url=http://127.0.0.1:9/v1", "--option", "retries=0")
    ran = reclaim("grade", own.path, *words, "--votes", 1, "--json")
    assert ran.code == 0, ran.err
    assert (ran.json["verdict"]["outcome"], ran.json["verdict"]["cause"]) == ("ungraded", "G01")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--option", "base_url=x"], 1, "--model PROVIDER:NAME"),
        (["--model", "a:b", "--votes", "2"], 2, "odd number"),
        (["--model", "a:b", "--option", "nonsense"], 2, "NAME=VALUE"),
    ],
)
def test_what_cannot_be_asked_is_said_and_writes_nothing(
    reclaim: Call, own: AttemptFolder, words: list[str], code: int, said: str
) -> None:
    ran = reclaim("grade", own.path, *words)
    assert ran.code == code and said in ran.err
    assert not list(own.path.glob("verdict.*")) and not list(own.path.glob("grading.*"))


@pytest.mark.parametrize("whole", [False, True], ids=["cell", "whole"])
def test_a_measurement_is_run_again_and_graded_with_what_came_out(reclaim: Call, measured: Path, whole: bool) -> None:
    ran = reclaim("reexecute", measured, *(["--whole"] if whole else []), "--no-change", "--json")
    assert ran.code == 0, ran.err
    again = ran.json["reexecution"]
    assert again["what"] == ("notebook" if whole else "cell")
    assert again["same"]["value"] == again["original"]
    newest = ran.json["verdict"]
    assert newest["grader"] == "rules+reexecution"
    (name,) = newest["records"]
    assert (measured / name).is_file()


def test_reexecution_is_told_in_words(reclaim: Call, measured: Path) -> None:
    ran = reclaim("reexecute", measured, "--seed", 3)
    assert ran.code == 0, ran.err
    assert "came out again" in ran.out and "changed inputs" in ran.out and "rules+reexecution" in ran.out


def test_a_verdict_that_rests_on_a_reexecution_is_computed_again_also_where_it_was_shared(
    reclaim: Call, measured: Path, tmp_path: Path
) -> None:
    assert reclaim("reexecute", measured, "--no-change").code == 0
    runs, crate = measured.parents[4], tmp_path / "crate"
    assert reclaim("export", runs, "--out", crate).code == 0
    shared = crate / measured.relative_to(runs)
    for place in (measured, shared):
        ran = reclaim("verify-record", place, "--json")
        assert ran.code == 0, ran.out
        assert {one["state"] for one in ran.json["verdicts"]} == {"same"}
        assert any("reexecution" in one["file"] for one in ran.json["verdicts"])
    assert len(list(shared.glob("reexecution.*/same/stream.jsonl"))) == len(list(shared.glob("reexecution.*.json")))
    record = next(shared.glob("reexecution.*.json"))
    record.write_text(record.read_text().replace('"ok"', '"error"'))
    assert reclaim("verify-record", shared).code == 5


def test_ctrl_c_is_4_and_leaves_neither_a_verdict_nor_half_a_measurement(reclaim: Call, tmp_path: Path) -> None:
    slow = "import pathlib, time\nif pathlib.Path('ran').exists():\n    time.sleep(300)\n"
    shown = "print('ROC AUC', round(sum(hits) / len(hits), 4))"
    cells = write_notebook(tmp_path / "cells.ipynb", HELD, slow + shown, "pathlib.Path('ran').touch()")
    words = (
        "run",
        "small/iforest-breastw",
        "--option",
        f"notebook={cells}",
        "--kernel",
        "local",
        "--no-grade",
        "--json",
    )
    made = Path(reclaim(*words, "--runs", tmp_path / "runs").json["folder"])
    before = sorted(made.iterdir())
    again = subprocess.Popen([str(RECLAIM), "reexecute", str(made)], stderr=subprocess.PIPE, text=True)
    stream = made / "reexecution.1" / "same" / "stream.jsonl"
    while not (stream.exists() and "time.sleep" in stream.read_text().rpartition('"execute"')[0]):
        assert again.poll() is None
        time.sleep(0.1)
    again.send_signal(signal.SIGINT)
    _, said = again.communicate(timeout=60)
    assert again.returncode == 4 and "stopped" in said and "removed" in said
    assert sorted(made.iterdir()) == before


def test_nothing_to_run_again_is_1(reclaim: Call, tmp_path: Path) -> None:
    words = ("run", "small/iforest-breastw", "--agent", "nothing", "--kernel", "local", "--no-grade", "--json")
    quiet = reclaim(*words, "--runs", tmp_path / "runs").json["folder"]
    ran = reclaim("reexecute", quiet)
    assert ran.code == 1 and "nothing to run again" in ran.err


def test_builtin_scenarios_are_made_graded_and_kept(reclaim: Call, tmp_path: Path) -> None:
    chosen = ("S01", "S08", "S08-declared", "S14", "S15", "N06")
    words = [word for name in chosen for word in ("--only", name)]
    ran = reclaim("calibrate", "--builtin", *words, "--keep", tmp_path / "kept", "--json")
    assert ran.code == 0, ran.err
    (found,) = ran.json["calibrations"]
    by_name = {one["name"]: one for one in found["compared"]}
    assert len(by_name) == 8 and not any(one["differences"] for one in by_name.values())
    assert (by_name["N06"]["got"]["value"], by_name["N06"]["by"]) == ("71.9", "rules and re-execution")
    assert by_name["N06"]["alone"] == {"outcome": "disqualified", "cause": "C12", "value": None}
    assert by_name["S14"]["by"] == "a scripted model"
    assert found["measures"]["precision"]["part"] == found["measures"]["recall"]["part"] == 2
    kept = reclaim("calibrate", tmp_path / "kept" / "runs")
    assert kept.code == 0, kept.err
    assert "calibration/S01/toy-cls-s01/replay/01" in kept.out
    assert "precision" in kept.out and "alpha" in kept.out


def test_labels_of_ones_own_with_two_raters_are_compared(reclaim: Call, tmp_path: Path) -> None:
    source = "print(f'FINAL test top-1 {evaluate(model, test):.1f} n={len(test)}')"
    made = make(tmp_path / "runs" / "01", [C("train(data)"), C(source, ["FINAL test top-1 84.1 n=10000\n"])])
    raters = {"ann": {"outcome": "reproduced"}, "bob": {"outcome": "near_miss", "cause": "C14"}}
    labels = [{"outcome": "reproduced", "raters": raters}, {"outcome": "not_reproduced", "cause": "C08"}]
    second = shutil.copytree(made.folder.path, made.folder.path.with_name("02"))
    for folder, label in zip((made.folder.path, second), labels, strict=True):
        (folder / "label.yaml").write_text(json.dumps(label))
    broken = AttemptFolder(shutil.copytree(second, second.with_name("03")))
    broken.stream.write_bytes(broken.stream.read_bytes().replace(b"84.1", b"84.3"))
    ran = reclaim("calibrate", tmp_path / "runs", "--json")
    assert ran.code == 0, ran.err
    (found,) = ran.json["calibrations"]
    assert [bool(one["differences"]) for one in found["compared"]] == [False, True, True]
    assert found["compared"][2]["got"] == {"outcome": "ungraded", "cause": "G01", "value": None}
    assert (found["measures"]["precision"]["part"], found["measures"]["precision"]["whole"]) == (1, 2)
    assert found["measures"]["undecided"] == 1
    assert found["raters"]["alpha_outcome"] is not None
    text = reclaim("calibrate", tmp_path / "runs").out
    assert "raters" in text and "WRONG" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "one of the two"),
        (["--builtin", "--only", "S99"], "no built-in scenario S99"),
        (["folder", "--only", "S01"], "for --builtin"),
        (["folder"], "label.yaml"),
    ],
)
def test_calibration_without_anything_to_compare_is_1(reclaim: Call, words: list[str], said: str) -> None:
    ran = reclaim("calibrate", *words)
    assert ran.code == 1 and said in ran.err
