"""What an agent may see of a card. This is the only place that decides it."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, ConfigDict

from reclaim_nb.papers.card import Device, PaperCard, Release, Tier
from reclaim_nb.papers.criterion import Baseline, Beats, Criterion
from reclaim_nb.papers.numbers import format_decimal

_WHY: dict[Tier, str] = {
    "run": "the authors published code, data and weights",
    "retrain": "the authors published code, but no weights",
    "reimplement": "no code of the authors is available",
}


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TargetView(_Part):
    """The target without the settings behind it."""

    claim: str
    metric: str
    value: Decimal | None
    printed: str | None
    unit: str
    direction: Literal["higher", "lower", "none"]
    scope: str | None
    where: str | None
    split: str | None
    n: int | None
    seeds: int | None
    statistic: str | None
    reported_std: Decimal | None
    baseline: Baseline | None


class CriterionView(_Part):
    """The accepted interval."""

    rule: str
    low: Decimal | None
    high: Decimal | None
    text: str


class AnchorView(_Part):
    """An anchor without its value: it is looked up in the paper and checked with ``check_anchor``."""

    name: str
    what: str
    unit: str


class BudgetView(_Part):
    """Hours granted."""

    hours: Decimal
    unit: str


class EnvironmentView(_Part):
    """What the paper's experiment ran in."""

    python: str | None
    framework: str | None
    cuda: str | None
    packages: tuple[str, ...]


class AgentView(_Part):
    """Everything an agent may see of a card, built field by field: what is not named here is withheld."""

    id: str
    title: str
    authors: tuple[str, ...]
    venue: str | None
    arxiv: str | None
    summary: str | None
    tier: Tier
    release: Release
    device: Device
    target: TargetView
    criterion: CriterionView | None
    strict: CriterionView | None
    budget: BudgetView
    anchors: tuple[AnchorView, ...]
    environment: EnvironmentView


def agent_view(card: PaperCard) -> AgentView:
    """Return what an agent may see of ``card``; never its config, doubts, pitfalls, gold run or grading data."""
    target = card.target
    return AgentView(
        id=card.id,
        title=card.title,
        authors=card.authors,
        venue=card.venue,
        arxiv=card.arxiv,
        summary=card.summary,
        tier=card.tier,
        release=card.release,
        device=card.device,
        target=TargetView(
            claim=target.claim,
            metric=target.metric,
            value=target.value,
            printed=target.printed,
            unit=target.unit,
            direction=target.direction,
            scope=target.scope,
            where=target.where,
            split=target.split,
            n=target.n,
            seeds=target.seeds,
            statistic=target.statistic,
            reported_std=target.reported_std,
            baseline=target.baseline,
        ),
        criterion=_criterion(card.criterion, target.unit),
        strict=None if card.strict is not None and card.strict.from_gold else _criterion(card.strict, target.unit),
        budget=BudgetView(hours=card.budget.hours, unit=card.hours_unit),
        anchors=tuple(AnchorView(name=a.name, what=a.what, unit=a.unit) for a in card.anchors),
        environment=EnvironmentView(
            python=card.environment.python,
            framework=card.environment.framework,
            cuda=card.environment.cuda,
            packages=card.environment.packages,
        ),
    )


def _criterion(rule: Criterion | None, unit: str) -> CriterionView | None:
    if rule is None:
        return None
    if isinstance(rule, Beats) and rule.needs_baseline:
        return CriterionView(rule=rule.rule, low=None, high=None, text=rule.as_text(unit))
    band = rule.band()
    return CriterionView(rule=rule.rule, low=band.low, high=band.high, text=rule.as_text(unit))


def as_markdown(view: AgentView) -> str:
    """Render the view as plain Markdown for the top of an attempt's notebook."""
    target = view.target
    lines = [f"# {_line(view.title)}", "", _byline(view), "", f"> {_line(target.claim)}", "", "| | |", "| --- | --- |"]
    lines += [
        f"| **Tier** | {view.tier}: {_WHY[view.tier]} |",
        f"| **Target** | {_cell(target.metric)} = **{_value(target)}**{_better(target)} |",
    ]
    details = [
        (target.scope, "scope"),
        (target.split, "split"),
        (str(target.n) if target.n else None, "n"),
        (f"{target.statistic or 'mean'} over {target.seeds}" if target.seeds else None, "seeds"),
        (f"{format_decimal(target.reported_std)}" if target.reported_std is not None else None, "printed spread"),
    ]
    named = "; ".join(f"{label}: {_cell(text)}" for text, label in details if text)
    if named:
        lines.append(f"| **Measured on** | {named} |")
    if target.where:
        lines.append(f"| **Where** | {_cell(target.where)} |")
    if target.baseline:
        number = f" = {format_decimal(target.baseline.value)}" if target.baseline.value is not None else ""
        lines.append(f"| **Baseline** | {_cell(target.baseline.name)}{number} |")
    if view.criterion:
        lines.append(f"| **Reproduced if** | {_cell(view.criterion.text)} |")
    if view.strict:
        lines.append(f"| **Strict bar** | {_cell(view.strict.text)} |")
    lines.append(f"| **Budget** | {format_decimal(view.budget.hours)} {view.budget.unit} |")
    lines += ["", *_release(view), *_anchors(view)]
    return "\n".join(lines).rstrip() + "\n"


def _byline(view: AgentView) -> str:
    authors = ", ".join(view.authors[:4]) + (" and others" if len(view.authors) > 4 else "")
    parts = [authors, view.venue, f"arXiv {view.arxiv}" if view.arxiv else None]
    return ". ".join(_line(p) for p in parts if p) or "Authors not listed"


def _release(view: AgentView) -> list[str]:
    parts = []
    if view.release.code:
        commit = f" at {view.release.code.commit[:10]}" if view.release.code.commit else ""
        parts.append(f"- code: {_line(view.release.code.url or 'in the release folder')}{commit}")
    parts += [f"- data: {_line(d.name)} ({d.access}){f' {_line(d.url)}' if d.url else ''}" for d in view.release.data]
    if view.release.weights:
        parts.append(f"- weights: {_line(view.release.weights.url or view.release.weights.note or 'with the release')}")
    return ["**Release**", "", *parts, ""] if parts else []


def _anchors(view: AgentView) -> list[str]:
    if not view.anchors:
        return []
    rows = [f"- `{a.name}`: {_line(a.what)} ({_line(a.unit)})" for a in view.anchors]
    return ['**Anchors**, cheap to check first with `attempt.check_anchor("name", value)`', "", *rows, ""]


def _value(target: TargetView) -> str:
    if target.value is None:
        return _cell(target.printed or "no number printed")
    return f"{format_decimal(target.value)} {'' if target.unit == 'none' else target.unit}".strip()


def _better(target: TargetView) -> str:
    return f" ({target.direction} is better)" if target.direction != "none" else ""


def _line(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return _line(text).replace("|", "\\|")
