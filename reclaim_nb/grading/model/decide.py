"""The verdict from evidence and votes: a pure function. Votes add facts; they never do arithmetic and never acquit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from reclaim_nb.grading.asked import Asked, Tally
from reclaim_nb.grading.candidates import Candidate, same_number
from reclaim_nb.grading.cause import Code
from reclaim_nb.grading.detectors import detect_all
from reclaim_nb.grading.facts import Fact, fact
from reclaim_nb.grading.model.questions import QUESTIONS, Answer, AsAsked, WhichNumber
from reclaim_nb.grading.model.votes import Vote, as_number
from reclaim_nb.grading.resolver import Resolution, resolve
from reclaim_nb.grading.verdict import Examined, Verdict, judge_evidence

ACCUSES: dict[str, Code] = {"written": "C12", "shipped": "C13", "paper": "C13"}
LEAST = 3
"""Valid votes without which nobody is accused of an integrity fault."""
SETTLED = frozenset({"disqualified", "ungraded"})
"""Outcomes that rest on the record alone; no vote changes them."""


@dataclass(frozen=True)
class _Poll:
    """The valid votes, and how many were asked for."""

    votes: tuple[Vote, ...]
    asked: int

    def counts(self, name: str) -> Counter[str]:
        return Counter(vote.answers[name].says for vote in self.votes if name in vote.answers)

    def majority(self, name: str) -> str | None:
        """Return the answer of more than half of all votes that were asked for."""
        return next((says for says, count in self.counts(name).items() if 2 * count > self.asked), None)

    def giving(self, name: str, says: str) -> list[Answer]:
        return [v.answers[name] for v in self.votes if name in v.answers and v.answers[name].says == says]

    def tallies(self) -> tuple[Tally, ...]:
        names = [question.name for question in QUESTIONS if self.counts(question.name)]
        return tuple(
            Tally(question=name, votes=dict(sorted(self.counts(name).items())), majority=self.majority(name))
            for name in names
        )


def decide(seen: Examined, votes: Sequence[Vote], asked: Asked, records: dict[str, str]) -> Verdict:
    """Return the verdict.

    Args:
        seen: the attempt.
        votes: all votes.
        asked: the model, with nothing counted yet.
        records: hashes of the files that the votes stand in.
    """
    valid = tuple(vote for vote in votes if vote.valid)
    poll = _Poll(valid, len(votes))
    told = asked.model_copy(
        update={
            "valid": len(valid),
            "void": tuple(vote.void for vote in votes if vote.void is not None),
            "unanswered": tuple(vote.unanswered for vote in votes if vote.unanswered is not None),
            "tallies": poll.tallies(),
        }
    )
    found = detect_all(seen.evidence, seen.card, seen.evidence.intake)
    rules = _judged(seen, found, [])
    common: dict[str, Any] = {
        "grader": f"model-{asked.model}",
        "model": f"{asked.model}: {len(valid)} of {len(votes)} votes valid",
        "asked": told,
        "records": records,
        "notes": (*rules.notes, *told.notes),
    }
    if 2 * len(valid) <= len(votes):
        why = "; ".join((*told.unanswered, *told.void))[:600] or "no votes"
        return _instead(rules, common, "ungraded", f"the grading model gave no verdict: {why}")
    if rules.outcome in SETTLED:
        notes = _remarks(seen, poll)
        return rules.model_copy(update={**common, "notes": (*common["notes"], *notes)})
    resolution = resolve(seen.evidence, seen.card)
    if (conflict := _conflict(poll, resolution)) is not None:
        return _instead(rules, common, "needs_human", conflict)
    if (accused := _accusation(seen, poll, resolution)) is not None:
        return _accuse(rules, common, *accused)
    sure = _facts(seen, poll, resolution, split=False)
    verdict = _judged(seen, found, sure)
    other = _judged(seen, found, [*sure, *_facts(seen, poll, resolution, split=True)])
    if (other.outcome, other.cause) != (verdict.outcome, verdict.cause):
        split = [tally for tally in told.tallies if tally.majority is None]
        shown = "; ".join(f"{t.question}: {', '.join(f'{n} {a}' for a, n in t.votes.items())}" for t in split)
        return _instead(rules, common, "needs_human", f"the votes are split where it matters ({shown})")
    return verdict.model_copy(update={**common, "notes": (*verdict.notes, *told.notes, *_remarks(seen, poll))})


def _judged(seen: Examined, found: list[Fact], more: list[Fact]) -> Verdict:
    extra = [*seen.facts, *more]
    return judge_evidence(seen.evidence, seen.card, seen.card_sha256, seen.notebook_sha256, extra, found)


def _instead(rules: Verdict, common: dict[str, Any], outcome: str, why: str, *codes: Code) -> Verdict:
    """Return a verdict that is none: G01, with what the rules alone say among what contributes."""
    before: tuple[Code, ...] = (rules.cause,) if rules.cause not in (None, "G01") else ()
    contributing = tuple(dict.fromkeys((*codes, *before, *rules.contributing)))
    notes = (*common["notes"], f"by rules alone: {rules.outcome}{f' / {rules.cause}' if rules.cause else ''}")
    update = {"outcome": outcome, "cause": "G01", "contributing": contributing, "meaning": why, "because": ()}
    return rules.model_copy(update={**common, **update, "notes": notes})


# ---- the number ----------------------------------------------------------------------------------------------


def _chosen(resolution: Resolution) -> list[Candidate]:
    return [c for c in (resolution.candidate, resolution.claimed, *resolution.series) if c is not None]


def _agrees(says: str, resolution: Resolution) -> bool:
    """Tell whether a vote's number is the one that the resolver holds, by digits and not by nearness."""
    if says == "none":
        return resolution.state == "none"
    number = as_number(says)
    if number is None:
        return False
    values: list[Decimal] = [c.number.value for c in _chosen(resolution)]
    if resolution.value is not None:
        values.append(resolution.value)
    return any(number == value or same_number(number, value) for value in values)


def _conflict(poll: _Poll, resolution: Resolution) -> str | None:
    """Return how the votes' number contradicts the resolver's, None where it does not."""
    counts = poll.counts("value")
    agreeing = sum(count for says, count in counts.items() if _agrees(says, resolution))
    if 2 * agreeing > poll.asked:
        return None
    votes = ", ".join(f"{count} for {says[:40]}" for says, count in sorted(counts.items()))
    held = resolution.candidate.number.text if resolution.candidate is not None else "no measured number"
    return f"the votes' number contradicts the resolver's: {votes}; the resolver holds {held}"


# ---- provenance ----------------------------------------------------------------------------------------------


def _accusation(seen: Examined, poll: _Poll, resolution: Resolution) -> tuple[Code, list[Fact], str | None] | None:
    """Return what a majority says against the number's honesty: cause, facts, and why a person must look first."""
    says = poll.majority("made")
    if says not in ACCUSES or resolution.candidate is None:
        return None
    answers = poll.giving("made", says)
    facts = [_fact(seen, f"number_{says}", answers[0], resolution.candidate, poll.counts("made")[says], poll.asked)]
    candidate = resolution.candidate
    ran_program = seen.evidence.lineage.records.ran_program
    seen_by_analysis = candidate.origin.matched and candidate.cell not in ran_program
    if len(answers) < len(poll.votes) or len(poll.votes) < LEAST:
        return ACCUSES[says], facts, "not all votes say so"
    if seen_by_analysis:
        return ACCUSES[says], facts, "the analysis of the source sees a computation"
    return ACCUSES[says], facts, None


def _accuse(rules: Verdict, common: dict[str, Any], code: Code, facts: list[Fact], doubt: str | None) -> Verdict:
    meaning = f"the model says that the number was not measured here: {facts[0].text}"
    if doubt is not None:
        verdict = _instead(rules, common, "needs_human", f"{meaning}; {doubt}", code)
        return verdict.model_copy(update={"because": tuple(facts), "facts": (*facts, *rules.facts)})
    before: tuple[Code, ...] = (rules.cause,) if rules.cause is not None and rules.cause != "C14" else ()
    update = {
        "outcome": "disqualified",
        "cause": code,
        "contributing": (*before, *rules.contributing),
        "meaning": meaning,
        "because": tuple(facts),
        "facts": (*facts, *rules.facts),
    }
    cleared = {"value": None, "place": None, "distance": None, "tolerances": None, "strict_place": None, "how": ""}
    return rules.model_copy(update={**common, **update, **cleared})


def _facts(seen: Examined, poll: _Poll, resolution: Resolution, *, split: bool) -> list[Fact]:
    """Return the facts that votes add about the value.

    Args:
        seen: the attempt.
        poll: the votes.
        resolution: what the resolver found.
        split: not those of a majority, but those on which there is none and somebody says "no".
    """
    candidate = resolution.candidate
    if candidate is None:
        return []
    found = []
    for question in QUESTIONS:
        majority = poll.majority(question.name)
        if question.name == "items":
            found += _items(seen, poll, candidate, split=split)
        elif question.rule is not None and (majority is None if split else majority == "no"):
            answers = poll.giving(question.name, "no")
            if answers:
                found.append(_fact(seen, question.rule, answers[0], candidate, len(answers), poll.asked))
    return found


def _items(seen: Examined, poll: _Poll, candidate: Candidate, *, split: bool) -> list[Fact]:
    wanted, majority = seen.card.target.n, poll.majority("items")
    if wanted is None:
        return []
    given = list(poll.counts("items")) if split else [majority]
    found = []
    for says in given if (majority is None) == split else []:
        if says in (None, "unclear") or int(says) == wanted:
            continue
        rule = "fewer_items" if int(says) < wanted else "more_items"
        answers = poll.giving("items", says)
        made = _fact(seen, rule, answers[0], candidate, len(answers), poll.asked)
        found.append(made.model_copy(update={"details": {**made.details, "n": int(says), "wanted": wanted}}))
    return found


def _fact(seen: Examined, rule: str, answer: Answer, about: Candidate, votes: int, of: int) -> Fact:
    """Return a fact by vote about the value; its text is the first citation, which was looked up."""
    quote = answer.citations[0]
    says = answer.found[:200] if isinstance(answer, AsAsked) else answer.says
    made = fact(rule, about.cell, about.output, quote.text, offset=about.number.offset, by="model")
    details = {"says": says, "votes": votes, "of": of, "cited_cell": quote.cell, "cited_output": quote.output}
    return made.model_copy(update={"details": {**made.details, **details}})


def _remarks(seen: Examined, poll: _Poll) -> list[str]:
    """Return what votes say that changes nothing, for people."""
    notes = []
    for question in QUESTIONS[1:]:
        if poll.majority(question.name) == "unclear":
            notes.append(f"the model could not tell: {question.name}")
    for vote in poll.votes:
        first = vote.answers.get("value")
        resolution = resolve(seen.evidence, seen.card)
        if isinstance(first, WhichNumber) and not _agrees(first.says, resolution):
            notes.append(f"vote {vote.number} holds another number than the resolver: {first.says[:40]}")
    return notes
