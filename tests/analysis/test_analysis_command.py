"""``reclaim import-published`` and ``reclaim report`` as people type them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from analysis_helpers import RELEASE

from reclaim_nb import cli


@pytest.fixture(autouse=True)
def _modules(monkeypatch: pytest.MonkeyPatch) -> None:
    # The command keeps a module from being imported in its process, which is not to outlive the test.
    monkeypatch.setitem(sys.modules, "rfc3987_syntax", sys.modules.get("rfc3987_syntax"))


def test_import_says_what_was_done_and_what_comes_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["import-published", str(RELEASE), "--runs", str(tmp_path / "runs")]
    assert cli.main(words) == 0
    told = capsys.readouterr().out
    assert "10 runs imported, 0 were there already, 2 transcripts copied" in told
    assert "reclaim report" in told
    assert cli.main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kept"] == 10
    assert cli.main(["status", str(tmp_path / "runs"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"]["graded"] == 10


def test_import_without_transcripts(tmp_path: Path) -> None:
    assert cli.main(["import-published", str(RELEASE), "--runs", str(tmp_path), "--no-bundles"]) == 0
    assert not list(tmp_path.rglob("*.gz"))


@pytest.mark.parametrize("words", [["report", "nowhere"], ["import-published", "nowhere"]])
def test_what_is_not_there_is_said_in_a_sentence(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(words) == 1
    told = capsys.readouterr().err
    assert told.startswith("error: nowhere:")
    assert "Traceback" not in told


def test_without_the_extra_it_is_named() -> None:
    code = "import sys; sys.modules['statsmodels'] = None; from reclaim_nb.cli import main"
    code += "; sys.exit(main(['report', 'x']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install 'reclaim-nb[analysis]'" in done.stderr
