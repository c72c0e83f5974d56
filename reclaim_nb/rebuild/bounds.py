"""The criterion of a target, derived from what is known of its noise; and when no bar tells the claim from others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import stdev
from typing import Literal

from reclaim_nb.papers.criterion import Within
from reclaim_nb.papers.numbers import CONTEXT, decimals, format_decimal, half_last_digit, quantise, unit

Route = Literal["spread", "seeds", "bootstrap", "binomial", "default"]

DEFAULT = Decimal("0.05")
"""Declared half width, as a share of the value, where nothing is known of the noise."""

_SURE = 0.975
_DRAWS = 2000


@dataclass(frozen=True)
class Rival:
    """A number that is not the claim: ``what`` names it, ``value`` is in the target's unit."""

    what: str
    value: Decimal


@dataclass(frozen=True)
class Noise:
    """What is known of how far an honest repetition may land, everything in the target's unit.

    Attributes:
        std: reported standard deviation over seeds.
        seeds: number of seeds behind the printed value.
        values: the single seeds' values.
        n: items that the metric is counted over.
        items: the metric per item.
    """

    std: Decimal | None = None
    seeds: int | None = None
    values: tuple[Decimal, ...] = ()
    n: int | None = None
    items: tuple[float, ...] = ()


@dataclass(frozen=True)
class Bar:
    """A derived criterion, or the reasons why there is none."""

    criterion: Within | None
    route: Route
    basis: str
    refusals: tuple[str, ...] = ()


def derive(
    value: Decimal,
    unit_name: str,
    direction: Literal["higher", "lower", "none"],
    noise: Noise,
    rivals: Sequence[Rival] = (),
    *,
    baseline: Rival | None = None,
    default: Decimal = DEFAULT,
    counted: bool = False,
    seed: int = 0,
) -> Bar:
    """Derive the band of a target and look whether it can tell the claim from its rivals.

    A spread over seeds gives the interval of one further run (Student's t); the single seeds' values the same from
    their own standard deviation; values per item a bootstrap of their mean (scipy, seeded); n items of a metric that
    counts right and wrong a Wilson interval (statsmodels). Else the declared default, for a share at most half of the
    room that is left to the whole.

    Args:
        value: the printed value.
        unit_name: its unit.
        direction: which way is better.
        noise: what is known.
        rivals: siblings in the target's unit.
        baseline: the method that is claimed to be beaten.
        default: declared half width, as a share of the value.
        counted: the metric counts right and wrong items, so that n items have binomial noise.
        seed: of the bootstrap.
    """
    route, low, high, why = _interval(value, unit_name, noise, default, counted, seed)
    places = max(decimals(value) + 1, 3 if route == "default" else 0)
    floor = half_last_digit(value)
    low = min(quantise(low, places), CONTEXT.subtract(value, floor))
    high = max(quantise(high, places), CONTEXT.add(value, floor))
    rule = Within(rule="within", value=value, direction=direction, low=low, high=high, basis=why)
    refusals = []
    whole = _whole(unit_name)
    if whole is not None and value > whole:
        refusals.append(f"{format_decimal(value)} is more than the whole in {unit(unit_name).name}")
    elif whole is not None and high >= whole and value < whole and route == "default":
        refusals.append(f"the band reaches the whole ({format_decimal(whole)}), so that its upper side cannot fail")
    if baseline is not None and direction != "none":
        worse = baseline.value > value if direction == "higher" else baseline.value < value
        if worse:
            refusals.append(
                f"{baseline.what} = {format_decimal(baseline.value)} is better than the claim "
                f"{format_decimal(value)} where {direction} is better: the direction or a number is wrong"
            )
    for one in [*([baseline] if baseline is not None else []), *rivals]:
        if rule.decide(one.value).place == "inside":
            refusals.append(f"{one.what} = {format_decimal(one.value)} lies inside {rule.as_text(unit_name)}")
    return Bar(None if refusals else rule, route, why, tuple(dict.fromkeys(refusals)))


def _interval(
    value: Decimal, unit_name: str, noise: Noise, default: Decimal, counted: bool, seed: int
) -> tuple[Route, Decimal, Decimal, str]:
    if noise.std is not None and noise.std > 0:
        half = _further_run(noise.std, noise.seeds)
        of = f"{noise.seeds} seeds" if noise.seeds else "seeds of unstated number"
        why = f"95 % interval of one further run, from the reported spread {format_decimal(noise.std)} over {of}"
        return "spread", CONTEXT.subtract(value, half), CONTEXT.add(value, half), why
    if len(noise.values) >= 3:
        spread = Decimal(repr(stdev(map(float, noise.values))))
        if spread > 0:
            half = _further_run(spread, len(noise.values))
            why = f"95 % interval of one further run, from the values of {len(noise.values)} seeds"
            return "seeds", CONTEXT.subtract(value, half), CONTEXT.add(value, half), why
    if len(noise.items) >= 10:
        low, high = _bootstrap(noise.items, seed)
        middle = Decimal(repr(math.fsum(noise.items) / len(noise.items)))
        why = f"95 % bootstrap interval of the mean of {len(noise.items)} items, {_DRAWS} draws, seed {seed}"
        return "bootstrap", value - (middle - low), value + (high - middle), why
    whole = _whole(unit_name)
    if counted and noise.n and whole is not None and 0 <= value <= whole:
        low, high = _wilson(CONTEXT.divide(value, whole), noise.n)
        why = f"95 % Wilson interval of {noise.n} items that are right or wrong"
        return "binomial", CONTEXT.multiply(low, whole), CONTEXT.multiply(high, whole), why
    half = CONTEXT.multiply(abs(value), default)
    why = f"declared default, {format_decimal(default * 100)} % of the value: nothing is known of its noise"
    if whole is not None and 0 < value < whole and 2 * half > whole - value:
        half = CONTEXT.divide(CONTEXT.subtract(whole, value), Decimal(2))
        why = "declared default, half of what is left to the whole: nothing is known of its noise"
    return "default", CONTEXT.subtract(value, half), CONTEXT.add(value, half), why


def _whole(unit_name: str) -> Decimal | None:
    known = unit(unit_name)
    return CONTEXT.divide(Decimal(1), known.factor) if known.family == "share" else None


def _further_run(spread: Decimal, seeds: int | None) -> Decimal:
    from scipy.stats import t

    if seeds is None or seeds < 2:
        return 2 * spread
    return spread * Decimal(repr(float(t.ppf(_SURE, seeds - 1)) * math.sqrt(1 + 1 / seeds)))


def _wilson(share: Decimal, n: int) -> tuple[Decimal, Decimal]:
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(float(share) * n, n, method="wilson")
    return Decimal(repr(float(low))), Decimal(repr(float(high)))


def _bootstrap(items: Sequence[float], seed: int) -> tuple[Decimal, Decimal]:
    import numpy
    from scipy.stats import bootstrap

    found = bootstrap(
        (numpy.asarray(items),),
        numpy.mean,
        n_resamples=_DRAWS,
        method="percentile",
        rng=numpy.random.default_rng(seed),
    ).confidence_interval
    return Decimal(repr(float(found.low))), Decimal(repr(float(found.high)))
