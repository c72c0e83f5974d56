"""The chain: whatever is done to a line of a stream is noticed, and named by its line."""

from __future__ import annotations

import functools
import json
import shutil
import tempfile
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from record_helpers import Writer, whole_record

from reclaim_nb.errors import RecordError
from reclaim_nb.record.events import GENESIS, KINDS, decode, encode, parse, plain
from reclaim_nb.record.folder import AttemptFolder, open_folder
from reclaim_nb.record.payloads import PayloadStore, references
from reclaim_nb.record.reader import BrokenLink, first_event, last_event, read_events, scan
from reclaim_nb.record.stream import StreamWriter
from reclaim_nb.record.verify import verify_record

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=15,
)


@functools.cache
def sound_files() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        record = whole_record(Path(folder) / "a")
        return {path.name: path.read_bytes() for path in record.path.iterdir() if path.is_file()}


def with_stream(stream: bytes) -> list[str]:
    """Return what is said of the sound record when its stream is another one."""
    with tempfile.TemporaryDirectory() as name:
        folder = AttemptFolder(Path(name))
        for file, content in sound_files().items():
            (folder.path / file).write_bytes(content)
        folder.stream.write_bytes(stream)
        return verify_record(folder).problems


class TestTampering:
    def test_the_untouched_record_is_sound(self, record: AttemptFolder) -> None:
        check = verify_record(record)
        assert check.problems == []
        assert check.ended
        assert check.events == len(record.stream.read_bytes().splitlines())

    @settings(max_examples=150)
    @given(data=st.data())
    def test_a_changed_byte_is_noticed(self, data: st.DataObject) -> None:
        stream = bytearray(sound_files()["stream.jsonl"])
        at = data.draw(st.integers(0, len(stream) - 2))
        new = data.draw(st.integers(0, 255).filter(lambda value: value != stream[at]))
        line = stream[:at].count(b"\n") + 1
        stream[at] = new
        problems = with_stream(bytes(stream))
        assert problems
        last = stream.count(b"\n")
        # A change shows at its own line (no event any more) or at the next one; the last line only in the notebook.
        named = [f"line {number}:" for number in (line, line + 1)]
        assert line >= last or any(name in problem for name in named for problem in problems)

    @settings(max_examples=60)
    @given(data=st.data(), how=st.sampled_from(["delete", "insert", "swap", "double", "garbage", "empty"]))
    def test_a_changed_line_is_noticed_and_named(self, data: st.DataObject, how: str) -> None:
        lines = sound_files()["stream.jsonl"].splitlines(keepends=True)
        at = data.draw(st.integers(0, len(lines) - 2))
        if how == "delete":
            del lines[at]
        elif how == "insert":
            event = decode(lines[at].rstrip(b"\n"))
            lines.insert(at + 1, encode(event.seq + 1, event.time, event.hash, "note", {"forged": True}) + b"\n")
        elif how == "swap":
            lines[at], lines[at + 1] = lines[at + 1], lines[at]
        elif how == "double":
            lines.insert(at, lines[at])
        else:
            lines.insert(at + 1, b"no event\n" if how == "garbage" else b"\n")
        problems = with_stream(b"".join(lines))
        assert any(f"line {number}:" in problem for problem in problems for number in range(at + 1, at + 4))

    def test_a_forged_line_with_a_right_hash_breaks_the_next(self) -> None:
        lines = sound_files()["stream.jsonl"].splitlines(keepends=True)
        event = decode(lines[5].rstrip(b"\n"))
        lines[5] = encode(event.seq, event.time, event.prev, event.kind, {**event.data, "late": True}) + b"\n"
        assert any("line 7:" in problem for problem in with_stream(b"".join(lines)))

    @pytest.mark.parametrize(
        "last",
        [
            b"{}",
            b"[]",
            b"[" * 5000,
            b'{"seq":true}',
            b"\xff\xfe",
            b"null",
            b'{"seq":99,"time":[],"prev":{},"kind":[],"data":3}',
            b'{"a":' * 5000,
        ],
    )
    def test_a_replaced_last_line_is_noticed(self, last: bytes) -> None:
        lines = sound_files()["stream.jsonl"].splitlines(keepends=True)
        assert with_stream(b"".join(lines[:-1]) + last + b"\n")

    @settings(max_examples=60)
    @given(kind=st.sampled_from(sorted(KINDS)), data=st.dictionaries(st.text(max_size=8), anything, max_size=3))
    def test_a_last_line_of_the_wrong_form_is_named_not_a_crash(self, kind: str, data: dict[str, Any]) -> None:
        lines = sound_files()["stream.jsonl"].splitlines(keepends=True)
        old = decode(lines[-1].rstrip(b"\n"))
        forged = encode(old.seq, old.time, old.prev, kind, plain(data))
        assert with_stream(b"".join(lines[:-1]) + forged + b"\n")

    @pytest.mark.parametrize("kept", [0, 1, 5, -1])
    def test_a_shortened_stream_is_noticed(self, kept: int) -> None:
        lines = sound_files()["stream.jsonl"].splitlines(keepends=True)
        assert with_stream(b"".join(lines[:kept]))

    def test_no_stream_is_no_attempt_folder(self, record: AttemptFolder) -> None:
        record.stream.unlink()
        with pytest.raises(RecordError, match=r"no stream\.jsonl"):
            open_folder(record.path)
        assert verify_record(record).problems


def texts(payloads: Path) -> list[str]:
    """Return every stored text, read without looking at its hash."""
    raw, found = payloads.read_bytes(), []
    for event in map(decode, sound_files()["stream.jsonl"].splitlines()):
        for reference in references(event.data):
            part = reference["$payload"]
            packed = raw[part["offset"] : part["offset"] + part["length"]]
            found.append(zlib.decompress(packed).decode())
    return found


def texts_of_the_sound_record() -> list[str]:
    return ["long " * 5000] * 3


class TestPayloads:
    @settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
    @given(data=st.data())
    def test_a_changed_byte_is_noticed(self, data: st.DataObject, tmp_path: Path) -> None:
        folder = AttemptFolder(tmp_path)
        for file, content in sound_files().items():
            (tmp_path / file).write_bytes(content)
        payloads = bytearray(sound_files()["payloads.bin"])
        at = data.draw(st.integers(0, len(payloads) - 1))
        payloads[at] ^= data.draw(st.integers(1, 255))
        folder.payloads.write_bytes(payloads)
        problems = verify_record(folder).problems
        # A bit of the compressed form that changes no text (such as the level it was packed with) is no change.
        assert all("payloads.bin" in problem for problem in problems)
        assert problems or texts(folder.payloads) == texts_of_the_sound_record()

    @pytest.mark.parametrize("how", ["missing", "empty", "short", "swapped"])
    def test_a_damaged_file_is_noticed(self, record: AttemptFolder, how: str) -> None:
        whole = record.payloads.read_bytes()
        if how == "missing":
            record.payloads.unlink()
        else:
            half = len(whole) // 2
            damaged = {"empty": b"", "short": whole[:-1], "swapped": whole[half:] + whole[:half]}
            record.payloads.write_bytes(damaged[how])
        problems = verify_record(record).problems
        assert any("payloads.bin" in problem for problem in problems)

    def test_a_write_that_fails_leaves_nothing_and_later_texts_are_right(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import os

        from reclaim_nb.record import payloads

        store = PayloadStore(tmp_path / "payloads.bin")
        first = store.put("first " * 5000)
        real = os.write
        calls = iter([lambda file, data: real(file, data[:10]), _no_space])
        monkeypatch.setattr(payloads.os, "write", lambda file, data: next(calls)(file, data))
        with pytest.raises(RecordError, match="No space left"):
            store.put("second " * 5000)
        monkeypatch.undo()
        third = store.put("third " * 5000)
        fresh = PayloadStore(tmp_path / "payloads.bin")
        assert fresh.get(first) == "first " * 5000
        assert fresh.get(third) == "third " * 5000


def _no_space(file: int, data: bytes) -> int:
    raise OSError(28, "No space left on device")


class TestUnfinishedLines:
    """What a runner leaves that dies while it writes, and how the next one goes on."""

    def torn(self, folder: AttemptFolder, by: int) -> bytes:
        whole = folder.stream.read_bytes()
        folder.stream.write_bytes(whole[: len(whole) - by])
        return folder.stream.read_bytes()

    def test_it_is_reported_at_the_end(self, record: AttemptFolder) -> None:
        self.torn(record, 20)
        check = verify_record(record)
        assert not check.ended
        assert any("a runner died while writing it" in problem for problem in check.problems)

    @pytest.mark.parametrize("kind", ["runner", "cell_end", "limit", "note"])
    def test_the_next_runner_goes_on_whatever_it_writes_first(self, record: AttemptFolder, kind: str) -> None:
        before = self.torn(record, 20)
        with StreamWriter(record.stream, record.store()) as writer:
            writer.append(kind, {"which": "x", "cell": "aaa"})
            writer.append("note", {})
        assert record.stream.read_bytes().startswith(before)
        state = scan(record.stream)
        assert (state.loose, state.unfinished) == (None, False)

    def test_only_the_newline_is_missing(self, record: AttemptFolder) -> None:
        before = self.torn(record, 1)
        events = scan(record.stream).events
        with StreamWriter(record.stream, record.store()) as writer:
            assert writer.seq == events
            writer.append("note", {})
        assert record.stream.read_bytes().startswith(before + b"\n")
        assert scan(record.stream).events == events + 1

    def test_runners_that_die_one_after_the_other(self, record: AttemptFolder) -> None:
        self.torn(record, 20)
        for junk in (b'{"seq":', b"{", b""):
            with StreamWriter(record.stream, record.store()):
                pass
            with open(record.stream, "ab") as file:
                file.write(junk)
        with StreamWriter(record.stream, record.store()) as writer:
            writer.append("runner", {"resumed": True})
        assert scan(record.stream).loose is None

    @settings(max_examples=40)
    @given(data=st.data())
    def test_the_unfinished_line_itself_cannot_be_changed_later(self, data: st.DataObject) -> None:
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "stream.jsonl"
            path.write_bytes(sound_files()["stream.jsonl"][:-30])
            with StreamWriter(path, PayloadStore(Path(name) / "payloads.bin")) as writer:
                writer.append("runner", {"resumed": True})
                writer.append("note", {})
            whole = path.read_bytes().splitlines(keepends=True)
            assert scan(path).loose is None
            torn = bytearray(whole[-3])
            at = data.draw(st.integers(0, len(torn) - 2))
            torn[at] ^= data.draw(st.integers(1, 127))
            path.write_bytes(b"".join([*whole[:-3], bytes(torn), *whole[-2:]]))
            with pytest.raises(BrokenLink):
                scan(path)

    def test_a_removed_unfinished_line_is_noticed(self, record: AttemptFolder) -> None:
        self.torn(record, 20)
        with StreamWriter(record.stream, record.store()) as writer:
            writer.append("runner", {"resumed": True})
        lines = record.stream.read_bytes().splitlines(keepends=True)
        record.stream.write_bytes(b"".join([*lines[:-2], lines[-1]]))
        with pytest.raises(BrokenLink, match="is not there any more"):
            scan(record.stream)


# hypothesis knows the words of the code it tests, and this one at the top of an event is the writer's alone.
own_words = st.text(st.characters(exclude_categories=()), max_size=5).filter(lambda word: word != "$over")


class TestRoundTrip:
    @settings(max_examples=150)
    @given(data=st.dictionaries(own_words, anything, max_size=4))
    def test_what_append_returns_is_what_a_reader_gets(self, data: dict[str, Any]) -> None:
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "stream.jsonl"
            with StreamWriter(path, PayloadStore(Path(name) / "payloads.bin")) as writer:
                written = [writer.append("cell", data), writer.append("note", {"x": data})]
                head = writer.head
            read = list(read_events(path))
            assert [event.data for event in read] == [event.data for event in written]
            assert [event.hash for event in read] == [event.hash for event in written]
            assert read[0].prev == GENESIS
            assert read[1].hash == head

    @pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\ud83d", "\U0001f600", "\x00\x1b[31m", "\u2028", "é"])
    def test_any_text_survives(self, text: str) -> None:
        assert decode(encode(0, "t", GENESIS, "note", {"text": text})).data["text"] == text

    @pytest.mark.parametrize(
        "value",
        [float("nan"), float("inf"), -float("inf"), 10**5000, b"bytes", {1: 2}, (1, 2)],
        ids=["nan", "inf", "-inf", "huge", "bytes", "keys", "tuple"],
    )
    def test_what_is_no_strict_json_is_made_so(self, value: Any, tmp_path: Path) -> None:
        with StreamWriter(tmp_path / "s", PayloadStore(tmp_path / "p")) as writer:
            event = writer.append("note", {"value": value})

        def refuse(name: str) -> None:
            raise AssertionError(name)

        assert json.loads((tmp_path / "s").read_bytes(), parse_constant=refuse)["data"] == event.data

    def test_first_and_last_event(self, record: AttemptFolder, tmp_path: Path) -> None:
        assert first_event(record.stream).kind == "attempt"
        last = last_event(record.stream)
        assert last is not None and last.kind == "end"
        assert last_event(tmp_path / "nothing") is None
        (tmp_path / "torn").write_bytes(record.stream.read_bytes()[:-5])
        before = last_event(tmp_path / "torn")
        assert before is not None and before.kind == "tool"
        with pytest.raises(RecordError, match="does not begin with an attempt"):
            lines = record.stream.read_bytes().splitlines(keepends=True)
            (tmp_path / "headless").write_bytes(b"")
            first_event(tmp_path / "headless")
        assert lines

    def test_a_last_event_larger_than_the_tail_is_found(self, tmp_path: Path) -> None:
        with StreamWriter(tmp_path / "s", PayloadStore(tmp_path / "p")) as writer:
            writer.append("note", {})
            writer.append("end", {"note": "x" * 700_000})
        last = last_event(tmp_path / "s")
        assert last is not None and last.kind == "end"


def test_a_full_disk_leaves_no_part_of_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    from reclaim_nb.record import stream

    writer = StreamWriter(tmp_path / "s", PayloadStore(tmp_path / "p"))
    writer.append("note", {"n": 1})
    real = os.write
    calls = iter([lambda file, data: real(file, data[:10]), _no_space])
    monkeypatch.setattr(stream.os, "write", lambda file, data: next(calls)(file, data))
    with pytest.raises(RecordError, match="free space, then `reclaim resume`"):
        writer.append("note", {"n": 2})
    monkeypatch.undo()
    writer.append("note", {"n": 3})
    writer.close()
    assert [event.data["n"] for event in read_events(tmp_path / "s")] == [1, 3]


def test_the_stream_of_a_resumed_writer_goes_on(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "a")
    writer.begin()
    writer.recorder.close()
    again = Writer(tmp_path / "a")
    again.cell("x")
    again.stream("x", "text " * 10_000)
    again.end_cell("x")
    folder = again.end()
    copy = Path(shutil.copytree(folder.path, tmp_path / "copy"))
    assert verify_record(AttemptFolder(copy)).problems == []


class TestParsing:
    """What is read quickly is what Python's own reader reads."""

    @given(anything, st.booleans(), st.sampled_from([None, 1]))
    def test_of_any_value(self, value: Any, ascii_only: bool, indent: int | None) -> None:
        text = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "surrogatepass")
        assert repr(parse(text)) == repr(json.loads(text))

    @settings(max_examples=300)
    @given(anything, st.data())
    def test_of_any_damaged_text(self, value: Any, data: st.DataObject) -> None:
        text = bytearray(json.dumps(value).encode())
        for _ in range(data.draw(st.integers(1, 3))):
            place = data.draw(st.integers(0, len(text)))
            text[place : place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
        assert _read(parse, bytes(text)) == _read(json.loads, bytes(text))

    @pytest.mark.parametrize(
        "text",
        [
            b"",
            b" ",
            b"\xff",
            b'"\\ud800"',
            b'"\\ud83d\\ude00"',
            b'"\x01"',
            b'"\x7f"',
            b"NaN",
            b"[Infinity, -Infinity]",
            b"nan",
            b"1e999",
            b"-0",
            b"-0.0",
            b"01",
            b"+1",
            b"1.",
            b".5",
            b"1" * 50,
            b"9" * 5000,
            b"0.1" + b"0" * 400 + b"1",
            b'{"a": 1, "a": 2}',
            b'{"a": 1, "b": 1, "a": 2}',
            b"[1,]",
            b"[1] x",
            b"[" * 150 + b"]" * 150,
            b"[" * 900 + b"]" * 900,
            b"[" * 100_000,
            "\ufeff[1]".encode(),
            "[1]".encode("utf-16"),
            b"\x0c1",
            b"tru",
            b"// no\n1",
        ],
        ids=lambda text: repr(text[:20]),
    )
    def test_of_odd_texts(self, text: bytes) -> None:
        assert _read(parse, text) == _read(json.loads, text)


def _read(read: Any, text: bytes) -> str:
    try:
        return repr(read(text))
    except (ValueError, RecursionError) as problem:
        return type(problem).__name__
