"""Allow lists, the proxy's configuration, and what is read from logs and the tables of a network stack."""

from __future__ import annotations

from pathlib import Path

import pytest

from reclaim_nb.errors import KernelError
from reclaim_nb.kernels.network import (
    AllowedHost,
    Rules,
    connected_datagrams,
    counter,
    dnsmasq_config,
    parse_name,
    parse_request,
    squid_config,
    waiting_connections,
)
from reclaim_nb.kernels.network_sidecar import log_folder
from reclaim_nb.kernels.network_watch import MOST_ENTRIES, NetworkWatch

RULES = Rules.of(
    ("mirror.test", ".lab.test", "data.test:8080", "own.test=10.0.0.5"), ("https://github.com/authors/toy-code",)
)


class TestEntries:
    @pytest.mark.parametrize(
        ("text", "entry"),
        [
            ("Mirror.test", AllowedHost("mirror.test")),
            (".lab.test", AllowedHost(".lab.test")),
            ("data.test:8080", AllowedHost("data.test", 8080)),
            ("own.test=10.0.0.5", AllowedHost("own.test", None, "10.0.0.5")),
            ("own.test:81=10.0.0.5", AllowedHost("own.test", 81, "10.0.0.5")),
            ("10.0.0.7", AllowedHost("10.0.0.7")),
        ],
    )
    def test_understood(self, text: str, entry: AllowedHost) -> None:
        assert AllowedHost.parse(text) == entry

    @pytest.mark.parametrize(
        "text",
        [
            *("", ".", "*", "https://a.test", "a.test/path", "a b", "a.test:0", "a.test:99999", "a.test:x", "a.test=b"),
            *(".lab.test=10.0.0.1", ".10.0.0.1", "a.test\nhttp_access allow all", "-a.test", "a..test", "[::1]"),
        ],
    )
    def test_refused(self, text: str) -> None:
        with pytest.raises(KernelError, match="no host for the allow list"):
            AllowedHost.parse(text)


class TestRules:
    @pytest.mark.parametrize(
        ("host", "port", "refusal"),
        [
            ("mirror.test", 443, None),
            ("mirror.test", 80, None),
            ("mirror.test", 22, "port 22 is not on the list"),
            ("files.mirror.test", 443, "not on the list"),
            ("notmirror.test", 443, "not on the list"),
            ("lab.test", 443, None),
            ("deep.down.lab.test", 443, None),
            ("badlab.test", 443, "not on the list"),
            ("data.test", 8080, None),
            ("data.test", 80, "port 80 is not on the list"),
            ("github.com", 443, "the card blocks github.com"),
            ("web.archive.org", 443, "the card blocks web.archive.org"),
        ],
    )
    def test_refusal(self, host: str, port: int, refusal: str | None) -> None:
        assert RULES.refusal(host, port) == refusal

    def test_a_block_goes_before_an_allowance(self) -> None:
        rules = Rules.of(("github.com",), ("https://github.com/authors/toy-code",))
        assert rules.refusal("github.com", 443) == "the card blocks github.com"
        config = squid_config(rules, "172.18.0.0/16")
        assert config.index("http_access deny blocked0") < config.index("http_access allow host0")

    def test_the_proxy_denies_what_it_does_not_know(self) -> None:
        lines = squid_config(RULES, "172.18.0.0/16").splitlines()
        assert lines[-1] == "http_access deny all"
        assert lines.index("http_access deny !own") < next(i for i, line in enumerate(lines) if "allow" in line)
        assert "acl own src 172.18.0.0/16" in lines

    def test_only_what_the_list_locates_may_be_private(self) -> None:
        allowed = [line for line in squid_config(RULES, "172.18.0.0/16").splitlines() if "http_access allow" in line]
        assert [line.endswith("!private") for line in allowed] == [True, True, True, False]

    def test_the_name_server_asks_nobody(self) -> None:
        assert {"no-resolv", "no-hosts", "log-queries"} <= set(dnsmasq_config().splitlines())


def line(
    result: str = "TCP_DENIED", status: str = "403", address: str = "-", asked: str = "GET http://x.test/a"
) -> str:
    return f"1700000000.250 12 {result} {status} 120 3900 {address} {asked}"


class TestLog:
    def test_a_request_that_went_through(self) -> None:
        text = line("TCP_MISS", "200", "10.0.0.5", "GET http://own.test/data.csv?rows=3")
        assert parse_request(text, RULES) == {
            "started": 1700000000.25,
            "seconds": 0.012,
            "host": "own.test",
            "port": 80,
            "method": "GET",
            "path": "/data.csv?rows=3",
            "status": 200,
            "bytes_out": 120,
            "bytes_in": 3900,
            "address": "10.0.0.5",
            "allowed": True,
            "reason": None,
        }

    @pytest.mark.parametrize(
        ("text", "host", "port", "reason"),
        [
            (line(), "x.test", 80, "not on the list"),
            (line(asked="CONNECT x.test:443"), "x.test", 443, "not on the list"),
            (line(asked="CONNECT [2001:db8::1]:443"), "2001:db8::1", 443, "not on the list"),
            (line(asked="CONNECT mirror.test:22"), "mirror.test", 22, "port 22 is not on the list"),
            (line(asked="CONNECT github.com:443"), "github.com", 443, "the card blocks github.com"),
            (line(asked="CONNECT mirror.test:443"), "mirror.test", 443, "the name leads to a private address"),
        ],
    )
    def test_a_refused_one(self, text: str, host: str, port: int, reason: str) -> None:
        found = parse_request(text, RULES)
        assert found is not None
        assert (found["host"], found["port"], found["allowed"], found["reason"]) == (host, port, False, reason)

    def test_a_host_that_is_silent_was_allowed(self) -> None:
        found = parse_request(line("TCP_MISS", "503", asked="GET http://mirror.test/"), RULES)
        assert found is not None
        assert (found["allowed"], found["reason"]) == (True, "the host does not answer")

    @pytest.mark.parametrize("text", ["", "garbage", line() + " more", line(asked="CONNECT x.test:port")])
    def test_no_request(self, text: str) -> None:
        assert parse_request(text, RULES) is None

    def test_names(self) -> None:
        assert parse_name("Nov 30 07:00:52 dnsmasq[8]: query[AAAA] Example.org from 172.18.0.3") == "example.org"
        assert parse_name("Nov 30 07:00:52 dnsmasq[8]: config error is REFUSED (EDE: not ready)") is None


HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


class TestTables:
    def test_connections_that_wait(self) -> None:
        table = HEAD + "   0: 030012AC:B2C2 01010101:01BB 02 00000001:00000000\n"
        table += "   1: 030012AC:B2C4 020012AC:0C38 01 00000000:00000000\n"
        assert waiting_connections(table) == {("1.1.1.1", 443)}
        assert connected_datagrams(table) == {("172.18.0.2", 3128)}

    def test_addresses_of_ipv6(self) -> None:
        far = "B80D0120000000000000000001000000"
        table = HEAD + f"   0: {'0' * 32}:B2C2 {far}:01BB 02 00000001:00000000\n"
        assert waiting_connections(table) == {("2001:db8::1", 443)}
        mapped = "0000000000000000FFFF000001010101"
        assert waiting_connections(HEAD + f"   0: {'0' * 32}:B2C2 {mapped}:0050 02 0\n") == {("1.1.1.1", 80)}

    def test_counters(self) -> None:
        table = "Ip: Forwarding OutNoRoutes\nIp: 1 7\nIcmp: OutDestUnreachs\nIcmp: 3\n"
        assert counter(table, "Ip", "OutNoRoutes") == 7
        assert counter(table, "Icmp", "OutDestUnreachs") == 3
        assert counter(table, "Tcp", "OutNoRoutes") == 0
        assert counter("Ip6InNoRoutes   \t1\nIp6OutNoRoutes  \t5\n", "Ip6OutNoRoutes") == 5
        assert counter("", "Ip", "OutNoRoutes") == counter("", "Ip6OutNoRoutes") == 0


class TestWatch:
    def watch(self, box: Path, before: dict[str, int] | None = None) -> NetworkWatch:
        log_folder(box).mkdir(parents=True, exist_ok=True)
        return NetworkWatch(box, RULES, "172.18.0.2", lambda: None, lambda: None, before or {})

    def test_reads_whole_lines_once(self, tmp_path: Path) -> None:
        watch = self.watch(tmp_path)
        log = log_folder(tmp_path) / "access.log"
        assert watch.entries() == []
        log.write_text(line() + "\n" + line()[:20])
        assert len(watch.entries()) == 1
        assert watch.entries() == []
        with log.open("a") as file:
            file.write(line()[20:] + "\n")
        assert [entry["host"] for entry in watch.entries()] == ["x.test"]

    def test_another_process_goes_on_where_it_stopped(self, tmp_path: Path) -> None:
        first = self.watch(tmp_path)
        log = log_folder(tmp_path) / "access.log"
        log.write_text(line() + "\n")
        assert len(first.entries()) == 1
        first.close()
        with log.open("a") as file:
            file.write(line(asked="CONNECT late.test:443") + "\n")
        assert [entry["host"] for entry in self.watch(tmp_path, first.state()).entries()] == ["late.test"]

    def test_one_name_asked_for_in_two_forms_is_one_entry(self, tmp_path: Path) -> None:
        watch = self.watch(tmp_path)
        asked = "Nov 30 07:00:52 dnsmasq[8]: query[{}] example.org from 172.18.0.3\n"
        (log_folder(tmp_path) / "names.log").write_text(asked.format("A") + asked.format("AAAA"))
        (entry,) = watch.entries()
        assert (entry["via"], entry["host"], entry["allowed"]) == ("name", "example.org", False)

    def test_a_line_that_cannot_be_read_is_an_entry(self, tmp_path: Path) -> None:
        watch = self.watch(tmp_path)
        (log_folder(tmp_path) / "access.log").write_bytes(b"\xff\xfe nonsense\n")
        (entry,) = watch.entries()
        assert "cannot be read" in entry["reason"]

    def test_a_flood_is_counted(self, tmp_path: Path) -> None:
        watch = self.watch(tmp_path, {"entries": MOST_ENTRIES - 1})
        (log_folder(tmp_path) / "access.log").write_text((line() + "\n") * 5)
        assert (len(watch.entries()), watch.dropped) == (1, 4)
