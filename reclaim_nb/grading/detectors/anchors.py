"""Whether a part was compared with a number of the paper before the main spend."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from reclaim_nb.grading.evidence import Evidence
from reclaim_nb.grading.facts import Fact, fact
from reclaim_nb.papers.card import PaperCard

MAIN_SHARE = Decimal("0.05")
"""A cell that spends more than this share of the grant is a main spend."""


def detect(evidence: Evidence, card: PaperCard, intake: dict[str, Any] | None) -> list[Fact]:
    """Find anchor checks, and the first main spend if no anchor was checked before it."""
    found = []
    checked: list[int] = []
    failed = False
    for call in evidence.tools:
        if call.name == "check_anchor":
            cell = evidence.by_id.get(call.cell or "")
            order = cell.order if cell is not None and cell.order is not None else -1
            checked.append(order)
            holds = _holds(call.result)
            failed = failed or holds is False
            found.append(fact("anchor_checked", call.cell, None, str(call.arguments.get("name")), holds=holds))
    numbers = _paper_numbers(card)
    for comparison in evidence.lineage.records.comparisons:
        cell = evidence.by_id.get(comparison.cell)
        if (
            comparison.computed
            and comparison.literal.normalize() in numbers
            and cell is not None
            and cell.order is not None
        ):
            checked.append(cell.order)
            found.append(fact("anchor_checked", cell.id, None, str(comparison.literal), by="comparison"))
    main = _main_spend(evidence, card)
    if main is not None and not any(order < main for order in checked):
        cell = evidence.executed[[c.order for c in evidence.executed].index(main)]
        found.append(fact("no_anchor_before_main_spend", cell.id, None, cell.source[:200], anchors=len(card.anchors)))
    elif main is not None and failed:
        found.append(fact("anchor_failed", None, None, "an anchor did not hold", ignored=True))
    return found


def _main_spend(evidence: Evidence, card: PaperCard) -> int | None:
    grant = card.budget.hours * 3600
    for cell in evidence.executed:
        if grant > 0 and cell.charged_seconds > MAIN_SHARE * grant:
            return cell.order
    return None


def _holds(result: Any) -> bool | None:
    if isinstance(result, dict):
        for key in ("holds", "ok", "passed", "inside", "within"):
            if isinstance(result.get(key), bool):
                return bool(result[key])
        if "place" in result:
            return str(result["place"]) == "inside"
    text = str(result).lower()
    if re.search(r"does not|outside|not hold|fail", text):
        return False
    return True if re.search(r"holds|inside|agrees|within|ok", text) else None


def _paper_numbers(card: PaperCard) -> set[Decimal]:
    """Return numbers of the paper other than the target's own, with at least two digits."""
    values = [anchor.value for anchor in card.anchors] + [sibling.value for sibling in card.target.siblings]
    if card.target.baseline is not None and card.target.baseline.value is not None:
        values.append(card.target.baseline.value)
    return {value.normalize() for value in values if len(value.normalize().as_tuple().digits) >= 2}
