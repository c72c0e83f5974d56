"""Why work stopped: missing packages, missing assets, errors that a shell hid, results that are no number."""

from __future__ import annotations

import re
from typing import Any

from reclaim_nb.grading import mentions as m
from reclaim_nb.grading.evidence import Evidence, Output
from reclaim_nb.grading.facts import Fact, fact
from reclaim_nb.grading.scan import windows
from reclaim_nb.grading.vocabulary import target_words
from reclaim_nb.papers.card import PaperCard

_ENVIRONMENT = re.compile(
    r"ModuleNotFoundError|ImportError|No module named|DistributionNotFound|VersionConflict"
    r"|ResolutionImpossible|Failed building wheel"
    r"|error: (?:command|subprocess)[^\n]*(?:gcc|g\+\+|nvcc|cmake|ninja|exited)|undefined symbol"
    r"|GLIBC(?:XX)?_|libcud\w+\.so|lib\w+\.so[.\d]*: cannot open"
    r"|CUDA driver version is insufficient|no kernel image is available|CUDA error: (?:invalid device"
    r"|no CUDA)|Could not find a version that satisfies"
    r"|metadata-generation-failed|CMake Error|ninja: build stopped"
    r"|fatal error: [^\n]*\.h: No such file|incompatible with (?:your|this) (?:Python|version)"
    r"|numpy\.dtype size changed|Torch not compiled with CUDA|requires a different Python",
)
_ASSET = re.compile(
    r"\b(?:401|403|404|410|451)\b[^\n]{0,60}(?:error|forbidden|not found|unauthori[sz]ed|gone|client"
    r"|gated)|(?:error|status(?: code)?|HTTP/\d\.\d)\s*:?\s*(?:401|403|404|410)\b"
    r"|403 Forbidden|404 Not Found|401 Unauthorized|GatedRepoError|RepositoryNotFoundError"
    r"|EntryNotFoundError|gated repo|access to model [^\n]* is restricted"
    r"|checksum mismatch|hash mismatch|No space left on device|Disk quota exceeded|DatasetNotFoundError"
    r"|Name or service not known|Temporary failure in name resolution|Could not resolve host"
    r"|Network is unreachable|Failed to establish a new connection|Max retries exceeded",
    re.IGNORECASE,
)
_RAISED = re.compile(
    r"^(?:[\w.]+(?:Error|Exception|Interrupt|Exit))\b\s*(?::[^\n]*)?$"
    r"|^Traceback \(most recent call last\)|Segmentation fault|core dumped|^Killed$|CUDA out of memory"
    r"|^\s*\w+: command not found|\bMemoryError\b|^make: \*\*\*|^fatal: |^\w[\w.]*Error: ",
    re.MULTILINE,
)

_KEYS = (
    "error",
    "exception",
    "traceback",
    "no module",
    "no matching",
    "could not",
    "failed",
    "fault",
    "dumped",
    "killed",
    "not found",
    "forbidden",
    "unauthori",
    "gated",
    "mismatch",
    "no space",
    "quota",
    "not known",
    "unreachable",
    "resolution",
    "out of memory",
    "fatal",
    "undefined symbol",
    "glibc",
    "cannot open",
    "insufficient",
    "no kernel image",
    "ninja",
    "incompatible",
    "different python",
    "not compiled",
    "make: ***",
    "restricted",
    "requires a",
    "size changed",
    "interrupt",
)
_ABSENT = ("nan", "inf", "none", "null", "n/a")


def detect(evidence: Evidence, card: PaperCard, intake: dict[str, Any] | None) -> list[Fact]:
    """Find errors by kind, errors in cells that ended well, and metrics that are NaN, infinite or absent."""
    words = target_words(card)
    found: list[Fact] = []
    for cell, output, text, low in evidence.texts:
        if output.after_stop:
            continue
        kind = raised = None
        for window in windows(text, low, _KEYS):
            if kind is None and (match := _ASSET.search(window)) is not None and _is_failure(output, window):
                kind = fact("asset_failure", cell.id, output.index, _line(window, match), order=cell.order)
            elif kind is None and (match := _ENVIRONMENT.search(window)) is not None and _is_failure(output, window):
                kind = fact("environment_failure", cell.id, output.index, _line(window, match), order=cell.order)
            quiet = raised is None and output.kind in ("stream", "log") and cell.status == "ok"
            if quiet and (match := _RAISED.search(window)) is not None:
                raised = fact("masked_failure", cell.id, output.index, _line(window, match), order=cell.order)
        found.extend(one for one in (kind, raised) if one is not None)
        if output.kind == "error":
            found.append(fact("error", cell.id, output.index, text[-300:], name=output.name, order=cell.order))
        for window in windows(text, low, _ABSENT, around=0):
            for _, absent, label in m.absent(window):
                if words.names(label) or words.transform(label) is not None:
                    found.append(fact("not_a_number", cell.id, output.index, absent, label=" ".join(label)))
    return found


def _is_failure(output: Output, text: str) -> bool:
    return (
        output.kind == "error"
        or output.name == "stderr"
        or bool(_RAISED.search(text))
        or "rror" in text
        or "orbidden" in text
        or "ERROR" in text
    )


def _line(text: str, match: re.Match[str]) -> str:
    start = text.rfind("\n", 0, match.start()) + 1
    end = text.find("\n", match.end())
    return text[start : end if end >= 0 else len(text)]
