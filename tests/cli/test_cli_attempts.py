"""Making, watching, stopping, resuming and grading attempts from the command line, with real kernels."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_helpers import PAPER, RECLAIM, Call, in_process, write_notebook
from in_step import let_go, until_let_go

from reclaim_nb.kernels.images import ImageInfo

BEGUN = "print('begun')\nopen('begun', 'w').close()"


def begin(runs: Path, notebook: Path) -> subprocess.Popen[str]:
    """Start a run and return once its first cell has run."""
    words = ["run", PAPER, "--kernel", "local", "--runs", str(runs), "--option", f"notebook={notebook}"]
    process = subprocess.Popen([RECLAIM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if "print('begun')" in line:
            return process
    raise AssertionError("".join(said))


def only_attempt(runs: Path) -> Path:
    (found,) = runs.glob("*/*/*/*/*/stream.jsonl")
    return found.parent


def test_run_says_what_came_of_it_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = write_notebook(tmp_path / "mine.ipynb", "print(1 + 1)", "1/0", "attempt.submit('0.5', note='half')")
    ran = in_process("run", PAPER, "--kernel", "local", "--option", f"notebook={notebook}", "--repeat", "7")
    assert ran.code == 0, ran
    facts = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in ran.out.splitlines())
    assert facts["paper"] == f"{PAPER}: Isolation Forest"
    assert facts["tier"] == "retrain"
    assert facts["target"] == "ROC AUC 0.99"
    assert facts["handed in"] == "0.5"
    assert facts["ended"] == "submitted: the agent handed in a value"
    assert "unsandboxed" in facts["kernel"]
    assert re.fullmatch(r"0\.\d{4} of 0\.05 CPU-hours \(\d+%\)", facts["spent"])
    assert facts["notebook"] == f"runs/single/{PAPER}/replay/07/attempt.ipynb"
    assert Path(facts["notebook"]).exists()
    # The view on standard error says where it ran, and how each of the agent's cells ended.
    assert "kernel local (unsandboxed" in ran.err
    assert re.search(r"s ok +print\(1 \+ 1\)", ran.err)
    assert re.search(r"s error +1/0", ran.err)


def test_json_is_one_document_and_the_attempt_is_papermills_own(attempt: Path) -> None:
    notebook = json.loads((attempt / "attempt.ipynb").read_text())
    assert notebook["metadata"]["reclaim"]["end"] == "submitted"
    assert notebook["metadata"]["reclaim"]["spec"]["agent"]["name"] == "constant"
    injected = [cell for cell in notebook["cells"] if "injected-parameters" in cell["metadata"].get("tags", [])]
    assert "constant" in "".join(injected[0]["source"])


def test_the_null_agent_is_not_reproduced_whatever_it_hands_in(reclaim: Call, attempt: Path) -> None:
    (row,) = reclaim("status", attempt.parents[4], "--json").json["attempts"]
    assert row["submitted"] == "0.99"
    assert row["outcome"] != "reproduced"


def test_no_grade_leaves_no_verdict_and_grade_adds_one(reclaim: Call, copied: Path) -> None:
    for verdict in copied.glob("verdict.*.json"):
        verdict.unlink()
    ran = reclaim("resume", copied, "--no-grade")  # an attempt that has ended is only rendered again
    assert ran.code == 0
    assert "not graded" in ran.out
    assert list(copied.glob("verdict.*.json")) == []


def test_an_attempt_that_exists_is_not_made_twice(reclaim: Call, runs: Path) -> None:
    ran = reclaim("run", PAPER, "--agent", "constant", "--kernel", "local", "--runs", runs, "--repeat", 1)
    assert ran.code == 1
    assert "`reclaim resume` it, or choose another --repeat" in ran.err


def test_ctrl_c_ends_the_attempt_as_cancelled_with_4(tmp_path: Path) -> None:
    notebook = write_notebook(tmp_path / "long.ipynb", BEGUN, "import time; time.sleep(60)")
    process = begin(tmp_path / "runs", notebook)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 4
    assert re.search(r"^ended +cancelled", out, re.M)
    assert in_process("verify-record", only_attempt(tmp_path / "runs")).code == 0


def test_resume_goes_on_where_a_killed_runner_stopped(reclaim: Call, boxes: Path, tmp_path: Path) -> None:
    notebook = write_notebook(tmp_path / "long.ipynb", BEGUN + "\nx = 41", until_let_go(), "attempt.submit(str(x + 1))")
    runs = tmp_path / "runs"
    process = begin(runs, notebook)
    process.kill()
    process.wait()
    folder = only_attempt(runs)
    (row,) = reclaim("status", runs, "--json").json["attempts"]
    assert (row["state"], row["reason"]) == ("dead_runner", None)
    assert f"reclaim resume {folder}" in reclaim("status", runs).out
    let_go(folder)
    ran = reclaim("resume", folder, "--json")
    assert ran.code == 0, ran
    assert ran.json["attempt"]["submitted"] == "42"  # the kernel still had its variables
    assert reclaim("verify-record", folder).code == 0


def test_clean_removes_what_a_dead_runner_left_and_resume_then_ends_with_3(
    reclaim: Call, boxes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without an engine `clean` sees no container: tests beside this one leave some on purpose, to resume them.
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    notebook = write_notebook(tmp_path / "long.ipynb", BEGUN, "import time; time.sleep(60)")
    runs = tmp_path / "runs"
    process = begin(runs, notebook)
    assert reclaim("clean", "--json").json["leftovers"] == []  # its runner lives
    ran = reclaim("resume", only_attempt(runs))
    assert ran.code == 1
    assert f"a runner is at work on this attempt (pid {process.pid}" in ran.err
    process.kill()
    process.wait()
    (found,) = reclaim("clean", "--dry-run", "--json").json["leftovers"]
    assert (found["kind"], found["removed"]) == ("process", False)
    kernel = int(found["name"])
    os.kill(kernel, 0)
    ran = reclaim("clean")
    assert ran.code == 0
    assert f"removed process {kernel}" in ran.out
    assert list(boxes.iterdir()) == []
    assert reclaim("clean").out == "nothing to remove\n"
    ran = reclaim("resume", only_attempt(runs), "--json")
    assert ran.code == 3
    assert ran.json["attempt"]["reason"] == "infrastructure_error"
    counts = reclaim("status", runs, "--json").json["counts"]
    assert (counts["infrastructure_error"], counts["ungraded"], counts["graded"]) == (1, 1, 0)


def test_a_terminal_shows_budget_cell_and_output_while_it_runs(tmp_path: Path) -> None:
    notebook = write_notebook(
        tmp_path / "shown.ipynb", "import time\nprint('\\x1b]0;title\\x07step 3 of 9', flush=True)\ntime.sleep(2)"
    )
    words = ["run", PAPER, "--kernel", "local", "--runs", tmp_path / "runs", "--option", f"notebook={notebook}"]
    main, other = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    process = subprocess.Popen([RECLAIM, *words], stdout=other, stderr=other, env=environment)
    os.close(other)
    seen = b""
    while True:
        try:
            piece = os.read(main, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        seen += piece
    os.close(main)
    assert process.wait(timeout=120) == 0
    text = seen.decode()
    assert "starting the kernel" in text
    assert "tier retrain | agent replay | kernel local (unsandboxed" in text
    assert "of 0.05 CPU-hours" in text
    assert "import time" in text
    assert "step 3 of 9" in text
    assert "\x1b]0;" not in text  # a cell does not get to steer the terminal
    assert re.search(r"ended .*agent_stopped", text)


@pytest.mark.slow
def test_the_demo_shows_three_tiers_and_a_null_agent(tmp_path: Path, reclaim: Call) -> None:
    runs = tmp_path / "runs"
    before = ["run", PAPER, "--agent", "constant", "--kernel", "local", "--runs", runs, "--batch", "demo"]
    assert reclaim(*before).code == 0  # the demo then makes the second repeat
    ran = in_process("demo", "--runs", runs)
    assert ran.code == 0, ran
    for tier in ("run", "retrain", "reimplement"):
        assert re.search(rf"^{tier} .*replay", ran.out, re.M)
    assert re.search(r"^retrain .*constant .*ROC AUC 0\.99", ran.out, re.M)
    notebooks = re.findall(r"^ +(\S+attempt\.ipynb)$", ran.out, re.M)
    assert len(notebooks) == 4
    assert all(Path(notebook).exists() for notebook in notebooks)
    assert notebooks[3].endswith("constant/02/attempt.ipynb")
    assert "jupyter lab" in ran.out
    assert "unsandboxed" in ran.out


def test_a_container_attempt_says_so(kernel_image: ImageInfo, tmp_path: Path) -> None:
    notebook = write_notebook(tmp_path / "where.ipynb", "import os; print(os.getcwd())")
    option = f"notebook={notebook}"
    ran = in_process("run", PAPER, "--kernel", "docker", "--runs", tmp_path / "runs", "--option", option, "--json")
    assert ran.code == 0, ran
    row = ran.json["attempt"]
    assert (row["kernel"], row["unsandboxed"], row["reason"]) == ("docker", False, "agent_stopped")
    assert "kernel docker" in ran.err
    assert "unsandboxed" not in ran.err
    cells = json.loads(Path(ran.json["notebook"]).read_text())["cells"]
    (agents,) = [cell for cell in cells if cell["metadata"]["reclaim"]["author"] == "agent"]
    assert "".join(agents["outputs"][0]["text"]) == "/work\n"


@pytest.mark.parametrize("kernel", ["local", pytest.param("docker", marks=pytest.mark.docker)])
def test_the_kernelspecs_serve_plain_papermill(
    kernel: str, tmp_path: Path, request: pytest.FixtureRequest, boxes: Path
) -> None:
    if kernel == "docker":
        request.getfixturevalue("kernel_image")
    notebook = write_notebook(tmp_path / "plain.ipynb", "import sys; print('six', 2 * 3)")
    document = json.loads(notebook.read_text())
    document["metadata"] = {"kernelspec": {"name": f"reclaim-{kernel}", "display_name": "", "language": "python"}}
    notebook.write_text(json.dumps(document))
    # Plain papermill, but for the grammar that costs it seconds beside jupyter_server (see reclaim_nb/cli.py).
    program = "import sys; sys.modules['rfc3987_syntax'] = None; from papermill.cli import papermill; papermill()"
    words = [sys.executable, "-c", program, notebook, tmp_path / "out.ipynb", "--no-progress-bar"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    (cell,) = json.loads((tmp_path / "out.ipynb").read_text())["cells"]
    assert "".join(cell["outputs"][0]["text"]) == "six 6\n"
    assert list(boxes.iterdir()) == []
