"""A condition that changes nothing at a card says so: in the record, in the notebook, on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from reclaim_nb import cli
from reclaim_nb.attempts.conditions import without_effect
from reclaim_nb.attempts.prepare import Request, prepare
from reclaim_nb.papers.suite import find_paper

PAPER = "small/iforest-breastw"


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A paper whose card has no anchors."""
    folder = tmp_path_factory.mktemp("cards") / "bare" / "iforest-breastw"
    folder.mkdir(parents=True)
    source = find_paper(PAPER).path.read_text("utf-8")
    card, removed = re.subn(r"(?ms)^anchors:\n(?:[ -].*\n|\n)*", "", source)
    assert removed == 1
    (folder / "paper.yaml").write_text(card, "utf-8")
    assert not find_paper(str(folder)).card.anchors
    return str(folder)


@pytest.mark.slow
def test_a_gate_without_anchors_is_said_everywhere(
    bare: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", bare, "--agent", "nothing", "--kernel", "local", "--runs", str(tmp_path)]
    assert cli.main([*words, "--condition", "anchor_gate"]) == 0
    printed = capsys.readouterr().out
    assert "anchor_gate changes nothing here: this card has no anchors" in printed
    notebook = json.loads(next(tmp_path.rglob("attempt.ipynb")).read_text())
    notes = [cell for cell in notebook["cells"] if cell["metadata"].get("tags") == ["reclaim-note"]]
    assert ["anchor_gate changes nothing" in "".join(cell["source"]) for cell in notes] == [True]
    assert notes[0]["metadata"]["reclaim"]["author"] == "harness"
    assert "anchor_gate changes nothing here" in next(tmp_path.rglob("stream.jsonl")).read_text()


@pytest.mark.parametrize(("paper", "conditions"), [(PAPER, ("anchor_gate",)), (PAPER, ()), ("bare", ("nudge",))])
def test_nothing_is_said_where_there_is_nothing_to_say(
    bare: str, tmp_path: Path, paper: str, conditions: tuple[str, ...]
) -> None:
    name = bare if paper == "bare" else paper
    prepared = prepare(Request(name, agent="nothing", kernel="local", runs=str(tmp_path), conditions=conditions))
    assert not [cell for cell in prepared.template if cell["metadata"].get("tags") == ["reclaim-note"]]
    assert without_effect(conditions, anchors=bool(prepared.card.card.anchors)) == []
