"""The authors' own code, fetched in an attempt that was to do without it."""

from __future__ import annotations

import re
from typing import Any

from reclaim_nb.grading.evidence import Evidence
from reclaim_nb.grading.facts import Fact, fact
from reclaim_nb.papers.card import PaperCard

_CODE_HOST = re.compile(
    r"(?:https?://|git@|git\+https?://|ssh://)?(?:www\.|raw\.|api\.|codeload\.)?"
    r"(?:github(?:usercontent)?\.com|gitlab\.com|bitbucket\.org|huggingface\.co|hf\.co|hf-mirror\.com"
    r"|gitee\.com|codeberg\.org|kkgithub\.com|ghproxy\.\w+/\S*?github\.com|sr\.ht)"
    r"[/:]([\w.~-]+/[\w.-]+)",
    re.IGNORECASE,
)
_REPOSITORY = re.compile(r"^[\w.-]+/[\w.-]+$")
_HUB_CALLS = (
    "snapshot_download",
    "hf_hub_download",
    "clone_from",
    "Repository",
    "Repo",
    "hub.load",
    "load_state_dict_from_url",
    "git_clone",
    "download_repo",
    "get_repo",
)
_ARCHIVES = re.compile(
    r"(?:paperswithcode|zenodo\.org|anonymous\.4open\.science|openreview\.net/attachment"
    r"|arxiv\.org/e-print|drive\.google)",
    re.IGNORECASE,
)


def detect(evidence: Evidence, card: PaperCard, intake: dict[str, Any] | None) -> list[Fact]:
    """Find fetches of code; ``authors`` says that the repository is the paper's own, a fork or a mirror of it."""
    if card.tier != "reimplement":
        return []
    own = _own_names(card)
    found = []
    for call in evidence.lineage.records.calls:
        last = call.name.rsplit(".", 1)[-1]
        if "repo_type" in call.keywords and call.keywords["repo_type"].text == "dataset":
            continue
        hub = any(call.name.endswith(name) for name in _HUB_CALLS)
        for text in call.texts():
            repositories = _CODE_HOST.findall(text) or ([text] if hub and _REPOSITORY.match(text) else [])
            for repository in repositories:
                found.append(_fetched(call.cell, text, repository, own, last))
            if not repositories and _ARCHIVES.search(text) and re.match(r"https?://", text):
                found.append(_fetched(call.cell, text, text, own, last))
    for command in evidence.lineage.records.commands:
        for repository in _CODE_HOST.findall(command.text):
            found.append(_fetched(command.cell, command.text, repository, own, command.program))
        if command.program in ("huggingface-cli", "hf", "gh") and not re.search(r"repo-type[= ]dataset", command.text):
            for word in command.words[1:]:
                if _REPOSITORY.match(word):
                    found.append(_fetched(command.cell, command.text, word, own, command.program))
    for entry in evidence.network:
        address = f"{entry.get('host') or ''}{entry.get('path') or ''}"
        if entry.get("status") in (403, 404, "denied", "refused") or entry.get("allowed") is False:
            continue
        for repository in _CODE_HOST.findall(address):
            found.append(_fetched(entry.get("cell"), address, repository, own, "network"))
    return found


def _fetched(cell: str | None, text: str, repository: str, own: set[str], by: str) -> Fact:
    return fact("code_fetched", cell, None, text, repository=repository, by=by, authors=_is_own(repository, own))


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower().removesuffix(".git"))


def _own_names(card: PaperCard) -> set[str]:
    names = {_plain(card.id), *(_plain(part) for part in getattr(card, "blocked", ()) or ())}
    links = [*card.links.code, *card.links.weights, *card.links.related]
    links += [source.url for source in card.sources if source.url]
    for link in links:
        for repository in _CODE_HOST.findall(link):
            names.add(_plain(repository))
            names.add(_plain(repository.split("/")[-1]))
    if card.arxiv:
        names.add(_plain(card.arxiv))
    head = card.title.split(":")[0]
    if ":" in card.title and len(_plain(head)) >= 4:
        names.add(_plain(head))
    return {name for name in names if len(name) >= 4}


def _is_own(repository: str, own: set[str]) -> bool:
    whole, last = _plain(repository), _plain(repository.split("/")[-1])
    return any(
        name in (last, whole) or (len(name) >= 5 and (name in last or (last in name and len(last) >= 5)))
        for name in own
    )
