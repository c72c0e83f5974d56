"""GPU ids as locks, with real processes; no GPU is needed, because an id is only a name here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import pytest
from batch_helpers import output_of, quick_plan, start_pool, wait_until

from reclaim_nb.attempts import gpus
from reclaim_nb.attempts.gpus import LOCKS, Wanted, free, given, gpus_of, holding, take, wanted
from reclaim_nb.attempts.prepare import Request
from reclaim_nb.errors import AttemptError
from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.record.index import Index

IDS = ("GPU-a", "GPU-b", "GPU-c")

HOLD = """
import sys
from reclaim_nb.attempts.gpus import take
held = take(sys.argv[2].split(","), int(sys.argv[1]))
print(",".join(held.ids) if held else "none", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(LOCKS, str(tmp_path / "locks"))
    return tmp_path / "locks"


@contextmanager
def holder(number: int, ids: tuple[str, ...] = IDS) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Another process, as another batch is, that takes GPUs and keeps them until it ends."""
    command = [sys.executable, "-c", HOLD, str(number), ",".join(ids)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdin is not None
    try:
        yield process.stdout.readline().strip(), process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def test_two_batches_are_never_given_the_same_gpu() -> None:
    with holder(2) as (first, _), holder(1) as (second, _), holder(1) as (third, _):
        assert (first, second, third) == ("GPU-a,GPU-b", "GPU-c", "none")
        assert free(IDS) == () and take(IDS, 1) is None


def test_a_killed_holder_leaks_none() -> None:
    with holder(2) as (_, process):
        assert free(IDS) == ("GPU-c",)
        process.kill()
        process.wait()
        assert free(IDS) == IDS


def test_all_or_none_are_taken() -> None:
    with holder(2):
        assert take(IDS, 2) is None
        assert free(IDS) == ("GPU-c",)  # what was taken in vain was let go


def test_what_a_holder_starts_does_not_hold_on() -> None:
    held = take(IDS, 1)
    assert held is not None
    child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    try:
        held.release()
        assert free(IDS) == IDS
    finally:
        child.kill()
        child.communicate()


def test_an_attempt_waits_until_its_gpus_are_free(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    with holder(3) as (_, process):

        def wait(seconds: float) -> None:
            waited.append(seconds)
            process.kill()
            process.wait()

        monkeypatch.setattr(gpus, "time", SimpleNamespace(sleep=wait))
        with holding(Wanted(2), IDS) as ids:
            assert waited == [gpus.WAIT_SECONDS]
            assert ids == ("GPU-a", "GPU-b") and free(IDS) == ("GPU-c",)
    assert free(IDS) == IDS


def test_lock_files_of_another_user_can_be_locked(locks: Path) -> None:
    with holder(3):
        pass
    for file in locks.iterdir():
        file.chmod(0o444)  # as one sees a file of somebody else
    assert free(IDS) == IDS
    assert os.stat(locks).st_mode & 0o1777 == 0o1777


@pytest.mark.parametrize(
    ("asked", "device", "number", "ids"),
    [("", "cpu", 0, ()), ("", "gpu", 1, ()), ("count=4", "gpu", 4, ()), ("0, 2", "cpu", 2, ("0", "2"))],
)
def test_what_an_attempt_takes(asked: str, device: str, number: int, ids: tuple[str, ...]) -> None:
    assert wanted(asked, device) == Wanted(number, ids)


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver with two devices, which NVML's own C interface stands for."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here, so NVML's interface cannot be stood in for")
    source = Path(__file__).parents[1] / "kernels" / "fake_nvml.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", tmp_path / "libnvidia-ml.so.1", source], check=True)
    (tmp_path / "state").write_text("")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    monkeypatch.setenv("FAKE_NVML", str(tmp_path / "state"))


def test_a_pool_gives_each_attempt_a_gpu_that_no_other_has(driver: None, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    settings = {"kernel": "local", "abandon_seconds": 60, "gpus": "count=1"}
    plan = quick_plan(agents=["constant"], repeats=2, settings=settings)
    with holder(1, ("GPU-0000-1",)) as (other, process):  # another batch
        assert other == "GPU-0000-1"
        pool = start_pool(plan, runs, slots=3)
        wait_until(lambda: any("cell_end" in file.read_text() for file in runs.rglob("stream.jsonl")))
        assert {one for path in runs.rglob("stream.jsonl") for one in gpus_of(AttemptFolder(path.parent))} == {
            "GPU-0000-0"
        }
        process.kill()
    assert pool.wait(timeout=240) == 0, output_of(plan, runs).read_text()
    rows = Index(runs).rows()
    assert [row.reason for row in rows] == ["submitted"] * 4
    had = sorted((row.started, row.updated, gpus_of(AttemptFolder(runs / row.path))) for row in rows)
    assert {one for _, _, (one,) in had} <= {"GPU-0000-0", "GPU-0000-1"}
    for (_, ended, first), (began, _, second) in combinations(had, 2):
        assert first != second or ended <= began, had


def test_one_attempt_by_itself_is_given_a_gpu_that_a_batch_does_not_hold(driver: None, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "reclaim_nb.cli", "run", "small/iforest-breastw", "--agent", "constant"]
    command += ["--kernel", "local", "--gpus", "count=1", "--runs", str(tmp_path / "runs"), "--json"]
    with holder(1, ("GPU-0000-0",)):
        done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode in (0, 1), done.stderr
    (row,) = Index(tmp_path / "runs").rows()
    assert (row.reason, gpus_of(AttemptFolder(tmp_path / "runs" / row.path))) == ("submitted", ("GPU-0000-1",))
    assert free(("GPU-0000-0", "GPU-0000-1")) == ("GPU-0000-0", "GPU-0000-1")


def test_who_does_not_wait_is_told_that_others_hold_them() -> None:
    paper = "small/iforest-breastw"
    with given(Request(paper=paper, gpus="GPU-a"), waits=False) as first:
        assert first.gpus == "GPU-a"
        with (
            pytest.raises(AttemptError, match="GPUs GPU-a are wanted, and other attempts on this machine hold"),
            given(Request(paper=paper, gpus="GPU-a"), waits=False),
        ):
            pass
        with given(Request(paper=paper, gpus="count=2"), IDS, waits=False) as second:
            assert second.gpus == "GPU-b,GPU-c"
        with pytest.raises(AttemptError, match="named twice"), given(Request(paper=paper, gpus="GPU-b,GPU-b")):
            pass
    with given(Request(paper=paper), IDS) as none:
        assert none.gpus == ""  # a card of the processor takes none
