"""The published hundred put through this pipeline's rules: which would have been refused, and why.

``python -m reclaim_nb.rebuild.published docs/rebuild-selftest.md`` writes the page; ``--check`` says
instead whether the file is still what the cards make of it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from reclaim_nb.data import data_folder
from reclaim_nb.errors import ReclaimError
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.numbers import convert, convertible, format_decimal
from reclaim_nb.papers.suite import load_suite
from reclaim_nb.rebuild.bounds import Noise, Rival, derive
from reclaim_nb.rebuild.hours import CAP, band_of, grant
from reclaim_nb.rebuild.selftest import problems, selftest

HEAD = """# The published hundred under the rules of `reclaim rebuild`

Each published row, as its card carries it, put through the rules that a newly drafted card has to pass. A row that is
refused here is no proof against its paper: it says that from what the row carries no card could have been frozen. What
a row does not carry (quoted sentences, single seeds, items) cannot be used, so most criteria fall back to the default.

- criterion: derived from reported spread and seeds, else the declared default; refused where the baseline or a sibling
  lies inside the band.
- need: as audited, against the cap of {cap} hours; the budget would be three times the need, at least half an hour.
- self-test: made-up attempts graded with the *published* bar by rules alone; `target-like` must be reproduced, no
  other.
"""


@dataclass(frozen=True)
class Row:
    """One card: reasons of a refusal by rule; empty where it passes."""

    name: str
    criterion: tuple[str, ...]
    need: tuple[str, ...]
    selftest: tuple[str, ...]
    route: str
    budget: str
    published: str

    @property
    def refused(self) -> bool:
        """Whether any rule refuses the card."""
        return bool(self.criterion or self.need or self.selftest)


def examine(card: PaperCard) -> Row:
    """Put one card through criterion, need and self-test."""
    target = card.target
    route, reasons = "none", []
    if target.value is None:
        reasons.append("no number is printed")
    else:
        baseline = None
        if target.baseline is not None and target.baseline.value is not None:
            baseline = Rival(target.baseline.name, target.baseline.value)
        rivals = [
            Rival(one.what, convert(one.value, one.unit or target.unit, target.unit))
            for one in target.siblings
            if convertible(one.unit or target.unit, target.unit)
        ]
        noise = Noise(std=target.reported_std, seeds=target.seeds)
        bar = derive(target.value, target.unit, target.direction, noise, rivals, baseline=baseline)
        route, reasons = bar.route, list(bar.refusals)
    hours = card.need.hours
    if hours is None:
        needs, budget = ["no need is known"], "none"
    else:
        granted = grant(hours)
        needs = [granted.refusal] if granted.refusal else []
        if card.need.basis == "unspecified":
            needs.append("no sentence of the paper is behind the hours")
        budget = f"{format_decimal(granted.hours)} ({band_of(hours)})"
    try:
        wrong = problems(selftest(card))
    except ReclaimError as problem:
        wrong = [str(problem)]
    return Row(card.id, tuple(reasons), tuple(needs), tuple(wrong), route, budget, format_decimal(card.budget.hours))


def page(cards: Iterable[PaperCard]) -> str:
    """Return the page."""
    rows = [examine(card) for card in cards]
    refused = [row for row in rows if row.refused]
    lines = [HEAD.format(cap=CAP)]
    counts = [
        ("cards", len(rows)),
        ("refused by any rule", len(refused)),
        ("refused by criterion", sum(bool(row.criterion) for row in rows)),
        ("refused by need", sum(bool(row.need) for row in rows)),
        ("refused by self-test", sum(bool(row.selftest) for row in rows)),
    ]
    lines += ["| | |", "| --- | ---: |", *[f"| {name} | {count} |" for name, count in counts], ""]
    lines += ["## Refused", "", "| paper | criterion | need | self-test |", "| --- | --- | --- | --- |"]
    for row in refused:
        cells = (_cell(row.criterion), _cell(row.need), _cell(row.selftest))
        lines.append(f"| {row.name} | {' | '.join(cells)} |")
    lines += ["", "## All", "", "| paper | route of the criterion | budget by the rule | budget as published |"]
    lines += ["| --- | --- | ---: | ---: |"]
    lines += [f"| {row.name} | {row.route} | {row.budget} | {row.published} |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(reasons: Sequence[str]) -> str:
    return "; ".join(" ".join(one.split()).replace("|", "\\|") for one in reasons)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    text = page(loaded.card for loaded in load_suite(data_folder("papers") / "neurips2025"))
    if not options.check:
        options.file.write_text(text, "utf-8")
        return 0
    if options.file.read_text("utf-8") == text:
        return 0
    print(
        f"{options.file}: the cards or the rules have changed; `make docs/rebuild-selftest.md` writes it again",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
