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


_OF_DATA = re.compile(
    r"synthetic|simulated|made|dummy|fake|random|stand|placeholder|mock|surrogate|toy data|not the (?:real|actual|orig)"
    r"|instead of (?:the )?real",
    re.IGNORECASE,
)
"""Declarations that data is made up, and not only that there is less of something."""
_DENIED = re.compile(
    r"\b(?:no|not|never|without|nor|neither|avoid(?:s|ed|ing)?|rather than|instead of|free of|\w+n't)"
    r"(?:\s+(?!(?:so|is|are|was|were|but|and|hence|therefore|thus|we|i|it|this)\b)\w[\w-]*){0,4}\s+$",
    re.IGNORECASE,
)
"""What stands before a word in its clause when it is not declared but denied."""


def detect(evidence: Evidence, card: PaperCard, intake: dict[str, Any] | None) -> list[Fact]:
    """Find the sentences of the self-report, or of printed text, that declare a proxy."""
    found = []
    for prose in evidence.self_report:
        found += _declared(prose.text, prose.cell, None)
    for cell, output, text, low in evidence.texts:
        for window in windows(text, low, _KEYS) if output.kind != "error" else ():
            if facts := _declared(window, cell.id, output.index):
                found += facts
                break
    return found


def _declared(text: str, cell: str | None, output: int | None) -> list[Fact]:
    """Return the first declaration of each kind: of made-up data, and of anything smaller."""
    found: dict[bool, Fact] = {}
    for match in _DECLARES.finditer(text):
        of_data = bool(_OF_DATA.match(match[0]))
        if of_data in found or _DENIED.search(text[max(0, match.start() - 80) : match.start()]):
            continue
        word = match[0].lower()
        found[of_data] = fact("proxy_declared", cell, output, _line(text, match), word=word, of_data=of_data)
    return list(found.values())


def _line(text: str, match: re.Match[str]) -> str:
    start = text.rfind("\n", 0, match.start()) + 1
    end = text.find("\n", match.end())
    return text[start : end if end >= 0 else len(text)].strip()
