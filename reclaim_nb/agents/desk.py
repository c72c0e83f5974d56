"""The desk: through it a person's notebook and command line reach the session; the runner alone writes the record.

It listens on a socket in the kernel's box, where only this user can enter and a container is shown nothing of it. A
cell that was begun runs on when the notebook that sent it goes away, as it would in any Jupyter; what it shows then is
in the record.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import uuid
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reclaim_nb.agents.desk_client import DESK
from reclaim_nb.attempts.conditions import NUDGE
from reclaim_nb.attempts.session import Session
from reclaim_nb.attempts.tools import AttemptOver, ToolRefused
from reclaim_nb.kernels.link import Message
from reclaim_nb.kernels.owner import Owner
from reclaim_nb.record.folder import write_json

LINE_LIMIT = 16 * 1024 * 1024
"""Most bytes of one request; a cell's source is far smaller."""

SHOWN_BYTES = 8 * 1024 * 1024
"""Most bytes of outputs that a cell shows in the working notebook; the record has them all."""

LAST_SECONDS = 5.0
"""How long answers that are under way are waited for when the attempt ends."""

SHOWN = ("stream", "display_data", "update_display_data", "execute_result", "clear_output", "error")
WIDGET = "application/vnd.jupyter.widget-view+json"
MARKDOWN = "%%markdown"


class Ask(BaseModel):
    """A request of a person's program."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    do: Literal["hello", "execute", "interrupt", "submit", "close", "complete", "inspect"]
    source: str = ""
    cursor: int = Field(default=0, ge=0)
    level: int = Field(default=0, ge=0, le=1)
    cell: str | None = None
    value: str | None = None
    note: str = ""


class Desk:
    """Serves a session to a person while it is entered.

    Attributes:
        closed: set when the person has ended the attempt without a value.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._file = session.recorder.folder.path / DESK
        self._folder = session.kernel.private / "desk"
        self.closed = asyncio.Event()
        self._turn = asyncio.Lock()
        self._visitors: dict[str, _Visitor] = {}
        self._at_work: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._warm: asyncio.Task[None]

    async def __aenter__(self) -> Desk:
        shutil.rmtree(self._folder, ignore_errors=True)  # a dead runner of this attempt may have left it
        self._folder.mkdir(mode=0o700)
        path = self._folder / "s"
        self._server = await asyncio.start_unix_server(self._serve, path, limit=LINE_LIMIT)
        self._session.listeners.append(self._on_message)
        write_json(self._file, {"socket": str(path)})
        self._warm = asyncio.create_task(self._warm_up())
        return self

    async def _warm_up(self) -> None:
        """The first completion of a kernel takes a second or two, longer than a notebook waits: have it over with."""
        with contextlib.suppress(AttemptOver):
            await self._session.look_up("complete_request", {"code": "attempt.", "cursor_pos": 8})

    async def __aexit__(self, *exc: object) -> None:
        assert self._server is not None
        self._file.unlink(missing_ok=True)
        self._server.close()
        self._warm.cancel()
        await asyncio.gather(self._warm, return_exceptions=True)
        if self._at_work:
            await asyncio.wait(self._at_work, timeout=LAST_SECONDS)
        for task in self._at_work:
            task.cancel()
        await asyncio.gather(*self._at_work, return_exceptions=True)
        self._session.listeners.remove(self._on_message)
        shutil.rmtree(self._folder, ignore_errors=True)

    async def until_over(self) -> None:
        """Wait until the attempt is over.

        Raises:
            AttemptOver: always.
        """
        closed = asyncio.ensure_future(self.closed.wait())
        ended = asyncio.ensure_future(self._session.guard.ended.wait())
        try:
            await asyncio.wait({closed, ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            closed.cancel()
            ended.cancel()
        self._session.require_open()
        raise AttemptOver("agent_stopped", "closed by the person")

    # ---- visitors --------------------------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visitor = _Visitor(writer)
        try:
            while line := await reader.readline():
                await self._take(line, visitor)
        except (OSError, ValueError):  # it has gone, or sent a line beyond any bound
            pass
        finally:
            if visitor.task is not None and not visitor.begun:
                visitor.task.cancel()  # what has not begun is not begun for nobody
            writer.close()

    async def _take(self, line: bytes, visitor: _Visitor) -> None:
        try:
            ask = Ask.model_validate_json(line)
        except ValidationError as problem:
            visitor.answer("refused", text=f"not a request: {problem.errors()[0]['msg']}")
            return
        if ask.do == "execute":
            if visitor.task is not None and not visitor.task.done():
                visitor.answer("refused", text="one cell at a time")
                return
            visitor.begun = False
            visitor.task = asyncio.create_task(self._execute(ask, visitor))
            self._at_work.add(visitor.task)
            visitor.task.add_done_callback(self._at_work.discard)
        elif ask.do == "interrupt":
            await self._interrupt(visitor)
        else:
            await self._answer(ask, visitor)

    async def _answer(self, ask: Ask, visitor: _Visitor) -> None:
        session = self._session
        try:
            if ask.do == "submit":
                await session.submit(ask.value, ask.cell, ask.note)
            elif ask.do in ("complete", "inspect"):
                visitor.answer("reply", content=await self._look_up(ask))
            elif ask.do == "close" and (words := self._last_words()) is not None:
                visitor.answer("told", text=words)
            elif ask.do == "close":
                session.require_open()
                visitor.answer("closed", runner=Owner.me().to_json())
                self.closed.set()
            else:
                state = session.budget_state()
                visitor.answer("hello", count=self._count(), budget=state.text, runner=Owner.me().to_json())
        except ToolRefused as refusal:
            visitor.answer("refused", text=str(refusal))
        except AttemptOver as over:
            visitor.answer("over", reason=over.reason, detail=over.detail, runner=Owner.me().to_json())

    async def _look_up(self, ask: Ask) -> dict[str, Any]:
        """Answer what a notebook asks behind the person's back, as with Tab."""
        place = {"code": ask.source, "cursor_pos": ask.cursor}
        if ask.do == "complete":
            return await self._session.look_up("complete_request", place)
        return await self._session.look_up("inspect_request", {**place, "detail_level": ask.level})

    def _last_words(self) -> str | None:
        """Under the condition ``nudge`` a person who stops without a value is told once what is left, as others are."""
        return self._session.model.last_words() if NUDGE in self._session.spec.conditions else None

    # ---- cells -----------------------------------------------------------------------------------------------

    async def _execute(self, ask: Ask, visitor: _Visitor) -> None:
        if self._turn.locked():
            visitor.show("stream", {"name": "stderr", "text": "(waits: an earlier cell of this attempt still runs)\n"})
        async with self._turn:
            visitor.begun = True
            cell = uuid.uuid4().hex[:8]
            done: dict[str, Any] = {"cell": cell, "status": "error", "count": None, "detail": None}
            self._visitors[cell] = visitor
            visitor.begin()
            try:
                done |= await self._carry_out(cell, ask)
            except ToolRefused as refusal:
                done |= {"status": "refused", "detail": str(refusal)}
            except AttemptOver as over:
                done |= {"status": "over", "detail": str(over)}
            except Exception as problem:
                self._session.guard.failed(problem)
                raise
            finally:
                del self._visitors[cell]
            if visitor.left_out:
                text = f"({visitor.left_out:,} outputs are not shown here; the record has all of them)\n"
                visitor.answer("message", kind="stream", content={"name": "stderr", "text": text})
            over_now = self._session.guard.over
            visitor.answer("done", over=None if over_now is None else str(over_now), **done)
            with contextlib.suppress(OSError):
                await visitor.writer.drain()

    async def _carry_out(self, cell: str, ask: Ask) -> dict[str, Any]:
        session = self._session
        metadata = {"working_cell": ask.cell} if ask.cell else {}
        first, _, rest = ask.source.partition("\n")
        if first.strip() == MARKDOWN:
            session.add_markdown(rest, author="human", cell=cell, metadata=metadata)
            self._visitors[cell].show("display_data", {"data": {"text/markdown": rest, "text/plain": rest}})
            return {"status": "ok"}
        result = await session.add_code(ask.source, author="human", cell=cell, metadata=metadata)
        return {"status": result.status, "count": result.execution_count, "detail": result.detail}

    async def _interrupt(self, visitor: _Visitor) -> None:
        """Interrupt the cell that runs; one that does not heed is the cell's own affair, as in any Jupyter."""
        if visitor.task is not None and not visitor.task.done() and not visitor.begun:
            visitor.task.cancel()
            visitor.answer("done", over=None, cell=None, status="interrupted", count=None, detail="it had not begun")
        elif self._session.running is not None:
            await self._session.kernel.interrupt()

    def _on_message(self, cell: str, message: Message) -> None:
        visitor = self._visitors.get(cell)
        if visitor is not None and message.channel == "iopub" and message.kind in SHOWN:
            visitor.show(message.kind, message.content)

    def _count(self) -> int:
        """Return the last execution count of the attempt's kernel."""
        for summary in reversed(self._session.cells.values()):
            if summary.cell_type == "code":
                count = self._session.recorder.rendering.cell_json(summary.cell)["execution_count"]
                if count is not None:
                    return int(count)
        return 0


class _Visitor:
    """One program that is connected."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self.task: asyncio.Task[None] | None = None
        self.begun = False
        self.left_out = 0
        self._shown = 0

    def begin(self) -> None:
        self.left_out = self._shown = 0

    def show(self, kind: str, content: dict[str, Any] | None) -> None:
        """Pass an output on, unless the cell has shown enough; errors always are."""
        if content is None:
            self.left_out += 1
            return
        line = _line("message", kind=kind, content=_without_widgets(content))
        if kind != "error" and self._shown + len(line) > SHOWN_BYTES:
            self.left_out += 1
            return
        self._shown += len(line)
        self._write(line)

    def answer(self, what: str, **words: Any) -> None:
        self._write(_line(what, **words))

    def _write(self, line: bytes) -> None:
        if not self.writer.is_closing():
            self.writer.write(line)


def _line(what: str, **words: Any) -> bytes:
    return json.dumps({"is": what, **words}).encode("ascii") + b"\n"


def _without_widgets(content: dict[str, Any]) -> dict[str, Any]:
    """A widget lives from talking to its kernel, which the working notebook cannot; its text stands in for it."""
    data = content.get("data")
    if not isinstance(data, dict) or WIDGET not in data:
        return content
    return {**content, "data": {mime: value for mime, value in data.items() if mime != WIDGET}}
