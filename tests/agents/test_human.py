"""A person makes an attempt: from a notebook in Jupyter, across closed tabs and a killed runner, graded as any."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import nbformat
import pytest
from agent_helpers import LOAD, MEASURE, PAPER, grade_outcome
from in_step import has, let_go, time_passes, until_let_go
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient

from reclaim_nb.agents.desk_client import DESK, DeskGone, DeskLine
from reclaim_nb.attempts import lookups
from reclaim_nb.attempts.prepare import Request, prepare
from reclaim_nb.attempts.prompts import Prompts
from reclaim_nb.attempts.runner import Finished, Observer, run_attempt
from reclaim_nb.errors import AttemptError
from reclaim_nb.record.folder import AttemptFolder, is_held, open_folder
from reclaim_nb.record.reader import read_events
from reclaim_nb.record.verify import verify_record

pytestmark = pytest.mark.slow  # each test runs a kernel

RECLAIM = Path(sys.executable).with_name("reclaim")


# ---- the whole way, as a person goes it ------------------------------------------------------------------------


def reclaim(*words: object, code: int = 0) -> str:
    done = subprocess.run([str(RECLAIM), *map(str, words)], capture_output=True, text=True, timeout=200)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if code == 0 else done.stderr


def wait_until(holds: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


class Tab:
    """A notebook's tab: a client of the working notebook's kernel, as JupyterLab has one."""

    def __init__(self, folder: Path) -> None:
        self.manager, self.client = start_new_kernel(kernel_name="reclaim-attempt", cwd=str(folder))

    def run(self, source: str) -> tuple[str, str]:
        """Run a cell; return its status and what it shows."""
        shown: list[str] = []

        def show(message: dict[str, Any]) -> None:
            content = message["content"]
            if message["msg_type"] == "stream":
                shown.append(content["text"])
            elif message["msg_type"] in ("execute_result", "display_data"):
                shown.append(content["data"]["text/plain"])
            elif message["msg_type"] == "error":
                shown.append(f"{content['ename']}: {content['evalue']}")

        reply = self.client.execute_interactive(source, timeout=60, output_hook=show)
        return reply["content"]["status"], "".join(shown)

    def reply(self, request: str) -> dict[str, Any]:
        """Wait for the reply to a request."""
        while (message := self.client.get_shell_msg(timeout=60))["parent_header"]["msg_id"] != request:
            pass
        content: dict[str, Any] = message["content"]
        return content

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@contextmanager
def tab_of(folder: Path) -> Iterator[Tab]:
    tab = Tab(folder)
    try:
        yield tab
    finally:
        tab.close()


def test_a_person_solves_a_paper_over_closed_tabs_and_a_killed_runner(tmp_path: Path) -> None:
    told = json.loads(
        reclaim("attempt", "open", PAPER, "--runs", tmp_path, "--kernel", "local", "--person", "anna", "--json")
    )
    folder = open_folder(told["folder"])
    work = nbformat.read(told["notebook"], as_version=4)
    assert work.metadata.kernelspec.name == "reclaim-attempt"
    shown = "\n".join(cell.source for cell in work.cells)
    assert "0.98 to 1.00" in shown and "attempt.submit" in shown and "subsample 256 without replacement" not in shown

    # First sitting: the working notebook, run from top to bottom by Jupyter's own client.
    work.cells[-1].source = LOAD
    NotebookClient(work, timeout=60, resources={"metadata": {"path": str(folder.path)}}).execute()
    assert "CPU-hours" in work.cells[-2].outputs[0].data["text/plain"]
    assert work.cells[-1].outputs[0].text == "rows 683\n"

    # Second sitting, in which the runner dies: the tab says so and what to do.
    with tab_of(folder.path) as tab:
        assert tab.run("len(labels)") == ("ok", "683")
        os.kill(told["runner"]["pid"], signal.SIGKILL)
        wait_until(lambda: not is_held(folder))
        status, text = tab.run("1 + 1")
        assert status == "error" and f"reclaim attempt open {folder.path}" in text

        # The same tab goes on once there is a runner again, with every variable there.
        again = json.loads(reclaim("attempt", "open", folder.path, "--json"))
        assert again["notebook"] == told["notebook"] and again["runner"]["pid"] != told["runner"]["pid"]
        assert tab.run("attempt.check_anchor('rows', len(labels))") == (
            "ok",
            "anchor rows: 683 count agrees with the paper",
        )
        assert tab.run("%%markdown\nNow the *measurement*.")[0] == "ok"
        status, text = tab.run(MEASURE)
        assert status == "ok" and text.startswith("ROC AUC 0.98")
        status, text = tab.run("attempt.submit(round(auc.mean(), 4), note='mean of three seeds')")
        assert status == "ok" and "the attempt is over: submitted" in text
        wait_until(lambda: not is_held(folder) and folder.verdicts())
        status, text = tab.run("1 + 1")
        assert status == "error" and "the attempt has ended: submitted" in text

    verdict = json.loads(folder.verdicts()[0].read_text())
    assert verdict["outcome"] == "reproduced"
    assert verify_record(folder).sound
    events = list(read_events(folder.stream))
    cells = [event.data for event in events if event.kind == "cell" and event.data["author"] != "harness"]
    assert {cell["author"] for cell in cells} == {"human"}
    assert [cell["turn"] for cell in cells if cell["cell_type"] == "code"] == [1, 2, 3, 4, 5, 6]
    assert events[0].data["spec"]["agent"] == {"name": "human", "model": None, "options": {"person": "anna"}}
    assert [event.data["resumed"] for event in events if event.kind == "runner"] == [False, True]
    assert "this attempt has ended: submitted" in reclaim("attempt", "open", folder.path, code=1)


def test_what_cannot_begin_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    assert "nowhere/nothing" in reclaim("attempt", "open", "nowhere/nothing", "--runs", tmp_path / "runs", code=1)
    assert not [path for path in (tmp_path / "runs").rglob("*") if path.is_file()]


# ---- the desk, closely -----------------------------------------------------------------------------------------


class Sitting:
    """An attempt of a person in a thread of this process."""

    def __init__(self, folder: Path, observer: Observer | None = None, **request: Any) -> None:
        self._observer = observer
        given = {"kernel": "local", **request}
        prepared = prepare(Request(PAPER, agent="human", runs=str(folder), **given))
        self.folder: AttemptFolder = prepared.folder
        self.finished: Finished | None = None
        self._thread = threading.Thread(target=self._run, args=(prepared,))
        self._thread.start()
        wait_until(lambda: (self.folder.path / DESK).exists() or not self._thread.is_alive())

    def _run(self, prepared: Any) -> None:
        self.finished = run_attempt(prepared, self._observer)

    def line(self) -> DeskLine:
        return DeskLine(self.folder.path)

    def run(self, source: str, line: DeskLine | None = None) -> tuple[dict[str, Any], str]:
        """Run a cell; return the last answer and the text it showed."""
        own = line or self.line()
        own.send("execute", source=source)
        answer, text = heard(own)
        if line is None:
            own.close()
        return answer, text

    def end(self) -> Finished:
        if self._thread.is_alive() and (self.folder.path / DESK).exists():
            with suppress(DeskGone):
                self.line().ask("close")
        self._thread.join(60)
        assert self.finished is not None
        return self.finished


def heard(line: DeskLine) -> tuple[dict[str, Any], str]:
    text = ""
    while (answer := line.receive())["is"] == "message":
        text += answer["content"].get("text", "")
    return answer, text


@pytest.fixture(scope="module")
def sitting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sitting]:
    """One attempt for all tests that leave it open."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookups, "SECONDS", 60.0)  # the first look-up loads much, and a machine may be busy
        made = Sitting(tmp_path_factory.mktemp("sitting"))
        yield made
        finished = made.end()
    assert (finished.reason, finished.detail) == ("agent_stopped", "closed by the person")
    assert verify_record(finished.folder).sound
    assert not (finished.folder.path / DESK).exists()


def statuses(sitting: Sitting) -> list[str]:
    return [event.data["status"] for event in read_events(sitting.folder.stream) if event.kind == "cell_end"]


def test_outputs_come_as_they_are_made(sitting: Sitting) -> None:
    line = sitting.line()
    source = f"print('one', flush=True)\n{until_let_go('outputs')}print('two')"
    line.send("execute", source=source, cell="abc")
    assert line.receive()["content"]["text"] == "one\n"
    let_go(sitting.folder.path, "outputs")
    answer, text = heard(line)
    assert (answer["status"], text) == ("ok", "two\n")
    last = [event.data for event in read_events(sitting.folder.stream) if event.kind == "cell"][-1]
    assert (last["author"], last["metadata"]) == ("human", {"working_cell": "abc"})
    line.close()


def test_an_interrupt_reaches_the_cell_and_the_attempt_goes_on(sitting: Sitting) -> None:
    with tab_of(sitting.folder.path) as tab:
        request = tab.client.execute("import time\nprint('in it', flush=True)\ntime.sleep(50)")
        while tab.client.get_iopub_msg(timeout=30)["msg_type"] != "stream":
            pass
        tab.manager.interrupt_kernel()
        assert tab.reply(request)["ename"] == "KeyboardInterrupt"
        assert tab.run("6 * 7") == ("ok", "42")


def test_a_cell_goes_on_without_its_tab_and_the_next_waits_for_it(sitting: Sitting) -> None:
    line, next_line = sitting.line(), sitting.line()
    line.send("execute", source=f"print('begun', flush=True)\n{until_let_go('tab gone')}left = 'all done'")
    assert line.receive()["content"]["text"] == "begun\n"
    line.close()
    next_line.send("execute", source="print(left)")
    assert "waits" in next_line.receive()["content"]["text"]
    let_go(sitting.folder.path, "tab gone")
    answer, text = heard(next_line)
    assert (answer["status"], text) == ("ok", "all done\n")
    next_line.close()


def test_what_had_not_begun_when_its_tab_went_never_begins(sitting: Sitting) -> None:
    busy, waiting = sitting.line(), sitting.line()
    busy.send("execute", source="print('begun', flush=True)\n" + until_let_go("waiting gone"))
    busy.receive()
    waiting.send("execute", source="never = True")
    assert "waits" in waiting.receive()["content"]["text"]
    waiting.close()
    other = sitting.line()
    assert other.ask("hello")["is"] == "hello"  # the desk answers in turn, so by now it knows who has gone
    let_go(sitting.folder.path, "waiting gone")
    heard(busy)
    other.close()
    busy.close()
    assert sitting.run("print('never' in globals())")[1] == "False\n"


def test_a_restart_of_the_notebooks_kernel_leaves_the_variables(sitting: Sitting) -> None:
    with tab_of(sitting.folder.path) as tab:
        assert tab.run("kept = 5")[0] == "ok"
        tab.manager.restart_kernel(now=True)
        tab.client.wait_for_ready(timeout=60)
        assert tab.run("kept") == ("ok", "5")


def test_jupyters_server_starts_the_notebooks_kernel_where_the_notebook_lies(sitting: Sitting) -> None:
    from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager

    root = sitting.folder.path.parents[2]
    work = nbformat.read(sitting.folder.path / "work.ipynb", as_version=4)

    async def go() -> str:
        manager = AsyncMappingKernelManager(root_dir=str(root))
        # As JupyterLab asks for it: the notebook's folder, relative to the server's.
        where = str(sitting.folder.path.relative_to(root))
        kernel = await manager.start_kernel(kernel_name=work.metadata.kernelspec.name, path=where)
        client = manager.get_kernel(kernel).client()
        client.start_channels()
        try:
            await client.wait_for_ready(timeout=60)
            reply = await client.execute_interactive("served = 'by the server'", timeout=60)
            return str(reply["content"]["status"])
        finally:
            client.stop_channels()
            await manager.shutdown_kernel(kernel, now=True)

    assert asyncio.run(go()) == "ok"
    assert sitting.run("print(served)")[1] == "by the server\n"


def test_a_flood_is_cut_in_the_tab_and_whole_in_the_record(sitting: Sitting) -> None:
    answer, text = sitting.run("for _ in range(30): print('x' * 400_000)\nprint('the end')")
    assert answer["status"] == "ok"
    assert 7_000_000 < len(text) < 9_000_000 and "not shown here" in text[-200:]
    sent = "attempt.read_output({!r}, start=30 * 400_001, length=20)"
    assert sitting.run(f"print({sent.format(answer['cell'])})")[1] == "the end\n\n"


def test_what_a_front_end_asks_silently_is_no_cell(sitting: Sitting) -> None:
    before = len(statuses(sitting))
    with tab_of(sitting.folder.path) as tab:
        assert tab.reply(tab.client.execute("spied = 1", silent=True))["status"] == "ok"
        assert tab.run("'spied' in globals()") == ("ok", "False")
    assert len(statuses(sitting)) == before + 1


BUSY = """
import time
class Slow:
    def __dir__(self):
        until = time.process_time() + 1.0
        while time.process_time() < until:
            pass
        print('looked at')
        return ['first_answer', 'second_answer']
    def __repr__(self):
        return 'a slow one'
slow_thing = Slow()
"""


def test_names_are_completed_and_inspected_without_record_and_charge(sitting: Sitting) -> None:
    """What a notebook asks for Tab and Shift+Tab comes from the attempt's kernel, and is neither recorded nor paid."""
    with tab_of(sitting.folder.path) as tab:
        assert tab.run(BUSY)[0] == "ok"
        charged = "float(str(attempt.budget()).split()[0])"
        before = float(tab.run(charged)[1])
        events = len(list(read_events(sitting.folder.stream)))

        reply = tab.reply(tab.client.complete("slow_thi"))
        assert reply["matches"] == ["slow_thing"] and (reply["cursor_start"], reply["cursor_end"]) == (0, 8)
        assert "first_answer" in " ".join(tab.reply(tab.client.complete("slow_thing."))["matches"])
        reply = tab.reply(tab.client.inspect("slow_thing"))
        assert reply["found"] and "a slow one" in reply["data"]["text/plain"]
        assert tab.reply(tab.client.inspect("no_such_name"))["found"] is False

        new = [event for event in read_events(sitting.folder.stream)][events:]
        # What it prints while it is looked at is no secret, and belongs to no cell.
        told = [event.data for event in new if event.kind == "message"]
        assert [(one["msg_type"], one["cell"]) for one in told] == [("stream", None)]
        assert (float(tab.run(charged)[1]) - before) * 3600 < 0.9


def test_while_a_cell_runs_nothing_is_completed_and_nothing_waits(sitting: Sitting) -> None:
    busy, other = sitting.line(), sitting.line()
    busy.send("execute", source="print('begun', flush=True)\n" + until_let_go("nothing completed"))
    busy.receive()
    assert other.ask("complete", source="pri", cursor=3) == {"is": "reply", "content": {}}
    let_go(sitting.folder.path, "nothing completed")
    assert heard(busy)[0]["status"] == "ok"
    assert "print" in " ".join(other.ask("complete", source="pri", cursor=3)["content"]["matches"])
    busy.close()
    other.close()


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (b'{"do": "dance"}\n', "not a request"),
        (b"no json\n", "not a request"),
        (b'{"do": "submit", "value": "many"}\n', "not a number"),
        (b'{"do": "submit", "value": "1", "cell": "nowhere"}\n', "no cell"),
    ],
)
def test_what_is_no_request_is_refused_with_a_reason(sitting: Sitting, sent: bytes, told: str) -> None:
    line = sitting.line()
    line._socket.sendall(sent)
    answer = line.receive()
    assert answer["is"] == "refused" and told in answer["text"]
    line.close()


def test_a_value_can_be_handed_in_from_the_command_line(tmp_path: Path) -> None:
    sitting = Sitting(tmp_path)
    line = sitting.line()
    sitting.run(LOAD, line)
    cell, text = sitting.run(MEASURE, line)
    value = text.split()[2]
    assert line.ask("submit", value=value, cell=cell["cell"], note="by hand")["is"] == "over"
    finished = sitting.end()
    assert finished.reason == "submitted"
    assert finished.notebook["metadata"]["reclaim"]["submission"]["cell"] == cell["cell"]
    assert grade_outcome(finished) == "reproduced"
    with pytest.raises(DeskGone, match="has ended: submitted"):
        sitting.line()


def test_from_a_container_the_desk_is_out_of_reach(kernel_image: object, tmp_path: Path) -> None:
    sitting = Sitting(tmp_path, kernel="docker")
    path = json.loads((sitting.folder.path / DESK).read_text())["socket"]
    assert Path(path).is_socket() and Path(path).parent.stat().st_mode & 0o077 == 0
    look = f"import os\nprint(os.getcwd(), os.path.exists({path!r}), os.path.exists({os.path.dirname(path)!r}))"
    assert sitting.run(look)[1] == "/work False False\n"
    assert sitting.end().reason == "agent_stopped"


@pytest.mark.parametrize(
    ("limits", "source", "reason"),
    [
        ({"budget_hours": "0.0003"}, "while True: pass", "budget_exhausted"),
        ({"turns": 1}, "x = 1", "turn_limit"),
        ({"wall_clock_seconds": 600}, "import time; open('begun', 'w').close(); time.sleep(60)", "wall_clock"),
    ],
)
def test_a_person_has_the_limits_of_any_agent(tmp_path: Path, limits: dict[str, Any], source: str, reason: str) -> None:
    sitting = Sitting(tmp_path, time_passes(has("begun")), **limits)
    line = sitting.line()
    answer, _ = sitting.run(source, line)
    if reason == "turn_limit":
        assert answer["status"] == "ok"
        answer, _ = sitting.run(source, line)
    assert reason in answer["over"]
    assert sitting.end().reason == reason


def test_conditions_hold_for_a_person_too(tmp_path: Path) -> None:
    sitting = Sitting(tmp_path, conditions=("anchor_gate", "nudge"), budget_hours="0.005")
    line = sitting.line()
    answer, _ = sitting.run("while True: pass", line)
    assert answer["status"] == "interrupted" and "no anchor has agreed" in answer["detail"]
    answer, _ = sitting.run("x = 1", line)
    assert answer["status"] == "refused" and "check_anchor" in answer["detail"]
    told = line.ask("close")
    assert told["is"] == "told" and "CPU-hours" in told["text"]
    assert line.ask("close")["is"] == "closed"
    assert sitting.end().reason == "agent_stopped"


def test_a_person_is_told_what_every_agent_is_told_word_for_word(sitting: Sitting) -> None:
    spec = next(iter(read_events(sitting.folder.stream))).data["spec"]
    work = nbformat.read(sitting.folder.path / "work.ipynb", as_version=4)
    rules, task = (next(cell.source for cell in work.cells if cell.id == name) for name in ("rules", "task"))
    others = prepare(Request(PAPER, agent="nothing", kernel="local", runs=str(sitting.folder.path / "others"))).spec
    assert spec["prompt_sha256"] == others.prompt_sha256
    from reclaim_nb.attempts.prompts import _file

    told = Prompts(rules, task, _file("asked"), _file("conditions/nudge"), _file("continued"))
    assert told.sha256 == spec["prompt_sha256"]


def test_wrong_options_are_told_before_anything_begins(tmp_path: Path) -> None:
    with pytest.raises(AttemptError, match="person"):
        prepare(Request(PAPER, agent="human", kernel="local", runs=str(tmp_path), options={"name": "x"}))
    assert not list(tmp_path.iterdir())
