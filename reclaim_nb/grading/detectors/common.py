"""What several detectors need."""

from __future__ import annotations

from typing import Any

from reclaim_nb.grading.candidates import Candidate
from reclaim_nb.grading.facts import Fact, fact


def about(rule: str, candidate: Candidate, **details: Any) -> Fact:
    """Return a fact about one printed number; its place in the output is among the details."""
    return fact(
        rule, candidate.cell, candidate.output, candidate.number.text, offset=candidate.number.offset, **details
    )


def source_line(source: str, line: int) -> str:
    """Return one line of a cell's source, counted from 1."""
    lines = source.splitlines()
    return lines[line - 1].strip() if 0 < line <= len(lines) else source.strip()[:200]
