"""Declared conversions between a number that is printed and the metric a paper reports."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from reclaim_nb.papers.numbers import CONTEXT, unit

Kind = Literal["exp", "exp2", "complement", "negate", "scale", "square", "sqrt"]


class Transform(BaseModel):
    """One function a card allows: only numbers named by ``words`` in ``unit`` may pass through it.

    ``exp`` and ``exp2`` turn nats and bits per token into perplexity, ``complement`` error into accuracy
    (1 minus, or 100 minus for percent), ``scale`` multiplies by ``factor``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind
    words: tuple[str, ...] = Field(min_length=1)
    unit: str = "none"
    factor: Decimal | None = None

    @model_validator(mode="after")
    def _factor_only_for_scale(self) -> Transform:
        if (self.kind == "scale") != (self.factor is not None):
            raise ValueError("a factor belongs to kind 'scale' and to no other")
        return self

    def apply(self, value: Decimal) -> Decimal:
        """Return the number in the target's metric; ``value`` is in this transform's unit.

        Raises:
            ValueError: the function has no value there, such as the root of a negative number.
        """
        if self.kind == "exp":
            return CONTEXT.exp(value)
        if self.kind == "exp2":
            return CONTEXT.power(Decimal(2), value)
        if self.kind == "complement":
            whole = Decimal(1) / unit(self.unit).factor if unit(self.unit).family == "share" else Decimal(1)
            return CONTEXT.subtract(whole, value)
        if self.kind == "negate":
            return CONTEXT.minus(value)
        if self.kind == "square":
            return CONTEXT.multiply(value, value)
        if self.kind == "sqrt":
            if value < 0:
                raise ValueError(f"no square root of {value}")
            return CONTEXT.sqrt(value)
        assert self.factor is not None
        return CONTEXT.multiply(value, self.factor)
