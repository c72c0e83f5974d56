"""Many attempt folders without any attempt: records of the project's own form, written by its own writers.

What is measured against many attempts (index, frames, figures, server) needs them in minutes, not in years. Each folder
holds a chained stream, its notebook and a verdict, as an attempt of a few cells leaves them; values, spend and endings
are drawn at random from a seed. The batch has a plan, so what was declared and never begun is known too.

    python benchmarks/synthetic.py RUNS --attempts 10000
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from reclaim_nb.analysis.places import place_of
from reclaim_nb.attempts.limits import limits_for
from reclaim_nb.attempts.prepare import Request, card_json
from reclaim_nb.attempts.reasons import ENDINGS, EndReason
from reclaim_nb.attempts.recorder import Recorder
from reclaim_nb.attempts.spec import AgentSpec, AttemptSpec, KernelFacts, package_versions
from reclaim_nb.batch.plan import Declared, Plan, declare, make_plan
from reclaim_nb.batch.pool import keep_plan
from reclaim_nb.grading.cause import Code, Outcome
from reclaim_nb.grading.verdict import SelfReport, Verdict, write_verdict
from reclaim_nb.kernels.kernel import KernelConfig
from reclaim_nb.papers.loading import LoadedCard
from reclaim_nb.papers.suite import find_paper
from reclaim_nb.record.events import SCHEMA
from reclaim_nb.record.folder import AttemptFolder, create_folder

AGENTS = ("replay", "nothing", "constant", "copy")
SEED = 7
_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
_SHIFT_HOURS = 0.05
_REASONS: dict[EndReason | None, int] = {
    "submitted": 80,
    "agent_stopped": 6,
    "budget_exhausted": 5,
    "wall_clock": 2,
    "turn_limit": 2,
    "agent_error": 2,
    "infrastructure_error": 1,
    "cancelled": 1,
    None: 1,
}
"""How many of a hundred attempts end in each way; None: their runner died."""
_OUTCOMES: dict[str, tuple[Outcome, Code | None]] = {
    "inside": ("reproduced", None),
    "near": ("near_miss", "C14"),
    "outside": ("not_reproduced", "C13"),
}
_CAUSES: tuple[Code, ...] = ("C01", "C02", "C03", "C04", "C07", "C09", "C11", "C12")


class _Clock:
    """Time of one attempt, which passes when it is told to."""

    def __init__(self, began: datetime) -> None:
        self._now = self._began = began

    def now(self) -> str:
        self._now += timedelta(microseconds=350)
        return self._now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def monotonic(self) -> float:
        return (self._now - self._began).total_seconds()

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self._now += timedelta(seconds=seconds)


def synthetic_plan(
    attempts: int = 10_000, *, suite: str = "neurips2025", agents: tuple[str, ...] = AGENTS, batch: str = "synthetic"
) -> Plan:
    """Return a plan that declares at least so many attempts."""
    plan = make_plan({"name": batch, "suite": suite, "agents": agents, "settings": {"kernel": "docker"}})
    papers = len(declare(plan, "runs")) // len(agents)
    return plan.model_copy(update={"repeats": -(-attempts // (papers * len(agents)))})


def write_runs(
    runs: Path,
    attempts: int = 10_000,
    *,
    suite: str = "neurips2025",
    agents: tuple[str, ...] = AGENTS,
    batch: str = "synthetic",
    cells: int = 4,
    seed: int = SEED,
) -> int:
    """Write attempts of a plan into a runs folder.

    Args:
        runs: the runs folder; made if missing.
        attempts: how many folders.
        suite: whose papers; those of the published suite have the sizes of real cards.
        agents: names of agents.
        batch: name of the batch.
        cells: code cells of each.
        seed: of everything that is drawn.

    Returns:
        how many were written.
    """
    plan = synthetic_plan(attempts, suite=suite, agents=agents, batch=batch)
    draw = random.Random(seed)
    packages = package_versions()
    cards: dict[str, LoadedCard] = {}
    skill = {agent: draw.uniform(0.2, 2.5) for agent in agents}
    runs.mkdir(parents=True, exist_ok=True)
    keep_plan(plan, runs)
    written = 0
    # The writers put every event on the disk before the next; in memory that costs nothing, and the folders then move.
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as staging:
        for declared, again, reason in _makings(declare(plan, staging), draw):
            name = declared.request.paper
            if name not in cards:
                cards[name] = find_paper(name)
            folder = _write(declared, again, reason, cards[name], packages, cells, skill[declared.label], draw)
            target = runs / folder.path.relative_to(staging)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(folder.path, target)
            written += 1
            if written == attempts:
                break
    return written


def _makings(declared: list[Declared], draw: random.Random) -> Iterator[tuple[Declared, int, EndReason | None]]:
    """Yield what is made: every declared attempt, and those that ended by a fault once more."""
    for one in declared:
        reason: EndReason | None = draw.choices(list(_REASONS), list(_REASONS.values()))[0]
        yield one, 1, reason
        if reason is not None and ENDINGS[reason].repeat and draw.random() < 0.8:
            yield one, 2, "submitted"


def _write(
    declared: Declared,
    again: int,
    reason: EndReason | None,
    loaded: LoadedCard,
    packages: dict[str, str],
    cells: int,
    skill: float,
    draw: random.Random,
) -> AttemptFolder:
    request, card = declared.request, loaded.card
    folder = create_folder(
        Path(request.runs), request.batch, declared.suite, card.id, declared.label, request.repeat, again
    )
    folder.intake.write_text('{"files": [], "numbers": []}')
    spec = _spec(request, declared, again, loaded, packages, draw)
    share = 1.0 if reason == "budget_exhausted" else min(1.0, draw.lognormvariate(-1.6, 0.9))
    hours = Decimal(f"{float(card.budget.hours) * share:.6f}")
    clock = _Clock(_BEGAN + timedelta(hours=_SHIFT_HOURS * draw.randrange(100_000)))
    value = _value(loaded, skill, draw) if reason == "submitted" else None
    recorder = Recorder(folder, clock)
    try:
        recorder.append("attempt", {"schema": SCHEMA, "spec": spec.to_json(), "template": []})
        recorder.append("runner", {"pid": 1, "host": "synthetic", "started": "1", "resumed": False, "kernel": {}})
        text = {"cell_type": "markdown", "author": "harness", "turn": None, "source": f"# {card.title}", "metadata": {}}
        recorder.append("cell", {"cell": "card", **text})
        meter: dict[str, Any] = {}
        for number in range(cells):
            meter = _cell(recorder, clock, number, cells, hours, value, card.device, draw)
        if reason is not None:
            usage = {**meter, "turns": cells, "tokens": draw.randrange(10_000, 2_000_000), "usd": None}
            handed = None if value is None else {"value": value, "cell": f"cell-{cells - 1}", "note": ""}
            recorder.append("end", {"reason": reason, "detail": None, "usage": usage, "submission": handed})
        recorder.save()
        head = recorder.head
    finally:
        recorder.close()
    if reason is not None and ENDINGS[reason].grade and draw.random() < 0.97:
        write_verdict(folder, _verdict(spec, loaded, head, reason, value, draw))
    return folder


def _spec(
    request: Request, declared: Declared, again: int, loaded: LoadedCard, packages: dict[str, str], draw: random.Random
) -> AttemptSpec:
    card = loaded.card
    gpus = ("GPU-synthetic",) if card.device == "gpu" else ()
    config = KernelConfig(kind="docker", gpus=gpus)
    return AttemptSpec(
        id=f"{draw.getrandbits(48):012x}",
        batch=request.batch,
        suite=declared.suite,
        paper=card.id,
        title=card.title,
        tier=card.tier,
        device=card.device,
        repeat=request.repeat or 1,
        again=again,
        card_sha256=loaded.sha256,
        card=card_json(loaded),
        agent=AgentSpec(name=request.agent, model=request.model, options=request.options),
        kernel=KernelFacts(**config.to_json(), image_digest="sha256:0", gpu_name="H100" if gpus else ""),
        limits=limits_for(card),
        packages=packages,
    )


def _cell(
    recorder: Recorder,
    clock: _Clock,
    number: int,
    cells: int,
    hours: Decimal,
    value: str | None,
    device: str,
    draw: random.Random,
) -> dict[str, Any]:
    """Record one code cell with the messages a kernel sends for it; return the meter after it."""
    name, last = f"cell-{number}", number == cells - 1
    source = f"print({number})\n" + "x = [i ** 2 for i in range(1000)]\n" * draw.randrange(1, 12)
    about = {"cell_type": "code", "author": "agent", "turn": number + 1, "source": source, "metadata": {}}
    recorder.append("cell", {"cell": name, **about})
    started, request = clock.now(), f"request-{number}"
    recorder.append("execute", {"cell": name, "msg_id": request})
    seconds = float(hours) * 3600 / cells

    def message(kind: str, content: dict[str, Any], channel: str = "iopub") -> None:
        data = {"cell": name, "channel": channel, "msg_type": kind, "msg_id": f"{number}-{kind}", "parent": request}
        recorder.append("message", {**data, "content": content, "metadata": {}, "late": False})

    message("status", {"execution_state": "busy"})
    message("execute_input", {"code": source, "execution_count": number + 1})
    message("stream", {"name": "stdout", "text": f"step {number}: loss {draw.random():.4f}\n" * draw.randrange(1, 20)})
    clock.wait(seconds)
    failed = not last and draw.random() < 0.1
    if failed:
        message("error", {"ename": "ValueError", "evalue": "shapes do not match", "traceback": ["ValueError"]})
    charged = float(hours) * 3600 * (number + 1) / cells
    meter = {
        "charged_seconds": round(charged, 2),
        "held_seconds": round(charged * 1.01, 3),
        "hours": f"{hours * (number + 1) / cells:.6f}",
        "device": device,
        "factor": "1",
        "wall_clock_seconds": round(clock.monotonic(), 3),
        "tokens": 0,
        "usd": None,
    }
    if number == 0 and draw.random() < 0.5:
        checked = {"name": "check_anchor", "arguments": {"name": "rows", "value": "1"}, "result": {"agrees": True}}
        recorder.append("tool", {**checked, "cell": name, "meter": meter})
    if last and value is not None:
        handed = {"name": "submit", "arguments": {"value": value, "cell": name, "note": ""}, "result": {}}
        recorder.append("tool", {**handed, "cell": name, "meter": meter})
    message("execute_reply", {"status": "error" if failed else "ok", "execution_count": number + 1}, "shell")
    message("status", {"execution_state": "idle"})
    end = {"cell": name, "status": "error" if failed else "ok", "execution_count": number + 1, "started": started}
    end |= {"ended": clock.now(), "held_seconds": round(seconds, 3), "charged_seconds": round(seconds, 2)}
    recorder.append("cell_end", {**end, "messages": 6, "gaps": 0, "idle": True, "detail": None, "meter": meter})
    return meter


def _value(loaded: LoadedCard, skill: float, draw: random.Random) -> str:
    """Return what is handed in: the target, missed by more the less an agent can do."""
    target = loaded.card.target.value
    if target is None:
        return f"{draw.random():.3f}"
    wide = max(abs(float(target)) * 0.02, 1e-6)
    return f"{float(target) + draw.gauss(0, wide / skill):.4f}"


def _verdict(
    spec: AttemptSpec, loaded: LoadedCard, head: str, reason: EndReason, value: str | None, draw: random.Random
) -> Verdict:
    card = loaded.card
    place = None if value is None else place_of(card, value)
    outcome, cause = _OUTCOMES.get(place or "", ("not_reproduced", draw.choice(_CAUSES)))
    return Verdict(
        attempt=spec.id,
        card=card.id,
        card_sha256=loaded.sha256,
        stream_head=head,
        notebook_sha256="0" * 64,
        grader="rules",
        grader_version="synthetic",
        detectors=(),
        outcome=outcome,
        cause=cause,
        contributing=(draw.choice(_CAUSES),) if cause is not None and draw.random() < 0.3 else (),
        meaning="drawn at random",
        value=value,
        unit=card.target.unit,
        target=None if card.target.value is None else str(card.target.value),
        band=card.criterion.as_text(card.target.unit) if card.criterion is not None else "no criterion",
        place=place,
        strict_place=None if value is None else place_of(card, value, "strict"),
        self_report=SelfReport(value=value, agrees=None if value is None else True),
        end_reason=reason,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--attempts", type=int, default=10_000)
    parser.add_argument("--suite", default="neurips2025")
    parser.add_argument("--batch", default="synthetic")
    parser.add_argument("--cells", type=int, default=4)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    written = write_runs(
        options.runs,
        options.attempts,
        suite=options.suite,
        batch=options.batch,
        cells=options.cells,
        seed=options.seed,
    )
    print(f"{written} attempt folders in {options.runs / options.batch}")


if __name__ == "__main__":
    main()
