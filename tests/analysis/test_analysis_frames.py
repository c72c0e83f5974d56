"""Frames: one row per declared attempt, documented columns, read again only where files have changed."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pandas as pd
import pytest
from analysis_helpers import card, write_attempt, write_verdict

import reclaim_nb
from reclaim_nb.analysis import readers
from reclaim_nb.analysis.columns import FRAMES
from reclaim_nb.analysis.frames import Runs, load_runs
from reclaim_nb.analysis.story import Story
from reclaim_nb.analysis.uncounted import sentences
from reclaim_nb.errors import RecordError
from reclaim_nb.record.folder import AttemptFolder, Lock
from reclaim_nb.record.index import Derived, Index

CATEGORIES = {"tier", "outcome", "cause", "standing"}


def _standings(runs: Runs) -> dict[str, str]:
    return dict(zip(runs.attempts["attempt"], runs.attempts["standing"], strict=True))


def test_every_frame_has_its_documented_columns_and_dtypes(batch: Path, release: Runs) -> None:
    for runs in (load_runs(batch), release):
        for name, documented in FRAMES.items():
            frame: pd.DataFrame = getattr(runs, name)
            assert list(frame.columns) == list(documented)
            for column, told in documented.items():
                found = str(frame[column].dtype)
                assert found == ("category" if told.dtype in CATEGORIES else told.dtype), (name, column)
                assert told.text


def test_a_declared_attempt_is_one_row_however_often_faults_made_it_again(batch: Path) -> None:
    runs = load_runs(batch)
    row = runs.attempts[runs.attempts["paper"] == "p4"]
    assert len(row) == 1
    assert row[["attempt", "makings", "faults", "standing"]].values.tolist() == [
        ["b/toys/p4/poor/01-2", 2, 1, "success"]
    ]


def test_every_way_an_attempt_can_stand(batch: Path) -> None:
    lock = Lock(AttemptFolder(batch / "b/toys/p6/poor/01"))
    write_attempt(batch, card("p7"), "poor", reason=None)
    lock.take()
    try:
        runs = load_runs(batch)
    finally:
        lock.release()
    found = _standings(runs)
    assert found["b/toys/p1/good/01"] == "success"
    assert found["b/toys/p2/good/01"] == "failure"
    assert found["b/toys/p2/poor/01"] == "undecided"
    assert found["b/toys/p3/poor/01"] == "excluded"  # an honest wall is no fault of the agent
    assert found["b/toys/p5/poor/01"] == "excluded"  # cancelled
    states = dict(zip(runs.attempts["attempt"], runs.attempts["state"], strict=True))
    assert (states["b/toys/p6/poor/01"], states["b/toys/p7/poor/01"]) == ("running", "dead_runner")
    assert found["b/toys/p6/poor/01"] == found["b/toys/p7/poor/01"] == "missing"


def test_an_ended_attempt_without_a_verdict_is_undecided_never_a_failure(tmp_path: Path) -> None:
    write_attempt(tmp_path, card())
    assert list(load_runs(tmp_path).attempts["standing"]) == ["undecided"]


def test_shares_of_budget_and_need(batch: Path) -> None:
    row = load_runs(batch).attempts.set_index("attempt").loc["b/toys/p1/poor/03"]
    assert row["of_budget"] == 1.0
    assert row["of_need"] == pytest.approx(row["spent_hours"] / row["need_hours"])


def test_what_is_handed_in_is_a_claim_by_the_published_criterion(tmp_path: Path) -> None:
    for repeat, value in enumerate(("0.99", "0.5", None, "nonsense"), start=1):
        write_attempt(tmp_path, card(), repeat=repeat, submitted=value)
    claims = list(load_runs(tmp_path).attempts["self_report"].astype(object))
    assert claims[:2] == ["reproduced", "not_reproduced"]
    assert pd.isna(claims[2]) and pd.isna(claims[3])


def test_the_newest_verdict_counts_or_that_of_one_grader(tmp_path: Path) -> None:
    folder = write_attempt(tmp_path, card(), outcome="needs_human")
    write_verdict(folder, "reproduced", grader="model")
    assert list(load_runs(tmp_path).attempts["outcome"]) == ["reproduced"]
    runs = load_runs(tmp_path, grader="rules")
    assert list(runs.attempts["outcome"]) == ["needs_human"]
    assert sorted(runs.verdicts["grader"]) == ["model", "rules"]
    assert list(runs.verdicts.loc[runs.verdicts["newest"], "grader"]) == ["rules"]


def test_agents_are_told_apart_by_model_only_where_needed(tmp_path: Path) -> None:
    write_attempt(tmp_path, card(), "model", model="a/1", outcome="reproduced")
    write_attempt(tmp_path, card(), "model", model="b/2", outcome="reproduced")
    write_attempt(tmp_path, card(), "replay", outcome="reproduced")
    assert sorted(load_runs(tmp_path).attempts["agent"]) == ["model/a/1", "model/b/2", "replay"]


def test_papers_are_paired_by_arxiv_id_unless_two_cards_share_it(tmp_path: Path) -> None:
    write_attempt(tmp_path, card("one", arxiv="2501.00001"))
    write_attempt(tmp_path, card("two", arxiv="2501.00002"))
    write_attempt(tmp_path, card("three", arxiv="2501.00002"))
    keys = load_runs(tmp_path).attempts.set_index("paper")["paper_key"].to_dict()
    assert keys == {"one": "2501.00001", "two": "toys/two", "three": "toys/three"}


def test_planned_attempts_that_never_began_are_rows(tmp_path: Path) -> None:
    from reclaim_nb.batch.plan import make_plan

    plan = make_plan(
        {"name": "plan", "papers": ["small/iforest-breastw"], "agents": ["replay", "nothing"], "repeats": 2}
    )
    (tmp_path / "plan").mkdir()
    (tmp_path / "plan" / "plan.json").write_text(json.dumps(plan.model_dump(mode="json")))
    write_attempt(tmp_path, card("iforest-breastw"), batch="plan", suite="small", outcome="reproduced")
    runs = load_runs(tmp_path)
    states = runs.attempts.set_index("attempt")["state"].to_dict()
    assert states == {
        "plan/small/iforest-breastw/nothing/01": "not_begun",
        "plan/small/iforest-breastw/nothing/02": "not_begun",
        "plan/small/iforest-breastw/replay/01": "ended",
        "plan/small/iforest-breastw/replay/02": "not_begun",
    }
    assert set(runs.attempts["tier"]) == {"retrain"}
    assert load_runs(tmp_path).attempts.equals(runs.attempts)  # the second look takes the plan from its cache


def test_a_lost_plan_is_told_and_costs_nothing_else(tmp_path: Path) -> None:
    write_attempt(tmp_path, card(), outcome="reproduced")
    (tmp_path / "b" / "plan.json").write_text('{"name": "b", "papers": ["small/gone"], "agents": ["replay"]}')
    runs = load_runs(tmp_path)
    assert len(runs.attempts) == 1
    assert any("small/gone" in note for note in runs.notes)


def test_a_record_that_cannot_be_read_is_a_row_and_a_note(tmp_path: Path) -> None:
    write_attempt(tmp_path, card(), outcome="reproduced")
    broken = tmp_path / "b/toys/toy/replay/02"
    broken.mkdir()
    (broken / "stream.jsonl").write_text("not json\n")
    runs = load_runs(tmp_path)
    assert sorted(runs.attempts["state"]) == ["ended", "unreadable"]
    assert any("replay/02" in note for note in runs.notes)


def test_odd_specs_are_rows_too(tmp_path: Path) -> None:
    from reclaim_nb.record.events import GENESIS, encode

    for repeat, spec in enumerate(({}, {"card": None}, None, {"agent": {"name": "x"}, "card": {"need": 3}}), start=1):
        folder = tmp_path / f"b/s/p/a/{repeat:02d}"
        folder.mkdir(parents=True)
        line = encode(0, "2026-01-01T00:00:00.000000Z", GENESIS, "attempt", {"schema": 1, "spec": spec})
        (folder / "stream.jsonl").write_bytes(line + b"\n")
    assert list(load_runs(tmp_path).attempts["state"]) == ["unreadable"] * 4


def _uncounted(runs: Path) -> None:
    """Write attempts at a sound paper, a broken one (made twice) and a provisional one."""
    broken = card("bad", audit={"state": "broken", "reasons": ["the table has no such row"]})
    second_hand = card("unseen", checked={**card()["checked"], "confidence": "low"})
    write_attempt(runs, card("good"), outcome="reproduced")
    write_attempt(runs, broken, reason="infrastructure_error")
    write_attempt(runs, broken, again=2, outcome="reproduced")
    write_attempt(runs, second_hand, outcome="not_reproduced", cause="C14")


def test_papers_that_are_not_to_be_counted_are_left_out_of_every_frame_and_told(tmp_path: Path) -> None:
    _uncounted(tmp_path)
    runs = load_runs(tmp_path)
    assert list(runs.attempts["paper"]) == list(runs.papers["paper"]) == ["good"]
    assert set(runs.cells["attempt"]) == set(runs.verdicts["attempt"]) == {"b/toys/good/replay/01"}
    assert sentences(runs.left_out) == [
        "1 declared attempt at 1 paper whose card the audit calls broken: toys/bad",
        "1 declared attempt at 1 paper whose target was only seen second-hand: toys/unseen",
    ]
    assert "at 1 paper whose card the audit calls broken: toys/bad" in Story(runs, ["b"]).heading().markdown
    assert runs.only(agent="nobody").left_out.empty and len(runs.only(agent="replay").left_out) == 2


def test_papers_that_are_not_to_be_counted_can_be_asked_for(tmp_path: Path) -> None:
    _uncounted(tmp_path)
    broken = load_runs(tmp_path, include_broken=True)
    assert (list(broken.attempts["paper"]), list(broken.left_out["paper"])) == (["bad", "good"], ["unseen"])
    everything = load_runs(tmp_path, include_broken=True, include_provisional=True)
    assert list(everything.attempts["paper"]) == ["bad", "good", "unseen"]
    assert everything.left_out.empty and len(everything.cells) == 3 * 4


def test_cells_are_read_from_events_not_from_what_is_printed(tmp_path: Path) -> None:
    write_attempt(tmp_path, card(), cells=4, hours="0.04")
    cells = load_runs(tmp_path).cells
    assert list(cells["cell"]) == ["c0", "c1", "c2", "c3"]
    assert list(cells["hours"]) == pytest.approx([0.01, 0.02, 0.03, 0.04])
    assert list(cells["anchors"]) == [1, 0, 0, 0]
    assert list(cells["status"]) == ["ok"] * 4
    assert cells["held_seconds"].sum() == 120.0


def test_only_what_has_changed_is_read_again(batch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counting(table: Derived) -> Derived:
        return Derived(
            table.name,
            table.version,
            table.columns,
            table.source,
            lambda f: (read.append(table.name), table.read(f))[1],
        )

    for name in ("FACTS_TABLE", "CELLS_TABLE", "VERDICTS_TABLE"):
        monkeypatch.setattr(f"reclaim_nb.analysis.frames.{name}", counting(getattr(readers, name)))
    attempts = len(load_runs(batch).attempts) + 1  # one of them was made twice
    assert read.count("facts") == read.count("verdicts") == attempts
    assert read.count("cells") == 0  # which few questions need
    read.clear()
    assert len(load_runs(batch).cells) and read.count("cells") == attempts
    read.clear()
    assert len(load_runs(batch).cells)
    assert read == []
    write_verdict(AttemptFolder(batch / "b/toys/p2/poor/01"), "near_miss")
    assert _standings(load_runs(batch))["b/toys/p2/poor/01"] == "failure"
    assert read == ["verdicts"]  # a new verdict does not have the stream read again


def test_what_is_gone_from_disk_is_gone_from_every_frame(batch: Path) -> None:
    import shutil

    load_runs(batch)
    shutil.rmtree(batch / "b/toys/p1/good/02")
    runs = load_runs(batch)
    for frame in (runs.attempts, runs.cells, runs.verdicts):
        assert "b/toys/p1/good/02" not in set(frame["attempt"])


def test_an_index_of_another_version_is_filled_anew(batch: Path) -> None:
    def read(version: int, mark: str) -> list[tuple[object, ...]]:
        table = Derived("marks", version, ("mark",), "record", lambda _: [(mark,)])
        return Index(batch).read(table)[1]["marks"]

    assert {mark for _, mark in read(1, "old")} == {"old"}
    assert {mark for _, mark in read(1, "new")} == {"old"}
    assert {mark for _, mark in read(2, "new")} == {"new"}


def test_a_deleted_index_gives_the_same_frames(batch: Path) -> None:
    before = load_runs(batch)
    for file in batch.glob("index.sqlite*"):
        file.unlink()
    after = load_runs(batch)
    for name in FRAMES:
        pd.testing.assert_frame_equal(getattr(before, name), getattr(after, name))


def test_many_readers_while_a_batch_writes(tmp_path: Path) -> None:
    write_attempt(tmp_path, card(), outcome="reproduced", repeat=1)
    problems: list[BaseException] = []
    seen: list[list[int]] = []
    done = threading.Event()

    def look() -> None:
        sizes: list[int] = []
        seen.append(sizes)
        try:
            while not done.is_set():
                runs = load_runs(tmp_path)
                known = set(runs.attempts["attempt"])
                assert set(runs.cells["attempt"]) <= known
                sizes.append(len(known))
        except BaseException as problem:  # noqa: BLE001 - a thread's failure is to be seen by the test
            problems.append(problem)

    readers = [threading.Thread(target=look) for _ in range(3)]
    for reader in readers:
        reader.start()
    for repeat in range(2, 25):
        write_attempt(tmp_path, card(), outcome="reproduced", repeat=repeat)
    done.set()
    for reader in readers:
        reader.join()
    assert not problems
    assert all(sizes == sorted(sizes) for sizes in seen)  # nothing that was seen is ever lost from sight
    assert len(load_runs(tmp_path).attempts) == 24


def test_no_such_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no such folder"):
        load_runs(tmp_path / "none")


def test_parts_of_runs(batch: Path) -> None:
    runs = load_runs(batch)
    part = runs.only(tier="reimplement")
    assert set(part.attempts["paper"]) == {"p2"}
    assert set(part.papers["paper"]) == {"p2"}
    assert set(part.cells["attempt"]) == set(part.attempts["attempt"])


def test_importing_the_package_brings_no_pandas() -> None:
    code = "import sys, reclaim_nb, reclaim_nb.cli; sys.exit('pandas' in sys.modules or 'statsmodels' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert reclaim_nb.load_runs is load_runs
    with pytest.raises(AttributeError):
        reclaim_nb.load_run  # noqa: B018
