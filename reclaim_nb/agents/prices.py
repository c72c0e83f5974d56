"""What model tokens cost, by genai-prices."""

from __future__ import annotations

from decimal import Decimal

from reclaim_nb.attempts.model_usage import ModelUsage

_PRICED_AS = {"openai-chat": "openai", "openai-responses": "openai"}
"""Providers whose prices stand under another name."""


def price(reference: str | None, usage: ModelUsage) -> Decimal | None:
    """Return the price of some usage in US dollars; None when the model is not in the table, never 0.

    Args:
        reference: ``provider:model``; None for a model nobody can name.
        usage: tokens of one request.
    """
    if reference is None:
        return None
    from genai_prices import Usage, calc_price

    provider, _, model = reference.partition(":")
    spent = Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    try:
        return calc_price(spent, model_ref=model, provider_id=_PRICED_AS.get(provider, provider)).total_price
    except (LookupError, ValueError):
        return None
