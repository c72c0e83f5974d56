"""What persons decide about drafted cards: one signature a card and rater, agreement, adjudication."""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.check import check_card
from reclaim_nb.rebuild.folder import Folder, RebuildError, read_json
from reclaim_nb.rebuild.services import today

Decision = Literal["accept", "edit", "refuse"]
FIXED = ("id", "schema", "sources")
"""Fields of a card that no reviewer edits."""
_RATER = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


class Edit(BaseModel):
    """A change of one field: the new value and where it stands in the paper."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    value: Any
    source: str = Field(min_length=1)


class Review(BaseModel):
    """What one person decided about one draft, and signs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    paper: str
    rater: str
    decision: Decision
    reason: str = ""
    edits: dict[str, Edit] = Field(default_factory=dict)
    signs: str
    """sha256 of the draft's file, as this person had it before their eyes."""
    signature: str = Field(min_length=3)
    """The person's full name, as they typed it."""
    date: str

    @model_validator(mode="after")
    def _whole(self) -> Review:
        if self.decision != "accept" and not self.reason.strip():
            raise ValueError(f"to {self.decision} a card needs a reason")
        if (self.decision == "edit") != bool(self.edits):
            raise ValueError("edits belong to the decision 'edit', and it needs at least one")
        return self

    def told(self) -> str:
        """Say it in a line: who, what, which fields to which values, why."""
        edits = ", ".join(f"{name} = {edit.value} ({edit.source})" for name, edit in sorted(self.edits.items()))
        return " ".join(f"{self.rater}: {self.decision} {edits} {self.reason}".split())


@dataclass(frozen=True)
class Final:
    """What came of a card: a card with its signers, or why there is none."""

    state: Literal["card", "refused", "waiting", "disagreement"]
    why: str
    card: dict[str, Any] | None = None
    signers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Agreement:
    """How far two or more raters agree before any adjudication."""

    cards: int
    same: int
    alpha: float | None

    def as_text(self) -> str:
        """Say it in a line."""
        if not self.cards:
            return "no card has been decided by two raters yet"
        alpha = "not defined (all decisions are of one kind)" if self.alpha is None else f"{self.alpha:.3f}"
        return f"{self.cards} cards with two raters, {self.same} decided alike, Krippendorff's alpha {alpha}"


def chosen(folder: Folder) -> tuple[str, ...]:
    """Return the papers that were selected, in order.

    Raises:
        RebuildError: nothing was selected yet.
    """
    done = read_json(folder.path / "select.json")
    if done is None:
        raise RebuildError(f"{folder.path}: nothing is selected yet; `reclaim rebuild select` does it")
    return tuple(done["chosen"])


def review_of(folder: Folder, paper: str, rater: str) -> Review | None:
    """Return what a rater decided about the draft as it is now; a draft that changed is to be reviewed again."""
    raw = read_json(folder.file(paper, f"review.{rater}"))
    if raw is None:
        return None
    found = Review.model_validate(raw)
    made = folder.made(paper, "draft")
    return found if made is not None and made.sha256 == found.signs else None


def waiting(folder: Folder, rater: str) -> tuple[str, ...]:
    """Return the selected papers that a rater has not decided yet."""
    return tuple(paper for paper in chosen(folder) if review_of(folder, paper, _named(rater)) is None)


def record(
    folder: Folder,
    paper: str,
    rater: str,
    decision: Decision,
    *,
    signature: str,
    reason: str = "",
    edits: dict[str, dict[str, Any]] | None = None,
    date: str | None = None,
) -> Review:
    """Write down what a person decided.

    Args:
        folder: the rebuild.
        paper: id of the paper.
        rater: short name of the person.
        decision: accept, edit or refuse.
        signature: the person's full name.
        reason: why; needed unless the card is accepted.
        edits: by field, such as ``target.value``: ``value`` and ``source``.
        date: of the decision; default: today.

    Raises:
        RebuildError: there is no draft, or the decision is not whole, or the edited card does not hold together.
    """
    made = folder.made(paper, "draft")
    if made is None or "card" not in made.result:
        raise RebuildError(f"{paper}: there is no drafted card to review")
    try:
        review = Review.model_validate(
            {
                "paper": paper,
                "rater": _named(rater),
                "decision": decision,
                "reason": reason,
                "edits": edits or {},
                "signs": made.sha256,
                "signature": signature,
                "date": date or today(),
            }
        )
    except ValidationError as problem:
        raise RebuildError(f"{paper}: {'; '.join(str(one['msg']) for one in problem.errors())}") from None
    for other in reviews(folder, paper):
        if other.rater != review.rater and _same_person(other.signature, signature):
            raise RebuildError(f"{paper}: {signature} has decided already, as {other.rater}; two persons are needed")
    if decision == "edit":
        _checked(edited(made.result["card"], review))
    folder.put(folder.file(paper, f"review.{review.rater}"), review.model_dump(mode="json"))
    return review


def edited(card: dict[str, Any], review: Review) -> dict[str, Any]:
    """Return a card with a reviewer's edits, each with its source among the card's sources.

    Raises:
        RebuildError: a field is not there.
    """
    changed = deepcopy(card)
    for path, edit in sorted(review.edits.items()):
        *above, last = path.split(".")
        at: Any = changed
        for part in above:
            at = at.get(part) if isinstance(at, dict) else None
        if not isinstance(at, dict) or path in FIXED:
            raise RebuildError(f"{path}: no field of the card that could be edited")
        at[last] = edit.value
        changed["sources"] = [*changed["sources"], {"for": f"{path}, by {review.rater}: {edit.source}"}]
    return changed


def _checked(card: dict[str, Any]) -> None:
    try:
        checked = PaperCard.model_validate(card)
    except ValidationError as problem:
        told = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in problem.errors()[:5])
        raise RebuildError(f"the edited card does not hold together: {told}") from None
    wrong = [f"{field}: {message}" for level, field, message in check_card(checked) if level == "error"]
    if wrong:
        raise RebuildError(f"the edited card does not hold together: {'; '.join(wrong)}")


def adjudicate(
    folder: Folder, paper: str, by: str, pick: str, *, signature: str, reason: str, date: str | None = None
) -> None:
    """Write down which rater's decision counts where two differ.

    Raises:
        RebuildError: the raters do not differ, the one picked has not decided, or there is no reason.
    """
    state = final(folder, paper)
    if state.state != "disagreement":
        raise RebuildError(f"{paper}: nothing to adjudicate: {state.why}")
    if review_of(folder, paper, _named(pick)) is None:
        raise RebuildError(f"{paper}: {pick} has not decided about this draft")
    for one in reviews(folder, paper):
        if one.rater == by or _same_person(one.signature, signature):
            raise RebuildError(f"{paper}: {one.rater} is one of the two who differ; a third person is needed")
    if not reason.strip() or len(signature) < 3:
        raise RebuildError(f"{paper}: an adjudication needs a reason and the full name of who signs it")
    made = folder.made(paper, "draft")
    assert made is not None
    document = {"paper": paper, "by": _named(by), "pick": pick, "reason": reason, "signature": signature}
    folder.put(folder.file(paper, "adjudication"), {**document, "signs": made.sha256, "date": date or today()})


def final(folder: Folder, paper: str) -> Final:
    """Return what came of a card: two raters who decided alike, or an adjudication."""
    made = folder.made(paper, "draft")
    if made is None or "card" not in made.result:
        return Final("waiting", "no card is drafted")
    said = reviews(folder, paper)
    if len(said) < 2:
        return Final("waiting", f"{len(said)} of 2 raters have decided")
    outcomes = {_outcome(made.result["card"], one) for one in said}
    signers = tuple(f"{one.signature} ({one.date})" for one in said)
    picked = said[0]
    if len(outcomes) > 1:
        settled = read_json(folder.file(paper, "adjudication"))
        if settled is None or settled["signs"] != made.sha256:
            return Final("disagreement", "; ".join(one.told() for one in said))
        picked = next(one for one in said if one.rater == settled["pick"])
        signers = (*signers, f"{settled['signature']} ({settled['date']}, adjudication)")
    if picked.decision == "refuse":
        return Final("refused", picked.reason, None, signers)
    card = edited(made.result["card"], picked) if picked.decision == "edit" else made.result["card"]
    return Final("card", picked.decision, card, signers)


def agreement(folder: Folder) -> Agreement:
    """Compare the raters on all cards that two of them have decided."""
    from reclaim_nb.grading.calibration.measures import alpha

    rows = []
    for paper in chosen(folder):
        said = reviews(folder, paper)
        if len(said) >= 2:
            rows.append({one.rater: one.decision for one in said})
    raters = sorted({name for row in rows for name in row})
    ratings = [[row.get(name) for row in rows] for name in raters]
    same = sum(len(set(row.values())) == 1 for row in rows)
    return Agreement(len(rows), same, alpha(ratings) if len(raters) > 1 and rows else None)


def as_markdown(folder: Folder, paper: str) -> str:
    """Return a drafted card with every quote, for a person to decide about."""
    made = folder.made(paper, "draft")
    if made is None:
        raise RebuildError(f"{paper}: nothing is drafted")
    if "card" not in made.result:
        return f"# {paper}\n\n{made.refused or made.result.get('question')}"
    card = made.result["card"]
    checked = PaperCard.model_validate(card)
    target = checked.target
    unit = "" if target.unit == "none" else f" {target.unit}"
    assert checked.criterion is not None
    lines = [
        f"# {checked.title}",
        f"{', '.join(checked.authors)}. {checked.venue or ''} [OpenReview]({card['sources'][-1]['url']})",
        f"**Claim.** {target.claim}",
        f"| | |\n| --- | --- |\n| tier | {checked.tier} |\n| target | {target.metric} {card['target']['value']}{unit}, "
        f"better: {target.direction} |\n| where | {target.where} |\n"
        f"| criterion | {checked.criterion.as_text(target.unit)}: {checked.criterion.basis} |\n"
        f"| need | {card['need'].get('source')} |\n| budget | {checked.budget.hours} "
        f"{checked.hours_unit}: {checked.budget.rationale} |",
        "## Sources\n\n" + "\n".join(f"- {one['for']}" for one in card["sources"]),
    ]
    if checked.doubts:
        lines.append("## Doubts\n\n" + "\n".join(f"- {one}" for one in checked.doubts))
    return "\n\n".join(lines)


def reviews(folder: Folder, paper: str) -> list[Review]:
    """Return what all raters have decided about the draft as it is now, by their names."""
    place = folder.file(paper, "draft").parent
    names = sorted(path.name.split(".")[1] for path in place.glob("review.*.json") if not path.name.startswith("."))
    return [one for name in names if (one := review_of(folder, paper, name)) is not None]


def _outcome(card: dict[str, Any], review: Review) -> str:
    if review.decision == "refuse":
        return "refuse"
    changed = edited(card, review) if review.decision == "edit" else card
    # Two people who make the same edit quote it in their own words.
    return repr({name: value for name, value in changed.items() if name != "sources"})


def _same_person(one: str, other: str) -> bool:
    return " ".join(one.casefold().split()) == " ".join(other.casefold().split())


def _named(rater: str) -> str:
    if not _RATER.fullmatch(rater):
        raise RebuildError(f"{rater!r}: a rater's name has small letters, digits and hyphens")
    return rater
