"""An exported crate: read back by the library that catalogues use, its files those of the attempts to the byte."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from pathlib import Path

import pytest
from analysis_helpers import card, write_attempt
from rocrate.rocrate import ROCrate
from typer.testing import CliRunner

from reclaim_nb.analysis.crate import PROFILE, export_crate
from reclaim_nb.cli import app
from reclaim_nb.errors import AttemptError, RecordError

RECORDED = Path(__file__).resolve().parents[2] / "reclaim_nb" / "demo" / "runs"
PAPER = "recorded/small/iforest-breastw"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Return a runs folder with the four recorded attempts at one paper."""
    place = tmp_path / "runs"
    shutil.copytree(RECORDED / PAPER, place / PAPER)
    return place


def test_a_crate_holds_the_records_and_says_who_did_what(runs: Path, tmp_path: Path) -> None:
    done = export_crate(runs, tmp_path / "crate", license="https://example.org/license")
    assert done.attempts == 4 and done.left_out == ()
    crate = ROCrate(tmp_path / "crate")
    assert crate.root_dataset["conformsTo"].id == PROFILE
    assert crate.license.id == "https://example.org/license"
    files = [entity for entity in crate.data_entities if entity.type == "File"]
    assert len(files) == done.files
    for entity in files:
        theirs, ours = tmp_path / "crate" / entity.id, runs / entity.id
        assert theirs.read_bytes() == ours.read_bytes()
        assert entity["sha256"] == hashlib.sha256(ours.read_bytes()).hexdigest()
        assert int(entity["contentSize"]) == ours.stat().st_size
    actions = crate.get_by_type("CreateAction")
    assert {action["instrument"]["name"] for action in actions} == {"replay", "nothing", "constant", "copy"}
    for action in actions:
        assert {part.id.rpartition("/")[2] for part in action["result"]} >= {"attempt.ipynb", "stream.jsonl"}
    [paper] = {action["object"].id for action in actions}
    outcomes = {}
    for review in crate.get_by_type("ClaimReview"):
        verdict = json.loads((runs / review["isBasedOn"].id).read_text("utf-8"))
        assert review["itemReviewed"].id == paper
        assert review["reviewRating"]["alternateName"] == verdict["outcome"]
        outcomes[review["isBasedOn"].id.split("/")[3]] = verdict["outcome"]
    assert outcomes["replay"] == "reproduced" and outcomes["constant"] == "disqualified"


def test_a_record_that_is_not_sound_is_not_shared_as_one(runs: Path, tmp_path: Path) -> None:
    stream = next((runs / PAPER / "replay").rglob("stream.jsonl"))
    text = stream.read_bytes()
    stream.write_bytes(text.replace(b'"turn":1', b'"turn":7', 1))
    assert stream.read_bytes() != text
    with pytest.raises(RecordError, match=r"replay.*not sound"):
        export_crate(runs, tmp_path / "crate")
    assert not (tmp_path / "crate").exists()


def test_what_has_not_ended_is_named_and_left_out(runs: Path, tmp_path: Path) -> None:
    write_attempt(runs, card(), reason=None)
    found = CliRunner().invoke(app, ["export", str(runs), "--out", str(tmp_path / "all.zip"), "--json"])
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)
    assert told["attempts"] == 4 and [line.split(": ")[0] for line in told["left_out"]] == ["b/toys/toy/replay/01"]
    with zipfile.ZipFile(tmp_path / "all.zip") as packed:
        assert "ro-crate-metadata.json" in packed.namelist()
        assert not [name for name in packed.namelist() if name.startswith("b/")]


def test_nothing_is_written_over_and_an_unknown_batch_is_named(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(AttemptError, match="is there already"):
        export_crate(runs, tmp_path / "there")
    with pytest.raises(RecordError, match="no batch nowhere; there are recorded"):
        export_crate(runs, tmp_path / "new", ["nowhere"])
