"""Fetching a whole release over loopback: pinned, changed upstream, interrupted, damaged, too large, in notebooks."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from card_helpers import raw_card, write_card
from fetch_servers import Exchange, Site, commit, git, serve_git, serve_hub, site

from reclaim_nb.cli import main
from reclaim_nb.errors import FetchError
from reclaim_nb.papers.fetch import FetchedRelease, fetch_paper, find_fetched
from reclaim_nb.papers.fetch_cache import Cache
from reclaim_nb.papers.fetch_web import Manners, Web
from reclaim_nb.papers.loading import LoadedCard, load_card

TRAIN = b"x,y\n" + b"1,2\n" * 150_000
WEIGHTS = bytes(range(251)) * 1500
NOTEBOOK = {
    "cells": [
        {
            "cell_type": "code",
            "execution_count": 3,
            "metadata": {},
            "outputs": [{"output_type": "stream", "name": "stdout", "text": ["top-1 84.3127\n"]}],
            "source": ["evaluate()"],
        }
    ],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}
PAPER = b"# Toy\n\nM-base reaches 84.3 % top-1 on the test split, against 83.1 % for the plain one.\n"
FIRST = {
    "train.py": "print('first')\n",
    "eval.ipynb": json.dumps(NOTEBOOK),
    "logs/run.log": "epoch 9 top-1 84.3127\n",
    ".gitattributes": "logs export-ignore\n",
}


@dataclass
class World:
    """The authors' server, their repository, a card that names both, and a cache of our own."""

    server: Site
    repository: Path
    first: str
    card: dict[str, Any]
    cache: Cache
    folder: Path
    said: list[str]

    def loaded(self) -> LoadedCard:
        return load_card(write_card(self.folder / "toys" / "toy-cls" / "paper.yaml", self.card))

    def fetch(self, card: LoadedCard | None = None, **how: Any) -> FetchedRelease:
        web = Web(Manners(pause_seconds=0, timeout_seconds=5, tries=2), sleep=lambda seconds: None)
        try:
            return fetch_paper(card or self.loaded(), cache=self.cache, web=web, progress=self.said.append, **how)
        finally:
            web.close()

    @property
    def release(self) -> dict[str, Any]:
        release: dict[str, Any] = self.card["release"]
        return release

    def nothing_half(self) -> bool:
        """Whether the cache shows no release, and nothing in it that is not whole."""
        for blob in self.cache.path.glob("blobs/*/*"):
            assert hashlib.sha256(blob.read_bytes()).hexdigest() == blob.name
        assert list(self.cache.path.glob("staging/*")) == []
        return find_fetched(self.loaded(), self.cache) is None


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with site() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setenv("RECLAIM_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
        repository = tmp_path / "authors"
        first = commit(repository, FIRST)
        commit(repository, {"train.py": "print('second')\n"})
        files = {"config.json": b"{}\n", "model.safetensors": WEIGHTS}
        serve_hub(server, "authors/model", files, large=("model.safetensors",))
        card = raw_card(
            release={
                "code": {"url": serve_git(server, "/authors/toy.git", repository), "commit": first},
                "data": [
                    {
                        "name": "toy data",
                        "files": [
                            {
                                "url": server.file("/data/train.bin", TRAIN),
                                "sha256": hashlib.sha256(TRAIN).hexdigest(),
                                "size": len(TRAIN),
                            }
                        ],
                    }
                ],
                "weights": {"url": "https://huggingface.co/authors/model"},
            },
            text={"url": server.file("/paper.md", PAPER)},
            device="cpu",
        )
        yield World(server, repository, first, card, Cache(tmp_path / "cache"), tmp_path, [])


class TestWhole:
    def test_everything_lies_in_its_place(self, world: World) -> None:
        done = world.fetch()
        assert done.release is not None
        assert (done.release / "code" / "train.py").read_text() == "print('first')\n"
        assert (done.release / "code" / "logs" / "run.log").exists(), "export-ignore is for archives, not for us"
        assert (done.release / "data" / "train.bin").read_bytes() == TRAIN
        assert (done.release / "weights" / "model" / "model.safetensors").read_bytes() == WEIGHTS
        assert done.paper_text is not None
        assert done.paper_text.read_bytes() == PAPER
        assert [one.commit for one in done.facts.repositories if one.folder == "code"] == [world.first]
        assert not list(done.release.rglob(".git"))
        assert world.loaded().sha256 not in done.facts.key

    def test_outputs_are_stripped_and_their_numbers_kept(self, world: World) -> None:
        done = world.fetch()
        assert done.release is not None
        (cell,) = json.loads((done.release / "code" / "eval.ipynb").read_text())["cells"]
        assert (cell["outputs"], cell["execution_count"], cell["source"]) == ([], None, ["evaluate()"])
        intake = done.intake()
        assert intake.stripped == ("code/eval.ipynb",)
        assert {(n.file, n.text) for n in intake.numbers if n.text == "84.3127"} == {
            ("code/eval.ipynb", "84.3127"),
            ("code/logs/run.log", "84.3127"),
        }
        shipped = {file.path: file.sha256 for file in intake.files}
        assert shipped["code/eval.ipynb"] == hashlib.sha256(FIRST["eval.ipynb"].encode()).hexdigest()
        assert shipped["weights/model/model.safetensors"] == hashlib.sha256(WEIGHTS).hexdigest()
        on_disk = {p.relative_to(done.release).as_posix() for p in done.release.rglob("*") if p.is_file()}
        assert set(shipped) == on_disk

    def test_a_second_time_nobody_is_asked(self, world: World) -> None:
        first = world.fetch()
        asked = len(world.server.asked)
        assert world.fetch() == first
        assert find_fetched(world.loaded(), world.cache) == first
        assert len(world.server.asked) == asked

    def test_other_words_on_the_card_change_nothing(self, world: World) -> None:
        first = world.fetch()
        world.card["doubts"] = ["a doubt"]
        world.release["code"]["license"] = "MIT"
        assert find_fetched(world.loaded(), world.cache) == first

    def test_another_paper_shares_the_files(self, world: World) -> None:
        done = world.fetch()
        world.card["release"] = {**world.release, "weights": None}
        asked = len(world.server.asked_for("/data/train.bin"))
        other = world.fetch()
        assert other.path != done.path
        assert len(world.server.asked_for("/data/train.bin")) == asked
        assert (other.path / "release/data/train.bin").samefile(done.path / "release/data/train.bin")

    def test_a_notebook_among_the_data_leaves_the_cache_whole(self, world: World) -> None:
        content = json.dumps(NOTEBOOK).encode()
        world.release["data"][0]["files"] = [{"url": world.server.file("/data/look.ipynb", content)}]
        done = world.fetch()
        assert done.release is not None
        assert b"84.3127" not in (done.release / "data" / "look.ipynb").read_bytes()
        assert world.cache.blob(hashlib.sha256(content).hexdigest()) is not None
        for blob in world.cache.path.glob("blobs/*/*"):
            assert hashlib.sha256(blob.read_bytes()).hexdigest() == blob.name

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda release: (release / "code/train.py").chmod(0o644), None),
            (lambda release: _write(release / "code/train.py", b"print('x')\n"), "train.py: was changed"),
            (lambda release: (release / "code/train.py").unlink(), "train.py: is gone"),
            (lambda release: _write(release / "code/more.py", b""), "more.py: was added"),
        ],
    )
    def test_what_was_changed_in_the_cache_is_noticed(
        self, world: World, change: Callable[[Path], Any], words: str | None
    ) -> None:
        done = world.fetch()
        assert done.release is not None
        change(done.release)
        if words is None:
            done.check()
            return
        with pytest.raises(FetchError, match=words):
            world.fetch()
        assert world.fetch(again=True).release == done.release
        done = world.fetch()
        assert (done.path / "release/code/train.py").read_text() == "print('first')\n"

    def test_two_at_a_time(self, world: World) -> None:
        card = world.loaded()
        with ThreadPoolExecutor(3) as pool:
            found = list(pool.map(lambda _: world.fetch(card).facts.tree_sha256, range(3)))
        assert len(set(found)) == 1, found
        assert len(world.server.asked_for("/data/train.bin")) == 1


class TestNotAsSaid:
    def test_a_wrong_checksum_is_refused(self, world: World) -> None:
        world.server.file("/data/train.bin", TRAIN[::-1])
        with pytest.raises(FetchError, match=r"train\.bin: its sha256 is \w{64} and should be \w{64}"):
            world.fetch()
        assert world.nothing_half()

    def test_a_wrong_size_is_refused(self, world: World) -> None:
        world.server.file("/data/train.bin", TRAIN[:-1])
        with pytest.raises(FetchError, match=f"has {len(TRAIN) - 1} bytes and should have {len(TRAIN)}"):
            world.fetch()
        assert world.nothing_half()

    def test_what_was_there_stays_when_a_new_fetch_fails(self, world: World) -> None:
        first = world.fetch()
        world.server.status("/paper.md", 404)
        world.server.status("/api/models/authors/model", 404, X_Error_Code="RepoNotFound")
        with pytest.raises(FetchError, match="no such repository"):
            world.fetch(again=True)
        assert find_fetched(world.loaded(), world.cache) == first
        first.check()

    @pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
    def test_a_hub_file_damaged_on_the_way_is_refused(self, world: World, name: str) -> None:
        (path,) = [path for path in world.server.routes if path.endswith(f"/{name}")]
        size = 3 if name == "config.json" else len(WEIGHTS)
        world.server.file(path, b"x" * size)
        with pytest.raises(FetchError, match=r"damaged"):
            world.fetch()
        assert world.nothing_half()

    def test_a_commit_that_is_gone(self, world: World) -> None:
        world.release["code"]["commit"] = "0123456789" * 4
        with pytest.raises(FetchError, match=r"has no commit 0123456789.* any more"):
            world.fetch()
        assert world.nothing_half()

    def test_a_branch_is_no_commit(self, world: World) -> None:
        world.release["code"]["commit"] = "main"
        with pytest.raises(FetchError, match="'main' is no commit"):
            world.fetch()

    def test_a_file_that_leads_out_of_the_release(self, world: World) -> None:
        world.release["weights"] = {"url": "https://huggingface.co/evil/model"}
        serve_hub(world.server, "evil/model", {"../../../owned": b"x"})
        with pytest.raises(FetchError, match=r"leads out of the release"):
            world.fetch()
        assert world.nothing_half()
        assert not (world.folder / "owned").exists()


class TestChangedUpstream:
    def test_a_file_that_no_hash_pins(self, world: World) -> None:
        world.release["data"][0]["files"] = [{"url": f"{world.server.url}/data/train.bin"}]
        first = world.fetch()
        world.server.file("/data/train.bin", b"another one")
        assert world.fetch() == first, "without being asked it stays what it was"
        with pytest.raises(FetchError, match=r"train\.bin: changed upstream: on \d{4}-\d\d-\d\d it had sha256"):
            world.fetch(again=True)
        assert find_fetched(world.loaded(), world.cache) == first
        done = world.fetch(again=True, accept_changes=True)
        assert (done.path / "release/data/train.bin").read_bytes() == b"another one"

    def test_a_repository_that_no_commit_pins(self, world: World) -> None:
        del world.release["code"]["commit"]
        first = world.fetch()
        second = first.facts.repositories[0].commit
        assert second == git(world.repository, "rev-parse", "HEAD")
        assert not first.facts.repositories[0].pinned
        third = commit(world.repository, {"train.py": "print('third')\n"})
        assert world.fetch() == first
        with pytest.raises(FetchError, match=f"changed upstream: it was at commit {second}, now {third}"):
            world.fetch(again=True)
        done = world.fetch(again=True, accept_changes=True)
        assert done.facts.repositories[0].commit == third

    def test_a_pinned_commit_survives_a_rewritten_branch(self, world: World) -> None:
        git(world.repository, "checkout", "--quiet", "--orphan", "fresh")
        commit(world.repository, {"train.py": "print('rewritten')\n"})
        git(world.repository, "branch", "-D", "main")
        done = world.fetch()
        assert (done.path / "release/code/train.py").read_text() == "print('first')\n"


class TestServers:
    def test_a_server_that_hands_out_no_single_commit(self, world: World) -> None:
        git(world.repository, "config", "uploadpack.allowAnySHA1InWant", "false")
        git(world.repository, "config", "uploadpack.allowReachableSHA1InWant", "false")
        world.release["code"]["commit"] = world.first[:10]
        assert world.fetch().facts.repositories[0].commit == world.first

    def test_a_plain_web_server_with_a_repository(self, world: World) -> None:
        bare = world.folder / "plain.git"
        git(world.folder, "clone", "--quiet", "--bare", str(world.repository), str(bare))
        git(bare, "update-server-info")

        def plain(exchange: Exchange) -> None:
            path = bare / exchange.path.removeprefix("/plain.git/")
            exchange.send(200, path.read_bytes()) if path.is_file() else exchange.send(404)

        world.server.fallback = plain
        world.release["code"]["url"] = f"{world.server.url}/plain.git"
        assert world.fetch().facts.repositories[0].commit == world.first

    def test_no_repository(self, world: World) -> None:
        world.release["code"]["url"] = f"{world.server.url}/nobody/nothing.git"
        with pytest.raises(FetchError, match="no such repository, or a private one"):
            world.fetch()

    def test_a_gated_hub_file_says_what_to_do(self, world: World) -> None:
        (path,) = [path for path in world.server.routes if path.endswith("/model.safetensors")]
        world.server.status(path, 403)
        with pytest.raises(FetchError, match="gated or private; ask for access and set HF_TOKEN"):
            world.fetch()
        assert world.nothing_half()
        done = world.fetch(keep_going=True)
        assert [(one.what, "HF_TOKEN" in one.why) for one in done.facts.missing] == [("authors/model", True)]
        assert (done.path / "release/code/train.py").exists()

    def test_a_token_goes_to_the_hub_and_nowhere_else(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HF_TOKEN", "hf_secretsecret")
        world.fetch()
        with_token = {
            path for _, path, headers in world.server.asked if "hf_secret" in headers.get("Authorization", "")
        }
        assert any(path.endswith("model.safetensors") for path in with_token)
        assert not any("train.bin" in path or "toy.git" in path for path in with_token)

    def test_only_the_files_that_the_card_names(self, world: World) -> None:
        world.release["weights"]["files"] = [{"path": "config.json"}]
        done = world.fetch()
        assert [p.name for p in (done.path / "release/weights/model").iterdir()] == ["config.json"]
        world.release["weights"]["files"] = [{"path": "adapter.bin"}]
        with pytest.raises(FetchError, match=r"there is no file adapter\.bin in it"):
            world.fetch()

    def test_submodules_and_large_file_storage_are_named(self, world: World) -> None:
        pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n"
        git(world.repository, "update-index", "--add", "--cacheinfo", f"160000,{world.first},vendor")
        world.release["code"]["commit"] = _with_index(world.repository, {"big.bin": pointer})
        missing = {one.what: one.why for one in world.fetch().facts.missing}
        assert "submodule" in missing["code/vendor"]
        assert "large file storage" in missing["code/big.bin"]


class TestRoom:
    def test_more_than_is_allowed(self, world: World) -> None:
        with pytest.raises(FetchError, match="allow more with --most-gib, or name single files"):
            world.fetch(most_bytes=100_000)
        assert world.nothing_half()

    def test_more_than_the_disk_has(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Cache, "free_bytes", lambda self: 1000)
        with pytest.raises(FetchError, match=r"has room for 0\.0 GiB; make room or set RECLAIM_CACHE"):
            world.fetch()
        assert world.nothing_half()

    @pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small disk")
    @pytest.mark.parametrize("kib", [64, 256, 700, 1000])
    def test_a_disk_that_fills_up(self, world: World, kib: int) -> None:
        """Wherever it fills up, the message is the same kind, nothing half is found, and room makes it work."""
        disk = world.cache.path
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", str(disk)], check=False).returncode:
            pytest.skip("no mounting here")
        try:
            with pytest.raises(FetchError, match=r"(no room left|No space left|has room for)"):
                world.fetch()
            assert world.nothing_half()
            subprocess.run(["mount", "-o", "remount,size=40m", str(disk)], check=True)
            done = world.fetch()
            done.check()
            assert (done.path / "release/data/train.bin").read_bytes() == TRAIN
        finally:
            subprocess.run(["umount", str(disk)], check=True)


class TestKilled:
    def test_a_killed_fetch_goes_on_where_it_stopped(self, world: World) -> None:
        """kill -9 in the middle of a file: nothing of it is used, the next fetch asks for the rest only."""
        held, sent = threading.Event(), threading.Event()
        half = len(TRAIN) // 2

        def stalls(exchange: Exchange) -> None:
            exchange.handler.send_response(200)
            exchange.handler.send_header("ETag", f'"{hashlib.md5(TRAIN, usedforsecurity=False).hexdigest()}"')
            exchange.handler.send_header("Content-Length", str(len(TRAIN)))
            exchange.handler.end_headers()
            exchange.handler.wfile.write(TRAIN[:half])
            exchange.handler.wfile.flush()
            sent.set()
            held.wait(30)

        world.server.routes["/data/train.bin"] = stalls
        card = world.loaded().path
        command = [sys.executable, "-m", "reclaim_nb.cli", "fetch", str(card.parent)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            assert sent.wait(60)
            part = world.cache.part(f"{world.server.url}/data/train.bin")
            while not part.exists() or part.stat().st_size < 100_000:
                assert process.poll() is None, process.stdout and process.stdout.read()
            process.send_signal(signal.SIGKILL)
            process.wait()
        finally:
            held.set()
            process.kill()
            process.wait()
        assert find_fetched(world.loaded(), world.cache) is None
        left = part.stat().st_size
        world.server.file("/data/train.bin", TRAIN)
        for staging in world.cache.path.glob("staging/*"):
            os.utime(staging, (1, 1))
        done = world.fetch()
        assert world.server.asked_for("/data/train.bin")[-1]["Range"] == f"bytes={left}-"
        assert (done.path / "release/data/train.bin").read_bytes() == TRAIN
        assert list(world.cache.path.glob("staging/*")) == []


class TestCommand:
    def test_says_what_came_and_what_is_not_pinned(self, world: World, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["fetch", str(world.loaded().path.parent)]) == 0
        shown = capsys.readouterr().out
        assert f"at {world.first}\n" in shown
        assert "(not pinned by the card)" in shown
        assert "outputs of code/eval.ipynb" in shown

    def test_an_error_is_one_line(self, world: World, capsys: pytest.CaptureFixture[str]) -> None:
        world.release["code"]["commit"] = "main"
        assert main(["fetch", str(world.loaded().path.parent)]) == 1
        assert capsys.readouterr().err.splitlines()[-1].startswith("error: http://127.0.0.1")

    def test_a_card_with_nothing_to_fetch(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = write_card(tmp_path / "toys" / "toy-cls" / "paper.yaml", raw_card())
        assert main(["fetch", str(path.parent)]) == 1
        assert "nothing can be fetched (data: toy data: the card has no address for it)" in capsys.readouterr().err


class TestAttempt:
    CELLS = (
        "import os, pathlib\n"
        "r = attempt.release\n"
        "print((r / 'code' / 'train.py').read_text(), len((r / 'data' / 'train.bin').read_bytes()))\n"
        "print(attempt.read_paper('Toy'))\n"
        "for name in ('x', 'train.py'):\n"
        "    try:\n        (r / 'code' / name).write_text('x')\n"
        "    except OSError as e:\n        print('closed:', type(e).__name__)\n"
        "attempt.submit(84.3)\n",
    )

    def test_a_whole_attempt_runs_from_it_without_a_network(self, world: World, kernel_image: object) -> None:
        done = world.fetch()
        result = _attempt(world, self.CELLS, "docker")
        shown = "".join(text for text in result["texts"])
        assert f"print('first')\n {len(TRAIN)}" in shown
        assert "84.3 % top-1" in shown
        assert shown.count("closed:") == 2
        spec = result["spec"]
        assert spec["kernel"]["network"] == "none"
        assert spec["release"]["tree_sha256"] == done.facts.tree_sha256
        assert spec["release"]["commits"]["code"] == world.first
        assert result["reason"] == "submitted"
        assert {n["text"] for n in result["intake"]["numbers"]} >= {"84.3127"}
        done.check()

    def test_a_changed_cache_is_not_used(self, world: World) -> None:
        done = world.fetch()
        _write(done.path / "release/code/train.py", b"print('other')\n")
        with pytest.raises(FetchError, match="was changed since it was fetched"):
            _attempt(world, self.CELLS, "local")

    def test_without_a_fetch_there_is_no_release(self, world: World) -> None:
        result = _attempt(world, ("print(attempt.release)",), "local")
        assert "None" in "".join(result["texts"])
        assert result["spec"]["release"] == {"from": "nowhere"}


def _attempt(world: World, cells: tuple[str, ...], kernel: str) -> dict[str, Any]:
    import nbformat

    from reclaim_nb.attempts.prepare import Request, prepare
    from reclaim_nb.attempts.runner import run_attempt
    from reclaim_nb.record.reader import read_events

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    played = world.folder / "cells.ipynb"
    nbformat.write(notebook, played)
    request = Request(
        paper=str(world.loaded().path.parent),
        agent="replay",
        options={"notebook": str(played)},
        kernel=kernel,  # type: ignore[arg-type]
        runs=str(world.folder / "runs"),
    )
    finished = run_attempt(prepare(request))
    events = list(read_events(finished.folder.stream))
    contents = [event.data["content"] for event in events if event.kind == "message"]
    return {
        "reason": finished.reason,
        "spec": events[0].data["spec"],
        "intake": finished.folder.read_intake(),
        "texts": [str(content["text"]) for content in contents if "text" in content],
    }


def _write(path: Path, content: bytes) -> None:
    if path.exists():
        path.chmod(0o644)
        path.unlink()
    path.write_bytes(content)


def _with_index(repository: Path, files: dict[str, str]) -> str:
    """Commit files beside what the index already holds."""
    for name, text in files.items():
        (repository / name).write_text(text)
        git(repository, "add", "--force", name)
    git(repository, "commit", "--quiet", "--message", "more")
    return git(repository, "rev-parse", "HEAD")
