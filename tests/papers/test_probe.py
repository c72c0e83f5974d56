"""Probing cards against servers on loopback that answer like the real ones, and badly."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from card_helpers import raw_card, write_card
from fetch_servers import Exchange, Site, commit, serve_git, serve_hub, site

from reclaim_nb.cli import main
from reclaim_nb.papers.fetch_cache import Cache
from reclaim_nb.papers.fetch_web import Manners, Web
from reclaim_nb.papers.loading import load_card
from reclaim_nb.papers.paper_text import PaperText
from reclaim_nb.papers.probe import Answer, ProbeRecord, probe_paper, probe_record
from reclaim_nb.papers.probe_value import find_value, printed_forms

PAPER = b"# Toy\n\n## Results\n\nM-base reaches 84.3 % top-1 accuracy on the test split, against 83.1 % for the plain.\n"


class Asked:
    """A card, the server it names, and a cache of our own."""

    def __init__(self, server: Site, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.cache = Cache(folder / "cache")
        self.slept: list[float] = []
        self.timeout_seconds = 30.0
        text = {"url": server.file("/paper.md", PAPER)}
        self.card: dict[str, Any] = raw_card(text=text)

    def probe(self, **how: Any) -> ProbeRecord:
        web = Web(Manners(pause_seconds=0, timeout_seconds=self.timeout_seconds, tries=2), sleep=self.slept.append)
        loaded = load_card(write_card(self.folder / "toys" / "toy-cls" / "paper.yaml", self.card))
        try:
            return probe_paper(loaded, cache=self.cache, web=web, **how)
        finally:
            web.close()

    def answer(self, what: str, **release: Any) -> Answer:
        """Return what came of one question about a release."""
        self.card["release"] = {"code": None, "data": [], "weights": None} | release
        (answer,) = [one for one in self.probe().answers if one.what == what]
        return answer


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Asked]:
    with site() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
        monkeypatch.delenv("HF_TOKEN", raising=False)
        yield Asked(server, tmp_path)


class TestCode:
    @pytest.fixture
    def repository(self, asked: Asked, tmp_path: Path) -> tuple[str, str]:
        first = commit(tmp_path / "authors", {"train.py": "print('first')\n"})
        commit(tmp_path / "authors", {"train.py": "print('second')\n"})
        return serve_git(asked.server, "/authors/toy.git", tmp_path / "authors"), first

    def test_repository_and_commit_are_there(self, asked: Asked, repository: tuple[str, str]) -> None:
        url, first = repository
        assert asked.answer("code", code={"url": url, "commit": first}).state == "ok"
        assert asked.answer("commit", code={"url": url, "commit": first}).state == "ok"

    def test_a_commit_that_is_gone(self, asked: Asked, repository: tuple[str, str]) -> None:
        answer = asked.answer("commit", code={"url": repository[0], "commit": "f" * 40})
        assert (answer.state, answer.url) == ("missing", repository[0])

    def test_a_commit_that_the_server_does_not_tell_of(self, asked: Asked, repository: tuple[str, str]) -> None:
        assert asked.answer("commit", code={"url": repository[0], "commit": repository[1][:8]}).state == "unclear"

    def test_a_repository_that_is_gone(self, asked: Asked, repository: tuple[str, str]) -> None:
        record = asked.answer("code", code={"url": asked.server.url + "/nobody/toy.git", "commit": "f" * 40})
        assert record.state == "missing"

    def test_no_commit_on_the_card(self, asked: Asked, repository: tuple[str, str]) -> None:
        assert asked.answer("commit", code={"url": repository[0]}).state == "not_asked"


class TestPages:
    @pytest.mark.parametrize(
        ("codes", "state", "says"),
        [
            ((404,), "missing", "404"),
            ((410,), "missing", "410"),
            ((403,), "gated", "403"),
            ((500,), "unclear", "500"),
            ((429,), "unclear", "busy"),
        ],
    )
    def test_by_status(self, asked: Asked, codes: tuple[int, ...], state: str, says: str) -> None:
        answer = asked.answer("data: d", data=[{"name": "d", "url": asked.server.status("/d.csv", *codes)}])
        assert answer.state == state
        assert says in answer.text

    def test_a_file_is_looked_at_and_not_fetched(self, asked: Asked) -> None:
        answer = asked.answer("data: d", data=[{"name": "d", "url": asked.server.file("/d.csv", b"x" * 5000)}])
        assert (answer.state, answer.facts["size"]) == ("ok", 5000)
        assert [method for method, path, _ in asked.server.asked if path == "/d.csv"] == ["HEAD"]

    def test_a_server_that_refuses_to_be_looked_at(self, asked: Asked) -> None:
        def answer(exchange: Exchange) -> None:
            exchange.send(405 if exchange.handler.command == "HEAD" else 200, b"data")

        asked.server.routes["/d.csv"] = answer
        assert asked.answer("data: d", data=[{"name": "d", "url": asked.server.url + "/d.csv"}]).state == "ok"

    def test_moved(self, asked: Asked) -> None:
        there = asked.server.file("/there.csv", b"x")
        answer = asked.answer("data: d", data=[{"name": "d", "url": asked.server.redirect("/d.csv", "/there.csv")}])
        assert (answer.state, answer.facts["now"]) == ("moved", there)

    def test_busy_and_then_there(self, asked: Asked) -> None:
        url = asked.server.status("/d.csv", 429, then=lambda one: one.send(200, b"x"), Retry_After="3")
        assert asked.answer("data: d", data=[{"name": "d", "url": url}]).state == "ok"
        assert asked.slept == [3]

    def test_a_wait_that_is_too_long(self, asked: Asked) -> None:
        url = asked.server.status("/d.csv", 429, Retry_After="86400")
        answer = asked.answer("data: d", data=[{"name": "d", "url": url}])
        assert answer.state == "unclear"
        assert "86400" in answer.text

    def test_a_silent_server(self, asked: Asked) -> None:
        release = threading.Event()
        asked.server.routes["/d.csv"] = lambda one: release.wait(60)
        asked.timeout_seconds = 0.5
        try:
            answer = asked.answer("data: d", data=[{"name": "d", "url": asked.server.url + "/d.csv"}])
        finally:
            release.set()
        assert answer.state == "unclear"
        assert "no answer" in answer.text

    def test_a_closed_port(self, asked: Asked) -> None:
        assert asked.answer("data: d", data=[{"name": "d", "url": "http://127.0.0.1:9/d.csv"}]).state == "unclear"

    def test_a_silent_host_is_waited_for_once(self, asked: Asked) -> None:
        data = [{"name": name, "url": f"http://127.0.0.1:9/{name}"} for name in ("a", "b")]
        asked.card["release"] = {"code": None, "data": data, "weights": None}
        first, second, _ = asked.probe().answers
        assert (first.state, second.state) == ("unclear", "unclear")
        assert "did not answer a moment ago" in second.text
        assert len(asked.slept) == 1

    def test_no_address(self, asked: Asked) -> None:
        assert asked.answer("data: d", data=[{"name": "d"}]).state == "not_asked"


def hub(asked: Asked, name: str, files: dict[str, bytes], kind: str = "models", **facts: Any) -> str:
    """Serve a repository of the hub with these facts, and return its address."""
    siblings = [{"rfilename": path, "size": len(content)} for path, content in files.items()]
    listing = {"id": name, "sha": "c" * 40, "gated": False, "siblings": siblings}
    asked.server.json(f"/api/{kind}/{name}", listing | facts)
    return f"https://huggingface.co/{'' if kind == 'models' else kind + '/'}{name}"


class TestWeights:
    def test_listed(self, asked: Asked) -> None:
        serve_hub(asked.server, "authors/model", {"config.json": b"{}", "model.safetensors": b"1"})
        answer = asked.answer("weights", weights={"url": "https://huggingface.co/authors/model"})
        assert answer.state == "ok"
        assert answer.facts["weight_files"] == ["model.safetensors"]
        assert len(answer.facts["commit"]) == 40

    def test_a_repository_without_weights(self, asked: Asked) -> None:
        url = hub(asked, "authors/model", {"README.md": b"soon", "optimizer.pt": b"1"})
        answer = asked.answer("weights", weights={"url": url})
        assert answer.state == "wrong"
        assert "none of them is a weight file" in answer.text

    def test_only_the_base_model(self, asked: Asked) -> None:
        url = hub(asked, "meta-llama/Llama-3.1-8B", {"model.safetensors": b"1"}, gated="manual")
        answer = asked.answer("weights", weights={"url": url})
        assert answer.state == "wrong"
        assert "base model" in answer.text

    def test_a_base_account_that_wrote_the_paper(self, asked: Asked) -> None:
        url = hub(asked, "facebook/toy", {"model.safetensors": b"1"}, cardData={"base_model": "facebook/dino"})
        asked.card["links"] = {"code": ["https://github.com/facebook/toy"]}
        answer = asked.answer("weights", weights={"url": url})
        assert (answer.state, answer.facts["base_model"]) == ("ok", "facebook/dino")

    def test_a_file_that_is_not_in_it(self, asked: Asked) -> None:
        url = hub(asked, "authors/model", {"a.safetensors": b"1"}) + "/tree/main/large"
        assert asked.answer("weights", weights={"url": url}).state == "missing"

    def test_taken_down(self, asked: Asked) -> None:
        asked.server.status("/api/models/authors/gone", 401, X_Error_Code="RepoNotFound")
        assert asked.answer("weights", weights={"url": "https://huggingface.co/authors/gone"}).state == "missing"

    def test_a_page_elsewhere(self, asked: Asked) -> None:
        assert asked.answer("weights", weights={"url": asked.server.file("/model.zip", b"1")}).state == "ok"


class TestAccess:
    def test_gated_though_the_card_says_public(self, asked: Asked) -> None:
        url = hub(asked, "lab/set", {"a.parquet": b"1"}, "datasets", gated="auto")
        answer = asked.answer("data: set", data=[{"name": "set", "url": url}])
        assert answer.state == "gated"
        assert "the card says public" in answer.text

    def test_gated_as_the_card_says(self, asked: Asked) -> None:
        url = hub(asked, "lab/set", {"a.parquet": b"1"}, "datasets", gated="auto")
        assert asked.answer("data: set", data=[{"name": "set", "url": url, "access": "gated"}]).state == "ok"

    def test_open_though_the_card_says_gated(self, asked: Asked) -> None:
        url = hub(asked, "lab/set", {"a.parquet": b"1"}, "datasets")
        assert asked.answer("data: set", data=[{"name": "set", "url": url, "access": "gated"}]).state == "wrong"

    def test_hidden_behind_a_gate(self, asked: Asked) -> None:
        asked.server.status("/api/datasets/lab/set", 403, X_Error_Code="GatedRepo")
        data = [{"name": "set", "url": "https://huggingface.co/datasets/lab/set"}]
        assert asked.answer("data: set", data=data).state == "gated"


class TestValue:
    def test_found_near_its_metric(self, asked: Asked) -> None:
        answer = asked.answer("value")
        assert answer.state == "ok"
        assert "1 of them near a word of the metric" in answer.text
        assert answer.facts["places"] == [
            "Results: Results M-base reaches 84.3 % top-1 accuracy on the test split, against 83.1 % for the"
        ]

    def test_not_printed(self, asked: Asked) -> None:
        asked.card["text"] = {"url": asked.server.file("/other.md", PAPER.replace(b"84.3", b"84.31"))}
        answer = asked.answer("value")
        assert answer.state == "missing"
        assert "84.3 percent is not printed" in answer.text

    def test_no_text(self, asked: Asked) -> None:
        asked.card["text"] = {"url": asked.server.status("/none.md", 404)}
        assert asked.answer("value").state == "unclear"

    def test_beside_the_card(self, asked: Asked) -> None:
        asked.card["text"] = {"url": asked.server.status("/none.md", 404)}
        (asked.folder / "toys" / "toy-cls").mkdir(parents=True)
        (asked.folder / "toys" / "toy-cls" / "paper.md").write_bytes(PAPER)
        assert asked.answer("value").state == "ok"
        assert asked.server.asked_for("/none.md") == []

    @pytest.mark.parametrize(
        ("printed", "value", "unit", "found"),
        [
            ("is 84.30 %", "84.3", "percent", True),
            ("is 0.843", "84.3", "percent", True),
            ("is .843", "0.843", "fraction", True),
            ("needs 8,560 bytes", "8560", "none", True),
            ("a change of \u22121.5", "-1.5", "none", True),
            ("is 184.3", "84.3", "percent", False),
            ("is 84.35", "84.3", "percent", False),
            ("is 84.3.1", "84.3", "percent", False),
            ("v84.3", "84.3", "percent", False),
            ("is 84", "84.0", "percent", True),
            ("is 843", "84.3", "percent", False),
        ],
    )
    def test_forms(self, printed: str, value: str, unit: str, found: bool) -> None:
        assert bool(find_value(PaperText.parse(f"It {printed} here."), Decimal(value), unit)) is found

    def test_every_form_is_found(self) -> None:
        for form in printed_forms(Decimal("1234.5"), "percent"):
            assert find_value(PaperText.parse(f"It is {form}."), Decimal("1234.5"), "percent"), form


class TestRecord:
    def test_is_dated_and_kept(self, asked: Asked) -> None:
        record = asked.probe()
        assert record.time.endswith("Z")
        assert probe_record("toys/toy-cls", asked.cache) == record
        assert len(record.card_sha256) == 64

    def test_nobody_is_asked_twice_in_a_week(self, asked: Asked) -> None:
        url = asked.server.file("/d.csv", b"x")
        asked.card["release"]["data"] = [{"name": "d", "url": url}]
        first = asked.probe()
        assert asked.probe().answers[0] == first.answers[0]
        assert len(asked.server.asked_for("/d.csv")) == 1
        assert len(asked.server.asked_for("/paper.md")) == 1
        asked.probe(again=True)
        assert len(asked.server.asked_for("/d.csv")) == 2
        asked.probe(days=0)
        assert len(asked.server.asked_for("/d.csv")) == 3

    def test_what_was_unclear_is_asked_again(self, asked: Asked) -> None:
        url = asked.server.status("/d.csv", 503, 503, then=lambda one: one.send(200, b"x"))
        asked.card["release"]["data"] = [{"name": "d", "url": url}]
        assert [asked.probe().answers[0].state for _ in range(2)] == ["unclear", "ok"]

    def test_a_damaged_record_is_no_obstacle(self, asked: Asked) -> None:
        asked.probe()
        asked.cache.probe_file("toys/toy-cls").write_text("{")
        assert asked.probe().answers

    def test_the_command(
        self, asked: Asked, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("RECLAIM_CACHE", str(asked.folder / "cache"))
        asked.card["release"]["data"] = [{"name": "d", "url": asked.server.status("/d.csv", 404)}]
        path = write_card(asked.folder / "toys" / "toy-cls" / "paper.yaml", asked.card)
        assert main(["papers", "probe", str(path.parent)]) == 1
        said = capsys.readouterr().out
        assert "missing   data: d: it is not there (404)" in said
        assert "ok        value: 84.3 stands 1 times" in said
        assert "1 papers, 1 faults, 0 answers unclear" in said
        assert main(["papers", "probe", str(path.parent), "--json"]) == 1
        assert json.loads(capsys.readouterr().out)["faults"] == 1
