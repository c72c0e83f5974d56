"""What a grading model gets to see: card without its number, facts, windows around numbers, cells; all of it quoted."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from reclaim_nb.grading.candidates import Candidate, candidates
from reclaim_nb.grading.evidence import Cell, Evidence, Output
from reclaim_nb.grading.facts import Fact
from reclaim_nb.grading.model.questions import Answer
from reclaim_nb.grading.model.votes import void_because
from reclaim_nb.papers.card import PaperCard

WINDOWS = 40
"""Most windows shown; all numbers stand in the cells, which can be read."""
WINDOW_CHARS = 700
CELLS = 150
"""Most cells listed at first; ``list_cells`` gives the others."""
READ_CHARS = 8000
"""Most characters read at once."""
FACTS = 120

_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.]*\d)")
WITHHELD = "[withheld]"


def fence_of(seed: str, vote: int, evidence: Evidence) -> str:
    """Return the word that stands in the marks around evidence: drawn from the seed, and found nowhere in it."""
    number = 0
    while True:
        word = hashlib.sha256(f"{seed}:{vote}:{number}".encode()).hexdigest()[:20]
        if not any(word in text for text in _all_texts(evidence)):
            return word
        number += 1


def _all_texts(evidence: Evidence) -> Iterator[str]:
    for cell in evidence.cells:
        yield cell.source
        for output in cell.outputs:
            yield output.text
            yield output.hidden


class Dossier:
    """What one vote gets to see.

    Args:
        evidence: the attempt's evidence.
        card: the card.
        facts: what detectors found.
        fence: the word in the marks.
    """

    def __init__(self, evidence: Evidence, card: PaperCard, facts: tuple[Fact, ...], fence: str) -> None:
        self._evidence, self._card, self._facts, self._fence = evidence, card, facts, fence

    def parts(self) -> dict[str, str]:
        """Return the parts of the first message, by the names they have in ``dossier.md``."""
        return {
            "card": card_text(self._card),
            "facts": self._fact_lines(),
            "windows": self._windows(),
            "cells": self.list_cells(0, CELLS),
        }

    def voids(self, answer: Answer) -> bool:
        """Tell whether an answer makes its vote void, so that nothing more need be asked."""
        return void_because(self._evidence, answer) is not None

    def quoted(self, text: str, where: str) -> str:
        """Return evidence between its marks."""
        return f"<<{self._fence} {where}>>\n{text}\n<<end {self._fence}>>"

    # ---- tools -----------------------------------------------------------------------------------------------

    def list_cells(self, start: int, count: int = CELLS) -> str:
        """Return a part of the list of cells, in order of execution."""
        ran = self._evidence.executed
        lines = [_cell_line(cell) for cell in ran[start : start + count]]
        left = len(ran) - start - len(lines)
        text = self.quoted("\n".join(lines) or "(none)", f"cells {start} to {start + len(lines)} of {len(ran)}")
        return text + (f"\n({left} more; list_cells with start {start + len(lines)})" if left > 0 else "")

    def read_cell(self, cell_id: str, output: int | None = None, start: int = 0, length: int = READ_CHARS) -> str:
        """Return characters of a cell's source, or of one of its outputs."""
        cell = self._evidence.by_id.get(cell_id)
        if cell is None or not cell.executed:
            return f"there is no executed cell {cell_id!r}; list_cells has their ids"
        length = min(max(length, 1), READ_CHARS)
        if output is None:
            where = f"cell {cell.id}, source, characters {start} to {min(start + length, len(cell.source))}"
            text = self.quoted(cell.source[start : start + length], f"{where} of {len(cell.source)}")
            ran = "\n\nThe kernel ran another source than this one:\n" if cell.ran is not None else ""
            shown = self.quoted(cell.ran[:READ_CHARS], f"cell {cell.id}, source as it ran") if cell.ran else ""
            return f"{text}{ran}{shown}\n({len(cell.outputs)} outputs: {', '.join(_outputs(cell)) or 'none'})"
        found = next((o for o in cell.outputs if o.index == output), None)
        if found is None:
            return f"cell {cell.id} has no output {output}; it has: {', '.join(_outputs(cell)) or 'none'}"
        return self._read_output(cell, found, start, length)

    def _read_output(self, cell: Cell, output: Output, start: int, length: int) -> str:
        shown = []
        for offset, text in output.pieces:
            first, last = max(start, offset), min(start + length, offset + len(text))
            if first < last:
                where = f"cell {cell.id}, output {output.index}, characters {first} to {last} of {output.length}"
                shown.append(self.quoted(text[first - offset : last - offset], where))
        if not output.whole:
            inside = [line for line in output.lines if start <= line.offset < start + length]
            lines = "\n".join(line.text for line in inside[:200])
            if lines:
                shown.append(self.quoted(lines, f"cell {cell.id}, output {output.index}, lines of interest there"))
            kept = ", ".join(f"{offset} to {offset + len(text)}" for offset, text in output.pieces)
            shown.append(f"(a long output: characters {kept} are kept whole; of the rest, lines of interest)")
        if output.hidden:
            shown.append(
                self.quoted(output.hidden[:2000], f"cell {cell.id}, output {output.index}, hidden in its HTML")
            )
        return "\n".join(shown) or "(nothing there)"

    # ---- parts -----------------------------------------------------------------------------------------------

    def _fact_lines(self) -> str:
        lines = []
        for fact in self._facts[:FACTS]:
            # What the agent says of its work is no evidence, also where a detector matched it.
            prose = fact.cell is not None and fact.cell not in self._evidence.by_id
            prose = prose or fact.details.get("where") == "self-report" or (fact.cell is None and fact.output is None)
            where = "" if fact.cell is None or prose else f" in cell {fact.cell}"
            where += "" if fact.output is None or prose else f", output {fact.output}"
            lines.append(f"{fact.rule}{where}" + ("" if prose or not fact.text else f": {_one_line(fact.text)}"))
        if not lines:
            return "Nothing."
        left = len(self._facts) - FACTS
        return self.quoted("\n".join(lines), "facts") + (f"\n({left} more)" if left > 0 else "")

    def _windows(self) -> str:
        found = [c for c in candidates(self._evidence, self._card) if c.output is not None and c.strength >= 2]
        found = found or [c for c in candidates(self._evidence, self._card) if c.output is not None]
        shown: dict[tuple[str, int | None, int], Candidate] = {}
        for c in (*found[: WINDOWS // 2], *found[-WINDOWS // 2 :]):
            shown.setdefault((c.cell, c.output, c.number.offset // WINDOW_CHARS), c)
        texts = [text for c in list(shown.values())[:WINDOWS] if (text := self._window(c)) is not None]
        return "\n\n".join(texts) or "No number was found that is named like the target."

    def _window(self, c: Candidate) -> str | None:
        output = next((o for o in self._evidence.by_id[c.cell].outputs if o.index == c.output), None)
        if output is None:
            return None
        for offset, text in output.pieces:
            if offset <= c.number.offset < offset + len(text):
                at = c.number.offset - offset
                start, end = max(0, at - WINDOW_CHARS // 2), min(len(text), at + WINDOW_CHARS // 2)
                return self.quoted(
                    text[start:end], f"cell {c.cell}, output {c.output}, from character {offset + start}"
                )
        return self.quoted(c.number.line[:WINDOW_CHARS], f"cell {c.cell}, output {c.output}, one line")


def card_text(card: PaperCard) -> str:
    """Return the card as a grading model sees it: what was to be measured, without the number and the criterion."""
    target = card.target
    hidden = _withheld(card)
    pairs: list[tuple[str, Any]] = [
        ("paper", card.title),
        ("tier", card.tier),
        ("claim", target.claim),
        ("metric", target.metric),
        ("unit", target.unit),
        ("direction", target.direction),
        ("split", target.split),
        ("items", target.n),
        ("seeds", target.seeds),
        ("statistic over seeds", target.statistic),
        ("scope", target.scope),
        ("where in the paper", target.where),
        ("settings", target.config),
        ("may also be printed as", "; ".join(f"{', '.join(t.words)} ({t.kind})" for t in target.transforms)),
        ("baseline", target.baseline.name if target.baseline is not None else None),
        ("easily taken for it", "; ".join(sibling.what for sibling in target.siblings)),
        ("data", "; ".join(data.name for data in card.release.data)),
        ("pitfalls", " ".join(card.pitfalls)),
        ("doubts", " ".join(card.doubts)),
    ]
    lines = []
    for name, value in pairs:
        if value not in (None, "", ()):
            shown = str(value) if isinstance(value, int) else _without(str(value), hidden)
            lines.append(f"- {name}: {shown}")
    return "\n".join(lines)


def _withheld(card: PaperCard) -> frozenset[Decimal]:
    numbers = [card.target.value, *(sibling.value for sibling in card.target.siblings)]
    numbers.append(card.gold.value if card.gold is not None else None)
    numbers.append(card.target.baseline.value if card.target.baseline is not None else None)
    for rule in (card.criterion, card.strict):
        numbers += [getattr(rule, "low", None), getattr(rule, "high", None)]
    return frozenset(number for number in numbers if number is not None)


def _without(text: str, hidden: frozenset[Decimal]) -> str:
    def shown(match: re.Match[str]) -> str:
        try:
            number = Decimal(match[0].replace(",", ""))
        except InvalidOperation:
            return match[0]
        return WITHHELD if number in hidden else match[0]

    return _NUMBER.sub(shown, text)


def _cell_line(cell: Cell) -> str:
    first = next((line for line in cell.source.splitlines() if line.strip()), "")
    return f"{cell.id} [{cell.status}, {len(cell.outputs)} outputs]: {first.strip()[:120]}"


def _outputs(cell: Cell) -> list[str]:
    kept = cell.outputs if len(cell.outputs) <= 20 else (*cell.outputs[:10], *cell.outputs[-10:])
    return [f"{output.index} ({output.kind}, {output.length} characters)" for output in kept]


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200]
