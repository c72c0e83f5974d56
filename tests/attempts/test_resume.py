"""``kill -9`` of the runner at any moment, and what ``resume`` makes of it."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path

import pytest
from attempt_helpers import Result, checked, containers_of, prepared, processes_of, run, traces_of, wait_for
from in_step import HEEDED, let_go, until_let_go
from runner_process import BEGUN, RunnerProcess

from reclaim_nb.attempts.runner import resume_attempt, run_attempt
from reclaim_nb.batch.settle import _bury
from reclaim_nb.errors import AttemptError, AttemptExists, RecordError
from reclaim_nb.kernels.leftovers import find_leftovers
from reclaim_nb.record.folder import AttemptFolder, is_held
from reclaim_nb.record.verify import verify_record


def resumed(runner: RunnerProcess, before: bytes) -> Result:
    """Resume and check that nothing that was on disk has changed."""
    result = checked(resume_attempt(runner.path))
    assert result.folder.stream.read_bytes().startswith(before)
    assert result.notebook["metadata"]["reclaim"]["resumed"] == 1
    return result


def test_a_runner_that_was_taken_for_dead_before_it_began_gives_way(tmp_path: Path) -> None:
    made = prepared(tmp_path, {"sets": "x = 41"})
    _bury(made.folder, "infrastructure_error", "its runner died")
    before = made.folder.stream.read_bytes()
    with pytest.raises(AttemptExists, match="before this one began"):
        run_attempt(made)
    assert made.folder.stream.read_bytes() == before
    assert not is_held(made.folder)


class TestKilled:
    def test_in_a_running_cell(self, kernel: str, tmp_path: Path) -> None:
        cells = {"sets": "x = 41", "sleeps": "import time; print('begun'); time.sleep(3)", "uses": "print(x + 1)"}
        runner = RunnerProcess(tmp_path, cells, kernel, BEGUN)
        runner.wait_frozen()
        result = resumed(runner, runner.kill())
        assert result.reason == "agent_stopped"
        assert [result.status(case) for case in cells] == ["ok", "interrupted", "ok"]
        assert result.text("uses") == "42\n", "the kernel is the same, with its variables"
        assert "the runner was away for" in result.facts("sleeps")["detail"]
        assert result.text("sleeps").startswith("begun\n")

    def test_while_the_agent_thinks(self, kernel: str, tmp_path: Path) -> None:
        cells = {"sets": "x = 41", "uses": "print(x + 1)"}
        runner = RunnerProcess(tmp_path, cells, kernel, '"kind":"cell_end"', times=2)
        runner.wait_frozen()
        before = runner.kill()
        result = resumed(runner, before)
        assert before.count(b'"kind":"execute"') == 2, "the agent was thinking when its runner was killed"
        assert (result.reason, result.text("uses")) == ("agent_stopped", "42\n")

    @pytest.mark.parametrize("mark", ['"kind":"attempt"', '"kind":"runner"', '"kind":"cell"', '"kind":"execute"'])
    def test_before_anything_has_run(self, kernel: str, tmp_path: Path, mark: str) -> None:
        runner = RunnerProcess(tmp_path, {"one": "print('one')", "two": "print('two')"}, kernel, freezes=mark)
        runner.wait_frozen()
        before = runner.kill()
        result = resumed(runner, before)
        assert before.count(b'"kind":"execute"') <= 1, "no cell of the agent had run when its runner was killed"
        assert result.reason == "agent_stopped"
        assert result.text("two") == "two\n"

    def test_between_the_record_of_a_cell_and_its_sending(self, kernel: str, tmp_path: Path) -> None:
        cells = {"marks": "open('ran', 'w')", "looks": "import os; print(os.path.exists('ran'))"}
        runner = RunnerProcess(tmp_path, cells, kernel, freezes='"kind":"execute"', times=2)
        runner.wait_frozen()
        result = resumed(runner, runner.kill())
        assert [result.status(case) for case in cells] == ["interrupted", "ok"]
        assert "whether it ran is not known" in result.facts("marks")["detail"]
        assert result.text("looks") == "False\n"

    def test_in_the_middle_of_a_flood(self, kernel: str, tmp_path: Path) -> None:
        flood = "for i in range(300_000): print('line', i)"
        runner = RunnerProcess(tmp_path, {"floods": flood, "after": "print('after', i)"}, kernel, '"text":"line')
        runner.wait_frozen()
        before = runner.kill()
        result = resumed(runner, before)
        assert result.status("floods") == "interrupted"
        assert result.text("after") == "after 299999\n"

    def test_after_the_submission(self, kernel: str, tmp_path: Path) -> None:
        hands_in = "import time; attempt.submit(4); print('begun'); time.sleep(2)"
        runner = RunnerProcess(tmp_path, {"hands in": hands_in, "never": "1"}, kernel, BEGUN)
        runner.wait_frozen()
        result = resumed(runner, runner.kill())
        assert result.reason == "submitted"
        assert result.of("end")[0]["submission"]["value"] == "4"
        assert "never" not in result.cells

    def test_in_the_middle_of_a_tool_call(self, kernel: str, tmp_path: Path) -> None:
        """The runner is frozen before it can answer, so the cell waits for an answer that the dead runner owed it."""
        asks = "open('asks', 'w').close()\nattempt.budget()"
        cells = {"waits": f"print('begun')\n{until_let_go()}{asks}", "after": "print('after')"}
        runner = RunnerProcess(tmp_path, cells, kernel, BEGUN)
        runner.wait_frozen()
        let_go(runner.path)
        wait_for((runner.path / "workspace" / "asks").exists, "the cell asks, and nobody answers")
        result = resumed(runner, runner.kill())
        assert result.status("waits") == "interrupted"
        assert result.text("after") == "after\n"

    def test_twice(self, kernel: str, tmp_path: Path) -> None:
        cells = {"sets": "x = 41", "sleeps": "import time; print('begun'); time.sleep(2)", "uses": "print(x + 1)"}
        runner = RunnerProcess(tmp_path, cells, kernel, BEGUN)
        runner.wait_frozen()
        first = runner.kill()
        runner.resume('"kind":"runner"')
        runner.wait_frozen()
        before = runner.kill()
        assert before.startswith(first) and before.count(b'"kind":"runner"') == 2
        result = checked(resume_attempt(runner.path))
        assert result.folder.stream.read_bytes().startswith(before)
        assert result.text("uses") == "42\n"

    def test_over_a_torn_line(self, kernel: str, tmp_path: Path) -> None:
        cells = {"sets": "x = 41", "sleeps": "import time; print('begun'); time.sleep(1)", "x": "x"}
        runner = RunnerProcess(tmp_path, cells, kernel, BEGUN)
        runner.wait_frozen()
        runner.kill()
        with open(runner.path / "stream.jsonl", "ab") as file:
            file.write(b'{"seq":')
        result = resumed(runner, runner.stream)
        assert result.reason == "agent_stopped"

    def test_a_limit_goes_on_counting(self, kernel: str, tmp_path: Path) -> None:
        cells = {"sleeps": "print('begun')\nwhile True: pass"}
        runner = RunnerProcess(tmp_path, cells, kernel, BEGUN, wall_clock_seconds=4.0)
        runner.wait_frozen()
        result = resumed(runner, runner.kill())
        assert result.reason == "wall_clock"
        assert result.status("sleeps") == "interrupted"

    def test_a_cell_limit_is_kept_and_heeded(self, kernel: str, tmp_path: Path) -> None:
        cells = {"sleeps": "print('begun')\nwhile True: pass", "after": "print('after')"}
        runner = RunnerProcess(tmp_path, cells, kernel, BEGUN, cell_seconds=3.0, limits=HEEDED)
        runner.wait_frozen()
        result = resumed(runner, runner.kill())
        assert result.reason == "agent_stopped"
        assert result.text("after") == "after\n", "the kernel heeded the interrupt and lives"


class TestKernelGone:
    def test_with_every_cell_kept(self, kernel: str, tmp_path: Path) -> None:
        dies = f"print('begun')\n{until_let_go()}os._exit(3)"
        runner = RunnerProcess(tmp_path, {"one": "print('one')", "dies": dies, "never": "1"}, kernel, BEGUN)
        runner.wait_frozen()
        before = runner.kill()
        let_go(runner.path)
        if kernel == "local":
            wait_for(lambda: not processes_of(runner.attempt), "the end of the kernel")
        else:
            wait_for(lambda: not running(runner.attempt), "the end of the container")
        result = resumed_without_runner(runner, before)
        assert result.reason == "infrastructure_error"
        assert "the kernel was gone" in (result.detail or "") or "does not run any more" in (result.detail or "")
        assert result.text("one") == "one\n"
        assert [result.status("one"), result.status("dies")] == ["ok", "killed"]

    def test_container_removed(self, docker: str, tmp_path: Path) -> None:
        from reclaim_nb.kernels.images import engine

        runner = RunnerProcess(tmp_path, {"one": "print('one')", "sleeps": "import time; time.sleep(600)"}, docker)
        runner.wait('"execute_input"', 3)
        before = runner.kill()
        client = engine()
        for container in containers_of(runner.attempt):
            client.api.remove_container(container, force=True)
        client.close()
        result = resumed_without_runner(runner, before)
        assert result.reason == "infrastructure_error"
        assert result.text("one") == "one\n"
        assert result.status("sleeps") == "killed"

    def test_sockets_removed_from_inside(self, kernel: str, tmp_path: Path) -> None:
        """Connected sockets go on working without their names, so only a resume meets it."""
        gone = (
            "import glob, os\nfor name in glob.glob(os.environ['RECLAIM_HEARTBEAT'][:-11] + 's/k-*'): os.remove(name)"
        )
        runner = RunnerProcess(tmp_path, {"removes": gone, "sleeps": "import time; time.sleep(600)"}, kernel)
        runner.wait('"execute_input"', 3)
        result = resumed_without_runner(runner, runner.kill())
        assert result.reason == "infrastructure_error"
        assert "sockets [1, 2, 3, 4, 5] were removed" in (result.detail or "")
        assert [result.status("removes"), result.status("sleeps")] == ["ok", "killed"]

    def test_private_folder_removed(self, kernel: str, tmp_path: Path) -> None:
        runner = RunnerProcess(tmp_path, {"one": "print('one')", "sleeps": "import time; time.sleep(600)"}, kernel)
        runner.wait('"execute_input"', 3)
        before = runner.kill()
        info = [json.loads(line) for line in before.splitlines() if b'"kind":"runner"' in line][-1]["data"]["kernel"]
        box = Path(info["provisioner"]["box"])
        for part in ("h", "owner.json", "kernel.json"):
            shutil.rmtree(box / part, ignore_errors=True)
            (box / part).unlink(missing_ok=True)
        result = resumed_without_runner(runner, before, leaves=kernel == "local")
        assert result.reason == "infrastructure_error"
        assert result.text("one") == "one\n"


def running(attempt: str) -> list[str]:
    from reclaim_nb.kernels.images import engine

    client = engine()
    try:
        found = client.api.containers(filters={"label": f"org.reclaim.attempt={attempt}"})
    finally:
        client.close()
    return [container["Id"] for container in found]


def resumed_without_runner(runner: RunnerProcess, before: bytes, leaves: bool = False) -> Result:
    finished = resume_attempt(runner.path)
    if leaves:  # nothing says any more what the process is; it ends itself because its heartbeat is gone
        for pid in processes_of(runner.attempt):
            with suppress(ProcessLookupError):
                os.kill(pid, 9)
        shutil.rmtree(next(iter_boxes(before)), ignore_errors=True)
    result = checked(finished)
    assert result.folder.stream.read_bytes().startswith(before)
    return result


def iter_boxes(stream: bytes):  # type: ignore[no-untyped-def]
    for line in stream.splitlines():
        if b'"kind":"runner"' in line:
            yield json.loads(line)["data"]["kernel"]["provisioner"]["box"]


class TestEnding:
    @pytest.mark.parametrize("stage", ["limit", "closing cell"])
    def test_killed_while_it_ended(self, kernel: str, tmp_path: Path, stage: str) -> None:
        """Whatever a runner had decided stands, and what it had left open is closed."""
        hangs = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nopen('begun', 'w')\nwhile True: pass"
        mark = '"which":"wall_clock"' if stage == "limit" else '"cell":"reclaim-end"'
        cells, limit = {"one": "1", "hangs": hangs}, {"wall_clock_seconds": 600.0}
        runner = RunnerProcess(tmp_path, cells, kernel, mark, ages_after="begun", **limit)
        runner.wait_frozen()
        before = runner.kill()
        assert b'"kind":"end"' not in before
        result = checked(resume_attempt(runner.path))
        assert result.folder.stream.read_bytes().startswith(before)
        assert result.reason == "wall_clock"
        assert result.status("hangs") in ("killed", "interrupted")
        assert result.status("one") == "ok"

    def test_an_ended_attempt_is_not_touched(self, kernel: str, tmp_path: Path) -> None:
        result = run(tmp_path, {"one": "print('one')"}, kernel)
        before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files(result.folder)}
        again = resume_attempt(result.folder.path)
        assert again.reason == result.reason
        assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files(result.folder)} == before

    def test_a_lost_notebook_is_rendered_again(self, tmp_path: Path) -> None:
        result = run(tmp_path, {"one": "print('one')"})
        before = result.folder.notebook.read_bytes()
        result.folder.notebook.unlink()
        resume_attempt(result.folder.path)
        assert result.folder.notebook.read_bytes() == before


def files(folder: AttemptFolder) -> list[Path]:
    return sorted(path for path in folder.path.rglob("*") if path.is_file() and path.name != ".lock")


class TestRefused:
    @pytest.fixture
    def killed(self, tmp_path: Path) -> RunnerProcess:
        runner = RunnerProcess(tmp_path, {"one": "1", "sleeps": "import time; time.sleep(600)"}, "local")
        runner.wait('"execute_input"', 3)
        runner.kill()
        yield runner  # type: ignore[misc]
        for leftover in find_leftovers():
            if leftover.attempt == runner.attempt:
                leftover.remove()
        assert traces_of(runner.attempt) == []

    def test_a_card_with_another_meaning_names_the_field(self, killed: RunnerProcess, tmp_path: Path) -> None:
        card = tmp_path / "tiny" / "toy" / "paper.yaml"
        before = killed.stream
        card.write_text(card.read_text().replace("high: 4.1", "high: 5.1"))
        with pytest.raises(AttemptError, match=r"the card has changed .*\(criterion\)"):
            resume_attempt(killed.path)
        assert killed.stream == before

    def test_a_card_with_a_comment_more_is_the_same(self, killed: RunnerProcess, tmp_path: Path) -> None:
        card = tmp_path / "tiny" / "toy" / "paper.yaml"
        card.write_text("# a comment\n" + card.read_text())
        from reclaim_nb.attempts.runner import _find_card
        from reclaim_nb.attempts.spec import AttemptSpec

        first = json.loads(killed.stream.splitlines()[0])["data"]
        assert _find_card(AttemptSpec.model_validate(first["spec"]), first["card_path"]).card.id == "toy"

    def test_a_changed_stream(self, killed: RunnerProcess) -> None:
        stream = killed.path / "stream.jsonl"
        whole = stream.read_bytes()
        stream.write_bytes(whole.replace(b'"author":"harness"', b'"author":"agent"', 1))
        with pytest.raises(RecordError, match="line"):
            resume_attempt(killed.path)
        assert any("void" in problem for problem in verify_record(AttemptFolder(killed.path)).problems)
        stream.write_bytes(whole)

    def test_an_empty_stream(self, tmp_path: Path) -> None:
        (tmp_path / "stream.jsonl").write_bytes(b"")
        with pytest.raises(RecordError, match="nothing to resume"):
            resume_attempt(tmp_path)

    def test_no_attempt_at_all(self, tmp_path: Path) -> None:
        with pytest.raises(RecordError, match="not an attempt folder"):
            resume_attempt(tmp_path)


def test_an_engine_that_does_not_answer_is_not_a_container_that_is_gone(
    docker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = {"one": "x = 5", "naps": "import time; print('begun'); time.sleep(2)", "uses": "print(x)"}
    runner = RunnerProcess(tmp_path, cells, docker, BEGUN)
    runner.wait_frozen()
    before = runner.kill()
    with monkeypatch.context() as patch:
        patch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
        with pytest.raises(AttemptError, match="the attempt waits"):
            resume_attempt(runner.path)
    assert runner.stream == before
    assert resumed(runner, before).text("uses") == "5\n"
