"""Kernels that die, hang or are starved: the cell, the end reason and the message say so, and the runner lives on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from attempt_helpers import Result, run
from in_step import HEEDED, let_go, told, until_let_go

from reclaim_nb.attempts.session import Session

CHILDREN = '''
import subprocess, sys, os
nap = 'import time; time.sleep(600)'
plain = subprocess.Popen([sys.executable, '-c', nap])
session = subprocess.Popen([sys.executable, '-c', nap], start_new_session=True)
moved = f"""
import subprocess, sys, time
subprocess.Popen([sys.executable, '-c', {nap!r}], start_new_session=True)
time.sleep(600)"""
grand = subprocess.Popen([sys.executable, '-c', moved])
'''
# The image has no psutil; /proc tells the same.
ALIVE = """
import os
def alive():
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/cmdline', 'rb') as file: line = file.read()
            with open(f'/proc/{pid}/stat', 'rb') as file: state = file.read().rsplit(b')', 1)[1].split()[0]
            with open(f'/proc/{pid}/environ', 'rb') as file: mine = file.read()
        except OSError:
            continue
        if b'time.sleep(600)' in line and state != b'Z' and os.environ['RECLAIM_ATTEMPT'].encode() in mine:
            found.append(int(pid))
    return found
"""


# What was printed is on its way once the socket's thread has sent it, which no flush can wait for.
DIES = "print('last words', flush=True)\n" + until_let_go()


def once_they_are_heard(session: Session) -> None:
    """Let the cell die, once its last words are in the record."""
    if told('"text":"last words')(session):
        let_go(session.recorder.folder.path)


class TestKernelDeath:
    """The kernel ends under a cell: the cell is killed, the attempt ends, no later cell counts as run."""

    @pytest.mark.parametrize(
        ("how", "said"),
        [
            ("import os; os._exit(3)", "exit code 3"),
            ("import os; os._exit(0)", "exit code 0"),
            ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
            ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "SIGTERM"),
            ("import ctypes; ctypes.string_at(0)", "SIGSEGV"),
            ("import os; os.abort()", "SIGABRT"),
        ],
        ids=["_exit-3", "_exit-0", "kill-9", "kill-15", "segfault", "abort"],
    )
    def test_ends_the_attempt_and_says_how(self, kernel: str, tmp_path: Path, how: str, said: str) -> None:
        result = run(tmp_path, {"before": "print('before')", "dies": DIES + how}, kernel, observer=once_they_are_heard)
        assert result.reason == "kernel_died"
        assert said in (result.detail or "")
        assert result.status("before") == "ok"
        assert result.status("dies") == "killed"
        assert said in result.facts("dies")["detail"]
        assert result.printed("dies") == "last words\n"
        limit = result.of("limit")[-1]
        assert limit["which"] == "kernel_died"
        assert limit["out_of_memory"] is False

    @pytest.mark.parametrize("how", ["exit()", "quit()", "get_ipython().ask_exit()"])
    def test_asking_the_kernel_to_exit_has_a_defined_end(self, kernel: str, tmp_path: Path, how: str) -> None:
        result = run(tmp_path, {"leaves": f"print('bye')\n{how}", "next": "import time; time.sleep(0.5)"}, kernel)
        # ipykernel 7 leaves it to the front end and goes on, ipykernel 6 exits after the cell.
        assert result.printed("leaves") == "bye\n"
        assert result.status("leaves") == "ok"
        if result.reason == "kernel_died":
            assert "exit code 0" in (result.detail or "")
            assert "next" not in result.cells or result.status("next") == "killed"
        else:
            assert (result.reason, result.status("next")) == ("agent_stopped", "ok")

    def test_dies_between_two_cells(self, kernel: str, tmp_path: Path) -> None:
        async def agent(session) -> None:  # type: ignore[no-untyped-def]
            dies = "".join(f"    {line}\n" for line in (until_let_go() + "os._exit(9)").splitlines())
            await session.run_cell(f"import threading\ndef die():\n{dies}threading.Thread(target=die).start()")
            let_go(session.recorder.folder.path)
            while not session.over:
                await session.write_markdown("thinking")
                import asyncio

                await asyncio.sleep(0.05)
            await session.run_cell("print('never')")

        result = run(tmp_path, agent, kernel)
        assert result.reason == "kernel_died"
        assert "exit code 9" in (result.detail or "")
        assert not any("never" in data["source"] for data in result.of("cell"))


class TestHang:
    def test_a_time_limit_interrupts_and_the_kernel_goes_on(self, kernel: str, tmp_path: Path) -> None:
        cells = {
            "define": ALIVE + "x = 5",
            "loops": ("print('begun')\nwhile True: pass", 0.5),
            "sleeps": ("import time; time.sleep(600)", 0.5),
            "children": (CHILDREN + "import time\ntime.sleep(600)", 1.5),
            "after": "print(x, alive())",
        }
        result = run(tmp_path, cells, kernel, limits=HEEDED)  # type: ignore[arg-type]
        assert result.reason == "agent_stopped"
        for case in ("loops", "sleeps", "children"):
            assert result.status(case) == "timeout"
            assert "the time limit of the cell" in result.facts(case)["detail"]
            assert "KeyboardInterrupt" in result.shown(case)
        assert result.text("after") == "5 []\n"

    @pytest.mark.parametrize(
        "how",
        [
            "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass",
            "import signal; signal.signal(signal.SIGINT, lambda *a: print('no', flush=True))\nwhile True: pass",
            "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
            "sum(range(10**13))",
        ],
        ids=["ignores", "catches", "stopped", "holds-the-lock"],
    )
    def test_a_cell_that_does_not_heed_dies_with_its_kernel(self, kernel: str, tmp_path: Path, how: str) -> None:
        result = run(tmp_path, {"children": ALIVE + CHILDREN, "hangs": (how, 0.5), "never": "1"}, kernel)  # type: ignore[dict-item]
        assert result.reason == "kernel_died"
        assert "did not heed the interrupt" in (result.detail or "")
        assert result.status("hangs") == "killed"
        assert "never" not in result.cells

    def test_a_cell_limit_of_the_attempt_holds_for_every_cell(self, kernel: str, tmp_path: Path) -> None:
        cells = {"loops": "while True: pass", "asks more": ("while True: pass", 600.0)}
        result = run(tmp_path, cells, kernel, cell_seconds=0.5, limits=HEEDED)
        assert [result.status(case) for case in result.cells] == ["timeout", "timeout"]

    def test_output_of_a_cell_after_its_time_limit_is_late(self, kernel: str, tmp_path: Path) -> None:
        cells = {
            "times out": (
                "import threading, time\ngo = threading.Event()\n"
                "thread = threading.Thread(target=lambda: (go.wait(), print('too late 84.3')))\nthread.start()\n"
                "time.sleep(600)",
                0.5,
            ),
            "lets go": "go.set(); thread.join()",
        }
        result = run(tmp_path, cells, kernel, limits=HEEDED)  # type: ignore[arg-type]
        assert result.status("times out") == "timeout"
        late = [m for m in result.messages("times out") if m["late"]]
        assert "too late 84.3" in str(late)
        assert result.facts("times out")["late"] == len(late)


class TestStarvation:
    def test_a_full_workspace_interrupts_the_cell_and_can_be_cleared(self, kernel: str, tmp_path: Path) -> None:
        fill = "with open('big', 'wb') as f:\n    while True: f.write(bytes(2**20)); f.flush()"
        result = run(
            tmp_path,
            {"fills": fill, "clears": "import os; os.remove('big'); print(os.listdir('.'))"},
            kernel,
            limits={"workspace_mib": 50, **HEEDED},
            kernel_options={"file_mib": 3000},
        )
        assert result.reason == "agent_stopped"
        assert result.status("fills") in ("interrupted", "error")
        assert "the working folder holds" in result.facts("fills")["detail"] or "File too large" in result.shown(
            "fills"
        )
        assert result.text("clears") == "[]\n"

    def test_a_file_past_its_bound_is_an_error(self, kernel: str, tmp_path: Path) -> None:
        result = run(
            tmp_path,
            {"fills": "open('big', 'wb').write(bytes(2**20 * 20))", "after": "print('fine')"},
            kernel,
            kernel_options={"file_mib": 10},
        )
        assert result.status("fills") == "error"
        assert "OSError" in result.facts("fills")["detail"]
        assert result.status("after") == "ok"

    def test_memory_in_a_container_kills_and_names_the_limit(self, docker: str, tmp_path: Path) -> None:
        hog = "blocks = []\nwhile True: blocks.append(bytearray(2**24))"
        result = run(tmp_path, {"hogs": hog, "never": "1"}, docker, memory_mib=256)
        assert result.reason == "kernel_died"
        assert "memory ran out (limit 256 MiB)" in (result.detail or "")
        assert result.status("hogs") == "killed"
        assert result.of("limit")[-1]["out_of_memory"] is True
        assert "never" not in result.cells

    def test_memory_of_a_local_kernel_is_an_error_of_the_cell(self, tmp_path: Path) -> None:
        hog = "blocks = []\nwhile True: blocks.append(bytearray(2**24))"
        result = run(tmp_path, {"hogs": hog, "frees": "del blocks; print('fine')"}, "local", memory_mib=600)
        assert result.status("hogs") == "error"
        assert "MemoryError" in result.facts("hogs")["detail"]
        assert result.text("frees") == "fine\n"

    def test_a_child_that_runs_out_of_memory_does_not_take_the_kernel(self, docker: str, tmp_path: Path) -> None:
        child = "blocks = []\\nwhile True: blocks.append(bytearray(2**24))"
        source = f"import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', '''{child}''']).returncode)"
        result = run(tmp_path, {"child": source, "after": "print('fine')"}, docker, memory_mib=256)
        assert result.printed("child") in ("-9\n", "1\n")
        assert result.text("after") == "fine\n"

    def test_a_full_tmp_is_an_error_of_the_cell(self, docker: str, tmp_path: Path) -> None:
        fill = "with open('/tmp/big', 'wb') as f:\n    while True: f.write(bytes(2**20))"
        result = run(tmp_path, {"fills": fill, "after": "print('fine')"}, docker, kernel_options={"tmp_mib": 16})
        assert "No space left on device" in result.facts("fills")["detail"]
        assert result.text("after") == "fine\n"

    def test_the_socket_folder_counts_as_workspace(self, docker: str, tmp_path: Path) -> None:
        fill = (
            "import glob\n(folder,) = glob.glob('/tmp/reclaim-*/s')\n"
            "with open(folder + '/big', 'wb') as f:\n    while True: f.write(bytes(2**20)); f.flush()"
        )
        result = run(
            tmp_path, {"fills": fill}, docker, limits={"workspace_mib": 50, **HEEDED}, kernel_options={"file_mib": 3000}
        )
        assert "the working folder holds" in result.facts("fills")["detail"] or "File too large" in result.shown(
            "fills"
        )

    def test_a_fork_bomb_is_bounded_and_stopped(self, docker: str, tmp_path: Path) -> None:
        bomb = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
        result = run(
            tmp_path, {"before": "print('fine')", "bomb": (bomb, 2.0)}, docker, cpus=1.0, kernel_facts={"pids": 64}
        )  # type: ignore[dict-item]
        assert result.status("before") == "ok"
        assert result.status("bomb") in ("killed", "timeout")
        assert result.reason in ("kernel_died", "agent_stopped")

    def test_a_shell_bomb_in_the_background_ends_with_the_box(self, docker: str, tmp_path: Path) -> None:
        source = "import subprocess; subprocess.Popen(['sh', '-c', 'b() { b | b & }; b'])"
        result = run(
            tmp_path, {"bomb": source, "after": ("print('fine')", 20.0)}, docker, cpus=1.0, kernel_facts={"pids": 64}
        )  # type: ignore[dict-item]
        assert result.status("bomb") == "ok"
        assert result.status("after") in ("ok", "killed", "timeout")


class TestContainerDeath:
    def test_the_first_process_cannot_be_killed_from_inside(self, docker: str, tmp_path: Path) -> None:
        result = run(tmp_path, {"kills": "!kill -9 1; echo $?", "after": "print('fine')"}, docker)
        assert result.text("after") == "fine\n"

    def test_killing_everything_ends_the_attempt(self, docker: str, tmp_path: Path) -> None:
        result = run(tmp_path, {"kills": "!kill -9 -1", "never": "1"}, docker)
        assert result.reason == "kernel_died"
        assert result.status("kills") == "killed"

    @pytest.mark.parametrize("how", ["kill", "remove", "stop"])
    def test_a_container_ended_from_outside_ends_the_attempt(self, docker: str, tmp_path: Path, how: str) -> None:
        import asyncio

        from attempt_helpers import containers_of

        from reclaim_nb.kernels.images import engine

        async def agent(session) -> None:  # type: ignore[no-untyped-def]
            await session.run_cell("print('before')", metadata={"case": "before"})

            def end() -> None:
                (container,) = containers_of(session.spec.id)
                client = engine()
                if how == "kill":
                    client.api.kill(container)
                elif how == "stop":
                    client.api.stop(container, timeout=1)
                else:
                    client.api.remove_container(container, force=True)
                client.close()

            ending = asyncio.create_task(asyncio.to_thread(end))
            try:
                await session.run_cell("import time; time.sleep(600)", metadata={"case": "sleeps"})
            finally:
                await ending

        result = run(tmp_path, agent, docker)
        assert result.reason == "kernel_died"
        assert result.status("before") == "ok"
        assert result.status("sleeps") == "killed"
        assert result.detail


@pytest.mark.slow
class TestRudeCells:
    """Cells that break their own kernel's plumbing: whatever they do, the attempt ends in a defined state."""

    @pytest.mark.parametrize(
        "how",
        [
            "import sys; sys.stdout.close()",
            "import sys, io; sys.stdout = io.StringIO(); sys.stderr = None",
            "import builtins; del builtins.print",
            "get_ipython().kernel.iopub_socket.close()",
            "get_ipython().kernel.session.key = b'other'",
            "get_ipython().kernel.shell = None",
            "import os; os.closerange(3, 1000)",
            "import zmq; zmq.Context.instance().term",
            "get_ipython().events.register('post_execute', lambda: 1/0)",
            "get_ipython().input_transformers_cleanup.append(lambda lines: 1/0)",
            "import os, pathlib\nbox = pathlib.Path(os.environ['RECLAIM_HEARTBEAT']).parent.parent\n"
            "for file in (box / 's').iterdir(): file.unlink()",
            "import asyncio; asyncio.get_event_loop().stop()",
        ],
        ids=lambda how: how.split("\n")[0][:40],
    )
    def test_end_in_a_defined_state(self, kernel: str, tmp_path: Path, how: str) -> None:
        cells = {"before": "print('before')", "rude": (how, 5.0), "after": ("41 + 1", 3.0)}
        result = run(tmp_path, cells, kernel, wall_clock_seconds=30.0)  # type: ignore[arg-type]
        assert result.status("before") == "ok"
        assert result.reason in ("agent_stopped", "kernel_died", "wall_clock")
        assert result.status("rude") in ("ok", "error", "killed", "timeout")
        assert all(data["detail"] for data in result.of("cell_end") if data["status"] != "ok")


def test_python_of_the_tests_is_the_kernels(tmp_path: Path) -> None:
    result: Result = run(tmp_path, {"python": "import sys; print(sys.executable)"}, "local")
    assert result.text("python") == sys.executable + "\n"
