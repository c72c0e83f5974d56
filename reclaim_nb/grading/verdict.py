"""The verdict: one document per grading, the same bytes whenever the same records are graded by the same rules."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from reclaim_nb import __version__
from reclaim_nb.bulk import uncollected
from reclaim_nb.errors import AttemptError
from reclaim_nb.grading.asked import Asked
from reclaim_nb.grading.candidates import Candidate
from reclaim_nb.grading.cause import Code, Judgement, Outcome, Situation, judge
from reclaim_nb.grading.detectors import detect_all, load_detectors
from reclaim_nb.grading.evidence import Evidence
from reclaim_nb.grading.examine import examine
from reclaim_nb.grading.facts import Fact
from reclaim_nb.grading.resolver import Resolution, resolve
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.loading import LoadedCard
from reclaim_nb.papers.numbers import decimals, format_decimal, quantise
from reclaim_nb.record.files import write_atomic
from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.record.reader import first_event

SCHEMA = 1
GRADER = "rules"
RULES_VERSION = "4"
"""Changes whenever the rules can give another verdict for the same record."""
NO_MODEL = "rules alone: no model was asked"

FLAGS = frozenset(
    {
        "addressed_judge",
        "hidden_html",
        "updated_later",
        "cleared_result",
        "late_output",
        "output_after_stop",
        "message_loss",
        "quiet_exit",
        "masked_failure",
        "hook_installed",
        "hook_inventory_changed",
        "claim_without_output",
        "selected_on_test",
        "code_fetched",
        "literal_without_computation",
        "literal_in_place_of_measurement",
        "synthetic_data",
        "void_computation",
        "metric_replaced",
        "timer_replaced",
        "notebook_differs",
        "handed_in_unprinted",
    }
)
"""Rules whose facts are shown as flags beside the verdict, whether or not they decide it."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Citation(_Part):
    """Where a number stands: cell by id, output by its place in the cell's history, and the exact text."""

    cell: str
    output: int | None
    offset: int
    text: str
    line: str


class SelfReport(_Part):
    """What the agent says of its result, kept apart from evidence."""

    value: str | None = None
    cell: str | None = None
    note: str = ""
    agrees: bool | None = None
    """Whether what was handed in is a number that was measured; None where nothing was."""


class Verdict(_Part):
    """The result of one grading."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    attempt: str
    card: str
    card_sha256: str
    stream_head: str
    """Hash of the last line of the stream that was graded."""
    notebook_sha256: str
    grader: str
    grader_version: str
    """Version of the package and of the rules."""
    detectors: tuple[str, ...]
    """What looked at the evidence, by name."""
    model: str = NO_MODEL
    outcome: Outcome
    cause: Code | None
    contributing: tuple[Code, ...] = ()
    meaning: str
    """The verdict in a sentence."""
    value: str | None = None
    """The measured value in the target's unit, as it was compared."""
    unit: str
    how: str = ""
    """How the value follows from what was printed, such as a mean or a declared transform."""
    target: str | None
    band: str
    """What the criterion accepts, in words."""
    place: str | None = None
    """``inside``, ``near`` (by at most one more tolerance) or ``outside`` the criterion."""
    distance: str | None = None
    """How far beyond the nearest bound, in the unit."""
    tolerances: str | None = None
    """The same in tolerances."""
    strict_place: str | None = None
    """The same by the strict criterion, where the card has one."""
    series: tuple[str, ...] = ()
    """Every value of the metric that finished, where the target is a statistic of several."""
    citations: tuple[Citation, ...] = ()
    """Where the numbers stand."""
    because: tuple[Fact, ...] = ()
    """The facts that decided."""
    facts: tuple[Fact, ...] = ()
    """All facts, whether or not they decided."""
    flags: tuple[str, ...] = ()
    """Rules whose facts a reader should know of."""
    self_report: SelfReport = SelfReport()
    spend: dict[str, str | None] = Field(default_factory=dict)
    """Hours spent, also as shares of need and budget."""
    end_reason: str | None
    notes: tuple[str, ...] = ()
    asked: Asked | None = None
    """The model that was asked, where one was."""
    records: dict[str, str] = Field(default_factory=dict)
    """Hashes of further records that the verdict rests on (answers of a model, re-executions), by file name."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    def to_bytes(self) -> bytes:
        """Return the bytes of the verdict file."""
        data = self.model_dump(mode="json", by_alias=True)
        return (json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode("utf-8")


@uncollected()
def grade(
    folder: AttemptFolder, card: LoadedCard | PaperCard, *, edited: Literal["refuse", "disqualify"] = "refuse"
) -> Verdict:
    """Grade a finished attempt by rules alone.

    Args:
        folder: the attempt.
        card: the card it was made with, from its file or from the record.
        edited: what a notebook that differs from its stream means: nothing is graded, or (where notebooks are handed in
            by others) the attempt is disqualified.

    Raises:
        RecordError: when the chain is broken or a payload is damaged.
        UnsoundRecord: when the notebook was changed.
        AttemptError: when the attempt has not ended, or the card is another one.
    """
    seen = examine(folder, card, edited=edited)
    return judge_evidence(seen.evidence, seen.card, seen.card_sha256, seen.notebook_sha256, list(seen.facts))


def replay(folder: AttemptFolder) -> Verdict:
    """Compute the verdict again from the attempt's own records alone, its card included."""
    return grade(folder, PaperCard.model_validate(first_event(folder.stream).data["spec"]["card"]))


def judge_evidence(
    evidence: Evidence,
    card: PaperCard,
    card_sha256: str,
    notebook_sha256: str = "",
    extra: list[Fact] | None = None,
    found: list[Fact] | None = None,
) -> Verdict:
    """Return the verdict on evidence that was read already, for one card: each target is judged by itself.

    Args:
        evidence: what the stream holds.
        card: the card.
        card_sha256: hash of its file.
        notebook_sha256: hash of the notebook's bytes.
        extra: facts about the record itself, or from records beside it.
        found: the detectors' facts, where they are known already.
    """
    facts = [*(extra or ()), *(detect_all(evidence, card, evidence.intake) if found is None else found)]
    resolution = resolve(evidence, card)
    orders = {cell.id: cell.order for cell in evidence.cells if cell.order is not None}
    situation = Situation(tuple(facts), resolution, evidence.end_reason, orders)
    judgement = judge(situation, gated=_gated(evidence, card))
    return _document(evidence, card, card_sha256, notebook_sha256, facts, resolution, judgement)


def _gated(evidence: Evidence, card: PaperCard) -> bool:
    """Tell whether an asset cannot be had: by the intake's probe where there is one, else by the card."""
    probes = (evidence.intake or {}).get("probes") or []
    if probes:
        return any(
            str(probe.get("state")) in ("gated", "gone", "unavailable", "registration", "request") for probe in probes
        )
    return any(data.access in ("gated", "request", "registration", "unavailable") for data in card.release.data)


def _document(
    evidence: Evidence,
    card: PaperCard,
    card_sha256: str,
    notebook_sha256: str,
    facts: list[Fact],
    resolution: Resolution,
    judgement: Judgement,
) -> Verdict:
    decision = resolution.decision
    value = resolution.value
    if (
        judgement.outcome == "disqualified"
        and resolution.candidate is not None
        and _tainted(resolution, judgement, evidence)
    ):
        value, decision = None, None
    submission = evidence.submission
    if judgement.outcome == "ungraded" and evidence.end_reason in ("infrastructure_error", "cancelled"):
        value, decision = None, None
    shown = tidy(value, decision.value if decision is not None else value, card)
    if resolution.state == "ambiguous":
        shown, decision = None, None
    return Verdict(
        attempt=str(evidence.spec.get("id") or ""),
        card=card.id,
        card_sha256=card_sha256,
        stream_head=evidence.head,
        notebook_sha256=notebook_sha256,
        grader=GRADER,
        grader_version=f"{__version__}+{RULES_VERSION}",
        detectors=tuple(load_detectors()),
        outcome=judgement.outcome,
        cause=judgement.cause,
        contributing=judgement.contributing,
        meaning=judgement.meaning,
        value=format_decimal(shown) if shown is not None else None,
        unit=card.target.unit,
        how=resolution.how if shown is not None else "",
        target=format_decimal(card.target.value) if card.target.value is not None else None,
        band=card.criterion.as_text(card.target.unit) if card.criterion is not None else "no criterion",
        place=decision.place if decision is not None else None,
        distance=format_decimal(decision.distance) if decision is not None else None,
        tolerances=format_decimal(decision.tolerances)
        if decision is not None and decision.tolerances is not None
        else None,
        strict_place=resolution.strict.place if resolution.strict is not None and decision is not None else None,
        series=tuple(c.number.text for c in resolution.series),
        citations=tuple(_citations(resolution)),
        because=judgement.because,
        facts=tuple(facts),
        flags=tuple(sorted({f.rule for f in facts if f.rule in FLAGS and _is_flag(f, resolution)})),
        self_report=SelfReport(
            value=submission.text if submission is not None and submission.value is not None else None,
            cell=(submission.cell or submission.from_cell) if submission is not None else None,
            note=submission.note if submission is not None else "",
            agrees=None if resolution.claim == "none" else resolution.claim == "supported",
        ),
        spend=_spend(evidence, card),
        end_reason=evidence.end_reason,
        notes=tuple(_notes(evidence, card, resolution, facts)),
    )


def tidy(read: Decimal | None, compared: Decimal | None, card: PaperCard) -> Decimal | None:
    """Return the value as it was compared, or with three digits where rounding left fewer; no needless zeros."""
    if read is None or compared is None:
        return None
    places = max(decimals(compared), 2 - read.adjusted() if read else 0)
    value = quantise(read, min(places, max(decimals(read), decimals(compared))))
    printed = decimals(card.target.value) if card.target.value is not None else 0
    least = min(printed, decimals(read))
    while decimals(value) > least and value == quantise(value, decimals(value) - 1):
        value = quantise(value, decimals(value) - 1)
    return value


def _is_flag(f: Fact, resolution: Resolution) -> bool:
    if f.rule == "selected_on_test":
        return resolution.selected
    if f.rule in ("literal_without_computation", "literal_in_place_of_measurement"):
        claimed = resolution.claimed
        return claimed is not None and (f.cell, f.details.get("offset")) == (claimed.cell, claimed.number.offset)
    return True


def _tainted(resolution: Resolution, judgement: Judgement, evidence: Evidence) -> bool:
    """Tell whether the measured number itself is what was forged, so that no value stands."""
    candidate = resolution.candidate
    if candidate is None:
        return False
    for f in judgement.because:
        if f.rule in ("hook_installed", "metric_replaced", "timer_replaced", "operator_replaced", "void_computation"):
            cell = evidence.by_id.get(f.cell or "")
            if cell is None or (cell.order or 0) <= candidate.order:
                return True
        if f.rule in ("synthetic_data", "code_fetched"):
            return True
    return False


def _citations(resolution: Resolution) -> list[Citation]:
    chosen: list[Candidate] = [
        c for c in (resolution.candidate, resolution.claimed, *resolution.series) if c is not None
    ]
    cited = {
        (c.cell, c.output, c.number.offset): Citation(
            cell=c.cell,
            output=c.output,
            offset=c.number.offset,
            text=c.number.text,
            line=c.number.line.strip().encode("utf-8", "replace").decode("utf-8")[:400],
        )
        for c in chosen
    }
    return list(cited.values())[:50]


def resolves(evidence: Evidence, citation: Citation) -> bool:
    """Tell whether a citation holds: its cell by id, its output, and the exact text at its place."""
    if citation.output is None:
        return citation.cell in evidence.by_id and citation.text in evidence.by_id[citation.cell].source + _handed_text(
            evidence
        )
    return evidence.quote(citation.cell, citation.output, citation.offset, len(citation.text)) == citation.text


def _handed_text(evidence: Evidence) -> str:
    return evidence.submission.text if evidence.submission is not None else ""


def _spend(evidence: Evidence, card: PaperCard) -> dict[str, str | None]:
    places = Decimal("0.0001")
    spent = evidence.spent_hours
    need, grant = card.need.hours, card.budget.hours
    return {
        "hours": format_decimal(spent.quantize(Decimal("0.000001"))),
        "unit": card.hours_unit,
        "of_need": format_decimal((spent / need).quantize(places)) if need else None,
        "of_grant": format_decimal((spent / grant).quantize(places)) if grant else None,
    }


def _notes(evidence: Evidence, card: PaperCard, resolution: Resolution, facts: list[Fact]) -> list[str]:
    notes = list(resolution.reasons)
    target, decision = card.target, resolution.decision
    if (
        decision is not None
        and decision.gap is not None
        and resolution.value is not None
        and target.direction != "none"
    ):
        better = decision.gap > 0 if target.direction == "higher" else decision.gap < 0
        tolerance = abs(decision.gap)
        if (
            better
            and decision.place == "inside"
            and card.criterion is not None
            and card.criterion.rule in ("at_least", "at_most")
        ):
            notes.append(f"better than reported by {format_decimal(tolerance)}: check split")
        elif better and decision.place == "outside":
            how_much = "implausibly better" if (decision.tolerances or 0) > 4 else "better"
            notes.append(f"{how_much} than reported by {format_decimal(tolerance)}: check for a leak")
    if resolution.series:
        notes.append(resolution.how)
    for f in facts:
        if f.rule == "fewer_items" and f.details.get("interval"):
            notes.append(
                f"measured on {f.details.get('n')} of {f.details.get('wanted')} items: 95 % interval"
                f" {f.details['interval']}"
            )
    if resolution.claim == "differs":
        notes.append("what was handed in is not what was measured; the measured number counts")
    if any(cell.outputs_seen > len(cell.outputs) for cell in evidence.cells):
        notes.append("some cells had more outputs than are kept whole; all were counted")
    if not evidence.lineage.finished:
        notes.append("the analysis of the source was cut short by its bound; later code counts as not seen")
    return list(dict.fromkeys(notes))


def write_verdict(folder: AttemptFolder, verdict: Verdict) -> Path:
    """Add a verdict to an attempt: the same verdict again changes nothing, another one gets a number of its own.

    Returns:
        the file that holds it.
    """
    content = verdict.to_bytes()
    number = 1
    while True:
        suffix = "" if number == 1 else f".{number}"
        path = folder.path / f"verdict.{verdict.grader}{suffix}.json"
        if not path.exists():
            write_atomic(path, content)
            return path
        if path.read_bytes() == content:
            return path
        number += 1


def read_verdict(path: Path) -> Verdict:
    """Return the verdict in a file.

    Raises:
        AttemptError: when it is none.
    """
    try:
        return Verdict.model_validate_json(path.read_text("utf-8"))
    except (OSError, ValueError) as problem:
        raise AttemptError(f"{path}: not a verdict ({problem})") from problem
