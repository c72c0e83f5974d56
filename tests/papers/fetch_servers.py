"""Servers on loopback that answer like the real ones: files with ranges, busy and broken ones, git over HTTP, a hub."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

Answer = Callable[["Exchange"], None]


@dataclass
class Exchange:
    """One request, and the handler that answers it."""

    handler: BaseHTTPRequestHandler
    path: str
    query: dict[str, list[str]]
    count: int
    """How often this path was asked before."""

    def send(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.handler.send_response(status)
        for name, value in headers.items():
            self.handler.send_header(name.replace("_", "-"), value)
        self.handler.send_header("Content-Length", str(len(body)))
        self.handler.end_headers()
        if self.handler.command != "HEAD":
            self.handler.wfile.write(body)


@dataclass
class Site:
    """A server under test: what it answers, and what it was asked."""

    url: str = ""
    routes: dict[str, Answer] = field(default_factory=dict)
    asked: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    fallback: Answer | None = None

    def asked_for(self, path: str) -> list[dict[str, str]]:
        """Return the headers of every request of a path."""
        return [headers for _, asked, headers in self.asked if asked == path]

    def file(self, path: str, content: bytes, *, cut_after: list[int] | None = None, ranges: bool = True) -> str:
        """Serve a file; ``cut_after`` breaks the first answers off after so many bytes each. Returns its address."""
        cuts = list(cut_after or [])
        tag = f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"'

        def answer(exchange: Exchange) -> None:
            headers = exchange.handler.headers
            begin = 0
            wanted = headers.get("Range", "")
            if ranges and wanted.startswith("bytes=") and headers.get("If-Range", tag) == tag:
                begin = int(wanted.removeprefix("bytes=").rstrip("-"))
                if begin >= len(content):
                    exchange.send(416, Content_Range=f"bytes */{len(content)}")
                    return
            body = content[begin:]
            exchange.handler.send_response(206 if begin else 200)
            if begin:
                exchange.handler.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
            if ranges:
                exchange.handler.send_header("ETag", tag)
            exchange.handler.send_header("Content-Length", str(len(body)))
            exchange.handler.end_headers()
            if exchange.handler.command == "HEAD":
                return
            if cuts:
                exchange.handler.wfile.write(body[: cuts.pop(0)])
                exchange.handler.wfile.flush()
                exchange.handler.connection.shutdown(socket.SHUT_RDWR)
                exchange.handler.close_connection = True
                return
            exchange.handler.wfile.write(body)

        self.routes[path] = answer
        return self.url + path

    def status(self, path: str, *codes: int, then: Answer | None = None, **headers: str) -> str:
        """Answer with these statuses, one a request, then with ``then`` or the last of them for ever."""

        def answer(exchange: Exchange) -> None:
            if exchange.count >= len(codes) and then is not None:
                then(exchange)
                return
            exchange.send(codes[min(exchange.count, len(codes) - 1)], b"no", **headers)

        self.routes[path] = answer
        return self.url + path

    def redirect(self, path: str, target: str) -> str:
        self.routes[path] = lambda exchange: exchange.send(302, Location=target)
        return self.url + path

    def json(self, path: str, value: Any) -> str:
        body = json.dumps(value).encode()
        self.routes[path] = lambda exchange: exchange.send(200, body, Content_Type="application/json")
        return self.url + path


@contextmanager
def site() -> Iterator[Site]:
    """Run a server on a free port of loopback."""
    made = Site()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _any(self) -> None:
            parts = urlsplit(self.path)
            path = unquote(parts.path)
            count = len(made.asked_for(path))
            made.asked.append((self.command, path, dict(self.headers.items())))
            exchange = Exchange(self, path, parse_qs(parts.query), count)
            answer = made.routes.get(path) or made.fallback or (lambda one: one.send(404, b"not here"))
            answer(exchange)

        do_GET = do_HEAD = do_POST = _any

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    made.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def git(folder: Path, *words: str) -> str:
    """Run git in a folder and return what it printed."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "GIT_CONFIG_GLOBAL": os.devnull,
        **{f"GIT_{who}_{what}": text for who in ("AUTHOR", "COMMITTER") for what, text in _PERSON.items()},
    }
    done = subprocess.run(
        ["git", "-C", str(folder), *words], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


_PERSON = {"NAME": "A. Author", "EMAIL": "author@example.org", "DATE": "2025-01-01T00:00:00Z"}


def commit(folder: Path, files: dict[str, str | bytes], message: str = "a change") -> str:
    """Write files into a repository, made where it is not there, and return the commit that holds them."""
    if not (folder / ".git").exists():
        folder.mkdir(parents=True, exist_ok=True)
        git(folder, "init", "--quiet", "--initial-branch", "main")
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--message", message)
    return git(folder, "rev-parse", "HEAD")


def serve_git(made: Site, prefix: str, folder: Path, *, any_commit: bool = True) -> str:
    """Serve a repository by git's own HTTP backend below a path, and return the address to clone.

    Args:
        any_commit: hand out any commit by its hash, as the large forges do.
    """
    git(folder, "config", "uploadpack.allowAnySHA1InWant", "true" if any_commit else "false")
    git(folder, "config", "http.receivepack", "false")

    def answer(exchange: Exchange) -> None:
        handler = exchange.handler
        if not exchange.path.startswith(prefix + "/"):
            exchange.send(404, b"not here")
            return
        length = int(handler.headers.get("Content-Length") or 0)
        body = handler.rfile.read(length) if length else _chunks(handler)
        done = subprocess.run(
            ["git", "http-backend"],
            input=body,
            env={
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": str(folder / ".git"),
                "GIT_HTTP_EXPORT_ALL": "1",
                "PATH_INFO": exchange.path.removeprefix(prefix),
                "QUERY_STRING": urlsplit(handler.path).query,
                "REQUEST_METHOD": handler.command,
                "CONTENT_TYPE": handler.headers.get("Content-Type", ""),
                "HTTP_CONTENT_ENCODING": handler.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": handler.headers.get("Git-Protocol", ""),
                "GIT_CONFIG_COUNT": "1",
                "GIT_CONFIG_KEY_0": "safe.directory",
                "GIT_CONFIG_VALUE_0": "*",
            },
            capture_output=True,
            check=False,
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().splitlines() if ": " in line)
        status = int(fields.pop("Status", "200").split()[0])
        fields.pop("Content-Length", None)
        exchange.send(status, content, **fields)

    made.fallback = answer
    return made.url + prefix


def _chunks(handler: BaseHTTPRequestHandler) -> bytes:
    body = b""
    if "chunked" in handler.headers.get("Transfer-Encoding", ""):
        while size := int(handler.rfile.readline().strip() or b"0", 16):
            body += handler.rfile.read(size)
            handler.rfile.readline()
        handler.rfile.readline()
    return body


def serve_hub(
    made: Site, name: str, files: dict[str, bytes], *, large: tuple[str, ...] = (), sha: str = "c0ffee"
) -> str:
    """Serve a model repository as the hub's API does: files named in ``large`` lie in large file storage."""
    sha = hashlib.sha1(sha.encode(), usedforsecurity=False).hexdigest()
    siblings = []
    for path, content in files.items():
        blob = hashlib.sha1(f"blob {len(content)}\0".encode() + content, usedforsecurity=False).hexdigest()
        entry: dict[str, Any] = {"rfilename": path, "size": len(content), "blobId": blob}
        if path in large:
            entry["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 134}
        siblings.append(entry)
        made.file(f"/{name}/resolve/{sha}/{path}", content)
    listing = {"id": name, "modelId": name, "sha": sha, "gated": False, "private": False, "siblings": siblings}
    made.json(f"/api/models/{name}", listing)
    made.json(f"/api/models/{name}/revision/{sha}", listing)
    return sha
