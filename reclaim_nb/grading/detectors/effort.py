"""Stopped with budget left that the experiment still needed; or stopped because nothing was left."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from reclaim_nb.grading.evidence import Evidence
from reclaim_nb.grading.facts import Fact, fact
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.numbers import format_decimal

HALF = Decimal("0.5")
STOPS = frozenset({"budget_exhausted", "wall_clock", "turn_limit", "token_limit", "cost_limit"})
_CONCEDES = re.compile(
    r"\b(?:incomplete|did(?: not|n't) (?:finish|complete|run|have time)|could(?: not|n't) (?:finish"
    r"|complete|run|train)|ran out|not enough (?:time|budget)|too (?:long|expensive|slow)"
    r"|stopp(?:ed|ing) (?:early|here)|only (?:a )?(?:partial|part of|some of|\d+ of)"
    r"|partial(?:ly)? (?:run|result|complete)|left (?:out|undone)|skipp(?:ed|ing)|gave up|give up"
    r"|future work|remaining (?:work|runs|seeds)"
    r"|unfinished|preliminary|would need more)\b",
    re.IGNORECASE,
)


def detect(evidence: Evidence, card: PaperCard, intake: dict[str, Any] | None) -> list[Fact]:
    """Print spend against need and against grant apart, with what the agent says about being done."""
    found = []
    spent = evidence.spent_hours
    need, grant = card.need.hours, card.budget.hours
    of_grant = spent / grant if grant else Decimal(0)
    of_need = spent / need if need else None
    places = Decimal("0.001")
    texts = {
        "of_grant": format_decimal(of_grant.quantize(places)),
        "of_need": format_decimal(of_need.quantize(places)) if of_need is not None else None,
    }
    if evidence.end_reason in STOPS:
        found.append(fact("limit_reached", None, None, str(evidence.end_reason), **texts))
    elif of_grant < HALF and (of_need is None or of_need < HALF):
        concedes = next((p for p in evidence.self_report if _CONCEDES.search(p.text)), None)
        match = _CONCEDES.search(concedes.text) if concedes is not None else None
        text = match[0] if match is not None else ""
        found.append(
            fact(
                "stopped_early", concedes.cell if concedes else None, None, text, concedes=concedes is not None, **texts
            )
        )
    return found
