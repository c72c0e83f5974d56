"""Running one attempt from its first cell to its end, and going on with one whose runner died."""

from __future__ import annotations

import asyncio
import contextlib
import traceback
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reclaim_nb.attempts.agent import Agent, make_agent
from reclaim_nb.attempts.gpus import Wanted, gpus_of, holding
from reclaim_nb.attempts.prepare import Prepared, card_json, paper_text, release_folder
from reclaim_nb.attempts.reasons import EndReason
from reclaim_nb.attempts.recorder import Recorder
from reclaim_nb.attempts.restore import Restored, restore
from reclaim_nb.attempts.session import Session
from reclaim_nb.attempts.spec import AttemptSpec
from reclaim_nb.attempts.stopping import run_to_end
from reclaim_nb.attempts.tools import AttemptOver
from reclaim_nb.errors import AttemptError, AttemptExists, KernelError, ReclaimError, RecordError
from reclaim_nb.papers.loading import LoadedCard
from reclaim_nb.papers.recorded import FrozenSuites, MadeWith
from reclaim_nb.papers.suite import find_paper
from reclaim_nb.record.clock import SystemClock
from reclaim_nb.record.events import SCHEMA
from reclaim_nb.record.files import remove_parts
from reclaim_nb.record.folder import AttemptFolder, Lock, is_held, open_folder
from reclaim_nb.record.payloads import WORDS, Policy
from reclaim_nb.record.reader import last_event
from reclaim_nb.record.workspace import settle_workspace

Observer = Callable[[Session], None]


@dataclass(frozen=True)
class Finished:
    """An attempt that has ended, for now or for good."""

    folder: AttemptFolder
    reason: EndReason
    detail: str | None
    notebook: dict[str, Any]


def run_attempt(prepared: Prepared, observer: Observer | None = None) -> Finished:
    """Run a prepared attempt to its end.

    Args:
        prepared: what :func:`~reclaim_nb.attempts.prepare.prepare` returned.
        observer: called after every change, for live views.

    Raises:
        ReclaimError: when it cannot even begin; nothing is then left but a folder whose record says so.
    """
    return run_to_end(_run(prepared, observer))


def resume_attempt(path: Path | str, observer: Observer | None = None, *, waits: bool = True) -> Finished:
    """Go on with an attempt whose runner died.

    The kernel is taken over with its variables, the interrupted cell is marked, and the agent goes on. When the kernel
    is gone the attempt ends as ``infrastructure_error``. An attempt that has ended is only rendered again.

    Args:
        path: the attempt folder.
        observer: called after every change, for live views.
        waits: until other attempts let go of its GPUs.

    Raises:
        AttemptError: when a live runner is at work on it, its card has changed, or its GPUs are not free and nobody
            waits.
        RecordError: when its stream is broken.
    """
    folder = open_folder(path)

    def refuse_a_second() -> None:
        if is_held(folder):
            lock = Lock(folder)
            lock.take()  # which is refused, and says by whom it is held
            lock.release()

    refuse_a_second()
    last = last_event(folder.stream)
    ids = () if last is not None and last.kind == "end" else gpus_of(folder)
    with holding(Wanted(len(ids), ids), waits=waits, look=refuse_a_second):
        return run_to_end(_resume(folder, observer))


async def _run(prepared: Prepared, observer: Observer | None) -> Finished:
    lock = Lock(prepared.folder)
    lock.take()
    try:
        if prepared.folder.stream.exists():  # between its making and its lock it looked like a dead runner's
            raise AttemptExists(f"{prepared.folder.path}: another process took the attempt before this one began")
        recorder = Recorder(prepared.folder, SystemClock(), _policy(prepared.card))
        session = _session(prepared.spec, prepared.card, recorder, observer)
        recorder.append(
            "attempt",
            {
                "schema": SCHEMA,
                "spec": prepared.spec.to_json(),
                "template": prepared.template,
                "card_path": str(prepared.card.path),
            },
        )

        async def work() -> None:
            await session.start()
            await _write(session, prepared.agent, prepared.template)

        return _settled(await _conduct(session, work), prepared.spec)
    finally:
        lock.release()


async def _resume(folder: AttemptFolder, observer: Observer | None) -> Finished:
    lock = Lock(folder)
    lock.take()
    try:
        remove_parts(folder.path)
        last = last_event(folder.stream)
        if last is not None and last.kind == "end":
            recorder = Recorder(folder, SystemClock())
            if not folder.notebook.exists() or folder.notebook.read_bytes() != recorder.rendering.to_bytes():
                recorder.save()
            recorder.close()
            settle_workspace(folder, restore(recorder).spec.workspace)
            return Finished(folder, last.data["reason"], last.data["detail"], recorder.rendering.notebook())
        recorder = Recorder(folder, SystemClock())
        restored = restore(recorder)
        card = _find_card(restored.spec, restored.card_path)
        _require_engine(restored)
        session = _session(restored.spec, card, recorder, observer)
        restored.apply(session)
        agent = make_agent(restored.spec.agent, card)

        async def work() -> None:
            await _take_over(session, restored)
            await _write(session, agent, restored.template)

        return _settled(await _conduct(session, work), restored.spec)
    finally:
        lock.release()


async def _take_over(session: Session, restored: Restored) -> None:
    """Get the kernel back, or a fresh one when nothing has run yet."""
    if restored.decided is not None:
        try:
            await restored.attach(session)
        except KernelError as problem:
            restored.close_cells_unasked(session, str(problem))
            await asyncio.to_thread(_remove_own_leftovers, session.spec.id)
        else:
            detail = "the runner died while the attempt was ending"
            restored.close_cells_unasked(session, detail, "interrupted")
        raise session.guard.end_with(*restored.decided)
    if restored.kernel is not None:
        try:
            await restored.attach(session)
        except KernelError as problem:
            restored.close_cells_unasked(session, str(problem))
            await asyncio.to_thread(_remove_own_leftovers, session.spec.id)
            if restored.executed:
                detail = f"the kernel was gone when the attempt was resumed: {problem}"
                raise session.guard.end_with("infrastructure_error", detail) from problem
        else:
            await restored.close_open_cells(session)
            return
    await asyncio.to_thread(_remove_own_leftovers, session.spec.id)
    await session.start(resumed=True)


async def _write(session: Session, agent: Agent, template: list[dict[str, Any]]) -> None:
    for cell in template:
        if cell["cell"] in session.cells:
            continue
        if cell["cell_type"] == "markdown":
            session.add_markdown(cell["source"], author="harness", cell=cell["cell"], metadata=cell["metadata"])
        else:
            await session.add_code(cell["source"], author="harness", cell=cell["cell"], metadata=cell["metadata"])
    try:
        await agent.write(session)
    except (AttemptOver, KernelError, RecordError):
        raise
    except (Exception, SystemExit) as problem:
        raise _AgentFailed from problem
    if session.guard.over is not None:
        raise session.guard.over


async def _conduct(session: Session, work: Callable[[], Awaitable[None]]) -> Finished:
    """Do the work, and turn every way it can stop into one end reason."""
    reason: EndReason = "agent_stopped"
    detail: str | None = None
    try:
        await work()
    except AttemptOver as over:
        reason, detail = over.reason, over.detail or None  # type: ignore[assignment]
    except asyncio.CancelledError:
        reason, detail = "cancelled", "stopped by a signal"
    except (KernelError, RecordError) as problem:
        reason, detail = "infrastructure_error", str(problem)
    except _AgentFailed as failed:
        reason, detail = "agent_error", _note_failure(session, "agent_error", failed.__cause__ or failed)
    except Exception as problem:  # noqa: BLE001 - whatever fails outside the agent's program is not its result
        reason, detail = "infrastructure_error", _note_failure(session, "harness_error", problem)
    reason = await _undisturbed(session.close(reason, detail))
    return Finished(session.recorder.folder, reason, detail, session.recorder.rendering.notebook())


def _settled(finished: Finished, spec: AttemptSpec) -> Finished:
    """Settle the workspace once the end is recorded; a disk that refuses costs no result, since resume tries again."""
    last = last_event(finished.folder.stream)
    if last is not None and last.kind == "end":
        with contextlib.suppress(RecordError):
            settle_workspace(finished.folder, spec.workspace)
    return finished


class _AgentFailed(Exception):
    """The agent's own program failed; the cause says how."""


def _note_failure(session: Session, what: str, problem: BaseException) -> str:
    """Record a traceback and return its last line."""
    with contextlib.suppress(RecordError):
        text = "".join(traceback.format_exception(problem))[-8000:]
        session.recorder.append("note", {"what": what, "text": text})
    return f"{type(problem).__name__}: {problem}"


async def _undisturbed(work: Coroutine[Any, Any, EndReason]) -> EndReason:
    """Do the work to its end; a signal that comes meanwhile changes nothing."""
    task = asyncio.ensure_future(work)
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(task)
    return task.result()


def _session(spec: AttemptSpec, card: LoadedCard, recorder: Recorder, observer: Observer | None) -> Session:
    return Session(
        spec,
        card.card,
        paper_text(card),
        recorder,
        release=release_folder(card),
        observer=observer,
    )


def _policy(card: LoadedCard) -> Policy:
    return Policy(words=(*WORDS, card.card.target.metric, *card.card.target.words))


def _find_card(spec: AttemptSpec, path: str) -> LoadedCard:
    loaded = find_paper(path if Path(path).exists() else f"{spec.suite}/{spec.paper}")
    if spec.frozen is not None or loaded.frozen is not None:
        made = MadeWith(spec.suite, spec.paper, spec.card_sha256, path, (spec.frozen or {}).get("version"))
        if why := FrozenSuites().departed(made):
            raise AttemptError(f"the attempt is not gone on with: {why}; put the suite back as it was published")
    if loaded.sha256 != spec.card_sha256:
        now = card_json(loaded)
        changed = sorted(name for name in {*now, *spec.card} if now.get(name) != spec.card.get(name))
        if changed:  # a comment or another order of the fields is no change
            raise AttemptError(
                f"{loaded.path}: the card has changed since the attempt began ({', '.join(changed)}); "
                "put the old one back, or start a new attempt"
            )
    return loaded


def _require_engine(restored: Restored) -> None:
    """Refuse to judge a container gone only because the engine does not answer now."""
    if restored.kernel is not None and restored.spec.kernel.kind == "docker":
        from reclaim_nb.kernels.images import engine_problem

        if (problem := engine_problem()) is not None:
            raise AttemptError(f"{problem}; the attempt waits and can be resumed then")


def _remove_own_leftovers(attempt_id: str) -> None:
    from reclaim_nb.kernels.leftovers import find_leftovers

    for leftover in find_leftovers():
        if leftover.attempt == attempt_id:
            leftover.remove()


__all__ = ["Finished", "ReclaimError", "resume_attempt", "run_attempt"]
