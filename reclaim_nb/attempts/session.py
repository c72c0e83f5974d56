"""The session: one attempt while it runs. Agents act through its tools; all they do becomes a cell and a record."""

from __future__ import annotations

import asyncio
import contextlib
import json
import uuid
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from reclaim_nb.attempts.cells import CellSummary, RunningCell
from reclaim_nb.attempts.closing import CLOSING, closing_note
from reclaim_nb.attempts.conditions import GATE, GATE_SHARE, NUDGE
from reclaim_nb.attempts.gaps import GapCounter
from reclaim_nb.attempts.guard import Guard
from reclaim_nb.attempts.lookups import FREE_SHARE, Kind, Lookups
from reclaim_nb.attempts.meter import Meter, Reading, make_meter
from reclaim_nb.attempts.model_book import ModelBook
from reclaim_nb.attempts.network_log import NetworkLog, read_so_far
from reclaim_nb.attempts.prompts import render_prompts
from reclaim_nb.attempts.reasons import EndReason
from reclaim_nb.attempts.recorder import Recorder
from reclaim_nb.attempts.spec import AttemptSpec
from reclaim_nb.attempts.toolbox import Toolbox
from reclaim_nb.attempts.tools import (
    TOOL_MARK,
    AttemptOver,
    BudgetState,
    CellResult,
    ToolRefused,
    output_text,
    shorten,
)
from reclaim_nb.errors import RecordError
from reclaim_nb.kernels.kernel import Kernel, KernelConfig
from reclaim_nb.kernels.link import Message
from reclaim_nb.kernels.owner import Owner
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.paper_text import PaperText
from reclaim_nb.papers.view import agent_view
from reclaim_nb.record.clock import Clock, SystemClock


class Session:
    """One attempt while it runs.

    Args:
        spec: what was decided in advance.
        card: the paper card.
        paper: text of the paper.
        recorder: where everything is recorded.
        release: folder with what the authors released, None when there is none.
        clock: source of time.
        observer: called after every change and tick, for live views.

    Attributes:
        cells: what is known of every cell, by id, in order.
        turns: cells that the agent has run, and its calls that could not be understood.
        model: what the agent's model has used, and the record of its conversation.
        prompts: what agents are told.
        listeners: called with the cell and every message that belongs to one, once it is recorded.
    """

    def __init__(
        self,
        spec: AttemptSpec,
        card: PaperCard,
        paper: PaperText | None,
        recorder: Recorder,
        *,
        release: Path | None,
        clock: Clock | None = None,
        observer: Callable[[Session], None] | None = None,
    ) -> None:
        self.spec, self.card, self.limits = spec, card, spec.limits
        self.paper, self.release = paper, release
        self.recorder = recorder
        self.workspace = recorder.folder.workspace
        self.clock: Clock = clock or SystemClock()
        self.cells: dict[str, CellSummary] = {}
        self.turns = 0
        self.model = ModelBook(self)
        self.prompts = render_prompts(agent_view(card), spec.limits, spec.kernel, spec.conditions)
        self.listeners: list[Callable[[str, Message], None]] = []
        self.passed_before = 0.0
        self.running: RunningCell | None = None
        self.reading = Reading(0.0, 0.0, card.device, Decimal(1))
        self.toolbox = Toolbox(card, paper, recorder, self.cells, self.budget_state, self._before_submit)
        self.guard = Guard(self)
        self._observer = observer
        self._kernel: Kernel | None = None
        self._meter: Meter | None = None
        self._network: NetworkLog | None = None
        self._gaps = GapCounter()
        self._lookups = Lookups(lambda: self.kernel.link)
        self._requests: dict[str, str] = {}
        self._probes: dict[str, tuple[asyncio.Event, asyncio.Event]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._began = self.clock.monotonic()
        self._lock = asyncio.Lock()

    # ---- life ------------------------------------------------------------------------------------------------

    @property
    def kernel(self) -> Kernel:
        """The kernel, once there is one."""
        assert self._kernel is not None
        return self._kernel

    async def start(self, *, resumed: bool = False) -> None:
        """Start the kernel and the watch over it.

        Raises:
            KernelError: when no kernel can be had.
        """
        self._kernel = await Kernel.start(
            _kernel_config(self.spec),
            self._on_message,
            workspace=self.workspace,
            release=self.release,
            attempt_id=self.spec.id,
            batch=self.spec.batch,
        )
        await self._take_kernel({}, resumed)

    async def attach(self, info: dict[str, Any], meter_state: dict[str, Any], away: float = 0.0) -> None:
        """Take over the kernel that another runner started.

        Args:
            info: the kernel, as that runner recorded it.
            meter_state: the meter's state, as that runner recorded it.
            away: seconds since that runner's last event.

        Raises:
            KernelError: when the kernel is gone.
        """
        self._kernel = await Kernel.attach(info, self._on_message)
        await self._take_kernel(meter_state, True, away)

    async def close(self, reason: EndReason, detail: str | None = None) -> EndReason:
        """End the attempt: stop the kernel, read the meter, write the end, save the notebook.

        Returns:
            The end reason that stands in the record.
        """
        self.guard.end_with(reason, detail or "")
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        try:
            if self.running is not None:
                self._end_cell(self.running, "interrupted", detail or "the attempt ended")
            self.guard.stopped = True
            if self._kernel is not None:
                self._kernel.link.drain()
                self.tick()
                detail = await self._stop_kernel(detail)
                self.tick()
                if self._network is not None:
                    self._network.finish()
            if CLOSING not in self.cells:  # a runner may have died between this cell and the end
                self._record_cell(CLOSING, "markdown", "harness", closing_note(self, reason, detail), None)
            end = {"reason": reason, "detail": detail, "usage": self.usage(), "submission": self.submission}
            self.recorder.append("end", end)
            self.recorder.save()
        except (RecordError, OSError):
            await self._stop_kernel(detail)
            return "infrastructure_error"  # the record stays open, and `reclaim resume` writes its end
        finally:
            if self._meter is not None:
                self._meter.close()
            if self._network is not None:
                self._network.close()
            self.recorder.close()
            self.notify()
        return reason

    async def _stop_kernel(self, detail: str | None) -> str | None:
        """Stop the kernel and return the end's detail, with what went wrong added to it."""
        if self._kernel is None:
            return detail
        try:
            await self._kernel.stop()
        except Exception as problem:  # noqa: BLE001 - the record is closed all the same, and says so
            failed = f"the kernel could not be stopped ({problem}); `reclaim clean` removes it"
            return f"{detail}; {failed}" if detail else failed
        return detail

    def detach(self) -> None:
        """Let go of kernel and record without ending the attempt, so that another runner can go on."""
        for task in self._tasks:
            task.cancel()
        if self._kernel is not None:
            self._kernel.detach()
        if self._network is not None:
            self._network.close()
        self.recorder.close()

    @property
    def over(self) -> bool:
        """The attempt has ended or is ending."""
        return self.guard.over is not None

    @property
    def submission(self) -> dict[str, Any] | None:
        """What was handed in: ``value``, ``cell``, ``note``."""
        return self.toolbox.submission

    @property
    def wall_clock_seconds(self) -> float:
        """Seconds the attempt has run, without the time between runners and without waiting for a service."""
        return self.passed_before + self.clock.monotonic() - self._began - self.model.waited_seconds

    @property
    def tokens(self) -> int:
        """Tokens that the agent's model has used, in and out."""
        return self.model.usage.tokens

    @property
    def usd(self) -> Decimal | None:
        """What the agent's model has cost; None when that is unknown or there is no model."""
        return self.model.usage.usd if self.model.usage.requests else None

    def spend(self) -> dict[str, Any]:
        """Return what is spent so far, as it stands in events."""
        return {
            **self.reading.to_json(),
            "wall_clock_seconds": round(self.wall_clock_seconds, 3),
            "tokens": self.tokens,
            "usd": None if self.usd is None else str(self.usd),
        }

    def usage(self) -> dict[str, Any]:
        """Return what the attempt has used and was granted."""
        usage = {**self.spend(), "budget_hours": str(self.limits.budget_hours), "turns": self.turns}
        return usage | ({"model": self.model.usage.to_json()} if self.model.usage.requests else {})

    def budget_state(self) -> BudgetState:
        """Return what is granted, spent and left, without recording that somebody asked."""
        return BudgetState(
            device=self.reading.device,
            unit=self.card.hours_unit,
            granted_hours=self.limits.budget_hours,
            spent_hours=self.reading.hours,
            wall_clock_seconds=self.wall_clock_seconds,
            wall_clock_limit=self.limits.wall_clock_seconds,
            turns=self.turns,
            turn_limit=self.limits.turns,
            tokens=self.tokens,
            token_limit=self.limits.tokens,
            usd=self.usd,
            usd_limit=self.limits.usd,
        )

    # ---- tools -----------------------------------------------------------------------------------------------

    async def run_cell(
        self, source: str, timeout: float | None = None, *, metadata: dict[str, Any] | None = None
    ) -> CellResult:
        """Append a code cell, run it, and return what it gave.

        Args:
            source: the cell's source, as in a notebook.
            timeout: seconds after which the cell is interrupted, None for the attempt's own limit.
            metadata: JSON that goes into the cell's metadata.

        Raises:
            AttemptOver: when the attempt has ended, or the kernel ends with this cell.
        """
        return await self.add_code(source, author="agent", timeout=timeout, metadata=metadata)

    async def write_markdown(self, text: str, *, metadata: dict[str, Any] | None = None) -> str:
        """Append a Markdown cell and return its id.

        Raises:
            AttemptOver: when the attempt has ended.
        """
        return self.add_markdown(text, author="agent", metadata=metadata)

    async def read_output(self, cell: str, start: int = 0, length: int = 10_000) -> str:
        """Return characters of a cell's whole output.

        Raises:
            ToolRefused: when there is no such cell.
        """
        return str(self._call("read_output", {"cell": cell, "start": start, "length": length})["text"])

    async def read_paper(self, query: str = "") -> str:
        """Return a section of the paper, passages that fit the query, or the headings."""
        return str(self._call("read_paper", {"query": query})["text"])

    async def check_anchor(self, name: str, value: str) -> dict[str, Any]:
        """Compare a computed number with an anchor of the card.

        Raises:
            ToolRefused: when there is no such anchor or the value is no number.
        """
        return self._call("check_anchor", {"name": name, "value": value})

    async def budget(self) -> BudgetState:
        """Return what is spent and what is left."""
        self._call("budget", {})
        return self.budget_state()

    async def submit(self, value: str | None, cell: str | None = None, note: str = "") -> None:
        """Hand in the value and end the attempt.

        Args:
            value: the number as text, None when the agent has none.
            cell: id of the cell that measured it.
            note: what the agent has to say about it; kept apart from the evidence.

        Raises:
            AttemptOver: always, once the submission is recorded.
            ToolRefused: when the value is no number or there is no such cell.
        """
        self._call("submit", {"value": value, "cell": cell, "note": note})
        raise self.guard.end_with("submitted")

    # ---- conditions ------------------------------------------------------------------------------------------

    def gate_problem(self) -> str | None:
        """Return why no more may be spent before an anchor has agreed; None when nothing stands in the way."""
        if GATE not in self.spec.conditions or self.toolbox.anchored or not self.card.anchors:
            return None
        if self.reading.hours < self.limits.budget_hours * GATE_SHARE:
            return None
        return "no anchor has agreed with the paper yet, and 10 % of the budget is spent; call check_anchor first"

    def _before_submit(self, value: str | None) -> None:
        if value is None and NUDGE in self.spec.conditions and (words := self.model.last_words()) is not None:
            raise ToolRefused(words)

    async def count_turn(self) -> None:
        """Count a turn of the agent.

        Raises:
            AttemptOver: when the limit of turns is reached.
        """
        if self.limits.turns is not None and self.turns >= self.limits.turns:
            raise await self.guard.limit("turn_limit", f"{self.limits.turns} cells")
        self.turns += 1

    # ---- cells -----------------------------------------------------------------------------------------------

    def add_markdown(
        self, text: str, *, author: str, cell: str | None = None, metadata: dict[str, Any] | None = None
    ) -> str:
        """Append a Markdown cell of any author and return its id."""
        self.require_open()
        return self._record_cell(cell, "markdown", author, text, metadata)

    async def add_code(
        self,
        source: str,
        *,
        author: str,
        cell: str | None = None,
        metadata: dict[str, Any] | None = None,
        timeout: float | None = None,
    ) -> CellResult:
        """Append a code cell of any author and run it; see :meth:`run_cell`."""
        async with self._lock:
            self.require_open()
            if author != "harness":
                if (closed := self.gate_problem()) is not None:
                    refused = {"name": "run_cell", "arguments": {"source": source}, "result": {"error": closed}}
                    self.recorder.append("tool", {**refused, "cell": None, "meter": self.spend()})
                    raise ToolRefused(closed)
                await self.count_turn()
            cell = self._record_cell(cell, "code", author, source, metadata)
            running = self._send(cell, source, timeout)
            try:
                await running.done.wait()
                if running.stopping is not None:
                    await running.swept.wait()  # the next cell must not meet what this one started
            except asyncio.CancelledError:
                await self.guard.stop_cell(running, "interrupted", "the attempt was stopped")
                self._end_cell(running, "interrupted", running.detail)
                raise
            result = self._end_cell(running, *running.status())
            if self.submission is not None:
                self.guard.end_with("submitted")
            over = self.guard.over
            if over is not None and over.reason in ("kernel_died", "infrastructure_error"):
                raise over
            return result

    def result_of(self, cell: str) -> CellResult:
        """Return what a code cell gave, from the record."""
        shown = self.recorder.rendering.cell_json(cell)
        facts: dict[str, Any] = shown["metadata"]["reclaim"]
        text, cut = shorten(output_text(shown["outputs"]))
        held, charged = facts.get("held_seconds", 0.0), facts.get("charged_seconds", 0.0)
        return CellResult(
            cell, facts["status"], text, cut, shown["execution_count"], held, charged, facts.get("detail")
        )

    def adopt(self, running: RunningCell) -> None:
        """Take over a cell that another runner sent and that may still run."""
        running.adopted = True
        self._requests[running.request] = running.cell
        self.running = running
        # The cell may wait for the answer to a tool call that went to the dead runner, for ever.
        refused = {"error": "the runner was restarted during this call; what it recorded stands, else call again"}
        self.kernel.link.answer_input(json.dumps(refused))

    def end_adopted(self, running: RunningCell, status: str, detail: str | None) -> None:
        """Close a cell that another runner sent."""
        self._end_cell(running, status, detail)

    async def probe(self) -> None:
        """Wait until the kernel has nothing more to run and its outputs arrive.

        Raises:
            AttemptOver: when a limit or the kernel's death comes first.
        """
        answered, heard = asyncio.Event(), asyncio.Event()
        while not heard.is_set():
            answered.clear()
            request = self.kernel.link.send("shell", "kernel_info_request", {})
            self._probes[request] = (answered, heard)
            # An answer without outputs: the subscription to them had not arrived yet, so ask again.
            while not heard.is_set() and not answered.is_set():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.2):
                        await answered.wait()
                self.require_open()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.2):
                    await heard.wait()
            self.require_open()

    async def look_up(self, kind: Kind, content: dict[str, Any]) -> dict[str, Any]:
        """Ask the kernel to complete or inspect code, outside of the record and of the budget.

        Returns:
            The content of its reply; empty while a cell runs, or when there is none in time.

        Raises:
            AttemptOver: when the attempt has ended.
        """
        self.require_open()
        if self._meter is None or self._lock.locked():
            return {}
        async with self._lock:
            most = float(self.limits.budget_hours) * 3600 * FREE_SHARE
            return await self._lookups.ask(kind, content, self._meter, most)

    def notify(self) -> None:
        """Tell the observer that something has changed."""
        if self._observer is not None:
            self._observer(self)

    def tick(self, running: bool | None = None) -> Reading:
        """Take a reading of the meter; of a box that has just ended the last one stands."""
        if self._meter is not None:
            try:
                self.reading = self._meter.tick(self.running is not None if running is None else running)
            except OSError:
                pass  # the box has just ended
            except Exception as problem:  # noqa: BLE001 - without a meter there is no budget, so the attempt ends
                self.guard.failed(problem)
        return self.reading

    def _record_cell(
        self, cell: str | None, cell_type: str, author: str, source: str, metadata: dict[str, Any] | None
    ) -> str:
        cell = cell or uuid.uuid4().hex[:8]
        self.recorder.append(
            "cell",
            {
                "cell": cell,
                "cell_type": cell_type,
                "author": author,
                "turn": self.turns if author != "harness" else None,
                "source": source,
                "metadata": metadata or {},
            },
        )
        self.cells[cell] = CellSummary(cell, author, cell_type, source, metadata or {}, None)
        self.notify()
        return cell

    def _send(self, cell: str, source: str, timeout: float | None) -> RunningCell:
        reading = self.tick()
        if self._network is not None:
            self._network.look()
        limit = min(filter(None, (timeout, self.limits.cell_seconds)), default=None)
        # Taken before the cell is sent: on a busy machine it can be far ahead by the time this goes on.
        started, began = self.clock.now(), self.clock.monotonic()
        # Recorded before it is sent: what ran is never taken for what did not, whenever the runner dies.
        request = self.kernel.link.execute(
            source, lambda request: self.recorder.append("execute", {"cell": cell, "msg_id": request})
        )
        deadline = None if limit is None else began + limit
        running = RunningCell(cell, request, started, began, reading.charged_seconds, deadline)
        self._requests[request] = cell
        self.running = running
        if self._network is not None:
            self._network.begin(cell, running.started)
        return running

    def _end_cell(self, running: RunningCell, status: str, detail: str | None) -> CellResult:
        reading = self.tick(running=True)
        self.running = None
        held = self.clock.monotonic() - running.began
        charged = max(0.0, reading.charged_seconds - running.charged_before)
        gaps = self._gaps.close() + running.gaps
        ended = self.clock.now()
        if self._network is not None:
            self._network.end(running.cell, running.started, ended)
        self.recorder.append(
            "cell_end",
            {
                "cell": running.cell,
                "status": status,
                "execution_count": running.execution_count,
                "started": running.started,
                "ended": ended,
                "held_seconds": round(held, 3),
                "charged_seconds": round(charged, 3),
                "messages": running.messages,
                "gaps": gaps,
                "idle": running.idle,
                "detail": detail,
                "meter": self.spend(),
            },
        )
        self.cells[running.cell] = self.cells[running.cell].with_status(status)
        self.notify()
        return self.result_of(running.cell)

    # ---- messages --------------------------------------------------------------------------------------------

    def _on_message(self, message: Message) -> None:
        try:
            self._take(message)
        except Exception as problem:  # noqa: BLE001 - one message must not end the channel; the attempt ends and says why
            self.guard.failed(problem)

    def _take(self, message: Message) -> None:
        cell = self._requests.get(message.parent)
        running = self.running if self.running and self.running.request == message.parent else None
        self._gaps.add(message.id)
        if self._lookups.take(message):
            return
        content: dict[str, Any] = message.content or {}
        if message.content is None:
            content = {"raw": message.raw.decode("utf-8", "backslashreplace")}
        is_tool_call = str(content.get("prompt", "")).startswith(TOOL_MARK)
        if not is_tool_call:  # a tool call has an event of its own
            self.recorder.append(
                "message",
                {
                    "cell": cell,
                    "channel": message.channel,
                    "msg_type": message.kind,
                    "msg_id": message.id,
                    "parent": message.parent,
                    "content": dict(content),
                    "metadata": message.metadata,
                    "late": self.guard.stopped or (cell is not None and running is None),
                    **({"buffers": message.buffers} if message.buffers else {}),
                },
            )
        if cell is not None:
            for listener in self.listeners:
                listener(cell, message)
        if message.kind == "input_request":
            self.kernel.link.answer_input(self._answer(str(content["prompt"]), cell) if is_tool_call else "")
        if message.parent in self._probes:
            answered, heard = self._probes[message.parent]
            (heard if message.channel == "iopub" else answered).set()
        if running is not None:
            running.take(message.kind, content)

    def _answer(self, prompt: str, cell: str | None) -> str:
        try:
            request = json.loads(prompt[len(TOOL_MARK) :])
            answer: dict[str, Any] = {"result": self._call(str(request["name"]), dict(request["arguments"]), cell)}
        except (ToolRefused, AttemptOver) as refusal:
            answer = {"error": str(refusal)}
        except (ValueError, KeyError, TypeError, RecursionError) as problem:
            answer = {"error": f"not a tool call: {problem}"}
        return json.dumps(answer)

    def _call(self, name: str, arguments: dict[str, Any], cell: str | None = None) -> dict[str, Any]:
        self.require_open()
        return self.toolbox.call(name, arguments, cell, self.spend())

    def require_open(self) -> None:
        """Raise when the attempt has ended or is ending."""
        if self.guard.over is not None:
            raise self.guard.over

    async def _take_kernel(self, meter_state: dict[str, Any], resumed: bool, away: float = 0.0) -> None:
        self._meter = make_meter(self.kernel, self.spec.kernel, self.clock, meter_state, self.reading, away)
        self._gaps = GapCounter()  # what was exchanged while connecting is not the attempt's
        me = Owner.me()
        self.recorder.append(
            "runner",
            {
                "host": me.host,
                "pid": me.pid,
                "started": me.started,
                "resumed": resumed,
                "kernel": await self.kernel.info(),
                "language_info": self.kernel.language_info,
                "meter": self._meter.state(),
            },
        )
        self._began = self.clock.monotonic()
        self._tasks = [asyncio.create_task(self.guard.watch()), asyncio.create_task(self.recorder.autosave())]
        if (watch := self.kernel.network_watch(read_so_far(self.recorder))) is not None:
            self._network = NetworkLog(self, watch)
            if (text := self.kernel.network_news()) is not None:
                self._network.note(text)
            self._tasks.append(asyncio.create_task(self._network.run()))
        self.notify()


def _kernel_config(spec: AttemptSpec) -> KernelConfig:
    facts = spec.kernel
    return KernelConfig(
        kind=facts.kind,
        image=facts.image,
        network=facts.network if facts.kind == "docker" else "none",  # type: ignore[arg-type]
        allow=tuple(facts.allow),
        block=tuple(facts.block),
        memory_mib=facts.memory_mib,
        cpus=facts.cpus,
        pids=facts.pids,
        gpus=tuple(facts.gpus),
        abandon_seconds=facts.abandon_seconds,
        options=facts.options,
    )
