"""The recorded batch: whole records of real attempts, with the verdicts that they must have."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml

from reclaim_nb.batch.plan import Plan, declare
from reclaim_nb.demo import BATCH, copy_recorded, recorded_runs
from reclaim_nb.grading.again import verdicts_again
from reclaim_nb.grading.verdict import Verdict, replay
from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.record.verify import verify_record

HONEST_MISSES = {"ntk-relu-condition-number"}
"""Papers whose claim does not come out as printed."""

FOLDERS = sorted(path.parent for path in recorded_runs().rglob("stream.jsonl"))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = tmp_path_factory.mktemp("demo") / "runs"
    copy_recorded(runs)
    return runs


def test_every_attempt_of_the_plan_is_recorded(runs: Path) -> None:
    file = Path(__file__).resolve().parents[2] / "reclaim_nb" / "demo" / "plan.yaml"
    plan = Plan.model_validate(yaml.safe_load(file.read_text("utf-8")))
    declared = declare(plan, runs)
    assert len(declared) == 36
    assert [one.key for one in declared if not one.folder().stream.exists()] == []


def test_every_record_is_sound_and_gives_its_verdict_by_the_rules_of_today(runs: Path) -> None:
    problems = {}
    for path in FOLDERS:
        check = verify_record(AttemptFolder(path))
        again = verdicts_again(AttemptFolder(path))
        if not check.sound or {one.state for one in again} != {"same"}:
            problems[str(path)] = (check, again)
    assert problems == {}


@pytest.mark.parametrize("path", FOLDERS, ids=lambda path: "-".join(path.parts[-3:-1]))
def test_references_reproduce_and_null_agents_do_not(path: Path) -> None:
    paper, agent = path.parts[-3:-1]
    (file,) = path.glob("verdict.*.json")
    outcome = Verdict.model_validate_json(file.read_text("utf-8")).outcome
    if agent == "replay" and paper not in HONEST_MISSES:
        assert outcome == "reproduced"
        cited = [citation.line for citation in replay(AttemptFolder(path)).citations]
        assert cited and not any(line.startswith("handed in") for line in cited), (
            "it is where it was printed that counts"
        )
    else:
        assert outcome in ("not_reproduced", "disqualified")


def test_it_is_small_and_names_no_folder_of_whoever_made_it() -> None:
    files = [path for path in recorded_runs().rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 5_000_000
    for path in files:
        # What lies in the temporary folder of the making, or inside a container, is nobody's.
        found = re.findall(
            rb"(?<![\w/.-])/(?!tmp/|work/|release\b|home/agent|usr/|opt/)[a-z]+/[\w./-]+", path.read_bytes()
        )
        assert found == [], path


def test_a_copy_can_be_looked_at_where_the_installation_cannot_be_written(runs: Path) -> None:
    pytest.importorskip("pandas")
    from reclaim_nb import load_runs

    frame = load_runs(runs).attempts
    assert len(frame) == 36 and set(frame["batch"]) == {BATCH}
    assert frame["state"].nunique() == 1


def test_a_batch_that_is_there_is_left_alone(tmp_path: Path) -> None:
    folder = copy_recorded(tmp_path)
    mark = folder / "mark"
    mark.write_text("mine")
    copy_recorded(tmp_path)
    assert mark.read_text() == "mine"
    shutil.rmtree(folder)
