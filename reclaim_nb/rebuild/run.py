"""Doing the steps of a rebuild, paper by paper; what is done already with the same inputs is not done again.

Each step imports what it needs when it is done: none but ``draft`` needs a client of models.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reclaim_nb.errors import ReclaimError
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.rebuild.folder import PAPER_STEPS, Folder, Later, RebuildError, Refused, Settings
from reclaim_nb.rebuild.review import chosen, final
from reclaim_nb.rebuild.services import Services, sha256_of

if TYPE_CHECKING:
    from reclaim_nb.rebuild.extract import Reader

STEPS = ("collect", "match", "read", "probe", "draft", "select", "review", "selftest", "freeze", "drift")
_NEEDS = {
    "match": ("collect",),
    "read": ("collect", "match"),
    "probe": ("collect", "read"),
    "draft": ("collect", "match", "read", "probe"),
}

Progress = Callable[[str, int, int], None]
"""Told of a paper, how many are done, and how many there are."""


@dataclass
class Done:
    """What a step did.

    Attributes:
        step: its name.
        made, kept: papers done now, and done before with the same inputs.
        refused: papers that cannot become cards, with the reason.
        later: papers that a service did not answer for; the next run asks again.
        facts: what else there is to say.
    """

    step: str
    made: int = 0
    kept: int = 0
    refused: dict[str, str] = field(default_factory=dict)
    later: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """Say what was done, a line for each paper that needs somebody's attention."""
        counts = f"{self.made} done, {self.kept} done before, {len(self.refused)} refused, {len(self.later)} later"
        told = [f"{self.step}: {counts}"]
        questions = self.facts.get("questions") or {}
        for name, found in (("refused", self.refused), ("later", self.later), ("question", questions)):
            told += [f"{name} {paper}: {' '.join(why.split())}" for paper, why in found.items()]
        if self.later:
            told.append("what is done is kept: run the same command again later for the others")
        return told + [
            f"{row['tier']} {row['band']}: {len(row['taken'])} of {row['there']}"
            for row in self.facts.get("strata") or ()
        ]


def begin(
    path: Path, *, venue: str, suite: str | None = None, title: str | None = None, seed: int = 0, count: int = 100
) -> Folder:
    """Begin a rebuild, or return the one that is there; the suite is called like the folder unless it is named.

    Raises:
        RebuildError: one with other settings is there.
    """
    folder = Folder(path)
    suite = suite or path.resolve().name.lower()
    folder.begin(Settings(venue=venue, suite=suite, title=title or suite, seed=seed, count=count))
    return folder


def run_step(
    step: str,
    folder: Folder,
    *,
    limit: int | None = None,
    reader: Reader | None = None,
    services: Services | None = None,
    progress: Progress | None = None,
) -> Done:
    """Do one of the steps ``collect``, ``match``, ``read``, ``probe``, ``draft``, ``select`` and ``selftest``.

    Args:
        step: its name.
        folder: the rebuild.
        limit: most papers, for trying it out.
        reader: the model, for ``draft``.
        services: how services are asked.
        progress: told of each paper.

    Raises:
        RebuildError: a step before it was not done.
        Later: a service that everything depends on does not answer.
    """
    own = services or Services(folder)
    try:
        if step == "collect":
            from reclaim_nb.rebuild import gather

            ids = gather.collect(folder, own, limit)
            return Done(step, made=len(ids), refused=_refused(folder, step, ids))
        if not folder.ids:
            raise RebuildError(f"{folder.path}: no papers are collected yet; `reclaim rebuild collect` comes first")
        if step == "select":
            return _select(folder)
        if step == "selftest":
            return _selftest(folder, limit, progress)
        if step not in _NEEDS:
            raise RebuildError(f"there is no step '{step}' of this kind; there are {', '.join(STEPS)}")
        return _each(step, folder, own, reader, limit, progress)
    finally:
        if services is None:
            own.__exit__()


def _each(
    step: str, folder: Folder, services: Services, reader: Reader | None, limit: int | None, progress: Progress | None
) -> Done:
    done = Done(step)
    ids = folder.ids[:limit]
    for number, paper in enumerate(ids):
        if progress is not None:
            progress(paper, number, len(ids))
        before = {name: folder.made(paper, name) for name in _NEEDS[step]}
        if any(one is None or one.refused is not None for one in before.values()):
            continue
        needs = {name: one.sha256 for name, one in before.items() if one is not None}
        if step == "draft":
            settled = folder.file(paper, "settled")
            needs |= {"settled": sha256_of(settled)} if settled.is_file() else {}
            needs |= {"settings": hashlib.sha256(folder.settings.model_dump_json().encode()).hexdigest()}
            needs |= {"reader": reader.key} if reader is not None else {}
        kept = folder.made(paper, step)
        if kept is not None and (kept.needs == needs or (reader is None and {**kept.needs, **needs} == kept.needs)):
            done.kept += 1
            if kept.refused is not None:
                done.refused[paper] = kept.refused
            continue
        given = {name: one.result for name, one in before.items() if one is not None}
        try:
            folder.make(paper, step, needs, _work(step, folder, services, reader, given))
            done.made += 1
        except Refused as reason:
            folder.make(paper, step, needs, None, str(reason))
            done.refused[paper] = str(reason)
        except Later as problem:
            done.later[paper] = str(problem)
    if progress is not None:
        progress("", len(ids), len(ids))
    return done


def _work(
    step: str, folder: Folder, services: Services, reader: Reader | None, given: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    from reclaim_nb.rebuild import gather

    if step == "match":
        return gather.match_paper(folder, services, given["collect"])
    if step == "read":
        return gather.read_paper(folder, services, given["collect"], given["match"])
    if step == "probe":
        from reclaim_nb.rebuild.ask import probe_paper

        return probe_paper(folder, services, given["collect"], given["read"])
    from reclaim_nb.rebuild.draft import draft

    return draft(folder, reader, given["collect"], given["match"], given["read"], given["probe"])


def _select(folder: Folder) -> Done:
    from reclaim_nb.rebuild.choose import Entry, choose

    settings = folder.settings
    entries, questions = [], {}
    for paper in folder.ids:
        made = folder.made(paper, "draft")
        if made is None or made.refused is not None:
            continue
        if "card" in made.result:
            entries.append(Entry(paper, made.result["tier"], made.result["band"]))
        else:
            questions[paper] = str(made.result["question"])
    strata = choose(entries, settings.count, settings.seed)
    taken = sorted(paper for one in strata for paper in one.taken)
    rows = [{"tier": one.tier, "band": one.band, "there": one.there, "taken": list(one.taken)} for one in strata]
    document = {"schema": 1, "seed": settings.seed, "count": settings.count, "strata": rows, "chosen": taken}
    folder.put(folder.path / "select.json", document)
    return Done("select", made=len(taken), facts={"strata": rows, "questions": questions})


def _selftest(folder: Folder, limit: int | None, progress: Progress | None) -> Done:
    from reclaim_nb.rebuild.finish import card_hash
    from reclaim_nb.rebuild.selftest import problems, selftest

    done = Done("selftest")
    ids = chosen(folder)[:limit]
    for number, paper in enumerate(ids):
        if progress is not None:
            progress(paper, number, len(ids))
        made = folder.made(paper, "draft")
        settled = final(folder, paper)
        card = settled.card or (made.result.get("card") if made is not None and settled.state != "refused" else None)
        if card is None:
            continue
        digest = card_hash(card)
        kept = folder.made(paper, "selftest")
        if kept is not None and kept.needs == {"card": digest}:
            done.kept += 1
        else:
            try:
                tried = selftest(PaperCard.model_validate(card))
                wrong, rows = problems(tried), [vars(one) for one in tried]
            except ReclaimError as problem:
                wrong, rows = [str(problem)], []
            result = {"card_sha256": digest, "problems": wrong, "trials": rows}
            folder.make(paper, "selftest", {"card": digest}, result)
            done.made += 1
        found = folder.made(paper, "selftest")
        assert found is not None
        if found.result["problems"]:
            done.refused[paper] = "; ".join(found.result["problems"])
    if progress is not None:
        progress("", len(ids), len(ids))
    return done


def _refused(folder: Folder, step: str, ids: tuple[str, ...]) -> dict[str, str]:
    found = {paper: made.refused for paper in ids if (made := folder.made(paper, step)) is not None}
    return {paper: why for paper, why in found.items() if why is not None}


def settle(folder: Folder, paper: str, pick: int, by: str, reason: str) -> None:
    """Write down which of two readings that disagree a person takes.

    Raises:
        RebuildError: there is no such reading, or no reason is given.
    """
    if pick not in (1, 2) or not folder.file(paper, f"said.{pick}").is_file():
        raise RebuildError(f"{paper}: there is no reading {pick}")
    if not reason.strip() or not by.strip():
        raise RebuildError(f"{paper}: to settle a question needs a name and a reason")
    folder.put(folder.file(paper, "settled"), {"pick": pick, "by": by, "reason": reason})


def overview(folder: Folder) -> dict[str, Any]:
    """Return where a rebuild stands: papers by step, refusals, open questions, what came of the selected cards.

    Raises:
        RebuildError: nothing was begun there.
    """
    settings = folder.settings
    counts: dict[str, Counter[str]] = {step: Counter() for step in PAPER_STEPS}
    questions = {}
    for paper in folder.ids:
        for step in PAPER_STEPS:
            made = folder.made(paper, step)
            if made is not None:
                counts[step]["done" if made.refused is None else "refused"] += 1
            if step == "draft" and made is not None and "question" in made.result:
                questions[paper] = str(made.result["question"])
    selected = chosen(folder) if (folder.path / "select.json").is_file() else ()
    place = folder.path / "suite" / settings.suite
    return {
        "venue": settings.venue,
        "papers": len(folder.ids),
        "steps": {step: dict(count) for step, count in counts.items() if count},
        "refusals": [list(one) for one in folder.refusals()],
        "questions": questions,
        "selected": dict(Counter(final(folder, paper).state for paper in selected)),
        "frozen": str(place) if place.is_dir() else None,
    }


__all__ = ["STEPS", "Done", "begin", "overview", "run_step", "settle"]
