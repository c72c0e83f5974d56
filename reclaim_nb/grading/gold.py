"""A gold run from replayed attempts: value, spread, device, seconds, and what it was made with."""

from __future__ import annotations

import hashlib
import os
import statistics
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from reclaim_nb.errors import AttemptError, UnsoundRecord
from reclaim_nb.grading.verdict import grade
from reclaim_nb.papers.card import Gold, PaperCard
from reclaim_nb.papers.numbers import CONTEXT, decimals, format_decimal, quantise
from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.record.reader import first_event, last_event
from reclaim_nb.record.verify import verify_record


def gold_of(folders: Sequence[AttemptFolder], card: PaperCard, notebook: Path) -> Gold:
    """Return what replays of one reference notebook amount to.

    The value is the one that the grader finds measured; where it finds none, the one that was handed in.

    Args:
        folders: ended attempts by the agent replay, one or more.
        card: the card they were made with.
        notebook: the notebook that they replayed.

    Raises:
        AttemptError: a replay did not get to its end, or nothing was handed in.
        UnsoundRecord: a replay's record is not sound.
    """
    runs = [_run(folder, card) for folder in folders]
    values, first = [value for value, _, _ in runs], runs[0]
    spec: dict[str, Any] = first[2]
    kernel = spec["kernel"]
    commits = spec["release"].get("commits") or {}
    code = card.release.code
    notes = [f"by the published bar {' and '.join(sorted({one['outcome'] for _, one, _ in runs}))}"]
    if kernel.get("image_digest"):
        notes.append(f"image {kernel['image_digest'][:19]}")
    if kernel["unsandboxed"]:
        notes.append("in a plain process")
    return Gold(
        value=values[0] if len(values) == 1 else _mean(values),
        spread=_spread(values),
        seeds=len(values) if len(values) > 1 else None,
        route=f"{notebook.name} (sha256 {hashlib.sha256(notebook.read_bytes()).hexdigest()[:12]})",
        commit=commits.get("code") or (code.commit if code is not None else None),
        device=_device(kernel),
        seconds=Decimal(str(round(sum(float(one["seconds"]) for _, one, _ in runs) / len(runs), 1))),
        date=str(first[1]["date"]),
        note="; ".join(notes),
    )


def _run(folder: AttemptFolder, card: PaperCard) -> tuple[Decimal, dict[str, Any], dict[str, Any]]:
    """Return value, facts and spec of one replay."""
    last = last_event(folder.stream)
    if last is None or last.kind != "end" or last.data["reason"] != "submitted":
        how = "has not ended" if last is None or last.kind != "end" else f"ended with {last.data['reason']}"
        detail = f" ({last.data['detail']})" if last is not None and last.data.get("detail") else ""
        raise AttemptError(
            f"{folder.path}: the replay {how}{detail} without handing anything in; a reference notebook ends with "
            "attempt.submit(value)"
        )
    if problems := verify_record(folder).problems:
        raise UnsoundRecord(f"{folder.path}: the record is not sound: {problems[0]}")
    verdict = grade(folder, card)
    measured = None if verdict.value is None else Decimal(verdict.value)
    value = _value(measured, (last.data["submission"] or {}).get("value"))
    if value is None:
        raise AttemptError(f"{folder.path}: the replay handed in no value")
    facts = {
        "outcome": verdict.outcome,
        "seconds": last.data["usage"]["charged_seconds"],
        "date": last.time[:10],
    }
    return value, facts, first_event(folder.stream).data["spec"]


def _value(measured: Decimal | None, handed_in: str | None) -> Decimal | None:
    """Return what was measured; where the value that was handed in is the same with more digits, that."""
    given = None if handed_in is None else Decimal(str(handed_in))
    if measured is None or given is None:
        return given if measured is None else measured
    same = decimals(given) > decimals(measured) and quantise(given, decimals(measured)) == measured
    return given if same else measured


def _mean(values: Sequence[Decimal]) -> Decimal:
    mean = CONTEXT.divide(sum(values, Decimal(0)), Decimal(len(values)))
    finest = min(int(value.as_tuple().exponent) for value in values)
    return mean.quantize(Decimal(1).scaleb(finest - 1))


def _spread(values: Sequence[Decimal]) -> str | None:
    if len(values) == 1:
        return None
    if len(set(values)) == 1:
        return f"none over {len(values)} runs"
    deviation = statistics.stdev(values)
    return f"sd {format_decimal(Decimal(f'{deviation:.2g}'))} over {len(values)} runs"


def _device(kernel: dict[str, Any]) -> str:
    if kernel.get("gpu_name"):
        number = len(kernel["gpus"])
        return kernel["gpu_name"] if number == 1 else f"{number} x {kernel['gpu_name']}"
    cores = kernel.get("cpus") or os.cpu_count() or 1
    return f"{cores:g} CPU core{'' if cores == 1 else 's'}"
