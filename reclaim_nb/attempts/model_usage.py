"""What an agent's model has used: tokens as the service counted them, and their price where it is known."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """Tokens and price of one or many requests.

    Attributes:
        requests: answers of the service.
        input_tokens: all tokens sent, cached ones among them.
        cached_tokens: of these, read from a cache.
        cache_write_tokens: of these, written to a cache.
        output_tokens: all tokens received, reasoning among them.
        reasoning_tokens: of these, reasoning.
        usd: price; None when that of any request is unknown.
    """

    requests: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    usd: Decimal | None = Decimal(0)

    @property
    def tokens(self) -> int:
        """Tokens in and out."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: ModelUsage) -> ModelUsage:
        return ModelUsage(
            self.requests + other.requests,
            self.input_tokens + other.input_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.output_tokens + other.output_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            None if self.usd is None or other.usd is None else self.usd + other.usd,
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "requests": self.requests,
            "input_tokens": self.input_tokens,
            "cached_tokens": self.cached_tokens,
            "cache_write_tokens": self.cache_write_tokens,
            "output_tokens": self.output_tokens,
            "reasoning_tokens": self.reasoning_tokens,
            "usd": None if self.usd is None else str(self.usd),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ModelUsage:
        """Return the usage that :meth:`to_json` wrote."""
        usd = data.get("usd")
        counts = {name: int(data.get(name) or 0) for name in cls.__dataclass_fields__ if name != "usd"}
        return cls(**counts, usd=None if usd is None else Decimal(usd))
