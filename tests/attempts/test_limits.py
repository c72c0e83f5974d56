"""Limits and ends: each way an attempt can end is reached, recorded and closed in the right order."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
import subprocess
import sys
import textwrap
from decimal import Decimal
from pathlib import Path

import psutil
import pytest
from attempt_helpers import Result, checked, prepared, processes_of, run, tiny_paper, traces_of, wait_for
from in_step import HEEDED, has, time_passes
from runner_process import RunnerProcess

from reclaim_nb.attempts.reasons import ENDINGS
from reclaim_nb.attempts.runner import resume_attempt, run_attempt
from reclaim_nb.attempts.session import Session
from reclaim_nb.attempts.tools import AttemptOver, ToolRefused
from reclaim_nb.errors import AttemptError, KernelError
from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.record.verify import verify_record

BURN = "import time\nend = time.process_time() + {seconds}\nwhile time.process_time() < end: pass"
SECOND = Decimal(1) / 3600


def hours(seconds: float) -> str:
    return f"{seconds / 3600:.8f}"


def living(session: Session) -> list[int]:
    """Return the processes of a session's kernel that have not ended."""
    found = []
    for pid in session.kernel.process_ids():
        with contextlib.suppress(psutil.NoSuchProcess):
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                found.append(pid)
    return found


class TestBudget:
    def test_used_up_by_one_cell(self, kernel: str, tmp_path: Path) -> None:
        result = run(
            tmp_path, {"burns": BURN.format(seconds=60), "never": "1"}, kernel, budget_hours=hours(1.0), limits=HEEDED
        )
        assert result.reason == "budget_exhausted"
        assert result.status("burns") == "interrupted"
        assert "budget_exhausted" in result.facts("burns")["detail"]
        assert "never" not in result.cells
        (limit,) = result.of("limit")
        assert limit["which"] == "budget_exhausted"
        used = result.of("end")[0]["usage"]["charged_seconds"]
        assert 1.0 <= used <= 1.0 + 2.0 * (os.cpu_count() or 1)

    def test_used_up_in_the_background_while_the_agent_thinks(self, kernel: str, tmp_path: Path) -> None:
        async def agent(session: Session) -> None:
            child = BURN.format(seconds=60)
            await session.run_cell(f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', '''{child}'''])")
            for _ in range(1000):
                await asyncio.sleep(0.05)
                await session.budget()

        result = run(tmp_path, agent, kernel, budget_hours=hours(1.0))
        assert result.reason == "budget_exhausted"
        assert result.of("end")[0]["usage"]["charged_seconds"] <= 1.0 + 2.0 * (os.cpu_count() or 1)

    def test_a_background_job_ends_with_the_budget_also_when_a_cell_heeds_the_interrupt(
        self, kernel: str, tmp_path: Path
    ) -> None:
        held: list[float] = []

        async def agent(session: Session) -> None:
            child = BURN.format(seconds=600)
            await session.run_cell(f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', '''{child}'''])")
            await session.run_cell("import time; time.sleep(600)")
            assert session.over
            async with asyncio.timeout(60):
                while living(session):  # the kernel is killed once the cell has ended
                    await asyncio.sleep(0.05)
            held.append(session.tick().charged_seconds)
            await asyncio.sleep(1.5)  # an agent that thinks for long after its last cell
            held.append(session.tick().charged_seconds)

        result = run(tmp_path, agent, kernel, budget_hours=hours(1.0), limits=HEEDED)
        assert result.reason == "budget_exhausted"
        assert held[1] - held[0] < 0.2

    def test_thinking_and_sleeping_are_not_charged(self, kernel: str, tmp_path: Path) -> None:
        async def agent(session: Session) -> None:
            await session.run_cell("import time; time.sleep(1)", metadata={"case": "sleeps"})
            await asyncio.sleep(1)

        result = run(tmp_path, agent, kernel)
        assert result.end("sleeps")["held_seconds"] >= 1
        assert result.end("sleeps")["charged_seconds"] < 0.7
        assert result.of("end")[0]["usage"]["charged_seconds"] < 1.5

    def test_what_a_cell_burns_is_what_it_is_charged(self, kernel: str, tmp_path: Path) -> None:
        many = (
            "from multiprocessing import get_context\n"
            "def burn(_):\n    import time\n    while time.process_time() < 1.0: pass\n    return time.process_time()\n"
            "with get_context('fork').Pool(2) as pool: print(sum(pool.map(burn, range(2))))"
        )
        unwaited = f"import subprocess, sys\nsubprocess.Popen(['sh', '-c', '''{sys.executable} -c 'pass' & :'''])"
        cells = {"one": BURN.format(seconds=1.5), "many": many, "gone": unwaited, "again": BURN.format(seconds=1.0)}
        if kernel == "docker":
            cells["gone"] = cells["gone"].replace(sys.executable, "python")
        result = run(tmp_path, cells, kernel)
        assert 1.5 <= result.end("one")["charged_seconds"] + 0.1 < 3.0
        assert result.end("many")["charged_seconds"] >= 1.5
        assert result.end("again")["charged_seconds"] >= 0.9, "children that ended before do not make it cheaper"

    def test_every_event_that_matters_holds_the_spend(self, tmp_path: Path) -> None:
        result = run(tmp_path, {"one": BURN.format(seconds=0.3), "asks": "attempt.budget()"})
        assert all("charged_seconds" in data["meter"] for data in result.of("cell_end"))
        assert all("charged_seconds" in data["meter"] for data in result.of("tool"))


class TestOtherLimits:
    def test_wall_clock_under_a_cell(self, kernel: str, tmp_path: Path) -> None:
        cells = {"sleeps": "import time; open('begun', 'w').close(); time.sleep(600)"}
        result = run(tmp_path, cells, kernel, wall_clock_seconds=600, limits=HEEDED, observer=time_passes(has("begun")))
        assert (result.reason, result.status("sleeps")) == ("wall_clock", "interrupted")

    def test_wall_clock_while_the_agent_thinks(self, tmp_path: Path) -> None:
        async def agent(session: Session) -> None:
            while True:
                await asyncio.sleep(0.05)
                await session.write_markdown("hm")

        assert run(tmp_path, agent, wall_clock_seconds=1.0).reason == "wall_clock"

    def test_turns(self, tmp_path: Path) -> None:
        result = run(tmp_path, {str(n): f"print({n})" for n in range(5)}, turns=3)
        assert result.reason == "turn_limit"
        assert list(result.cells) == ["0", "1", "2"]
        assert result.of("end")[0]["usage"]["turns"] == 3

    def test_nothing_after_the_stop_counts(self, kernel: str, tmp_path: Path) -> None:
        prints = (
            "import time\nopen('begun', 'w').close()\n"
            "try: time.sleep(600)\nfinally: print('after the stop 84.3', flush=True)"
        )
        result = run(
            tmp_path,
            {"prints": prints},
            kernel,
            wall_clock_seconds=600,
            limits=HEEDED,
            observer=time_passes(has("begun")),
        )
        assert result.reason == "wall_clock"
        assert "84.3" not in str(result.cells["prints"]["outputs"])
        late = [m for m in result.messages("prints") if m["msg_type"] == "stream"]
        assert late and all(m["late"] for m in late)
        assert result.facts("prints")["after_stop"] >= 1

    def test_no_kernel_of_the_attempt_lives_when_the_end_is_written(self, kernel: str, tmp_path: Path) -> None:
        alive: list[list[str]] = []

        def look(session: Session) -> None:
            if session.recorder.rendering.notebook()["metadata"]["reclaim"]["state"] == "ended":
                alive.append(traces_of(session.spec.id))

        result = run(tmp_path, {"one": "1"}, kernel, observer=look)
        assert alive and all(found == [] for found in alive)
        kinds = [event.kind for event in result.events]
        assert kinds[-1] == "end"
        assert kinds.index("end") == len(kinds) - 1


class TestSubmission:
    def test_from_a_cell(self, kernel: str, tmp_path: Path) -> None:
        cells = {"hands in": "attempt.submit(4, note='four \\ud83d'); print('still in the cell')", "never": "1"}
        result = run(tmp_path, cells, kernel)
        assert result.reason == "submitted"
        assert result.of("end")[0]["submission"] | {"note": ""} == {"value": "4", "cell": None, "note": ""}
        assert result.text("hands in") == "still in the cell\n"
        assert "never" not in result.cells

    @pytest.mark.parametrize("value", ["4", "3.99", "-1e-3", None])
    def test_from_outside(self, tmp_path: Path, value: str | None) -> None:
        async def agent(session: Session) -> None:
            result = await session.run_cell("2 + 2")
            await session.submit(value, result.cell, "note")

        result = run(tmp_path, agent)
        assert result.reason == "submitted"
        assert result.of("end")[0]["submission"]["value"] == value

    @pytest.mark.parametrize("value", ["four", "", "nan", "inf", "1e999999999", "9" * 5000, "0x4"])
    def test_refused_and_the_attempt_goes_on(self, tmp_path: Path, value: str) -> None:
        async def agent(session: Session) -> None:
            with pytest.raises(ToolRefused):
                await session.submit(value)
            with pytest.raises(ToolRefused):
                await session.submit("4", cell="no such cell")
            with pytest.raises(ToolRefused):
                await session.submit("4", note="x" * 20_000)
            await session.run_cell("2 + 2")

        result = run(tmp_path, agent)
        assert result.reason == "agent_stopped"
        assert result.of("end")[0]["submission"] is None


class TestAgents:
    @pytest.mark.parametrize(
        ("problem", "reason"),
        [
            (ValueError("a \ud800 fault"), "agent_error"),
            (SystemExit(3), "agent_error"),
            (RecursionError("deep"), "agent_error"),
            (ToolRefused("refused"), "agent_error"),
            (KernelError("no kernel"), "infrastructure_error"),
            (AttemptOver("token_limit", "100"), "token_limit"),
            (AttemptOver("cost_limit", "1"), "cost_limit"),
            (asyncio.CancelledError(), "cancelled"),
        ],
        ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else value,
    )
    def test_an_agent_that_fails(self, tmp_path: Path, problem: BaseException, reason: str) -> None:
        async def agent(session: Session) -> None:
            await session.run_cell("print('before')", metadata={"case": "before"})
            raise problem

        result = run(tmp_path, agent)
        assert result.reason == reason
        assert result.status("before") == "ok"
        if reason == "agent_error":
            assert any(data["what"] == "agent_error" for data in result.of("note"))

    def test_an_agent_that_goes_on_after_the_end_gets_nothing(self, tmp_path: Path) -> None:
        async def agent(session: Session) -> None:
            with pytest.raises(AttemptOver):
                await session.submit("4")
            for call in (session.run_cell("1"), session.write_markdown("x"), session.budget(), session.submit("5")):
                with pytest.raises(AttemptOver):
                    await call

        result = run(tmp_path, agent)
        assert result.reason == "submitted"
        assert result.of("end")[0]["submission"]["value"] == "4"

    def test_cells_asked_for_at_once_run_one_after_the_other(self, tmp_path: Path) -> None:
        async def agent(session: Session) -> None:
            sources = [f"import time; time.sleep(0.05); print({n})" for n in range(4)]
            await asyncio.gather(*(session.run_cell(s, metadata={"case": str(n)}) for n, s in enumerate(sources)))

        result = run(tmp_path, agent)
        assert [result.text(str(n)) for n in range(4)] == [f"{n}\n" for n in range(4)]

    def test_tools_from_outside(self, tmp_path: Path) -> None:
        async def agent(session: Session) -> None:
            cell = (await session.run_cell("print('x' * 50_000)")).cell
            assert await session.read_output(cell, 49_990, 100) == "x" * 10 + "\n"
            assert "Add two and two" in await session.read_paper("Method")
            assert (await session.check_anchor("two", "2"))["agrees"] is True
            for call in (session.read_output("nope"), session.check_anchor("two", "x"), session.check_anchor("y", "1")):
                with pytest.raises(ToolRefused):
                    await call

        assert run(tmp_path, agent).reason == "agent_stopped"

    def test_what_is_no_json_in_metadata_is_recorded_as_text(self, tmp_path: Path) -> None:
        async def agent(session: Session) -> None:
            metadata = {"case": "odd", "path": Path("/x"), "tuple": (1, 2), 3: float("nan"), "text": "\ud83d\ude00"}
            await session.run_cell("1", metadata=metadata)

        assert run(tmp_path, agent).cells["odd"]["metadata"]["path"] == "/x"


class TestHarness:
    def test_a_kernel_that_cannot_start(self, tmp_path: Path) -> None:
        result = run(tmp_path, {"one": "1"}, kernel_options={"python": "/bin/false"})
        assert result.reason == "infrastructure_error"
        assert "died while starting" in (result.detail or "")

    def test_no_program_to_start(self, tmp_path: Path) -> None:
        result = run(tmp_path, {"one": "1"}, kernel_options={"python": "/no/such/python"})
        assert result.reason == "infrastructure_error"
        assert "/no/such/python" in (result.detail or "")

    def test_no_image_to_start(self, docker: str, tmp_path: Path) -> None:
        result = run(tmp_path, {"one": "1"}, docker, kernel_facts={"image": "reclaim-nothing:0"})
        assert result.reason == "infrastructure_error"
        assert "reclaim image build" in (result.detail or "")

    def test_a_fault_of_the_harness_is_not_the_agents(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RECLAIM_BOXES", "/proc/nowhere")
        result = run(tmp_path, {"one": "1"})
        assert result.reason == "infrastructure_error"
        assert any(data["what"] == "harness_error" for data in result.of("note"))
        assert ENDINGS["infrastructure_error"].counts is False

    def test_a_fault_of_the_watch_ends_the_attempt(self, tmp_path: Path) -> None:
        async def agent(session: Session) -> None:
            def broken() -> float:
                raise RuntimeError("no reading")

            session._meter._read = broken  # type: ignore[union-attr]
            await session.guard.ended.wait()
            await session.run_cell("1")

        result = run(tmp_path, agent)
        assert result.reason == "infrastructure_error"
        assert "no reading" in (result.detail or "")

    def test_inside_a_running_loop(self, tmp_path: Path) -> None:
        async def notebook_cell() -> Result:
            return run(tmp_path, {"one": "print('from a notebook')"})

        assert asyncio.run(notebook_cell()).text("one") == "from a notebook\n"

    def test_many_attempts_leave_no_descriptor_and_no_thread(self, tmp_path: Path) -> None:
        import threading

        run(tmp_path, {"one": "1"})
        before = len(os.listdir("/proc/self/fd")), threading.active_count()
        for _ in range(3):
            run(tmp_path, {"one": "1"})
        after = len(os.listdir("/proc/self/fd")), threading.active_count()
        assert after[0] <= before[0] + 1
        assert after[1] <= before[1] + 1


RUNNER = """
import sys
from pathlib import Path
from attempt_helpers import prepared, tiny_paper
from reclaim_nb.attempts.runner import run_attempt
folder, kernel = Path(sys.argv[1]), sys.argv[2]
cells = {{"before": "print('before')", "sleeps": {source!r}, "never": "1"}}
made = prepared(folder, cells, kernel, limits={{"grace_seconds": {grace}}})
print(made.folder.path, made.spec.id, flush=True)
print(run_attempt(made).reason, flush=True)
"""


def start(
    folder: Path, kernel: str, source: str = "import time; print('begun'); time.sleep(600)", grace: float = 20.0
) -> tuple[subprocess.Popen[str], Path, str]:
    """Start a runner in a process of its own; return it, the attempt's folder and id."""
    here = Path(__file__).parent
    process = subprocess.Popen(
        [sys.executable, "-c", RUNNER.format(source=source, grace=grace), str(folder), kernel],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(here)},
        start_new_session=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, process.communicate()[1]
    path, attempt = line.split()
    return process, Path(path), attempt


def sleeping(path: Path) -> bool:
    """Tell whether the cell that sleeps has begun."""
    stream = path / "stream.jsonl"
    return stream.exists() and b'"text":"begun' in stream.read_bytes()


class TestSignals:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
    def test_end_the_attempt_as_cancelled(self, kernel: str, tmp_path: Path, number: signal.Signals) -> None:
        process, path, attempt = start(tmp_path, kernel)
        wait_for(lambda: sleeping(path), "the cell runs")
        process.send_signal(number)
        out, err = process.communicate(timeout=120)
        assert (out.strip(), process.returncode) == ("cancelled", 0), err
        result = Result(AttemptFolder(path), "cancelled", None)
        assert verify_record(result.folder).problems == []
        assert [result.status("before"), result.status("sleeps")] == ["ok", "interrupted"]
        assert result.of("end")[0]["reason"] == "cancelled"
        assert traces_of(attempt) == []

    def test_a_second_and_a_third_change_nothing(self, kernel: str, tmp_path: Path) -> None:
        ignores = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print('begun'); time.sleep(600)"
        process, path, attempt = start(tmp_path, kernel, ignores, grace=1.0)
        wait_for(lambda: sleeping(path), "the cell runs")
        for _ in range(40):
            if process.poll() is not None:
                break
            process.send_signal(signal.SIGINT)
            try:
                process.wait(0.05)
            except subprocess.TimeoutExpired:
                continue
        out, err = process.communicate(timeout=120)
        assert out.strip() == "cancelled", err
        assert verify_record(AttemptFolder(path)).problems == []
        assert traces_of(attempt) == []

    @pytest.mark.parametrize("after", ["attempt", "runner"])
    def test_while_the_kernel_starts(self, kernel: str, tmp_path: Path, after: str) -> None:
        process, path, attempt = start(tmp_path, kernel, grace=1.0)
        mark = f'"kind":"{after}"'.encode()
        wait_for(lambda: (path / "stream.jsonl").exists() and mark in (path / "stream.jsonl").read_bytes(), after)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=120)
        assert out.strip() == "cancelled", err
        assert verify_record(AttemptFolder(path)).problems == []
        assert traces_of(attempt) == []

    def test_while_the_attempt_is_ending(self, kernel: str, tmp_path: Path) -> None:
        runner = RunnerProcess(tmp_path, {"hands in": "attempt.submit(4)"}, kernel, freezes='"name":"submit"')
        runner.wait_frozen()
        runner.process.send_signal(signal.SIGTERM)
        runner.process.send_signal(signal.SIGCONT)
        assert runner.end().split()[0] in ("submitted", "cancelled")
        assert verify_record(AttemptFolder(runner.path)).problems == []
        assert traces_of(runner.attempt) == []


class TestFullDisk:
    def test_ends_as_infrastructure_error_and_resume_closes_it(self, kernel: str, tmp_path: Path) -> None:
        """The stream cannot grow past a file size limit of the runner's process, like on a full disk."""
        code = textwrap.dedent(
            """
            import resource, signal, sys
            from pathlib import Path
            from attempt_helpers import prepared
            from reclaim_nb.attempts.runner import run_attempt
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            made = prepared(Path(sys.argv[1]), {"prints": "print('before')", "floods": '''
            import os
            for i in range(20_000): print('line', i, os.urandom(100).hex())
            ''', "never": "1"}, sys.argv[2])
            print(made.folder.path, made.spec.id, flush=True)
            resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
            finished = run_attempt(made)
            print(finished.reason, finished.detail, flush=True)
            """
        )
        process = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path), kernel],
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        )
        assert process.returncode == 0, process.stderr
        place, said = process.stdout.splitlines()
        path, attempt = place.split()
        assert said.startswith("infrastructure_error")
        assert "the record cannot be written" in said and "reclaim resume" in said
        folder = AttemptFolder(Path(path))
        assert traces_of(attempt) == []
        before = folder.stream.read_bytes()
        finished = resume_attempt(folder.path)
        assert folder.stream.read_bytes().startswith(before)
        result = checked(finished)
        assert result.reason == "infrastructure_error"
        assert result.status("prints") == "ok"
        assert result.status("floods") == "killed"

    def test_limits_of_this_process_are_untouched(self) -> None:
        assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_the_table_of_endings_is_whole() -> None:
    assert {reason for reason, ending in ENDINGS.items() if not ending.counts} == {"infrastructure_error", "cancelled"}
    assert all(ending.repeat != ending.grade for ending in ENDINGS.values())


def test_a_live_attempt_is_not_resumed(tmp_path: Path) -> None:
    process, path, attempt = start(tmp_path, "local")
    try:
        wait_for(lambda: sleeping(path), "the cell runs")
        before = (path / "stream.jsonl").read_bytes()
        with pytest.raises(AttemptError, match="a runner is at work on this attempt"):
            resume_attempt(path)
        after = (path / "stream.jsonl").read_bytes()
        assert after.startswith(before) and after.count(b'"kind":"runner"') == 1
        assert processes_of(attempt)
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)
    assert traces_of(attempt) == []


def test_preparing_takes_nothing_that_is_wrong(tmp_path: Path) -> None:
    paper = tiny_paper(tmp_path)
    with pytest.raises(AttemptError, match="budget_hours"):
        prepared(tmp_path, {"one": "1"}, paper=paper, budget_hours="many")
    first = prepared(tmp_path, {"one": "1"}, paper=paper, repeat=7)
    with pytest.raises(AttemptError, match="repeat 7 was started before"):
        prepared(tmp_path, {"one": "1"}, paper=paper, repeat=7)
    assert run_attempt(first).reason == "agent_stopped"
