"""Another checkpoint than the one to be measured: by its file's name, or by parts that were not in it."""

from __future__ import annotations

import re
from typing import Any

from reclaim_nb.grading.candidates import candidates
from reclaim_nb.grading.detectors.common import about
from reclaim_nb.grading.evidence import Evidence
from reclaim_nb.grading.facts import Fact, fact
from reclaim_nb.grading.lineage.state import WEIGHTS
from reclaim_nb.grading.scan import windows
from reclaim_nb.grading.vocabulary import tokens
from reclaim_nb.grading.words import words
from reclaim_nb.papers.card import PaperCard

_MISSING = re.compile(
    r"_IncompatibleKeys\(missing_keys=\[[^\]]|missing[_ ]keys?(?:\(s\))?\s*[:=]\s*\[[^\]]"
    r"|Some weights of [^\n]* were not (?:initialized|used)[^\n]*|newly initialized: \[[^\]]",
    re.IGNORECASE,
)
_EARLY = words(
    "base init initial initialization pretrained pretrain random untrained scratch start epoch0 step0 warmup"
)
_LATE = words("final best last tuned finetuned trained converged ours end")
_TRAINING = words("train fit finetune backward step optimize optimise adapt update")


def detect(evidence: Evidence, card: PaperCard, intake: dict[str, Any] | None) -> list[Fact]:
    """Find weights loaded in part, or by name not the finished ones, where nothing is trained from them."""
    found = []
    for cell, output, text, low in evidence.texts:
        for window in windows(text, low, ("missing", "initialized")):
            if (match := _MISSING.search(window)) is not None and not _trained(evidence, cell.order or 0):
                found.append(fact("missing_keys", cell.id, output.index, match[0]))
                break
    shipped = [str(file.get("path", "")) for file in (intake or {}).get("files", [])]
    finished = [path for path in shipped if path.endswith(WEIGHTS) and set(tokens(_stem(path))) & _LATE]
    named = set(tokens(f"{card.target.claim} {card.target.config or ''} {card.target.scope or ''}"))
    for c in candidates(evidence, card) if finished else ():
        loaded = [mark.removeprefix("weights:") for mark in c.origin.flow.marks if mark.startswith("weights:")]
        early = [name for name in loaded if (set(tokens(_stem(name))) & _EARLY) - named]
        if loaded and len(early) == len(loaded) and c.origin.matched and not _trained(evidence, 0):
            found.append(about("wrong_weights", c, loaded=", ".join(early), finished=", ".join(finished), by="name"))
    return found


def _trained(evidence: Evidence, order: int) -> bool:
    """Tell whether anything is trained from a cell on."""
    for call in evidence.lineage.records.calls:
        caller = evidence.by_id.get(call.cell)
        if caller is not None and (caller.order or 0) >= order and set(tokens(call.name)) & _TRAINING:
            return True
    return False


def _stem(path: str) -> str:
    return path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
