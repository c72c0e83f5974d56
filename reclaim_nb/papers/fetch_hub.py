"""What lies in a repository of a model hub: the files of one commit, each with what its bytes must be."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from reclaim_nb.errors import FetchError
from reclaim_nb.papers.fetch_sources import HubRepository

_PACKAGE = "huggingface_hub"
_LIST_SECONDS = 30.0


@dataclass(frozen=True)
class HubFile:
    """One file of a hub's repository.

    Attributes:
        url: where its bytes come from.
        path: its name in the repository.
        size: bytes; None where the hub does not say.
        sha256: of its bytes, for files in large file storage.
        git_sha1: of its git blob, for all others.
    """

    url: str
    path: str
    size: int | None
    sha256: str | None
    git_sha1: str | None


@dataclass(frozen=True)
class HubListing:
    """The files of one commit."""

    commit: str
    gated: bool
    files: tuple[HubFile, ...]


def hub_endpoint() -> str:
    """Return the hub's address: ``$HF_ENDPOINT``, as that package has it, else the public one."""
    return (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")


def hub_headers() -> dict[str, str]:
    """Return the headers with this user's token for the hub, none without one."""
    token = _library().get_token()
    return {"Authorization": f"Bearer {token}"} if token else {}


def hub_token_headers() -> dict[str, str]:
    """Return what :func:`hub_headers` does, and none where huggingface_hub is not installed."""
    try:
        return hub_headers()
    except FetchError:
        return {}


def list_hub(repository: HubRepository) -> HubListing:
    """List a repository of the hub.

    Args:
        repository: which one; files named on the card stand for those alone.

    Raises:
        FetchError: huggingface_hub is not installed, or the repository, revision or a named file is not there.
    """
    library = _library()
    kind, endpoint = repository.kind, hub_endpoint()
    where = f"{endpoint}/{'' if kind == 'model' else kind + 's/'}{repository.name}"
    try:
        info = library.HfApi(endpoint=endpoint).repo_info(
            repository.name,
            repo_type=kind,
            revision=repository.revision,
            files_metadata=True,
            timeout=_LIST_SECONDS,
        )
    except library.errors.GatedRepoError as problem:
        raise FetchError(f"{where}: gated; ask for access there and set HF_TOKEN") from problem
    except library.errors.RevisionNotFoundError as problem:
        raise FetchError(f"{where}: there is no revision {repository.revision} any more; correct the card") from problem
    except library.errors.RepositoryNotFoundError as problem:
        raise FetchError(f"{where}: no such repository, or private: correct the card, or set HF_TOKEN") from problem
    except (library.errors.HfHubHTTPError, OSError, ValueError) as problem:
        raise FetchError(f"{where}: cannot be listed: {' '.join(str(problem).split())[:300]}") from problem
    except Exception as problem:  # its HTTP library changes between versions, and so do the classes of its errors
        raise FetchError(f"{where}: cannot be listed: {type(problem).__name__}: {problem}") from problem
    commit = str(info.sha)
    files = tuple(
        HubFile(
            url=library.hf_hub_url(repository.name, one.rfilename, repo_type=kind, revision=commit, endpoint=endpoint),
            path=one.rfilename,
            size=one.size,
            sha256=_of_lfs(one, "sha256"),
            git_sha1=None if _of_lfs(one, "sha256") else one.blob_id,
        )
        for one in info.siblings or ()
    )
    return HubListing(commit, bool(getattr(info, "gated", False)), _named(repository, files, where))


def _named(repository: HubRepository, files: tuple[HubFile, ...], where: str) -> tuple[HubFile, ...]:
    if not repository.files:
        if not files:
            raise FetchError(f"{where}: the repository is empty")
        return tuple(file for file in files if file.path != ".gitattributes")
    known = {file.path: file for file in files}
    chosen = []
    for wanted in repository.files:
        file = known.get(str(wanted.path))
        if file is None:
            raise FetchError(f"{where}: there is no file {wanted.path} in it; correct the card")
        if wanted.sha256 and file.sha256 and wanted.sha256 != file.sha256:
            raise FetchError(
                f"{where}: {wanted.path} has changed upstream: the card says sha256 {wanted.sha256}, the hub now has "
                f"{file.sha256}; put the revision on the card that has the former"
            )
        chosen.append(HubFile(file.url, file.path, file.size, wanted.sha256 or file.sha256, file.git_sha1))
    return tuple(chosen)


def _of_lfs(file: Any, name: str) -> str | None:
    lfs = getattr(file, "lfs", None)
    value = lfs.get(name) if isinstance(lfs, dict) else getattr(lfs, name, None)
    return str(value) if value else None


def _library() -> Any:
    try:
        import huggingface_hub
        import huggingface_hub.errors
    except ImportError:
        raise FetchError(f"this needs {_PACKAGE}: pip install 'reclaim-nb[fetch]'") from None
    return huggingface_hub
