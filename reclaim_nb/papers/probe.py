"""Asking the network about a card: whether code, commit, data and weights are there, and the value in the paper."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reclaim_nb.errors import FetchError, ReclaimError
from reclaim_nb.papers.card import RemoteFile
from reclaim_nb.papers.fetch_cache import Cache, read_json, write_json
from reclaim_nb.papers.fetch_git import has_commit, head_of
from reclaim_nb.papers.fetch_hub import hub_endpoint, hub_token_headers
from reclaim_nb.papers.fetch_sources import SingleFile, forge_repository, hub_repository, plan_of
from reclaim_nb.papers.fetch_text import text_of
from reclaim_nb.papers.fetch_web import BUSY, Seen, Web
from reclaim_nb.papers.loading import LoadedCard
from reclaim_nb.papers.paper_text import PaperText
from reclaim_nb.papers.probe_value import find_value

State = Literal["ok", "moved", "gated", "missing", "wrong", "unclear", "not_asked"]
"""What came of one question; ``unclear``: no answer that says so or so, ask again later."""

FAULTS = frozenset({"gated", "missing", "wrong"})
"""States that somebody has to look at."""

DAYS = 7
"""Days for which an answer is not asked for again."""

_WEIGHT_FILE = re.compile(
    r"\.(safetensors|bin|pt|pth|ckpt|gguf|onnx|h5|msgpack|npz|pkl|pdparams|tar|zip)$", re.IGNORECASE
)
_NOT_WEIGHTS = re.compile(r"(^|/)(optimizer|scheduler|training_args|rng_state)[^/]*$", re.IGNORECASE)

# Accounts that publish base models, which papers start from: what lies there is not what a paper trained.
_BASES = frozenset(
    "meta-llama facebook google google-bert google-t5 openai openai-community microsoft mistralai qwen deepseek-ai "
    "stabilityai runwayml compvis stable-diffusion-v1-5 black-forest-labs eleutherai bigscience tiiuae "
    "huggingfaceh4 huggingfacetb allenai nvidia timm laion sentence-transformers facebookai distilbert albert xlnet "
    "thudm zai-org 01-ai internlm baichuan-inc lmsys liuhaotian llava-hf opengvlab salesforce apple ibm-granite".split()
)
_MOST_TEXT = 100 * 1024 * 1024


class Answer(BaseModel):
    """What came of one question.

    Attributes:
        what: ``code``, ``commit``, ``data: NAME``, ``weights``, ``value`` or ``anchor: NAME``.
        url: what was asked; None where there was nothing to ask.
        state: see :data:`State`.
        text: a sentence for people.
        facts: what else was seen: status, final address, files, commit, sections.
        asked: when, UTC.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    what: str
    url: str | None
    state: State
    text: str
    facts: dict[str, Any] = Field(default_factory=dict)
    asked: str


class ProbeRecord(BaseModel):
    """The dated answers about one card."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
    paper: str
    card_sha256: str
    time: str
    answers: tuple[Answer, ...]

    @property
    def faults(self) -> tuple[Answer, ...]:
        """The answers that somebody has to look at."""
        return tuple(one for one in self.answers if one.state in FAULTS)


def probe_paper(
    loaded: LoadedCard,
    *,
    cache: Cache | None = None,
    web: Web | None = None,
    again: bool = False,
    days: float = DAYS,
    silent: set[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> ProbeRecord:
    """Ask about everything a card names, and write the record into the cache.

    Args:
        loaded: the card.
        cache: keeps records and texts; default: this user's.
        web: the HTTP client.
        again: ask also what was answered lately.
        days: how long an answer counts; one that was unclear is always asked for again.
        silent: hosts that did not answer; they are not waited for again. What is found out is added.
        progress: called with a line for each question.

    Returns:
        The record; what the network did not answer is in it as ``unclear``.
    """
    cache, own = cache or Cache.default(), web or Web()
    file = cache.probe_file(loaded.name)
    before = None if again else _recent(file, days)
    try:
        quiet = silent if silent is not None else set()
        asking = _Probe(loaded, cache, own, before, quiet, progress or (lambda line: None))
        record = ProbeRecord(paper=loaded.name, card_sha256=loaded.sha256, time=_now(), answers=tuple(asking.answers()))
    finally:
        if web is None:
            own.close()
    write_json(file, record.model_dump(mode="json", by_alias=True))
    return record


def probe_record(name: str, cache: Cache | None = None) -> ProbeRecord | None:
    """Return what the last probe of a card wrote, None when there was none."""
    return _read((cache or Cache.default()).probe_file(name))


class _Probe:
    """The questions about one card."""

    def __init__(
        self,
        loaded: LoadedCard,
        cache: Cache,
        web: Web,
        before: dict[tuple[str, str | None], Answer] | None,
        silent: set[str],
        progress: Callable[[str], None],
    ) -> None:
        self._loaded, self._card = loaded, loaded.card
        self._cache, self._web = cache, web
        self._before = before or {}
        self._silent = silent
        self._say = progress

    def answers(self) -> list[Answer]:
        found = [*self._code(), *self._data()]
        if self._card.release.weights is not None:
            weights = self._card.release.weights
            addresses = _addresses(weights.files, weights.url)
            found += [self._ask("weights", url, self._weights) for url in addresses]
        return [*found, *self._numbers()]

    def _ask(self, what: str, url: str | None, question: Callable[[str], Answer]) -> Answer:
        known = self._before.get((what, url))
        if known is not None:
            return known
        if url is None:
            return _answer(what, None, "not_asked", "the card has no address for it")
        host = urlsplit(hub_endpoint() if hub_repository(url) is not None else url).netloc
        if host in self._silent:
            return _answer(what, url, "unclear", f"{host} did not answer a moment ago; ask again later")
        self._say(f"asking for {what}: {url}")
        try:
            return question(url).model_copy(update={"what": what})
        except FetchError as problem:
            if _is_silence(problem):
                self._silent.add(host)
            return _answer(what, url, "unclear", str(problem))

    # ---- code ------------------------------------------------------------------------------------------------

    def _code(self) -> list[Answer]:
        code = self._card.release.code
        if code is None:
            return []
        found = [self._ask("code", code.url, self._repository)]
        if code.commit is None:
            return [*found, _answer("commit", code.url, "not_asked", "the card pins no commit")]
        if found[0].state in ("ok", "moved"):
            found.append(self._ask("commit", code.url, lambda url: self._commit(url, str(code.commit))))
        return found

    def _repository(self, url: str) -> Answer:
        forge = forge_repository(url)
        if forge is not None or not url.endswith(".git"):
            return self._page(forge[0] if forge else url)
        try:
            return _answer("code", url, "ok", "the repository is there", head=head_of(url))
        except FetchError as problem:
            if "no such repository" in str(problem):
                return _answer("code", url, "missing", "no such repository, or a private one")
            raise

    def _commit(self, url: str, commit: str) -> Answer:
        forge = forge_repository(url)
        if forge is not None:
            middle = "-/commit" if "gitlab" in urlsplit(url).netloc else "commit"
            seen = self._web.look(f"{forge[0]}/{middle}/{commit}")
            if seen.status < 400:
                return _answer("commit", url, "ok", f"commit {commit} is there", commit=commit)
            if seen.status not in (404, 422):
                return _by_status(url, seen)
        if hub_repository(url) is not None:
            return self._hub(url, commit)[0]
        known = has_commit(forge[0] if forge else url, commit)
        if known is None:
            return _answer(
                "commit", url, "unclear", f"the server tells of no commit {commit}, which need not mean that it is gone"
            )
        state: State = "ok" if known else "missing"
        gone = "is there" if known else "is not there any more; look what became of it and correct the card"
        return _answer("commit", url, state, f"commit {commit} {gone}", commit=commit)

    # ---- data and weights ------------------------------------------------------------------------------------

    def _data(self) -> list[Answer]:
        found = []
        for data in self._card.release.data:
            for url in _addresses(data.files, data.url):
                answer = self._ask(f"data: {data.name}", url, self._data_at)
                found.append(_against_card(answer, data.access))
        return found

    def _data_at(self, url: str) -> Answer:
        return self._hub(url)[0] if hub_repository(url) is not None else self._page(url)

    def _weights(self, url: str) -> Answer:
        hub = hub_repository(url)
        if hub is None:
            return self._page(url)
        answer, listing = self._hub(url)
        if listing is None or answer.state not in ("ok", "gated"):
            return answer
        names = [str(one.get("rfilename")) for one in listing.get("siblings") or ()]
        files = [name for name in names if _WEIGHT_FILE.search(name) and not _NOT_WEIGHTS.search(name)]
        facts = {**answer.facts, "files": len(names), "weight_files": files[:50], "base_model": _base_of(listing)}
        if not files:
            return _answer(
                "weights",
                url,
                "wrong",
                f"{hub[1]} lists {len(names)} files, and none of them is a weight file",
                **facts,
            )
        owner = hub[1].partition("/")[0].lower()
        if owner in _BASES and owner not in self._own_accounts():
            text = f"{hub[1]} is a base model that papers start from; nothing that this paper trained lies there"
            return _answer("weights", url, "wrong", text, **facts)
        text = f"{answer.text}; {len(files)} weight file{'s' if len(files) != 1 else ''}"
        return _answer("weights", url, answer.state, text, **facts)

    def _own_accounts(self) -> set[str]:
        code = self._card.release.code
        links = [code.url if code is not None else None, *self._card.links.code]
        return {urlsplit(link).path.strip("/").partition("/")[0].lower() for link in links if link}

    def _hub(self, url: str, revision: str | None = None) -> tuple[Answer, dict[str, Any] | None]:
        """Ask the hub's API about a repository, see https://huggingface.co/docs/hub/api."""
        hub = hub_repository(url)
        assert hub is not None
        kind, name, said, path = hub
        where = f"{hub_endpoint()}/api/{kind}s/{name}"
        wanted = revision or (said if said != "main" else None)
        answer = self._web.get(f"{where}/revision/{wanted}" if wanted else where, headers=hub_token_headers())
        code = answer.headers.get("X-Error-Code", "")
        if answer.status_code in (401, 403, 404) and code == "GatedRepo":
            return _answer(
                "", url, "gated", f"{name} is gated: access is granted on request", status=answer.status_code
            ), None
        if answer.status_code in (401, 404):
            gone = f"revision {wanted} of {name} is" if code == "RevisionNotFound" else f"{name} is"
            return _answer("", url, "missing", f"{gone} not there, or private", status=answer.status_code), None
        if answer.status_code != 200:
            return _by_status(url, Seen(answer.status_code, answer.url, None)), None
        try:
            listing: dict[str, Any] = answer.json()
        except ValueError:
            return _answer("", url, "unclear", f"{where} answers with something that is no JSON"), None
        facts = {"commit": listing.get("sha"), "gated": listing.get("gated") or False}
        names = {one.get("rfilename") for one in listing.get("siblings") or ()}
        if path is not None and not any(one == path or str(one).startswith(f"{path}/") for one in names):
            return _answer("", url, "missing", f"{name} has nothing called {path}", **facts), listing
        if facts["gated"]:
            return _answer("", url, "gated", f"{name} is gated ({facts['gated']})", **facts), listing
        return _answer("", url, "ok", f"{name} is there and open", **facts), listing

    def _page(self, url: str) -> Answer:
        return _by_status(url, self._web.look(url))

    # ---- numbers ---------------------------------------------------------------------------------------------

    def _numbers(self) -> list[Answer]:
        card = self._card
        wanted = [("value", card.target.value, card.target.unit, (card.target.metric, *card.target.words))]
        wanted += [(f"anchor: {one.name}", one.value, one.unit, (one.what,)) for one in card.anchors]
        fresh = [one for one in wanted if one[1] is not None]
        if not fresh:
            return [_answer("value", None, "not_asked", "the card has no value")]
        try:
            paper, source = self._paper()
        except ReclaimError as problem:
            return [_answer("value", None, "unclear", f"the paper's text cannot be had: {problem}")]
        found = []
        for what, value, unit_name, words in fresh:
            assert value is not None
            seen = find_value(paper, value, unit_name, words)
            places = [f"{one.section}: {one.text}" if one.section else one.text for one in seen[:3]]
            if not seen:
                text = f"{value} {unit_name} is not printed in {source}"
            else:
                near = sum(one.near for one in seen)
                text = f"{value} stands {len(seen)} times in {source}, {near} of them near a word of the metric"
            found.append(_answer(what, source, "ok" if seen else "missing", text, places=places))
        return found

    def _paper(self) -> tuple[PaperText, str]:
        """Return the paper's text and where it came from: beside the card, else as published."""
        beside = self._loaded.path.parent / "paper.md"
        if beside.exists():
            return PaperText.load(beside), beside.name
        plan = plan_of(self._card)
        refusals = []
        for wanted in plan.text:
            try:
                return PaperText.parse(text_of(self._file(wanted), wanted.url)), wanted.url
            except FetchError as problem:
                refusals.append(str(problem))
        raise FetchError("; ".join(refusals) or "the card names neither an arXiv id nor another address of it")

    def _file(self, wanted: SingleFile) -> Path:
        met = self._cache.seen(wanted.url)
        if met is None:
            host = urlsplit(wanted.url).netloc
            if host in self._silent:
                raise FetchError(f"{host} did not answer a moment ago; ask again later")
            self._say(f"fetching {wanted.url}")
            part = self._cache.part(wanted.url)
            try:
                self._web.download(wanted.url, part, most=_MOST_TEXT)
            except FetchError as problem:
                if _is_silence(problem):
                    self._silent.add(host)
                raise
            met = {"sha256": self._cache.take(part)}
            self._cache.saw(wanted.url, str(met["sha256"]), _now())
        blob = self._cache.blob(str(met["sha256"]))
        assert blob is not None
        return blob


def _by_status(url: str, seen: Seen) -> Answer:
    facts: dict[str, Any] = {"status": seen.status, "size": seen.size}
    if seen.status < 400:
        if _elsewhere(url, seen.url):
            return _answer("", url, "moved", f"it has moved to {seen.url}", **facts, now=seen.url)
        return _answer("", url, "ok", "it is there", **facts)
    if seen.status in (404, 410):
        return _answer("", url, "missing", f"it is not there ({seen.status})", **facts)
    if seen.status in (401, 403):
        return _answer("", url, "gated", f"it is not open ({seen.status}), or not to programs", **facts)
    later = "the server is busy" if seen.status in BUSY else "the server answers"
    return _answer("", url, "unclear", f"{later} ({seen.status}); ask again later", **facts)


def _elsewhere(url: str, final: str) -> bool:
    """Tell whether a redirect leads to another place, and not only to the same with a slash or another scheme."""

    def plain(one: str) -> tuple[str, str]:
        parts = urlsplit(one)
        return parts.netloc.lower().removeprefix("www."), parts.path.rstrip("/").removesuffix(".git").lower()

    return plain(url) != plain(final)


def _against_card(answer: Answer, access: str) -> Answer:
    """Compare what was seen of data with the access that the card states."""
    if answer.state == "gated":
        if access != "public":
            return answer.model_copy(update={"state": "ok", "text": f"{answer.text}, as the card says ({access})"})
        return answer.model_copy(update={"text": f"{answer.text}, and the card says public"})
    if answer.state == "ok" and access == "gated" and answer.facts.get("gated") is False:
        return answer.model_copy(update={"state": "wrong", "text": f"{answer.text}, and the card says gated"})
    return answer


def _is_silence(problem: FetchError) -> bool:
    return "no answer after" in str(problem) or "the connection broke" in str(problem)


def _addresses(files: tuple[RemoteFile, ...], url: str | None) -> list[str | None]:
    named: list[str | None] = [file.url for file in files if file.url]
    return named or [url]


def _base_of(listing: dict[str, Any]) -> str | None:
    base = (listing.get("cardData") or {}).get("base_model")
    return ", ".join(map(str, base)) if isinstance(base, list) else None if base is None else str(base)


def _answer(what: str, url: str | None, state: State, text: str, **facts: Any) -> Answer:
    return Answer(what=what, url=url, state=state, text=text, facts=facts, asked=_now())


def _recent(file: Path, days: float) -> dict[tuple[str, str | None], Answer] | None:
    """Return the answers of a record that still count."""
    record = _read(file)
    if record is None:
        return None
    oldest = datetime.now(UTC) - timedelta(days=days)
    return {
        (one.what, one.url): one
        for one in record.answers
        if one.state not in ("unclear", "not_asked") and datetime.fromisoformat(one.asked) >= oldest
    }


def _read(file: Path) -> ProbeRecord | None:
    raw = read_json(file)
    if raw is None:
        return None
    try:
        return ProbeRecord.model_validate(raw)
    except ValidationError:
        return None  # of another version: asked anew


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def weight_files(names: Iterable[str]) -> list[str]:
    """Return which of a repository's files are trained parameters; the state of an optimiser is none."""
    return [name for name in names if _WEIGHT_FILE.search(name) and not _NOT_WEIGHTS.search(name)]


def publishes_bases(owner: str) -> bool:
    """Tell whether an account of the hub publishes base models that papers start from."""
    return owner.lower() in _BASES
