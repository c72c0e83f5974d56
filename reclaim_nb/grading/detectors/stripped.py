"""Something the work needed that the harness itself had taken away."""

from __future__ import annotations

import re
from typing import Any

from reclaim_nb.grading.evidence import Evidence
from reclaim_nb.grading.facts import Fact, fact
from reclaim_nb.papers.card import PaperCard

_MISSING = re.compile(
    r"No module named ['\"]([\w.]+)['\"]|cannot import name '(\w+)'"
    r"|No such file or directory: ['\"]([^'\"]+)['\"]|ModuleNotFoundError: (?!No module)([\w.]+)"
)


def detect(evidence: Evidence, card: PaperCard, intake: dict[str, Any] | None) -> list[Fact]:
    """Find errors that name a file which the intake lists as removed."""
    removed = _removed(intake)
    if not removed:
        return []
    found = []
    for cell, output, text, _ in evidence.texts:
        if output.after_stop:
            continue
        for match in _MISSING.finditer(text[-20000:]):
            name = next(group for group in match.groups() if group)
            stem = name.replace("\\", "/").rsplit("/", 1)[-1]
            for path in removed:
                last = path.rsplit("/", 1)[-1]
                if (
                    last == stem
                    or last.removesuffix(".py") == name.split(".")[-1]
                    or last.removesuffix(".py") == name.split(".")[0]
                ):
                    found.append(fact("removed_by_harness", cell.id, output.index, match[0], path=path))
    return found


def _removed(intake: dict[str, Any] | None) -> list[str]:
    listed = []
    for key in ("removed", "stripped", "withheld"):
        for item in (intake or {}).get(key) or []:
            path = item.get("path") if isinstance(item, dict) else str(item)
            if path and not str(path).endswith(".ipynb"):
                listed.append(str(path))
    return listed
