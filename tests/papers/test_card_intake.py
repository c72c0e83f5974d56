"""Intake: what was shipped, its hashes and numbers, and notebooks without their outputs."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from card_helpers import SMALL
from hypothesis import given
from hypothesis import strategies as st

from reclaim_nb.errors import CardError
from reclaim_nb.papers.intake import Intake, strip_notebooks, take_in


def notebook(**extra: Any) -> dict[str, Any]:
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": ["epoch 1\n", "top-1 84.3\n"]},
        {"output_type": "execute_result", "data": {"text/plain": "0.843", "image/png": "aGk="}, "execution_count": 2},
    ]
    code = {"cell_type": "code", "source": "print(1.5)", "outputs": outputs, "execution_count": 2, "metadata": {}}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [code], **extra}


@pytest.fixture
def release(tmp_path: Path) -> Path:
    folder = tmp_path / "release"
    (folder / "results").mkdir(parents=True)
    (folder / "results" / "metrics.json").write_text('{"top1": 84.3,\n "loss": -1.5e-3}\n', encoding="utf-8")
    (folder / "train.py").write_text("rate = 0.25\n", encoding="utf-8")
    (folder / "requirements.txt").write_text("numpy<2.5\n", encoding="utf-8")
    (folder / "demo.ipynb").write_text(json.dumps(notebook()), encoding="utf-8")
    (folder / "model.bin").write_bytes(bytes(range(256)))
    return folder


def test_every_file_is_listed_with_size_and_hash(release: Path) -> None:
    intake = take_in(release)
    assert [f.path for f in intake.files] == [
        "demo.ipynb",
        "model.bin",
        "requirements.txt",
        "train.py",
        "results/metrics.json",
    ]
    model = next(f for f in intake.files if f.path == "model.bin")
    assert (model.size, model.sha256) == (256, hashlib.sha256(bytes(range(256))).hexdigest())
    assert model.sha256 in intake.hashes()


def test_numbers_of_result_files_are_found_where_they_stand(release: Path) -> None:
    found = [(n.file, n.line, n.text) for n in take_in(release).numbers if n.file.startswith("results")]
    assert found == [("results/metrics.json", 1, "84.3"), ("results/metrics.json", 2, "-1.5e-3")]


def test_numbers_of_notebooks_come_from_outputs_and_not_from_source(release: Path) -> None:
    found = {(n.output, n.line, n.text) for n in take_in(release).numbers if n.file == "demo.ipynb"}
    assert ("cell 0, output 0", 2, "84.3") in found
    assert ("cell 0, output 1", 1, "0.843") in found
    assert "1.5" not in {text for _, _, text in found}


def test_code_and_version_pins_hold_no_results(release: Path) -> None:
    assert {n.file for n in take_in(release).numbers} == {"demo.ipynb", "results/metrics.json"}


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("acc=0.843 n=10,000", ["0.843", "10,000"]),
        ("version 1.2.3, x86, 84.3%", ["84.3"]),
        ("[1,2,3]", ["1", "2", "3"]),
        ("0.99, 5.", ["0.99", "5"]),
        ("a1 b_2 3c", []),
    ],
)
def test_numbers_are_not_cut_out_of_words(tmp_path: Path, text: str, numbers: list[str]) -> None:
    (tmp_path / "log.txt").write_text(text, encoding="utf-8")
    assert [n.text for n in take_in(tmp_path).numbers] == numbers


def test_a_comma_between_values_does_not_hide_either(tmp_path: Path) -> None:
    (tmp_path / "pulls.csv").write_text("arm,pulls\n4,912.748\n", encoding="utf-8")
    assert {n.text for n in take_in(tmp_path).numbers} == {"4", "912.748", "4,912.748"}


def test_links_are_named_and_not_followed(release: Path) -> None:
    (release / "outside.txt").symlink_to("/etc/hostname")
    intake = take_in(release)
    assert [u.path for u in intake.unscanned] == ["outside.txt"]
    assert "outside.txt" not in {f.path for f in intake.files}


def test_bytes_that_are_no_text_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_bytes(b"\xff\xfe 84.3 \x00\n")
    (tmp_path / "broken.ipynb").write_text("{", encoding="utf-8")
    assert [n.text for n in take_in(tmp_path).numbers] == ["84.3"]


def test_no_release_is_an_empty_intake_and_a_missing_one_an_error(tmp_path: Path) -> None:
    assert take_in(None) == Intake()
    with pytest.raises(CardError, match="release folder"):
        take_in(tmp_path / "none")


def test_the_manifest_survives_its_file(release: Path) -> None:
    intake = take_in(release)
    assert Intake.from_json(intake.to_json()) == intake
    with pytest.raises(CardError, match=r"intake\.json"):
        Intake.from_json('{"files": 3}')


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=4))
def test_any_text_makes_a_manifest_that_can_be_read_back(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("release")
    (folder / "log.txt").write_text("\n".join(lines), encoding="utf-8")
    intake = take_in(folder)
    assert Intake.from_json(intake.to_json()) == intake


def test_the_stripped_copy_has_no_outputs_and_the_original_keeps_them(release: Path, tmp_path: Path) -> None:
    before = take_in(release)
    copy = tmp_path / "copy"
    assert strip_notebooks(release, copy) == ("demo.ipynb",)
    cell = json.loads((copy / "demo.ipynb").read_text(encoding="utf-8"))["cells"][0]
    assert (cell["outputs"], cell["execution_count"], cell["source"]) == ([], None, "print(1.5)")
    assert take_in(release) == before
    same = {f.path: f.sha256 for f in take_in(copy).files}
    assert all(same[f.path] == f.sha256 for f in before.files if f.path != "demo.ipynb")


def test_old_notebooks_are_stripped_too(tmp_path: Path) -> None:
    folder = tmp_path / "release"
    folder.mkdir()
    cell = {"cell_type": "code", "input": "1", "outputs": [{"text": "84.3"}], "prompt_number": 3}
    old = {"nbformat": 3, "worksheets": [{"cells": [cell]}], "metadata": {"widgets": {"state": "84.3"}}}
    (folder / "old.ipynb").write_text(json.dumps(old), encoding="utf-8")
    assert [n.text for n in take_in(folder).numbers] == ["84.3"]
    strip_notebooks(folder, tmp_path / "copy")
    assert "84.3" not in (tmp_path / "copy" / "old.ipynb").read_text(encoding="utf-8")


def test_a_notebook_that_cannot_be_stripped_leaves_no_copy(tmp_path: Path) -> None:
    folder = tmp_path / "release"
    folder.mkdir()
    (folder / "bad.ipynb").write_text("not json 84.3", encoding="utf-8")
    with pytest.raises(CardError, match=r"bad\.ipynb"):
        strip_notebooks(folder, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_an_existing_destination_is_left_alone(release: Path, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    with pytest.raises(CardError, match="expected a new folder"):
        strip_notebooks(release, tmp_path / "copy")


@pytest.mark.parametrize("folder", sorted(SMALL.glob("*/release")), ids=lambda p: p.parent.name)
def test_small_releases_ship_the_claimed_number(folder: Path) -> None:
    from reclaim_nb.papers import load_card

    value = load_card(folder.parent).card.target.value
    assert str(value) in {n.text for n in take_in(folder).numbers if n.file.startswith("results/")}
