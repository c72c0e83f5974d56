"""The pool of one machine: done once, done whole, whoever is killed."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from decimal import Decimal
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import psutil
import pytest
from batch_helpers import (
    check_final,
    first,
    kill_hard,
    output_of,
    quick_plan,
    start_pool,
    table,
    wait_until,
    waiting_plan,
)

from reclaim_nb.attempts.prepare import Prepared
from reclaim_nb.attempts.runner import Finished
from reclaim_nb.batch.lock import LOCK, only_pool, stop_pool, token
from reclaim_nb.batch.plan import declare
from reclaim_nb.batch.pool import STARTS, default_slots, run_plan
from reclaim_nb.batch.progress import Progress
from reclaim_nb.batch.settle import heeding_sigterm, look, settle
from reclaim_nb.errors import AttemptError, RecordError
from reclaim_nb.kernels.box import Box
from reclaim_nb.record.folder import is_held
from reclaim_nb.record.index import Index
from reclaim_nb.record.stream import StreamWriter
from reclaim_nb.record.verify import verify_record

EXPECTED = {"constant": ("submitted", "disqualified", "C12"), "nothing": ("agent_stopped", "not_reproduced", "C03")}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a runs folder in which the quick plan was carried out undisturbed."""
    runs = tmp_path_factory.mktemp("batch") / "runs"
    progress = run_plan(quick_plan(), runs, slots=2)
    assert (progress.done, progress.problems) == (4, {})
    return runs


def test_a_batch_gives_every_declared_attempt_its_verdict(made: Path) -> None:
    rows = table(made)
    assert len(rows) == 4
    for path, *rest in rows:
        assert tuple(rest) == EXPECTED[path.split("/")[3]], path
    check_final(quick_plan(), made)


def test_a_second_run_makes_nothing_new(made: Path) -> None:
    def stamps() -> dict[str, int]:
        names = ("stream.jsonl", "attempt.ipynb", "verdict.")
        return {str(p): p.stat().st_mtime_ns for p in made.rglob("*") if p.name.startswith(names)}

    before = stamps()
    progress = run_plan(quick_plan(), made, slots=2)
    assert progress.done == progress.total == 4 and not progress.seconds
    assert stamps() == before


def test_a_batch_is_resumed_by_its_name_and_tells_spend_against_grant(made: Path) -> None:
    command = [sys.executable, "-m", "reclaim_nb.cli", "batch", "resume", "quick", "--runs", str(made), "--json"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    first, last = json.loads(lines[0]), json.loads(lines[-1])
    assert (first["done"], first["running"], len(last["attempts"])) == (4, [], 4)
    spent = sum(Decimal(row["spent_hours"]) for row in last["attempts"])
    granted = sum(Decimal(row["budget_hours"]) for row in last["attempts"])
    hours = last["hours"]["CPU-hours"]
    assert (Decimal(hours["spent"]), Decimal(hours["granted"])) == (spent, granted)
    assert 0 < spent < granted


def test_slots_follow_from_cpus_and_the_memory_that_attempts_may_take() -> None:
    settings = quick_plan().settings
    assert default_slots(quick_plan(settings={**settings, "memory_mib": 2**30})) == 1
    assert default_slots(quick_plan(settings={**settings, "memory_mib": 1})) == max(1, (os.cpu_count() or 2) // 2)


def test_more_repeats_add_and_another_setting_is_refused_by_name(made: Path) -> None:
    with pytest.raises(AttemptError, match=r"settings\.turns"):
        run_plan(quick_plan(settings={"kernel": "local", "abandon_seconds": 60, "turns": 3}), made)
    assert len(table(made)) == 4


def test_what_was_spent_is_counted_once_in_the_end(tmp_path: Path) -> None:
    def spend(progress: Progress) -> None:
        if progress.running:
            progress.spending = {"cpu": Decimal(1)}  # as found in the middle of an attempt

    plan = quick_plan(papers=["small/ntk-relu-gradient-angle"], agents=["nothing"])
    progress = run_plan(plan, tmp_path / "runs", watcher=spend)
    assert Decimal(progress.hours()["CPU-hours"]["spent"]) == progress.spent["cpu"] < 1


def test_only_one_pool_works_on_a_batch(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    plan = quick_plan(papers=["small/ntk-relu-gradient-angle"])
    pool = start_pool(plan, runs)
    try:
        wait_until(lambda: list(runs.rglob("stream.jsonl")))
        with pytest.raises(AttemptError, match="a pool is at work"):
            run_plan(plan, runs)
    finally:
        pool.wait(timeout=240)
    lines = output_of(plan, runs).read_text().splitlines()
    assert pool.returncode == 0, lines
    assert json.loads(lines[-1])["done"] == 2
    check_final(plan, runs)


def test_a_fault_of_the_harness_is_made_again_in_a_folder_of_its_own(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    plan = waiting_plan(tmp_path)
    one = first(plan, runs)
    pool = start_pool(plan, runs)
    wait_until(lambda: any("cell_end" in p.read_text() for p in runs.rglob("stream.jsonl")))
    kill_hard(pool, runs)
    (tmp_path / "go").touch()
    for box in Path("/tmp").glob("reclaim-????????"):
        if one_box(box, runs):
            shutil.rmtree(box)
    state = settle(one, plan.retries)
    assert (state.reason, state.makings, state.final) == ("submitted", 2, True)
    assert one.folder(2).path.name == "01-2"
    reasons = [row.reason for row in Index(runs).rows()]
    assert reasons == ["infrastructure_error", "submitted"]
    check_final(plan, runs)


def wait_for_attempts(pool: subprocess.Popen[bytes], runs: Path, number: int) -> None:
    """Wait until a pool has begun so many attempts, or has ended."""
    wait_until(lambda: len(list(runs.rglob("stream.jsonl"))) >= number or pool.poll() is not None)


def one_box(box: Path, runs: Path) -> bool:
    """Tell whether a box belongs to an attempt below a runs folder."""
    try:
        facts = json.loads((box / "kernel.json").read_text())
    except (OSError, ValueError):
        return False
    return facts.get("attempt") in {row.id for row in Index(runs).rows()}


@pytest.mark.parametrize("whole_tree", [True, False], ids=["runners-too", "pool-alone"])
def test_a_killed_batch_is_gone_on_with_and_gives_the_same_table(
    tmp_path: Path, made: Path, whole_tree: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = tmp_path / "runs"
    boxes, other = (Path(tempfile.mkdtemp(prefix="rt", dir="/tmp")) for _ in range(2))  # short enough for sockets
    monkeypatch.setenv("RECLAIM_BOXES", str(boxes))
    monkeypatch.setenv("TMPDIR", str(other))
    chance = random.Random(7)
    for _ in range(2):
        pool = start_pool(quick_plan(), runs)
        wait_for_attempts(pool, runs, chance.randint(1, 3))
        kill_hard(pool, runs if whole_tree else None)
    last = start_pool(quick_plan(), runs)
    assert last.wait(timeout=180) == 0, output_of(quick_plan(), runs).read_text()
    check_final(quick_plan(), runs)
    assert list(other.iterdir()) == []
    # A runner that is killed in the very moment of making its box leaves one that names nobody.
    assert [box.name for box in boxes.iterdir() if Box(box).owner() is not None] == []
    shutil.rmtree(boxes)
    final = {}
    for one in declare(quick_plan(), runs):
        state = look(one, 2)
        assert state is not None
        final[one.key] = state.reason
    assert final == {path.partition("/")[2]: reason for path, reason, *_ in table(made)}


def status(runs: Path) -> subprocess.CompletedProcess[str]:
    """Return what ``reclaim batch status`` says of the quick plan."""
    command = [sys.executable, "-m", "reclaim_nb.cli", "batch", "status", "quick", "--runs", str(runs)]
    return subprocess.run(command, capture_output=True, text=True, check=True)


def test_a_stop_cancels_what_runs_and_the_next_run_makes_it_again(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    plan = quick_plan()
    pool = start_pool(plan, runs, slots=1)
    wait_until(lambda: list(runs.rglob("stream.jsonl")))
    pool.send_signal(signal.SIGTERM)
    pool.wait(timeout=120)
    assert pool.returncode == 4
    said = output_of(plan, runs).read_text()
    words = f"of 4 attempts have no final result; go on with `reclaim batch resume quick --runs {runs}`"
    assert "stopped: " in said and words in said
    shown = status(runs)
    assert "no pool is at work; " in shown.stderr and words in shown.stderr
    assert not any(is_held(one.folder()) for one in declare(plan, runs))
    assert run_plan(plan, runs, slots=2).done == 4
    check_final(plan, runs)
    shown = status(runs)
    made = len(Index(runs).rows())  # the first may have ended just before it was told to stop
    assert made in (4, 5) and f"{made} were made" in shown.stdout and "0 without a verdict" in shown.stdout
    assert shown.stderr == ""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, None], ids=["ctrl-c", "sigterm", "batch-stop"])
def test_a_stop_in_the_first_moment_is_heeded_by_what_is_just_begun(tmp_path: Path, how: int | None) -> None:
    runs = tmp_path / "runs"
    plan = waiting_plan(tmp_path)
    pool = start_pool(plan, runs)
    batch = runs / plan.name
    wait_until(lambda: token(batch))
    if how is None:
        assert stop_pool(batch) == pool.pid
    else:
        pool.send_signal(how)
    assert pool.wait(timeout=120) == 4, output_of(plan, runs).read_text()
    assert not is_held(first(plan, runs).folder())
    assert {row.reason for row in Index(runs).rows()} <= {"cancelled"}


def test_what_a_person_stopped_is_made_again_however_often(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    plan = waiting_plan(tmp_path, retries=0)
    one = first(plan, runs)
    for making in (1, 2):
        pool = start_pool(plan, runs)
        wait_until(lambda making=making: one.folder(making).stream.exists())
        assert stop_pool(runs / plan.name) == pool.pid
        assert pool.wait(timeout=120) == 4, output_of(plan, runs).read_text()
        state = look(one, plan.retries)
        assert state is not None and (state.reason, state.makings, state.final) == ("cancelled", making, False)
    (tmp_path / "go").touch()
    assert run_plan(plan, runs).done == 1
    check_final(plan, runs)


def test_faults_count_against_retries_and_stops_between_them_do_not(tmp_path: Path) -> None:
    plan = waiting_plan(tmp_path)
    one = first(plan, tmp_path)
    ends = ["infrastructure_error", "cancelled", "cancelled", "infrastructure_error"]
    for making, reason in enumerate(ends, 1):
        folder = one.folder(making)
        folder.path.mkdir(parents=True)
        with StreamWriter(folder.stream, folder.store()) as writer:
            writer.append("end", {"reason": reason, "detail": None, "usage": {}, "submission": None})
    assert [look(one, retries).final for retries in (0, 1, 2)] == [True, True, False]  # type: ignore[union-attr]


def test_what_was_stopped_before_anything_was_recorded_has_a_sound_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = waiting_plan(tmp_path)
    one = first(plan, tmp_path)

    def stopped(prepared: Prepared, observer: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    import papermill  # noqa: F401 - which loads the engine as its plug-in

    monkeypatch.setattr("reclaim_nb.attempts.engine.run_attempt", stopped)
    with heeding_sigterm():
        state = settle(one, plan.retries)
    assert (state.reason, state.makings, state.final) == ("cancelled", 1, False)
    assert verify_record(one.folder()).problems == []


def test_a_stop_reaches_a_pool_of_another_host_and_no_process_of_this_one(tmp_path: Path) -> None:
    with only_pool(tmp_path) as held, subprocess.Popen(["sleep", "600"]) as bystander:
        elsewhere = json.loads(held.token) | {"host": "elsewhere", "pid": bystander.pid}
        (tmp_path / LOCK).write_text(json.dumps(elsewhere) + "\n")
        with pytest.raises(AttemptError, match=f"pid {bystander.pid} on elsewhere"), only_pool(tmp_path):
            pass
        assert stop_pool(tmp_path) == bystander.pid
        assert held.told_to_stop() and bystander.poll() is None
        bystander.kill()
    assert stop_pool(tmp_path) is None
    with only_pool(tmp_path) as held:
        assert not held.told_to_stop()


def test_what_the_disk_refuses_is_told_and_not_tried_again_at_once(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    plan = quick_plan(papers=["small/ntk-relu-gradient-angle"], agents=["nothing"])
    (runs / plan.name).mkdir(parents=True)
    (runs / plan.name / "small").touch()
    progress = run_plan(plan, runs)
    ((_, problem),) = progress.problems.items()
    assert problem.startswith("Not a directory: ") and str(runs) in problem


@pytest.mark.parametrize("killed", [1, STARTS])
def test_a_server_that_is_killed_while_it_begins_an_attempt_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: int
) -> None:
    begin, starts = ForkServerProcess._Popen, []

    def die(process: Any) -> Any:
        starts.append(process)
        if len(starts) <= killed:
            raise EOFError
        return begin(process)

    monkeypatch.setattr(ForkServerProcess, "_Popen", staticmethod(die))
    plan = quick_plan(papers=["small/ntk-relu-gradient-angle"], agents=["nothing"])
    progress = run_plan(plan, tmp_path)
    assert progress.done == (killed < STARTS)
    assert ["killed" in problem for problem in progress.problems.values()] == [True] * (killed == STARTS)


def test_a_batch_that_is_moved_away_is_not_begun_anew_in_its_old_place(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    plan = waiting_plan(tmp_path, repeats=3)
    pool = start_pool(plan, runs, slots=1)
    wait_until(lambda: first(plan, runs).folder().stream.exists())
    runs.rename(tmp_path / "moved")
    assert pool.wait(timeout=120) == 1
    assert "moved or deleted" in output_of(plan, runs).read_text()
    assert not list(runs.rglob("02"))


def test_a_stop_is_heeded_though_the_server_of_the_attempts_is_gone(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    plan = waiting_plan(tmp_path)
    pool = start_pool(plan, runs)
    wait_until(lambda: first(plan, runs).folder().stream.exists())
    for child in psutil.Process(pool.pid).children():
        if "multiprocessing.forkserver" in " ".join(child.cmdline()):
            child.kill()
    pool.send_signal(signal.SIGTERM)
    assert pool.wait(timeout=120) == 4, output_of(plan, runs).read_text()
    assert [row.reason for row in Index(runs).rows()] == ["cancelled"]


def test_an_attempt_whose_end_the_disk_does_not_take_is_not_gone_on_with_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = waiting_plan(tmp_path)
    one = first(plan, tmp_path)
    one.folder().path.mkdir(parents=True)
    with StreamWriter(one.folder().stream, one.folder().store()) as writer:
        writer.append("note", {"what": "begun", "text": ""})
    tries = iter([Finished(one.folder(), "infrastructure_error", "no space", {})])
    monkeypatch.setattr("reclaim_nb.batch.settle.resume_attempt", lambda path: next(tries))
    with pytest.raises(RecordError, match="free space"):
        settle(one, plan.retries)
