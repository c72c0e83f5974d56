"""What a model reads out of a paper: typed, every number quoted with its place, void where the quote is not there."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import re
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reclaim_nb.agents.conversation import Conversation
from reclaim_nb.agents.secrets import Redactor
from reclaim_nb.agents.service import Service, make_service, remedy, wait_seconds
from reclaim_nb.attempts.prompts import fill
from reclaim_nb.data import data_folder
from reclaim_nb.errors import CardError
from reclaim_nb.papers.numbers import parse_decimal, unit
from reclaim_nb.rebuild.folder import Folder, Later, read_json

AGAIN = 2
"""How often a model is asked again after an answer that cannot be used."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class At(_Part):
    """A place in the paper and what stands there."""

    place: str
    quote: str = Field(min_length=1)


class Figure(_Part):
    """A number and its place."""

    value: str
    at: At


class Rivalling(Figure):
    """A number of another method or variant."""

    what: str = Field(min_length=1)


class Anchored(Rivalling):
    """A number that is cheap to check."""

    name: str
    unit: str


class Extraction(_Part):
    """One reading of a paper by a model."""

    claim: str = Field(min_length=1)
    metric: str = Field(min_length=1)
    value: str
    unit: str = Field(min_length=1)
    direction: Literal["higher", "lower", "none"]
    at: At
    split: str | None = None
    n: Figure | None = None
    counted: bool = False
    seeds: Figure | None = None
    std: Figure | None = None
    config: str | None = None
    baseline: Rivalling | None = None
    siblings: tuple[Rivalling, ...] = ()
    anchors: tuple[Anchored, ...] = ()
    hours: tuple[At, ...] = ()
    flops: At | None = None

    def figures(self) -> Iterable[tuple[str, str, At]]:
        """Return every number with its name and place."""
        yield "value", self.value, self.at
        for name in ("n", "seeds", "std", "baseline"):
            one = getattr(self, name)
            if one is not None:
                yield name, one.value, one.at
        for one in self.siblings:
            yield f"sibling {one.what}", one.value, one.at
        for anchor in self.anchors:
            yield f"anchor {anchor.name}", anchor.value, anchor.at

    @property
    def key(self) -> dict[str, str]:
        """What two readings must agree on."""
        base = self.baseline
        return {
            "value": str(parse_decimal(self.value)),
            "unit": unit(self.unit).name,
            "direction": self.direction,
            "place": self.at.place,
            "baseline": str(parse_decimal(base.value)) if base is not None else "none",
        }


def places(reading: dict[str, Any]) -> dict[str, str]:
    """Return the text at every place of a reading that may be quoted."""
    found = {f"S{n}": one["text"] for n, one in enumerate(reading["sentences"], 1)}
    for table in reading["tables"]:
        found |= {f"T{table['number']} r{c['row']} c{c['column']}": c["text"] for c in table["cells"]}
        found[f"T{table['number']}"] = table["caption"]
    return found


def described(reading: dict[str, Any], place: str) -> str:
    """Return a place with what tells a person where to look: heads of row and column, and the page of a PDF's table."""
    for table in reading["tables"]:
        for cell in table["cells"]:
            if place == f"T{table['number']} r{cell['row']} c{cell['column']}":
                page = f", {table['label']}" if reading["kind"] == "pdf" else ""
                return f"{place} [{cell['row_head']} | {cell['column_head']}]{page}"
    return place


def as_text(reading: dict[str, Any]) -> str:
    """Return a reading as a model gets it, every place named."""
    lines, section = [], None
    for number, one in enumerate(reading["sentences"], 1):
        if one["section"] != section:
            section = one["section"]
            lines.append(f"\n## {section}\n")
        lines.append(f"S{number} {one['text']}")
    for table in reading["tables"]:
        lines.append(f"\n## T{table['number']}: {table['caption']}\n")
        lines += [
            f"T{table['number']} r{c['row']} c{c['column']} [{c['row_head']} | {c['column_head']}] {c['text']}"
            for c in table["cells"]
        ]
    return "\n".join(lines)


def faults(found: Extraction, there: dict[str, str]) -> list[str]:
    """Return why a reading is void: quotes that are not at their place, and numbers that are not in their quotes."""
    wrong = []
    for name, value, at in found.figures():
        wrong += [f"{name}: {one}" for one in [_quoted(at, there)] if one]
        try:
            wanted = parse_decimal(value)
        except CardError as problem:
            wrong.append(f"{name}: {problem}")
            continue
        if _digits(wanted) not in {_digits(one) for one in _numbers(at.quote)}:
            wrong.append(f"{name}: {value} does not stand in {at.quote!r}")
    for at in (*found.hours, *([found.flops] if found.flops else [])):
        wrong += [f"hours: {one}" for one in [_quoted(at, there)] if one]
    return wrong


def _quoted(at: At, there: dict[str, str]) -> str | None:
    text = there.get(at.place)
    if text is None:
        return f"there is no place {at.place!r}"
    if " ".join(at.quote.split()) not in " ".join(text.split()):
        return f"{at.quote!r} does not stand at {at.place}"
    return None


def _numbers(text: str) -> set[Any]:
    found = re.findall(r"[-+\u2212]?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+", text)
    found += [one.lstrip("-+\u2212") for one in found]
    return {parse_decimal(one) for one in found}


def _digits(number: Any) -> tuple[Any, int]:
    """Return what makes a number the printed one: 84.30 is none where 84.3 stands, for its last digit is its noise."""
    return number, number.as_tuple().exponent


class Reader:
    """A model that reads papers, as a context manager: it has a thread and an event loop of its own until then.

    Args:
        service: the model.
        redactor: keeps keys out of what is recorded.
    """

    def __init__(self, service: Service, redactor: Redactor | None = None) -> None:
        self._service = service
        self._redactor = redactor or Redactor.of_environment()
        # The client belongs to one event loop; a notebook's own loop is running already, so it has a thread of its own.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reader")
        self._loop = asyncio.Runner()
        folder = data_folder("templates") / "prompts" / "rebuild"
        self._prompts = {name: (folder / f"{name}.md").read_text("utf-8") for name in ("system", "extract", "again")}

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """End the event loop, in its own thread, and then the thread."""
        self._thread.submit(self._loop.close).result()
        self._thread.shutdown()

    @property
    def key(self) -> str:
        """What a kept answer depends on: the model, its settings and the prompts."""
        parts = [
            self._service.name,
            json.dumps(self._service.options.settings, sort_keys=True),
            *self._prompts.values(),
        ]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def read(self, folder: Folder, paper: str, title: str, reading: dict[str, Any], number: int) -> Extraction | None:
        """Return one reading of a paper; None where the model gives none that can be used.

        What was said is kept in ``said.<number>.json`` and, for the same question, not asked for again.

        Raises:
            Later: the service does not answer.
        """
        text = as_text(reading)
        key = hashlib.sha256(f"{self.key}\0{number}\0{title}\0{text}".encode()).hexdigest()
        file = folder.file(paper, f"said.{number}")
        kept = read_json(file)
        if kept is None or kept["key"] != key:
            kept = self._wait(lambda: self._ask(key, title, text, places(reading)))
            folder.put(file, kept)
        return Extraction.model_validate(kept["taken"]) if kept["taken"] is not None else None

    def _wait(self, work: Callable[[], Coroutine[Any, Any, dict[str, Any]]]) -> dict[str, Any]:
        return self._thread.submit(lambda: self._loop.run(work())).result()

    async def _ask(self, key: str, title: str, text: str, there: dict[str, str]) -> dict[str, Any]:
        conversation = Conversation(self._redactor)
        conversation.begin(self._prompts["system"], fill(self._prompts["extract"], {"title": title, "text": text}))
        said: list[dict[str, Any]] = []
        taken = None
        for _ in range(1 + AGAIN):
            answer = await self._send(conversation)
            problem, taken = _taken(answer, there)
            said.append({"answer": answer, "problem": problem})
            if taken is not None:
                break
            conversation.say(fill(self._prompts["again"], {"problem": str(problem)}))
        dumped = taken.model_dump(mode="json") if taken is not None else None
        return {"schema": 1, "key": key, "model": self._service.name, "said": said, "taken": dumped}

    async def _send(self, conversation: Conversation) -> str:
        failures, chance = 0, random.Random(0)
        while True:
            try:
                spoken = await self._service.ask(conversation.to_send(), tools=[])
            except Exception as problem:  # whatever a client raises is sorted here
                failures += 1
                if remedy(problem) != "again" or failures > self._service.options.retries:
                    raise Later(
                        f"the model does not answer: {type(problem).__name__}: {str(problem)[:300]}"
                    ) from problem
                await asyncio.sleep(wait_seconds(problem, failures, self._service.options, chance))
                continue
            conversation.put_answer(spoken.response)
            return self._redactor.text(spoken.response.text or "")


@contextmanager
def reading(model: str | None, options: dict[str, Any] | None = None) -> Iterator[Reader | None]:
    """Give a reader for a while, or None where no model is named: then only what was read before is used.

    Args:
        model: ``provider:model``.
        options: of the model, see :class:`~reclaim_nb.agents.service.ServiceOptions`.
    """
    if not model:
        yield None
        return
    with Reader(make_service(model, options or {})) as reader:
        yield reader


def _taken(answer: str, there: dict[str, str]) -> tuple[str | None, Extraction | None]:
    begin, end = answer.find("{"), answer.rfind("}")
    try:
        found = Extraction.model_validate(json.loads(answer[begin : end + 1]))
    except ValidationError as problem:
        told = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in problem.errors()[:5])
        return told, None
    except ValueError as problem:
        return f"no JSON object: {problem}", None
    wrong = faults(found, there)
    return ("; ".join(wrong[:5]), None) if wrong else (None, found)
