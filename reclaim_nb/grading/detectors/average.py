"""Another averaging, another k, another unit of the metric than the card's."""

from __future__ import annotations

from typing import Any

from reclaim_nb.grading.candidates import candidates
from reclaim_nb.grading.detectors.common import about
from reclaim_nb.grading.evidence import Evidence
from reclaim_nb.grading.facts import Fact
from reclaim_nb.grading.vocabulary import target_words
from reclaim_nb.papers.card import PaperCard


def detect(evidence: Evidence, card: PaperCard, intake: dict[str, Any] | None) -> list[Fact]:
    """Compare the arguments in the calls that made a number, not its label, with the card."""
    words = target_words(card)
    found = []
    for c in candidates(evidence, card):
        if "reference" in c.against:
            continue
        marks = c.origin.flow.marks if c.origin.matched else frozenset()
        ks = {int(mark[2:]) for mark in marks if mark.startswith("k:")}
        wanted_k = words.top_k or (1 if "accuracy" in words.families else None)
        if wanted_k is not None and ks and wanted_k not in ks:
            found.append(about("wrong_average", c, k=min(ks), wanted=wanted_k))
        averages = {mark.split(":", 1)[1] for mark in marks if mark.startswith("average:")}
        if words.average is not None and averages and words.average not in averages:
            found.append(about("wrong_average", c, average=", ".join(sorted(averages)), wanted=words.average))
        if "top_k" in c.against or "average" in c.against:
            found.append(about("wrong_average", c, read_in="label"))
        if c.readings and all(reading.foreign for reading in c.readings):
            found.append(about("wrong_unit", c, printed=c.number.unit, how=c.readings[0].how))
    return found
