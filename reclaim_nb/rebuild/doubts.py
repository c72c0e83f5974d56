"""What a reading may have got wrong although every quote is in its place; each doubt goes to those who review it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from reclaim_nb.papers.numbers import CONTEXT, format_decimal, unit
from reclaim_nb.rebuild.bounds import Rival

_SLIPS = {"share": ((Decimal(100), "percent and fraction"),), "time": ((Decimal(1000), "seconds and milliseconds"),)}
_ALIKE = Decimal(3)
"""Two numbers are of one size where neither is more than so many times the other."""

_LOWER = frozenset(
    {"loss", "perplexity", "ppl", "error", "fid", "rmse", "mse", "mae", "nll", "wer", "cer", "latency", "regret"}
)
_HIGHER = frozenset(
    {"accuracy", "acc", "f1", "auc", "auroc", "bleu", "rouge", "recall", "precision", "map", "psnr", "ssim", "iou"}
    | {"miou", "dice", "reward", "return", "success"}
)


def unit_slips(value: Decimal, unit_name: str, rivals: Iterable[Rival]) -> list[str]:
    """Say which numbers look as if they stood in another unit than the target's, such as a fraction beside percent.

    Args:
        value: of the target.
        unit_name: its unit.
        rivals: numbers that are taken to be in the same unit.
    """
    found = []
    for factor, what in _SLIPS.get(unit(unit_name).family, ()):
        for one in rivals:
            if _alike(value, one.value):
                continue
            if _alike(value, CONTEXT.multiply(one.value, factor)) or _alike(value, CONTEXT.divide(one.value, factor)):
                pair = f"{one.what} = {format_decimal(one.value)} beside {format_decimal(value)} {unit_name}"
                found.append(f"{pair}: {what} may have been mixed up")
    return found


def _alike(one: Decimal, other: Decimal) -> bool:
    low, high = sorted((abs(one), abs(other)))
    return low > 0 and high <= _ALIKE * low


def direction_doubt(metric: str, direction: str) -> str | None:
    """Say so where a metric's name speaks against the direction that was read."""
    words = set(re.findall(r"[a-z0-9]+", metric.lower()))
    usual = {name for name, known in (("lower", _LOWER), ("higher", _HIGHER)) if words & known}
    if len(usual) == 1 and direction not in usual:
        return f"of {metric!r} usually {usual.pop()} is better, and the reading says {direction}"
    return None


def version_doubt(paper: dict[str, Any], preprint: dict[str, Any] | None) -> str | None:
    """Say so where the record names another version of the preprint than the one that was read."""
    stated = paper.get("arxiv_version")
    if stated is None or preprint is None or stated == preprint["version"]:
        return None
    return (
        f"the record names version {stated} of {preprint['id']}, and the numbers are those of version "
        f"{preprint['version']}: look whether the tables differ"
    )
