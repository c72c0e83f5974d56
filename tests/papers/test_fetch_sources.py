"""What is fetched for which address, and what a block list stands for; no network, no disk."""

from __future__ import annotations

from typing import Any

import pytest
from card_helpers import ROOT, raw_card
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from reclaim_nb.papers import PaperCard, load_suite
from reclaim_nb.papers.card import RemoteFile
from reclaim_nb.papers.fetch_block import blocked_by, expand
from reclaim_nb.papers.fetch_sources import Plan, hub_repository, plan_of


def plan(**changes: Any) -> Plan:
    return plan_of(PaperCard.model_validate(raw_card(**changes)))


def of_data(url: str, **more: Any) -> Plan:
    return plan(release={"code": None, "data": [{"name": "d", "url": url, **more}], "weights": None})


class TestPlan:
    @pytest.mark.parametrize(
        ("url", "found"),
        [
            ("https://huggingface.co/datasets/a/b", ("dataset", "a/b", None, None)),
            ("https://huggingface.co/a/b/tree/v1", ("model", "a/b", "v1", None)),
            ("https://hf.co/a/b/resolve/main/x/y.bin", ("model", "a/b", "main", "x/y.bin")),
            ("https://huggingface.co/gpt2", ("model", "gpt2", None, None)),
            ("https://huggingface.co/collections/a/b", None),
            ("https://huggingface.co/", None),
            ("https://example.org/huggingface.co/a/b", None),
        ],
    )
    def test_addresses_of_a_hub(self, url: str, found: object) -> None:
        assert hub_repository(url) == found

    @pytest.mark.parametrize(
        ("url", "kind"),
        [
            ("https://huggingface.co/datasets/a/b", "hubs"),
            ("https://github.com/a/b", "repositories"),
            ("https://github.com/a/b/tree/main/data", "repositories"),
            ("https://github.com/a/b/releases/download/v1/x.zip", "files"),
            ("https://github.com/a/b/blob/main/x.csv", "files"),
            ("https://example.org/x.tar.gz", "files"),
            ("https://example.org/about.php", "gaps"),
            ("https://drive.google.com/drive/folders/abc", "gaps"),
        ],
    )
    def test_each_address_is_one_kind(self, url: str, kind: str) -> None:
        made = of_data(url)
        assert [name for name in ("repositories", "hubs", "files", "gaps") if getattr(made, name)] == [kind]

    @pytest.mark.parametrize("access", ["registration", "request", "unavailable"])
    def test_what_is_not_public_is_a_gap(self, access: str) -> None:
        assert of_data("https://example.org/x.zip", access=access).gaps[0].why == f"access is by {access}"

    def test_data_in_the_code_are_fetched_once(self) -> None:
        url = "https://github.com/Authors/Code"
        release = {"code": {"url": f"{url}.git", "commit": "a" * 40}, "data": [{"name": "d", "url": url.lower()}]}
        assert [one.folder for one in plan(release=release).repositories] == ["code"]

    def test_a_name_cannot_leave_its_folder(self) -> None:
        for url in ("https://example.org/x%2F..%2F..%2Fy.csv", "https://example.org/..%5Cy.csv"):
            (file,) = of_data(url).files
            assert file.path.count("/") == 1
            assert file.path.startswith("data/")
        for path in ("../x", "/x", "a/../b", "a//b", "a\\b", "."):
            with pytest.raises(ValidationError):
                RemoteFile(url="https://example.org/x", path=path)

    def test_the_key_follows_what_is_asked_for_and_nothing_else(self) -> None:
        one = of_data("https://example.org/x.zip")
        assert of_data("https://example.org/x.zip", access="public").key == one.key
        assert of_data("https://example.org/y.zip").key != one.key
        assert of_data("https://example.org/x.zip", files=[{"url": "https://example.org/z", "sha256": "0" * 64}]) != one

    def test_every_committed_card_has_a_plan(self) -> None:
        cards = [
            loaded.card for name in ("neurips2025", "more", "small") for loaded in load_suite(ROOT / "papers" / name)
        ]
        plans = [plan_of(card) for card in cards]
        assert len(plans) == 213
        for card, made in zip(cards, plans, strict=True):
            named = bool(card.release.code) + len(card.release.data) + bool(card.release.weights)
            kinds = len(made.repositories) + len(made.hubs) + len(made.files) + len(made.gaps)
            assert named == 0 or kinds >= 1, card.id
            for place in [one.folder for one in made.repositories] + [one.path for one in made.files]:
                assert ".." not in place.split("/"), card.id


class TestBlock:
    BLOCK = ("https://github.com/Author/Secret", "https://huggingface.co/author/secret-model", "example.org")

    @pytest.mark.parametrize(
        "url",
        [
            "https://github.com/author/secret",
            "https://github.com/author/secret.git",
            "https://github.com/author/secret/archive/main.zip",
            "https://GITHUB.com//author/secret/tree/x",
            "https://codeload.github.com/Author/Secret/zip/main",
            "https://raw.githubusercontent.com/author/secret/main/train.py",
            "https://api.github.com/repos/author/secret/contents",
            "https://cdn.jsdelivr.net/gh/author/secret@main/train.py",
            "https://github.com/author%2Fsecret",
            "https://hf-mirror.com/author/secret-model/resolve/main/x",
            "https://web.archive.org/web/2025/https://github.com/author/secret",
            "https://example.org/anything",
            "https://www.example.org/anything",
        ],
    )
    def test_the_work_under_any_of_its_addresses(self, url: str) -> None:
        assert blocked_by(url, self.BLOCK) is not None

    @pytest.mark.parametrize(
        "url",
        [
            "https://github.com/author/secret-but-other",
            "https://github.com/author/other",
            "https://github.com/someone/secret",
            "https://index.example.net/simple/secret",
            "https://notexample.org/",
            "https://huggingface.co/author/other-model",
        ],
    )
    def test_others_are_free(self, url: str) -> None:
        assert blocked_by(url, self.BLOCK) is None

    def test_nothing_blocked_blocks_nothing(self) -> None:
        assert expand(()) == ()
        assert blocked_by("https://web.archive.org/", ()) is None

    @given(st.from_regex(r"[a-z0-9][a-z0-9-]{0,12}/[a-z0-9][a-z0-9._-]{0,12}", fullmatch=True))
    def test_a_blocked_repository_is_blocked_everywhere(self, name: str) -> None:
        block = (f"https://github.com/{name}",)
        for place in expand(block):
            assert blocked_by(f"https://{place}/x", block) is not None

    def test_a_reimplement_card_blocks_what_it_links_as_code(self) -> None:
        links = {"code": ["https://github.com/author/secret"]}
        release = {"code": None, "data": [{"name": "d", "url": "https://github.com/author/secret"}]}
        card = PaperCard.model_validate(raw_card(links=links, network={"block": ["fork.example"]}, release=release))
        assert card.blocked == ("fork.example", "https://github.com/author/secret")
        made = plan_of(card)
        assert made.repositories == ()
        assert "the card blocks it" in made.gaps[0].why

    def test_a_card_with_code_blocks_only_what_it_says(self) -> None:
        release = {"code": {"url": "https://github.com/author/secret"}, "data": [], "weights": None}
        card = PaperCard.model_validate(raw_card(links={"code": ["https://github.com/author/secret"]}, release=release))
        assert card.blocked == ()
