"""The published hundred and the second draw: totals, bars, audits, gold runs, links, and the page made from them."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from card_helpers import ROOT, raw_card

from reclaim_nb.papers import LoadedCard, PaperCard, Suite, load_suite, write_manifest
from reclaim_nb.papers.check import check_suite, summarise
from reclaim_nb.papers.criterion import Beats, Criterion
from reclaim_nb.papers.loading import read_yaml
from reclaim_nb.papers.numbers import convert, convertible
from reclaim_nb.papers.overview import areas, criteria, grid, main, page
from reclaim_nb.papers.totals import Band, band, h100_hours

PAPERS = ROOT / "papers"
HUNDRED = load_suite(PAPERS / "neurips2025")
MORE = load_suite(PAPERS / "more")
BROKEN = ("benchmark-prediction", "eap-fit-hh", "gorank-gossip", "mome", "msf-cnn", "pkpo", "remi")

Write = Callable[..., Path]


@pytest.mark.parametrize("name", ["neurips2025", "more", "small"])
def test_check_finds_no_error(name: str) -> None:
    assert [str(f) for f in check_suite(PAPERS / name) if f.level == "error"] == []


def test_the_hundred_adds_up_to_the_published_totals() -> None:
    found = summarise(HUNDRED.folder)
    assert found.cards == 100
    assert found.tiers == {"run": 34, "retrain": 33, "reimplement": 33}
    assert [found.bands[b] for b in ("0-8", "8-32", "32-96", "over 96", "unknown")] == [59, 29, 12, 0, 0]
    assert round(found.h100_hours, 1) == Decimal("1153.8")
    assert list(found.bars.values()) == [62, 21, 14, 1, 1, 1]
    assert found.audit["broken"] == BROKEN
    assert len(found.audit["sound"]) + len(found.audit["doubtful"]) == 93
    assert sum(found.areas.values()) == sum(row.papers for row in areas(found)) == 100
    assert sum(row.papers for row in grid(found)) == 100
    assert sum(row.h100_hours for row in grid(found)) == found.h100_hours
    text = "\n".join(found.lines())
    for part in ("100 cards: 34 run, 33 retrain, 33 reimplement", "59 in 0-8 h", "1,153.8 H100-hours", *BROKEN):
        assert part in text


def test_the_second_draw_names_what_it_does_not_count() -> None:
    found = summarise(MORE.folder)
    assert found.cards == 104
    assert found.tiers == {"run": 46, "retrain": 36, "reimplement": 22}
    assert found.confidence == {"high": 53, "medium": 46, "low": 5}
    assert {c.card.id for c in MORE if c.card.provisional} == set(found.provisional)
    assert len(found.provisional) == 5
    assert f"provisional, not counted: {', '.join(found.provisional)}" in found.lines()


@pytest.mark.parametrize(
    ("declared", "field"),
    [
        ("cards: 2", "totals.cards"),
        ("tiers: {run: 1}", "totals.tiers.reimplement"),
        ("bands: {8-32: 1}", "totals.bands.0-8"),
        ("h100_hours: 1.3", "totals.h100_hours"),
        ("bars: {range: 1}", "totals.bars.range"),
        ("areas: {vision: 1}", "totals.areas.unset"),
        ("audit: {broken: 1}", "totals.audit.broken"),
    ],
)
def test_a_declared_total_that_is_not_met_is_an_error(toy_suite: Write, declared: str, field: str) -> None:
    folder = toy_suite()
    manifest = write_manifest(folder)
    assert check_suite(folder) == []
    manifest.write_text(manifest.read_text("utf-8") + f"totals: {{{declared}}}\n", "utf-8")
    assert (field, "error") in [(f.field, f.level) for f in check_suite(folder)]


def test_declared_totals_survive_a_rewritten_manifest(toy_suite: Write) -> None:
    folder = toy_suite()
    manifest = write_manifest(folder)
    manifest.write_text(manifest.read_text("utf-8") + "totals: {h100_hours: 1.20, tiers: {reimplement: 1}}\n", "utf-8")
    write_manifest(folder)
    assert check_suite(folder) == []
    assert yaml.safe_load(manifest.read_text("utf-8"))["totals"] == {"h100_hours": 1.2, "tiers": {"reimplement": 1}}
    assert "1.20" in manifest.read_text("utf-8")


@pytest.mark.parametrize(
    ("device", "hours", "expected"),
    [
        ("gpu", "8", "0-8"),
        ("gpu", "8.01", "8-32"),
        ("gpu", "32", "8-32"),
        ("gpu", "96", "32-96"),
        ("gpu", "96.5", "over 96"),
        ("gpu", None, "unknown"),
        ("cpu", "40", "0-8"),
        ("cpu", None, "0-8"),
    ],
)
def test_bands_include_their_upper_edge_and_a_cpu_paper_needs_no_gpu(
    device: str, hours: str | None, expected: Band
) -> None:
    card = PaperCard.model_validate(raw_card(device=device, need={"hours": hours}))
    assert band(card) == expected
    if device == "cpu":
        assert h100_hours(card) == 0


def _rivals(card: PaperCard) -> list[tuple[str, Decimal]]:
    found = [(card.target.baseline.name, card.target.baseline.value)] if card.target.baseline else []
    unit = card.target.unit
    found += [
        (s.what, convert(s.value, s.unit or unit, unit))
        for s in card.target.siblings
        if convertible(s.unit or unit, unit)
    ]
    return [(name, value) for name, value in found if value is not None]


def _accepts(rule: Criterion | None, value: Decimal) -> bool:
    if rule is None or (isinstance(rule, Beats) and rule.needs_baseline):
        return False
    return rule.decide(value).place == "inside"


@pytest.mark.parametrize("suite", [HUNDRED, MORE], ids=lambda s: s.name)
def test_a_rival_inside_the_bar_has_a_strict_criterion_that_leaves_it_out(suite: Suite) -> None:
    left, void = set(), 0
    for loaded in suite:
        for name, value in _rivals(loaded.card):
            if _accepts(loaded.card.criterion, value):
                void += 1
                if loaded.card.strict is None or _accepts(loaded.card.strict, value):
                    left.add((loaded.card.id, name))
    # Where no bar in the target's unit can separate the two, the audit says so.
    known = {
        ("dlrt-heavyball", "full-rank baseline"),
        ("dynainfer", "oracle with true labels"),
        ("mango", "EGNO (about)"),
        ("physiowave", "headline accuracy on EPN-612, variant not named"),
    }
    assert void >= 14
    assert left == (known if suite is HUNDRED else set())
    for slug, _ in left:
        loaded_or_none = suite.get(slug)
        assert loaded_or_none is not None and loaded_or_none.card.audit.state == "doubtful"


@pytest.mark.parametrize("suite", [HUNDRED, MORE], ids=lambda s: s.name)
def test_every_strict_criterion_has_a_derivation_and_differs_from_the_published_one(suite: Suite) -> None:
    strict = [c for c in suite if c.card.strict is not None]
    assert len(strict) >= 14
    for loaded in strict:
        rule, bar = loaded.card.strict, loaded.card.criterion
        assert rule is not None
        assert len(rule.basis) > 60, loaded.name
        assert any(word in rule.basis for word in ("Void", "Weak", "No published")), loaded.name
        assert loaded.card.audit.state != "sound" or loaded.card.id == "locally-optimal-private-sampling", loaded.name
        if bar is not None:
            assert rule.model_dump(exclude={"basis"}) != bar.model_dump(exclude={"basis"}), loaded.name


@pytest.mark.parametrize("suite", [HUNDRED, MORE], ids=lambda s: s.name)
def test_half_way_means_half_way(suite: Suite) -> None:
    checked = 0
    for loaded in suite:
        card, rule = loaded.card, loaded.card.strict
        if rule is None or not re.search("half way (?:between|to)", rule.basis, re.IGNORECASE):
            continue
        checked += 1
        stated = {Decimal(n) for n in re.findall(r"-?\d+(?:\.\d+)?", rule.basis)}
        stated |= {value for _, value in _rivals(card)} | (
            {card.target.value} if card.target.value is not None else set()
        )
        middles = [(a + b) / 2 for a in stated for b in stated if a < b]
        bounds = [b for b in (getattr(rule, "low", None), getattr(rule, "high", None)) if b is not None]
        # Bounds may be rounded to the digits the card prints.
        hits = [b for b in bounds if any(abs(m - b) <= Decimal("0.0005") * abs(b) for m in middles)]
        assert hits, loaded.name
    assert checked >= 12


def test_a_strict_criterion_accepts_the_claim_unless_it_says_why_not() -> None:
    excused = {
        # the published value is the bar itself, not what the paper measured
        "apa-attack",
        "repo-rectified-policy",
        "tabdpt",
        # a gold run shows that the claim is not what the authors' route gives
        "gorank-gossip",
        "msf-cnn",
        "pkpo",
    }
    refused = {
        c.card.id
        for suite in (HUNDRED, MORE)
        for c in suite
        if c.card.target.value is not None
        and c.card.strict is not None
        and not (isinstance(c.card.strict, Beats) and c.card.strict.needs_baseline)
        and not _accepts(c.card.strict, c.card.target.value)
    }
    assert refused == excused


def test_gold_runs_are_entered_and_decide_the_audit() -> None:
    golds = {c.card.id: c.card for c in HUNDRED if c.card.gold is not None}
    assert len(golds) == 7
    for card in golds.values():
        assert card.gold is not None and card.gold.commit and card.device == "cpu"
        assert any(d.startswith("Gold run") for d in card.doubts)
        if card.gold.value is not None and card.criterion is not None and not isinstance(card.criterion, Beats):
            assert (card.criterion.decide(card.gold.value).place == "inside") == (card.audit.state != "broken")
        if card.gold.value is not None and card.strict is not None:
            assert _accepts(card.strict, card.gold.value), card.id
    assert golds["msf-cnn"].gold is not None
    assert golds["msf-cnn"].gold.value == Decimal("7.887")
    assert golds["msf-cnn"].audit.state == "broken"


def test_related_cards_exist_and_point_back() -> None:
    suites = {s.name: s for s in (HUNDRED, MORE, load_suite(PAPERS / "small"))}
    pairs = {(c.name, other) for s in suites.values() for c in s for other in c.card.links.related}
    assert len([p for p in pairs if p[0].startswith("neurips2025/") and p[1].startswith("more/")]) == 6
    assert {(b, a) for a, b in pairs} == pairs
    assert [b for _, b in pairs if suites[b.partition("/")[0]].get(b.partition("/")[2]) is None] == []
    by_arxiv = {c.card.arxiv: c.name for c in HUNDRED}
    both = {(by_arxiv[c.card.arxiv], c.name) for c in MORE if c.card.arxiv in by_arxiv}
    assert both <= pairs


def test_a_link_to_no_card_or_without_a_link_back_is_found(toy_suite: Write) -> None:
    folder = toy_suite(
        raw_card(links={"related": ["toys/toy-two", "toys/none", "elsewhere/x", "nonsense"]}),
        raw_card(id="toy-two", title="Another"),
    )
    write_manifest(folder)
    messages = sorted((f.level, f.message) for f in check_suite(folder))
    assert messages == [
        ("error", "expected suite/slug, found 'nonsense'"),
        ("error", "there is no card 'toys/none'"),
        ("warning", "'toys/toy-two' does not link back"),
    ]


@pytest.mark.parametrize("loaded", [*HUNDRED, *MORE], ids=lambda c: c.name)
def test_a_card_file_is_in_the_order_of_the_card(loaded: LoadedCard) -> None:
    order = [field.alias or name for name, field in PaperCard.model_fields.items()]
    keys = list(read_yaml(loaded.path))
    assert keys == sorted(keys, key=order.index)
    assert loaded.path.stem == loaded.card.id
    text = loaded.path.read_text("utf-8")
    assert max(len(line) for line in text.splitlines() if "http" not in line) <= 160
    assert all(a.tolerance is not None for a in loaded.card.anchors)


def test_the_page_of_criteria_is_what_the_cards_make() -> None:
    assert main([str(ROOT / "docs" / "criteria.md"), "--check"]) == 0


def test_the_page_shows_every_paper_once_with_its_derivation(tmp_path: Path) -> None:
    rows = criteria(HUNDRED)
    assert len({row.paper for row in rows}) == len(rows) == 100
    assert all((row.strict is None) == (row.derivation is None) for row in rows)
    text = page(HUNDRED)
    table = text.partition("## Published and strict criterion")[2].strip().splitlines()[2:]
    assert len(table) == 100
    assert all(line.replace("\\|", "").count("|") == 7 for line in table)
    for row in rows:
        assert row.derivation is None or " ".join(row.derivation.split()).replace("|", "\\|") in text
    stale = tmp_path / "criteria.md"
    stale.write_text(text.replace("1,153.8", "1,153.9"), "utf-8")
    assert main([str(stale), "--check"]) == 1
    assert main([str(stale)]) == 0
    assert stale.read_text("utf-8") == text


@pytest.mark.parametrize("suite", [HUNDRED, MORE], ids=lambda s: s.name)
def test_the_page_of_any_suite_can_be_made(suite: Suite) -> None:
    assert page(suite).count("\n| `") >= len(suite)
