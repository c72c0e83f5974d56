"""``reclaim fetch``: what the authors published, brought into the cache whole or not at all, ready for attempts."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reclaim_nb.errors import CardError, FetchError
from reclaim_nb.papers.fetch_cache import Cache, write_json, write_text
from reclaim_nb.papers.fetch_git import check_out
from reclaim_nb.papers.fetch_hub import HubFile, hub_headers, list_hub
from reclaim_nb.papers.fetch_sources import Gap, HubRepository, Plan, Repository, SingleFile, plan_of
from reclaim_nb.papers.fetch_text import text_of
from reclaim_nb.papers.fetch_web import Web, full_disk
from reclaim_nb.papers.intake import Intake, strip_notebooks, take_in
from reclaim_nb.papers.loading import LoadedCard

GIB = 1024**3
MOST_BYTES = 50 * GIB
"""Bytes of one release above which a fetch is refused unless more is allowed."""

FACTS = "fetched.json"

Progress = Callable[[str], None]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FetchedRepository(_Part):
    """A repository as it was fetched."""

    url: str
    commit: str
    folder: str
    pinned: bool
    """The card names the commit; else it is the one the first fetch met, and stays that."""


class FetchedFile(_Part):
    """A file as it was fetched."""

    url: str
    path: str
    sha256: str
    size: int
    pinned: bool
    """The card, or a pinned revision, says what its bytes must be."""


class Missing(_Part):
    """A part of the release that was not fetched."""

    what: str
    why: str


class TreeFile(_Part):
    """A file that attempts see; size and time tell without reading it whether it is still the same."""

    path: str
    size: int
    modified_ns: int


class FetchedFacts(_Part):
    """``fetched.json``: where everything of a release came from."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    key: str
    paper: str
    time: str
    repositories: tuple[FetchedRepository, ...] = ()
    files: tuple[FetchedFile, ...] = ()
    text: FetchedFile | None = None
    missing: tuple[Missing, ...] = ()
    stripped: tuple[str, ...] = ()
    tree_sha256: str
    tree: tuple[TreeFile, ...] = ()

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


@dataclass(frozen=True)
class FetchedRelease:
    """A release in the cache."""

    path: Path
    facts: FetchedFacts

    @property
    def release(self) -> Path | None:
        """The folder that attempts mount read-only; None where only the paper's text was fetched."""
        folder = self.path / "release"
        return folder if self.facts.tree else None

    @property
    def paper_text(self) -> Path | None:
        """The paper's text, None where there is none."""
        path = self.path / "paper.md"
        return path if self.facts.text is not None and path.is_file() else None

    def intake(self) -> Intake:
        """Return the manifest of what was shipped, as it was before outputs were stripped.

        Raises:
            FetchError: it is not there or not whole.
        """
        try:
            return Intake.from_json((self.path / "intake.json").read_text("utf-8"))
        except (OSError, CardError) as problem:
            raise FetchError(f"{self.path}: the intake cannot be read ({problem}); {_AGAIN}") from problem

    def check(self) -> None:
        """Look whether the files are still those that were fetched.

        Raises:
            FetchError: a file was changed, removed or added.
        """
        now = {file.path: file for file in _tree(self.path / "release")}
        then = {file.path: file for file in self.facts.tree}
        for path in sorted({*now, *then}):
            if now.get(path) != then.get(path):
                what = "is gone" if path not in now else "was added" if path not in then else "was changed"
                raise FetchError(f"{self.path / 'release' / path}: {what} since it was fetched; {_AGAIN}")


_AGAIN = "run `reclaim fetch PAPER --again`"


def find_fetched(loaded: LoadedCard, cache: Cache | None = None) -> FetchedRelease | None:
    """Return the release of a card from the cache, None where it was not fetched.

    Raises:
        FetchError: it is there and damaged.
    """
    plan = plan_of(loaded.card)
    if plan.empty:
        return None
    return _open((cache or Cache.default()).release(plan.key))


def fetch_paper(
    loaded: LoadedCard,
    *,
    cache: Cache | None = None,
    web: Web | None = None,
    again: bool = False,
    accept_changes: bool = False,
    keep_going: bool = False,
    most_bytes: int = MOST_BYTES,
    progress: Progress | None = None,
) -> FetchedRelease:
    """Bring a card's release into the cache, unless it is there.

    Args:
        loaded: the card.
        cache: where to; default: this user's.
        web: the HTTP client.
        again: look at every source anew, and make the release anew.
        accept_changes: take what has changed upstream where the card pins nothing.
        keep_going: leave out what cannot be had, and say so, instead of failing.
        most_bytes: bytes above which it is refused.
        progress: called with a line for each step.

    Returns:
        The release, whole.

    Raises:
        FetchError: something cannot be had or is not what it should be; what was there before is then untouched.
    """
    cache = cache or Cache.default()
    plan = plan_of(loaded.card)
    if plan.empty:
        reasons = "; ".join(f"{gap.what}: {gap.why}" for gap in plan.gaps) or "the card names nothing to fetch"
        raise FetchError(f"{loaded.name}: nothing can be fetched ({reasons})")
    own = web or Web()
    try:
        with cache.held(f"release {plan.key}"):
            before = _open(cache.release(plan.key)) if not again else None
            if before is not None:
                before.check()
                return before
            old = _facts(cache.release(plan.key))
            work = _Fetch(loaded.name, plan, cache, own, old, again, accept_changes, keep_going, most_bytes, progress)
            return work.run()
    finally:
        if web is None:
            own.close()


class _Fetch:
    """One fetch of one release."""

    def __init__(
        self,
        paper: str,
        plan: Plan,
        cache: Cache,
        web: Web,
        old: FetchedFacts | None,
        again: bool,
        accept_changes: bool,
        keep_going: bool,
        most_bytes: int,
        progress: Progress | None,
    ) -> None:
        self._paper, self._plan, self._cache, self._web, self._old = paper, plan, cache, web, old
        self._again, self._accept, self._keep_going = again, accept_changes, keep_going
        self._most, self._say = most_bytes, progress or (lambda line: None)
        self._repositories: list[FetchedRepository] = []
        self._files: list[FetchedFile] = []
        self._missing = [Missing(what=gap.what, why=gap.why) for gap in plan.gaps]
        self._bytes = 0

    def run(self) -> FetchedRelease:
        try:
            return self._run()
        except OSError as problem:
            path = self._cache.path / "staging"
            raise full_disk(path, problem) or FetchError(f"{path}: cannot be written: {problem}") from problem

    def _run(self) -> FetchedRelease:
        with self._cache.staging() as staging:
            raw = staging / "raw"
            raw.mkdir()
            for repository in self._plan.repositories:
                self._unless_missing(repository.url, lambda one=repository: self._repository(one, raw))  # type: ignore[misc]
            for hub in self._plan.hubs:
                self._unless_missing(hub.name, lambda one=hub: self._hub(one, raw))  # type: ignore[misc]
            for file in self._plan.files:
                self._unless_missing(file.url, lambda one=file: self._single(one, raw))  # type: ignore[misc]
            made = staging / "made"
            made.mkdir()
            text = self._text(made)
            self._say("taking in: hashes, and the numbers in shipped result files")
            intake = take_in(raw)
            stripped = _strip(raw, staging)
            os.replace(raw, made / "release")
            _close_to_writing(made / "release")
            write_text(made / "intake.json", intake.model_copy(update={"stripped": stripped}).to_json() + "\n")
            tree = _tree(made / "release")
            facts = FetchedFacts(
                key=self._plan.key,
                paper=self._paper,
                time=_now(),
                repositories=tuple(self._repositories),
                files=tuple(self._files),
                text=text,
                missing=tuple(self._missing),
                stripped=stripped,
                tree_sha256=_tree_hash(intake, stripped),
                tree=tree,
            )
            write_json(made / FACTS, facts.model_dump(mode="json", by_alias=True))
            return FetchedRelease(self._cache.publish(made, self._plan.key), facts)

    def _unless_missing(self, what: str, fetch: Callable[[], None]) -> None:
        try:
            fetch()
        except FetchError as problem:
            if not self._keep_going:
                raise
            self._say(f"left out: {problem}")
            self._missing.append(Missing(what=what, why=str(problem)))

    def _repository(self, wanted: Repository, raw: Path) -> None:
        met = self._met(wanted.url)
        commit = wanted.commit or (None if self._again else met)
        self._say(f"git {wanted.url} at {commit or 'its newest commit'}")
        done = check_out(wanted.url, commit, raw / wanted.folder, self._cache)
        if wanted.commit is None and met is not None and met != done.commit and not self._accept:
            raise FetchError(
                f"{wanted.url}: changed upstream: it was at commit {met}, now {done.commit}. Put the one that is meant "
                "on the card (release.code.commit), or take the new one with --accept-changes"
            )
        self._repositories.append(
            FetchedRepository(
                url=wanted.url, commit=done.commit, folder=wanted.folder, pinned=wanted.commit is not None
            )
        )
        self._missing += [Missing(what=f"{wanted.folder}/{path}", why=why) for path, why in done.missing]

    def _hub(self, wanted: HubRepository, raw: Path) -> None:
        met = self._met(wanted.name)
        revision = wanted.revision or (None if self._again else met)
        self._say(f"hub {wanted.name} at {revision or 'its newest commit'}")
        listing = list_hub(HubRepository(wanted.kind, wanted.name, revision, wanted.folder, wanted.files))
        if wanted.revision is None and met is not None and met != listing.commit and not self._accept:
            raise FetchError(
                f"{wanted.name}: changed upstream: it was at commit {met}, now {listing.commit}. Put the one that is "
                "meant on the card (revision), or take the new one with --accept-changes"
            )
        known = [file.size for file in listing.files if file.size is not None and not self._here(file)]
        self._require_room(wanted.name, sum(known))
        headers = hub_headers()
        for file in listing.files:
            target = _inside(raw, f"{wanted.folder}/{file.path}", file.url)
            sha256 = self._file(file.url, file.sha256, file.size, headers, git_sha1=file.git_sha1)
            self._place(file.url, target, sha256, raw, pinned=True)
        self._repositories.append(
            FetchedRepository(
                url=wanted.name, commit=listing.commit, folder=wanted.folder, pinned=wanted.revision is not None
            )
        )

    def _here(self, file: HubFile) -> bool:
        return file.sha256 is not None and self._cache.blob(file.sha256) is not None

    def _single(self, wanted: SingleFile, raw: Path) -> None:
        target = _inside(raw, wanted.path, wanted.url)
        sha256 = self._file(wanted.url, wanted.sha256, wanted.size, {})
        self._place(wanted.url, target, sha256, raw, pinned=wanted.sha256 is not None)

    def _text(self, made: Path) -> FetchedFile | None:
        refusals = []
        for wanted in self._plan.text:
            try:
                sha256 = self._file(wanted.url, wanted.sha256, wanted.size, {})
                blob = self._cache.blob(sha256)
                assert blob is not None
                write_text(made / "paper.md", text_of(blob, wanted.url))
            except FetchError as problem:
                refusals.append(str(problem))
                continue
            return FetchedFile(
                url=wanted.url,
                path="paper.md",
                sha256=sha256,
                size=blob.stat().st_size,
                pinned=wanted.sha256 is not None,
            )
        if refusals and not self._keep_going:
            raise FetchError(f"the paper's text: {'; '.join(refusals)}")
        self._missing += [Missing(what="the paper's text", why=why) for why in refusals]
        return None

    def _file(
        self, url: str, sha256: str | None, size: int | None, headers: dict[str, str], git_sha1: str | None = None
    ) -> str:
        """Have a file in the cache and return its hash."""
        if sha256 is not None and self._cache.blob(sha256) is not None:
            return sha256
        met = self._cache.seen(url)
        if sha256 is None and met is not None and (git_sha1 is not None or not self._again):
            return str(met["sha256"])  # a hub's addresses hold the commit, so what they gave stays
        with self._cache.held(f"file {url}"):
            if sha256 is not None and self._cache.blob(sha256) is not None:
                return sha256  # another process has brought it meanwhile
            if size is not None:
                self._require_room(url, size)
            got = self._bring(url, sha256, size, headers, git_sha1)
            if sha256 is None and met is not None and got != met["sha256"] and not self._accept:
                raise FetchError(
                    f"{url}: changed upstream: on {met['time'][:10]} it had sha256 {met['sha256']}, now {got}. Put "
                    "the one that is meant on the card (files: url, sha256), or take the new one with --accept-changes"
                )
            self._cache.saw(url, got, _now())
        return got

    def _bring(
        self, url: str, sha256: str | None, size: int | None, headers: dict[str, str], git_sha1: str | None
    ) -> str:
        part = self._cache.part(url)
        resumed = part.exists()
        while True:
            self._say(f"{'going on with' if resumed else 'fetching'} {url}")
            self._web.download(url, part, headers=headers, most=self._most - self._bytes)
            problem = _not_as_said(part, sha256, size, git_sha1)
            if problem is None:
                return self._cache.take(part)
            part.unlink()
            if not resumed:
                raise FetchError(f"{url}: {problem}. Nothing of it was kept")
            resumed = False  # perhaps only the part of before was bad, so once more from the beginning

    def _place(self, url: str, target: Path, sha256: str, raw: Path, *, pinned: bool) -> None:
        path = target.relative_to(raw).as_posix()
        if target.exists():
            raise FetchError(f"{url}: {path} is there already from another source; give the files a path on the card")
        self._cache.link(sha256, target)
        size = target.stat().st_size
        self._bytes += size
        self._files.append(FetchedFile(url=url, path=path, sha256=sha256, size=size, pinned=pinned))

    def _met(self, url: str) -> str | None:
        """Return the commit that the fetch before this one met."""
        known = self._old.repositories if self._old is not None else ()
        return next((one.commit for one in known if one.url == url), None)

    def _require_room(self, what: str, size: int) -> None:
        if self._bytes + size > self._most:
            raise FetchError(
                f"{what}: {size / GIB:.1f} GiB, and the release may hold {self._most / GIB:.1f} GiB in all; allow more "
                "with --most-gib, or name single files on the card"
            )
        free = self._cache.free_bytes()
        if size > free:
            raise FetchError(
                f"{what}: {size / GIB:.1f} GiB, and {self._cache.path} has room for {free / GIB:.1f} GiB; make room or "
                "set RECLAIM_CACHE to another disk"
            )


def _open(path: Path) -> FetchedRelease | None:
    facts = _facts(path)
    if facts is None and path.exists():
        raise FetchError(f"{path}: its {FACTS} cannot be read; {_AGAIN}")
    return FetchedRelease(path, facts) if facts is not None else None


def _facts(path: Path) -> FetchedFacts | None:
    try:
        return FetchedFacts.model_validate_json((path / FACTS).read_bytes())
    except (OSError, ValidationError):
        return None


def _inside(raw: Path, path: str, url: str) -> Path:
    """Return where a file lies in the release; the name may be anybody's, and so may a link among the code."""
    target = raw / path
    if ".." in Path(path).parts or not target.resolve().is_relative_to(raw.resolve()):
        raise FetchError(f"{url}: its path {path!r} leads out of the release; it is refused")
    return target


def _not_as_said(part: Path, sha256: str | None, size: int | None, git_sha1: str | None) -> str | None:
    """Return what is wrong with the bytes that came, None when they are what they should be."""
    found = part.stat().st_size
    if size is not None and found != size:
        return f"it has {found} bytes and should have {size}"
    with part.open("rb") as file:
        if sha256 is not None:
            got = hashlib.file_digest(file, "sha256").hexdigest()
            return None if got == sha256 else f"its sha256 is {got} and should be {sha256}: changed upstream or damaged"
        if git_sha1 is not None:
            digest = hashlib.sha1(f"blob {found}\0".encode(), usedforsecurity=False)
            while piece := file.read(1024 * 1024):
                digest.update(piece)
            if digest.hexdigest() != git_sha1:
                return f"its git hash is {digest.hexdigest()} and should be {git_sha1}: damaged on the way"
    return None


def _strip(raw: Path, staging: Path) -> tuple[str, ...]:
    """Empty the outputs of all notebooks. Large files beside them are not copied, and the cache's own stay whole."""
    notebooks = [path for path in _files(raw) if path.suffix.lower() == ".ipynb" and not path.is_symlink()]
    shipped = staging / "notebooks"
    for path in notebooks:
        copy = shipped / path.relative_to(raw)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    if not notebooks:
        return ()
    try:
        stripped = strip_notebooks(shipped, staging / "stripped")
    except CardError as problem:
        raise FetchError(str(problem)) from problem
    for name in stripped:
        os.replace(staging / "stripped" / name, raw / name)
    return stripped


def _files(folder: Path) -> list[Path]:
    found = []
    for root, folders, names in os.walk(folder):
        linked = [name for name in folders if (Path(root) / name).is_symlink()]
        found += [Path(root) / name for name in [*names, *linked]]
    return sorted(found)


def _close_to_writing(folder: Path) -> None:
    for path in _files(folder):
        if not path.is_symlink():
            path.chmod(0o555 if path.stat().st_mode & 0o100 else 0o444)


def _tree(folder: Path) -> tuple[TreeFile, ...]:
    facts = ((path, path.lstat()) for path in _files(folder)) if folder.is_dir() else ()
    return tuple(
        TreeFile(path=path.relative_to(folder).as_posix(), size=stat.st_size, modified_ns=stat.st_mtime_ns)
        for path, stat in facts
    )


def _tree_hash(intake: Intake, stripped: tuple[str, ...]) -> str:
    """Return one hash of all names and bytes as shipped, and of which notebooks were stripped."""
    files = [[file.path, file.sha256] for file in intake.files]
    return hashlib.sha256(json.dumps([files, list(stripped)]).encode()).hexdigest()


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


__all__ = ["FetchedFacts", "FetchedRelease", "Gap", "fetch_paper", "find_fetched"]
