"""A plan is looked at as a whole before anything of it is kept: one mistake is one line."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from batch_helpers import quick_plan

from reclaim_nb.batch.check import declare_checked
from reclaim_nb.batch.dask import run_on_dask
from reclaim_nb.batch.plan import declare, kept_plan
from reclaim_nb.batch.pool import keep_plan, run_plan
from reclaim_nb.data import data_folder
from reclaim_nb.errors import AttemptError, KernelError, ReclaimError
from reclaim_nb.papers.suite import find_paper

LOCAL = {"kernel": "local", "abandon_seconds": 60}

MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"agents": ["repaly"]}, "there is no agent 'repaly' (did you mean 'replay'?); there are"),
    ({"agents": [{"name": "replay", "options": {"notebok": "x"}}]}, "no option notebok"),
    ({"agents": [{"name": "replay", "options": {"notebook": "nope.ipynb"}}]}, "nope.ipynb"),
    ({"conditions": [["nugde"]]}, "there is no condition nugde"),
    ({"settings": {"kernel": "podman"}}, "field 'kernel': expected 'auto', 'docker' or 'local', found 'podman'"),
    ({"settings": {"memory_mib": 0}}, "field 'memory_mib': expected greater than or equal to 64, found 0"),
    ({"settings": {"memory_mib": "4096"}}, "field 'memory_mib': expected integer, found '4096'"),
    ({"settings": {**LOCAL, "turns": -3}}, "field 'turns': expected greater than 0, found -3"),
    ({"settings": {**LOCAL, "budget_hours": "x"}}, "budget_hours: 'x' is not a number"),
    ({"settings": {**LOCAL, "budget_hours": [1]}}, "field 'budget_hours': expected"),
    ({"settings": {**LOCAL, "network": "allowlist"}}, "network=allowlist needs a container"),
    ({"settings": {"allow": 5}}, "field 'allow': expected a list, found 5"),
    ({"settings": {"gpus": 0}}, "field 'gpus': expected string, found 0"),
    ({"papers": ["small/iforest-brestw"]}, "did you mean small/iforest-breastw"),
    ({"name": "a/b"}, "cannot be called 'a/b'"),
    ({"name": ".."}, "cannot be called '..'"),
]


@pytest.mark.parametrize(("change", "says"), MISTAKES)
def test_a_mistake_is_told_once_and_keeps_no_plan(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    plan = quick_plan(**change)
    with pytest.raises(ReclaimError) as told:
        run_plan(plan, tmp_path / "runs")
    assert says in str(told.value)
    assert not (tmp_path / "runs").exists()


def test_a_cluster_is_given_no_plan_with_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(AttemptError, match="did you mean 'replay'"):
        run_on_dask(quick_plan(agents=["repaly"]), tmp_path / "runs", client=None)
    assert not (tmp_path / "runs").exists()


def test_gpus_that_this_machine_has_not_are_refused(tmp_path: Path) -> None:
    with pytest.raises(KernelError):
        run_plan(quick_plan(), tmp_path / "runs", gpus=["GPU-of-another-machine"])
    assert not (tmp_path / "runs").exists()


def test_a_cluster_may_have_what_this_machine_has_not(tmp_path: Path) -> None:
    plan = quick_plan(settings={**LOCAL, "gpus": "GPU-of-another-machine"})
    assert len(declare_checked(plan, tmp_path, here=False)) == 4


@pytest.fixture
def papers(tmp_path: Path) -> list[str]:
    """Two papers in a folder that is no known suite, one of them without a reference notebook."""
    for name in ("ntk-relu-gradient-angle", "iforest-breastw"):
        shutil.copytree(data_folder("papers") / "small" / name, tmp_path / "mine" / name)
    (tmp_path / "mine" / "iforest-breastw" / "solution.ipynb").unlink()
    return [str(folder) for folder in sorted((tmp_path / "mine").iterdir())]


def test_what_one_paper_lacks_is_no_mistake_of_the_plan(tmp_path: Path, papers: list[str]) -> None:
    plan = quick_plan(papers=papers, agents=["replay"])
    assert len(declare_checked(plan, tmp_path / "runs")) == 2
    with pytest.raises(AttemptError, match="no notebook to replay"):
        declare_checked(quick_plan(papers=papers[:1], agents=["replay"]), tmp_path / "runs")


def test_a_paper_named_by_its_folder_is_found_again_by_its_attempt(tmp_path: Path, papers: list[str]) -> None:
    (one,) = declare(quick_plan(papers=papers[:1], agents=["nothing"]), tmp_path / "runs")
    assert find_paper(one.request.paper).path == Path(papers[0]) / "paper.yaml"
    assert one.key == "mine/iforest-breastw/nothing/01"


def test_a_kept_plan_is_replaced_until_an_attempt_was_begun_by_it(tmp_path: Path) -> None:
    wrong, right = (quick_plan(settings={**LOCAL, "turns": turns}) for turns in (1, 2))
    keep_plan(wrong, tmp_path)
    keep_plan(right, tmp_path)
    assert kept_plan(tmp_path / "quick" / "plan.json") == right
    declare(right, tmp_path)[0].folder().path.mkdir(parents=True)
    with pytest.raises(AttemptError, match=r"another settings\.turns"):
        keep_plan(wrong, tmp_path)


def test_two_batches_never_share_a_folder(tmp_path: Path) -> None:
    plan = quick_plan(name="two words")
    keep_plan(plan, tmp_path)
    declare(plan, tmp_path)[0].folder().path.mkdir(parents=True)
    with pytest.raises(AttemptError, match="holds the batch 'two words'"):
        keep_plan(quick_plan(name="two-words"), tmp_path)


def test_a_plan_can_be_looked_at_where_its_agent_is_not_installed(tmp_path: Path) -> None:
    keep_plan(quick_plan(agents=["of-another-package"]), tmp_path)
    assert len(declare(kept_plan(tmp_path / "quick" / "plan.json"), tmp_path)) == 2
