"""Decimal numbers as papers print them, and the units they are printed in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Annotated

from pydantic import BeforeValidator

from reclaim_nb.errors import CardError

# Wide enough that no card's arithmetic is ever rounded by the context itself.
CONTEXT = Context(prec=80, rounding=ROUND_HALF_EVEN)


def _no_float(value: object) -> object:
    # A float has already lost the paper's digits (8.50 becomes 8.5), so it must never reach a card silently.
    if isinstance(value, float):
        raise ValueError("expected a decimal number kept as printed, not a binary float; write it as text")
    return value


Number = Annotated[Decimal, BeforeValidator(_no_float)]
"""A pydantic field type for numbers of a paper: decimal, never through binary floating point."""

_NUMBER = re.compile(r"[+-]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?")


def parse_decimal(text: str) -> Decimal:
    """Read one printed number, digits kept as printed.

    Args:
        text: digits with an optional sign (also the typographic minus), thousands commas, and an exponent.

    Returns:
        The number; ``parse_decimal("2.50")`` keeps its two decimals.

    Raises:
        CardError: the text is not one finite decimal number.
    """
    plain = text.strip().replace("\u2212", "-")
    if not plain.isascii() or not _NUMBER.fullmatch(plain):
        raise CardError(f"expected a decimal number such as 84.3, found {text!r}")
    return Decimal(plain.replace(",", ""))


def format_decimal(value: Decimal) -> str:
    """Print a number with exactly its own digits, plain unless the exponent is very large or small."""
    if not value.is_finite():
        return str(value)
    exponent = _exponent(value)
    if exponent > 15 or (exponent < -30 and value.adjusted() < -15):
        return str(value)
    return format(value, "f")


def decimals(value: Decimal) -> int:
    """Count the printed places after the point; 0 for ``912`` and for ``1E+3``."""
    return max(0, -_exponent(value))


def half_last_digit(value: Decimal) -> Decimal:
    """Return half a unit of the last printed digit: 0.005 for ``0.99``, 0.5 for ``912``."""
    return Decimal(5).scaleb(_exponent(value) - 1, CONTEXT)


def quantise(value: Decimal, places: int) -> Decimal:
    """Round half to even at ``places`` digits after the point, exact for numbers of any size."""
    if not value.is_finite():
        raise CardError(f"expected a finite number, found {value}")
    wide = Context(prec=max(80, value.adjusted() + places + 10), rounding=ROUND_HALF_EVEN)
    return value.quantize(Decimal(1).scaleb(-places), context=wide)


def _exponent(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int):
        raise CardError(f"expected a finite number, found {value}")
    return exponent


@dataclass(frozen=True)
class Unit:
    """A unit: units of one family convert into each other by exact factors, others never do."""

    name: str
    family: str
    factor: Decimal


def _family(family: str, **members: tuple[str, str]) -> dict[str, Unit]:
    table = {}
    for name, (factor, aliases) in members.items():
        unit = Unit(name.replace("_", " "), family, Decimal(factor))
        for alias in [unit.name, *filter(None, aliases.split("|"))]:
            table[alias] = unit
    return table


# Names are case-sensitive only where case carries meaning (kB, MB, M); `unit` tries exact first, then lower case.
_UNITS: dict[str, Unit] = {
    **_family(
        "share",
        fraction=("1", "proportion|share"),
        percent=("0.01", "%|per cent|pct"),
        permille=("0.001", "‰"),
        basis_points=("0.0001", "basis point|bp|bps"),
    ),
    **_family("points", points=("1", "point|percentage points|percentage point|pp|p.p.")),
    **_family(
        "time",
        seconds=("1", "second|sec|secs|s"),
        milliseconds=("0.001", "millisecond|ms|msec"),
        microseconds=("0.000001", "microsecond|us|µs"),
        minutes=("60", "minute|min|mins"),
        hours=("3600", "hour|h|hr|hrs"),
        days=("86400", "day"),
    ),
    **_family(
        "bytes",
        bytes=("1", "byte|B"),
        kB=("1000", "KB|kilobytes"),
        MB=("1000000", "megabytes"),
        GB=("1000000000", "gigabytes"),
        TB=("1000000000000", "terabytes"),
        KiB=("1024", ""),
        MiB=("1048576", ""),
        GiB=("1073741824", ""),
    ),
    **_family(
        "count",
        count=("1", "items|rows|samples|examples"),
        thousand=("1000", "k|K|thousands"),
        million=("1000000", "M|millions"),
        billion=("1000000000", "billions"),
    ),
    **_family("factor", times=("1", "x|×|ratio|fold")),
    **_family("length", metres=("1", "metre|meters|meter|m"), cm=("0.01", ""), mm=("0.001", ""), km=("1000", "")),
    **_family("angle", degrees=("1", "degree|deg|°")),
    **_family("nats", nats=("1", "nat")),
    **_family("bits", bits=("1", "bit")),
    **_family("none", none=("1", "dimensionless|unitless")),
}


def unit(name: str) -> Unit:
    """Look a unit up by name or alias; an unknown name is a unit of its own that converts only into itself."""
    key = name.strip()
    known = _UNITS.get(key) or _UNITS.get(key.lower())
    return known or Unit(key, f"own:{key.lower()}", Decimal(1))


def convertible(source: str, target: str) -> bool:
    """Say whether a number in unit ``source`` may be read in unit ``target``."""
    return unit(source).family == unit(target).family


def convert(value: Decimal, source: str, target: str) -> Decimal:
    """Convert a number between two units of one family.

    Args:
        value: number in unit ``source``.
        source: unit name, for example ``fraction``.
        target: unit name, for example ``percent``.

    Returns:
        The number in unit ``target``; exact wherever the ratio of the factors is a finite decimal.

    Raises:
        CardError: the units belong to different families; nothing is ever guessed.
    """
    have, want = unit(source), unit(target)
    if have.family != want.family:
        raise CardError(
            f"{format_decimal(value)} {have.name} cannot be read in {want.name}: no declared conversion; "
            "declare a transform on the card if the paper's metric is a function of the printed one"
        )
    if have.factor == want.factor:
        return value
    if value == 0:
        return value
    ratio = CONTEXT.divide(have.factor, want.factor)
    return CONTEXT.multiply(value, ratio)
