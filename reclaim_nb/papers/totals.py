"""What a suite amounts to: papers by tier, band, area and kind of bar, hours, and which are doubtful or broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict

from reclaim_nb.papers.card import AuditState, BarKind, PaperCard, Tier
from reclaim_nb.papers.numbers import CONTEXT, Number, decimals, format_decimal, quantise

Band = Literal["0-8", "8-32", "32-96", "over 96", "unknown"]

TIERS: tuple[Tier, ...] = get_args(Tier)
BANDS: tuple[Band, ...] = get_args(Band)
PUBLISHED_BANDS: tuple[Band, ...] = ("0-8", "8-32", "32-96")
BARS: tuple[str, ...] = (*get_args(BarKind), "unset")
AUDIT_STATES: tuple[AuditState, ...] = get_args(AuditState)

# Upper edges in H100-hours, included; arXiv 2609.28850 draws its papers from these three bands.
_EDGES: tuple[tuple[Decimal, Band], ...] = ((Decimal(8), "0-8"), (Decimal(32), "8-32"), (Decimal(96), "32-96"))


class DeclaredTotals(BaseModel):
    """What a suite's manifest says the cards add up to; only what is named is compared."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cards: int | None = None
    tiers: dict[Tier, int] | None = None
    bands: dict[Band, int] | None = None
    h100_hours: Number | None = None
    """Need of all cards on a GPU, compared at the digits that are printed here."""
    bars: dict[BarKind | Literal["unset"], int] | None = None
    areas: dict[str, int] | None = None
    audit: dict[AuditState, int] | None = None


@dataclass(frozen=True)
class Totals:
    """What the cards of a suite add up to; names are ids in the order of the cards."""

    cards: int
    tiers: dict[Tier, int]
    bands: dict[Band, int]
    grid: dict[tuple[Tier, Band], int]
    """Papers by tier and band."""
    bars: dict[str, int]
    areas: dict[str, int]
    h100_hours: Decimal
    """Need of all cards on a GPU, in H100-equivalent GPU-hours."""
    cpu_hours: Decimal
    """Need of all ``device: cpu`` cards, in CPU-hours."""
    hours_by_tier: dict[Tier, Decimal]
    """H100-hours."""
    hours_by_area: dict[str, Decimal]
    """H100-hours."""
    without_need: tuple[str, ...]
    strict: tuple[str, ...]
    """Cards with a second criterion."""
    gold: tuple[str, ...]
    """Cards with a gold run."""
    audit: dict[AuditState, tuple[str, ...]]
    confidence: dict[str, int]
    provisional: tuple[str, ...]

    def lines(self) -> list[str]:
        """Say it in lines of text, as ``reclaim papers check`` prints them."""
        bands = [
            f"{n} in {b} h" if b[0].isdigit() else f"{n} {b}" for b, n in self.bands.items() if n or b[0].isdigit()
        ]
        bars = {b.replace("_", " "): n for b, n in self.bars.items() if n}
        lines = [
            f"{self.cards} cards: {_counts(self.tiers)}",
            f"bands: {', '.join(bands)}; need {_hours(self.h100_hours)} H100-hours"
            + (f" and {_hours(self.cpu_hours)} CPU-hours" if self.cpu_hours else ""),
            f"bars: {_counts(bars)}; {len(self.strict)} with a strict one beside it; {len(self.gold)} gold runs",
            f"audit: {_counts({state: len(names) for state, names in self.audit.items()})}",
        ]
        for state in ("doubtful", "broken"):
            if names := self.audit[state]:
                lines.append(f"{state}: {', '.join(names)}")
        if self.provisional:
            lines.append(f"provisional, not counted: {', '.join(self.provisional)}")
        return lines


def h100_hours(card: PaperCard) -> Decimal | None:
    """Return the need in H100-equivalent GPU-hours: 0 for a paper on the CPU, None where it is unknown."""
    return Decimal(0) if card.device == "cpu" else card.need.hours


def band(card: PaperCard) -> Band:
    """Return the band of the published benchmark that the need falls into; a card on the CPU is in the lowest."""
    hours = h100_hours(card)
    if hours is None:
        return "unknown"
    return next((name for edge, name in _EDGES if hours <= edge), "over 96")


def totals(cards: Iterable[PaperCard]) -> Totals:
    """Add the cards of a suite up."""
    cards = tuple(cards)
    tiers, bands = Counter(c.tier for c in cards), Counter(band(c) for c in cards)
    grid = Counter((c.tier, band(c)) for c in cards)
    bars: Counter[str] = Counter(c.target.bar or "unset" for c in cards)
    areas: Counter[str] = Counter(c.area or "unset" for c in cards)
    return Totals(
        cards=len(cards),
        tiers={t: tiers[t] for t in TIERS},
        bands={b: bands[b] for b in BANDS},
        grid={(t, b): grid[t, b] for t in TIERS for b in BANDS},
        bars={b: bars[b] for b in BARS},
        areas=dict(sorted(areas.items(), key=lambda item: (-item[1], item[0]))),
        h100_hours=_sum(h100_hours(c) for c in cards),
        cpu_hours=_sum(c.need.hours for c in cards if c.device == "cpu"),
        hours_by_tier={t: _sum(h100_hours(c) for c in cards if c.tier == t) for t in TIERS},
        hours_by_area={a: _sum(h100_hours(c) for c in cards if (c.area or "unset") == a) for a in sorted(areas)},
        without_need=_ids(c for c in cards if c.need.hours is None),
        strict=_ids(c for c in cards if c.strict is not None),
        gold=_ids(c for c in cards if c.gold is not None),
        audit={state: _ids(c for c in cards if c.audit.state == state) for state in AUDIT_STATES},
        confidence=dict(Counter(c.checked.confidence for c in cards)),
        provisional=_ids(c for c in cards if c.provisional),
    )


def differences(declared: DeclaredTotals, found: Totals) -> Iterator[tuple[str, str]]:
    """Yield field and message wherever a declared total is not what the cards add up to."""
    if declared.cards is not None and declared.cards != found.cards:
        yield "cards", f"declares {declared.cards}, found {found.cards}"
    if declared.h100_hours is not None:
        hours = quantise(found.h100_hours, decimals(declared.h100_hours))
        if hours != declared.h100_hours:
            yield "h100_hours", f"declares {format_decimal(declared.h100_hours)}, found {format_decimal(hours)}"
    audit = {state: len(names) for state, names in found.audit.items()}
    pairs: tuple[tuple[str, dict[str, int] | None, dict[str, int]], ...] = (
        ("tiers", _plain(declared.tiers), _plain(found.tiers) or {}),
        ("bands", _plain(declared.bands), _plain(found.bands) or {}),
        ("bars", _plain(declared.bars), found.bars),
        ("areas", declared.areas, found.areas),
        ("audit", _plain(declared.audit), _plain(audit) or {}),
    )
    for field, said, counted in pairs:
        if said is None:
            continue
        # A kind that is not named is declared to be absent: otherwise a card could hide in it.
        for key in sorted({*said, *counted}):
            if said.get(key, 0) != counted.get(key, 0):
                yield f"{field}.{key}", f"declares {said.get(key, 0)}, found {counted.get(key, 0)}"


def _plain(counts: object) -> dict[str, int] | None:
    return {str(key): int(value) for key, value in counts.items()} if isinstance(counts, dict) else None


def _ids(cards: Iterable[PaperCard]) -> tuple[str, ...]:
    return tuple(card.id for card in cards)


def _sum(hours: Iterable[Decimal | None]) -> Decimal:
    total = Decimal(0)
    for value in hours:
        total = CONTEXT.add(total, value or Decimal(0))
    return total


def _counts(counts: dict[str, int] | dict[Tier, int] | dict[Band, int] | dict[AuditState, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.items())


def _hours(hours: Decimal) -> str:
    return f"{quantise(hours, 1):,}"
