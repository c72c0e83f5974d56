"""The command as a whole: help, errors, exit codes, what it imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from cli_helpers import PAPER, Call, in_process

from reclaim_nb import __version__

COMMANDS = [
    "demo",
    "run",
    "resume",
    "attempt",
    "grade",
    "status",
    "verify-record",
    "papers",
    "agents",
    "image",
    "clean",
    "doctor",
]
HEAVY = ["papermill", "nbformat", "jupyter_client", "docker", "rich.console", "yaml", "psutil", "sqlite3"]
HEAVY += ["reclaim_nb.papers", "reclaim_nb.attempts", "reclaim_nb.grading"]


def test_help_names_every_command_and_every_exit_code(reclaim: Call) -> None:
    ran = reclaim("--help")
    assert ran.code == 0
    listed = {line.split()[0] for line in ran.out.splitlines() if line.startswith("  ") and line.split()}
    assert set(COMMANDS) <= listed
    text = " ".join(ran.out.split())
    for code in ("0 done", "1 what", "2 wrong usage", "3 infrastructure_error", "4 cancelled", "5 a record"):
        assert code in text


def test_help_imports_nothing_that_only_a_command_needs() -> None:
    program = f"import sys\nfrom reclaim_nb.cli import main\nmain(['--help'])\nprint(set({HEAVY}) & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


def test_nbformat_is_imported_without_the_grammar_that_takes_seconds() -> None:
    program = (
        "import sys\nfrom reclaim_nb.cli import main\nmain(['--version'])\nimport nbformat, papermill\n"
        "print(sys.modules['rfc3987_syntax'], 'lark' in sys.modules)\n"
        "nbformat.validate(nbformat.v4.new_notebook())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "None False"


def test_version(reclaim: Call) -> None:
    assert reclaim("--version").out == f"reclaim-nb {__version__}\n"


@pytest.mark.parametrize(
    "words",
    [
        ("run",),
        ("frobnicate",),
        ("status", "--no"),
        ("run", PAPER, "--kernel", "cloud"),
        ("run", PAPER, "--turns", "0"),
        *(("grade", "nowhere", "--votes", wrong) for wrong in ("2", "0", "-1", "many")),
        ("calibrate", "--builtin", "--votes", "4"),
        *(("run", PAPER, "--budget-hours", wrong) for wrong in ("much", "-1", "0", "nan", "inf", "")),
    ],
)
def test_wrong_usage_is_2(reclaim: Call, words: tuple[str, ...]) -> None:
    ran = reclaim(*words)
    assert (ran.code, ran.out) == (2, "")
    assert "Usage: reclaim" in ran.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("run", PAPER, "--option", "notebook"), "expected NAME=VALUE"),
        (("run", PAPER, "--agent", "constant", "--option", "foo=1"), "the agent constant has no options, so not foo"),
        (("run", PAPER, "--agent", "nothing", "--model", "a:b"), "the agent nothing has no options, so not model"),
        (("run", PAPER, "--option", "foo=1"), "the agent replay has no option foo"),
        (("run", PAPER, "--agent", "command", "--option", "foo=1"), "options of the agent command: foo"),
        (("run", PAPER, "--agent", "model", "--model", "openai:x", "--option", "foo=1"), "options of the model: foo"),
    ],
)
def test_an_option_that_an_agent_does_not_have_is_2(
    reclaim: Call, words: tuple[str, ...], says: str, tmp_path: Path
) -> None:
    ran = reclaim(*words, "--kernel", "local", "--runs", tmp_path / "runs")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[-1].startswith("error: ")
    assert says in ran.err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("run", "small/iforest-brestw"), "did you mean small/iforest-breastw"),
        (("run", PAPER, "--kernel", "local", "--agent", "nobody"), "there is no agent 'nobody'"),
        (("run", "xyzzy"), "`reclaim papers list` shows every paper. Expected suite/slug"),
        (("run", PAPER, "--agent", "human"), f"`reclaim attempt open {PAPER}` begins one"),
        (("run", PAPER, "--kernel", "local", "--agent", "model", "--model", ""), "no model: name one with --model"),
        (("report", "."), "no attempts here"),
        (("resume", "nowhere"), "not an attempt folder"),
        (("grade", "nowhere"), "not an attempt folder"),
        (("verify-record", "nowhere"), "not an attempt folder"),
        (("status", "nowhere"), "no such folder"),
        (("papers", "show", "small/none"), "there is no paper"),
        (("papers", "list", "none"), "there is no suite"),
    ],
)
def test_what_cannot_be_done_is_1_with_one_plain_line(
    reclaim: Call, words: tuple[str, ...], says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.chdir(str(tmp_path))
    ran = reclaim(*words)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("error: ")
    assert says in ran.err
    assert "Traceback" not in ran.err


def test_a_container_without_an_engine_is_1_and_says_what_to_do() -> None:
    ran = in_process("run", PAPER, "--kernel", "docker", DOCKER_HOST="unix:///nowhere/docker.sock")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("error: no container engine answers")
    assert "--kernel local" in ran.err


def test_text_that_a_terminal_cannot_show_ends_nothing() -> None:
    ran = in_process("papers", "list", PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C")
    assert ran.code == 0, ran.err
    assert PAPER in ran.out
    assert ran.out.isascii()


def test_a_reader_that_goes_away_is_no_fault() -> None:
    from cli_helpers import RECLAIM

    done = subprocess.run(["bash", "-c", f"{RECLAIM} papers list | true"], capture_output=True, text=True)
    assert "Traceback" not in done.stderr
