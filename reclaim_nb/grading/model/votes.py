"""Votes as they stand in a grading's record: answers read again from the raw messages, citations looked up."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from reclaim_nb.grading.evidence import Evidence, Output
from reclaim_nb.grading.model.questions import QUESTIONS, Answer, Question, Quote, WhichNumber, read_answer
from reclaim_nb.grading.model.records import GradingRecord


@dataclass(frozen=True)
class Vote:
    """One pass through the questions.

    Attributes:
        number: from 0.
        answers: by question; complete in a valid vote.
        void: the citation that was not found, in words.
        unanswered: why there is no usable answer, in words.
    """

    number: int
    answers: dict[str, Answer] = field(default_factory=dict)
    void: str | None = None
    unanswered: str | None = None

    @property
    def valid(self) -> bool:
        """Whether it counts."""
        return self.void is None and self.unanswered is None


def read_votes(record: GradingRecord, evidence: Evidence) -> tuple[Vote, ...]:
    """Return all votes of a grading; the same record and evidence always give the same ones."""
    return tuple(_vote(record, evidence, number) for number in range(int(record.begin["votes"])))


def asked_next(answers: dict[str, Answer]) -> Question | None:
    """Return the question that comes after some answers, None when there is none."""
    first = answers.get(QUESTIONS[0].name)
    if isinstance(first, WhichNumber) and first.number is None:
        return None
    return next((question for question in QUESTIONS if question.name not in answers), None)


def taken(question: Question, message: dict[str, Any]) -> Answer | str | None:
    """Return the answer in a recorded message, what is wrong with it, or None where it only asks to read.

    Args:
        question: what was asked.
        message: the model's message as pydantic-ai writes it.
    """
    parts = message.get("parts") or []
    if any(part.get("part_kind") == "tool-call" for part in parts):
        return None
    text = "\n".join(str(part.get("content") or "") for part in parts if part.get("part_kind") == "text")
    return read_answer(question, text)


def _vote(record: GradingRecord, evidence: Evidence, number: int) -> Vote:
    answers: dict[str, Answer] = {}
    problems: dict[str, str] = {}
    by_name = {question.name: question for question in QUESTIONS}
    for line in record.of_vote(number):
        question = by_name.get(str(line.get("question")))
        if question is None or question.name in answers:
            continue
        if line["what"] == "failure":
            problems[question.name] = str(line.get("error"))
        elif line["what"] == "answer":
            answer = taken(question, line["message"])
            if isinstance(answer, Answer):
                answers[question.name] = answer
            elif answer is not None:
                problems[question.name] = answer
    for name, answer in answers.items():
        if (why := void_because(evidence, answer)) is not None:
            return Vote(number, answers, void=f"vote {number}, question '{name}': {why}")
    missing = asked_next(answers)
    if missing is not None:
        why = problems.get(missing.name, "it was never answered")
        return Vote(number, answers, unanswered=f"vote {number}, question '{missing.name}': {why[:300]}")
    return Vote(number, answers)


def void_because(evidence: Evidence, answer: Answer) -> str | None:
    """Return why an answer makes its vote void, None when all its citations are found."""
    for quote in answer.citations:
        if not is_found(evidence, quote):
            where = f"cell {quote.cell[:80]}" + ("" if quote.output is None else f", output {quote.output}")
            return f"{quote.text[:120]!r} does not stand in {where}"
    if isinstance(answer, WhichNumber) and answer.number is not None and not _holds_number(answer):
        return f"no citation of an output holds the number {answer.number[:40]!r}"
    return None


def is_found(evidence: Evidence, quote: Quote) -> bool:
    """Tell whether a citation resolves: an executed cell by its id, and these characters in its source or output."""
    cell = evidence.by_id.get(quote.cell)
    if cell is None or not cell.executed or not quote.text.strip():
        return False
    if quote.output is None:
        return quote.text in cell.source or (cell.ran is not None and quote.text in cell.ran)
    output = next((o for o in cell.outputs if o.index == quote.output), None)
    return output is not None and _holds(output, quote.text)


def _holds(output: Output, text: str) -> bool:
    texts = [*(piece for _, piece in output.pieces), *(line.text for line in output.lines), output.hidden]
    return any(text in one or text.strip() in one for one in texts)


def _holds_number(answer: WhichNumber) -> bool:
    number = str(answer.number).strip()
    return any(quote.output is not None and number in quote.text for quote in answer.citations)


def as_number(text: str | None) -> Decimal | None:
    """Return a printed number's value, None where it is none; a unit behind it is let go."""
    try:
        value = Decimal((text or "").strip().rstrip("%x× ").replace(",", ""))
    except InvalidOperation:
        return None
    return value if value.is_finite() else None
