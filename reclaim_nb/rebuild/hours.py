"""Need and budget: hours from quoted sentences, a second route by FLOPs, and what is granted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any, Literal

from reclaim_nb.attempts.devices import H100_TFLOPS, factor_of
from reclaim_nb.errors import CardError
from reclaim_nb.papers.numbers import format_decimal, parse_decimal

FLOOR = Decimal("0.5")
TIMES = Decimal(3)
CAP = Decimal(96)
BANDS = (Decimal(8), Decimal(32), Decimal(96))
"""Upper edges of the bands, hours; a need on an edge belongs to the band below it."""

USED = (Decimal("0.2"), Decimal("0.4"), Decimal("0.5"))
"""Share of a device's peak that training reaches: low, middle, high."""

APART = Decimal(4)
"""Two routes that differ by more than this factor go to a person."""

_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COUNT = {name: n for n, name in enumerate(_WORDS, 1)} | {
    "a single": 1,
    "single": 1,
    "a": 1,
    "an": 1,
    "sixteen": 16,
}
_KNOWN = r"(?:B200|H200|H100|A100|L40S|L4|A40|A10G?|V100|T4|RTX\s*\d{4})"
_NAME = rf"(?P<device>(?:NVIDIA\s+|GeForce\s+|Tesla\s+)*{_KNOWN})"
_DEVICES = re.compile(
    rf"(?:(?P<n>\d+|{'|'.join(sorted(_COUNT, key=len, reverse=True))})\s*(?:x|×|\\times)?\s*)?{_NAME}", re.IGNORECASE
)
_NUMBER = r"(?P<value>\d+(?:,\d{3})*(?:\.\d+)?)"
_PRODUCT = re.compile(
    rf"{_NUMBER}\s*(?:NVIDIA\s+)?(?:GPU|{_KNOWN})[\s-]*(?P<unit>hours?|hrs?|days?)",
    re.IGNORECASE,
)
_TIME = re.compile(
    rf"{_NUMBER}\s*(?P<unit>milliseconds?|msec|ms|seconds?|secs?|s|minutes?|mins?|hours?|hrs?|h|days?|weeks?)\b",
    re.IGNORECASE,
)
_FLOPS = re.compile(
    r"(?P<value>\d+(?:\.\d+)?(?:\s*(?:e|×\s*10\^?|x\s*10\^?)\s*\{?\+?(?P<power>\d+)\}?)?)\s*"
    r"(?P<prefix>Z|E|P|T|G|zetta|exa|peta|tera|giga)?(?:FLOPs?|flops?)\b(?!\s*/?\s*s\b)",
)
_PREFIX = {"": 0, "g": 9, "giga": 9, "t": 12, "tera": 12, "p": 15, "peta": 15, "e": 18, "exa": 18, "z": 21, "zetta": 21}


@dataclass(frozen=True)
class Spent:
    """What one quoted sentence says.

    Attributes:
        quote: the sentence.
        hours: H100-equivalent hours.
        devices: how many; None where the sentence gives device-hours, which are a product already.
        device: its name.
        factor: to H100-equivalents.
        wall_clock_hours: None where only device-hours are given.
        how: the arithmetic, for people.
    """

    quote: str
    hours: Decimal
    devices: int | None
    device: str
    factor: Decimal
    wall_clock_hours: Decimal | None
    how: str


@dataclass(frozen=True)
class Needed:
    """The need with its range; ``doubts`` go to a person."""

    hours: Decimal | None
    low: Decimal | None
    high: Decimal | None
    basis: Literal["paper_reported", "derived", "unspecified"]
    source: str
    devices: int | None = None
    hardware: str | None = None
    wall_clock_hours: Decimal | None = None
    factor: Decimal | None = None
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Granted:
    """A budget and both numbers behind it; ``refusal`` where policy does not grant it."""

    hours: Decimal
    rationale: str
    band: str
    refusal: str | None = None


@cache
def _registry() -> Any:
    import pint

    return pint.UnitRegistry(non_int_type=Decimal, cache_folder=None)


def in_hours(value: Decimal, unit_name: str) -> Decimal:
    """Convert a time to hours (pint).

    Raises:
        CardError: the unit is none of time.
    """
    import pint

    registry = _registry()
    name = {"hrs": "hour", "hr": "hour", "mins": "minute", "secs": "second", "sec": "second", "msec": "millisecond"}
    try:
        found = (value * registry.Unit(name.get(unit_name.lower(), unit_name.lower()))).to("hour").magnitude
    except (pint.UndefinedUnitError, pint.DimensionalityError) as problem:
        raise CardError(f"{format_decimal(value)} {unit_name} is no time: {problem}") from None
    return _tidy(Decimal(found))


def read_sentence(quote: str, *, device: str | None = None) -> Spent:
    """Read devices and time out of one sentence.

    Device-hours ("64 A100-hours on 8 A100s") are a product already and are never multiplied by the devices again.

    Args:
        quote: the sentence as it stands in the paper.
        device: what the paper runs on, where this sentence does not say.

    Raises:
        CardError: no time, two times or no known device in it.
    """
    named = [one for one in _DEVICES.finditer(quote) if one["n"]] or list(_DEVICES.finditer(quote))
    name = " ".join(named[0]["device"].split()) if named else device
    if name is None:
        raise CardError(f"no device is named in {quote!r}")
    factor = factor_of(_spaced(name))
    if factor is None:
        raise CardError(f"no factor to H100-hours is known for {name!r}")
    products = list(_PRODUCT.finditer(quote))
    if len(products) == 1:
        hours = in_hours(parse_decimal(products[0]["value"]), products[0]["unit"])
        how = f"{format_decimal(hours)} device-hours x {factor} ({name})"
        return Spent(quote, _tidy(hours * factor), None, name, factor, None, how)
    times = list(_TIME.finditer(quote))
    if products or len(times) != 1:
        raise CardError(f"{len(products) or len(times)} times stand in {quote!r}; one is needed")
    if re.match(r"\s*(?:/|per\b|each\b)", quote[times[0].end() :]):
        raise CardError(f"the time in {quote!r} is that of a part, not of the experiment")
    wall = in_hours(parse_decimal(times[0]["value"]), times[0]["unit"])
    count = _count(named[0]["n"]) if named and named[0]["n"] else 1
    how = f"{count} x {name} x {format_decimal(wall)} h x {factor}"
    return Spent(quote, _tidy(wall * count * factor), count, name, factor, wall, how)


def read_flops(quote: str) -> Decimal:
    """Read a number of floating point operations out of a sentence.

    Raises:
        CardError: none or several stand there, or it is a speed.
    """
    found = list(_FLOPS.finditer(quote))
    if len(found) != 1:
        raise CardError(f"{len(found)} counts of FLOPs stand in {quote!r}; one is needed")
    base = Decimal(re.match(r"\d+(?:\.\d+)?", found[0]["value"])[0])  # type: ignore[index]
    return base.scaleb(int(found[0]["power"] or 0) + _PREFIX[(found[0]["prefix"] or "").lower()])


def training_flops(parameters: Decimal, tokens: Decimal) -> Decimal:
    """Return 6 N D, the FLOPs of training a dense transformer (Kaplan et al. 2020, arXiv 2001.08361, section 2.1)."""
    return 6 * parameters * tokens


def flops_hours(flops: Decimal) -> tuple[Decimal, Decimal, Decimal]:
    """Return H100-hours of so many FLOPs, low, middle and high, by the share of its peak that is reached."""
    low, middle, high = (flops / (H100_TFLOPS * Decimal(10) ** 12 * used) / 3600 for used in reversed(USED))
    return _tidy(low), _tidy(middle), _tidy(high)


def need(spent: Sequence[Spent], flops: Decimal | None = None) -> Needed:
    """Bring quoted sentences and FLOPs together.

    The same sentence twice, and the same hours in two sentences, count once; different figures are a range and a
    doubt, never a sum: whether they are parts or two accounts of one thing is for a person.

    Args:
        spent: what the sentences say.
        flops: of the whole experiment, where they can be known.
    """
    figures = {one.hours: one for one in reversed(spent)}
    second = flops_hours(flops) if flops is not None else None
    doubts = []
    if not figures:
        if second is None:
            return Needed(None, None, None, "unspecified", "the paper tells neither hours nor FLOPs")
        return Needed(second[1], second[0], second[2], "derived", f"{flops:.3E} FLOPs at {USED[1]} of an H100's peak")
    first = spent[0]
    low, high = min(figures), max(figures)
    if len(figures) > 1:
        said = " | ".join(f"{one.how} = {format_decimal(one.hours)}" for one in figures.values())
        doubts.append(f"sentences give different hours, parts or two accounts: {said}")
    source = f"{first.how} = {format_decimal(first.hours)} H100-hours"
    if second is not None:
        source += f"; by FLOPs {format_decimal(second[0])} to {format_decimal(second[2])}"
        if first.hours > second[2] * APART or first.hours * APART < second[0]:
            doubts.append(f"the two routes are more than {APART} times apart: {source}")
        low, high = min(low, second[0]), max(high, second[2])
    return Needed(
        first.hours,
        low,
        high,
        "paper_reported",
        source,
        first.devices,
        first.device,
        first.wall_clock_hours,
        first.factor,
        tuple(doubts),
    )


def band_of(hours: Decimal) -> str:
    """Return the band of a need: ``0-8``, ``8-32``, ``32-96`` or ``above``."""
    low = Decimal(0)
    for edge in BANDS:
        if hours <= edge:
            return f"{low}-{edge}"
        low = edge
    return "above"


def grant(hours: Decimal, *, cap: Decimal = CAP, times: Decimal = TIMES, floor: Decimal = FLOOR) -> Granted:
    """Return the budget of a need: three times, at least half an hour, at most what policy allows.

    Args:
        hours: the need.
        cap: most hours granted; a need above it is refused.
        times: how often the need is granted.
        floor: least hours granted.
    """
    wanted = times * hours
    given = min(max(wanted, floor), cap)
    text = f"{format_decimal(times)} x need {format_decimal(hours)} = {format_decimal(wanted)}"
    if wanted < floor:
        text += f", raised to the floor {format_decimal(floor)}"
    if wanted > cap:
        text += f", cut to the cap {format_decimal(cap)}"
    refused = (
        f"the need of {format_decimal(hours)} hours exceeds the cap of {format_decimal(cap)}" if hours > cap else None
    )
    return Granted(given, text, band_of(hours), refused)


def _count(text: str) -> int:
    plain = text.lower()
    return int(plain) if plain.isdigit() else _COUNT[plain]


def _spaced(name: str) -> str:
    return re.sub(r"(?i)rtx\s*", "RTX ", name)


def _tidy(hours: Decimal) -> Decimal:
    rounded = hours.quantize(Decimal("0.0001")).normalize()
    return rounded.quantize(Decimal(1)) if rounded == rounded.to_integral() else rounded
