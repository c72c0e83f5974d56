"""Reading along at a kernel's proxy: requests, names asked for, and what was tried past the proxy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reclaim_nb.kernels.network import (
    Rules,
    connected_datagrams,
    counter,
    parse_name,
    parse_request,
    waiting_connections,
)
from reclaim_nb.kernels.network_sidecar import log_folder

MOST_ENTRIES = 20_000
"""Entries handed on one by one; those beyond are counted."""

_LONGEST_LINE = 64 * 1024


@dataclass
class _Tail:
    """The whole lines that a growing file has gained. The open file can be read on when its name is gone."""

    path: Path
    offset: int = 0
    _file: Any = None

    def lines(self) -> list[str]:
        if self._file is None:
            try:
                self._file = open(self.path, "rb")  # noqa: SIM115 - it stays open until close()
            except OSError:
                return []
            self._file.seek(self.offset)
        found = []
        while line := self._file.readline(_LONGEST_LINE):
            if not line.endswith(b"\n") and len(line) < _LONGEST_LINE:
                self._file.seek(self.offset)  # the rest of it is still to come
                break
            self.offset += len(line)
            found.append(line.decode("utf-8", "backslashreplace").rstrip("\n"))
        return found

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


@dataclass
class NetworkWatch:
    """What one kernel does with its network, seen from the host.

    Args:
        box: the kernel's private folder.
        rules: what it may reach.
        proxy: address of its proxy.
        init_pid: returns the host pid of the kernel's first process, None once that is gone.
        proxy_problem: returns what ended the proxy, None while it lives.
        before: what :meth:`state` returned in the process that watched before; what it handed on does not come again.

    Attributes:
        dropped: entries beyond :data:`MOST_ENTRIES`.
    """

    box: Path
    rules: Rules
    proxy: str
    init_pid: Callable[[], int | None]
    proxy_problem: Callable[[], str | None]
    before: dict[str, int] = field(default_factory=dict)
    dropped: int = 0

    def __post_init__(self) -> None:
        logs = log_folder(self.box)
        self._requests = _Tail(logs / "access.log", int(self.before.get("requests", 0)))
        self._names = _Tail(logs / "names.log", int(self.before.get("names", 0)))
        self._entries = int(self.before.get("entries", 0))
        self._waiting: set[tuple[str, int]] = set()
        self._counts: dict[str, int] | None = None

    def state(self) -> dict[str, int]:
        """Return how far the logs were read, for a process that goes on watching."""
        return {"requests": self._requests.offset, "names": self._names.offset, "entries": self._entries}

    def entries(self) -> list[dict[str, Any]]:
        """Return what has happened since the last call.

        Returns:
            Entries that tell ``via`` (``proxy``, ``name`` or ``direct``), ``host``, ``port``, ``path``, ``allowed`` and
            ``reason``; those of the proxy also ``started``, see :func:`~reclaim_nb.kernels.network.parse_request`.
        """
        found: list[dict[str, Any]] = []
        for line in self._requests.lines():
            request = parse_request(line, self.rules)
            if request is None:
                reason = "a line of the proxy's log that cannot be read"
                request = {"host": "", "port": None, "path": None, "allowed": False, "reason": reason}
                request["line"] = line[:500]
            found.append({"via": "proxy", **request})
        found += self._new_names()
        found += self._direct()
        room = max(0, MOST_ENTRIES - self._entries)
        self.dropped += len(found[room:])
        self._entries += len(found[:room])
        return found[:room]

    def close(self) -> None:
        """Let go of the logs."""
        self._requests.close()
        self._names.close()

    def _new_names(self) -> list[dict[str, Any]]:
        # A program asks for one name in several forms (A, AAAA, twice); that is one fact.
        names = dict.fromkeys(filter(None, map(parse_name, self._names.lines())))
        return [_refused("name", name, 53, "there is no name server; the proxy resolves names") for name in names]

    def _direct(self) -> list[dict[str, Any]]:
        pid = self.init_pid()
        if pid is None:
            return []
        tables = {name: _table(pid, name) for name in ("tcp", "tcp6", "udp", "udp6", "snmp", "snmp6")}
        waiting = waiting_connections(tables["tcp"]) | waiting_connections(tables["tcp6"])
        waiting |= connected_datagrams(tables["udp"]) | connected_datagrams(tables["udp6"])
        waiting = {(host, port) for host, port in waiting if host != self.proxy and not _own(host)}
        new, self._waiting = sorted(waiting - self._waiting), waiting
        found = [_refused("direct", host, port, "past the proxy, where no way leads") for host, port in new]
        return found + self._without_a_way(tables, bool(waiting))

    def _without_a_way(self, tables: dict[str, str], seen: bool) -> list[dict[str, Any]]:
        """Return what the box's network stack counts as undeliverable and what names no far end."""
        counts = {
            "IPv4": counter(tables["snmp"], "Ip", "OutNoRoutes"),
            "IPv6": counter(tables["snmp6"], "Ip6OutNoRoutes"),
            "unanswered": counter(tables["snmp"], "Icmp", "OutDestUnreachs"),
        }
        before, self._counts = self._counts, counts
        if before is None:
            return []
        found = []
        for version in ("IPv4", "IPv6"):
            if (more := counts[version] - before[version]) > 0:
                reason = f"past the proxy by {version}, for which there is no way at all"
                found.append({**_refused("direct", None, None, reason), "count": more})
        if counts["unanswered"] > before["unanswered"] and not seen and not self._recently_seen:
            reason = "a packet past the proxy that nobody took, sent some seconds ago"
            found.append(
                {**_refused("direct", None, None, reason), "count": counts["unanswered"] - before["unanswered"]}
            )
        self._recently_seen = seen
        return found

    _recently_seen: bool = False


def _refused(via: str, host: str | None, port: int | None, reason: str) -> dict[str, Any]:
    return {"via": via, "host": host, "port": port, "path": None, "allowed": False, "reason": reason}


def _own(host: str) -> bool:
    return host.startswith("127.") or host in ("::1", "::", "0.0.0.0")


def _table(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/net/{name}").read_text("ascii", "replace")
    except OSError:
        return ""  # the kernel has just ended, or its machine knows no IPv6
