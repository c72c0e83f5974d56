"""The websocket: what it tells, and that nothing is missed."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from lab_papers import ATTEMPT
from tornado.httpclient import HTTPClientError

from reclaim_nb.record.events import GENESIS, encode, line_hash
from reclaim_nb.server.tail import Live, Tail, brief, plain
from reclaim_nb.server.watch import KEPT, Feed

Connect = Callable[..., Awaitable[Any]]


async def following(socket: Any, kind: str) -> dict[str, Any]:
    """Return the next message of a kind."""
    while True:
        text = await asyncio.wait_for(socket.read_message(), 30)
        assert text is not None, "the connection was closed"
        message: dict[str, Any] = json.loads(text)
        if message["type"] == kind:
            return message


async def test_changes_on_disk_are_told_whoever_made_them(jp_fetch: Any, jp_ws_fetch: Connect, runs: Path) -> None:
    listed = json.loads((await jp_fetch("reclaim", "api", "attempts")).body)
    socket = await jp_ws_fetch("reclaim", "api", "events", params={"epoch": listed["epoch"], "since": listed["seq"]})
    hello = await following(socket, "hello")
    assert hello["missed"] is False

    # An attempt comes and goes whole: whoever looks meanwhile would be told of it half made as well.
    shutil.copytree(runs / ATTEMPT, runs.parent / "beside")
    (runs.parent / "beside").rename(runs / "single/tiny/good/replay/02")
    told = await following(socket, "attempt")
    assert told["attempt"]["path"] == "single/tiny/good/replay/02"

    (runs / ATTEMPT / "verdict.rules.json").unlink()
    told = await following(socket, "attempt")
    assert (told["attempt"]["path"], told["attempt"]["outcome"]) == (ATTEMPT, None)

    (runs / "single/tiny/good/replay/02").rename(runs.parent / "beside")
    assert (await following(socket, "gone"))["path"] == "single/tiny/good/replay/02"
    seq = told["seq"]
    socket.close()

    again = await jp_ws_fetch("reclaim", "api", "events", params={"epoch": listed["epoch"], "since": seq})
    assert (await following(again, "hello"))["missed"] is False
    assert (await following(again, "gone"))["seq"] == seq + 1
    again.close()

    other = await jp_ws_fetch("reclaim", "api", "events", params={"epoch": "another", "since": seq})
    assert (await following(other, "hello"))["missed"] is True
    other.close()


async def test_an_attempt_is_followed_from_a_place_in_its_stream(jp_ws_fetch: Connect, runs: Path) -> None:
    socket = await jp_ws_fetch("reclaim", "api", "events")
    await socket.write_message(json.dumps({"follow": ATTEMPT, "since": 0}))
    events = (await following(socket, "record"))["events"]
    assert [event["seq"] for event in events] == sorted(event["seq"] for event in events)
    assert events[-1]["kind"] == "end" and events[-1]["reason"] == "submitted"
    printed = "".join(event["text"] for event in events if event["kind"] == "output")
    assert "mean of the draws = 4.00" in printed

    middle = events[len(events) // 2]["seq"]
    await socket.write_message(json.dumps({"unfollow": ATTEMPT}))
    await socket.write_message(json.dumps({"follow": ATTEMPT, "since": middle}))
    rest = (await following(socket, "record"))["events"]
    assert rest[0]["seq"] == middle
    socket.close()


@pytest.mark.parametrize(
    "message",
    ["nonsense", "[]", "{}", '{"follow": "../../etc/x/y"}', '{"follow": 1}', "[" * 3000, '"' + "x" * 5000 + '"'],
)
async def test_nonsense_is_answered_and_survived(jp_ws_fetch: Connect, runs: Path, message: str) -> None:
    socket = await jp_ws_fetch("reclaim", "api", "events", params={"since": "nonsense"})
    await socket.write_message(message)
    assert (await following(socket, "problem"))["message"]
    await socket.write_message(json.dumps({"follow": ATTEMPT}))
    assert (await following(socket, "record"))["path"] == ATTEMPT
    socket.close()


async def test_no_connection_without_a_token(http_server_client: Any, jp_base_url: str, runs: Path) -> None:
    with pytest.raises(HTTPClientError) as caught:
        await http_server_client.fetch(
            f"{jp_base_url.rstrip('/')}/reclaim/api/events",
            headers={
                "Upgrade": "websocket",
                "Connection": "Upgrade",
                "Sec-WebSocket-Version": "13",
                "Sec-WebSocket-Key": "eA==",
            },
        )
    assert caught.value.code == 403


def test_feed_says_when_messages_are_lost() -> None:
    feed = Feed()
    assert feed.since(feed.epoch, 0) == []
    for number in range(KEPT + 5):
        feed.publish({"type": "live", "path": str(number)})
    assert feed.since(feed.epoch, 0) is None
    assert feed.since(feed.epoch, KEPT + 4) == [json.dumps({"seq": KEPT + 5, "type": "live", "path": str(KEPT + 4)})]
    assert feed.since("another", 3) is None
    assert feed.since(feed.epoch, 10**9) is None


def _lines(events: list[tuple[str, dict[str, Any]]]) -> list[bytes]:
    lines, prev = [], GENESIS
    for seq, (kind, data) in enumerate(events):
        line = encode(seq, "2026-01-01T00:00:00.000000Z", prev, kind, data)
        prev = line_hash(line)
        lines.append(line + b"\n")
    return lines


def _output(cell: str, text: str) -> tuple[str, dict[str, Any]]:
    return "message", {
        "cell": cell,
        "channel": "iopub",
        "msg_type": "stream",
        "content": {"name": "stdout", "text": text},
    }


def test_tail_reads_whole_lines_only_and_passes_over_ruins(tmp_path: Path) -> None:
    path = tmp_path / "stream.jsonl"
    lines = _lines(
        [("execute", {"cell": "a"}), _output("a", "one\n"), _output("a", "two\n"), ("execute", {"cell": "b"})]
    )
    tail = Tail(path)
    assert tail.read() == []
    path.write_bytes(lines[0] + lines[1][:20])
    assert [event.seq for event in tail.read()] == [0]
    path.write_bytes(lines[0] + lines[1] + b"ruin\n" + lines[2] + lines[3])
    found = brief(tail.read())
    assert [(one["kind"], one.get("text")) for one in found] == [("output", "one\ntwo\n"), ("execute", None)]
    assert [event.seq for event in Tail(path, since=3).read()] == [3]
    near = Tail(path, last_bytes=len(lines[3]) + 5)
    assert [event.seq for event in near.read()] == [3]


def test_live_tells_what_runs() -> None:
    live = Live()
    events = [
        ("cell", {"cell": "a", "cell_type": "code", "author": "agent", "turn": 7, "source": "train()\nmore()"}),
        ("execute", {"cell": "a"}),
    ]
    from reclaim_nb.record.events import decode

    live.apply(brief([decode(line.rstrip()) for line in _lines(events)]))
    assert (live.turn, live.running, live.line) == (7, True, "train()")
    more = [
        _output("a", "epoch 1\rep\x1b[31moch 2\n"),
        ("meter", {"hours": "0.5"}),
        ("cell_end", {"cell": "a", "status": "ok"}),
    ]
    live.apply(brief([decode(line.rstrip()) for line in _lines(more)]))
    assert (live.running, live.line, live.spent_hours) == (False, "epoch 2", "0.5")


def test_plain_keeps_what_a_terminal_shows() -> None:
    assert plain("10%\r50%\r100%\n\x1b[1mdone\x1b[0m\r\n") == "100%\ndone\n"
    assert plain("\ud800") == "?"
