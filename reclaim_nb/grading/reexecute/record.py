"""The record of a re-execution, the facts that follow from it, and the verdict with them; pure functions."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reclaim_nb.errors import CardError, RecordError
from reclaim_nb.grading.candidates import Candidate
from reclaim_nb.grading.facts import Fact, fact
from reclaim_nb.grading.resolver import Resolution, resolve
from reclaim_nb.grading.verdict import Examined, Verdict, judge_evidence, tidy
from reclaim_nb.grading.vocabulary import families_of, tokens
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.numbers import format_decimal, unit

GRADER = "rules+reexecution"
_BY_SHAPE = frozenset({"parameters", "memory", "latency", "flops", "throughput"})
"""Families of metrics that depend on shapes and not on what the data holds."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Run(_Part):
    """One run of the cells in a kernel of their own.

    Attributes:
        folder: its own record, beside the verdict's.
        stream_head: head of that record's chain.
        status: how the measuring cell ended.
        text: the number as printed, None when the cell printed none in that place.
        value: the same in the target's unit.
        changed: names whose data was changed before the measurement.
        changed_before: the cell before which they were changed.
        seed: of the change.
        detail: why there is no number.
    """

    folder: str
    stream_head: str
    status: str
    text: str | None = None
    value: str | None = None
    changed: tuple[str, ...] = ()
    changed_before: str | None = None
    seed: int | None = None
    detail: str | None = None


class LeftOutPart(_Part):
    """A hook that was not installed again."""

    cell: str
    text: str


class Reexecution(_Part):
    """What came of running the measurement again."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    attempt: str
    card_sha256: str
    stream_head: str
    what: Literal["cell", "notebook"]
    measuring: str
    cells: tuple[str, ...]
    left_out: tuple[LeftOutPart, ...] = ()
    kernel: str
    original: str
    """The value that the attempt's own record holds, in the target's unit."""
    tolerance: str | None
    """The criterion's noise, in the target's unit; None where it has none without a baseline."""
    same: Run
    changes: tuple[Run, ...] = ()

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    @property
    def agrees(self) -> bool | None:
        """Whether the value came out again within the criterion's noise; None when there is none to compare."""
        if self.same.value is None:
            return None
        apart = abs(Decimal(self.same.value) - Decimal(self.original))
        return apart <= (Decimal(self.tolerance) if self.tolerance is not None else Decimal(0))

    @property
    def constant(self) -> bool | None:
        """Whether the same number came out although its inputs were changed; None when nothing could be changed."""
        tried = [run for run in self.changes if run.changed and run.status == "ok"]
        if not tried or self.same.text is None:
            return None
        return all(run.text == self.same.text for run in tried)

    def to_bytes(self) -> bytes:
        """Return the bytes of its file."""
        data = self.model_dump(mode="json", by_alias=True)
        return (json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def read_reexecution(path: Path) -> tuple[Reexecution, str]:
    """Return a re-execution and the hash of its file.

    Raises:
        RecordError: when the file is none.
    """
    try:
        raw = path.read_bytes()
        return Reexecution.model_validate_json(raw), hashlib.sha256(raw).hexdigest()
    except (OSError, ValidationError) as problem:
        raise RecordError(
            f"{path}: no record of a re-execution ({problem}); run `reclaim reexecute` again"
        ) from problem


def tolerance_of(card: PaperCard, resolution: Resolution) -> Decimal | None:
    """Return the criterion's noise in the target's unit; None where it needs a baseline that was not measured."""
    if card.criterion is None:
        return None
    try:
        return card.criterion.band(resolution.baseline).tolerance
    except CardError:
        return None


def shown_number(resolution: Resolution) -> Candidate | None:
    """Return the printed number that is run again: the measured one, else the one that is put forward without."""
    return resolution.candidate or resolution.claimed


def value_of(resolution: Resolution) -> Decimal | None:
    """Return its value in the target's unit, None where it has none."""
    if resolution.candidate is not None:
        return resolution.value
    claimed = resolution.claimed
    return claimed.readings[0].value if claimed is not None and claimed.readings else None


def facts_of(rerun: Reexecution, card: PaperCard, resolution: Resolution) -> list[Fact]:
    """Return the facts that a re-execution adds about the value."""
    candidate = shown_number(resolution)
    if candidate is None:
        return []

    def about(rule: str, text: str, **details: object) -> Fact:
        return fact(rule, candidate.cell, candidate.output, text, offset=candidate.number.offset, **details)

    found = []
    if rerun.agrees is None:
        found.append(about("rerun_without_number", rerun.same.detail or rerun.same.status, status=rerun.same.status))
    elif not rerun.agrees:
        hooks = "; ".join(part.text for part in rerun.left_out)
        rule = "rerun_differs_without_hooks" if hooks else "rerun_differs"
        found.append(about(rule, str(rerun.same.text), value=rerun.same.value, original=rerun.original, hooks=hooks))
    else:
        found.append(about("rerun_agrees", str(rerun.same.text), value=rerun.same.value, original=rerun.original))
    if rerun.constant:
        changed = ", ".join(dict.fromkeys(name for run in rerun.changes for name in run.changed))
        rule = "rerun_constant_by_shape" if _by_shape(card) else "rerun_constant"
        found.append(about(rule, str(rerun.same.text), changed=changed))
    return found


def _by_shape(card: PaperCard) -> bool:
    words = tokens(f"{card.target.metric} {' '.join(card.target.words)}")
    return unit(card.target.unit).family in ("count", "memory", "time") or bool(families_of(words) & _BY_SHAPE)


def verdict_with(seen: Examined, rerun: Reexecution, sha256: str, name: str) -> Verdict:
    """Return the verdict by rules with a re-execution among what they rest on.

    Args:
        seen: the attempt.
        rerun: the re-execution.
        sha256: hash of its file.
        name: name of its file.

    Raises:
        RecordError: when it is of another record.
    """
    if (rerun.stream_head, rerun.card_sha256) != (seen.evidence.head, seen.card_sha256):
        raise RecordError(f"{name}: of another record or card than this attempt's; run `reclaim reexecute` again")
    resolution = resolve(seen.evidence, seen.card)
    more = facts_of(rerun, seen.card, resolution)
    extra = [*seen.facts, *more]
    verdict = judge_evidence(seen.evidence, seen.card, seen.card_sha256, seen.notebook_sha256, extra)
    rules = {f.rule for f in more}
    update: dict[str, object] = {"grader": GRADER, "records": {name: sha256}, "notes": (*verdict.notes, _note(rerun))}
    forged = {f.rule for f in verdict.because} & {"hook_installed", "metric_replaced", "rerun_differs_without_hooks"}
    if verdict.outcome == "disqualified" and forged and rerun.same.value is not None and verdict.value is None:
        update["value"] = _shown(seen.card, Decimal(rerun.same.value))
        update["how"] = f"measured again without the hooks ({name})"
    if "rerun_differs" in rules and verdict.outcome in ("reproduced", "near_miss"):
        update |= {
            "outcome": "needs_human",
            "cause": "G01",
            "meaning": f"run again, the measurement gives {rerun.same.text}, beyond the criterion's noise",
            "because": tuple(f for f in more if f.rule == "rerun_differs"),
        }
    return verdict.model_copy(update=update)


def _shown(card: PaperCard, value: Decimal) -> str:
    """Return a value as it is compared."""
    compared = card.criterion.band().decide(value).value if card.criterion is not None else value
    return format_decimal(tidy(value, compared, card) or value)


def _note(rerun: Reexecution) -> str:
    again = (
        "came out again" if rerun.agrees else "did not come out again" if rerun.agrees is not None else "gave no number"
    )
    shown = f" ({rerun.same.text})" if rerun.same.text is not None else ""
    inputs = {True: "; the same number under changed inputs", False: "; changed inputs change it", None: ""}
    return f"re-execution of the {rerun.what}: the value {again}{shown}{inputs[rerun.constant]}"
