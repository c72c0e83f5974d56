"""What a command says when the machine refuses something: one line and an exit code, never a traceback."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest
from cli_helpers import PAPER, RECLAIM, Call

from reclaim_nb.errors import os_error_text
from reclaim_nb.record.index import Index

ATTEMPT = ("--agent", "constant", "--kernel", "local")


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which a command that fails anywhere in a pipe counts."""
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True, timeout=200, check=False
    )


@pytest.mark.parametrize("words", [("run", PAPER, *ATTEMPT), ("demo",), ("batch", "run", "--paper", PAPER, *ATTEMPT)])
def test_a_file_in_the_place_of_a_folder_is_one_line(reclaim: Call, tmp_path: Path, words: tuple[str, ...]) -> None:
    file = tmp_path / "file"
    file.touch()
    ran = reclaim(*words, "--runs", file)
    assert ran.code == 1
    assert ran.err.splitlines()[-1].startswith(f"error: {file}")
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("command", ["report", "export"])
def test_what_cannot_be_written_is_named(reclaim: Call, runs: Path, tmp_path: Path, command: str) -> None:
    file = tmp_path / "file"
    file.touch()
    ran = reclaim(command, runs, "--out", file / "inside")
    assert (ran.code, ran.err) == (1, f"error: {file / 'inside'}: not a directory\n")


def test_the_words_of_what_the_machine_refuses() -> None:
    told = os_error_text(OSError(errno.EROFS, "Read-only file system", "/there/runs"))
    assert told == "/there/runs: cannot be written: read-only file system"
    assert os_error_text(PermissionError(errno.EACCES, "Permission denied", Path("x"))) == "x: permission denied"
    assert os_error_text(OSError(errno.EMFILE, "Too many open files")) == "too many open files"


def test_a_full_output_is_one_line_and_1() -> None:
    ended = shell(f"{RECLAIM} papers list > /dev/full")
    said = "error: standard output: cannot be written: no space left on device\n"
    assert (ended.returncode, ended.stderr) == (1, said)


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_stream_that_is_closed_is_one_that_nobody_reads(closed: str) -> None:
    ended = shell(f"env -u COLUMNS {RECLAIM} papers list {closed}")
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("words", ["papers list", "papers list --json", "papers check", "--help", "agents list"])
def test_reading_no_further_is_no_error(words: str) -> None:
    ended = shell(f"{RECLAIM} {words} | true")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_exit_code_is_the_commands_own_when_nobody_reads() -> None:
    assert shell(f"{RECLAIM} papers show small/none 2>&1 | true").returncode == 1


@pytest.mark.parametrize(
    "words", [f"run {PAPER} --agent constant", f"batch run --paper {PAPER} --agent constant --json"]
)
def test_an_attempt_goes_on_when_nobody_reads_its_progress(words: str, tmp_path: Path) -> None:
    ended = shell(f"{RECLAIM} {words} --kernel local --runs {tmp_path / 'runs'} 2>&1 | true")
    assert ended.returncode == 0
    (row,) = Index(tmp_path / "runs").rows()
    assert (row.reason, row.outcome) == ("submitted", "disqualified")


def test_progress_that_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    ended = shell(f"{RECLAIM} run {PAPER} {' '.join(ATTEMPT)} --runs {tmp_path / 'runs'} --json 2> /dev/full")
    assert ended.returncode == 0
    assert json.loads(ended.stdout)["attempt"]["reason"] == "submitted"


def test_a_stop_before_there_is_anything_to_stop_says_so(tmp_path: Path) -> None:
    program = (
        "import sys, os, signal, time\nfrom reclaim_nb import cli\nfrom reclaim_nb.commands import running\n"
        "running.make_attempt = lambda *a: (os.kill(os.getpid(), signal.SIGINT), time.sleep(60))\n"
        f"sys.exit(cli.main(['run', {PAPER!r}]))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (4, "stopped: told to stop by a signal\n")
