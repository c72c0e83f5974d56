"""A suite at a glance: papers by tier and band, areas, hours, and both criteria of every paper side by side.

``python -m reclaim_nb.papers.overview docs/criteria.md`` writes the page of the published hundred;
``--check`` says instead whether the file is still what the cards make of it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from reclaim_nb.data import data_folder
from reclaim_nb.papers.card import AuditState, PaperCard, Tier
from reclaim_nb.papers.criterion import AtLeast, AtMost, Beats, Between, Criterion, Within
from reclaim_nb.papers.numbers import format_decimal, quantise
from reclaim_nb.papers.suite import Suite, load_suite
from reclaim_nb.papers.totals import BANDS, PUBLISHED_BANDS, TIERS, Band, Totals, band, totals

COMMAND = "python -m reclaim_nb.papers.overview docs/criteria.md"


@dataclass(frozen=True)
class GridRow:
    """One tier of a suite: papers in each band, papers in all, H100-hours in all."""

    tier: Tier
    bands: dict[Band, int]
    papers: int
    h100_hours: Decimal


@dataclass(frozen=True)
class AreaRow:
    """One area of a suite."""

    area: str
    papers: int
    h100_hours: Decimal


@dataclass(frozen=True)
class CriteriaRow:
    """One paper with its published and its strict criterion, as text in the target's unit."""

    paper: str
    title: str
    tier: Tier
    band: Band
    target: str
    published: str
    published_basis: str
    strict: str | None
    derivation: str | None
    audit: AuditState
    reasons: tuple[str, ...]


def grid(found: Totals) -> tuple[GridRow, ...]:
    """Return papers and hours by tier and band."""
    return tuple(
        GridRow(t, {b: found.grid[t, b] for b in BANDS}, found.tiers[t], found.hours_by_tier[t]) for t in TIERS
    )


def areas(found: Totals) -> tuple[AreaRow, ...]:
    """Return papers and hours by area, most papers first."""
    return tuple(AreaRow(area, number, found.hours_by_area[area]) for area, number in found.areas.items())


def criteria(suite: Suite) -> tuple[CriteriaRow, ...]:
    """Return both criteria of every paper, in the order of the cards."""
    return tuple(_criteria_row(loaded.name, loaded.card) for loaded in suite)


def bounds_as_typed(rule: Criterion | None, unit: str) -> str:
    """Write a criterion with the bounds that stand on the card, before any widening to the printed digits."""
    tail = f" {unit}" if unit != "none" else ""
    if rule is None:
        return "none"
    if isinstance(rule, Beats):
        return rule.as_text(unit)
    if isinstance(rule, AtLeast):
        return f"at least {format_decimal(rule.low)}{tail}"
    if isinstance(rule, AtMost):
        return f"at most {format_decimal(rule.high)}{tail}"
    assert isinstance(rule, Within | Between)
    text = f"{format_decimal(rule.low)} to {format_decimal(rule.high)}{tail}"
    decided = rule.band()
    if (decided.low, decided.high) != (rule.low, rule.high):
        assert decided.low is not None and decided.high is not None
        text += f" (decided as {format_decimal(decided.low)} to {format_decimal(decided.high)}, the printed rounding)"
    return text


def page(suite: Suite) -> str:
    """Write the whole page of a suite as Markdown: totals, areas, audit, both criteria."""
    found = totals(loaded.card for loaded in suite)
    rows = criteria(suite)
    title = suite.manifest.title if suite.manifest else suite.name
    parts = [
        f"# {title}: both criteria",
        f"<!-- Made from the cards by `{COMMAND}`; changes belong on the cards. -->",
        "The published bar decides by default. Where it cannot tell the claim from something else, the strict one "
        "stands beside it with its derivation; both are decided for every attempt, and a report says which it used. "
        "Words and rules: `papers/neurips2025/README.md`.",
        _totals_text(found),
        "## Tiers and bands",
        _table(
            ["tier", *(f"{b} h" for b in _bands(found)), "papers", "H100-hours"],
            [[r.tier, *(r.bands[b] for b in _bands(found)), r.papers, _hours(r.h100_hours)] for r in grid(found)]
            + [["all", *(found.bands[b] for b in _bands(found)), found.cards, _hours(found.h100_hours)]],
        ),
        "## Areas",
        _table(["area", "papers", "H100-hours"], [[r.area, r.papers, _hours(r.h100_hours)] for r in areas(found)]),
        "## Broken: kept, shown, left out of rates",
        _table(["paper", "why"], [[_slug(r), " ".join(r.reasons)] for r in rows if r.audit == "broken"]),
        "## Doubtful: a verdict means less than it seems",
        _table(["paper", "why"], [[_slug(r), " ".join(r.reasons)] for r in rows if r.audit == "doubtful"]),
        "## Published and strict criterion",
        _table(
            ["paper", "tier", "target", "published bar", "strict bar", "derivation of the strict bar"],
            [
                [
                    _slug(r) + ("" if r.audit == "sound" else f" ({r.audit})"),
                    r.tier,
                    r.target,
                    f"{r.published}; {r.published_basis}" if r.published_basis else r.published,
                    r.strict or "",
                    r.derivation or "",
                ]
                for r in rows
            ],
        ),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the page of one suite; the exit status is 1 where a checked file differs."""
    parser = argparse.ArgumentParser(prog="python -m reclaim_nb.papers.overview", description=__doc__)
    parser.add_argument("file", type=Path, help="the Markdown file to write")
    parser.add_argument("--suite", type=Path, help="suite folder; default: the published hundred")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the file differs")
    options = parser.parse_args(arguments)
    text = page(load_suite(options.suite or data_folder("papers") / "neurips2025"))
    if options.check:
        if options.file.is_file() and options.file.read_text("utf-8") == text:
            return 0
        print(f"{options.file}: differs from the cards; run `{COMMAND}`", file=sys.stderr)
        return 1
    partial = options.file.with_name(options.file.name + ".partial")
    partial.write_text(text, "utf-8")
    partial.replace(options.file)
    return 0


def _criteria_row(name: str, card: PaperCard) -> CriteriaRow:
    target, unit = card.target, card.target.unit
    value = target.printed or "no number"
    if target.value is not None:
        value = f"{format_decimal(target.value)}{f' {unit}' if unit != 'none' else ''}"
    return CriteriaRow(
        paper=name,
        title=card.title,
        tier=card.tier,
        band=band(card),
        target=f"{target.metric}: {value}",
        published=bounds_as_typed(card.criterion, unit),
        published_basis=card.criterion.basis if card.criterion else "",
        strict=bounds_as_typed(card.strict, unit) if card.strict else None,
        derivation=card.strict.basis if card.strict else None,
        audit=card.audit.state,
        reasons=card.audit.reasons,
    )


def _totals_text(found: Totals) -> str:
    audit = ", ".join(f"{len(names)} {state}" for state, names in found.audit.items())
    return (
        f"{found.cards} papers, {_hours(found.h100_hours)} audited H100-hours. {len(found.strict)} have a strict bar, "
        f"{len(found.gold)} a gold run. Audit: {audit}."
    )


def _bands(found: Totals) -> list[Band]:
    return [b for b in BANDS if found.bands[b] or b in PUBLISHED_BANDS]


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [[_cell(str(value)) for value in row] for row in rows]
    if not lines:
        return "None."
    return "\n".join(f"| {' | '.join(line)} |" for line in [list(head), ["---"] * len(head), *lines])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _slug(row: CriteriaRow) -> str:
    return f"`{row.paper.partition('/')[2]}`"


def _hours(hours: Decimal) -> str:
    return f"{quantise(hours, 1):,}"


if __name__ == "__main__":
    sys.exit(main())
