"""What cells print, show, raise and leave behind: each in a defined state, whole in the record, bounded in the notebook.

One attempt per kind of kernel runs all the cells; the tests look at what it left.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from attempt_helpers import Cells, Result, run

SEND = "send = lambda kind, content: k.session.send(k.iopub_socket, kind, content, parent=k.get_parent())\n"
KERNEL = "k = get_ipython().kernel\n"

CELLS: Cells = {
    "plain": "print('hello'); 41 + 1",
    "input": "input('your name? ')",
    "getpass": "import getpass; getpass.getpass()",
    "bytes": (
        "import os, subprocess, sys\n"
        "every = bytes(range(256))\n"
        "subprocess.run([sys.executable, '-c', 'import sys; sys.stdout.buffer.write(bytes(range(256)) * 300)'])\n"
        "os.write(1, every * 40); os.write(2, every)\n"
        "print('after the bytes')"
    ),
    "split utf-8": (
        "import os, time\nfor part in ('\u00e9\u4f60\U0001f600' * 50).encode():\n    os.write(1, bytes([part]))\nprint('end')"
    ),
    "surrogate print": "print('a\\ud800b'); import sys; print('c\\udfffd', file=sys.stderr)",
    "surrogate raise": "raise ValueError('bad \\ud800 text')",
    "surrogate show": (
        "display({'text/plain': 'x\\udc00', 'application/json': {'\\ud800': '\\udfff'}}, raw=True, metadata={'\\ud800': 1})"
    ),
    "surrogate value": "'lone \\ud800 value'",
    "surrogate file": "import os; open(b'name\\xff', 'w').close(); print(os.listdir('.'))",
    "image": "from IPython.display import Image; display(Image(data=b'\\x89PNG' + bytes(range(256)), format='png'))",
    "ansi": "print('\\x1b[31mred\\x1b[0m and \\x1b[1mbold\\x1b[0m')",
    "bar": (
        "import sys\n"
        "for i in range(1, 3001):\n    sys.stderr.write(f'\\rstep {i}/3000'); sys.stderr.flush()\n"
        "sys.stderr.write('\\n')"
    ),
    "display": "shown = display('value 71.9', display_id='r')",
    "update": "shown.update('value 84.3')",
    "clear": (
        "from IPython.display import clear_output\n"
        "print('first 0.1'); clear_output(); print('second 0.2'); clear_output(wait=True); print('third 0.3')"
    ),
    "many": "for i in range(1000): display({'text/plain': f'output {i}'}, raw=True)",
    "magic": "%nope 3",
    "cell magic": "%%nope\nx",
    "syntax": "def f(:",
    "exit 0": "import sys; sys.exit(0)",
    "exit text": "raise SystemExit('enough')",
    "shell": "!printf 'from the shell\\n'; exit 3",
    "bash": "%%bash\necho in bash >&2; exit 4",
    "handler": "get_ipython().set_custom_exc((Exception,), lambda shell, kind, value, tb, tb_offset=None: print('handled'))",
    "handled": "1/0",
    "handler off": "get_ipython().set_custom_exc((), None)",
    "bad repr": "class Bad:\n    def __repr__(self): raise RuntimeError('no repr')\nBad()",
    "long error": "raise ValueError('x' * 2_000_000)",
    "huge error": "raise ValueError('x' * 20_000_000)",
    "deep error": "def f(n): return f(n + 1)\nf(0)",
    "group": "raise ExceptionGroup('two', [ValueError(1), KeyError('k')])",
    "own error": "class E(Exception):\n    def __str__(self): raise RuntimeError('no text')\nraise E()",
    "holds stdout": (
        "import subprocess, sys\n"
        "holder = subprocess.Popen([sys.executable, '-c', 'import time; print(\"started\", flush=True); time.sleep(600)'])\n"
        "print('the cell ends')"
    ),
    "holder lives": "print(holder.poll()); holder.kill(); print(holder.wait())",
    "thread": (
        "import threading\ngo = threading.Event()\n"
        "thread = threading.Thread(target=lambda: (go.wait(), print('late 84.3', flush=True)))\nthread.start()"
    ),
    "thread joins": "go.set(); thread.join(); print('joined')",
    "warn": "import warnings; warnings.warn('careful')",
    "log": "import logging; logging.getLogger().error('logged')",
    "forked": "import os\npid = os.fork()\nif pid == 0:\n    print('in the child'); os._exit(0)\nos.waitpid(pid, 0)[1]",
    "pool": (
        "from multiprocessing import get_context\nwith get_context('fork').Pool(2) as pool:\n    print(pool.map(abs, [-1, -2]))"
    ),
    "async": "import asyncio; await asyncio.sleep(0.01); print('awaited')",
    "empty": "",
    "comment": "# nothing",
    "long source": "x = '''" + "y" * 100_000 + "'''; len(x)",
    "nul": "print('a\\x00b')",
    "stream objects": "import sys; print(sys.stdout.encoding, sys.stdout.isatty()); sys.stdout.write('w'); sys.stdout.writelines(['l'])",
    "tool": "print(attempt.check_anchor('two', 2)); print(attempt.release, len(attempt.read_paper('Method')) > 0)",
    "tool refused": "attempt.check_anchor('three', 3)",
    "tool number": "attempt.submit('1e999999999')",
    "tool nan": "attempt.submit(float('nan'))",
    "tool note": "attempt.submit(4, note='x' * 20_000)",
    "tool unknown": "attempt._call('erase')",
    "tool lies": "attempt._call('read_output', cell=[1])",
    "tool infinite": "attempt._call('read_output', cell='x', start=float('1e400'))",
    "tool look-alike": "attempt._call('check_anchor', name={'$payload': {'offset': 3}}, value='1')",
    "tool long": "attempt._call('check_anchor', name='y' * 100_000, value='1')",
    "budget": "print(attempt.budget())",
    "forged types": (
        KERNEL
        + SEND
        + "for kind in ('stream', 'display_data', 'update_display_data', 'execute_result', 'error', 'clear_output',\n"
        "             'execute_input', 'status', 'comm_open', 'nonsense', '\\ud800'):\n"
        "    for content in ({}, [], 'text', None, 3, {'text': [1]}, {'data': 1, 'transient': 'x'}, {'data': {'a': 1}},\n"
        "                    {'traceback': 3}, {'execution_count': -1}, {'data': {'application/json': {'$payload': 1}}},\n"
        "                    {'text': {'$payload': {'offset': 0, 'length': 1, 'bytes': 1, 'sha256': 'x'}}}):\n"
        "        send(kind, content)\n"
        "print('all sent')"
    ),
    "forged json": (
        KERNEL + "pack = k.session.pack\n"
        "for body in ('{\"data\": {\"application/json\": ' + '['*5000 + ']'*5000 + '}}', '{\"data\":' + '9'*5000 + '}',\n"
        "             '{\"data\": {\"application/json\": NaN}}', '{\"text\": ' , '[]', 'nul',\n"
        "             '{\"data\": {\"application/json\": ' + '{\"a\":'*400 + '1' + '}'*400 + '}}'):\n"
        "    k.session.pack = lambda value, body=body: body.encode() if value == {'marker': 1} else pack(value)\n"
        "    k.session.send(k.iopub_socket, 'display_data', {'marker': 1}, parent=k.get_parent())\n"
        "k.session.pack = pack\n"
        "print('all sent')"
    ),
    "forged frames": (
        KERNEL + "sock = k.iopub_socket\n"
        "for frames in ([b''], [b'x', b'<IDS|MSG>'], [b'x', b'<IDS|MSG>', b'', b'{}', b'{}', b'{}', b'{}'], [b'\\xff' * 9] * 9):\n"
        "    sock.send_multipart(frames)\n"
        "print('all sent')"
    ),
    "forged id": (
        KERNEL + "m = k.session.msg('stream', {'name': 'stdout', 'text': 'forged'}, parent=k.get_parent())\n"
        "for number in ('\u00b2', '9' * 5000, 'x', ''):\n"
        "    m['header']['msg_id'] = m['msg_id'] = f'some_1_{number}'\n"
        "    k.session.send(k.iopub_socket, m)"
    ),
    "older cell": (
        KERNEL
        + "old = {'header': {'msg_id': first_id, 'session': 'x', 'username': 'x', 'msg_type': 'execute_request',\n"
        "       'version': '5.3', 'date': '2026-01-01T00:00:00Z'}}\n"
        "_ = k.session.send(k.iopub_socket, 'stream', {'name': 'stdout', 'text': 'forged 84.3'}, parent=old['header'])"
    ),
    "last": "print('the kernel still answers', 41 + 1)",
}
CELLS["plain"] = "first_id = get_ipython().kernel.get_parent()['header']['msg_id']\nprint('hello'); 41 + 1"
ERRORS = {
    "input": "EOFError",
    "getpass": "EOFError",
    "surrogate raise": "ValueError",
    "magic": "UsageError",
    "cell magic": "UsageError",
    "syntax": "SyntaxError",
    "exit 0": "SystemExit",
    "exit text": "SystemExit",
    "bash": "CalledProcessError",
    "handled": "ZeroDivisionError",
    "long error": "ValueError",
    "huge error": "",
    "deep error": "RecursionError",
    "group": "ExceptionGroup",
    "own error": "E",
    "tool refused": "ToolError",
    "tool number": "ToolError",
    "tool nan": "ToolError",
    "tool note": "ToolError",
    "tool unknown": "ToolError",
    "tool lies": "ToolError",
    "tool infinite": "ToolError",
    "tool look-alike": "ToolError",
    "tool long": "ToolError",
}


@pytest.fixture(scope="module")
def played(kernel: str, tmp_path_factory: pytest.TempPathFactory) -> Result:
    return run(tmp_path_factory.mktemp("cells"), CELLS, kernel)


class TestEveryCell:
    def test_all_ran_and_the_attempt_ended_by_itself(self, played: Result) -> None:
        assert list(played.cells) == list(CELLS)
        assert (played.reason, played.detail) == ("agent_stopped", None)

    @pytest.mark.parametrize("case", CELLS)
    def test_has_the_status_that_is_due(self, played: Result, case: str) -> None:
        assert played.status(case) == ("error" if case in ERRORS else "ok")
        assert played.facts(case).get("detail", "").startswith(ERRORS.get(case, ""))
        assert played.facts(case)["idle"] is True

    @pytest.mark.parametrize("case", [case for case in CELLS if not case.startswith("forged")])
    def test_lost_no_message(self, played: Result, case: str) -> None:
        assert played.facts(case)["gaps"] == 0
        assert played.facts(case)["messages"] >= 4

    def test_kept_its_source(self, played: Result) -> None:
        sources = {data["metadata"].get("case"): data["source"] for data in played.of("cell")}
        for case, source in CELLS.items():
            assert sources[case] == source
            assert "".join(played.cells[case]["source"]) == source

    def test_the_last_one_was_answered(self, played: Result) -> None:
        assert played.text("last") == "the kernel still answers 42\n"


class TestText:
    def test_result_and_print(self, played: Result) -> None:
        assert played.text("plain") == "hello\n"
        assert played.cells["plain"]["outputs"][-1]["data"]["text/plain"] == ["42"]

    def test_input_says_what_to_do(self, played: Result) -> None:
        assert "nobody to ask" in played.facts("input")["detail"]
        assert "nobody to ask" in played.facts("getpass")["detail"]

    def test_every_byte_arrives_in_some_form(self, played: Result) -> None:
        printed = played.printed("bytes")
        ascii_part = bytes(range(1, 128)).decode()
        assert printed.count(ascii_part.replace("\r", "")[20:]) == 340
        assert printed.endswith("after the bytes\n")
        assert ascii_part[40:] in played.printed("bytes", "stderr")

    def test_a_character_split_over_writes_is_whole(self, played: Result) -> None:
        assert "\ufffd" not in played.printed("split utf-8")
        assert played.printed("split utf-8") == "\u00e9\u4f60\U0001f600" * 50 + "end\n"

    def test_lone_surrogates_are_escaped_everywhere(self, played: Result) -> None:
        assert played.text("surrogate print") == "a\\ud800b\n"
        assert played.text("surrogate print", "stderr") == "c\\udfffd\n"
        assert "bad \\ud800 text" in played.facts("surrogate raise")["detail"]
        assert "\\\\udc00" in played.shown("surrogate show")
        played.folder.notebook.read_bytes().decode("utf-8")
        json.dumps(played.notebook, ensure_ascii=False).encode("utf-8")

    def test_ansi_is_kept_in_the_notebook(self, played: Result) -> None:
        assert played.text("ansi") == "\x1b[31mred\x1b[0m and \x1b[1mbold\x1b[0m\n"

    def test_a_progress_bar_is_one_line(self, played: Result) -> None:
        assert played.text("bar", "stderr") == "step 3000/3000\n"
        assert played.printed("bar", "stderr").count("\r") == 3000

    def test_a_cut_error_is_whole_in_the_record(self, played: Result) -> None:
        assert len(played.shown("long error")) < 200_000
        errors = [data for data in played.messages("long error") if data["msg_type"] == "error"]
        assert len(errors[0]["content"]["evalue"]) == 2_000_000

    def test_a_nul_byte_is_kept(self, played: Result) -> None:
        assert played.printed("nul") == "a\x00b\n"


class TestDisplays:
    def test_an_image_is_shown(self, played: Result) -> None:
        (output,) = played.cells["image"]["outputs"]
        assert "image/png" in output["data"]

    def test_an_update_shows_in_the_older_cell_and_is_marked(self, played: Result) -> None:
        (output,) = played.cells["display"]["outputs"]
        assert "84.3" in json.dumps(output)
        assert played.facts("display")["updated_later_by"] == [played.cells["update"]["id"]]
        assert "71.9" in json.dumps(played.messages("display"))

    def test_a_clear_hides_in_the_notebook_and_keeps_in_the_stream(self, played: Result) -> None:
        assert played.text("clear") == "third 0.3\n"
        assert played.facts("clear")["cleared"] == 2
        assert played.printed("clear") == "first 0.1\nsecond 0.2\nthird 0.3\n"

    def test_many_outputs_show_both_ends_and_the_count(self, played: Result) -> None:
        outputs = played.cells["many"]["outputs"]
        assert len(outputs) == 201
        assert "800 outputs left out" in "".join(outputs[100]["text"])
        assert sum(data["msg_type"] == "display_data" for data in played.messages("many")) == 1000


class TestProcesses:
    def test_a_child_that_holds_stdout_does_not_hold_the_cell(self, played: Result) -> None:
        assert "the cell ends" in played.printed("holds stdout")
        assert played.text("holder lives") == "None\n-9\n"

    def test_a_shell_that_fails(self, played: Result) -> None:
        assert played.text("shell") == "from the shell\n"
        assert "in bash" in played.text("bash", "stderr")
        assert "exit status 4" in played.facts("bash")["detail"]

    def test_a_fork_prints_once(self, played: Result) -> None:
        assert played.printed("forked").count("in the child") == 1
        assert played.text("pool") == "[1, 2]\n"

    def test_late_output_of_a_thread_belongs_to_the_cell_that_started_it(self, played: Result) -> None:
        late = [data for data in played.messages("thread") if data["late"] and data["msg_type"] == "stream"]
        assert [data["content"]["text"].strip() for data in late] == ["late 84.3"]
        assert "late 84.3" not in played.shown("thread joins")
        assert played.facts("thread")["late"] >= 1

    def test_a_handled_exception_is_still_an_error(self, played: Result) -> None:
        assert played.text("handled") == "handled\n"


class TestTools:
    def test_calls_are_recorded_with_their_cell(self, played: Result) -> None:
        calls = [(data["name"], data["cell"]) for data in played.of("tool")]
        assert ("check_anchor", played.cells["tool"]["id"]) in calls
        assert ("budget", played.cells["budget"]["id"]) in calls
        assert "agrees with the paper" in played.text("tool")

    def test_a_refused_call_says_why(self, played: Result) -> None:
        assert "this card has no anchor 'three'; it has `two`" in played.facts("tool refused")["detail"]
        assert "out of reach" in played.facts("tool number")["detail"]
        assert "not a finite number" in played.facts("tool nan")["detail"]
        assert "more than 10000 characters" in played.facts("tool note")["detail"]
        assert "there is no tool 'erase'" in played.facts("tool unknown")["detail"]

    def test_long_arguments_stand_outside_the_line(self, played: Result) -> None:
        assert max(map(len, played.folder.stream.read_bytes().splitlines())) < 250_000
        assert played.of("end")[0]["submission"] is None


class TestForgeries:
    def test_the_record_keeps_what_was_sent(self, played: Result) -> None:
        kinds = {data["msg_type"] for data in played.of("message")}
        assert {"nonsense", "unsigned", "malformed"} <= kinds
        assert played.text("forged types").endswith("all sent\n")

    def test_a_message_forged_for_an_older_cell_is_marked_late(self, played: Result) -> None:
        assert "forged 84.3" not in played.shown("older cell")
        late = [data for data in played.messages("plain") if data["msg_type"] == "stream" and data["late"]]
        assert [data["content"]["text"] for data in late] == ["forged 84.3"]
        assert played.facts("plain")["late"] >= 1


class TestWholeAttempt:
    def test_the_notebook_begins_and_ends_with_the_harness(self, played: Result) -> None:
        cells = played.notebook["cells"]
        assert [cell["id"] for cell in cells[:4]] == ["about", "card", "parameters", "begin"]
        assert cells[-1]["id"] == "reclaim-end"
        assert "the agent stopped without handing in a value" in "".join(cells[-1]["source"])

    def test_kernelspec_and_language_stand_in_the_notebook(self, played: Result) -> None:
        assert played.notebook["metadata"]["kernelspec"]["name"].startswith("reclaim-")
        assert played.notebook["metadata"]["language_info"]["name"] == "python"
        assert played.notebook["metadata"]["language_info"]["version"].startswith("3.")

    def test_every_cell_says_how_long_it_ran(self, played: Result) -> None:
        for case in CELLS:
            facts = played.facts(case)
            assert facts["author"] == "agent"
            assert facts["held_seconds"] >= 0
            assert facts["charged_seconds"] >= 0
            assert facts["started"] <= facts["ended"]

    def test_nothing_of_the_key_is_recorded(self, played: Result) -> None:
        assert b'"key"' not in played.folder.stream.read_bytes()
        assert isinstance(played.folder.path, Path)
