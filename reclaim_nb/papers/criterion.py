"""What counts as reproduced: a typed rule with bounds, decided by decimal arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from reclaim_nb.errors import CardError
from reclaim_nb.papers.numbers import CONTEXT, Number, decimals, format_decimal, half_last_digit, quantise

Place = Literal["inside", "near", "outside"]


@dataclass(frozen=True)
class Decision:
    """Where one measured value stands against a criterion, in the target's unit."""

    place: Place
    value: Decimal
    """The value as it was compared: rounded to one digit beyond the card's last printed one."""
    distance: Decimal
    """How far beyond the nearest bound, in units; 0 inside."""
    tolerances: Decimal | None
    """The same distance in tolerances; None where the tolerance is zero."""
    gap: Decimal | None
    """Measured minus claimed value; None where the paper prints no number."""


@dataclass(frozen=True)
class Band:
    """The interval a criterion accepts; a missing bound is unlimited, ``strict`` leaves the bound itself out."""

    low: Decimal | None
    high: Decimal | None
    tolerance: Decimal
    places: int
    strict: bool = False

    def decide(self, value: Decimal, claimed: Decimal | None = None) -> Decision:
        """Place a value: inside, near (outside by at most one more tolerance), or outside."""
        compared = quantise(value, self.places)
        beyond = Decimal(0)
        inside = True
        if self.low is not None and (compared < self.low or (self.strict and compared == self.low)):
            beyond, inside = CONTEXT.subtract(self.low, compared), False
        if self.high is not None and (compared > self.high or (self.strict and compared == self.high)):
            beyond, inside = CONTEXT.subtract(compared, self.high), False
        place: Place = "inside" if inside else "near" if beyond <= self.tolerance else "outside"
        ratio = quantise(CONTEXT.divide(beyond, self.tolerance), 2) if self.tolerance else None
        gap = CONTEXT.subtract(compared, claimed) if claimed is not None else None
        return Decision(place, compared, beyond, ratio, gap)

    def as_text(self, unit: str = "") -> str:
        """Write the interval as a person would: ``0.98 to 1.00 fraction, bounds included``."""
        tail = f" {unit}" if unit and unit != "none" else ""
        if self.low is not None and self.high is not None:
            return f"{format_decimal(self.low)} to {format_decimal(self.high)}{tail}, bounds included"
        if self.low is not None:
            return f"{'more than' if self.strict else 'at least'} {format_decimal(self.low)}{tail}"
        if self.high is not None:
            return f"{'less than' if self.strict else 'at most'} {format_decimal(self.high)}{tail}"
        return "no bound"


class Baseline(BaseModel):
    """The method a claim is measured against, and its number in the target's unit where one is printed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1)
    value: Number | None = None


class _Rule(BaseModel):
    """What every criterion has; ``value`` and ``direction`` are filled from the target by the card."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    bounded: ClassVar[bool] = True

    value: Number | None = None
    direction: Literal["higher", "lower", "none"] = "none"
    basis: str = Field(min_length=1)
    """Where the bounds come from, in one sentence."""
    from_gold: bool = False
    """Whether the bounds come from a gold run; such a criterion is withheld from agents, as the gold run is."""

    def band(self, baseline: Decimal | None = None) -> Band:
        """Return the accepted interval; ``baseline`` is the number measured in the same run, where one is needed."""
        raise NotImplementedError

    @property
    def needs_baseline(self) -> bool:
        """Whether a baseline measured in the same attempt is needed before anything can be decided."""
        return False

    def decide(self, value: Decimal, *, baseline: Decimal | None = None) -> Decision:
        """Decide one measured value.

        Args:
            value: the measured number, already in the target's unit.
            baseline: the baseline measured in the same attempt; only ``beats`` uses it.

        Returns:
            inside (bounds included), near (outside, by at most one more tolerance) or outside, with the distance.

        Raises:
            CardError: the value is not finite, or a needed baseline is missing.
        """
        return self.band(baseline).decide(value, self.value)

    def as_text(self, unit: str = "") -> str:
        """Write the accepted interval in words; a missing baseline is named instead of its number."""
        return self.band().as_text(unit)

    def _places(self, *bounds: Decimal | None) -> int:
        # One digit beyond the paper's last, and never coarser than a bound's own digits: a bound must reach itself.
        printed = [decimals(b) for b in bounds if b is not None]
        return max([*printed, decimals(self.value) + 1 if self.value is not None else max(printed, default=0) + 1])

    def _floor(self) -> Decimal:
        return half_last_digit(self.value) if self.value is not None else Decimal(0)


class Within(_Rule):
    """The value lies in a band around the claimed one, never narrower than the rounding of the printed value."""

    rule: Literal["within"]
    low: Number
    high: Number

    @model_validator(mode="after")
    def _ordered(self) -> Within:
        if self.low > self.high:
            raise ValueError("low must not be above high")
        if self.value is not None and not self.low <= self.value <= self.high:
            raise ValueError(f"the claimed value {format_decimal(self.value)} must lie between low and high")
        return self

    def band(self, baseline: Decimal | None = None) -> Band:
        """Return the band, widened to half the paper's last digit where it is narrower."""
        low, high = self.low, self.high
        if self.value is not None:
            low = min(low, CONTEXT.subtract(self.value, self._floor()))
            high = max(high, CONTEXT.add(self.value, self._floor()))
            tolerance = max(CONTEXT.subtract(self.value, low), CONTEXT.subtract(high, self.value))
        else:
            tolerance = CONTEXT.divide(CONTEXT.subtract(high, low), Decimal(2))
        return Band(low, high, tolerance, self._places(low, high))


class Between(_Rule):
    """The value lies in a range the paper states; the range is taken as it stands."""

    rule: Literal["between"]
    low: Number
    high: Number

    @model_validator(mode="after")
    def _ordered(self) -> Between:
        if self.low > self.high:
            raise ValueError("low must not be above high")
        return self

    def band(self, baseline: Decimal | None = None) -> Band:
        """Return the stated range; its tolerance is half its width."""
        half = CONTEXT.divide(CONTEXT.subtract(self.high, self.low), Decimal(2))
        return Band(self.low, self.high, max(half, self._floor()), self._places(self.low, self.high))


class AtLeast(_Rule):
    """The value reaches a lower bound."""

    rule: Literal["at_least"]
    low: Number

    def band(self, baseline: Decimal | None = None) -> Band:
        """Return the half-open range; its tolerance is what separates bound and claim."""
        gap = abs(CONTEXT.subtract(self.value, self.low)) if self.value is not None else half_last_digit(self.low)
        return Band(self.low, None, max(gap, self._floor()), self._places(self.low))


class AtMost(_Rule):
    """The value stays under an upper bound."""

    rule: Literal["at_most"]
    high: Number

    def band(self, baseline: Decimal | None = None) -> Band:
        """Return the half-open range; its tolerance is what separates bound and claim."""
        gap = abs(CONTEXT.subtract(self.value, self.high)) if self.value is not None else half_last_digit(self.high)
        return Band(None, self.high, max(gap, self._floor()), self._places(self.high))


class Beats(_Rule):
    """The value is strictly better than a baseline's, in the target's direction."""

    rule: Literal["beats"]
    baseline: Baseline
    same_run: bool = False
    """Whether the baseline measured in the same attempt counts instead of the printed one."""

    @property
    def needs_baseline(self) -> bool:
        """A baseline without a printed number, or one that the paper wants re-measured."""
        return self.same_run or self.baseline.value is None

    def band(self, baseline: Decimal | None = None) -> Band:
        """Return the open range beyond the baseline; a direction holds or not, so the tolerance is only rounding."""
        bound = baseline if baseline is not None else self.baseline.value
        if bound is None or (self.same_run and baseline is None):
            raise CardError(
                f"nothing can be decided without the baseline '{self.baseline.name}' measured in the same attempt"
            )
        if self.direction == "none":
            raise CardError("a 'beats' criterion needs a target whose direction is higher or lower")
        low, high = (bound, None) if self.direction == "higher" else (None, bound)
        return Band(low, high, half_last_digit(bound), self._places(bound), strict=True)

    def as_text(self, unit: str = "") -> str:
        """Write the accepted range, or name the baseline that is to be measured."""
        if self.needs_baseline:
            printed = f" (printed: {format_decimal(self.baseline.value)})" if self.baseline.value is not None else ""
            return f"{self.direction} than {self.baseline.name}, measured in the same attempt{printed}"
        return f"{self.band().as_text(unit)} ({self.baseline.name})"


Criterion = Annotated[Within | Between | AtLeast | AtMost | Beats, Field(discriminator="rule")]
