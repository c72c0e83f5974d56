"""``reclaim batch`` as people type it: what is refused, and what its table says at every width."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_helpers import PAPER, Call

from reclaim_nb.batch.plan import make_plan
from reclaim_nb.batch.pool import keep_plan

NAMES = ["tier", "paper", "agent", "repeat", "observed", "spent", "ended", "outcome"]


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    file = tmp_path / "plan.yaml"
    file.write_text(f"name: q\npapers: [{PAPER}]\nagents: [nothing]\nsettings: {{kernel: local}}\n")
    return file


@pytest.fixture
def begun(runs: Path) -> Path:
    """A runs folder whose batch has one of two attempts."""
    raw = {"name": "single", "papers": [PAPER], "agents": ["constant"], "repeats": 2, "settings": {"kernel": "local"}}
    keep_plan(make_plan(raw), runs)
    return runs


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--agent", "replay"), "--agent"),
        (("--name", "other", "--repeats", "1", "--kernel", "local"), "--name, --repeats, --kernel"),
        (("--slots", "2", "--dask", "tcp://nowhere:1"), "--slots"),
        (("--dask", "tcp://nowhere:1", "--cluster", "cluster.yaml"), "--dask, --cluster"),
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(
    reclaim: Call, plan: Path, tmp_path: Path, words: tuple[str, ...], named: str
) -> None:
    ran = reclaim("batch", "run", plan, "--runs", tmp_path / "runs", *words)
    assert (ran.code, ran.out) == (2, "")
    assert named in ran.err
    assert not (tmp_path / "runs").exists()


def test_a_batch_of_nothing_is_wrong_usage(reclaim: Call) -> None:
    ran = reclaim("batch", "run", "--agent", "nothing")
    assert ran.code == 2 and "--suite" in ran.err


def test_gpus_that_are_not_here_are_refused_before_anything_is_kept(reclaim: Call, plan: Path, tmp_path: Path) -> None:
    ran = reclaim("batch", "run", plan, "--runs", tmp_path / "runs", "--gpus", "GPU-elsewhere")
    assert ran.code == 1 and ran.err.startswith("error: ")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("command", ["stop", "status", "resume"])
def test_a_batch_that_never_was_is_told_so(reclaim: Call, begun: Path, command: str) -> None:
    ran = reclaim("batch", command, "singel", "--runs", begun)
    assert (ran.code, ran.out) == (1, "")
    assert f"there is no batch 'singel' below {begun} (did you mean 'single'?)" in ran.err


def test_status_says_what_is_left_and_how_to_go_on(reclaim: Call, begun: Path) -> None:
    ran = reclaim("batch", "status", "single", "--runs", begun)
    assert ran.code == 0
    again = f"`reclaim batch resume single --runs {begun}`"
    assert f"no pool is at work; 1 of 2 attempts have no final result; go on with {again}" in ran.err


def test_causes_are_told_in_words_and_times_only_where_they_are_known(reclaim: Call, begun: Path) -> None:
    shown = reclaim("batch", "status", "single", "--runs", begun)
    told = reclaim("batch", "status", "single", "--runs", begun, "--json").json
    cause = told["attempts"][0]["cause"]
    assert f"({cause})" in shown.out
    assert any(line.startswith(f"{cause}: ") and len(line) > 10 for line in shown.out.splitlines())
    assert "elapsed_seconds" not in told and "eta_seconds" not in told
    assert (told["total"], told["done"], told["running"], told["pool"]) == (2, 1, [], None)


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_every_width_has_whole_words_and_names_what_it_leaves_out(
    reclaim: Call, begun: Path, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = reclaim("batch", "status", "single", "--runs", begun).out.splitlines()
    head, row = lines[0].split(), lines[2]
    assert {"paper", "agent", "outcome"} <= set(head)
    assert "iforest-breastw" in row and "constant" in row and row.rstrip().endswith(")")
    left_out = [line for line in lines if line.startswith("a wider terminal shows also: ")]
    named = left_out[0].partition(": ")[2].split(", ") if left_out else []
    assert sorted([*head, *named]) == sorted(NAMES)
    assert bool(named) == (width < 160)
