"""The network policy ``allowlist``: which hosts may be reached, the proxy's configuration, and what its logs say.

The kernel sits in an internal network whose only other member is the proxy. Nothing here touches the world.
Formats: configuration and log of squid 5 (http://www.squid-cache.org/Doc/config/), dnsmasq's log-queries.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from reclaim_nb.errors import KernelError
from reclaim_nb.papers.fetch_block import Blocked, expand

Policy = Literal["none", "allowlist", "open"]

PROXY_PORT = 3128
WEB_PORTS = (80, 443)
LONGEST_ADDRESS = 2000

_HOST = re.compile(r"^\.?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")

# Addresses that are not the internet: this machine, its neighbours, a cloud's own services. A name that leads there
# is refused, unless the list says itself where the host lies.
PRIVATE = (
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"),
    *("192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4"),
    *("::/128", "::1/128", "64:ff9b::/96", "fc00::/7", "fe80::/10", "ff00::/8"),
)

# A space inside an address is written in its percent form.
_LOG_FORMAT = "%tS %tr %Ss %03>Hs %>st %<st %<a %rm %ru"
_LOG_FIELDS = 9


@dataclass(frozen=True)
class AllowedHost:
    """One entry of an allow list.

    Attributes:
        name: host name or IPv4 address; a leading dot stands for all names below it as well.
        port: the only port; None: 80 and 443.
        address: where the host lies, for a name that no server knows or a host of one's own network.
    """

    name: str
    port: int | None = None
    address: str | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``host``, ``.domain``, ``host:port`` or ``host=address``.

        Raises:
            KernelError: it is none of these.
        """
        plain, _, address = text.strip().lower().partition("=")
        name, _, port = plain.partition(":")
        problem = (
            f"{text!r} is no host for the allow list: expected example.com, .example.org, host:8080 or host=10.0.0.5"
        )
        if not _HOST.fullmatch(name) or (port and not (port.isdigit() and 0 < int(port) < 65536)):
            raise KernelError(problem)
        try:
            where = str(ipaddress.IPv4Address(address)) if address else None
        except ValueError:
            raise KernelError(problem) from None
        if name.startswith(".") and (where or _is_address(name[1:])):
            raise KernelError(problem)
        return cls(name, int(port) if port else None, where)

    @property
    def ports(self) -> tuple[int, ...]:
        """Ports that may be reached."""
        return WEB_PORTS if self.port is None else (self.port,)

    @property
    def located(self) -> bool:
        """Whether the list says itself where the host lies."""
        return self.address is not None or _is_address(self.name)

    def covers(self, host: str, port: int) -> bool:
        """Tell whether a request for that host and port is meant."""
        below = self.name.startswith(".") and (host == self.name[1:] or host.endswith(self.name))
        return (host == self.name or below) and port in self.ports


@dataclass(frozen=True)
class Rules:
    """What one attempt may reach.

    A block counts more than an allowance, and stands for its whole host: over TLS the proxy sees no path, and a path
    can be written in many ways.
    """

    allow: tuple[AllowedHost, ...]
    block: tuple[Blocked, ...] = ()

    @classmethod
    def of(cls, allow: Iterable[str], block: Iterable[str] = ()) -> Self:
        """Read an allow list and a card's block list.

        Raises:
            KernelError: an entry of the allow list is none.
        """
        hosts = dict.fromkeys(AllowedHost.parse(text) for text in allow)
        return cls(tuple(hosts), expand(block))

    @property
    def blocked_hosts(self) -> tuple[str, ...]:
        """Hosts that are not reached although they may be on the list, each once."""
        return tuple(dict.fromkeys(place.host for place in self.block))

    def refusal(self, host: str, port: int) -> str | None:
        """Say why a request is refused, None where the list allows it."""
        for name in self.blocked_hosts:
            if host == name or host.endswith(f".{name}"):
                return f"the card blocks {name}"
        if any(entry.covers(host, port) for entry in self.allow):
            return None
        if any(entry.covers(host, known) for entry in self.allow for known in entry.ports):
            return f"port {port} is not on the list"
        return "not on the list"


def squid_config(rules: Rules, subnet: str) -> str:
    """Write squid's configuration.

    Args:
        rules: what may be reached.
        subnet: the internal network of the attempt, such as ``172.18.0.0/16``; nobody else is served.
    """
    lines = [
        f"http_port {PROXY_PORT}",
        "pid_filename none",
        "visible_hostname reclaim-proxy",
        "coredump_dir /tmp",
        "cache deny all",
        "cache_mem 4 MB",
        "memory_pools off",
        "pinger_enable off",
        "via off",
        "forwarded_for delete",
        "strip_query_terms off",
        "dns_v4_first on",
        "shutdown_lifetime 1 seconds",
        "cache_log /log/squid.log",
        f"logformat reclaim {_LOG_FORMAT}",
        "access_log stdio:/log/access.log logformat=reclaim",
        f"acl own src {subnet}",
        f"acl private dst {' '.join(PRIVATE)}",
        "http_access deny !own",
        "http_access deny manager",
    ]
    for number, host in enumerate(rules.blocked_hosts):
        lines += [f"acl blocked{number} dstdomain -n .{host}", f"http_access deny blocked{number}"]
    for number, entry in enumerate(rules.allow):
        lines += [
            f"acl host{number} dstdomain -n {entry.name}",
            f"acl port{number} port {' '.join(map(str, entry.ports))}",
            f"http_access allow host{number} port{number}{'' if entry.located else ' !private'}",
        ]
    return "\n".join([*lines, "http_access deny all"]) + "\n"


def dnsmasq_config() -> str:
    """Write the configuration of a name server that knows nothing, asks nobody and logs who asked."""
    return (
        "\n".join(
            [
                *("port=53", "no-resolv", "no-hosts", "no-poll", "cache-size=0", "local-ttl=0"),
                *("log-queries", "log-facility=/log/names.log", "pid-file=", "user=", "group="),
            ]
        )
        + "\n"
    )


def parse_request(line: str, rules: Rules) -> dict[str, Any] | None:
    """Read one line of the proxy's log.

    Args:
        line: as :data:`_LOG_FORMAT` makes it, without its newline.
        rules: what was allowed.

    Returns:
        ``started`` (seconds since the epoch), ``seconds``, ``host``, ``port``, ``method``, ``path`` (None where TLS
        hides it), ``status``, ``bytes_out``, ``bytes_in``, ``address`` that was connected to, ``allowed`` and
        ``reason``; None for a line that is none of a request.
    """
    fields = line.split(" ")
    if len(fields) != _LOG_FIELDS:
        return None
    started, took, result, status, sent, received, address, method, url = fields
    try:
        host, port, path = _target(method, url)
        facts: dict[str, Any] = {
            "started": float(started),
            "seconds": int(took) / 1000 if took != "-" else None,
            "host": host,
            "port": port,
            "method": method,
            "path": path,
            "status": int(status),
            "bytes_out": int(sent),
            "bytes_in": int(received),
            "address": None if address == "-" else address,
        }
    except ValueError:
        return None
    denied = "DENIED" in result
    reason = None
    if denied:
        reason = rules.refusal(host, port) or "the name leads to a private address"
    elif facts["address"] is None and facts["status"] >= 500:
        reason = "the host does not answer"
    elif result.startswith("NONE") and host == "":
        reason = "not a request"
    return {**facts, "allowed": not denied and reason != "not a request", "reason": reason}


def parse_name(line: str) -> str | None:
    """Return the name that was asked for, from one line of dnsmasq's log; None for another line."""
    match = re.search(r"\bquery\[[\w=]+\] (\S+) from ", line)
    return match[1].lower()[:255] if match else None


def waiting_connections(table: str) -> set[tuple[str, int]]:
    """Return the far ends of connections that wait for their first answer.

    Args:
        table: text of ``/proc/<pid>/net/tcp`` or ``tcp6`` (see proc(5)).

    Returns:
        Address and port of every connection in the state SYN_SENT.
    """
    return _far_ends(table, "02")


def connected_datagrams(table: str) -> set[tuple[str, int]]:
    """Return the far ends of sockets without connections that a program has fixed to one.

    Args:
        table: text of ``/proc/<pid>/net/udp`` or ``udp6``.
    """
    return _far_ends(table, "01")


def counter(table: str, *name: str) -> int:
    """Return a counter of a network stack, 0 where it is not there.

    Args:
        table: text of ``/proc/<pid>/net/snmp``, where a counter has a group and a name, or ``snmp6``, where it has one.
    """
    if len(name) == 1:
        pairs = (line.split() for line in table.splitlines())
        return next((int(pair[1]) for pair in pairs if len(pair) == 2 and pair[0] == name[0]), 0)
    group, field = name
    rows = [line.split()[1:] for line in table.splitlines() if line.startswith(f"{group}:")]
    return int(dict(zip(*rows, strict=False)).get(field, 0)) if len(rows) == 2 else 0


def _target(method: str, url: str) -> tuple[str, int, str | None]:
    if method == "CONNECT":
        host, _, port = url.rpartition(":")
        return host.strip("[]").lower(), int(port), None
    parts = urlsplit(url)
    port_there = parts.port or {"https": 443, "ftp": 21}.get(parts.scheme, 80)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    return (parts.hostname or "").lower(), port_there, path[:LONGEST_ADDRESS]


def _far_ends(table: str, state: str) -> set[tuple[str, int]]:
    found = set()
    for line in table.splitlines()[1:]:
        fields = line.split()
        if len(fields) > 3 and fields[3] == state:
            address, _, port = fields[2].partition(":")
            found.add((_address(address), int(port, 16)))
    return found


def _address(text: str) -> str:
    # The kernel writes each 32-bit word in the byte order of the machine, little-endian wherever this runs.
    raw = b"".join(bytes.fromhex(text[i : i + 8])[::-1] for i in range(0, len(text), 8))
    address = ipaddress.ip_address(raw)
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


def _is_address(name: str) -> bool:
    try:
        ipaddress.IPv4Address(name)
    except ValueError:
        return False
    return True
