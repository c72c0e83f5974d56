"""What can be proved about cards offline: the findings of ``reclaim papers check``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Literal

from reclaim_nb.errors import CardError
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.criterion import Beats, Criterion
from reclaim_nb.papers.loading import CARD_FILE, LoadedCard, load_card
from reclaim_nb.papers.numbers import convert, convertible, decimals, format_decimal, half_last_digit, unit
from reclaim_nb.papers.signature import fingerprint
from reclaim_nb.papers.suite import MANIFEST, Suite, card_path, load_suite
from reclaim_nb.papers.totals import Totals, differences, totals

Level = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong or worth knowing."""

    level: Level
    """error: to be repaired; warning: known to the card's audit, or doubtful; note: for the reader."""
    paper: str
    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.level}: {self.paper}: {self.field}: {self.message}"


def check_suite(folder: Path) -> list[Finding]:
    """Check every card of a suite folder, the manifest, and the cards against each other.

    Raises:
        CardError: the folder is not a suite or its manifest cannot be read.
    """
    suite = load_suite(folder, keep_going=True)
    findings = [Finding("error", suite.name, "card", message) for message in suite.broken]
    for loaded in suite:
        findings += check_paper(loaded)
    return [*findings, *_freeze(suite), *_manifest(suite), *_totals(suite), *_duplicates(suite), *_related(suite)]


def summarise(folder: Path) -> Totals:
    """Add up what a suite folder holds; broken card files are left out, as `check_suite` names them.

    Raises:
        CardError: the folder is not a suite or its manifest cannot be read.
    """
    return totals(loaded.card for loaded in load_suite(folder, keep_going=True))


def check_path(path: Path) -> list[Finding]:
    """Check a suite folder, a paper folder or a single card file.

    Raises:
        CardError: nothing that could be checked is there.
    """
    if path.is_dir() and not (path / CARD_FILE).is_file():
        return check_suite(path)
    try:
        return check_paper(load_card(path))
    except CardError as error:
        if not path.exists():
            raise
        return [Finding("error", path.name, "card", str(error))]


def check_paper(loaded: LoadedCard) -> list[Finding]:
    """Check one card by itself and the files beside it."""
    findings = []
    for check in (_names, _files, _units, _bounds, _rivals, _hours, _anchors, _gold):
        findings += [Finding(level, loaded.name, field, message) for level, field, message in check(loaded)]
    return findings


def check_card(card: PaperCard) -> list[tuple[Level, str, str]]:
    """Check a card that is in no file yet: level, field and message of each finding."""
    loaded = LoadedCard(card, Path(card.id, CARD_FILE), "")
    return [found for check in (_units, _bounds, _rivals, _hours, _anchors) for found in check(loaded)]


_Found = Iterator[tuple[Level, str, str]]


def _names(loaded: LoadedCard) -> _Found:
    expected = loaded.folder.name if loaded.path.name == CARD_FILE else loaded.path.stem
    if loaded.card.id != expected:
        yield "error", "id", f"expected '{expected}' like its folder, found '{loaded.card.id}'"


def _files(loaded: LoadedCard) -> _Found:
    card = loaded.card
    if card.tier == "reimplement" and loaded.release_folder is not None:
        yield "error", "release", "tier is reimplement, yet there is a release folder"
    if loaded.solution is not None and loaded.paper_text is None:
        yield "error", "paper.md", "expected the paper's text beside the solution, found none"
    if loaded.solution is not None and card.tier != "reimplement" and loaded.release_folder is None:
        yield "error", "release", f"tier is {card.tier}, yet there is no release folder beside the solution"
    weights = card.release.weights
    if weights is not None and weights.url is None and weights.note is None:
        yield "warning", "release.weights", "neither url nor note: say where the weights are, or that none are needed"
    if card.release.code is not None and card.release.weights is not None and not card.release.data:
        yield "note", "release.data", "code and weights without data: the tier is retrain"


def _units(loaded: LoadedCard) -> _Found:
    card = loaded.card
    target = card.target
    if unit(target.unit).family.startswith("own:"):
        yield "note", "target.unit", f"'{target.unit}' is a unit of its own; it converts into nothing else"
    for index, anchor in enumerate(card.anchors):
        if unit(anchor.unit).family.startswith("own:") and anchor.unit != target.unit:
            yield "note", f"anchors[{index}].unit", f"'{anchor.unit}' is a unit of its own"
    share = unit(target.unit)
    if share.family == "share" and target.value is not None:
        whole = 1 / share.factor
        if not -whole <= target.value <= whole:
            yield _soft(card), "target.value", f"{_say(target.value)} is more than the whole in {share.name}"


def _bounds(loaded: LoadedCard) -> _Found:
    card, target = loaded.card, loaded.card.target
    for name, rule in _rules(card):
        if isinstance(rule, Beats) and rule.needs_baseline:
            continue
        band = rule.band()
        share = unit(target.unit)
        if share.family == "share" and band.high is not None and band.high > 1 / share.factor:
            level: Level = "note" if rule.rule == "within" else _soft(card)
            yield level, f"{name}.high", f"{_say(band.high)} passes the whole in {share.name}; that side cannot fail"
        if target.value is None:
            continue
        # The claim is placed at full precision: rounding is for measured values only.
        low_ok = band.low is None or target.value > band.low or (target.value == band.low and not band.strict)
        high_ok = band.high is None or target.value < band.high or (target.value == band.high and not band.strict)
        # A strict bar may leave out a value that claims nothing (the published bar itself) or that a gold run corrects.
        excused = name == "strict" and (rule.from_gold or _is_the_bar(card))
        if not (low_ok and high_ok) and not excused:
            yield _soft(card), name, f"the claimed value {_say(target.value)} does not meet it ({rule.as_text()})"
        if rule.rule == "within" and name == "criterion" and band.tolerance <= half_last_digit(target.value):
            yield (
                "warning",
                name,
                f"no wider than the rounding of {_say(target.value)} ({decimals(target.value)} places)",
            )


def _rivals(loaded: LoadedCard) -> _Found:
    card, target = loaded.card, loaded.card.target
    rivals = []
    if target.baseline and target.baseline.value is not None:
        rivals.append((f"baseline {target.baseline.name}", target.baseline.value))
    for sibling in target.siblings:
        if convertible(sibling.unit or target.unit, target.unit):
            rivals.append((f"sibling {sibling.what}", convert(sibling.value, sibling.unit or target.unit, target.unit)))
    for what, value in rivals:
        inside = {name: _accepts(rule, value) for name, rule in _rules(card)}
        if inside.get("strict"):
            yield _soft(card), "strict", f"{what} = {_say(value)} lies inside"
        if inside.get("criterion"):
            level: Level = "note" if inside.get("strict") is False else _soft(card)
            tail = "; the strict bar leaves it out" if level == "note" else ""
            yield level, "criterion", f"{what} = {_say(value)} lies inside{tail}"


def _hours(loaded: LoadedCard) -> _Found:
    card = loaded.card
    if card.need.hours is None:
        yield "warning", "need.hours", "no need is known, so spend against need cannot be shown"
    elif card.need.hours > card.budget.hours:
        message = f"need {_say(card.need.hours)} exceeds budget {_say(card.budget.hours)} {card.hours_unit}"
        yield _soft(card), "budget.hours", message


def _anchors(loaded: LoadedCard) -> _Found:
    target = loaded.card.target
    for index, anchor in enumerate(loaded.card.anchors):
        same = target.value is not None and convertible(anchor.unit, target.unit) and anchor.what == target.metric
        if same and convert(anchor.value, anchor.unit, target.unit) == target.value:
            yield "error", f"anchors[{index}]", "the anchor is the target itself"
        if anchor.value < 0 and unit(anchor.unit).family in ("count", "bytes", "time"):
            yield "error", f"anchors[{index}].value", f"expected no negative {anchor.unit}, found {_say(anchor.value)}"


def _gold(loaded: LoadedCard) -> _Found:
    card = loaded.card
    if card.gold is None or card.gold.value is None or card.criterion is None or card.audit.state == "broken":
        return
    if isinstance(card.criterion, Beats) and card.criterion.needs_baseline:
        return
    if card.criterion.decide(card.gold.value).place != "inside":
        message = f"{_say(card.gold.value)} does not meet the criterion, so the audit state must be 'broken'"
        yield "error", "gold.value", message


def _freeze(suite: Suite) -> list[Finding]:
    frozen = suite.manifest.frozen if suite.manifest is not None else None
    if frozen is None or not len(suite):
        return []
    how = f"signed with the key {fingerprint(frozen.key)}" if frozen.key is not None else "not signed"
    return [Finding("note", suite.name, MANIFEST, f"frozen (version {frozen.version}), {how}")]


def _manifest(suite: Suite) -> list[Finding]:
    if suite.manifest is None:
        return [Finding("error", suite.name, MANIFEST, "expected a manifest of the cards' hashes, found none")]
    findings = [Finding("error", name, MANIFEST, "the card differs from its listed sha256") for name in suite.changed]
    findings += [Finding("error", name, MANIFEST, "the card is not listed") for name in suite.unlisted]
    findings += [Finding("error", suite.name, MANIFEST, f"lists {entry}, which is missing") for entry in suite.missing]
    if suite.manifest.name != suite.name:
        found = suite.manifest.name
        findings.append(Finding("error", suite.name, MANIFEST, f"expected name '{suite.name}', found '{found}'"))
    return findings


def _duplicates(suite: Suite) -> list[Finding]:
    keys: tuple[tuple[str, Level, Callable[[PaperCard], object]], ...] = (
        ("id", "error", lambda c: c.id),
        ("target", "error", lambda c: (c.arxiv or c.title.casefold(), c.target.metric, c.target.scope, c.target.value)),
        ("arxiv", "note", lambda c: c.arxiv),
    )
    findings = []
    for field, level, key in keys:
        groups: dict[object, list[LoadedCard]] = defaultdict(list)
        for loaded in suite:
            groups[key(loaded.card)].append(loaded)
        for value, members in groups.items():
            if value is None or len(members) < 2:
                continue
            names = ", ".join(m.name for m in members)
            findings.append(Finding(level, members[0].name, field, f"the same in {names}"))
    return findings


def _totals(suite: Suite) -> list[Finding]:
    declared = suite.manifest.totals if suite.manifest else None
    if declared is None:
        return []
    found = totals(loaded.card for loaded in suite)
    return [Finding("error", suite.name, f"totals.{field}", message) for field, message in differences(declared, found)]


def _related(suite: Suite) -> list[Finding]:
    findings = []
    for loaded in suite:
        for name in loaded.card.links.related:
            other_suite, _, slug = name.partition("/")
            folder = suite.folder.parent / other_suite
            if not slug:
                findings.append(Finding("error", loaded.name, "links.related", f"expected suite/slug, found '{name}'"))
                continue
            if not folder.is_dir():  # the other suite is not installed beside this one
                continue
            path = card_path(folder, slug)
            if path is None:
                findings.append(Finding("error", loaded.name, "links.related", f"there is no card '{name}'"))
            elif loaded.name not in load_card(path).card.links.related:
                findings.append(Finding("warning", loaded.name, "links.related", f"'{name}' does not link back"))
    return findings


def _is_the_bar(card: PaperCard) -> bool:
    rule = card.criterion
    return rule is not None and card.target.value in (getattr(rule, "low", None), getattr(rule, "high", None))


def _rules(card: PaperCard) -> Iterator[tuple[str, Criterion]]:
    if card.criterion is not None:
        yield "criterion", card.criterion
    if card.strict is not None:
        yield "strict", card.strict


def _accepts(rule: Criterion, value: Decimal) -> bool:
    if isinstance(rule, Beats) and rule.needs_baseline:
        return False
    return rule.decide(value).place == "inside"


def _soft(card: PaperCard) -> Level:
    """A flaw the audit already declares is a warning, an undeclared one an error."""
    return "error" if card.audit.state == "sound" else "warning"


def _say(value: Decimal) -> str:
    return format_decimal(value)
