"""Grading labelled attempts and comparing: the built-in scenarios, or a folder of one's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reclaim_nb.attempts.prepare import KernelKind
from reclaim_nb.errors import ReclaimError
from reclaim_nb.grading.calibration.build import Built, build
from reclaim_nb.grading.calibration.judges import judge
from reclaim_nb.grading.calibration.labels import Label, Labelled
from reclaim_nb.grading.calibration.measures import Measures, Said, measure, raters_alpha
from reclaim_nb.grading.calibration.scenarios import Scenario
from reclaim_nb.grading.model import ModelGrader, grade_with_model
from reclaim_nb.grading.reexecute import grade_with_reexecution, reexecute
from reclaim_nb.grading.verdict import Verdict, examine, grade, judge_evidence
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.record.reader import first_event


@dataclass(frozen=True)
class Compared:
    """One label and the verdict on it.

    Attributes:
        name: of the scenario or the attempt.
        title: in words.
        label: what was wanted.
        verdict: what came, None where grading failed.
        problem: why it failed.
    """

    name: str
    title: str
    label: Label
    verdict: Verdict | None
    problem: str | None = None

    @property
    def differences(self) -> list[str]:
        """In what the verdict is not as wanted; empty when it is right."""
        return [self.problem or "no verdict"] if self.verdict is None else self.label.problems(self.verdict)

    @property
    def got(self) -> Said:
        """Outcome and cause; an attempt that could not be graded is ungraded, never left out."""
        return ("ungraded", "G01") if self.verdict is None else (self.verdict.outcome, self.verdict.cause)

    def to_json(self) -> dict[str, Any]:
        value = self.verdict.value if self.verdict is not None else None
        return {
            "name": self.name,
            "title": self.title,
            "wanted": {"outcome": self.label.outcome, "cause": self.label.cause, "value": self.label.value},
            "got": {"outcome": self.got[0], "cause": self.got[1], "value": value},
            "differences": self.differences,
        }


@dataclass(frozen=True)
class Calibration:
    """What one grader made of labelled attempts.

    Attributes:
        grader: its name.
        compared: one by one.
        measures: together.
        raters_outcome, raters_cause: how far people agree with one another, None with fewer than two.
    """

    grader: str
    compared: tuple[Compared, ...]
    measures: Measures
    raters_outcome: float | None = None
    raters_cause: float | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "grader": self.grader,
            "compared": [one.to_json() for one in self.compared],
            "measures": self.measures.to_json(),
            "raters": {"alpha_outcome": self.raters_outcome, "alpha_cause": self.raters_cause},
        }


def run_builtin(scenarios: Sequence[Scenario], place: Path, kernel: KernelKind = "local") -> Iterator[list[Compared]]:
    """Make and grade scenarios one after the other; yields what came of each, one for every target.

    Args:
        scenarios: which.
        place: a folder for papers and attempts, which stay there with their labels.
        kernel: where cells run.
    """
    for scenario in scenarios:
        yield grade_built(build(scenario, place, kernel))


def grade_built(made: Built) -> list[Compared]:
    """Grade the attempt of a scenario as it asks for, by every one of its cards."""
    scenario, folder, card = made.scenario, made.folder, made.cards[0]
    if scenario.judge is not None:
        verdict = grade_with_model(folder, card, judge(scenario.judge))
    elif scenario.reexecute:
        verdict = grade_with_reexecution(folder, card, reexecute(folder))
    else:
        verdict = grade(folder, card, edited="disqualify")
    found = [Compared(scenario.id, scenario.title, scenario.label, verdict)]
    if scenario.also:
        seen = examine(folder, card)
        for other, label in zip(made.cards[1:], scenario.also, strict=True):
            verdict = judge_evidence(seen.evidence, other.card, other.sha256, seen.notebook_sha256)
            found.append(Compared(f"{scenario.id} {other.card.id}", scenario.title, label, verdict))
    return found


def grade_labelled(attempts: Iterable[Labelled], grader: ModelGrader | None = None) -> Iterator[Compared]:
    """Grade labelled attempts by the card in their record, by rules alone or with a model."""
    for attempt in attempts:
        try:
            card = PaperCard.model_validate(first_event(attempt.folder.stream).data["spec"]["card"])
            if grader is None:
                verdict = grade(attempt.folder, card, edited="disqualify")
            else:
                verdict = grade_with_model(attempt.folder, card, grader)
        except ReclaimError as problem:
            yield Compared(attempt.name, card_title(attempt), attempt.label, None, str(problem))
            continue
        yield Compared(attempt.name, card.title, attempt.label, verdict)


def card_title(attempt: Labelled) -> str:
    """Return a title for an attempt that cannot be read."""
    return attempt.label.note or attempt.folder.path.name


def calibration(grader: str, compared: Sequence[Compared]) -> Calibration:
    """Put together what one grader made of labelled attempts."""
    pairs: list[tuple[Said, Said]] = [((one.label.outcome, one.label.cause), one.got) for one in compared]
    people = [
        {name: (str(rating.outcome), rating.cause) for name, rating in one.label.raters.items()} for one in compared
    ]
    return Calibration(
        grader=grader,
        compared=tuple(compared),
        measures=measure(pairs),
        raters_outcome=raters_alpha(people, 0),
        raters_cause=raters_alpha(people, 1),
    )
