"""The block list of a card: addresses that would hand over the authors' work, and every other address of the same."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

_GITHUB = re.compile(r"^(?:www\.)?github\.com/([^/]+)/([^/]+)")
_HUB = re.compile(r"^(?:www\.)?(?:huggingface\.co|hf\.co)/((?:(?:datasets|spaces)/)?[^/]+/[^/]+)")

# Where one repository of GitHub can be had, by what these services document of their addresses.
_GITHUB_PLACES = (
    "github.com/{0}/{1}",
    "www.github.com/{0}/{1}",
    "api.github.com/repos/{0}/{1}",
    "codeload.github.com/{0}/{1}",
    "raw.githubusercontent.com/{0}/{1}",
    "media.githubusercontent.com/media/{0}/{1}",
    "{0}.github.io/{1}",
    "cdn.jsdelivr.net/gh/{0}/{1}",
    "raw.githack.com/{0}/{1}",
    "kkgithub.com/{0}/{1}",
    "deepwiki.com/{0}/{1}",
)
_HUB_PLACES = (
    "huggingface.co/{0}",
    "www.huggingface.co/{0}",
    "hf.co/{0}",
    "hf-mirror.com/{0}",
    "huggingface.co/api/models/{0}",
    "huggingface.co/api/{0}",
)
ARCHIVES = (
    "web.archive.org",
    "archive.softwareheritage.org",
    "gitclone.com",
    "ghproxy.com",
    "gh-proxy.com",
    "ghfast.top",
)
"""Hosts that hand out copies of any repository; a card with a block list blocks them whole."""


@dataclass(frozen=True)
class Blocked:
    """One blocked place: a host and what the path begins with, ``/`` for all of it."""

    host: str
    path: str

    def __str__(self) -> str:
        return self.host + (self.path if self.path != "/" else "")


def expand(block: Iterable[str]) -> tuple[Blocked, ...]:
    """Return every place that the addresses of a block list stand for.

    Args:
        block: addresses as on a card: ``host`` or ``host/path``, with or without a scheme.

    Returns:
        The places, each once, with those where the same repositories can be had too; archives of everything where the
        list is not empty.
    """
    found: dict[Blocked, None] = {}
    for address in block:
        plain = _plain(address)
        places = [plain]
        if match := _GITHUB.match(plain):
            places += [place.format(match[1], match[2].removesuffix(".git")) for place in _GITHUB_PLACES]
        if match := _HUB.match(plain):
            places += [place.format(match[1]) for place in _HUB_PLACES]
        for place in places:
            host, _, path = place.partition("/")
            found[Blocked(host.lower(), f"/{path.rstrip('/')}" if path.rstrip("/") else "/")] = None
    if found:
        found |= {Blocked(host, "/"): None for host in ARCHIVES}
    return tuple(found)


def blocked_by(url: str, block: Iterable[str]) -> Blocked | None:
    """Return the blocked place that an address lies in, None where it is free."""
    host, _, path = _plain(url).partition("/")
    for place in expand(block):
        if host != place.host and not (place.path == "/" and host.endswith(f".{place.host}")):
            continue
        if place.path == "/" or _inside(f"/{path}", place.path):
            return place
    return None


def _inside(path: str, top: str) -> bool:
    # A forge's names are blind to case, and `.git`, `@tag` and `?query` name the same repository.
    return re.match(rf"{re.escape(top.lower())}(?![\w-])", re.sub(r"/+", "/", path).lower()) is not None


def _plain(address: str) -> str:
    parts = urlsplit(address if "://" in address else f"https://{address}")
    host = (parts.hostname or "").rstrip(".").lower()
    query = f"?{parts.query}" if parts.query else ""
    return f"{host}{unquote(parts.path)}{query}".rstrip("/")
