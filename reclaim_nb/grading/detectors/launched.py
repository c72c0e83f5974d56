"""Whether anything was started that could have produced the target."""

from __future__ import annotations

from typing import Any

from reclaim_nb.grading.candidates import candidates
from reclaim_nb.grading.evidence import Evidence
from reclaim_nb.grading.facts import Fact, fact
from reclaim_nb.grading.provenance import provenance
from reclaim_nb.grading.vocabulary import families_of, tokens
from reclaim_nb.grading.words import words
from reclaim_nb.papers.card import PaperCard

_WORK = words(
    """
    train fit evaluate eval test predict run main forward measure simulate benchmark generate solve experiment
    finetune inference infer validate transform optimize minimize sample score step backward epoch compute
    """
)
_QUIET = frozenset(["pip", "git", "apt", "conda", "test"])


def detect(evidence: Evidence, card: PaperCard, intake: dict[str, Any] | None) -> list[Fact]:
    """Find cells that ran a program, a loop, or a call whose name says that it does the work."""
    records = evidence.lineage.records
    found: dict[str, Fact] = {}
    for cell in evidence.executed:
        if cell.id in records.ran_program or records.loops.get(cell.id):
            found.setdefault(cell.id, fact("measuring_launched", cell.id, None, cell.source[:200], order=cell.order))
    for call in records.calls:
        words = tokens(call.name)
        if (set(words) & _WORK or families_of(words)) and call.name.split(".")[0] not in ("plt", "os", "sys"):
            caller = evidence.by_id.get(call.cell)
            if caller is not None:
                found.setdefault(call.cell, fact("measuring_launched", call.cell, None, call.name, order=caller.order))
    for c in candidates(evidence, card):
        if c.strength >= 2 and provenance(c, card) == "computed":
            found.setdefault(c.cell, fact("measuring_launched", c.cell, c.output, c.number.text, order=c.order))
    return list(found.values())
