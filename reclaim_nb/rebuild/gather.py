"""The first three steps: papers of a venue, their preprints, and their text with tables."""

from __future__ import annotations

import hashlib
import re
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import asdict
from typing import Any
from urllib.parse import quote, urlencode

from reclaim_nb.errors import ReclaimError
from reclaim_nb.papers.fetch_web import contact
from reclaim_nb.rebuild import latex, pdf
from reclaim_nb.rebuild.folder import Folder, Later, RebuildError, Refused, read_json
from reclaim_nb.rebuild.match import ARXIV_ID, Match, Preprint, match, normalised
from reclaim_nb.rebuild.services import ARXIV, OPENREVIEW, Services

PAGE = 1000
_ATOM = {"a": "http://www.w3.org/2005/Atom"}
_ENTRY = re.compile(r"arxiv\.org/abs/(\d{4}\.\d{4,5})v(\d+)")
_CODE_FIELDS = ("code", "code_url", "code_link", "github", "software", "code_of_paper")


def collect(folder: Folder, services: Services, limit: int | None = None) -> tuple[str, ...]:
    """List the accepted papers of the venue (openreview-py, API v2) and write one file for each.

    Args:
        folder: the rebuild.
        services: how they are asked.
        limit: most papers, for trying it out; without it the whole venue.

    Returns:
        Ids of the papers.

    Raises:
        Later: OpenReview does not answer.
        RebuildError: there is no such venue in the API's second version.
    """
    done = read_json(folder.path / "collected.json")
    if done is not None and (done["whole"] or (limit is not None and len(done["papers"]) >= limit)):
        return tuple(done["papers"])
    notes = _notes(folder, services, limit)
    if not notes:
        raise RebuildError(
            f"OpenReview's API v2 has no papers of venueid '{folder.settings.venue}'; look at an accepted paper's page "
            "for its venueid; venues before 2023 are only in the older API"
        )
    papers = sorted((_paper(note) for note in notes), key=lambda one: str(one["id"]))
    whole = limit is None or len(papers) < limit
    papers = papers if limit is None else papers[:limit]
    for paper, slug in zip(papers, _slugs(papers), strict=True):
        missing = [name for name in ("title", "authors") if not paper[name]]
        refused = f"OpenReview's record has no {' and no '.join(missing)}" if missing else None
        folder.make(paper["id"], "collect", {}, {**paper, "slug": slug}, refused)
    ids = [str(paper["id"]) for paper in papers]
    folder.put(folder.path / "collected.json", {"schema": 1, "whole": whole, "papers": ids, "day": services.day()})
    return tuple(ids)


def _notes(folder: Folder, services: Services, limit: int | None) -> list[dict[str, Any]]:
    notes: list[dict[str, Any]] = []
    client = None
    while limit is None or len(notes) < limit:
        file = folder.path / "cache" / f"openreview-{len(notes):06}.json"
        page = read_json(file)
        if page is None:
            client = client or _client(services)
            try:
                found = client.get_notes(
                    content={"venueid": folder.settings.venue}, limit=PAGE, offset=len(notes), sort="number:asc"
                )
            except Exception as problem:  # the client raises bare exceptions of several kinds
                raise Later(f"OpenReview does not answer: {' '.join(str(problem).split())[:300]}") from problem
            page = [note.to_json() for note in found]
            folder.put(file, page)
        notes += page
        if len(page) < PAGE:
            break
    return notes


def _client(services: Services) -> Any:
    try:
        from openreview.api import OpenReviewClient
    except ImportError:
        raise RebuildError("this needs openreview-py: pip install 'reclaim-nb[rebuild]'") from None
    client = OpenReviewClient(baseurl=services.base(OPENREVIEW))
    # It waits as the service asks (Retry-After) by itself; whom to turn to is ours to say.
    client.headers["User-Agent"] += f" reclaim-nb{f' (+{contact()})' if contact() else ''}"
    return client


def _paper(note: dict[str, Any]) -> dict[str, Any]:
    content = {name: (one.get("value") if isinstance(one, dict) else one) for name, one in note["content"].items()}
    abstract = str(content.get("abstract") or "")
    stated = [str(content[name]) for name in _CODE_FIELDS if content.get(name)]
    attached = {name: str(content[name]) for name in ("pdf", "supplementary_material") if content.get(name)}
    preprint = ARXIV_ID.search(" ".join(str(content.get(name) or "") for name in ("preprint", "arxiv", "html")))
    return {
        "id": str(note["id"]),
        "title": str(content.get("title") or "").strip(),
        "authors": [str(one) for one in content.get("authors") or ()],
        "abstract": abstract,
        "venue": content.get("venue"),
        "area": content.get("primary_area"),
        "code": [one for one in stated if one.startswith("http")],
        "arxiv": preprint[1] if preprint else None,
        "arxiv_version": int(preprint[2]) if preprint and preprint[2] else None,
        "attached": attached,
        "forum": f"https://openreview.net/forum?id={note.get('forum') or note['id']}",
    }


def _slugs(papers: list[dict[str, Any]]) -> list[str]:
    plain = []
    for paper in papers:
        words = [w for w in re.findall(r"[a-z0-9]+", normalised(paper["title"])) if w not in _SMALL]
        plain.append("-".join(words[:5]) or "untitled")
    counts = Counter(plain)
    return [
        s if counts[s] == 1 else f"{s}-{hashlib.sha256(p['id'].encode()).hexdigest()[:4]}"
        for s, p in zip(plain, papers, strict=True)
    ]


_SMALL = frozenset({"a", "an", "the", "of", "for", "with", "and", "in", "on", "to", "by", "via", "from", "is", "are"})


def match_paper(folder: Folder, services: Services, paper: dict[str, Any]) -> dict[str, Any]:
    """Look for a paper's preprint on arXiv (https://info.arxiv.org/help/api/user-manual.html)."""
    if paper["arxiv"]:
        found = entries(services, id_list=paper["arxiv"])
    else:
        words = " ".join(re.findall(r"[^\W_]+", paper["title"]))
        found = entries(services, search_query=f'ti:"{words}"', max_results="20")
    got: Match = match(paper["title"], paper["authors"], found, paper["arxiv"])
    one = asdict(got.preprint) if got.preprint else None
    return {"preprint": one, "how": got.how, "why": got.why, "overlap": got.overlap}


def entries(services: Services, **query: str) -> list[Preprint]:
    """Ask arXiv's API and return its entries.

    Raises:
        Later: it does not answer, or answers with something else than Atom.
    """
    url = f"{ARXIV}/api/query?{urlencode(sorted(query.items()), quote_via=quote)}"
    reply = services.get(url)
    if reply.status != 200:
        raise Later(f"{url}: arXiv answers {reply.status}")
    try:
        feed = ET.fromstring(reply.body)
    except ET.ParseError as problem:
        raise Later(f"{url}: no Atom feed came: {problem}") from problem
    found = []
    for one in feed.findall("a:entry", _ATOM):
        name = _ENTRY.search(one.findtext("a:id", "", _ATOM))
        if name is None:  # an error is an entry too
            continue
        authors = tuple(who.findtext("a:name", "", _ATOM).strip() for who in one.findall("a:author", _ATOM))
        title = " ".join(one.findtext("a:title", "", _ATOM).split())
        found.append(Preprint(name[1], int(name[2]), title, authors))
    return found


def read_paper(folder: Folder, services: Services, paper: dict[str, Any], matched: dict[str, Any]) -> dict[str, Any]:
    """Read a paper: the LaTeX source of its pinned version, else a PDF.

    Raises:
        Refused: neither can be read.
    """
    tried = []
    preprint = matched["preprint"]
    if preprint is not None:
        version = f"{preprint['id']}v{preprint['version']}"
        url = f"{ARXIV}/e-print/{version}"
        reply = services.get(url)
        if reply.status == 200:
            try:
                files = latex.unpack(reply.body)
                if files:
                    return _of_latex(files, url, version, reply.body)
                if reply.body[:4] == b"%PDF":
                    return _of_pdf(reply.body, url, version)
                tried.append(f"{version} has no LaTeX in its source")
            except ReclaimError as problem:
                tried.append(f"{version}: {problem}")
        else:
            tried.append(f"{version}: source not there ({reply.status})")
        reply = services.get(f"{ARXIV}/pdf/{version}")
        if reply.status == 200 and reply.body[:4] == b"%PDF":
            return _of_pdf(reply.body, f"https://arxiv.org/pdf/{version}", version)
    if "pdf" in paper["attached"]:
        url = f"{OPENREVIEW}/pdf?id={paper['id']}"
        reply = services.get(url)
        if reply.status == 200 and reply.body[:4] == b"%PDF":
            return _of_pdf(reply.body, url, f"openreview:{paper['id']}")
        tried.append(f"OpenReview's PDF: {reply.status}")
    raise Refused("the paper cannot be read: " + ("; ".join(tried) or "no preprint and no PDF"))


def _of_latex(files: dict[str, str], url: str, version: str, content: bytes) -> dict[str, Any]:
    text = latex.whole(files)
    return {
        "kind": "latex",
        "url": url,
        "version": version,
        "sha256": hashlib.sha256(content).hexdigest(),
        "sentences": [asdict(one) for one in latex.sentences(text)],
        "tables": [asdict(one) for one in latex.tables(text)],
        "links": latex.links(text),
    }


def _of_pdf(content: bytes, url: str, version: str) -> dict[str, Any]:
    try:
        pages = pdf.pages(content)
    except ReclaimError as problem:
        raise Refused(f"{url}: {problem}") from problem
    found = [{"section": f"page {one.number}", "text": text} for one in pages for text in _lines(one.text)]
    if not found:
        raise Refused(f"{url}: the PDF has no text (a scan)")
    links = re.findall(r"https?://[^\s)\]}>,;]+", "\n".join(one.text for one in pages))
    return {
        "kind": "pdf",
        "url": url,
        "version": version,
        "sha256": hashlib.sha256(content).hexdigest(),
        "sentences": found,
        "tables": [asdict(one) for one in pdf.tables(pages)],
        "links": list(dict.fromkeys(one.rstrip(".") for one in links)),
    }


def _lines(page: str) -> list[str]:
    return latex.split(" ".join(page.split()))
