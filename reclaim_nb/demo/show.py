"""What the demo notebook shows of one attempt: its verdict with the cells it rests on, and another bar."""

from __future__ import annotations

import html
import json
import os
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from reclaim_nb.errors import AttemptError
from reclaim_nb.grading.verdict import Verdict
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.criterion import Within
from reclaim_nb.papers.numbers import format_decimal
from reclaim_nb.record.folder import AttemptFolder, open_folder
from reclaim_nb.record.reader import first_event

_LONGEST_SOURCE = 1500


@dataclass(frozen=True)
class Shown:
    """Something that a notebook shows as HTML, and everything else as text."""

    text: str
    page: str

    def _repr_html_(self) -> str:
        return self.page

    def __repr__(self) -> str:
        return self.text


def newest_verdict(folder: AttemptFolder) -> Verdict:
    """Return the newest verdict of an attempt.

    Raises:
        AttemptError: when it has none.
    """
    files = sorted(folder.verdicts(), key=lambda file: file.stat().st_mtime_ns)
    if not files:
        raise AttemptError(f"{folder.path}: no verdict yet; `reclaim grade {folder.path}` makes one")
    return Verdict.model_validate_json(files[-1].read_text("utf-8"))


def show_verdict(path: Path | str) -> Shown:
    """Show an attempt's verdict, and each cell that it cites with the cited text marked.

    Args:
        path: the attempt folder.

    Raises:
        AttemptError: when there is no verdict.
    """
    folder = open_folder(path)
    verdict = newest_verdict(folder)
    value = f"{verdict.value} {verdict.unit}" if verdict.value is not None else "nothing that was measured"
    facts = [
        ("outcome", verdict.outcome.replace("_", " ") + (f" ({verdict.cause})" if verdict.cause else "")),
        ("why", verdict.meaning),
        ("observed", value),
        ("reproduced if", verdict.band),
        ("handed in", verdict.self_report.value or "nothing"),
        ("graded by", f"{verdict.grader}; {verdict.model}"),
    ]
    rows = "".join(f"<tr><th style='text-align:left'>{_safe(a)}</th><td>{_safe(b)}</td></tr>" for a, b in facts)
    cells = _cells(folder)
    evidence: dict[str, list[str]] = {}
    for citation in verdict.citations:
        evidence.setdefault(citation.cell, []).append(citation.line)
    for fact in verdict.because:
        if fact.cell is not None:
            evidence.setdefault(fact.cell, []).append(f"{fact.rule}: {fact.text}")
    link = html.escape(os.path.relpath(folder.notebook), quote=True)
    parts = []
    for cell, lines in evidence.items():
        marked = "".join(f"<li><mark><code>{_safe(line)}</code></mark></li>" for line in dict.fromkeys(lines))
        parts.append(
            f"<p>Cell <code>{_safe(cell)}</code> of <a href='{link}'>{link}</a>:</p>"
            f"<pre>{_safe(cells.get(cell, ''))}</pre><ul>{marked}</ul>"
        )
    text = "\n".join(f"{name}: {what}" for name, what in facts)
    return Shown(text, f"<table>{rows}</table>{''.join(parts)}")


def show_what_if(path: Path | str, half_width: Decimal) -> Shown:
    """Show where the measured value would stand if the criterion were the printed value plus or minus something.

    Args:
        path: the attempt folder.
        half_width: in the target's unit.

    Raises:
        AttemptError: when nothing was measured, or the paper prints no number.
    """
    folder = open_folder(path)
    verdict = newest_verdict(folder)
    card = PaperCard.model_validate(first_event(folder.stream).data["spec"]["card"])
    target = card.target.value
    if verdict.value is None or target is None:
        raise AttemptError(f"{folder.path}: there is no measured value to place, so no other bar can be tried")
    bar = Within(
        rule="within",
        value=target,
        direction=card.target.direction,
        low=target - half_width,
        high=target + half_width,
        basis="what if",
    )
    place = bar.decide(Decimal(verdict.value)).place
    said = {"inside": "reproduced", "near": "near miss", "outside": "not reproduced"}[place]
    text = (
        f"measured {verdict.value}, printed {format_decimal(target)}; "
        f"{format_decimal(bar.low)} to {format_decimal(bar.high)} {card.target.unit}: {said}. "
        f"The card's own criterion is {verdict.band}: {verdict.outcome.replace('_', ' ')}."
    )
    return Shown(text, f"<p>{_safe(text)}</p>")


def _cells(folder: AttemptFolder) -> dict[str, str]:
    notebook: dict[str, Any] = json.loads(folder.notebook.read_text("utf-8"))
    sources = {str(cell.get("id")): "".join(cell["source"]) for cell in notebook["cells"]}
    return {
        cell: source if len(source) <= _LONGEST_SOURCE else f"{source[:_LONGEST_SOURCE]}\n..."
        for cell, source in sources.items()
    }


def _safe(text: str) -> str:
    return html.escape(text)
