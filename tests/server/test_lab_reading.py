"""Conversation, network log and comparison as the server tells them, from records of real attempts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab_papers import ATTEMPT, GOOD
from lab_requests import Fetch, get, refused, schema
from lab_talk import ASK, DRAW, FLOOD, HOSTILE, MEASURE, SAID, replay, talk

from reclaim_nb.errors import KernelError
from reclaim_nb.kernels.network_image import require_proxy_image
from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.server.comparison import Side, lines, pairs
from reclaim_nb.server.models import TalkQuery, WindowQuery
from reclaim_nb.server.story import CellFacts, Place, Stories
from reclaim_nb.server.talk import TEXT, conversation, network

OTHER = "single/tiny/good/replay/02"
CHANGED = {
    "draw": GOOD["draw"].replace("* 8", "* 8.3"),
    "extra": "print('a cell that the other has not')",
    "measure": GOOD["measure"],
    "submit": GOOD["submit"],
}


@pytest.fixture(scope="session")
def more(papers: Path, made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two more attempts, made once: by a model, and by a notebook with other cells."""
    folder = tmp_path_factory.mktemp("more")
    shutil.copytree(made, folder / "runs")
    talk(papers, folder / "runs")
    replay(papers, folder / "runs", CHANGED, folder / "changed.ipynb")
    return folder / "runs"


@pytest.fixture
def runs(more: Path, jp_root_dir: Path) -> Path:
    """A copy of all of them where the server finds it."""
    shutil.copytree(more, jp_root_dir / "runs", dirs_exist_ok=True)
    return jp_root_dir / "runs"


def talked(runs: Path) -> str:
    (folder,) = [path for path in (runs / "single/tiny/good").glob("*/01") if path.parent.name != "replay"]
    return folder.relative_to(runs).as_posix()


async def test_a_conversation_is_told_in_order(jp_fetch: Fetch, runs: Path) -> None:
    name = talked(runs)
    found = await get(jp_fetch, f"conversations/{name}", "Conversation", count=100)
    entries = found["entries"]
    assert found["total"] == len(entries) and found["ended"]
    assert [one["index"] for one in entries] == list(range(len(entries)))
    kinds = [one["kind"] for one in entries if one["author"] != "harness"]
    assert kinds[:2] == ["told", "told"]  # who the model is, and its task
    assert kinds[2:] == (
        ["said", "cell", "call", "call", "said", "markdown", "said", "cell", "cell", "said", "cell", "call", "event"]
    )
    cells = [one for one in entries if one["kind"] == "cell" and one["author"] == "agent"]
    assert [one["text"]["text"] for one in cells] == [DRAW, ASK, FLOOD, MEASURE]
    assert [one["turn"] for one in cells] == [1, 3, 4, 5]
    assert all(one["facts"]["status"] == "ok" and float(one["facts"]["hours"]) > 0 for one in cells)
    assert cells[0]["output"] == {"text": "20000 draws\n", "characters": 12, "cut": False}
    flood = cells[2]["output"]
    assert flood["text"].endswith("step 19999\n") and flood["cut"] and len(flood["text"]) <= TEXT
    first, refusal = [one for one in entries if one["kind"] == "call"][:2]
    assert (first["name"], first["text"]["text"]) == ("check_anchor", "name: draws\nvalue: 20000")
    assert "agrees" in first["result"]["text"] and not first["refused"]
    assert refusal["refused"] and "value" in refusal["result"]["text"]
    said = [one["text"]["text"] for one in entries if one["kind"] == "said"]
    assert said[:2] == [SAID, HOSTILE]  # as text, to be shown as text


async def test_it_comes_in_windows_with_long_texts_cut(jp_fetch: Fetch, runs: Path) -> None:
    name = talked(runs)
    whole = (await get(jp_fetch, f"conversations/{name}", "Conversation", count=100))["entries"]
    parts = [
        # The number is the lab's own, against caches.
        (await get(jp_fetch, f"conversations/{name}", "Conversation", start=start, count=4, **{"1796": ""}))["entries"]
        for start in range(0, len(whole), 4)
    ]
    assert [one for part in parts for one in part] == whole

    (long,) = [one for one in whole if one["kind"] == "said" and one["text"]["cut"]]
    assert long["text"]["characters"] > TEXT >= len(long["text"]["text"]) - 10
    alone = await get(jp_fetch, f"conversations/{name}", "Conversation", start=long["index"], whole="true")
    assert len(alone["entries"]) == 1 and len(alone["entries"][0]["text"]["text"]) == long["text"]["characters"]

    cell = next(one for one in whole if one["text"]["text"] == MEASURE)
    around = await get(jp_fetch, f"conversations/{name}", "Conversation", cell=cell["cell"], count=5)
    assert cell["index"] in range(around["start"], around["start"] + 5)
    status, message = await refused(_ask(jp_fetch, f"conversations/{name}", cell="nowhere"))
    assert status == 404 and "nowhere" in message
    for wrong in ({"count": "1000"}, {"start": "-1"}, {"depth": "1"}):
        assert (await refused(_ask(jp_fetch, f"conversations/{name}", **wrong)))[0] == 400


def _ask(fetch: Fetch, address: str, **query: str) -> Any:
    return fetch("reclaim", "api", *address.split("/"), params=query)


def test_a_growing_stream_is_read_on(more: Path, tmp_path: Path) -> None:
    whole = (more / talked(more) / "stream.jsonl").read_bytes()
    folder = AttemptFolder(tmp_path)
    stories = Stories()
    for end in (1, len(whole) // 3, len(whole) // 3 + 1, len(whole) // 2, len(whole)):
        folder.stream.write_bytes(whole[:end])
        story = stories.of(folder)
    query = TalkQuery(count=100)
    assert conversation(story, query) == conversation(Stories().of(folder), query)
    assert conversation(story, query)["ended"]

    folder.stream.write_bytes(whole[: len(whole) // 2])  # a shorter one is another one
    assert not conversation(stories.of(folder), query)["ended"]


def test_lines_that_no_runner_wrote_are_passed_over(more: Path, tmp_path: Path) -> None:
    whole = (more / talked(more) / "stream.jsonl").read_bytes()
    head = '{"seq":1,"time":"x","prev":"' + "0" * 64 + '","kind":"'
    odd = ['cell","data":{}}', 'cell_end","data":{"cell":[1],"held_seconds":{}}}', 'network","data":{"host":{}}}']
    odd += ['model","data":{"what":"answer","message":{"parts":[1,{"part_kind":"text","content":"x"}]}}}', 'note"']
    odd += ['tool","data":{"result":[1]}}', 'model","data":{"what":"request","messages":7}}', 'end","data":{}}']
    folder = AttemptFolder(tmp_path)
    folder.stream.write_bytes(whole + "\n".join(head + one for one in odd).encode() + b"\n\xff\xfe\n")
    story = Stories().of(folder)
    jsonschema.validate(conversation(story, TalkQuery(count=100)), schema("Conversation"))
    jsonschema.validate(network(story, WindowQuery()), schema("Network"))


async def test_an_open_network_has_no_log(jp_fetch: Fetch, runs: Path) -> None:
    found = await get(jp_fetch, f"networks/{ATTEMPT}", "Network")
    assert (found["policy"], found["kernel"], found["total"], found["entries"]) == ("open", "local", 0, [])


@pytest.mark.docker
def test_a_network_log_tells_what_was_refused_in_which_cell(kernel_image: object, papers: Path, tmp_path: Path) -> None:
    try:
        require_proxy_image()
    except KernelError as problem:
        pytest.skip(f"the image of the proxy cannot be built here: {problem}")
    finished = talk(papers, tmp_path / "runs", kernel="docker", network="allowlist", allow=("data.example",))
    story = Stories().of(finished.folder)
    found = network(story, WindowQuery())
    jsonschema.validate(found, schema("Network"))
    assert found["policy"] == "allowlist" and found["allow"] == ["data.example"]
    asking = next(one for one in story.cells.values() if story.event(one.line).data["source"] == ASK)
    by_host = {one["host"]: one for one in found["entries"] if one["via"] == "proxy"}
    assert by_host["data.example"]["allowed"] and not by_host["elsewhere.example"]["allowed"]
    assert by_host["elsewhere.example"]["path"] == "/weights.bin" and "list" in by_host["elsewhere.example"]["reason"]
    assert {one["cell"] for one in by_host.values()} == {asking.id} and by_host["data.example"]["turn"] == asking.turn
    only = network(story, WindowQuery(only="refused"))
    assert only["total"] == found["refused"] and not any(one["allowed"] for one in only["entries"])
    assert network(story, WindowQuery(start=found["total"]))["entries"] == []


async def test_two_attempts_are_compared_cell_by_cell(jp_fetch: Fetch, runs: Path) -> None:
    found = await get(jp_fetch, f"comparisons/{ATTEMPT}", "Comparison", **{"with": OTHER})
    assert [row["match"] for row in found["rows"]] == ["changed", "right", "same", "same"]
    assert [(pair["left"], pair["right"]) for pair in found["pairs"]] == [(0, 0), (None, 1), (1, 2), (2, 3)]
    assert found["total"] == 4
    different = [line for line in found["rows"][0]["lines"] if not line["same"]]
    assert [("* 8 " in line["left"], "* 8.3 " in line["right"]) for line in different] == [(True, True)]
    assert "4.003" in found["rows"][2]["left_output"]["text"] and "4.15" in found["rows"][2]["right_output"]["text"]
    for side in ("left", "right"):
        hours = [float(cell["hours"]) for cell in found[side]["cells"]]
        times = [cell["at"] for cell in found[side]["cells"]]
        assert hours == sorted(hours) and times == sorted(times) and times[0] > 0
    only = await get(jp_fetch, f"comparisons/{ATTEMPT}", "Comparison", **{"with": OTHER, "only": "different"})
    assert only["rows"] == found["rows"][:2] and only["total"] == 2
    page = await get(jp_fetch, f"comparisons/{ATTEMPT}", "Comparison", **{"with": OTHER, "start": 1, "count": 2})
    assert page["rows"] == found["rows"][1:3]

    status, message = await refused(_ask(jp_fetch, f"comparisons/{ATTEMPT}", **{"with": ATTEMPT}))
    assert status == 400 and "another one" in message
    shutil.copytree(runs / "single/tiny/good/replay", runs / "single/tiny/slow/replay")
    status, message = await refused(_ask(jp_fetch, f"comparisons/{ATTEMPT}", **{"with": "single/tiny/slow/replay/01"}))
    assert status == 400 and "different papers" in message
    assert (await refused(_ask(jp_fetch, f"comparisons/{ATTEMPT}", **{"with": "../../x"})))[0] == 404


async def test_an_imported_attempt_has_no_cells_to_tell_of(jp_fetch: Fetch, runs: Path) -> None:
    folder = runs / "single/tiny/good/replay/03"
    folder.mkdir()
    (folder / "imported.json").write_text(json.dumps({}), "utf-8")
    for address, query in (("conversations", {}), ("networks", {}), ("comparisons", {"with": ATTEMPT})):
        status, message = await refused(_ask(jp_fetch, f"{address}/single/tiny/good/replay/03", **query))
        assert status == 400 and "made elsewhere" in message


def side(source: str, kind: str = "code") -> Side:
    return Side(CellFacts("x", kind, "agent", 1, Place(0, 0)), source)


sources = st.lists(st.sampled_from(["a = 1", "b = a + 1\nprint(b)", "b = a + 2\nprint(b)", "import os", "", "x y z"]))


@given(sources, sources)
def test_every_cell_stands_once_and_in_order(left: list[str], right: list[str]) -> None:
    found = pairs([side(one) for one in left], [side(one) for one in right])
    assert [pair.left for pair in found if pair.left is not None] == list(range(len(left)))
    assert [pair.right for pair in found if pair.right is not None] == list(range(len(right)))
    for pair in found:
        if pair.left is not None and pair.right is not None:
            assert pair.same == (left[pair.left].strip() == right[pair.right].strip())


@given(st.text(max_size=200), st.text(max_size=200))
def test_lines_hold_both_sources(left: str, right: str) -> None:
    found, cut = lines(left, right)
    assert not cut
    again, _ = lines("\n".join(one["left"] for one in found if one["left"] is not None), right)
    assert [one["left"] for one in again if one["left"] is not None] == [
        one["left"] for one in found if one["left"] is not None
    ]
    assert all((one["left"] == one["right"]) == one["same"] for one in found)


def test_cells_that_are_alike_are_one_changed_cell_and_others_are_not() -> None:
    left = [side("data = load(path)\nrows = clean(data)\nprint(len(rows))"), side("# prose", "markdown")]
    right = [side("import os"), side("data = load(path)\nrows = clean(data, strict=True)\nprint(len(rows))")]
    assert [pair.match for pair in pairs(left, right)] == ["right", "changed", "left"]
    assert [pair.match for pair in pairs([side("a b c d")], [side("a b c d", "markdown")])] == ["left", "right"]
