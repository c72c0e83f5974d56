"""Asking public services with manners: every answer is kept, so that nothing is asked twice.

``$RECLAIM_CONTACT`` goes into the user agent. ``$RECLAIM_MIRROR``: an address below which all services are found by
the name of their host (``<mirror>/api.github.com/repos/...``), for a site's own mirror and for tests.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from reclaim_nb.errors import FetchError
from reclaim_nb.papers.fetch_web import BUSY, Manners, Web, contact
from reclaim_nb.rebuild.folder import Folder, Later, read_json

MIRROR_VARIABLE = "RECLAIM_MIRROR"
ARXIV = "https://export.arxiv.org"
OPENREVIEW = "https://api2.openreview.net"
GITHUB = "https://api.github.com"
HUB = "https://huggingface.co"

_PAUSES = {"export.arxiv.org": 3.0}
"""Seconds between two requests that a service asks for: https://info.arxiv.org/help/api/tou.html; else one second."""

_KEPT = ("content-type", "x-error-code", "x-ratelimit-remaining", "location", "link")


@dataclass(frozen=True)
class Reply:
    """An answer: its status, the address after redirects, its body and the day it was given."""

    status: int
    url: str
    headers: dict[str, str]
    body: bytes
    day: str


def today() -> str:
    """Return the date, UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%d")


class Services:
    """The services, with a cache in the rebuild's folder.

    Args:
        folder: the rebuild.
        again: ask although an answer is kept, and keep the new one (for a later date).
        cache: name of the cache's folder.
        day: says what day it is; tests may replace it.
    """

    def __init__(
        self, folder: Folder, *, again: bool = False, cache: str = "cache", day: Callable[[], str] = today
    ) -> None:
        self._folder, self._again, self._cache, self.day = folder, again, cache, day
        self.mirror = os.environ.get(MIRROR_VARIABLE, "").rstrip("/")
        self._webs: dict[float, Web] = {}
        self._asked: set[str] = set()
        self._silent: dict[str, str] = {}

    def __enter__(self) -> Services:
        return self

    def __exit__(self, *exc: object) -> None:
        for web in self._webs.values():
            web.close()

    def base(self, address: str) -> str:
        """Return where a service is really asked."""
        parts = urlsplit(address)
        return f"{self.mirror}/{parts.netloc}{parts.path}" if self.mirror else address

    def web(self, host: str) -> Web:
        """Return the polite client for a host; a mirror is one's own and is asked without pauses."""
        pause = 0.0 if self.mirror else _PAUSES.get(host, 1.0)
        if pause not in self._webs:
            self._webs[pause] = Web(Manners(contact=contact(), pause_seconds=pause))
        return self._webs[pause]

    def get(self, url: str, *, headers: dict[str, str] | None = None, look: bool = False) -> Reply:
        """Return the answer to a GET, from the cache where it is there.

        Args:
            url: the public address.
            headers: further headers; they are not part of the cache's key.
            look: only status and address matter, the body is not fetched.

        Raises:
            Later: the service is busy or does not answer.
        """
        key = hashlib.sha256(f"{'HEAD' if look else 'GET'} {url}".encode()).hexdigest()
        file = self._folder.path / self._cache / key[:2] / f"{key}.json"
        kept = read_json(file)
        if kept is not None and (not self._again or url in self._asked):
            body = gzip.decompress(base64.b64decode(kept["body"]))
            return Reply(kept["status"], kept["final"], kept["headers"], body, kept["day"])
        parts = urlsplit(url)
        if parts.netloc in self._silent:
            raise Later(f"{url}: not asked, since {parts.netloc} gave no answer before ({self._silent[parts.netloc]})")
        query = f"?{parts.query}" if parts.query else ""
        where = self.base(url) + query if self.mirror else url
        web = self.web(parts.netloc)
        try:
            if look:
                seen = web.look(where)
                status, final, found, body = seen.status, seen.url, {}, b""
            else:
                answer = web.get(where, headers=headers)
                status, final, body = answer.status_code, answer.url, answer.content
                found = {name: answer.headers[name] for name in _KEPT if name in answer.headers}
        except FetchError as problem:
            # Its waits are long: once in a run is enough, and not once for each of thousands of papers.
            self._silent[parts.netloc] = self._public(str(problem)).removeprefix(f"{url}: ")
            raise Later(self._public(str(problem))) from problem
        limited = status == 403 and found.get("x-ratelimit-remaining") == "0"
        if status in BUSY or status >= 500 or limited:
            raise Later(f"{url}: the service answers {status}{' (its limit is reached)' if limited else ''}; ask later")
        reply = Reply(status, self._public(final), found, body, self.day())
        packed = base64.b64encode(gzip.compress(body, mtime=0)).decode()
        document: dict[str, Any] = {"url": url, "status": status, "final": reply.url, "headers": found}
        self._folder.put(file, document | {"day": reply.day, "body": packed})
        self._asked.add(url)
        return reply

    def _public(self, text: str) -> str:
        return text.replace(f"{self.mirror}/", "https://") if self.mirror else text


def sha256_of(file: Path) -> str:
    """Return the hash of a file's bytes."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


__all__ = ["ARXIV", "GITHUB", "HUB", "OPENREVIEW", "Reply", "Services", "sha256_of", "today"]
