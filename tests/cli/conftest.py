"""Fixtures of the command's tests: the command in this process, and one small attempt that has ended."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_helpers import PAPER, Call, Ran, in_process

from reclaim_nb import cli


@pytest.fixture
def reclaim(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """The command, in this process."""
    monkeypatch.delenv("COLUMNS", raising=False)  # tests that run side by side are given a width of their own
    # The command keeps a module from being imported in its process, which is not to outlive the test.
    monkeypatch.setitem(sys.modules, "rfc3987_syntax", sys.modules.get("rfc3987_syntax"))

    def call(*words: object) -> Ran:
        capsys.readouterr()
        code = cli.main([str(word) for word in words])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return call


@pytest.fixture(scope="session")
def attempt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of one small attempt that has ended; tests that change it work on a copy."""
    runs = tmp_path_factory.mktemp("attempt") / "runs"
    ran = in_process("run", PAPER, "--agent", "constant", "--kernel", "local", "--runs", runs, "--json")
    assert ran.code == 0, ran.err
    return Path(ran.json["folder"])


@pytest.fixture
def runs(attempt: Path, tmp_path: Path) -> Path:
    """A runs folder of this test's own that holds a copy of the small attempt."""
    return Path(shutil.copytree(attempt.parents[4], tmp_path / "runs", ignore=shutil.ignore_patterns("*index*")))


@pytest.fixture
def copied(runs: Path, attempt: Path) -> Path:
    """The small attempt, as it lies in ``runs``."""
    return runs / attempt.relative_to(attempt.parents[4])


@pytest.fixture
def boxes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for the kernels of this test alone, short enough for sockets."""
    folder = Path(tempfile.mkdtemp(prefix="rt", dir="/tmp"))
    monkeypatch.setenv("RECLAIM_BOXES", str(folder))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
