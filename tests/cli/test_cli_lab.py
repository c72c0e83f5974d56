"""``reclaim lab``: which JupyterLab it opens, and what it says where there is none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from reclaim_nb.commands import lab
from reclaim_nb.commands.lab import lab_command
from reclaim_nb.errors import AttemptError


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder in which Jupyter finds the panel."""
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "share"))
    monkeypatch.setattr(lab, "find_spec", lambda name: object())
    panel = tmp_path / "share" / "labextensions" / lab.PANEL
    panel.mkdir(parents=True)
    (panel / "package.json").write_text("{}")
    return tmp_path


def test_the_file_browser_shows_the_folder_that_holds_the_runs(installed: Path) -> None:
    command = lab_command(installed / "study" / "runs", ["--no-browser"])
    assert command[:3] == [sys.executable, "-m", "jupyterlab"]
    assert f"--ServerApp.root_dir={installed / 'study'}" in command
    assert f"--ReclaimServer.runs_dir={installed / 'study' / 'runs'}" in command
    assert command[-1] == "--no-browser"


def test_a_file_is_no_runs_folder(installed: Path) -> None:
    (installed / "runs.csv").write_text("")
    with pytest.raises(AttemptError, match="not a folder"):
        lab_command(installed / "runs.csv", [])


def test_says_how_to_get_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(lab, "find_spec", lambda name: None)
    with pytest.raises(AttemptError, match=r"pip install 'reclaim-nb\[lab\]'"):
        lab_command(tmp_path, [])
    monkeypatch.setattr(lab, "find_spec", lambda name: object())
    monkeypatch.setattr("jupyter_core.paths.jupyter_path", lambda *parts: [str(tmp_path)])
    with pytest.raises(AttemptError, match="make labextension"):
        lab_command(tmp_path, [])


def test_the_demo_shows_a_copy_of_the_recorded_batch(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[list[str]] = []
    monkeypatch.setattr("os.execv", lambda program, words: opened.append(words))
    monkeypatch.chdir(installed)
    lab.lab(demo=True, options=["--no-browser"])
    (command,) = opened
    assert f"--ReclaimServer.runs_dir={installed / lab.DEMO_RUNS}" in command
    assert len(list((installed / lab.DEMO_RUNS).rglob("attempt.ipynb"))) == 36
    lab.lab(demo=True)  # a second time nothing is copied over
    assert len(opened) == 2
