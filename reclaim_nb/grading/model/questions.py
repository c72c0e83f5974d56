"""The questions about one number's provenance, and what an answer to each must look like."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, ValidationError, model_validator

from reclaim_nb.agents.tools import MaybeDigits
from reclaim_nb.grading.cause import Code


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Quote(_Part):
    """Where an answer is seen: a cell by id, an output by its number (None: the source), and its exact characters."""

    cell: StrictStr = Field(min_length=1)
    output: StrictInt | None = None
    text: StrictStr = Field(min_length=1)


class Answer(_Part):
    """What every answer has."""

    form: ClassVar[str]
    citations: tuple[Quote, ...] = ()

    @property
    def says(self) -> str:
        """The answer as one word, for counting votes; ``unclear`` says nothing."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _cited(self) -> Answer:
        if self.says not in ("unclear", "none") and not self.citations:
            raise ValueError("it needs at least one citation")
        return self


class WhichNumber(Answer):
    """The printed number that is put forward as the result."""

    form = '{"number": "<as printed>" or null, "citations": [...]}'
    number: MaybeDigits

    @property
    def says(self) -> str:
        return "none" if self.number is None else self.number


class WhereFrom(Answer):
    """How the number came about."""

    form = '{"made": "computed" | "written" | "shipped" | "paper" | "unclear", "citations": [...]}'
    made: Literal["computed", "written", "shipped", "paper", "unclear"]

    @property
    def says(self) -> str:
        return self.made


class AsAsked(Answer):
    """Whether something is as the card asks, and what was found."""

    form = '{"as_asked": "yes" | "no" | "unclear", "found": "<in a few words>", "citations": [...]}'
    as_asked: Literal["yes", "no", "unclear"]
    found: StrictStr = ""

    @property
    def says(self) -> str:
        return self.as_asked


class HowMany(Answer):
    """The number of items."""

    form = '{"items": <whole number> or null, "citations": [...]}'
    items: StrictInt | None = Field(ge=0)

    @property
    def says(self) -> str:
        return "unclear" if self.items is None else str(self.items)


@dataclass(frozen=True)
class Question:
    """One question.

    Attributes:
        name: of its file under ``templates/prompts/grader/questions``.
        answer: what an answer looks like.
        rule: the rule of the fact that the answer "no" is, None where code compares.
        code: the cause that this fact carries.
    """

    name: str
    answer: type[Answer]
    rule: str | None = None
    code: Code | None = None


QUESTIONS: tuple[Question, ...] = (
    Question("value", WhichNumber),
    Question("made", WhereFrom),
    Question("split", AsAsked, "wrong_split", "C08"),
    Question("metric", AsAsked, "wrong_metric", "C08"),
    Question("configuration", AsAsked, "wrong_configuration", "C09"),
    Question("weights", AsAsked, "wrong_weights", "C10"),
    Question("items", HowMany),
    Question("scale", AsAsked, "below_floor", "C11"),
)
"""In the order in which they are asked; without a number the first is the only one."""


def read_answer(question: Question, text: str) -> Answer | str:
    """Return the answer in a model's text, or what is wrong with it."""
    found = _last_object(text)
    if found is None:
        return "it holds no complete JSON object"
    try:
        return question.answer.model_validate(found)
    except ValidationError as problem:
        faults = [
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}".removeprefix(": ")
            for fault in problem.errors(include_url=False, include_input=False, include_context=False)
        ]
        return "; ".join(faults[:5])


def _last_object(text: str) -> dict[str, Any] | None:
    """Return the last outermost JSON object of a text; models put fences and words around it."""
    decoder = json.JSONDecoder(parse_float=Decimal)
    found: dict[str, Any] | None = None
    at = text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            found = value if isinstance(value, dict) else found
        at = text.find("{", end)
    return found
