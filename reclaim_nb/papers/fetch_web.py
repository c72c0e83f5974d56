"""HTTP with manners: pauses between requests, waits that a server asks for, downloads that go on where they stopped."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit

import requests

from reclaim_nb import __version__
from reclaim_nb.errors import FetchError

CONTACT_VARIABLE = "RECLAIM_CONTACT"
BUSY = frozenset({429, 502, 503, 504})
"""Answers that may be another one a little later."""

_NO_HEAD = frozenset({400, 403, 404, 405, 501})

# Of a connection that breaks at most this much is lost, for a piece is only handed on when it is whole.
_CHUNK = 64 * 1024
_NETWORK = (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError)


@dataclass(frozen=True)
class Manners:
    """How a server is treated.

    Attributes:
        contact: address or page of whoever asks, for the user agent; empty: not given.
        pause_seconds: least time between two requests to one host.
        longest_wait_seconds: a longer wait than this is not waited for.
        tries: how often a request is made before it has failed.
        timeout_seconds: time for a connection, and between two pieces of an answer.
    """

    contact: str = ""
    pause_seconds: float = 1.0
    longest_wait_seconds: float = 120.0
    tries: int = 4
    timeout_seconds: float = 30.0

    @property
    def user_agent(self) -> str:
        """What the requests call themselves."""
        return f"reclaim-nb/{__version__}" + (f" (+{self.contact})" if self.contact else "")


@dataclass(frozen=True)
class Seen:
    """What a look at an address showed: status, address after redirects, and bytes where the server says."""

    status: int
    url: str
    size: int | None


def contact() -> str:
    """Return who is asking, from ``$RECLAIM_CONTACT``; empty where that is not set."""
    return os.environ.get(CONTACT_VARIABLE, "").strip()


class Web:
    """A polite HTTP client.

    Args:
        manners: how servers are treated.
        sleep: waits that many seconds; tests may replace it.
    """

    def __init__(self, manners: Manners | None = None, sleep: Callable[[float], None] = time.sleep) -> None:
        self.manners = manners or Manners(contact=contact())
        self._sleep = sleep
        self._session = requests.Session()
        self._session.headers["User-Agent"] = self.manners.user_agent
        self._next: dict[str, float] = {}

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def get(self, url: str, *, headers: dict[str, str] | None = None, method: str = "GET") -> requests.Response:
        """Return an answer with its whole body, whatever its status; redirects are followed.

        Raises:
            FetchError: no answer came after all tries, or the server asks for a longer wait than is waited for.
        """
        with self._answer(method, url, headers or {}) as answer:
            try:
                answer.content  # noqa: B018 - reads the body while the connection is open
            except _NETWORK as problem:
                raise FetchError(f"{url}: the answer broke off: {_why(problem)}; try again later") from problem
            return answer

    def look(self, url: str) -> Seen:
        """Look whether something is at an address without fetching it; redirects are followed.

        Raises:
            FetchError: as :meth:`get`.
        """
        with self._answer("HEAD", url, {}) as answer:
            if answer.status_code not in _NO_HEAD:
                return _seen(answer)
        # Some servers refuse this question and answer the other; of its body nothing is read.
        with self._answer("GET", url, {"Range": "bytes=0-0"}) as answer:
            return _seen(answer)

    def download(
        self,
        url: str,
        part: Path,
        *,
        headers: dict[str, str] | None = None,
        most: int | None = None,
        progress: Callable[[int, int | None], None] | None = None,
    ) -> None:
        """Bring a file to disk, going on with what an earlier call has left of the very same file.

        What makes it the same is the server's ETag or date, kept beside the part; the server is asked for the rest on
        that condition (RFC 9110, If-Range), so parts of two versions are never joined.

        Args:
            url: the file.
            part: where the bytes go; what is there stays when this fails, for the next call.
            headers: further headers of the request.
            most: bytes above which the file is refused.
            progress: called with bytes so far and bytes in all (None: not known).

        Raises:
            FetchError: the server refuses, the connection breaks too often, or the disk is full.
        """
        failed = 0
        while True:
            before = part.stat().st_size if part.exists() else 0
            try:
                self._download(url, part, headers or {}, most, progress)
                return
            except _NETWORK as problem:
                grown = (part.stat().st_size if part.exists() else 0) > before
                failed = 0 if grown else failed + 1
                if failed >= self.manners.tries:
                    raise FetchError(
                        f"{url}: the connection broke {failed} times without a byte coming ({_why(problem)}); "
                        "run the same command again, it goes on where this stopped"
                    ) from problem
                self._sleep(min(2.0**failed, self.manners.longest_wait_seconds))

    def _download(
        self,
        url: str,
        part: Path,
        headers: dict[str, str],
        most: int | None,
        progress: Callable[[int, int | None], None] | None,
    ) -> None:
        facts = _read_facts(part, url)
        have = part.stat().st_size if part.exists() else 0
        wanted = {"Accept-Encoding": "identity", **headers}
        if have and (mark := facts.get("etag") or facts.get("date")):
            wanted |= {"Range": f"bytes={have}-", "If-Range": str(mark)}
        else:
            have = 0
        with self._answer("GET", url, wanted) as answer:
            if answer.status_code == 416:  # nothing beyond what is here: whole, or another file by now
                if have and have == facts.get("total"):
                    return
                part.unlink(missing_ok=True)
                raise requests.ConnectionError("the rest of the file is not there any more; beginning anew")
            if answer.status_code not in (200, 206):
                raise FetchError(f"{url}: {refusal(answer)}")
            begin, total = _range(answer)
            if answer.status_code == 206 and begin != have:
                part.unlink(missing_ok=True)
                raise requests.ConnectionError(f"asked for byte {have} on, the server sent from {begin}")
            if most is not None and total is not None and total > most:
                raise FetchError(f"{url}: {total} bytes, and {most} are allowed; allow more, or name single files")
            done = begin
            with _disk(part), part.open("ab" if begin else "wb") as file:
                _write_facts(part, url, answer, total)
                for piece in answer.iter_content(_CHUNK):
                    file.write(piece)
                    done += len(piece)
                    if most is not None and done > most:
                        raise FetchError(f"{url}: more than the {most} bytes that are allowed; allow more")
                    if progress is not None:
                        progress(done, total)
                _flush(file)
        if total is not None and done != total:
            raise requests.ConnectionError(f"the file ended after {done} of {total} bytes")

    @contextmanager
    def _answer(self, method: str, url: str, headers: dict[str, str]) -> Iterator[requests.Response]:
        answer = self._asked(method, url, headers)
        try:
            yield answer
        finally:
            answer.close()

    def _asked(self, method: str, url: str, headers: dict[str, str]) -> requests.Response:
        manners = self.manners
        for attempt in range(1, manners.tries + 1):
            last = attempt == manners.tries
            self._wait_for_turn(url)
            try:
                answer = self._session.request(
                    method, url, headers=headers, stream=True, timeout=manners.timeout_seconds, allow_redirects=True
                )
            except requests.exceptions.TooManyRedirects as problem:
                raise FetchError(f"{url}: it redirects in circles; look whether the address still holds") from problem
            except _NETWORK as problem:
                if last:
                    raise FetchError(f"{url}: no answer after {attempt} tries: {_why(problem)}") from problem
                self._sleep(min(2.0**attempt, manners.longest_wait_seconds))
                continue
            except requests.RequestException as problem:
                raise FetchError(f"{url}: not an address that can be asked: {problem}") from problem
            if answer.status_code not in BUSY or last:
                return answer
            wait = _retry_after(answer)
            answer.close()
            if wait is not None and wait > manners.longest_wait_seconds:
                raise FetchError(
                    f"{url}: the server is busy ({answer.status_code}) and asks to come back in {wait:.0f} s"
                )
            self._sleep(2.0**attempt if wait is None else wait)
        raise AssertionError("a manner without tries")

    def _wait_for_turn(self, url: str) -> None:
        host = urlsplit(url).netloc
        now = time.monotonic()
        left = self._next.get(host, 0.0) - now
        if left > 0:
            self._sleep(left)
        self._next[host] = max(now, self._next.get(host, 0.0)) + self.manners.pause_seconds


def _seen(answer: requests.Response) -> Seen:
    _, total = _range(answer)
    return Seen(answer.status_code, answer.url, total if answer.status_code in (200, 206) else None)


def refusal(answer: requests.Response) -> str:
    """Say in words what a status that is no success means, and what to do."""
    code = answer.status_code
    if code in (401, 403):
        return f"not allowed ({code}): gated or private; ask for access and set HF_TOKEN, or put the file there by hand"
    if code in (404, 410):
        return f"not there ({code}): moved or taken down; correct the card"
    if code in BUSY:
        return f"the server is busy ({code}); try again later"
    return f"the server answered {code}"


def full_disk(path: Path, problem: OSError) -> FetchError | None:
    """Return the error to raise for a write that failed for want of room, None when it failed otherwise."""
    if problem.errno not in (errno.ENOSPC, errno.EDQUOT):
        return None
    return FetchError(
        f"{path.parent}: no room left on the disk; make room or set RECLAIM_CACHE to another one, and run the same "
        "command again: it goes on where this stopped"
    )


@contextmanager
def _disk(path: Path) -> Iterator[None]:
    try:
        yield
    except requests.RequestException:
        raise  # which is an OSError too
    except OSError as problem:
        raise full_disk(path, problem) or FetchError(f"{path}: cannot be written: {problem}") from problem


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _range(answer: requests.Response) -> tuple[int, int | None]:
    """Return the first byte of an answer and the bytes of the whole file, None where that is not said."""
    if answer.status_code == 206:
        span, _, total = answer.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
        begin = span.partition("-")[0]
        return (int(begin) if begin.isdigit() else -1), (int(total) if total.isdigit() else None)
    length = answer.headers.get("Content-Length", "")
    return 0, int(length) if length.isdigit() and "Content-Encoding" not in answer.headers else None


def _facts_file(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _read_facts(part: Path, url: str) -> dict[str, Any]:
    try:
        facts: dict[str, Any] = json.loads(_facts_file(part).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return facts if facts.get("url") == url else {}


def _write_facts(part: Path, url: str, answer: requests.Response, total: int | None) -> None:
    tag = answer.headers.get("ETag", "")
    facts = {
        "url": url,
        "etag": "" if tag.startswith("W/") else tag,  # a weak one does not promise the same bytes
        "date": answer.headers.get("Last-Modified", ""),
        "total": total,
    }
    _facts_file(part).write_text(json.dumps(facts), "utf-8")


def _retry_after(answer: requests.Response) -> float | None:
    text = answer.headers.get("Retry-After", "").strip()
    if text.isdigit():
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None


def _why(problem: Exception) -> str:
    if isinstance(problem, requests.exceptions.SSLError):
        return f"no safe connection ({problem})"
    if isinstance(problem, requests.Timeout):
        return "it took too long"
    cause: BaseException = problem
    while cause.__cause__ or cause.__context__:
        cause = cause.__cause__ or cause.__context__  # type: ignore[assignment]
    return str(cause) or type(cause).__name__
