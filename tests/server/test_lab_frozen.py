"""What the server says of a frozen suite that somebody has changed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from reclaim_nb.attempts.prepare import Request, prepare
from reclaim_nb.attempts.runner import run_attempt
from tests.rebuild.frozen_suite import one_byte, write_frozen
from tests.server.test_lab_api import Fetch, get, post, refused


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A frozen suite, and a runs folder with an attempt at it that nobody has graded."""
    root = tmp_path_factory.mktemp("published")
    place = write_frozen(root / "papers")
    run_attempt(prepare(Request(paper=str(place / "good"), agent="nothing", runs=str(root / "runs"), kernel="local")))
    return place, root / "runs"


@pytest.fixture
def papers(published: tuple[Path, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(published[0].parent, tmp_path / "published"))


async def test_a_changed_frozen_suite_offers_no_paper_and_is_not_attempted_or_graded(
    jp_fetch: Fetch, jp_root_dir: Path, published: tuple[Path, Path], papers: Path
) -> None:
    shutil.copytree(published[1], jp_root_dir / "runs")
    suites = await get(jp_fetch, "suites", "Suites")
    assert [p["name"] for s in suites["suites"] if s["name"] == "tiny" for p in s["papers"]] == [
        "tiny/good",
        "tiny/other",
    ]
    assert json.loads((await jp_fetch("reclaim", "api", "papers", "tiny", "good")).body)["name"] == "tiny/good"
    one_byte(papers / "tiny")

    (suite,) = [s for s in (await get(jp_fetch, "suites", "Suites"))["suites"] if s["name"] == "tiny"]
    assert suite["papers"] == [] and "good/paper.yaml was changed after that" in suite["broken"][0]
    for paper in ("good", "other"):
        code, told = await refused(jp_fetch("reclaim", "api", "papers", "tiny", paper))
        assert code == 404 and "the suite is frozen (version 1)" in told
        body: dict[str, Any] = {"paper": f"tiny/{paper}", "agent": "nothing", "kernel": "local"}
        code, told = await refused(post(jp_fetch, "attempts", body))
        assert code == 400 and "good/paper.yaml was changed after that" in told
    code, told = await refused(post(jp_fetch, "actions/single/tiny/good/nothing/01", {"action": "grade"}))
    assert code == 409 and "the suite is frozen (version 1)" in told
    assert not list((jp_root_dir / "runs").rglob("verdict*.json"))
