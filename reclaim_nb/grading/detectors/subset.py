"""Measured on fewer (or more) items than the card asks for."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from reclaim_nb.grading.candidates import Candidate, candidates
from reclaim_nb.grading.detectors.common import about
from reclaim_nb.grading.evidence import Evidence
from reclaim_nb.grading.facts import Fact
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.numbers import CONTEXT, unit

Z = Decimal("1.959964")


def detect(evidence: Evidence, card: PaperCard, intake: dict[str, Any] | None) -> list[Fact]:
    """Find numbers whose printed count, or whose lineage, says that other items were measured."""
    wanted = card.target.n
    if wanted is None:
        return []
    found = []
    for c in candidates(evidence, card):
        if "reference" in c.against:
            continue
        printed = c.number.n
        if printed is not None and printed != wanted:
            rule = "fewer_items" if printed < wanted else "more_items"
            found.append(
                about(rule, c, n=printed, wanted=wanted, read_in="output", interval=_interval(c, card, printed))
            )
        elif printed is None and c.origin.matched:
            limits = [int(mark.split(":")[1]) for mark in c.origin.flow.marks if mark.startswith(("first:", "limit:"))]
            small = [limit for limit in limits if limit < wanted and limit >= 2]
            if small and wanted >= 20:
                found.append(
                    about(
                        "fewer_items",
                        c,
                        n=min(small),
                        wanted=wanted,
                        read_in="lineage",
                        interval=_interval(c, card, min(small)),
                    )
                )
            elif "part" in c.origin.flow.marks:
                found.append(about("fewer_items", c, n=None, wanted=wanted, read_in="lineage"))
    return found


def _interval(c: Candidate, card: PaperCard, n: int) -> str | None:
    """Return the Wilson 95 % interval of a share measured on n items, in the target's unit."""
    if unit(card.target.unit).family != "share" or not c.readings:
        return None
    factor = unit(card.target.unit).factor
    share = c.readings[0].value * factor
    if not 0 <= share <= 1:
        return None
    count = Decimal(n)
    z2 = Z * Z
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = Z / (1 + z2 / count) * CONTEXT.sqrt(share * (1 - share) / count + z2 / (4 * count * count))
    low, high = (middle - half) / factor, (middle + half) / factor
    places = Decimal("0.1") if factor < 1 else Decimal("0.001")
    return f"{low.quantize(places)} to {high.quantize(places)}"
