"""Which number of the stream is the target's value: one, none, or more than the evidence can tell apart.

What was handed in chooses among the numbers that were printed; it never becomes the value by itself. Without one, the
last number that is named like the target and measured as the card asks counts. Being near the target never helps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from reclaim_nb.attempts.tools import HANDED_IN
from reclaim_nb.errors import CardError
from reclaim_nb.grading.candidates import Candidate, candidates
from reclaim_nb.grading.evidence import Evidence, Submission
from reclaim_nb.grading.lineage import Origin
from reclaim_nb.grading.mentions import Number
from reclaim_nb.grading.provenance import of_flow, provenance
from reclaim_nb.grading.readings import Reading, readings
from reclaim_nb.grading.vocabulary import tokens
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.criterion import Decision
from reclaim_nb.papers.numbers import CONTEXT, decimals, quantise

MEASURED = frozenset({"computed", "unknown"})
FORGED = frozenset({"literal", "planted", "shipped", "paper"})
WRONG = frozenset({"split", "top_k", "average"})
"""Reasons against a candidate that make it the wrong number rather than no number."""


@dataclass(frozen=True)
class Resolution:
    """What was found for one target.

    Attributes:
        state: ``number``, ``none`` or ``ambiguous``.
        candidate: the printed number that is the value.
        value: in the target's unit.
        how: how it was read, in words.
        decision: where it stands against the criterion.
        strict: the same against the card's strict criterion, where it has one.
        claimed: the printed number that is put forward as the result but was not measured.
        claim: ``supported``, ``unsupported``, ``differs`` or ``none``: what was handed in against what was printed.
        series: the runs behind a value that is a statistic of several.
        selected: the value is the best of several runs.
        baseline: the baseline measured in the same attempt, where the criterion needs one.
        reasons: why the state is what it is.
    """

    state: str
    candidate: Candidate | None = None
    value: Decimal | None = None
    how: str = ""
    decision: Decision | None = None
    strict: Decision | None = None
    claimed: Candidate | None = None
    claim: str = "none"
    series: tuple[Candidate, ...] = ()
    selected: bool = False
    baseline: Decimal | None = None
    reasons: tuple[str, ...] = field(default=())


def resolve(evidence: Evidence, card: PaperCard) -> Resolution:
    """Return the value of a card's target in an attempt's evidence."""
    found = [*candidates(evidence, card), *_handed(evidence, card)]
    claimed = _claimed(evidence, card, found)
    pool = [c for c in found if provenance(c, card) in MEASURED]
    submission = evidence.submission
    pinned = [c for c in pool if c.matches and "reference" not in c.against and "traceback" not in c.against]
    claim = "none"
    if submission is not None and submission.value is not None:
        claim = "supported" if pinned else "unsupported"
    if pinned:
        return _decide(evidence, card, _pinned(pinned, submission), pool, None, claim)
    resolution = _unpinned(evidence, card, pool, claimed, claim)
    if claim == "unsupported" and resolution.state == "number" and claimed is None:
        resolution = replace(resolution, claim="differs")
    return resolution


def _pinned(pinned: list[Candidate], submission: Submission | None) -> list[Candidate]:
    """Choose the best of the numbers that equal the one handed in: where it was printed, not where it was handed in."""
    cell = submission.cell if submission else None
    echo = HANDED_IN.format(submission.text) if submission else None

    def rank(c: Candidate) -> tuple[bool, bool, bool, int, bool, bool, int]:
        wrong = bool(set(c.against) - WRONG)
        printed = c.number.line.strip() != echo
        return (not wrong, c.eligible, c.cell == cell, min(c.strength, 2), not c.number.scene, printed, c.order)

    return [max(pinned, key=rank)]


def _unpinned(
    evidence: Evidence, card: PaperCard, pool: list[Candidate], claimed: Candidate | None, claim: str
) -> Resolution:
    named = [c for c in pool if c.strength >= 2 and c.eligible]
    if not named:
        named = _bare(card, [c for c in pool if c.strength == 1 and c.eligible])
    if not named:
        named = [c for c in pool if c.strength >= 2 and c.against and set(c.against) <= WRONG]
    if not named:
        return Resolution("none", claimed=claimed, claim=claim, reasons=("no number of the target was measured",))
    return _decide(evidence, card, _narrow(card, named), pool, claimed, claim)


def _bare(card: PaperCard, found: list[Candidate]) -> list[Candidate]:
    """Numbers that nothing names count only where there is nothing to choose: the last cell's, or the split's."""
    if not found:
        return []
    of_split = [c for c in found if c.number.split is not None]
    if of_split:
        return of_split
    last = max(c.order for c in found)
    return [c for c in found if c.order == last]


def _narrow(card: PaperCard, found: list[Candidate]) -> list[Candidate]:
    """Keep the numbers that are most clearly the final result; what is left may still be several."""
    steady = [c for c in found if not c.number.progress or c.number.final]
    if not steady:
        last = max(c.order for c in found)
        of_cell = [c for c in found if c.order == last]
        return [max(of_cell, key=lambda c: (c.output or 0, c.number.offset))]
    found = steady
    split = next((s for s in (card.target.split,) if s), None)
    if split is not None:
        explicit = [c for c in found if c.number.split is not None]
        found = explicit or found
    last = max(c.order for c in found)
    kept = [c for c in found if c.order == last]
    final = [c for c in kept if c.number.final]
    kept = final or kept
    wanted = _statistic(card)
    for stat in (wanted, None):
        if stat is not None and any(c.number.stat == stat for c in kept):
            kept = [c for c in kept if c.number.stat == stat]
            break
    else:
        plain = [c for c in kept if c.number.stat in (None, wanted)]
        kept = plain or kept
    best = max(c.strength for c in kept)
    return [c for c in kept if c.strength == best]


def _statistic(card: PaperCard) -> str | None:
    text = card.target.statistic
    if text is not None:
        from reclaim_nb.grading.vocabulary import STATISTICS

        return next((STATISTICS[word] for word in tokens(text) if word in STATISTICS), None)
    return "mean" if (card.target.seeds or 0) > 1 else None


def _decide(
    evidence: Evidence,
    card: PaperCard,
    chosen: list[Candidate],
    pool: list[Candidate],
    claimed: Candidate | None,
    claim: str,
) -> Resolution:
    last = chosen[-1]
    selected = is_selected(card, last)
    if selected:
        runs = _runs_behind(card, last, pool)
        if len(runs) > 1:
            return _mean_of(evidence, card, runs, last, claimed, claim, selected=True)
    distinct = _distinct(chosen)
    if len(distinct) > 1 and _statistic(card) == "mean" and _is_series(distinct):
        return _mean_of(evidence, card, distinct, last, claimed, claim, selected=False)
    values = [(c, reading) for c in distinct for reading in _refined(evidence, card, c)]
    if not values:
        return Resolution("none", claimed=claimed, claim=claim, reasons=("no number can be read in the target's unit",))
    decided = [(c, reading, _decision(evidence, card, reading.value, pool)) for c, reading in values]
    places = {decision.place if decision else None for _, _, decision in decided}
    candidate, reading, decision = decided[0] if len(distinct) == 1 else decided[-1]
    base = Resolution(
        "number",
        candidate,
        reading.value,
        reading.how,
        decision,
        None,
        claimed,
        claim,
        (),
        selected,
        _baseline(evidence, card, pool),
    )
    if len(places) > 1:
        texts = ", ".join(dict.fromkeys(f"{c.number.text} {r.how} = {r.value}" for c, r, _ in decided))
        why = f"the evidence does not tell which of these is meant, and they do not all end the same: {texts}"
        return replace(base, state="ambiguous", reasons=(why,))
    if decision is not None and card.strict is not None:
        base = replace(base, strict=_decision(evidence, card, reading.value, pool, strict=True))
    return base


def _refined(evidence: Evidence, card: PaperCard, c: Candidate) -> tuple[Reading, ...]:
    """Add the digits that were handed in to those that were printed; both must then end the same."""
    submission = evidence.submission
    if not c.matches or submission is None or submission.value is None or not c.readings:
        return c.readings
    value, handed = c.number.value, submission.value
    for scale in (Decimal(1), Decimal(100), Decimal("0.01")):
        fine = handed * scale
        if decimals(fine) > decimals(value) and quantise(fine, decimals(value)) == value:
            number = replace(c.number, value=fine)
            finer = readings(number, card, c.transform, c.origin.flow.marks)
            if len(finer) == len(c.readings) == 1:
                return (replace(finer[0], how=f"{finer[0].how}, with the digits handed in"), c.readings[0])
    return c.readings


def _distinct(found: Iterable[Candidate]) -> list[Candidate]:
    by_value: dict[Decimal, Candidate] = {}
    for c in found:
        value = c.readings[0].value if c.readings else c.number.value
        equal = next((v for v in by_value if _rounds_to(v, value)), None)
        if equal is None:
            by_value[value] = c
        elif decimals(value) > decimals(equal):
            del by_value[equal]
            by_value[value] = c
    return list(by_value.values())


def _rounds_to(first: Decimal, second: Decimal) -> bool:
    places = min(decimals(first), decimals(second))
    return first == second or (places > 0 and quantise(first, places) == quantise(second, places))


def _is_series(found: Sequence[Candidate]) -> bool:
    """Tell whether numbers are runs of one measurement: same cell and the same words."""
    first = found[0]
    return all(
        (c.cell, c.number.own, c.number.around) == (first.cell, first.number.own, first.number.around) for c in found
    )


def is_selected(card: PaperCard, c: Candidate) -> bool:
    """Tell whether a value is the best of several where the card asks for no such thing."""
    better = "min" if card.target.direction == "lower" else "max"
    if _statistic(card) == better:
        return False
    marks = c.origin.flow.marks if c.origin.matched else frozenset()
    return (better in marks and "mean" not in marks and bool(c.origin.flow.names)) or c.number.stat == better


def _runs_behind(card: PaperCard, best: Candidate, pool: list[Candidate]) -> list[Candidate]:
    """Return the printed runs that a best value was chosen from."""
    if not best.readings:
        return []
    top = best.readings[0].value
    sources = best.origin.flow.cells | {best.cell}
    by_cell: dict[str, list[Candidate]] = {}
    for c in pool:
        if (
            c.cell in sources
            and c.readings
            and not set(c.against) - {"rival"}
            and (c.cell, c.number.offset)
            != (
                best.cell,
                best.number.offset,
            )
        ):
            by_cell.setdefault(c.cell, []).append(c)
    higher = card.target.direction != "lower"
    for runs in reversed(list(by_cell.values())):
        values = [c.readings[0].value for c in runs]
        edge = max(values) if higher else min(values)
        if len(runs) > 1 and _rounds_to(edge, top):
            return runs
    return []


def _mean_of(
    evidence: Evidence,
    card: PaperCard,
    runs: Sequence[Candidate],
    last: Candidate,
    claimed: Candidate | None,
    claim: str,
    *,
    selected: bool,
) -> Resolution:
    values = [c.readings[0].value for c in runs if c.readings]
    total = Decimal(0)
    for value in values:
        total = CONTEXT.add(total, value)
    mean = CONTEXT.divide(total, Decimal(len(values)))
    decision = _decision(evidence, card, mean, [])
    how = f"mean of the {len(values)} runs printed in cell {runs[-1].cell}"
    return Resolution(
        "number", last, decision.value if decision else mean, how, decision, None, claimed, claim, tuple(runs), selected
    )


def _decision(
    evidence: Evidence, card: PaperCard, value: Decimal, pool: list[Candidate], *, strict: bool = False
) -> Decision | None:
    rule = card.strict if strict else card.criterion
    if rule is None:
        return None
    try:
        return rule.decide(value, baseline=_baseline(evidence, card, pool) if rule.needs_baseline else None)
    except CardError:
        return None


def _baseline(evidence: Evidence, card: PaperCard, pool: list[Candidate]) -> Decimal | None:
    """Return the baseline measured in the same attempt: the last number named like it."""
    if card.criterion is None or not card.criterion.needs_baseline:
        return None
    rivals = [c for c in pool if "rival" in c.against and c.readings and set(c.against) <= {"rival"}]
    return rivals[-1].readings[0].value if rivals else None


def _handed(evidence: Evidence, card: PaperCard) -> list[Candidate]:
    """Return the value handed in by a cell's own code, which counts like a printed one."""
    submission = evidence.submission
    if submission is None or submission.value is None or submission.from_cell is None:
        return []
    handed = [h for h in evidence.lineage.records.handed if h.cell == submission.from_cell]
    cell = evidence.by_id.get(submission.from_cell)
    if not handed or cell is None:
        return []
    flow = handed[-1].value
    text = submission.text
    number = Number(
        offset=0,
        text=text,
        value=submission.value,
        unit=None,
        per=None,
        own=(),
        around=(),
        split=None,
        n=None,
        stat=None,
        reference=False,
        scene=False,
        progress=False,
        final=True,
        alone=True,
        framed=False,
        line=text,
        column=0,
    )
    origin = Origin(flow, True, False, handed[-1].line)
    read = readings(number, card, None, flow.marks)
    return [Candidate(cell.id, None, cell.order or 0, number, 1, None, origin, read, (), True)]


def _claimed(evidence: Evidence, card: PaperCard, found: list[Candidate]) -> Candidate | None:
    """Return the number that is put forward as the result although nothing measured it."""
    measured = [c for c in found if provenance(c, card) in MEASURED and "reference" not in c.against]
    forged = [c for c in found if of_flow(c.origin.flow, c.number.value, card, matched=c.origin.matched) in FORGED]
    submission = evidence.submission
    if submission is not None and submission.value is not None:
        if any(c.matches for c in measured):
            return None
        pinned = [c for c in forged if c.matches]
        return max(pinned, key=lambda c: (c.output is not None, c.eligible, c.order)) if pinned else None
    stated = [
        c for c in forged if c.strength >= 2 and (c.eligible or c.against == ("update",)) and not c.number.progress
    ]
    stated += [c for c in forged if c.strength == 1 and c.eligible and not measured and c.number.alone]
    passing = [c for c in stated if _passes(evidence, card, c) and not _repeats(c, measured)]
    if not passing:
        return None
    last = max(passing, key=lambda c: c.order)
    later = [c for c in measured if c.strength >= 2 and c.eligible and c.order > last.order and not c.number.progress]
    return None if later else last


def _repeats(c: Candidate, measured: list[Candidate]) -> bool:
    """Tell whether a number only repeats what was measured before."""
    return any(m.order <= c.order and _rounds_to(m.number.value, c.number.value) and m.strength >= 1 for m in measured)


def _passes(evidence: Evidence, card: PaperCard, c: Candidate) -> bool:
    for reading in c.readings:
        decision = _decision(evidence, card, reading.value, [])
        if decision is not None and decision.place in ("inside", "near"):
            return True
    return False
