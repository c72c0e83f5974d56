"""A result that is read from what the authors shipped, or from the paper's text."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from reclaim_nb.grading.candidates import candidates
from reclaim_nb.grading.detectors.common import about, source_line
from reclaim_nb.grading.evidence import Evidence
from reclaim_nb.grading.facts import Fact, fact
from reclaim_nb.grading.provenance import of_flow, provenance
from reclaim_nb.papers.card import PaperCard


def detect(evidence: Evidence, card: PaperCard, intake: dict[str, Any] | None) -> list[Fact]:
    """Find numbers named like the target, or handed in, that come from shipped files or the paper."""
    shipped = _numbers(intake)
    found = []
    for c in candidates(evidence, card):
        if set(c.against) & {"bound", "gap", "spread", "scene"}:
            continue
        kind = provenance(c, card)
        if kind in ("shipped", "paper"):
            where = shipped.get(c.number.value.normalize())
            files = ", ".join(sorted(c.origin.flow.files)) or where
            found.append(about(f"{kind}_number", c, files=files, in_manifest=where))
    submission = evidence.submission
    if submission is not None and submission.value is not None and submission.from_cell is not None:
        for handed in evidence.lineage.records.handed:
            kind = of_flow(handed.value, submission.value, card)
            if handed.cell == submission.from_cell and kind in ("shipped", "paper"):
                source = source_line(evidence.by_id[handed.cell].source, handed.line)
                found.append(fact(f"{kind}_handed_in", handed.cell, None, source, value=submission.text))
    return found


def _numbers(intake: dict[str, Any] | None) -> dict[Decimal, str]:
    found: dict[Decimal, str] = {}
    for number in (intake or {}).get("numbers", []):
        try:
            value = Decimal(str(number.get("text", "")).replace(",", ""))
        except InvalidOperation:
            continue
        if value.is_finite():
            found.setdefault(value.normalize(), f"{number.get('file')}:{number.get('line')}")
    return found
