"""Numbers of the stream that could be the target's value, each with what speaks for and against it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from reclaim_nb.grading import mentions as m
from reclaim_nb.grading import vocabulary as v
from reclaim_nb.grading.evidence import READ_WHOLE, Cell, Evidence, Output
from reclaim_nb.grading.lineage import Origin
from reclaim_nb.grading.lineage import flow as f
from reclaim_nb.grading.readings import Reading, readings
from reclaim_nb.grading.vocabulary import TargetWords, target_words
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.numbers import decimals, quantise

TAIL_LINES = 6
PER_CELL = 600
"""Most candidates kept of one cell: the first and last halves of them."""
_DIGIT = re.compile(r"\d")
_BACKGROUND = re.compile(
    r"Thread|Process\b|Popen|Timer|asyncio|create_task|Executor|\bPool\b|&\s*(?:$|['\"])|daemon|nohup"
    r"|call_later|atexit|\bdask\b|\bray\b",
    re.MULTILINE,
)
"""Ways in which a cell leaves work running behind it."""
DEAD = frozenset({"killed", "timeout", "interrupted", "not_run"})


@dataclass(frozen=True)
class Candidate:
    """One printed number that may be the target's value.

    Attributes:
        cell, output: where it stands.
        order: place of its cell in the order of execution.
        number: the number and the words by it.
        strength: 3 named by its own label, 2 by what is around it or by the source, 1 not named at all.
        transform: position of the declared transform its name falls under.
        origin: where it comes from, by static analysis.
        readings: its value in the target's unit; more than one when the unit is not known.
        against: why it cannot be the value, empty when it can.
        matches: whether it equals the number that was handed in.
    """

    cell: str
    output: int | None
    order: int
    number: m.Number
    strength: int
    transform: int | None
    origin: Origin
    readings: tuple[Reading, ...]
    against: tuple[str, ...]
    matches: bool

    @property
    def eligible(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.against


def candidates(evidence: Evidence, card: PaperCard) -> tuple[Candidate, ...]:
    """Return the candidates of an attempt for one card, in order of execution; computed once."""
    key = ("candidates", id(card))
    if key not in evidence.memo:
        words = target_words(card)
        found: list[Candidate] = []
        for cell in evidence.executed:
            of_cell = list(_of_cell(evidence, card, words, cell))
            if len(of_cell) > PER_CELL:
                pinned = [c for c in of_cell[PER_CELL // 2 : -PER_CELL // 2] if c.matches]
                of_cell = of_cell[: PER_CELL // 2] + pinned[:50] + of_cell[-PER_CELL // 2 :]
            found.extend(of_cell)
        evidence.memo[key] = (card, tuple(found))
    result: tuple[Candidate, ...] = evidence.memo[key][1]
    return result


def numbers_of(output: Output, words: TargetWords, scenes: bool) -> Iterator[m.Number]:
    """Yield the numbers of an output that are worth a close look; those that set the scene where they are wanted."""
    if output.whole and output.length <= READ_WHOLE:
        yield from m.numbers(output.pieces[0][1])
        return
    seen: set[int] = set()
    many: set[str] = set()
    for line in output.lines:
        seen.add(line.offset)
        if line.many:
            many.add(_shape(line.text))
        yield from m.line_numbers(line.text, line.offset, scenes=scenes)
    yield from _tables(output, words, seen)
    start, text = output.pieces[-1]
    lines = text[-8000:].splitlines(keepends=True)[-TAIL_LINES:]
    offset = start + len(text)
    for line_text in reversed(lines):
        offset -= len(line_text)
        if offset not in seen and len(line_text) < 2000 and _shape(line_text.rstrip("\r\n")) not in many:
            seen.add(offset)
            yield from m.line_numbers(line_text.rstrip("\r\n"), offset, scenes=scenes)


_DIGITS = str.maketrans("", "", "0123456789.+- ")


def _shape(line: str) -> str:
    return line.translate(_DIGITS)


def _tables(output: Output, words: TargetWords, seen: set[int]) -> Iterator[m.Number]:
    """Read the rows under heads that name the target."""
    named = {max(phrase, key=len) for phrase in words.phrases}
    heads = [(at, line) for at, line in output.digest if len(line) < 500 and not _DIGIT.search(line)]
    heads = [(at, line) for at, line in heads if any(word in line.lower() for word in named)]
    for at, line in heads[:20]:
        for start, text in output.pieces:
            if not start <= at < start + len(text):
                continue
            end = at - start + len(line)
            for _ in range(30):
                stop = text.find("\n", end + 1)
                end = stop if stop >= 0 else len(text)
            block = text[at - start : min(end, at - start + 8000)]
            for number in m.numbers(block, at):
                begin = at + block.rfind("\n", 0, number.offset - at) + 1
                if number.framed and begin not in seen:
                    yield number


def _of_cell(evidence: Evidence, card: PaperCard, words: TargetWords, cell: Cell) -> Iterator[Candidate]:
    submission = evidence.submission
    handed = submission.value if submission is not None else None
    for output in cell.outputs:
        counts = None
        for number in numbers_of(output, words, handed is not None):
            matches = handed is not None and same_number(number.value, handed)
            if number.scene and not matches:
                continue
            strength, transform, origin = _strength(evidence, cell, output, number, words)
            if strength == 0 and not matches:
                continue
            if counts is None:
                counts = (
                    [(part, total) for part, total, _ in m.ratios(output.text)][:50] if output.length <= 65536 else []
                )
            if origin is None:
                origin = origin_of(evidence, cell, number)
            against = tuple(_against(cell, output, number, words, origin))
            read = readings(number, card, transform, origin.flow.marks if origin.matched else frozenset(), counts)
            yield Candidate(
                cell.id, output.index, cell.order or 0, number, strength, transform, origin, read, against, matches
            )


def origin_of(evidence: Evidence, cell: Cell, number: m.Number) -> Origin:
    """Return where a number comes from."""
    return evidence.lineage.origin(cell.id, number.text, number.line, number.column, number.words)


_NO_CONTENT = frozenset(v.SPLITS) | v.QUALIFIERS | v.SPREAD | v.GAP | v.BOUND | v.REFERENCE


@lru_cache(maxsize=20000)
def _has_content(words: tuple[str, ...]) -> bool:
    """Tell whether any of the words that stand by a number says what it is; logs repeat them over and over."""
    return any(word not in _NO_CONTENT and not v.is_generic(word) for word in words)


def _strength(
    evidence: Evidence, cell: Cell, output: Output, number: m.Number, words: TargetWords
) -> tuple[int, int | None, Origin | None]:
    own, every = number.own, number.words
    if words.names(own):
        return 3, None, None
    if (place := words.transform(own)) is not None:
        return 3, place, None
    content = _has_content(own)
    if v.families_of(own) and not words.names(every):
        return 0, None, None
    if not content or number.framed:
        if words.names(every):
            return 2, None, None
        if (place := words.transform(every)) is not None:
            return 2, place, None
        if v.families_of(every):
            return 0, None, None
    origin = origin_of(evidence, cell, number)
    named = origin.words if origin.matched else ()
    if not content or not (v.families_of(own) or v.families_of(number.around)):
        if words.names(named) or (words.names((*named, *own)) and named):
            return 2, None, origin
        if (place := words.transform(named)) is not None:
            return 2, place, origin
    if content or v.families_of(named) or v.families_of(own):
        return 0, None, origin
    copied = origin.flow.kinds & {f.SHIPPED, f.PAPER}
    if number.split is None and not copied and any(not v.says_nothing(word) for word in named):
        return 0, None, origin
    return 1, None, origin


def _against(cell: Cell, output: Output, number: m.Number, words: TargetWords, origin: Origin) -> Iterator[str]:
    if number.reference or _reference_name(origin):
        yield "reference"
    if number.stat in ("spread", "gap", "bound"):
        yield number.stat
    inherits = number.framed or not words.names(number.own)
    if not set(number.own) & v.OURS and (words.rival(number.own) or (inherits and words.rival(number.words))):
        yield "rival"
    if number.scene:
        yield "scene"
    if words.split is not None and number.split is not None and number.split != words.split:
        yield "split"
    if output.kind == "error":
        yield "traceback"
    if output.after_stop:
        yield "after_stop"
    elif output.late and (cell.status in DEAD or not _BACKGROUND.search(cell.source)):
        # Only what the cell itself left running can speak after its end.
        yield "late"
    if output.kind == "update" and output.rewrites is not None and output.rewrites[0] != cell.id:
        yield "update"
    if cell.status in DEAD:
        yield "dead_cell"
    have = set(number.words) | set(origin.words if origin.matched else ())
    if words.top_k is not None and {"top1", "top5"} & have and f"top{words.top_k}" not in have:
        yield "top_k"
    other = {"macro", "micro", "weighted"} & have
    if words.average is not None and other and words.average not in other:
        yield "average"


def _reference_name(origin: Origin) -> bool:
    # What was computed here is nobody else's number, whatever its name.
    names = origin.words
    return (
        origin.matched
        and f.COMPUTED not in origin.flow.kinds
        and bool(set(names) & v.REFERENCE)
        and not set(names) & v.OURS
    )


def digits_of(value: Decimal | None) -> tuple[str, ...]:
    """Return the first digits under which a handed-in number may be printed, as fraction and as percent."""
    if value is None:
        return ()
    found = set()
    for scaled in (value, value * 100, value / 100):
        text = format(scaled.normalize(), "f").lstrip("-")
        found.add(text[:5] if "." in text[:4] else text[:6])
    return tuple(sorted(text for text in found if len(text.replace(".", "").strip("0")) > 1))


def same_number(printed: Decimal, handed: Decimal) -> bool:
    """Tell whether a printed number is a handed-in one, to the digits of whichever has fewer, also as percent."""
    for scale in (Decimal(1), Decimal(100), Decimal("0.01")):
        other = handed * scale
        if printed == other:
            return True
        coarse, fine = (printed, other) if decimals(printed) <= decimals(other) else (other, printed)
        if (
            len(coarse.normalize().as_tuple().digits) >= 2
            and decimals(coarse) > 0
            and quantise(fine, decimals(coarse)) == coarse
        ):
            return True
    return False
