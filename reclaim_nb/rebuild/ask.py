"""The step ``probe``: what the services say of code, data and weights, by request and never from a README."""

from __future__ import annotations

import os
import re
from typing import Any, Literal
from urllib.parse import quote, urlsplit

from reclaim_nb.errors import CardError
from reclaim_nb.papers.card import Code, Data, Release, Weights
from reclaim_nb.papers.fetch_sources import hub_repository
from reclaim_nb.papers.probe import publishes_bases, weight_files
from reclaim_nb.rebuild.folder import Folder
from reclaim_nb.rebuild.services import GITHUB, HUB, Services

Part = Literal["code", "data", "weights"]

_OURS = re.compile(
    r"\b(?:our|we)\b[^.]*\b(?:code|implementation|source|repository|checkpoints?|weights|models?|release[ds]?)\b"
    r"|\b(?:code|implementation|weights|checkpoints?|models?)\b[^.]*\b(?:available|released|found|provided|at)\b",
    re.IGNORECASE,
)
_DATA = re.compile(r"\b(?:data ?sets?|corpus|corpora|benchmark|data)\b", re.IGNORECASE)
_WEIGHTS = re.compile(r"\b(?:weights?|checkpoints?|trained models?|models?)\b", re.IGNORECASE)


def candidates(paper: dict[str, Any], reading: dict[str, Any]) -> list[dict[str, str]]:
    """Return the addresses to ask, each with the part it may be and the place it stands in.

    Code is what the record names or what stands in a sentence that calls it the authors' own; an address that only
    stands somewhere in the paper may be anybody's.
    """
    found = [{"part": "code", "url": url, "place": "OpenReview record"} for url in paper["code"]]
    for number, sentence in enumerate(reading["sentences"], 1):
        for url in re.findall(r"https?://[^\s)\]}>,;]+", sentence["text"]):
            url = url.rstrip(".")
            part = _part(url, sentence["text"])
            if part is not None:
                found.append({"part": part, "url": url, "place": f"S{number} ({sentence['section']})"})
    seen: dict[tuple[str, str], dict[str, str]] = {}
    for one in found:
        seen.setdefault((one["part"], one["url"].rstrip("/").lower()), one)
    return list(seen.values())


def _part(url: str, sentence: str) -> Part | None:
    hub = hub_repository(url)
    if hub is not None and hub[0] == "dataset":
        return "data"
    if hub is not None and hub[0] == "model":
        return "weights" if _OURS.search(sentence) and _WEIGHTS.search(sentence) else None
    if urlsplit(url).netloc in ("github.com", "www.github.com"):
        return "code" if _OURS.search(sentence) else None
    return "data" if _DATA.search(sentence) else None


def probe_paper(folder: Folder, services: Services, paper: dict[str, Any], reading: dict[str, Any]) -> dict[str, Any]:
    """Ask about every candidate, and compute release and tier from the answers."""
    answers = probe_candidates(services, candidates(paper, reading))
    release = release_of(answers)
    return {
        "answers": answers,
        "release": release.model_dump(mode="json", exclude_none=True),
        "tier": release.tier,
    }


def probe_candidates(services: Services, asked: list[dict[str, str]]) -> list[dict[str, Any]]:
    """Ask about addresses; each answer holds what was asked, its state, the address now, commit, licence and day."""
    answers = []
    for one in asked:
        host = urlsplit(one["url"]).netloc
        if one["part"] == "code" and host in ("github.com", "www.github.com"):
            said = _github(services, one["url"])
        elif hub_repository(one["url"]) is not None:
            said = _hub(services, one["url"], one["part"])
        else:
            said = _page(services, one["url"])
        answers.append({**one, **said})
    return answers


def release_of(answers: list[dict[str, Any]]) -> Release:
    """Return the release that answers show: a pure function of them, and so is the tier."""
    code = next((a for a in answers if a["part"] == "code" and a["state"] in ("ok", "moved")), None)
    weights = next((a for a in answers if a["part"] == "weights" and a["state"] in ("ok", "moved")), None)
    data = [a for a in answers if a["part"] == "data" and a["state"] in ("ok", "moved", "gated")]
    return Release(
        code=Code(url=code["now"], commit=code["commit"], license=code["license"]) if code else None,
        data=tuple(
            Data(
                name=_name(a["now"]),
                url=a["now"],
                access="gated" if a["state"] == "gated" else "public",
                revision=a.get("commit"),
            )
            for a in data
        ),
        weights=Weights(url=weights["now"], revision=weights.get("commit"), license=weights.get("license"))
        if weights
        else None,
    )


def _name(url: str) -> str:
    return urlsplit(url).path.rstrip("/").rpartition("/")[2] or urlsplit(url).netloc


def _said(state: str, now: str, why: str, day: str, **facts: Any) -> dict[str, Any]:
    return {"state": state, "now": now, "why": why, "day": day, "commit": None, "license": None} | facts


def _github(services: Services, url: str) -> dict[str, Any]:
    """Ask GitHub's REST API, https://docs.github.com/rest/repos/repos."""
    parts = urlsplit(url).path.strip("/").split("/")
    if len(parts) < 2:
        return _said("missing", url, "the address names no repository", services.day())
    name = f"{quote(parts[0])}/{quote(parts[1].removesuffix('.git'))}"
    token = os.environ.get("GITHUB_TOKEN")
    headers = {"Accept": "application/vnd.github+json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    reply = services.get(f"{GITHUB}/repos/{name}", headers=headers)
    if reply.status != 200:
        why = f"{name}: not there, or private ({reply.status})"
        return _said("missing", url, why, reply.day, status=reply.status)
    facts = _json(reply.body)
    now = str(facts.get("html_url") or url)
    if not facts.get("size"):
        return _said("missing", now, f"{facts.get('full_name')}: the repository is empty", reply.day, status=200)
    branch = quote(str(facts.get("default_branch") or "HEAD"), safe="")
    head = services.get(f"{GITHUB}/repos/{facts.get('full_name') or name}/commits/{branch}", headers=headers)
    commit = _json(head.body).get("sha") if head.status == 200 else None
    if commit is None:
        return _said("missing", now, f"{facts.get('full_name')}: no commit is there ({head.status})", reply.day)
    moved = str(facts.get("full_name", "")).lower() != "/".join(parts[:2]).removesuffix(".git").lower()
    told = f"{facts.get('full_name')} at {commit}" + (", moved" if moved else "")
    return _said(
        "moved" if moved else "ok",
        now,
        told + (", archived" if facts.get("archived") else ""),
        reply.day,
        commit=commit,
        license=(facts.get("license") or {}).get("spdx_id"),
    )


def _hub(services: Services, url: str, part: str) -> dict[str, Any]:
    """Ask the hub's API, https://huggingface.co/docs/hub/api."""
    hub = hub_repository(url)
    assert hub is not None
    kind, name = hub[0], hub[1]
    reply = services.get(f"{HUB}/api/{kind}s/{name}")
    shown = f"{HUB}/{'' if kind == 'model' else kind + 's/'}"
    if reply.status != 200:
        gated = reply.headers.get("x-error-code") == "GatedRepo"
        why = f"{name} is gated" if gated else f"{name}: not there, or private ({reply.status})"
        return _said("gated" if gated else "missing", url, why, reply.day, status=reply.status)
    facts = _json(reply.body)
    now = shown + str(facts.get("id") or name)
    moved = str(facts.get("id") or name).lower() != name.lower()
    more = {
        "commit": facts.get("sha"),
        "license": (facts.get("cardData") or {}).get("license"),
        "gated": facts.get("gated") or False,
    }
    if part == "weights":
        files = weight_files(str(one.get("rfilename")) for one in facts.get("siblings") or ())
        if not files:
            return _said("wrong", now, f"{name} holds no weight file", reply.day, **more)
        if publishes_bases(name.partition("/")[0]):
            return _said("wrong", now, f"{name} is a base model that papers start from", reply.day, **more)
        more["files"] = sorted(files)[:50]
    if facts.get("gated"):
        return _said("gated", now, f"{name} is gated ({facts['gated']})", reply.day, **more)
    return _said("moved" if moved else "ok", now, f"{name} is there{', moved' if moved else ''}", reply.day, **more)


def _page(services: Services, url: str) -> dict[str, Any]:
    reply = services.get(url, look=True)
    if reply.status in (401, 403):
        return _said("gated", url, f"not open ({reply.status})", reply.day, status=reply.status)
    if reply.status >= 400:
        return _said("missing", url, f"not there ({reply.status})", reply.day, status=reply.status)
    moved = reply.url.rstrip("/") != url.rstrip("/")
    return _said("moved" if moved else "ok", reply.url, "it is there" + (", moved" if moved else ""), reply.day)


def _json(body: bytes) -> dict[str, Any]:
    import json

    try:
        found = json.loads(body)
    except ValueError as problem:
        raise CardError(f"a service answered with something that is no JSON: {problem}") from None
    return found if isinstance(found, dict) else {}
