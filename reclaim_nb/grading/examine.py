"""Reading a finished attempt once for grading, and refusing what cannot be graded."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from reclaim_nb.errors import AttemptError, UnsoundRecord
from reclaim_nb.grading.candidates import digits_of
from reclaim_nb.grading.collect import EvidenceBuilder
from reclaim_nb.grading.evidence import Evidence
from reclaim_nb.grading.facts import Fact, fact
from reclaim_nb.grading.vocabulary import interest_of
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.loading import LoadedCard
from reclaim_nb.papers.recorded import FrozenSuites, MadeWith
from reclaim_nb.record.events import parse
from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.record.reader import StreamState, first_event, last_event, read_events
from reclaim_nb.record.render import Rendering
from reclaim_nb.record.verify import differences


def read_evidence(folder: AttemptFolder, card: PaperCard) -> tuple[Evidence, list[str], str]:
    """Read an attempt once: its evidence, how its notebook differs from its stream, and the notebook's hash.

    Raises:
        RecordError: when the chain is broken or a payload is damaged.
        AttemptError: when the attempt has not ended.
    """
    end = last_event(folder.stream)
    submission = (end.data.get("submission") or {}) if end is not None and end.kind == "end" else {}
    digits = digits_of(_decimal(submission.get("value")))
    store = folder.store()
    builder = EvidenceBuilder(store, interest_of(card, digits))
    rendering = Rendering(store)
    state = StreamState()
    for event in read_events(folder.stream, state):
        builder.apply(event)
        rendering.apply(event)
    intake = folder.read_intake()
    evidence = builder.finish(intake)
    if evidence.end_reason is None:
        raise AttemptError(f"{folder.path}: the attempt has not ended; `reclaim resume` it, or cancel it, then grade")
    raw = folder.notebook.read_bytes() if folder.notebook.exists() else b""
    return evidence, _notebook_problems(folder.notebook, raw, rendering), hashlib.sha256(raw).hexdigest()


def _notebook_problems(path: Path, raw: bytes, rendering: Rendering) -> list[str]:
    if not raw:
        return [f"{path}: missing"]
    try:
        notebook = parse(raw)
    except ValueError as problem:
        return [f"{path}: not JSON ({problem})"]
    if not isinstance(notebook, dict):
        return [f"{path}: not a notebook"]
    return [] if rendering.is_notebook(notebook) else differences(notebook, rendering.notebook(), path.name)


def _decimal(text: Any) -> Decimal | None:
    try:
        value = Decimal(str(text).strip())
    except ArithmeticError:
        return None
    return value if value.is_finite() else None


@dataclass(frozen=True)
class Examined:
    """An attempt that was read once and may be graded.

    Attributes:
        evidence: what its stream holds.
        card: the card it was made with.
        card_sha256: hash of the card's file.
        notebook_sha256: hash of the notebook's bytes.
        facts: facts about the record itself.
    """

    evidence: Evidence
    card: PaperCard
    card_sha256: str
    notebook_sha256: str
    facts: tuple[Fact, ...] = ()


def examine(
    folder: AttemptFolder, card: LoadedCard | PaperCard, *, edited: Literal["refuse", "disqualify"] = "refuse"
) -> Examined:
    """Read a finished attempt and refuse what cannot be graded; see :func:`grade` for arguments and errors."""
    typed = card.card if isinstance(card, LoadedCard) else card
    evidence, problems, notebook_sha256 = read_evidence(folder, typed)
    _same_card(folder, card, evidence)
    if evidence.spec.get("suite") is not None and (
        why := FrozenSuites().departed(MadeWith.of(first_event(folder.stream).data))
    ):
        raise AttemptError(f"{folder.path}: not graded: {why}. Grade it beside the suite as it was published")
    if problems and edited == "refuse":
        raise UnsoundRecord(
            "the notebook is not the stream's own rendering, so nothing is graded; "
            "`reclaim verify-record` lists the cells, and the stream still holds what really ran: "
            + "; ".join(problems[:5])
        )
    facts = tuple(fact("notebook_differs", None, None, problem) for problem in problems)
    return Examined(evidence, typed, str(evidence.spec.get("card_sha256")), notebook_sha256, facts)


def _same_card(folder: AttemptFolder, card: LoadedCard | PaperCard, evidence: Evidence) -> None:
    recorded = evidence.spec.get("card_sha256")
    advice = "grade with the card it was made with, or make the attempt again"
    if isinstance(card, LoadedCard):
        if recorded != card.sha256:
            raise AttemptError(f"{folder.path}: made with card {recorded}, but {card.path} is {card.sha256}; {advice}")
        card = card.card
    held = evidence.spec.get("card")
    if held is not None and PaperCard.model_validate(held) != card:
        raise AttemptError(f"{folder.path}: made with another card '{card.id}' than the one given; {advice}")
