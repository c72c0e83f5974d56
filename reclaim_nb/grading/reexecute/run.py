"""Running the cells of a plan as an attempt of their own, and finding the number again where it stood."""

from __future__ import annotations

import contextlib
import re
import shutil
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from reclaim_nb.agents.replay import ORIGIN
from reclaim_nb.attempts.agent import make_agent
from reclaim_nb.attempts.gpus import Wanted, holding, wanted
from reclaim_nb.attempts.prepare import KernelKind, Prepared, Request, kernel_facts
from reclaim_nb.attempts.runner import run_attempt
from reclaim_nb.attempts.spec import AgentSpec, AttemptSpec, KernelFacts
from reclaim_nb.attempts.stopping import StopAsked
from reclaim_nb.errors import AttemptError, CardError, Stopped
from reclaim_nb.grading import mentions
from reclaim_nb.grading.candidates import Candidate
from reclaim_nb.grading.detectors import detect_all
from reclaim_nb.grading.evidence import Cell, Evidence
from reclaim_nb.grading.examine import Examined, examine, read_evidence
from reclaim_nb.grading.readings import readings
from reclaim_nb.grading.reexecute.change import change_cell, changed_names
from reclaim_nb.grading.reexecute.plan import Plan, Planned, What, plan
from reclaim_nb.grading.reexecute.record import (
    LeftOutPart,
    Reexecution,
    Run,
    read_reexecution,
    shown_number,
    tolerance_of,
    value_of,
    verdict_with,
)
from reclaim_nb.grading.resolver import Resolution, resolve
from reclaim_nb.grading.verdict import Verdict
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.fetch_cache import remove_tree
from reclaim_nb.papers.loading import CARD_FILE, LoadedCard
from reclaim_nb.papers.numbers import CONTEXT, format_decimal
from reclaim_nb.papers.suite import find_paper
from reclaim_nb.record.files import write_atomic
from reclaim_nb.record.folder import AttemptFolder, write_json
from reclaim_nb.record.reader import first_event, read_events
from reclaim_nb.record.workspace import copy_workspace

CHANGE = "reclaim-change"
"""Name of the cell that changes inputs."""
STEPS_BACK = 3
"""How many cells before the measuring one may be tried, where that one reads nothing that can be changed."""


def reexecute(
    folder: AttemptFolder,
    *,
    what: What = "cell",
    kernel: KernelKind | None = None,
    change: bool = True,
    seed: int = 0,
    begun: Callable[[], None] | None = None,
    stop: StopAsked | None = None,
) -> Path:
    """Run the measurement of an attempt again and write down what came of it.

    Args:
        folder: the attempt.
        what: ``cell``: the measuring cell and what it needs, in a copy of the workspace as it was left; ``notebook``:
            all cells, in an empty workspace.
        kernel: where; None: where the attempt ran.
        change: also run it with changed inputs.
        seed: of the changes.
        begun: called when all that can be checked beforehand was, and the first kernel is about to start.
        stop: entered by the caller; asked before and after each run whether to go on.

    Returns:
        The file with the result, ``reexecution.<number>.json`` beside the verdicts.

    Raises:
        Stopped: when it was stopped; what it had run is then removed.
        AttemptError: when the attempt cannot be graded, has no measured number, or its release is not here.
        RecordError: when the record is broken.
        KernelError: when no kernel can be had.
    """
    spec = AttemptSpec.model_validate(first_event(folder.stream).data["spec"])
    seen = examine(folder, PaperCard.model_validate(spec.card))
    resolution = resolve(seen.evidence, seen.card)
    candidate = shown_number(resolution)
    original = value_of(resolution)
    if candidate is None or original is None:
        raise AttemptError(f"{folder.path}: no number was put forward, so there is nothing to run again")
    facts = detect_all(seen.evidence, seen.card, seen.evidence.intake)
    planned = plan(seen.evidence, facts, candidate.cell, what)
    path = _free(folder)
    place = path.with_suffix("")
    stop = stop or StopAsked()
    again = _Again(folder, spec, seen, resolution, planned, _card(folder, spec, seen), what, kernel, place, stop)
    stop.check()
    if begun is not None:
        begun()
    try:
        same = again.run("same")
        changes = again.changed(same, seed) if change and same.text is not None else ()
    except (Stopped, KeyboardInterrupt):
        # Half a re-execution says nothing about the number, and its copies of the workspace may be large.
        remove_tree(place)
        raise
    tolerance = tolerance_of(seen.card, resolution)
    result = Reexecution(
        attempt=spec.id,
        card_sha256=seen.card_sha256,
        stream_head=seen.evidence.head,
        what=what,
        measuring=candidate.cell,
        cells=tuple(cell.cell for cell in planned.cells),
        left_out=tuple(LeftOutPart(cell=part.cell, text=part.text) for part in planned.left_out),
        kernel=again.kernel_name,
        original=format_decimal(original),
        tolerance=None if tolerance is None else format_decimal(tolerance),
        same=same,
        changes=changes,
    )
    write_atomic(path, result.to_bytes())
    return path


def grade_with_reexecution(folder: AttemptFolder, card: LoadedCard | PaperCard, path: Path) -> Verdict:
    """Grade by rules, with a re-execution among what they rest on; the same records give the same bytes.

    Raises:
        AttemptError: when the attempt cannot be graded.
        RecordError: when the re-execution is of another record.
    """
    rerun, sha256 = read_reexecution(path)
    return verdict_with(examine(folder, card), rerun, sha256, path.name)


def _free(folder: AttemptFolder) -> Path:
    number = 1
    while (folder.path / f"reexecution.{number}").exists():
        number += 1
    return folder.path / f"reexecution.{number}.json"


def _card(folder: AttemptFolder, spec: AttemptSpec, seen: Examined) -> LoadedCard:
    """Return the card with its folder, where the release lies."""
    shipped = bool((seen.evidence.intake or {}).get("files"))
    recorded = first_event(folder.stream).data.get("card_path")
    for name in (recorded, f"{spec.suite}/{spec.paper}"):
        try:
            loaded = find_paper(str(name))
        except CardError:
            continue
        if loaded.sha256 == spec.card_sha256:
            return loaded
    if shipped:
        raise AttemptError(
            f"{folder.path}: its cells had files that the authors released, and the paper "
            f"{spec.suite}/{spec.paper} with this card is not here; put its suite where RECLAIM_PAPERS says"
        )
    return LoadedCard(seen.card, Path(spec.suite) / spec.paper / CARD_FILE, spec.card_sha256)


@dataclass
class _Again:
    """Runs the cells of one plan."""

    folder: AttemptFolder
    spec: AttemptSpec
    seen: Examined
    resolution: Resolution
    plan: Plan
    card: LoadedCard
    what: What
    kernel: KernelKind | None
    place: Path
    stop: StopAsked
    kernel_name: str = ""

    def changed(self, same: Run, seed: int) -> tuple[Run, ...]:
        """Run with changed inputs: a second time where the same number comes out, since that may be chance."""
        point: str | None = self.plan.measuring
        runs: list[Run] = []
        for step in range(STEPS_BACK + 1):
            if point is None or not (names := self.plan.reads(point)):
                break
            run = self.run(f"changed-{step + 1}", point, names, seed)
            if run.changed and run.text != same.text:
                return (run,)
            if run.changed:
                return (run, self.run(f"changed-{step + 1}-again", point, names, seed + 1))
            runs.append(run)
            point = self.plan.before(point)
        return tuple(runs)

    def run(self, name: str, point: str | None = None, names: tuple[str, ...] = (), seed: int | None = None) -> Run:
        """Run all cells once, with a change of inputs before one of them where a point is given.

        Raises:
            Stopped: when it was told to stop, before or meanwhile.
        """
        self.stop.check()
        cells = list(self.plan.cells)
        if point is not None:
            at = next(index for index, cell in enumerate(cells) if cell.cell == point)
            cells.insert(at, Planned(CHANGE, change_cell(names, seed or 0)))
        folder = AttemptFolder(self.place / name)
        folder.path.mkdir(parents=True)
        if self.what == "cell":
            copy_workspace(self.folder, folder.workspace)
        else:
            folder.workspace.mkdir()
        if self.folder.intake.exists():
            shutil.copyfile(self.folder.intake, folder.intake)
        source = folder.path / "cells.ipynb"
        write_json(
            source, {"cells": [_cell(cell) for cell in cells], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        )
        with self._kernel() as kernel:
            spec = self.spec.model_copy(
                update={
                    "id": uuid.uuid4().hex[:12],
                    "batch": "reexecution",
                    "agent": AgentSpec(name="replay", options={"notebook": str(source)}),
                    "kernel": kernel,
                    "conditions": (),
                }
            )
            self.kernel_name = spec.kernel.name
            finished = run_attempt(Prepared(folder, spec, self.card, make_agent(spec.agent, self.card), []))
        self.stop.check()
        if finished.reason == "cancelled":
            raise Stopped("the run was cancelled; what had been run so far is removed")
        evidence, _, _ = read_evidence(folder, self.seen.card)
        return self._read(folder, evidence, finished.detail, point, seed)

    @contextlib.contextmanager
    def _kernel(self) -> Iterator[KernelFacts]:
        """Yield the kernel that the cells run in, its GPUs held meanwhile."""
        recorded, device = self.spec.kernel, self.seen.card.device
        if self.kernel is None or self.kernel == recorded.kind:
            with holding(Wanted(len(recorded.gpus), tuple(recorded.gpus)), look=self.stop.check):
                yield recorded
            return
        with holding(wanted("", device), look=self.stop.check) as ids:
            asked = Request(paper="", kernel=self.kernel, memory_mib=recorded.memory_mib, cpus=recorded.cpus)
            yield kernel_facts(replace(asked, gpus=",".join(ids)), device)

    def _read(
        self, folder: AttemptFolder, evidence: Evidence, detail: str | None, point: str | None, seed: int | None
    ) -> Run:
        origins = _origins(folder)
        cell = evidence.by_id.get(origins.get(self.plan.measuring, ""))
        changer = evidence.by_id.get(origins.get(CHANGE, ""))
        changed = changed_names("\n".join(o.text for o in changer.outputs)) if changer is not None else ()
        run = Run(
            folder=f"{self.place.name}/{folder.path.name}",
            stream_head=evidence.head,
            status=cell.status if cell is not None else "not_run",
            changed=changed,
            changed_before=point,
            seed=seed,
            detail=detail,
        )
        if cell is None:
            return run
        if (found := self._value(evidence, cell)) is None:
            last = next((o.text[-300:] for o in reversed(cell.outputs)), "")
            return run.model_copy(update={"detail": detail or last or "it printed nothing"})
        text, value = found
        return run.model_copy(update={"text": text, "value": format_decimal(value)})

    def _value(self, evidence: Evidence, cell: Cell) -> tuple[str, Decimal] | None:
        """Return the number that stands where the value stood, as printed and in the target's unit."""
        chosen = self.resolution.series or (shown_number(self.resolution),)
        original = self.seen.evidence.by_id[self.plan.measuring]
        texts, values = [], []
        for candidate in chosen:
            assert candidate is not None
            if candidate.output is None:
                submission = evidence.submission
                if submission is None or submission.value is None:
                    return None
                texts.append(submission.text)
                number = replace(candidate.number, text=submission.text, value=submission.value)
            else:
                found = _counterpart(original, cell, candidate)
                if found is None:
                    return None
                texts.append(found.text)
                number = found
            read = readings(number, self.seen.card, candidate.transform, candidate.origin.flow.marks)
            how = self.resolution.how.partition(",")[0]
            values.append(next((r.value for r in read if r.how == how), read[0].value if read else number.value))
        total = Decimal(0)
        for value in values:
            total = CONTEXT.add(total, value)
        return " ".join(texts), CONTEXT.divide(total, Decimal(len(values)))


def _cell(cell: Planned) -> dict[str, Any]:
    return {"id": cell.cell, "cell_type": "code", "source": cell.source, "metadata": {}, "outputs": []}


def _origins(folder: AttemptFolder) -> dict[str, str]:
    """Return the id of each cell that was played, by the id that it had."""
    found = {}
    for event in read_events(folder.stream):
        if event.kind == "cell" and (origin := (event.data.get("metadata") or {}).get(ORIGIN)) is not None:
            found[str(origin)] = str(event.data["cell"])
    return found


_DIGITS = re.compile(r"[-+]?\d[\d.,_]*(?:[eE][-+]?\d+)?|\bnan\b|\binf\b")


def _counterpart(original: Cell, again: Cell, candidate: Candidate) -> mentions.Number | None:
    """Return the number in the new outputs that stands where the candidate stood: line by shape, place in the line."""
    shape = _DIGITS.sub("#", candidate.number.line.strip())
    before = _lines_of_shape(original, shape)
    after = _lines_of_shape(again, shape)
    held = candidate.number
    place = next((i for i, numbers in enumerate(before) if any(_same_place(n, held) for n in numbers)), None)
    if place is None or not after:
        return None
    index = next(i for i, n in enumerate(before[place]) if _same_place(n, held))
    # Counted from the end: what is final stays final, also where more lines of progress came before it.
    numbers = after[max(-(len(before) - place), -len(after))]
    return numbers[index] if index < len(numbers) else None


def _same_place(number: mentions.Number, held: mentions.Number) -> bool:
    return number.offset == held.offset and number.text == held.text


def _lines_of_shape(cell: Cell, shape: str) -> list[list[mentions.Number]]:
    found = []
    for output in cell.outputs:
        for start, text in output.pieces:
            by_line: dict[str, list[mentions.Number]] = {}
            for number in mentions.numbers(text, start):
                by_line.setdefault(f"{text.rfind(chr(10), 0, max(number.offset - start, 0))}", []).append(number)
            for numbers in by_line.values():
                if _DIGITS.sub("#", numbers[0].line.strip()) == shape:
                    found.append(numbers)
    return found
