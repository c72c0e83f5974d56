"""Suites: loading, the manifest, changed cards, and finding a paper by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from card_helpers import raw_card, write_card

from reclaim_nb.errors import CardError
from reclaim_nb.papers import find_paper, find_suite, load_suite, write_manifest
from reclaim_nb.papers.suite import PAPERS_VARIABLE

Write = Callable[..., Path]


def test_a_manifest_lists_every_card_and_nothing_is_changed(toy_suite: Write) -> None:
    folder = toy_suite(raw_card(id="b-card"), raw_card(id="a-card"))
    write_manifest(folder, title="Toys", description="Made up.")
    suite = load_suite(folder)
    assert [c.name for c in suite] == ["toys/a-card", "toys/b-card"]
    assert suite.manifest is not None and suite.manifest.title == "Toys"
    assert (suite.changed, suite.unlisted, suite.missing) == ((), (), ())


def test_a_changed_an_added_and_a_removed_card_are_told_apart(toy_suite: Write) -> None:
    folder = toy_suite(raw_card(id="changed"), raw_card(id="removed"))
    write_manifest(folder)
    with (folder / "changed" / "paper.yaml").open("a", encoding="utf-8") as card:
        card.write("\n# one more byte\n")
    (folder / "removed" / "paper.yaml").unlink()
    write_card(folder / "added" / "paper.yaml", raw_card(id="added"))
    suite = load_suite(folder)
    assert suite.changed == ("toys/changed",)
    assert suite.unlisted == ("toys/added",)
    assert suite.missing == ("removed/paper.yaml",)


def test_rewriting_the_manifest_keeps_its_words(toy_suite: Write) -> None:
    folder = toy_suite()
    write_manifest(folder, title="Toys", description="Made up.")
    first = (folder / "suite.yaml").read_bytes()
    write_manifest(folder)
    assert (folder / "suite.yaml").read_bytes() == first
    assert not list(folder.glob("*.partial"))


def test_cards_may_lie_flat(tmp_path: Path) -> None:
    write_card(tmp_path / "flat" / "toy-cls.yaml", raw_card())
    write_manifest(tmp_path / "flat")
    loaded = load_suite(tmp_path / "flat").cards[0]
    assert loaded.name == "flat/toy-cls"
    assert loaded.release_folder is None and loaded.solution is None


def test_a_broken_card_stops_loading_unless_asked_to_go_on(toy_suite: Write) -> None:
    folder = toy_suite(raw_card(), raw_card(id="bad", device="tpu"))
    with pytest.raises(CardError, match="device"):
        load_suite(folder)
    suite = load_suite(folder, keep_going=True)
    assert [c.card.id for c in suite] == ["toy-cls"]
    assert len(suite.broken) == 1 and "device" in suite.broken[0]
    with pytest.raises(CardError, match="device"):
        write_manifest(folder)


@pytest.mark.parametrize("name", ["missing", "empty"])
def test_no_suite_is_said_so(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(CardError, match="expected"):
        load_suite(tmp_path / name)


def test_a_broken_manifest_is_named(toy_suite: Write) -> None:
    folder = toy_suite()
    (folder / "suite.yaml").write_text("schema: 1\ntitle: x\n", encoding="utf-8")
    with pytest.raises(CardError, match=r"suite\.yaml: field 'name'"):
        load_suite(folder)


def test_a_paper_is_found_by_name_in_the_variable_and_in_the_package(
    toy_suite: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = toy_suite()
    write_manifest(folder)
    monkeypatch.setenv(PAPERS_VARIABLE, str(folder.parent))
    assert find_paper("toys/toy-cls").path == folder / "toy-cls" / "paper.yaml"
    assert find_paper("small/iforest-breastw").card.tier == "retrain"
    assert len(find_suite("toys")) == 1
    assert not find_paper("toys/toy-cls").changed


def test_an_earlier_root_hides_a_suite_of_the_same_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_card(tmp_path / "small" / "toy-cls" / "paper.yaml", raw_card())
    monkeypatch.setenv(PAPERS_VARIABLE, str(tmp_path))
    assert [c.card.id for c in find_suite("small")] == ["toy-cls"]


def test_a_paper_is_found_by_path_with_its_manifest(toy_suite: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = toy_suite()
    write_manifest(folder)
    monkeypatch.chdir(folder.parent)
    for name in ("toys/toy-cls/paper.yaml", "./toys/toy-cls", str(folder / "toy-cls"), "toys/toy-cls"):
        assert find_paper(name).name == "toys/toy-cls"
        assert find_paper(name).listed_sha256 is not None
    card = folder / "toy-cls" / "paper.yaml"
    card.write_text(card.read_text(encoding="utf-8") + "notes: later\n", encoding="utf-8")
    assert find_paper("toys/toy-cls").changed


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("small/iforest-brestw", "did you mean small/iforest-breastw"),
        ("iforest-breastw", "did you mean small/iforest-breastw"),
        ("small/../../etc", "there is no paper"),
        ("", "there is no paper"),
        ("zzzz/qqqq", "reclaim papers list"),
    ],
)
def test_an_unknown_name_gets_a_hint(name: str, hint: str) -> None:
    with pytest.raises(CardError, match=hint):
        find_paper(name)


def test_an_unknown_suite_lists_the_known_ones() -> None:
    with pytest.raises(CardError, match="small"):
        find_suite("smal")
