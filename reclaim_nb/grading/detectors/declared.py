"""Where the agent itself says that it measured something smaller, other or made up."""

from __future__ import annotations

import re
from typing import Any

from reclaim_nb.grading.evidence import Evidence
from reclaim_nb.grading.facts import Fact, fact
from reclaim_nb.grading.scan import windows
from reclaim_nb.papers.card import PaperCard

_DECLARES = re.compile(
    r"\b(?:synthetic|simulated|made[- ]up|dummy|fake|random(?:ly generated)? (?:data|inputs?|images)"
    r"|stand[- ]in|placeholder|mock|surrogate|toy (?:data|version)|proxy|subset|subsample|sub-sample"
    r"|smaller (?:model|version|network|data)|reduced|scaled[- ]down|fewer (?:epochs|steps|seeds"
    r"|samples|items)|shortened|short(?:er)? (?:run|training|schedule)|instead of (?:the )?(?:full"
    r"|real|\d)"
    r"|(?:only|just) \d[\d,]* (?:epochs?|steps?|samples?|items?|images?|examples?|seeds?)"
    r"|not the (?:full|real|original|actual)|a fraction of|down[- ]?scaled|quick (?:run|version)"
    r"|deviat\w+|approximation of the)\b",
    re.IGNORECASE,
)

_KEYS = (
    "synthetic",
    "simulated",
    "made up",
    "made-up",
    "dummy",
    "fake",
    "random",
    "stand-in",
    "stand in",
    "placeholder",
    "mock",
    "surrogate",
    "toy",
    "proxy",
    "subset",
    "subsample",
    "sub-sample",
    "smaller",
    "reduced",
    "scaled",
    "fewer",
    "short",
    "only ",
    "just ",
    "instead of",
    "not the",
    "a fraction of",
    "downscaled",
    "down-scaled",
    "quick",
    "deviat",
    "approximation",
)


def detect(evidence: Evidence, card: PaperCard, intake: dict[str, Any] | None) -> list[Fact]:
    """Find the sentences of the self-report, or of printed text, that declare a proxy."""
    found = []
    for prose in evidence.self_report:
        if (match := _DECLARES.search(prose.text)) is not None:
            found.append(fact("proxy_declared", prose.cell, None, _line(prose.text, match), word=match[0].lower()))
    for cell, output, text, low in evidence.texts:
        for window in windows(text, low, _KEYS) if output.kind != "error" else ():
            if (match := _DECLARES.search(window)) is not None:
                found.append(fact("proxy_declared", cell.id, output.index, _line(window, match), word=match[0].lower()))
                break
    return found


def _line(text: str, match: re.Match[str]) -> str:
    start = text.rfind("\n", 0, match.start()) + 1
    end = text.find("\n", match.end())
    return text[start : end if end >= 0 else len(text)].strip()
