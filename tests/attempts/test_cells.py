"""What cells print, show, raise and leave behind: a defined state, whole in the record, bounded in the notebook.

One attempt per kind of kernel runs all the cells; the tests look at what it left.
"""

from __future__ import annotations

import json

import pytest
from attempt_helpers import Result, run
from cell_cases import CELLS, ERRORS


@pytest.fixture(scope="module")
def played(kernel: str, tmp_path_factory: pytest.TempPathFactory) -> Result:
    return run(tmp_path_factory.mktemp("cells"), dict(CELLS), kernel)


class TestEveryCell:
    def test_all_ran_and_the_attempt_ended_by_itself(self, played: Result) -> None:
        assert list(played.cells) == list(CELLS)
        assert (played.reason, played.detail) == ("agent_stopped", None)

    @pytest.mark.parametrize("case", CELLS)
    def test_has_the_status_that_is_due(self, played: Result, case: str) -> None:
        assert played.status(case) == ("error" if case in ERRORS else "ok")
        assert played.facts(case).get("detail", "").startswith(ERRORS.get(case, ""))
        assert played.facts(case)["idle"] is True

    # A forged number is a gap.
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
        assert played.text("plain").startswith("hello\n")
        assert played.cells["plain"]["outputs"][1]["data"]["text/plain"] == ["42"]

    def test_input_says_what_to_do(self, played: Result) -> None:
        assert "nobody to ask" in played.facts("input")["detail"]
        assert "nobody to ask" in played.facts("getpass")["detail"]

    def test_every_byte_arrives_in_some_form(self, played: Result) -> None:
        printed = played.printed("bytes")
        ascii_part = bytes(range(1, 128)).decode()
        assert printed.count(ascii_part.replace("\r", "")[20:]) == 340
        assert "after the bytes\n" in printed
        assert ascii_part[40:] in played.printed("bytes", "stderr")

    def test_a_character_split_over_writes_is_whole(self, played: Result) -> None:
        assert "\ufffd" not in played.printed("split utf-8")
        # What is written past Python's own stream may come between the parts that `print` writes.
        printed = played.printed("split utf-8").replace("end", "").replace("\n", "")
        assert printed == "\u00e9\u4f60\U0001f600" * 50

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
    def test_texts_and_displays_keep_their_order(self, played: Result) -> None:
        outputs = played.cells["order"]["outputs"]
        flat = ["".join(o["text"]) if "text" in o else "".join(o["data"]["text/plain"]) + "\n" for o in outputs]
        assert "".join(flat) == "".join(f"text {i}\nshown {i}\n" for i in range(50))

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
    def test_what_processes_wrote_belongs_to_the_cell_that_waited_for_them(self, played: Result) -> None:
        assert played.printed("writes") == "".join(f"line {i}\n" for i in range(100))
        assert played.printed("after writes") == "after\n"

    def test_a_child_that_holds_stdout_does_not_hold_the_cell(self, played: Result) -> None:
        assert "the cell ends" in played.printed("holds stdout")
        assert played.text("holder lives").replace("started", "").split() == ["None", "-9"]

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
        assert max(len(json.dumps(data)) for data in played.of("tool")) < 20_000
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
