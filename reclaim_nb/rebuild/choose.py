"""Which drafted cards make the suite: the same share of every stratum, drawn by a seed."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A card that may be chosen."""

    id: str
    tier: str
    band: str


@dataclass(frozen=True)
class Stratum:
    """Cards of one tier and band: how many there are and which were taken, in the order they were drawn."""

    tier: str
    band: str
    there: int
    taken: tuple[str, ...]


def choose(entries: Iterable[Entry], count: int, seed: int) -> tuple[Stratum, ...]:
    """Draw a stratified sample.

    Places are dealt to the strata one after the other, so that small strata are not lost to large ones; inside a
    stratum the order is that of a hash of seed and id. It depends on nothing but these, so a card that comes in or
    falls out does not reorder the others.

    Args:
        entries: the cards, in any order.
        count: how many to take; all where there are fewer.
        seed: the draw.
    """
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for entry in entries:
        groups[entry.tier, entry.band].append(entry.id)
    ordered = {key: sorted(set(ids), key=lambda one: _rank(seed, one)) for key, ids in sorted(groups.items())}
    places = dict.fromkeys(ordered, 0)
    left = count
    while left > 0:
        open_ = [key for key in ordered if places[key] < len(ordered[key])]
        if not open_:
            break
        # Of a last round that is not whole, the seed decides which strata get one more.
        for key in sorted(open_, key=lambda one: _rank(seed, "/".join(one)))[:left]:
            places[key] += 1
            left -= 1
    return tuple(Stratum(*key, len(ids), tuple(ids[: places[key]])) for key, ids in ordered.items())


def _rank(seed: int, name: str) -> str:
    return hashlib.sha256(f"{seed}:{name}".encode()).hexdigest()
