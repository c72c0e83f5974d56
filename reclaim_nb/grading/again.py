"""Verdicts computed again from the records they rest on, and compared with the files beside the attempt."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reclaim_nb.errors import ReclaimError
from reclaim_nb.grading.verdict import Verdict, grade, read_verdict
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.record.reader import first_event

_SHOWN = ("outcome", "cause", "value")


@dataclass(frozen=True)
class Again:
    """One verdict file beside what its records give now.

    Attributes:
        file: its name.
        state: ``same``, to the byte; ``other_rules``, given by other rules than those here; or ``differs``.
        text: what the records give instead; empty where that is the same.
    """

    file: str
    state: Literal["same", "other_rules", "differs"]
    text: str = ""


def verdicts_again(folder: AttemptFolder) -> list[Again]:
    """Compute every verdict of a sound record again: by rules, from a model's recorded answers, from re-executions."""
    return [_again(folder, path) for path in folder.verdicts()]


def _again(folder: AttemptFolder, path: Path) -> Again:
    try:
        kept = read_verdict(path)
        given = _compute(folder, kept)
    except ReclaimError as problem:
        return Again(path.name, "differs", f"its records do not give it: {problem}")
    if given.to_bytes() == path.read_bytes():
        return Again(path.name, "same")
    said = "; ".join(
        f"{name} {getattr(kept, name)}, and its records give {getattr(given, name)}"
        for name in _SHOWN
        if getattr(kept, name) != getattr(given, name)
    )
    if kept.grader_version != given.grader_version:
        rules = f"given by the rules {kept.grader_version}; by those here, {given.grader_version}: "
        return Again(path.name, "other_rules", rules + (said or "the same outcome"))
    fields = [name for name in Verdict.model_fields if getattr(kept, name) != getattr(given, name)]
    return Again(path.name, "differs", said or f"not what its records give, in {', '.join(fields) or 'its writing'}")


def _compute(folder: AttemptFolder, kept: Verdict) -> Verdict:
    card = PaperCard.model_validate(first_event(folder.stream).data["spec"]["card"])
    for name in kept.records:
        record = folder.path / Path(name).name
        if name.startswith("reexecution."):
            from reclaim_nb.grading.reexecute import grade_with_reexecution

            return grade_with_reexecution(folder, card, record)
        from reclaim_nb.grading.model import regrade

        return regrade(folder, card, record)
    return grade(folder, card)
