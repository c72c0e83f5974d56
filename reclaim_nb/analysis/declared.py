"""What was asked for, which is what rates over all papers are taken of: plans, imported lists, or the attempts made."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reclaim_nb.analysis.importing import read_batch
from reclaim_nb.errors import ReclaimError
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.record.events import parse
from reclaim_nb.record.files import write_atomic
from reclaim_nb.record.folder import safe_name

PLAN = "plan.json"
_CACHE = ".declared.json"
_CACHE_VERSION = 2
_BANDS = ((8.0, "0-8"), (32.0, "8-32"), (96.0, "32-96"))
"""The published bands of hours; each one's budget is its upper end."""


def band_of(device: str | None, hours: float | None) -> str | None:
    """Return the published band that a budget in H100-hours stands for, None for CPU papers."""
    if device != "gpu" or hours is None:
        return None
    return next((name for upper, name in _BANDS if hours <= upper), None)


def declared_attempts(
    runs: Path, rows: dict[str, list[Any]], facts: dict[str, list[Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[str]]:
    """Return what each batch was asked for.

    A batch with a plan: what the plan says. An imported one: every agent at every paper of the release. Any other: what
    was begun.

    Args:
        runs: the runs folder.
        rows: columns of the index.
        facts: columns of what is known of each row beyond them.

    Returns:
        declared attempts of plans and imports, with the columns known in advance; the papers; notes on what is lost.
    """
    declared: list[dict[str, Any]] = []
    papers: dict[tuple[str, str, str], dict[str, Any]] = {}
    notes: list[str] = []
    places = zip(*(rows[name] for name in ("batch", "suite", "paper")), strict=True)
    for place, (key, tier) in enumerate(zip(places, rows["tier"], strict=True)):
        if tier and key not in papers:
            papers[key] = _paper(rows, facts, place)
    batches = {path.partition("/")[0] for path in rows["path"]} | {plan.parent.name for plan in runs.glob(f"*/{PLAN}")}
    for folder in map(runs.joinpath, sorted(batches)):
        try:
            document = read_batch(folder)
            found = _of_import(document, folder.name) if document else _of_plan(folder, runs)
        except (ReclaimError, OSError, ValueError, KeyError, TypeError, RecursionError) as problem:
            notes.append(f"{folder.name}: what was declared cannot be told: {problem}")
            continue
        for one in found:
            key = (one["batch"], one["suite"], one["paper"])
            if key not in papers:
                papers[key] = {name: one.get(name) for name in _PAPER}
            if one.get("agent") is not None:
                declared.append(one)
    return declared, list(papers.values()), notes


PAPER_KEY = ("batch", "suite", "paper", "arxiv")
"""What :func:`paper_keys` is given of each attempt or paper."""


def paper_keys(found: list[tuple[Any, ...]]) -> list[str]:
    """Return what pairs attempts at the same target: the arXiv id where one card alone has it, else suite and paper.

    Args:
        found: the values of :data:`PAPER_KEY`.
    """
    cards: dict[tuple[Any, Any], set[Any]] = defaultdict(set)
    for batch, suite, paper, arxiv in set(found):
        cards[batch, arxiv].add((suite, paper))
    shared = {arxiv for (_, arxiv), sharing in cards.items() if len(sharing) > 1}
    return [arxiv if arxiv and arxiv not in shared else f"{suite}/{paper}" for _, suite, paper, arxiv in found]


_PAPER = (
    *("batch", "suite", "paper", "tier", "device", "band", "area", "arxiv", "title", "need_hours"),
    *("budget_hours", "audit", "provisional", "anchors", "strict"),
)


_OF_ROW = ("batch", "suite", "paper", "tier", "device", "title")
_OF_FACTS = ("area", "arxiv", "need_hours", "audit", "provisional", "anchors", "strict")


def _paper(rows: dict[str, list[Any]], facts: dict[str, list[Any]], place: int) -> dict[str, Any]:
    granted, of_card = rows["budget_hours"][place], facts["card_budget_hours"][place]
    hours = float(granted) if granted else None
    return {
        **{name: rows[name][place] for name in _OF_ROW},
        **{name: facts[name][place] for name in _OF_FACTS},
        "band": facts["band"][place] or band_of(rows["device"][place], hours),
        "budget_hours": float(of_card) if of_card is not None else hours,
    }


def _of_import(document: dict[str, Any], batch: str) -> Iterator[dict[str, Any]]:
    suite = document["suite"]
    papers = list(document["papers"])
    for tier, size in (document.get("papers_of_tier") or {}).items():
        # The source names only papers that have a graded run; the others count all the same.
        short = size - sum(paper["tier"] == tier for paper in papers)
        papers += [{"paper": f"not-in-table-{tier}-{number}", "tier": tier} for number in range(1, short + 1)]
    for paper in papers:
        known = not paper["paper"].startswith("not-in-table-")
        about = {
            "batch": batch,
            "suite": suite,
            "paper": paper["paper"],
            "arxiv": paper["paper"] if known else None,
            "tier": paper["tier"],
            "device": "gpu",
            "band": paper.get("band"),
            "need_hours": paper.get("need_hours"),
            "title": paper.get("title"),
            "imported": True,
        }
        for agent in document["agents"]:
            folder = "/".join(safe_name(part) for part in (batch, suite, paper["paper"], agent["agent"]))
            model = agent.get("model") or agent.get("name")
            yield {
                **about,
                "attempt": f"{folder}/01",
                "agent": agent["agent"],
                "model": model,
                "conditions": "",
                "repeat": 1,
            }


def _of_plan(folder: Path, runs: Path) -> list[dict[str, Any]]:
    """Return what a plan declares; kept beside it, because reading a suite's cards takes longer than all the rest."""
    file = folder / PLAN
    if not file.exists():
        return []
    text = file.read_bytes()
    stamp = f"{_CACHE_VERSION} {hashlib.sha256(text).hexdigest()}"
    cache = folder / _CACHE
    try:
        kept = parse(cache.read_bytes())
        if kept["stamp"] == stamp:
            found: list[dict[str, Any]] = kept["declared"]
            return found
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    found = list(_expand(text.decode("utf-8"), folder.name, runs))
    with contextlib.suppress(OSError):  # a cache; a folder that cannot be written to is read all the same
        write_atomic(cache, json.dumps({"stamp": stamp, "declared": found}).encode("utf-8"))
    return found


def _expand(plan: str, batch: str, runs: Path) -> Iterator[dict[str, Any]]:
    from reclaim_nb.batch.plan import declare, make_plan
    from reclaim_nb.papers.suite import find_paper

    cards: dict[str, PaperCard] = {}
    for one in declare(make_plan(json.loads(plan), f"{batch}/{PLAN}"), runs):
        name = one.request.paper
        if name not in cards:
            cards[name] = find_paper(name).card
        card = cards[name]
        yield {
            "attempt": f"{batch}/{one.key}",
            "batch": one.request.batch,
            "suite": one.suite,
            "paper": one.paper,
            "agent": one.request.agent,
            "model": one.request.model,
            "conditions": "+".join(sorted(one.request.conditions)),
            "repeat": one.request.repeat,
            "tier": card.tier,
            "device": card.device,
            "band": band_of(card.device, float(card.budget.hours)),
            "area": card.area,
            "arxiv": card.arxiv,
            "title": card.title,
            "need_hours": float(card.need.hours) if card.need.hours is not None else None,
            "budget_hours": float(card.budget.hours),
            "audit": card.audit.state,
            "provisional": card.provisional,
            "anchors": len(card.anchors),
            "strict": card.strict is not None,
            "imported": False,
        }
