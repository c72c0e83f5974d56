"""How a grader agrees with labels: confusion, precision, recall and F1 with intervals, Krippendorff's alpha."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reclaim_nb.errors import ReclaimError

SUCCESS = "reproduced"
UNDECIDED = frozenset({"ungraded", "needs_human"})
"""Outcomes that say neither yes nor no."""


@dataclass(frozen=True)
class Share:
    """A proportion with a 95 % interval; all None where nothing was counted.

    Attributes:
        part, whole: the counts.
        value, low, high: share and its bounds, from 0 to 1.
    """

    part: int
    whole: int
    value: float | None
    low: float | None
    high: float | None

    def to_json(self) -> dict[str, Any]:
        return {"part": self.part, "whole": self.whole, "value": self.value, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class Measures:
    """One grader against the labels.

    Attributes:
        attempts: how many were compared.
        undecided: of these, ungraded or left to a person; of a success they count as missed, never as found.
        precision, recall: of ``reproduced``.
        f1: their harmonic mean; its interval is that of TP / (TP + FP + FN), to which it belongs one to one.
        outcomes, causes: (label, grader) -> count.
        alpha_outcome, alpha_cause: Krippendorff's alpha between label and grader; None where all are one kind.
    """

    attempts: int
    undecided: int
    precision: Share
    recall: Share
    f1: Share
    outcomes: dict[tuple[str, str], int]
    causes: dict[tuple[str, str], int]
    alpha_outcome: float | None
    alpha_cause: float | None

    def to_json(self) -> dict[str, Any]:
        def rows(counts: dict[tuple[str, str], int]) -> list[dict[str, Any]]:
            return [{"label": label, "grader": got, "attempts": count} for (label, got), count in counts.items()]

        return {
            "attempts": self.attempts,
            "undecided": self.undecided,
            "precision": self.precision.to_json(),
            "recall": self.recall.to_json(),
            "f1": self.f1.to_json(),
            "outcomes": rows(self.outcomes),
            "causes": rows(self.causes),
            "alpha_outcome": self.alpha_outcome,
            "alpha_cause": self.alpha_cause,
        }


Said = tuple[str, str | None]
"""Outcome and cause."""


def measure(pairs: Sequence[tuple[Said, Said]]) -> Measures:
    """Compare a grader with labels.

    Args:
        pairs: (label, grader), each outcome and cause.

    Raises:
        ReclaimError: when a package for it is missing.
    """
    outcomes = Counter((label[0], got[0]) for label, got in pairs)
    causes = Counter((label[1] or "-", got[1] or "-") for label, got in pairs)
    right = sum(count for (label, got), count in outcomes.items() if label == got == SUCCESS)
    found = sum(count for (_, got), count in outcomes.items() if got == SUCCESS)
    true = sum(count for (label, _), count in outcomes.items() if label == SUCCESS)
    whole = found + true - right
    jaccard = share(right, whole)
    f1 = Share(
        right, whole, *(None if v is None else 2 * v / (1 + v) for v in (jaccard.value, jaccard.low, jaccard.high))
    )
    return Measures(
        attempts=len(pairs),
        undecided=sum(count for (_, got), count in outcomes.items() if got in UNDECIDED),
        precision=share(right, found),
        recall=share(right, true),
        f1=f1,
        outcomes=dict(sorted(outcomes.items())),
        causes=dict(sorted(causes.items())),
        alpha_outcome=alpha([[label[0] for label, _ in pairs], [got[0] for _, got in pairs]]),
        alpha_cause=alpha([[label[1] or "-" for label, _ in pairs], [got[1] or "-" for _, got in pairs]]),
    )


def share(part: int, whole: int) -> Share:
    """Return a proportion with its 95 % Wilson interval.

    Raises:
        ReclaimError: when statsmodels is missing.
    """
    if whole == 0:
        return Share(part, whole, None, None, None)
    try:
        from statsmodels.stats.proportion import proportion_confint
    except ImportError as problem:
        raise ReclaimError(f"calibration needs `pip install 'reclaim-nb[calibration]'` ({problem})") from problem
    low, high = proportion_confint(part, whole, alpha=0.05, method="wilson")
    return Share(part, whole, part / whole, float(low), float(high))


def alpha(ratings: Sequence[Sequence[str | None]]) -> float | None:
    """Return Krippendorff's alpha of nominal ratings.

    Args:
        ratings: one row a rater, one column an attempt; None where that rater said nothing.

    Returns:
        1 for full agreement, 0 for chance; None where it is not defined: fewer than two ratings of any attempt, or
        only one kind of rating.

    Raises:
        ReclaimError: when the package is missing.
    """
    kinds = sorted({said for row in ratings for said in row if said is not None})
    paired = [column for column in zip(*ratings, strict=True) if sum(said is not None for said in column) > 1]
    if len(kinds) < 2 or len({said for column in paired for said in column if said is not None}) < 2:
        return None
    try:
        import krippendorff
    except ImportError as problem:
        raise ReclaimError(f"calibration needs `pip install 'reclaim-nb[calibration]'` ({problem})") from problem
    codes = {kind: float(place) for place, kind in enumerate(kinds)}
    data = [[float("nan") if said is None else codes[said] for said in row] for row in ratings]
    return float(krippendorff.alpha(reliability_data=data, level_of_measurement="nominal"))


def raters_alpha(raters: Iterable[Mapping[str, Said]], part: int = 0) -> float | None:
    """Return how far raters agree with one another.

    Args:
        raters: for each attempt, what each rater said of it.
        part: 0 for outcomes, 1 for causes.
    """
    attempts = list(raters)
    names = sorted({name for said in attempts for name in said})
    rows = [[_said(said[name], part) if name in said else None for said in attempts] for name in names]
    return alpha(rows) if len(names) > 1 else None


def _said(said: Said, part: int) -> str:
    return said[part] or "-"
