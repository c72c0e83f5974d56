"""Reading a printed number in the target's unit: only by declared transforms, and never by what would pass."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from reclaim_nb.errors import CardError
from reclaim_nb.grading.mentions import Number
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.numbers import CONTEXT, convert, convertible, unit
from reclaim_nb.papers.transforms import Transform

LN2 = CONTEXT.ln(Decimal(2))
_SHARE = Decimal("1.5")
"""A share above this, in the unit it would have as a fraction, can only be percent."""


@dataclass(frozen=True)
class Reading:
    """One way to read a printed number in the target's unit.

    Attributes:
        value: in the target's unit.
        how: what was done to it, in words.
        foreign: the printed unit is not the one the transform was declared for.
    """

    value: Decimal
    how: str
    foreign: bool = False


def readings(
    number: Number,
    card: PaperCard,
    transform: int | None,
    marks: frozenset[str],
    counts: Iterable[tuple[Decimal, Decimal]] = (),
) -> tuple[Reading, ...]:
    """Return every reading of a number that the evidence allows; more than one means that its unit is not known.

    Args:
        number: the printed number.
        card: the card, for unit and transforms.
        transform: position of the declared transform its name falls under, None when it names the target itself.
        marks: what the analysis says of its making (``percent``: multiplied by 100).
        counts: (correct, total) pairs printed near it.
    """
    target = card.target
    if transform is None:
        return _in_unit(number.value, number.unit, target.unit, target.value, marks, counts, "as printed")
    declared = target.transforms[transform]
    found = []
    for reading in _before_transform(number, declared, target.value, marks, counts):
        try:
            value = declared.apply(reading.value)
        except (ValueError, ArithmeticError):
            continue
        how = f"{reading.how}, then {declared.kind} as the card declares"
        source = _result_unit(declared, target.unit)
        if source is not None and convertible(source, target.unit):
            value = convert(value, source, target.unit)
        found.append(Reading(value, how, reading.foreign))
    return tuple(found)


def _result_unit(declared: Transform, wanted: str) -> str | None:
    """Return the unit a transform's result has, where it keeps its argument's."""
    return (
        declared.unit if declared.kind in ("complement", "negate") and unit(declared.unit).family == "share" else None
    )


def _before_transform(
    number: Number,
    declared: Transform,
    claimed: Decimal | None,
    marks: frozenset[str],
    counts: Iterable[tuple[Decimal, Decimal]],
) -> tuple[Reading, ...]:
    family = unit(declared.unit).family
    if family in ("nats", "bits") and number.unit is not None:
        printed = unit(number.unit).family
        if printed == family:
            return (Reading(number.value, f"{number.unit} as printed"),)
        if printed == "bits":
            return (Reading(CONTEXT.multiply(number.value, LN2), "bits as printed, in nats", foreign=True),)
        if printed == "nats":
            return (Reading(CONTEXT.divide(number.value, LN2), "nats as printed, in bits", foreign=True),)
    if family == "share":
        return _in_unit(number.value, number.unit, declared.unit, None, marks, counts, "as printed")
    if number.unit is not None and convertible(number.unit, declared.unit):
        return (Reading(convert(number.value, number.unit, declared.unit), f"{number.unit} as printed"),)
    return (Reading(number.value, "as printed"),)


def _in_unit(
    value: Decimal,
    printed: str | None,
    wanted: str,
    claimed: Decimal | None,
    marks: frozenset[str],
    counts: Iterable[tuple[Decimal, Decimal]],
    how: str,
) -> tuple[Reading, ...]:
    want = unit(wanted)
    if want.family != "share":
        if printed is not None and printed != wanted:
            try:
                return (Reading(convert(value, printed, wanted), f"{printed} as printed"),)
            except CardError:
                pass
        return (Reading(value, how),)
    if printed is not None and unit(printed).family == "share":
        literal = Reading(convert(value, printed, wanted), f"{unit(printed).name} as printed")
        if unit(printed).name == "percent" and abs(value) <= 1 and not _small(claimed, wanted) and value != 0:
            # "0.843 %" of a metric that is far above one percent: a slip of the sign cannot be told from the number.
            if "percent" in marks or _counted(value, Decimal("0.01"), counts):
                return (literal,)
            return (literal, Reading(convert(value, "fraction", wanted), "as a fraction in spite of its percent sign"))
        return (literal,)
    as_fraction = Reading(convert(value, "fraction", wanted), "as a fraction")
    as_percent = Reading(convert(value, "percent", wanted), "as percent")
    if abs(value) > _SHARE:
        return (as_percent,)
    if _counted(value, Decimal("0.01"), counts):
        return (as_percent,)
    if _counted(value, Decimal(1), counts):
        return (as_fraction,)
    if "percent" in marks and "fraction" not in marks:
        return (as_percent,)
    if abs(value) > 1:
        return (as_fraction, as_percent)
    if _small(claimed, wanted):
        return (as_fraction, as_percent)
    return (as_fraction,)


def _small(claimed: Decimal | None, wanted: str) -> bool:
    """Tell whether the claimed share is so small that numbers below one are natural in percent."""
    return claimed is not None and abs(convert(claimed, wanted, "percent")) <= _SHARE


def _counted(value: Decimal, factor: Decimal, counts: Iterable[tuple[Decimal, Decimal]]) -> bool:
    for part, total in counts:
        for share in (part / total, 1 - part / total):
            exponent = value.as_tuple().exponent
            room = Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0) * factor
            if abs(share - value * factor) <= room and share != 0:
                return True
    return False
