"""The notebook as a rendering of the stream: always valid, always the same, whatever a kernel sends."""

from __future__ import annotations

import copy
import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from record_helpers import Writer

from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.record.payloads import Policy
from reclaim_nb.record.reader import read_events
from reclaim_nb.record.render import MIME_LIMIT, Rendering
from reclaim_nb.record.verify import verify_record

text = st.text(st.characters(exclude_categories=()), max_size=12) | st.sampled_from(
    ["\ud800", "\r", "10%\r20%", "\n", "a\r\nb", "\x1b[31mred\x1b[0m", "x" * 40_000, "\u2028", "\x0b", "\r" * 5, ""]
)
json_value = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=10,
)
special = st.sampled_from(
    [
        {"$payload": 1},
        {"$payload": {"offset": 0, "length": 1, "bytes": 1, "sha256": "x"}},
        {"$cut": {"kept": None}},
        {"$cut": []},
        {"$json": "[]"},
        {"$json": {"$payload": 1}},
        {"$raw": {"$raw": {}}},
        {"$float": "nan"},
        ["line"] * 1500,
        ["y" * 20_000] + ["z"] * 1001,
    ]
)
mime = (
    st.sampled_from(["text/plain", "text/html", "application/json", "application/vnd.x+json", "image/png", "a/b\ud800"])
    | text
)
wild = json_value | special
bundle = st.dictionaries(mime, wild, max_size=3)
display_id = st.sampled_from([{"display_id": "d1"}, {"display_id": "d2"}, {"display_id": 3}, {}]) | wild
content = st.one_of(
    st.tuples(st.just("stream"), st.fixed_dictionaries({"name": st.sampled_from(["stdout", "stderr"]), "text": text})),
    st.tuples(
        st.sampled_from(["display_data", "update_display_data"]),
        st.fixed_dictionaries({"data": bundle, "metadata": json_value, "transient": display_id}),
    ),
    st.tuples(
        st.just("execute_result"),
        st.fixed_dictionaries({"data": bundle, "metadata": st.just({}), "execution_count": json_value}),
    ),
    st.tuples(st.just("error"), st.fixed_dictionaries({"ename": text, "evalue": text, "traceback": st.lists(text)})),
    st.tuples(st.just("clear_output"), st.fixed_dictionaries({"wait": st.booleans()})),
    st.tuples(st.just("execute_input"), st.fixed_dictionaries({"execution_count": json_value})),
    # A cell can send anything it likes through the kernel's own session.
    st.tuples(
        st.sampled_from(["stream", "display_data", "update_display_data", "error", "clear_output", "execute_result"]),
        st.dictionaries(
            st.sampled_from(["name", "text", "data", "metadata", "transient", "traceback", "ename", "wait"]), wild
        ),
    ),
)


def refuse(name: str) -> None:
    raise AssertionError(f"{name} is no strict JSON")


def check(writer: Writer) -> dict[str, Any]:
    """Check everything that must hold of any record, and return its notebook."""
    live = writer.live
    again = Rendering(writer.folder.store())
    for event in read_events(writer.folder.stream):
        again.apply(event)
    assert again.to_bytes() == live, "rendered while it ran and read back later, the notebook is the same"
    notebook: dict[str, Any] = json.loads(live.decode("utf-8"), parse_constant=refuse)
    assert notebook == json.loads(json.dumps(again.notebook()))
    assert again.is_notebook(notebook)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nbformat.validate(nbformat.from_dict(notebook))
    folder = writer.end()
    assert verify_record(folder).problems == []
    return notebook


@settings(max_examples=80)
@given(messages=st.lists(st.tuples(st.sampled_from(["c1", "c2"]), content, st.booleans()), max_size=8), source=text)
def test_any_messages_give_a_valid_notebook_that_renders_the_same_again(
    messages: list[tuple[str, tuple[str, dict[str, Any]], bool]], source: str
) -> None:
    with tempfile.TemporaryDirectory() as name:
        writer = Writer(Path(name))
        writer.begin()
        writer.cell("c1", source)
        writer.cell("c2", source, note=source)
        writer.cell("m", source, "markdown")
        for cell, (kind, body), late in messages:
            writer.message(cell, kind, copy.deepcopy(body), late=late)
            writer.live  # noqa: B018 - rendering in between must change nothing
        writer.end_cell("c1")
        check(writer)


class TestOutputs:
    @pytest.fixture
    def writer(self, tmp_path: Path) -> Writer:
        writer = Writer(tmp_path / "a")
        writer.begin()
        writer.cell("c")
        return writer

    def outputs(self, writer: Writer) -> list[dict[str, Any]]:
        cell = next(cell for cell in check(writer)["cells"] if cell["id"] == "c")
        outputs: list[dict[str, Any]] = cell["outputs"]
        return outputs

    def metadata(self, writer: Writer, cell_id: str = "c") -> dict[str, Any]:
        cell = next(cell for cell in check(writer)["cells"] if cell["id"] == cell_id)
        metadata: dict[str, Any] = cell["metadata"]["reclaim"]
        return metadata

    def test_a_progress_bar_is_one_line(self, writer: Writer) -> None:
        for step in range(0, 101):
            writer.stream("c", f"\r{step:3d}%|{'#' * (step // 2):50}|", "stderr")
        writer.stream("c", "\n", "stderr")
        (output,) = self.outputs(writer)
        assert "".join(output["text"]) == f"100%|{'#' * 50}|\n"

    def test_windows_line_ends_are_line_ends(self, writer: Writer) -> None:
        for piece in ("one\r", "\ntwo\r\n", "\r\nthree"):
            writer.stream("c", piece)
        (output,) = self.outputs(writer)
        assert "".join(output["text"]) == "one\ntwo\n\nthree"

    @pytest.mark.parametrize("text", ["\r" + "x" * 3_000_000, "x" * 3_000_000 + "\r", "ab\r" * 1_000_000, "\r" * 10**6])
    def test_long_lines_with_a_carriage_return_take_no_quadratic_time(self, writer: Writer, text: str) -> None:
        writer.stream("c", text)
        (output,) = self.outputs(writer)
        assert len("".join(output["text"])) < 40_000

    def test_a_flood_keeps_head_tail_and_counts(self, writer: Writer) -> None:
        for number in range(5_000):
            writer.stream("c", f"line {number}\n")
        (output,) = self.outputs(writer)
        shown = "".join(output["text"])
        assert shown.startswith("line 0\n")
        assert shown.endswith("line 4999\n")
        assert "in 5,000 lines; whole in the record" in shown
        assert len(shown) < 40_000

    def test_many_outputs_keep_the_first_and_the_last(self, writer: Writer) -> None:
        for number in range(500):
            writer.show("c", {"text/plain": f"output {number}"})
        outputs = self.outputs(writer)
        assert len(outputs) == 201
        assert "300 outputs left out here" in "".join(outputs[100]["text"])
        assert outputs[-1]["data"]["text/plain"] == ["output 499"]

    def test_a_large_image_is_a_pointer(self, writer: Writer) -> None:
        writer.show("c", {"image/png": "A" * (MIME_LIMIT + 1), "text/plain": "<Figure>"})
        (output,) = self.outputs(writer)
        assert "image/png: too large for the notebook" in output["data"]["text/plain"][0]
        assert "image/png" not in output["data"]

    def test_an_update_is_shown_and_marked(self, writer: Writer) -> None:
        writer.show("c", {"text/plain": "71.9"}, transient={"display_id": "r"})
        writer.end_cell("c")
        writer.cell("later")
        writer.message(
            "later", "update_display_data", {"data": {"text/plain": "84.3"}, "transient": {"display_id": "r"}}
        )
        notebook = check(writer)
        cell = next(cell for cell in notebook["cells"] if cell["id"] == "c")
        assert cell["outputs"][0]["data"]["text/plain"] == ["84.3"]
        assert cell["metadata"]["reclaim"]["updated_later_by"] == ["later"]
        recorded = [event.data for event in read_events(writer.folder.stream) if event.kind == "message"]
        assert [data["content"]["data"]["text/plain"] for data in recorded] == ["71.9", "84.3"]

    def test_a_cleared_output_is_gone_from_the_notebook_and_counted(self, writer: Writer) -> None:
        writer.stream("c", "first 0.7\n")
        writer.message("c", "clear_output", {"wait": False})
        writer.stream("c", "second\n")
        writer.message("c", "clear_output", {"wait": True})
        writer.stream("c", "third 0.9\n")
        notebook = check(writer)
        cell = next(cell for cell in notebook["cells"] if cell["id"] == "c")
        assert cell["outputs"] == [{"output_type": "stream", "name": "stdout", "text": ["third 0.9\n"]}]
        assert cell["metadata"]["reclaim"]["cleared"] == 2
        assert b"first 0.7" in writer.folder.stream.read_bytes()

    def test_output_after_the_stop_is_recorded_and_not_shown(self, writer: Writer) -> None:
        writer.stream("c", "in time\n")
        writer.end_cell("c", "interrupted")
        writer.recorder.append("limit", {"which": "budget_exhausted", "detail": "", "stop": True})
        writer.message("c", "stream", {"name": "stdout", "text": "84.3 too late\n"}, late=True)
        notebook = check(writer)
        assert "too late" not in json.dumps(notebook)
        cell = next(cell for cell in notebook["cells"] if cell["id"] == "c")
        assert cell["metadata"]["reclaim"]["after_stop"] == 1
        assert b"too late" in writer.folder.stream.read_bytes()

    def test_late_output_of_a_thread_stays_with_its_cell_and_is_counted(self, writer: Writer) -> None:
        writer.end_cell("c")
        writer.cell("next")
        writer.message("c", "stream", {"name": "stdout", "text": "from the thread\n"}, late=True)
        notebook = check(writer)
        cell = next(cell for cell in notebook["cells"] if cell["id"] == "c")
        assert cell["outputs"][0]["text"] == ["from the thread\n"]
        assert cell["metadata"]["reclaim"]["late"] == 1

    def test_a_message_of_no_cell_is_recorded_and_not_shown(self, writer: Writer) -> None:
        writer.message(None, "stream", {"name": "stdout", "text": "whose?\n"})
        writer.message("unknown", "stream", {"name": "stdout", "text": "whose?\n"})
        assert self.outputs(writer) == []

    def test_deep_json_is_kept_as_text(self, writer: Writer) -> None:
        deep: Any = "bottom"
        for _ in range(300):
            deep = {"a": [deep]}
        writer.show("c", {"application/json": deep})
        (output,) = self.outputs(writer)
        assert "bottom" in json.dumps(output)

    @pytest.mark.parametrize(
        "look_alike",
        [{"$payload": {"offset": 0}}, {"$cut": {}}, {"$json": 1}, {"$raw": {"$payload": 1}}, {"$float": "nan"}],
        ids=lambda value: next(iter(value)),
    )
    def test_what_looks_like_a_stored_text_comes_back_as_it_was(self, writer: Writer, look_alike: Any) -> None:
        writer.show("c", {"application/json": look_alike})
        (output,) = self.outputs(writer)
        assert output["data"]["application/json"] == look_alike

    def test_a_message_kept_unparsed_is_a_pointer(self, writer: Writer) -> None:
        writer.message("c", "display_data", {"raw": "A" * 100_000})
        (output,) = self.outputs(writer)
        sentence = "[an output too large for the notebook: 100,000 bytes, of which the record has all]"
        assert output["data"] == {"text/plain": [sentence]}

    def test_past_the_cap_a_text_is_cut_counted_and_still_scanned(self, tmp_path: Path) -> None:
        writer = Writer(tmp_path / "capped", Policy(message_cap=100_000, attempt_cap=150_000))
        writer.begin()
        writer.cell("c")
        flood = "x" * 60_000 + "\nfinal accuracy 0.843\n" + "y" * 60_000
        writer.stream("c", flood)
        writer.stream("c", "z" * 90_000)
        writer.stream("c", "w" * 90_000)
        sizes = []
        for event in read_events(writer.folder.stream):
            if event.kind == "message":
                (name, reference), *_ = event.data["content"]["text"].items()
                sizes.append((name, reference["bytes"]))
        assert sizes == [("$cut", len(flood)), ("$payload", 90_000), ("$cut", 90_000)]
        store = writer.folder.store()
        first = next(event for event in read_events(writer.folder.stream) if event.kind == "message")
        assert "final accuracy 0.843" in store.get(first.data["content"]["text"])
        check(writer)

    @pytest.mark.parametrize("piece", ["1", "loss ", "loss1 ", "\n", "x"])
    def test_cutting_takes_no_quadratic_time(self, tmp_path: Path, piece: str) -> None:
        writer = Writer(tmp_path / "capped", Policy(message_cap=1000, attempt_cap=1000))
        writer.begin()
        writer.cell("c")
        writer.stream("c", piece * (400_000 // len(piece)))
        assert next(iter(check(writer)["cells"]))["outputs"]


class TestNotebookAgainstStream:
    def change(self, record: AttemptFolder, change: Any) -> list[str]:
        notebook = json.loads(record.notebook.read_bytes())
        rendering = Rendering(record.store())
        for event in read_events(record.stream):
            rendering.apply(event)
        assert rendering.is_notebook(notebook)
        change(notebook)
        assert not rendering.is_notebook(notebook)
        record.notebook.write_text(json.dumps(notebook))
        return verify_record(record).problems

    @pytest.mark.parametrize(
        ("change", "named"),
        [
            (lambda nb: nb["cells"][1]["outputs"][0].update(text=["84.3\n"]), "cell aaa differs .* outputs"),
            (lambda nb: nb["cells"][2].update(source=["x"]), "cell bbb differs .* source"),
            (lambda nb: nb["cells"][3].update(execution_count=7), "cell ccc differs .* execution_count"),
            (lambda nb: nb["cells"][3]["metadata"]["reclaim"].update(status="error"), "cell ccc differs .* metadata"),
            (lambda nb: nb["cells"][0].update(source=["# Other"]), "cell text differs .* source"),
            (lambda nb: nb["cells"].pop(2), "cell bbb is in the stream but not in the notebook"),
            (lambda nb: nb["cells"].append({"id": "zzz", "cell_type": "code"}), "cell zzz is not in the stream"),
            (lambda nb: nb["cells"].insert(0, nb["cells"].pop(1)), "another order"),
            (lambda nb: nb["cells"].insert(1, {**nb["cells"][1], "source": ["forged"]}), "aaa .* more than once"),
            (lambda nb: nb["cells"].append({**nb["cells"][1], "source": ["forged"]}), "aaa .* more than once"),
            (lambda nb: nb["metadata"]["reclaim"].update(end="submitted!"), "metadata.reclaim differs"),
            (lambda nb: nb["metadata"]["reclaim"]["record"].update(events=3), "does not name a state"),
            (lambda nb: nb["metadata"].pop("reclaim"), "does not name a state"),
            (lambda nb: nb.pop("metadata"), "metadata.reclaim differs"),
            (lambda nb: nb["cells"].__setitem__(0, 3), "a cell is no object"),
            (lambda nb: nb.pop("cells"), "no list of cells"),
            (
                lambda nb: nb["cells"][1]["outputs"][2]["data"]["application/json"].update(papermill=84.3),
                "cell aaa differs .* outputs",
            ),
            (
                lambda nb: nb["cells"][1]["outputs"][2]["data"]["application/json"].update(a=[12]),
                "cell aaa differs .* outputs",
            ),
            (lambda nb: nb["cells"][1]["outputs"][3].update(traceback=["ab"]), "cell aaa differs .* outputs"),
        ],
    )
    def test_a_difference_is_named_cell_by_cell(self, record: AttemptFolder, change: Any, named: str) -> None:
        import re

        problems = self.change(record, change)
        assert any(re.search(named, problem) for problem in problems), problems

    def test_two_changed_cells_are_two_problems(self, record: AttemptFolder) -> None:
        def both(notebook: dict[str, Any]) -> None:
            notebook["cells"][1]["source"] = notebook["cells"][2]["source"] = ["x"]

        assert len(self.change(record, both)) == 2

    @pytest.mark.parametrize("broken", [b"", b"{", b"\xff", b"[" * 10_000, b"[]", b"null", b'{"cells": 3}'])
    def test_no_notebook_at_all(self, record: AttemptFolder, broken: bytes) -> None:
        record.notebook.write_bytes(broken)
        assert any(str(record.notebook) in problem for problem in verify_record(record).problems)

    def test_a_missing_notebook_is_named(self, record: AttemptFolder) -> None:
        record.notebook.unlink()
        assert any("missing" in problem for problem in verify_record(record).problems)

    def test_what_jupyter_does_when_it_saves_is_no_difference(self, record: AttemptFolder) -> None:
        nbformat.write(nbformat.read(record.notebook, 4), record.notebook)
        assert verify_record(record).problems == []

    def test_a_running_attempt_is_compared_with_the_state_its_notebook_names(self, tmp_path: Path) -> None:
        writer = Writer(tmp_path / "a")
        writer.begin()
        writer.cell("c")
        writer.recorder.save()
        writer.stream("c", "more\n")
        assert verify_record(writer.folder).problems == []
        notebook = json.loads(writer.folder.notebook.read_bytes())
        notebook["cells"][0]["source"] = ["forged"]
        writer.folder.notebook.write_text(json.dumps(notebook))
        assert len(verify_record(writer.folder).problems) == 1
