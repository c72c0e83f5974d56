"""What a record says about an attempt whose runner died: its state, and the cells left open."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from reclaim_nb.attempts.cells import CellSummary, RunningCell
from reclaim_nb.attempts.meter import Reading
from reclaim_nb.attempts.model_usage import ModelUsage
from reclaim_nb.attempts.reasons import EndReason
from reclaim_nb.attempts.recorder import Recorder
from reclaim_nb.attempts.session import Session
from reclaim_nb.attempts.spec import AttemptSpec
from reclaim_nb.errors import RecordError
from reclaim_nb.record.clock import SystemClock, seconds_between
from reclaim_nb.record.events import Event
from reclaim_nb.record.payloads import resolve


@dataclass
class Restored:
    """State of an attempt as its record has it.

    Attributes:
        spec, template, card_path: from the first event.
        kernel: the kernel as the last runner recorded it, None when none got that far.
        meter: state of that runner's meter.
        executed: a code cell was sent to a kernel.
        decided: end reason and detail that were decided already.
        open_cells: code cells without an end, with the time they were sent (None: never sent).
        model: what the agent's model has used.
        extra_turns: calls without a cell that count as a turn.
        anchored, asked: see the session.
        away_since: time of the last event.
    """

    spec: AttemptSpec
    template: list[dict[str, Any]]
    card_path: str
    recorder: Recorder
    kernel: dict[str, Any] | None = None
    meter: dict[str, Any] = field(default_factory=dict)
    executed: bool = False
    decided: tuple[EndReason, str] | None = None
    cells: dict[str, CellSummary] = field(default_factory=dict)
    open_cells: dict[str, tuple[str, str] | None] = field(default_factory=dict)
    submission: dict[str, Any] | None = None
    spend: dict[str, Any] = field(default_factory=dict)
    model: ModelUsage = field(default_factory=ModelUsage)
    extra_turns: int = 0
    anchored: bool = False
    asked: bool = False
    away_since: str = ""

    def take(self, event: Event) -> None:
        """Take note of one event."""
        data = event.data
        self.away_since = event.time
        if event.kind == "runner":
            self.kernel, self.meter = data["kernel"], data["meter"]
        elif event.kind == "cell":
            self.cells[data["cell"]] = CellSummary(
                data["cell"], data["author"], data["cell_type"], data["source"], data["metadata"], None
            )
            if data["cell_type"] == "code":
                self.open_cells[data["cell"]] = None
        elif event.kind == "execute":
            self.executed = True
            self.open_cells[data["cell"]] = (data["msg_id"], event.time)
        elif event.kind == "cell_end":
            self.cells[data["cell"]] = self.cells[data["cell"]].with_status(data["status"])
            self.open_cells.pop(data["cell"], None)
        elif event.kind == "tool" and data["name"] == "submit" and "error" not in data["result"]:
            arguments = resolve(data["arguments"], self.recorder.store)
            self.submission = {"value": None, "cell": None, "note": "", **arguments}
        elif event.kind == "tool":
            self.extra_turns += bool(data.get("turn"))
            self.anchored = self.anchored or (data["name"] == "check_anchor" and data["result"].get("agrees") is True)
        elif event.kind == "model":
            self.asked = self.asked or data["what"] == "asked"
            if "usage" in data:
                self.model = self.model + ModelUsage.from_json(data["usage"])
            elif "usage_total" in data:
                self.model = ModelUsage.from_json(data["usage_total"])
        elif event.kind == "limit" and data["stop"] and self.decided is None:
            self.decided = (data["which"], data["detail"])
        spend = data if event.kind == "meter" else data.get("meter") if event.kind != "runner" else None
        if isinstance(spend, dict):
            self.spend |= spend

    def apply(self, session: Session) -> None:
        """Put a new session into this state."""
        session.cells.update(self.cells)
        session.toolbox.submission, session.toolbox.anchored = self.submission, self.anchored
        session.model.usage, session.model.asked = self.model, self.asked
        cells = sum(1 for cell in self.cells.values() if cell.author != "harness" and cell.cell_type == "code")
        session.turns = cells + self.extra_turns
        session.passed_before = float(self.spend.get("wall_clock_seconds") or 0.0)
        if "charged_seconds" in self.spend:
            session.reading = Reading(
                float(self.spend["charged_seconds"]),
                float(self.spend["held_seconds"]),
                str(self.spend["device"]),
                Decimal(self.spend["factor"]),
            )
        if self.submission is not None and not self.open_cells and self.decided is None:
            self.decided = ("submitted", "")

    async def attach(self, session: Session) -> None:
        """Take over the kernel.

        Raises:
            KernelError: when it is gone.
        """
        assert self.kernel is not None
        away = max(0.0, seconds_between(self.away_since, session.clock.now()))
        await session.attach(self.kernel, self.meter, away)

    async def close_open_cells(self, session: Session) -> None:
        """Wait for the cell that was running, and close every open cell with what is known of it.

        Raises:
            AttemptOver: when a limit is reached while waiting, or the attempt ends with the cell.
        """
        for cell, sent in self.open_cells.items():
            running = self._running(cell, sent, session)
            if sent is None:
                session.end_adopted(running, "not_run", "the runner died before the cell was sent")
                continue
            if running.done.is_set():
                session.end_adopted(running, *_recorded_status(running))
                continue
            session.adopt(running)
            back = SystemClock().now()
            await session.probe()
            away = seconds_between(self.away_since, back)
            seen = running.messages > 0
            detail = f"the runner was away for {away:.1f} s (from {self.away_since} to {back}); " + (
                "the cell went on, and what it printed meanwhile is lost"
                if seen
                else "nothing of the cell had been recorded, so whether it ran is not known"
            )
            session.end_adopted(running, "interrupted", detail)
        if session.submission is not None:
            raise session.guard.end_with("submitted")

    def close_cells_unasked(self, session: Session, detail: str, status: str = "killed") -> None:
        """Close open cells when there is no kernel to ask, or nothing more to learn from it."""
        for cell, sent in self.open_cells.items():
            running = self._running(cell, sent, session)
            if sent is not None and running.done.is_set():
                session.end_adopted(running, *_recorded_status(running))
            else:
                session.end_adopted(running, "not_run" if sent is None else status, detail)
        self.open_cells.clear()

    def _running(self, cell: str, sent: tuple[str, str] | None, session: Session) -> RunningCell:
        now = session.clock.monotonic()
        request, started = sent or ("", session.clock.now())
        age = seconds_between(started, session.clock.now())
        limit = session.limits.cell_seconds
        running = RunningCell(
            cell,
            request,
            started,
            now - age,
            session.reading.charged_seconds,
            None if limit is None else now - age + limit,
        )
        for data in self.recorder.request_messages(request) if request else ():
            running.take(data["msg_type"], data["content"])
        return running


def restore(recorder: Recorder) -> Restored:
    """Read an attempt's state from its record.

    Raises:
        RecordError: when the record does not begin with an attempt.
    """
    if not recorder.history or recorder.history[0].kind != "attempt":
        raise RecordError(
            f"{recorder.folder.stream}: the runner died before anything was recorded; "
            "there is nothing to resume, start the attempt again"
        )
    first = recorder.history[0].data
    restored = Restored(AttemptSpec.model_validate(first["spec"]), first["template"], first["card_path"], recorder)
    for event in recorder.history:
        restored.take(event)
    restored.away_since = recorder.last_time or restored.away_since
    return restored


def _recorded_status(running: RunningCell) -> tuple[str, str | None]:
    reply = running.reply or {}
    if reply.get("status") == "ok":
        return "ok", None
    return "error", running.error_text()
