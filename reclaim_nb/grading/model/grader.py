"""Grading with a model: ask, record, and compute the verdict from the record alone."""

from __future__ import annotations

import asyncio
import random
import re
import secrets
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reclaim_nb.attempts.model_usage import ModelUsage
from reclaim_nb.errors import AttemptError, RecordError
from reclaim_nb.grading.asked import Asked
from reclaim_nb.grading.detectors import detect_all
from reclaim_nb.grading.model.decide import decide
from reclaim_nb.grading.model.dossier import Dossier, fence_of
from reclaim_nb.grading.model.prompts import GraderPrompts
from reclaim_nb.grading.model.records import SCHEMA, GradingRecord, RecordWriter, records_path
from reclaim_nb.grading.model.votes import read_votes
from reclaim_nb.grading.verdict import Examined, Verdict, examine
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.loading import LoadedCard
from reclaim_nb.record.folder import AttemptFolder

if TYPE_CHECKING:
    from reclaim_nb.agents.service import Service

VOTES = 3
_RELEASED = re.compile(r"[-@](?:\d{4}-\d{2}-\d{2}|\d{6,8}|latest)$")


@dataclass(frozen=True)
class ModelGrader:
    """Which model is asked, and how.

    Attributes:
        model: ``provider:model``.
        options: see :class:`~reclaim_nb.agents.service.ServiceOptions`.
        votes: an odd number of votes.
        allow_same: the model's name once more, where the agent's own model is to grade itself.
        seed: what the words in the marks around evidence are drawn from; drawn at random where None.
        service: a service that is already there; for tests and calibration.
    """

    model: str
    options: dict[str, Any] = field(default_factory=dict)
    votes: int = VOTES
    allow_same: str | None = None
    seed: str | None = None
    service: Service | None = None


def grade_with_model(folder: AttemptFolder, card: LoadedCard | PaperCard, grader: ModelGrader) -> Verdict:
    """Ask a model about an attempt, and return the verdict; every request and answer is kept beside it.

    Args:
        folder: the attempt.
        card: the card it was made with.
        grader: which model is asked.

    Raises:
        AttemptError: when the attempt cannot be graded, the model is the agent's own, or it cannot be had.
        RecordError: when the record is broken.
    """
    seen = examine(folder, card)
    _check(grader, seen)
    path = _finish(_question(folder, seen, grader))
    return verdict_of(seen, GradingRecord.read(path))


def regrade(folder: AttemptFolder, card: LoadedCard | PaperCard, path: Path) -> Verdict:
    """Compute the verdict again from the attempt and the recorded answers: the same bytes as before.

    Args:
        folder: the attempt.
        card: the card it was made with.
        path: the record of the answers, ``grading.<grader>.jsonl``.

    Raises:
        AttemptError: when the attempt cannot be graded.
        RecordError: when the answers are about another record, or their file is damaged.
    """
    return verdict_of(examine(folder, card), GradingRecord.read(path))


def verdict_of(seen: Examined, record: GradingRecord) -> Verdict:
    """Return the verdict from evidence and recorded answers; a pure function of both.

    Raises:
        RecordError: when the answers are about another record.
    """
    for name, held in _identity(seen).items():
        if record.begin.get(name) != held:
            raise RecordError(
                f"{record.path}: its answers are about another {name.replace('_', ' ')} "
                f"({record.begin.get(name)}, not {held}); ask the model again"
            )
    answers = [line for line in record.lines if line["what"] == "answer"]
    usage = sum((ModelUsage.from_json(line["usage"]) for line in answers), ModelUsage())
    asked = Asked(
        model=str(record.begin["model"]),
        answered_as=tuple(sorted({str(line["message"].get("model_name")) for line in answers})),
        votes=int(record.begin["votes"]),
        valid=0,
        seed=str(record.begin["seed"]),
        prompts=dict(record.begin["prompts"]),
        usage=usage.to_json(),
        notes=tuple(record.begin["notes"]),
    )
    return decide(seen, read_votes(record, seen.evidence), asked, {record.path.name: record.sha256})


def _identity(seen: Examined) -> dict[str, str]:
    return {
        "attempt": str(seen.evidence.spec.get("id") or ""),
        "stream_head": seen.evidence.head,
        "card_sha256": seen.card_sha256,
        "notebook_sha256": seen.notebook_sha256,
    }


def _check(grader: ModelGrader, seen: Examined) -> None:
    if grader.votes < 1 or grader.votes % 2 == 0:
        raise AttemptError(f"{grader.votes} votes: an odd number is needed, so that there can be a majority")
    agent = _agent_model(seen)
    if agent is not None and _plain(agent) == _plain(grader.model) and grader.allow_same != grader.model:
        raise AttemptError(
            f"{grader.model} wrote this attempt ({agent}), so it may not grade it; choose another model, "
            f"or allow it by name with --allow-same-model {grader.model}"
        )


def _agent_model(seen: Examined) -> str | None:
    agent = seen.evidence.spec.get("agent") or {}
    options = agent.get("options") or {}
    model = agent.get("model") or options.get("model")
    return str(model) if model else None


def _plain(model: str) -> str:
    """Return a model's own name, without provider, gateway and date of release."""
    return _RELEASED.sub("", model.rpartition(":")[2].rpartition("/")[2].lower())


def _notes(seen: Examined, grader: ModelGrader) -> list[str]:
    name = str((seen.evidence.spec.get("agent") or {}).get("name") or "")
    agent = _agent_model(seen)
    notes = []
    if agent is None and name not in ("", "replay", "nothing", "constant", "copy", "human"):
        notes.append(f"the model of the agent '{name}' is not recorded, so that it is another one could not be checked")
    if agent is not None and _plain(agent) == _plain(grader.model):
        notes.append(f"the agent's own model {agent} grades itself, as was allowed by name")
    return notes


async def _question(folder: AttemptFolder, seen: Examined, grader: ModelGrader) -> Path:
    from reclaim_nb.agents.secrets import Redactor
    from reclaim_nb.agents.service import make_service
    from reclaim_nb.grading.model.interview import Asking, hold_vote

    service = grader.service or make_service(grader.model, grader.options)
    prompts = GraderPrompts.load()
    seed = grader.seed or secrets.token_hex(16)
    facts = (*seen.facts, *detect_all(seen.evidence, seen.card, seen.evidence.intake))
    fences = [fence_of(seed, vote, seen.evidence) for vote in range(grader.votes)]
    redactor = Redactor.of_environment()
    path = records_path(folder, f"model-{grader.model}")
    with RecordWriter(path) as writer:
        writer.add(
            "begin",
            schema=SCHEMA,
            **_identity(seen),
            model=grader.model,
            options=redactor.json(service.options.model_dump(mode="json")),
            votes=grader.votes,
            seed=seed,
            fences=fences,
            prompts=prompts.sha256,
            notes=_notes(seen, grader),
        )
        asking = Asking(service, prompts, redactor, writer, random.Random(seed))
        votes = [
            hold_vote(asking, Dossier(seen.evidence, seen.card, facts, fence), fence, vote)
            for vote, fence in enumerate(fences)
        ]
        await asyncio.gather(*votes)
        writer.add("end")
    return path


def _finish(work: Coroutine[Any, Any, Path]) -> Path:
    """Run to the end; in a thread where a loop runs already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1, "reclaim-grader") as pool:
        return pool.submit(asyncio.run, work).result()


__all__ = ["VOTES", "ModelGrader", "RecordError", "grade_with_model", "regrade", "verdict_of"]
