"""A Jupyter server with this extension, and a runs folder with one real attempt."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from lab_papers import GOOD, slow, write_suite
from pytest_jupyter.jupyter_server import *  # noqa: F403 - its fixtures, for this folder alone

from reclaim_nb.attempts.prepare import Request, prepare
from reclaim_nb.attempts.runner import run_attempt
from reclaim_nb.commands.running import grade_now


@pytest.fixture(scope="session")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the suite ``tiny``."""
    root = tmp_path_factory.mktemp("papers")
    write_suite(root, {"good": GOOD, "slow": slow(40, 2)})
    return root


@pytest.fixture(scope="session")
def made(papers: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A runs folder with one attempt, made and graded once."""
    runs = tmp_path_factory.mktemp("made") / "runs"
    prepared = prepare(Request(paper=str(papers / "tiny" / "good"), runs=str(runs), kernel="local"))
    grade_now(run_attempt(prepared).folder)
    return runs


@pytest.fixture
def runs(made: Path, jp_root_dir: Path) -> Path:
    """A copy of it where the server's file browser finds it."""
    shutil.copytree(made, jp_root_dir / "runs")
    return jp_root_dir / "runs"


@pytest.fixture
def jp_server_config(papers: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("RECLAIM_PAPERS", "")
    return {
        "ServerApp": {"jpserver_extensions": {"reclaim_nb.server": True}},
        "ReclaimServer": {"papers_dirs": [str(papers)], "kernels": ["local"], "slots": 1},
    }
