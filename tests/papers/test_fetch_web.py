"""The HTTP client against servers that are busy, slow, broken, moved or gone."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from fetch_servers import Exchange, Site, site

from reclaim_nb.errors import FetchError
from reclaim_nb.papers import fetch_web
from reclaim_nb.papers.fetch_web import Manners, Web

CONTENT = bytes(range(256)) * 2000


@pytest.fixture
def server() -> Iterator[Site]:
    with site() as made:
        yield made


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def web(slept: list[float]) -> Iterator[Web]:
    """A client whose waits are written down instead of waited."""
    made = Web(Manners(contact="me@example.org", pause_seconds=0, timeout_seconds=5), sleep=slept.append)
    yield made
    made.close()


class TestAsking:
    def test_says_who_it_is(self, server: Site, web: Web) -> None:
        web.get(server.file("/a", b"a"))
        assert server.asked_for("/a")[0]["User-Agent"].startswith("reclaim-nb/")
        assert "(+me@example.org)" in server.asked_for("/a")[0]["User-Agent"]

    def test_waits_as_long_as_the_server_asks(self, server: Site, web: Web, slept: list[float]) -> None:
        url = server.status("/busy", 429, 503, then=lambda one: one.send(200, b"now"), Retry_After="7")
        assert web.get(url).content == b"now"
        assert slept == [7, 7]

    def test_understands_a_date_to_come_back_at(
        self, server: Site, web: Web, slept: list[float], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from datetime import UTC, datetime, timedelta

        then = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
        url = server.status("/busy", 429, then=lambda one: one.send(200, b"now"), Retry_After=then)
        assert web.get(url).content == b"now"
        assert 50 < slept[0] <= 60

    def test_does_not_wait_for_ever(self, server: Site, web: Web, slept: list[float]) -> None:
        url = server.status("/busy", 429, Retry_After="86400")
        with pytest.raises(FetchError, match=r"busy \(429\) and asks to come back in 86400 s"):
            web.get(url)
        assert slept == []

    def test_gives_up_on_one_that_stays_busy(self, server: Site, web: Web) -> None:
        url = server.status("/busy", 503)
        assert web.get(url).status_code == 503
        assert len(server.asked_for("/busy")) == 4

    def test_a_refusal_is_an_answer_and_asked_for_once(self, server: Site, web: Web) -> None:
        for code in (403, 404):
            assert web.get(server.status(f"/{code}", code)).status_code == code
            assert len(server.asked_for(f"/{code}")) == 1

    def test_follows_redirects_but_not_in_circles(self, server: Site, web: Web) -> None:
        server.file("/there", b"here")
        assert web.get(server.redirect("/moved", "/there")).content == b"here"
        server.redirect("/a", "/b")
        with pytest.raises(FetchError, match="in circles"):
            web.get(server.redirect("/b", "/a"))

    def test_a_silent_server_is_named(self, server: Site, slept: list[float]) -> None:
        web = Web(Manners(pause_seconds=0, timeout_seconds=0.2, tries=2), sleep=slept.append)
        release: list[Exchange] = []

        def silent(exchange: Exchange) -> None:
            release.append(exchange)
            exchange.handler.rfile.read(1)  # until the client hangs up

        server.routes["/silent"] = silent
        with pytest.raises(FetchError, match=r"/silent: no answer after 2 tries: it took too long"):
            web.get(f"{server.url}/silent")

    def test_nobody_there(self, web: Web) -> None:
        with pytest.raises(FetchError, match="no answer after 4 tries"):
            web.get("http://127.0.0.1:9/x")

    def test_no_address(self, web: Web) -> None:
        with pytest.raises(FetchError, match="not an address that can be asked"):
            web.get("nonsense")

    def test_pauses_between_requests_to_one_host(self, server: Site, slept: list[float]) -> None:
        web = Web(Manners(pause_seconds=300), sleep=slept.append)
        with site() as other:
            for url in (server.file("/a", b"a"), server.file("/b", b"b"), other.file("/c", b"c")):
                web.get(url)
        assert len(slept) == 1
        assert 200 < slept[0] <= 300


class TestDownload:
    def test_whole(self, server: Site, web: Web, tmp_path: Path) -> None:
        seen: list[tuple[int, int | None]] = []
        web.download(server.file("/f", CONTENT), tmp_path / "f", progress=lambda *facts: seen.append(facts))
        assert (tmp_path / "f").read_bytes() == CONTENT
        assert seen[-1] == (len(CONTENT), len(CONTENT))

    def test_goes_on_after_a_broken_connection(self, server: Site, web: Web, tmp_path: Path) -> None:
        web.download(server.file("/f", CONTENT, cut_after=[200_000, 150_000]), tmp_path / "f")
        assert (tmp_path / "f").read_bytes() == CONTENT
        begins = [headers.get("Range") for headers in server.asked_for("/f")]
        assert begins[0] is None
        assert all(begin is not None and begin != "bytes=0-" for begin in begins[1:])

    def test_goes_on_in_another_process(self, server: Site, web: Web, tmp_path: Path) -> None:
        """What a killed process left is used, and only the rest is asked for."""
        url = server.file("/f", CONTENT, cut_after=[200_000] * 3)
        stubborn = Web(Manners(pause_seconds=0, tries=1), sleep=_stop_waiting)
        with pytest.raises(_Stopped):
            stubborn.download(url, tmp_path / "f")
        left = (tmp_path / "f").stat().st_size
        assert 0 < left < len(CONTENT)
        server.file("/f", CONTENT)
        web.download(url, tmp_path / "f")
        assert (tmp_path / "f").read_bytes() == CONTENT
        assert server.asked_for("/f")[-1]["Range"] == f"bytes={left}-"

    def test_never_joins_two_versions(self, server: Site, web: Web, tmp_path: Path) -> None:
        url = server.file("/f", CONTENT, cut_after=[200_000] * 3)
        with pytest.raises(_Stopped):
            Web(Manners(pause_seconds=0, tries=1), sleep=_stop_waiting).download(url, tmp_path / "f")
        other = CONTENT[::-1]
        server.file("/f", other)
        web.download(url, tmp_path / "f")
        assert (tmp_path / "f").read_bytes() == other

    def test_begins_anew_where_the_server_has_no_ranges(self, server: Site, web: Web, tmp_path: Path) -> None:
        web.download(server.file("/f", CONTENT, cut_after=[200_000], ranges=False), tmp_path / "f")
        assert (tmp_path / "f").read_bytes() == CONTENT

    def test_a_whole_part_is_not_brought_again(self, server: Site, web: Web, tmp_path: Path) -> None:
        url = server.file("/f", CONTENT)
        web.download(url, tmp_path / "f")
        web.download(url, tmp_path / "f")
        assert (tmp_path / "f").read_bytes() == CONTENT
        assert [headers.get("Range") for headers in server.asked_for("/f")] == [None, f"bytes={len(CONTENT)}-"]

    def test_gives_up_where_nothing_comes(self, server: Site, web: Web, tmp_path: Path) -> None:
        url = server.file("/f", CONTENT, cut_after=[0] * 9)
        with pytest.raises(FetchError, match="broke 4 times without a byte coming"):
            web.download(url, tmp_path / "f")

    @pytest.mark.parametrize(("code", "words"), [(403, "gated or private"), (404, "moved or taken down"), (500, "500")])
    def test_a_refusal_leaves_nothing(self, server: Site, web: Web, tmp_path: Path, code: int, words: str) -> None:
        with pytest.raises(FetchError, match=words):
            web.download(server.status("/f", code), tmp_path / "f")
        assert not (tmp_path / "f").exists()

    def test_more_than_is_allowed(self, server: Site, web: Web, tmp_path: Path) -> None:
        with pytest.raises(FetchError, match=f"{len(CONTENT)} bytes, and 1000 are allowed"):
            web.download(server.file("/f", CONTENT), tmp_path / "f", most=1000)

    def test_a_full_disk_keeps_the_part(
        self, server: Site, web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(file: Any) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patch:
            patch.setattr(fetch_web, "_flush", full)
            with pytest.raises(FetchError, match="no room left on the disk; make room or set RECLAIM_CACHE"):
                web.download(server.file("/f", CONTENT), tmp_path / "f")
        web.download(f"{server.url}/f", tmp_path / "f")
        assert hashlib.sha256((tmp_path / "f").read_bytes()).digest() == hashlib.sha256(CONTENT).digest()

    @pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small disk")
    def test_a_disk_that_is_really_full(self, server: Site, web: Web, tmp_path: Path) -> None:
        import subprocess

        disk = tmp_path / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(disk)], check=False)
        if mounted.returncode:
            pytest.skip("no mounting here")
        try:
            with pytest.raises(FetchError, match="no room left on the disk"):
                web.download(server.file("/f", CONTENT), disk / "f")
        finally:
            subprocess.run(["umount", str(disk)], check=True)


class _Stopped(Exception):
    pass


def _stop_waiting(seconds: float) -> None:
    raise _Stopped
