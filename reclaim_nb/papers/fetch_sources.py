"""What a card asks to be fetched, told apart by its addresses: repositories, hubs, single files, and what cannot be."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from typing import Literal
from urllib.parse import unquote, urlsplit

from reclaim_nb.papers.card import Data, PaperCard, RemoteFile, Weights
from reclaim_nb.papers.fetch_block import blocked_by

HUBS = frozenset({"huggingface.co", "www.huggingface.co", "hf.co"})
FORGES = frozenset({"github.com", "www.github.com", "gitlab.com", "codeberg.org", "bitbucket.org", "gitee.com"})

RepositoryKind = Literal["model", "dataset", "space"]

_KINDS: dict[str, RepositoryKind] = {"datasets": "dataset", "spaces": "space"}
_FILE = re.compile(
    r"\.(zip|tar|t?gz|bz2|xz|zst|7z|csv|tsv|jsonl?|ndjson|parquet|np[yz]|mat|arff|data|txt|md|h5|hdf5|pkl|pickle|pth?|ckpt"
    r"|bin|safetensors|onnx|gguf|msgpack|pdf|html|xml|ya?ml|ipynb|xlsx|svm|lmdb|tfrecord|wav|png|jpg)$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Repository:
    """A git repository, and the folder of the release it is put into."""

    url: str
    commit: str | None
    folder: str


@dataclass(frozen=True)
class HubRepository:
    """A repository of a model hub; without ``paths`` all of it."""

    kind: RepositoryKind
    name: str
    revision: str | None
    folder: str
    files: tuple[RemoteFile, ...] = ()


@dataclass(frozen=True)
class SingleFile:
    """One file at one address, and its place in the release."""

    url: str
    path: str
    sha256: str | None = None
    size: int | None = None


@dataclass(frozen=True)
class Gap:
    """A part of the release that is not fetched, and why."""

    what: str
    why: str


@dataclass(frozen=True)
class Plan:
    """Everything that makes up a release, before anything is fetched."""

    repositories: tuple[Repository, ...] = ()
    hubs: tuple[HubRepository, ...] = ()
    files: tuple[SingleFile, ...] = ()
    text: tuple[SingleFile, ...] = ()
    """The paper's text; of several the first that can be had."""
    gaps: tuple[Gap, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to fetch."""
        return not (self.repositories or self.hubs or self.files or self.text)

    @property
    def key(self) -> str:
        """A hash of what is asked for: other words on a card change nothing; cards that ask for the same share it."""
        asked = [[asdict(part) for part in group] for group in (self.repositories, self.hubs, self.files, self.text)]
        plain = json.dumps(asked, sort_keys=True, default=lambda part: part.model_dump(mode="json"))
        return hashlib.sha256(plain.encode()).hexdigest()[:32]


def plan_of(card: PaperCard) -> Plan:
    """Return what to fetch for a card.

    Code lands in ``code/``, data in ``data/``, weights in ``weights/`` of the release. What the card blocks, and
    what no program can fetch (a page, a form, a data set behind a registration), is a gap.
    """
    repositories: list[Repository] = []
    hubs: list[HubRepository] = []
    files: list[SingleFile] = []
    gaps: list[Gap] = []

    def add(part: Repository | HubRepository | SingleFile | Gap) -> None:
        known: list[object] = [*repositories, *hubs, *files, *gaps]
        if part in known:
            return
        address = _address(part)
        if address is not None and blocked_by(address, card.blocked) is not None:
            gaps.append(Gap(address, "the card blocks it: the work is to be done without it"))
            return
        if isinstance(part, Repository):
            if any(same_repository(part.url, one.url) for one in repositories):
                return  # data that lie in the code's own repository are there already
            repositories.append(part)
        elif isinstance(part, HubRepository):
            hubs.append(part)
        elif isinstance(part, SingleFile):
            files.append(part)
        else:
            gaps.append(part)

    code = card.release.code
    if code is not None:
        if code.url is None:
            add(Gap("code", "the card has no address for it"))
        else:
            for part in _parts("code", code.url, "code", code.commit, ()):
                add(part)
    for data in card.release.data:
        for part in _data_parts(data):
            add(part)
    if card.release.weights is not None:
        for part in _weights_parts(card.release.weights):
            add(part)
    return Plan(tuple(repositories), tuple(hubs), tuple(files), _text(card), tuple(gaps))


def hub_repository(url: str) -> tuple[RepositoryKind, str, str | None, str | None] | None:
    """Take an address of a model hub apart.

    Returns:
        Kind, ``owner/name``, revision and path inside the repository (None where not said); None for another address.
    """
    parts = urlsplit(url if "://" in url else f"https://{url}")
    if parts.netloc.lower() not in HUBS:
        return None
    words = [unquote(word) for word in parts.path.split("/") if word]
    kind = _KINDS.get(words[0], "model") if words else "model"
    words = words[1:] if words and words[0] in _KINDS else words
    if not words or words[0] in ("collections", "papers", "docs", "blog"):
        return None
    if len(words) == 1:
        return kind, words[0], None, None
    name, rest = "/".join(words[:2]), words[2:]
    revision = rest[1] if len(rest) > 1 and rest[0] in ("tree", "blob", "resolve", "raw", "commit") else None
    path = "/".join(rest[2:]) if revision and len(rest) > 2 else None
    return kind, name, revision, path


def forge_repository(url: str) -> tuple[str, str | None] | None:
    """Return the address to clone and the path after it, for an address of a code host; None for another one."""
    parts = urlsplit(url)
    words = [word for word in parts.path.split("/") if word]
    if parts.netloc.lower() not in FORGES or len(words) < 2:
        return None
    clone = f"{parts.scheme}://{parts.netloc}/{words[0]}/{words[1].removesuffix('.git')}"
    return clone, "/".join(words[2:]) or None


def same_repository(one: str, other: str) -> bool:
    """Tell whether two addresses are of the same repository."""

    def plain(url: str) -> str:
        return re.sub(r"^\w+://(www\.)?", "", url.rstrip("/").removesuffix(".git")).lower()

    return plain(one) == plain(other)


def _parts(
    what: str, url: str, folder: str, revision: str | None, files: tuple[RemoteFile, ...]
) -> list[Repository | HubRepository | SingleFile | Gap]:
    """Return how one address of a card is fetched."""
    addressed = [file for file in files if file.url is not None]
    inside = tuple(file for file in files if file.url is None)
    found: list[Repository | HubRepository | SingleFile | Gap] = [
        SingleFile(str(file.url), f"{folder}/{file.path or _last(str(file.url))}", file.sha256, file.size)
        for file in addressed
    ]
    if files and not inside:
        return found
    if (hub := hub_repository(url)) is not None:
        kind, name, said, path = hub
        if path is not None and not inside and "." in path.rsplit("/", 1)[-1]:
            inside = (RemoteFile(path=path),)
        return [*found, HubRepository(kind, name, revision or said, folder, inside)]
    if inside:
        names = ", ".join(str(file.path) for file in inside)
        return [*found, Gap(what, f"{url} is no repository of a hub, so {names} cannot be found in it; give urls")]
    if (forge := forge_repository(url)) is not None:
        clone, rest = forge
        if rest and re.match(r"(releases/download|raw|archive|-/archive|-/raw)/", rest):
            return [*found, SingleFile(url, f"{folder}/{_last(url)}")]
        if rest and rest.startswith("blob/"):
            return [*found, SingleFile(url.replace("/blob/", "/raw/", 1), f"{folder}/{_last(url)}")]
        return [*found, Repository(clone, revision, folder)]
    if url.endswith(".git") or (what == "code" and _host_of_code(url)):
        return [*found, Repository(url, revision, folder)]
    if _FILE.search(urlsplit(url).path):
        return [*found, SingleFile(url, f"{folder}/{_last(url)}")]
    return [*found, Gap(what, f"{url} is a page and not a file; name its files on the card (files: url, sha256)")]


def _data_parts(data: Data) -> list[Repository | HubRepository | SingleFile | Gap]:
    what = f"data: {data.name}"
    if data.access not in ("public", "gated"):
        return [Gap(what, f"access is by {data.access}")]
    if data.url is None and not any(file.url for file in data.files):
        return [Gap(what, "the card has no address for it")]
    return _parts(what, data.url or "", _folder("data", data.url), data.revision, data.files)


def _weights_parts(weights: Weights) -> list[Repository | HubRepository | SingleFile | Gap]:
    if weights.url is None and not any(file.url for file in weights.files):
        return [Gap("weights", weights.note or "the card has no address for them")]
    return _parts("weights", weights.url or "", _folder("weights", weights.url), weights.revision, weights.files)


def _folder(folder: str, url: str | None) -> str:
    """Return the folder of a repository beside others: below it one of the repository's own name."""
    if url is None:
        return folder
    if (hub := hub_repository(url)) is not None:
        return f"{folder}/{hub[1].rsplit('/', 1)[-1]}"
    if (forge := forge_repository(url)) is not None and (forge[1] is None or forge[1].startswith("tree/")):
        return f"{folder}/{forge[0].rsplit('/', 1)[-1]}"
    return f"{folder}/{_last(url).removesuffix('.git')}" if url.endswith(".git") else folder


def _text(card: PaperCard) -> tuple[SingleFile, ...]:
    if card.text is not None and card.text.url is not None:
        return (SingleFile(card.text.url, card.text.path or _last(card.text.url), card.text.sha256, card.text.size),)
    if card.arxiv is None:
        return ()
    addresses = (f"https://arxiv.org/html/{card.arxiv}", f"https://arxiv.org/pdf/{card.arxiv}")
    return tuple(SingleFile(url, f"paper.{kind}") for url, kind in zip(addresses, ("html", "pdf"), strict=True))


def _address(part: Repository | HubRepository | SingleFile | Gap) -> str | None:
    if isinstance(part, HubRepository):
        return f"https://huggingface.co/{part.name}"
    return None if isinstance(part, Gap) else part.url


def _host_of_code(url: str) -> bool:
    return urlsplit(url).netloc.lower() in FORGES or urlsplit(url).scheme in ("git", "ssh", "file")


def _last(url: str) -> str:
    name = re.sub(r"[/\\\x00-\x1f]", "_", unquote(urlsplit(url).path.rstrip("/").rsplit("/", 1)[-1]))
    return name if name not in ("", ".", "..") else "file"
