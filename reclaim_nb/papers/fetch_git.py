"""Code by git: one commit of a repository, without its history where the server allows that."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from reclaim_nb.errors import FetchError
from reclaim_nb.papers.fetch_cache import Cache

_COMMIT = re.compile(r"^[0-9a-f]{7,64}$")
_FULL = re.compile(r"^([0-9a-f]{40}|[0-9a-f]{64})$")
_GIT_SECONDS = 3600
_NO_ROOM = "No space left on device"
_LARGE_FILE = b"version https://git-lfs.github.com/spec/"


@dataclass(frozen=True)
class CheckedOut:
    """The files of one commit, and what of them is not there."""

    commit: str
    missing: tuple[tuple[str, str], ...]
    """What is missing and why: submodules, files in large file storage."""


def check_out(url: str, commit: str | None, target: Path, cache: Cache, offline: bool = False) -> CheckedOut:
    """Write the files of one commit into a folder.

    Args:
        url: address of the repository.
        commit: which one, in full or its first digits; None: the head of the default branch as it is now.
        target: a folder that does not exist yet.
        cache: keeps the repository for the next time.
        offline: ask nobody; the commit must be in the cache.

    Raises:
        FetchError: there is no git, the repository or the commit cannot be had, or the disk is full.
    """
    if commit is not None and not _COMMIT.match(commit):
        raise FetchError(f"{url}: {commit!r} is no commit; a branch or tag moves, so put the commit on the card")
    repository = cache.repository(url)
    with cache.held(f"git {url}"):
        if not (repository / "HEAD").exists():
            _git(url, "init", "--quiet", "--template=", "--bare", str(repository))
        found = _have(repository, commit) if commit is not None else None
        if found is None:
            if offline:
                raise FetchError(f"{url}: commit {commit} is not in the cache")
            found = _bring(url, commit, repository)
        _write(url, found, repository, target)
    return CheckedOut(found, tuple(_missing(repository, found, target)))


def head_of(url: str) -> str:
    """Return the commit that the default branch of a repository has now.

    Raises:
        FetchError: the repository cannot be asked.
    """
    listed = _git(url, "ls-remote", "--exit-code", url, "HEAD").split()
    if not listed or not _FULL.match(listed[0]):
        raise FetchError(f"{url}: the repository has no default branch")
    return listed[0]


def has_commit(url: str, commit: str) -> bool | None:
    """Tell whether a repository has a commit, without fetching its files.

    Args:
        url: address of the repository.
        commit: its hash, in full or its first digits.

    Returns:
        None where a server tells of no such commit: the digits are few, or it hands out branches and tags only.

    Raises:
        FetchError: the repository cannot be asked.
    """
    heads = [line.split()[0] for line in _git(url, "ls-remote", url).splitlines() if line]
    if any(head.startswith(commit) for head in heads):
        return True
    if not _FULL.match(commit):
        return None
    with tempfile.TemporaryDirectory(prefix="reclaim-probe-") as folder:
        _git(url, "init", "--quiet", "--template=", "--bare", folder)
        try:
            _git(url, "-C", folder, "fetch", "--quiet", "--no-tags", "--depth", "1", "--filter=tree:0", url, commit)
        except FetchError as problem:
            if "unadvertised object" in str(problem):
                return None
            if re.search(r"not our ref|no such remote ref|couldn't find remote ref", str(problem)):
                return False
            raise
    return True


def _bring(url: str, commit: str | None, repository: Path) -> str:
    wanted = head_of(url) if commit is None else commit
    if _FULL.match(wanted):
        try:
            _git(url, "-C", str(repository), "fetch", "--quiet", "--no-tags", "--depth", "1", url, wanted)
        except FetchError as problem:
            if _NO_ROOM in str(problem):
                raise
        else:
            if (found := _have(repository, wanted)) is not None:
                return found
    # A server may hand out branches and tags only, or no history cut short: then everything, and the commit from it.
    refs = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
    deepen = ("--unshallow",) if (repository / "shallow").exists() else ()
    _git(url, "-C", str(repository), "fetch", "--quiet", "--force", *deepen, url, *refs)
    found = _have(repository, wanted)
    if found is None:
        raise FetchError(
            f"{url}: the repository has no commit {wanted} any more, on no branch or tag: it was rewritten "
            "upstream; look what became of it and correct the card"
        )
    return found


def _have(repository: Path, commit: str) -> str | None:
    """Return the full hash of a commit that is here with all its files, else None."""
    name = _run("-C", str(repository), "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}")
    if name.returncode:
        return None
    full = name.stdout.strip()
    whole = _run("-C", str(repository), "rev-list", "--objects", "--no-walk", "--quiet", full)
    return full if whole.returncode == 0 else None


def _write(url: str, commit: str, repository: Path, target: Path) -> None:
    # Not `git archive`, which leaves out what the authors marked export-ignore. This user's filters stay out.
    target.mkdir(parents=True)
    index = target.absolute().with_name(f"{target.name}.index")
    own = {"GIT_INDEX_FILE": str(index), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    try:
        _git(url, "-C", str(repository), "read-tree", commit, **own)
        places = (f"--git-dir={repository.absolute()}", f"--work-tree={target.absolute()}")
        _git(url, "-C", str(target), *places, "checkout-index", "--all", **own)
    finally:
        index.unlink(missing_ok=True)


def _missing(repository: Path, commit: str, target: Path) -> list[tuple[str, str]]:
    listed = _run("-C", str(repository), "ls-tree", "-r", "-z", commit).stdout
    missing = []
    for line in filter(None, listed.split("\0")):
        facts, _, path = line.partition("\t")
        mode, kind, _ = facts.split(" ")[:3]
        file = target / path
        if kind == "commit":
            missing.append((path, "a submodule, which is not fetched; name its repository as data of the card"))
        elif mode.startswith("100") and file.is_file() and file.stat().st_size < 1024:
            with file.open("rb") as content:
                if content.read(len(_LARGE_FILE)) == _LARGE_FILE:
                    missing.append((path, "in large file storage; what is here is only its pointer"))
    return missing


def _git(url: str, *arguments: str, **environment: str) -> str:
    done = _run(*arguments, **environment)
    if done.returncode == 0:
        return done.stdout
    said = " ".join(done.stderr.split())[-600:] or f"git ended with {done.returncode}"
    if _NO_ROOM in said or "Disk quota exceeded" in said:
        raise FetchError(f"{url}: {_NO_ROOM}: make room or set RECLAIM_CACHE to another disk, and run this again")
    if "Authentication failed" in said or "could not read Username" in said or "not found" in said:
        raise FetchError(f"{url}: no such repository, or a private one: moved or taken down; correct the card ({said})")
    raise FetchError(f"{url}: git failed: {said}")


def _run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    # No question is asked on a terminal, no hook runs, and nothing of large file storage is brought unasked.
    own = {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "true", "GIT_LFS_SKIP_SMUDGE": "1", "LC_ALL": "C"}
    safe = ("-c", f"core.hooksPath={os.devnull}", "-c", "protocol.ext.allow=never", "-c", "gc.auto=0")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or "CONFIG" in name}
    try:
        return subprocess.run(
            ["git", *safe, *arguments],
            env={**kept, **own, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_GIT_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise FetchError("there is no git here: install it, it brings the authors' code") from None
    except subprocess.TimeoutExpired:
        raise FetchError(f"git {' '.join(arguments[:4])}: not done after {_GIT_SECONDS} s; run this again") from None
