"""What becomes of the workspace when an attempt has ended."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from attempt_helpers import run

from reclaim_nb.attempts.runner import resume_attempt
from reclaim_nb.errors import RecordError
from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.record.workspace import copy_workspace, settle_workspace

CELLS = {"writes": "import os; os.mkdir('deep'); open('deep/model.bin', 'wb').write(b'x' * 1000)"}


@pytest.mark.parametrize(
    ("policy", "left"),
    [("keep", ["workspace"]), ("archive", ["workspace.tar.gz"]), ("drop", [])],
)
def test_is_kept_archived_or_dropped(tmp_path: Path, policy: str, left: list[str]) -> None:
    result = run(tmp_path, CELLS, workspace=policy)
    assert sorted(path.name for path in result.folder.path.glob("workspace*")) == left
    assert result.of("attempt")[0]["spec"]["workspace"] == policy
    if policy == "drop":
        with pytest.raises(RecordError, match="its workspace was dropped"):
            copy_workspace(result.folder, tmp_path / "copy")
    else:
        copy_workspace(result.folder, tmp_path / "copy")
        assert (tmp_path / "copy" / "deep" / "model.bin").read_bytes() == b"x" * 1000


def test_one_left_by_a_dead_runner_is_settled_by_resume(tmp_path: Path) -> None:
    result = run(tmp_path, CELLS, workspace="archive")
    copy_workspace(result.folder, result.folder.workspace)
    result.folder.workspace_archive.unlink()
    (result.folder.path / ".workspace.part").mkdir()
    resume_attempt(result.folder.path)
    assert [path.name for path in result.folder.path.glob("*workspace*")] == ["workspace.tar.gz"]


def test_links_that_lead_outside_are_not_unpacked(tmp_path: Path) -> None:
    folder = AttemptFolder(tmp_path / "attempt")
    folder.workspace.mkdir(parents=True)
    (folder.workspace / "out").symlink_to("/etc/passwd")
    (folder.workspace / "up").symlink_to("../../..")
    (folder.workspace / "in").symlink_to("file")
    (folder.workspace / "file").write_text("here")
    settle_workspace(folder, "archive")
    with tarfile.open(folder.workspace_archive) as archive:
        assert sorted(archive.getnames()) == [".", "./file", "./in", "./out", "./up"], (
            "the archive has them as they were"
        )
    copy_workspace(folder, tmp_path / "copy")
    assert sorted(path.name for path in (tmp_path / "copy").iterdir()) == ["file", "in"]


def test_a_broken_archive_is_named(tmp_path: Path) -> None:
    folder = AttemptFolder(tmp_path)
    folder.workspace_archive.write_bytes(b"no archive")
    with pytest.raises(RecordError, match=r"workspace\.tar\.gz: cannot be unpacked"):
        copy_workspace(folder, tmp_path / "copy")


@pytest.mark.slow
def test_more_than_the_workspace_may_hold_is_refused(kernel: str, tmp_path: Path) -> None:
    cells = {"fills": "import time\nopen('big', 'wb').write(b'x' * 30_000_000)\ntime.sleep(30)"}
    result = run(tmp_path, cells, kernel, workspace_mib=10, workspace="drop")
    assert result.status("fills") != "ok"
    assert any(data["which"] == "workspace" for data in result.of("limit"))
    assert not result.folder.workspace.exists()
