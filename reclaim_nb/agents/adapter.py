"""How an external command is driven, as data: one small YAML file per command.

Texts in it may name ``$url`` and ``$token`` of the tool server, ``$prompt``, ``$system``, ``$model`` (of ``a/b``, also
``$provider`` = a and ``$model_name`` = b), ``$base_url``, ``$scratch`` (the empty folder it runs in), ``$config``
(a folder for its files), ``$home`` (its home folder, which may be a person's own) and ``$python``; ``$$`` is a dollar.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from string import Template
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from reclaim_nb.attempts.model_usage import ModelUsage
from reclaim_nb.errors import AttemptError

_FOLDER = Path(__file__).parent / "adapters"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class When(_Part):
    """Words that stand in the command line only when an option is given, or when the conversation goes on."""

    when: Literal["model", "base_url", "again"]
    words: tuple[str, ...]


class UsageRule(_Part):
    """How one kind of line of the transcript tells usage. Paths are dotted; several paths are added up.

    Attributes:
        where: values by path that mark such a line.
        key: path of what names the request; a later line of the same name replaces the earlier one.
        whole: the line tells a whole run, and replaces what was counted of it, unless that is more.
        requests: path of the number of requests, for a line that tells a whole run.
        input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens: paths of counts.
        usd: path of the price in US dollars, as the command counts it.
        model: path of the model's name.
    """

    where: dict[str, Any]
    key: str | None = None
    whole: bool = False
    requests: str | None = None
    input_tokens: tuple[str, ...] = ()
    cached_tokens: tuple[str, ...] = ()
    cache_write_tokens: tuple[str, ...] = ()
    output_tokens: tuple[str, ...] = ()
    reasoning_tokens: tuple[str, ...] = ()
    usd: str | None = None
    model: str | None = None


class Adapter(_Part):
    """One external command.

    Attributes:
        name: of the agent.
        program: the executable, looked for in PATH.
        install: how a person gets it.
        version: words that make it print its version.
        words: its command line.
        stdin: what it reads from standard input, the prompt as a rule.
        goes_on: it can go on with the same conversation, by the words ``when: again``.
        folders: made before it starts.
        files: written before it starts, by path below ``$config``, ``$scratch`` or ``$home``; a mapping or list is
            written as JSON. Nothing is written below a home folder that is a person's own.
        environment: its variables, beside the few it gets of the host's.
        environment_when: variables that are set only when the option of that name is given.
        keys: variables of the host that hold its keys; they are passed on when set.
        switched_off: what of its own tools is off, for people.
        reach: what it can still reach, for people.
        usage: how its transcript tells usage.
        also_read: files that it writes in its home folder, as a pattern, whose lines tell usage as well.
        priced_as: provider whose price list counts where the command tells no price.
        faults: texts of the transcript that speak of a fault of its service, not of the agent.
    """

    name: str
    program: str
    install: str
    version: tuple[str, ...] = ("--version",)
    words: tuple[str | When, ...]
    stdin: str = ""
    goes_on: bool = False
    folders: tuple[str, ...] = ()
    files: dict[str, Any] = Field(default_factory=dict)
    environment: dict[str, str] = Field(default_factory=dict)
    environment_when: dict[Literal["model", "base_url"], dict[str, str]] = Field(default_factory=dict)
    keys: tuple[str, ...] = ()
    switched_off: str = ""
    reach: str
    usage: tuple[UsageRule, ...] = ()
    also_read: str | None = None
    priced_as: str | None = None
    faults: tuple[str, ...] = ()

    @field_validator("files")
    @classmethod
    def _in_place(cls, files: dict[str, Any]) -> dict[str, Any]:
        wrong = [path for path in files if not path.startswith(("$config/", "$scratch/", "$home/")) or ".." in path]
        if wrong:
            raise ValueError(f"{', '.join(wrong)}: files lie below $config/, $scratch/ or $home/")
        return files


def load_adapter(name_or_path: str) -> Adapter:
    """Return the adapter of a known command, or of a file.

    Raises:
        AttemptError: when there is none, or the file is no adapter.
    """
    known = _FOLDER / f"{name_or_path}.yaml"
    path = known if known.is_file() else Path(name_or_path)
    try:
        return Adapter.model_validate(yaml.safe_load(path.read_text("utf-8")))
    except OSError as problem:
        names = ", ".join(adapter_names())
        raise AttemptError(f"{path}: no adapter ({problem.strerror}); there are {names}, or name a file") from problem
    except (yaml.YAMLError, ValidationError) as problem:
        raise AttemptError(f"{path}: not an adapter: {problem}") from problem


def adapter_names() -> list[str]:
    """Return the names of the adapters that ship with the package."""
    return sorted(path.stem for path in _FOLDER.glob("*.yaml"))


def fill_words(words: Iterable[str | When], values: Mapping[str, str]) -> list[str]:
    """Return a command line with values in place, without the words of options that are not given."""
    filled: list[str] = []
    for word in words:
        if isinstance(word, str):
            filled.append(Template(word).substitute(values))
        elif values.get(word.when):
            filled += [Template(each).substitute(values) for each in word.words]
    return filled


def fill_value(value: Any, values: Mapping[str, str]) -> Any:
    """Return a JSON value with values put into each of its texts."""
    if isinstance(value, str):
        return Template(value).substitute(values)
    if isinstance(value, dict):
        return {fill_value(key, values): fill_value(item, values) for key, item in value.items()}
    if isinstance(value, list):
        return [fill_value(item, values) for item in value]
    return value


class UsageReader:
    """Adds up usage from the lines of a command's transcript, over one or more runs of it.

    Args:
        adapter: tells how to read it.
        model: name of the model, where no line tells it.
    """

    def __init__(self, adapter: Adapter, model: str | None) -> None:
        self._adapter, self._model = adapter, model
        self._counted: dict[str, ModelUsage] = {}
        self._run: set[str] = set()
        self._closed = False
        self._lines = 0

    def begin_run(self) -> None:
        """The command is about to run once more."""
        self._run, self._closed = set(), False

    @property
    def total(self) -> ModelUsage:
        """Usage so far."""
        return sum(self._counted.values(), ModelUsage())

    def take(self, line: str) -> bool:
        """Take note of a line; tells whether it said anything about usage."""
        try:
            event = json.loads(line)
        except ValueError:
            return False
        for rule in self._adapter.usage:
            if isinstance(event, dict) and all(_at(event, path) == value for path, value in rule.where.items()):
                return self._apply(rule, event)
        return False

    def _apply(self, rule: UsageRule, event: dict[str, Any]) -> bool:
        counts: dict[str, Any] = {
            name: sum(_count(_at(event, path)) for path in getattr(rule, name))
            for name in ("input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
        }
        if not any(counts.values()):
            return False
        requests = _count(_at(event, rule.requests)) if rule.requests else 1
        usage = ModelUsage(requests=max(requests, 1), **counts)
        usage = usage + ModelUsage(usd=self._price(rule, event, usage))
        self._lines += 1
        key = str(_at(event, rule.key)) if rule.key else f"line {self._lines}"
        if rule.whole:
            # What it sums up at its end may leave out requests that were counted one by one.
            counted = sum((self._counted[each] for each in self._run), ModelUsage())
            if usage.tokens < counted.tokens or (usage.tokens == counted.tokens and usage.usd == counted.usd):
                return False
            usage = dataclasses.replace(usage, requests=max(usage.requests, counted.requests))
            for each in self._run:
                del self._counted[each]
            self._run, self._closed = set(), True
        elif self._closed:  # it is part of the sum already
            return False
        self._counted[key] = usage
        self._run.add(key)
        return True

    def _price(self, rule: UsageRule, event: dict[str, Any], usage: ModelUsage) -> Decimal | None:
        told = _at(event, rule.usd) if rule.usd else None
        if told is not None:
            try:
                return Decimal(str(told)) or None  # commands write 0 for a model whose price they do not know
            except InvalidOperation:
                return None
        from reclaim_nb.agents.prices import price

        model = (_at(event, rule.model) if rule.model else None) or self._model
        return price(f"{self._adapter.priced_as}:{model}", usage) if self._adapter.priced_as and model else None


def _at(event: Any, path: str) -> Any:
    for name in path.split("."):
        event = event.get(name) if isinstance(event, dict) else None
    return event


def _count(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0
