"""One scenario of the grading specification, made from sources and messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.grading.made import C, Md, make, toy

MEASURE = "acc = evaluate(model, test)\nprint(f'acc={acc:.3f} n={len(test)}')"
TRAIN = C("model = train(data)", ["done\n"], charged=60.0)


@dataclass
class Case:
    name: str
    cells: list[C | Md]
    outcome: str
    cause: str | None
    value: str | None = None
    card: str = "toy-cls"
    flags: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)


def final(text: str, source: str = "print(f'FINAL test top-1 {evaluate(model):.1f} n={len(test)}')") -> C:
    return C(source, [text + "\n"])


def check(case: Case, path: Path) -> None:
    """Make the attempt and compare its verdict."""
    made = make(path / "attempt", case.cells, toy(case.card), **case.options)
    verdict = made.verdict()
    assert (verdict.outcome, verdict.cause, verdict.value) == (case.outcome, case.cause, case.value), verdict.meaning
    assert set(case.flags) <= set(verdict.flags)
