"""The REST handlers: each checks what came in, asks another module, and answers with JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from pydantic import BaseModel, ValidationError
from tornado.web import HTTPError, authenticated

from reclaim_nb import __version__
from reclaim_nb.attempts.prepare import Request
from reclaim_nb.errors import CardError, ReclaimError
from reclaim_nb.papers.suite import find_paper
from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.server import options, processes, views
from reclaim_nb.server.models import ActionBody, StartBody
from reclaim_nb.server.places import NotFound, Places
from reclaim_nb.server.watch import Watch

BODY_BYTES = 64 * 1024
"""Most bytes of a request's body."""

B = TypeVar("B", bound=BaseModel)
Method = Callable[..., Awaitable[None]]


def answers(method: Method) -> Method:
    """Turn the errors a user can act on into answers that say what to do."""

    @wraps(method)
    async def wrapped(self: Handler, *args: str, **kwargs: str) -> None:
        try:
            await method(self, *args, **kwargs)
        except NotFound as problem:
            raise HTTPError(404, reason="Not Found", log_message=str(problem)) from None
        except processes.Refused as problem:
            raise HTTPError(409, reason="Conflict", log_message=str(problem)) from None
        except ReclaimError as problem:
            raise HTTPError(400, reason="Bad Request", log_message=str(problem)) from None

    return wrapped


def told(problem: ValidationError) -> str:
    """Return what is wrong with a request, in a line."""
    return "; ".join(f"{'.'.join(map(str, error['loc'])) or 'body'}: {error['msg']}" for error in problem.errors()[:5])


class Handler(APIHandler):
    """What the handlers share."""

    auth_resource = "reclaim"

    @property
    def places(self) -> Places:
        found: Places = self.settings["reclaim_places"]
        return found

    @property
    def watch(self) -> Watch:
        found: Watch = self.settings["reclaim_watch"]
        return found

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Answer with ``{"message": ...}``; a fault of ours tells nothing of its inside."""
        message = self._reason or "error"
        problem = kwargs.get("exc_info", (None, None, None))[1]
        if isinstance(problem, HTTPError) and problem.log_message:
            message = problem.log_message.replace("%%", "%")  # tornado doubles them for its log
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps({"message": message}))

    def body(self, model: type[B]) -> B:
        """Return the body of a request as its model.

        Raises:
            HTTPError: 413 when it is too long, 400 when it is not what is expected.
        """
        raw = self.request.body
        if len(raw) > BODY_BYTES:
            raise HTTPError(413, reason="Request Entity Too Large", log_message=f"more than {BODY_BYTES} bytes")
        try:
            return model.model_validate_json(raw or b"{}")
        except ValidationError as problem:
            raise HTTPError(400, reason="Bad Request", log_message=told(problem)) from None

    async def require_slot(self) -> None:
        """Pass when one more may run.

        Raises:
            Refused: when as many run as this server allows.
        """
        rows = await asyncio.to_thread(views.rows, self.places)
        running = sum(row.state == "running" for row in rows) + processes.again()
        if running >= self.settings["reclaim_slots"]:
            raise processes.Refused(
                f"{running} attempts are running, as many as this server allows (ReclaimServer.slots); "
                "wait for one to end, or stop one"
            )

    async def require_kernel(self, folder: AttemptFolder) -> None:
        """Pass when an attempt's cells may run again here.

        Raises:
            AttemptError: when they ran in a kernel that this server does not start.
            Refused: when as many attempts run as this server allows.
        """
        options.check_kernel(views.kernel_kind(folder), self.settings["reclaim_kernels"])
        await self.require_slot()

    def tell(self, answer: Any, status: int = 200) -> None:
        """Answer with JSON."""
        self.tell_text(json.dumps(answer), status)

    def tell_text(self, text: str, status: int = 200) -> None:
        """Answer with what is JSON already."""
        self.set_status(status)
        self.set_header("Cache-Control", "no-store")
        self.finish(text)


class StatusHandler(Handler):
    """Where this server reads from and what it can do at once."""

    @authenticated
    @authorized
    @answers
    async def get(self) -> None:
        self.tell(
            {
                "version": __version__,
                "runs": str(self.places.runs),
                "runs_path": self.places.runs_path,
                "slots": self.settings["reclaim_slots"],
            }
        )


class OptionsHandler(Handler):
    """What a new attempt can be made with."""

    @authenticated
    @authorized
    @answers
    async def get(self) -> None:
        self.tell(
            await asyncio.to_thread(options.options, self.settings["reclaim_agents"], self.settings["reclaim_kernels"])
        )


class SuitesHandler(Handler):
    """All suites with their papers."""

    @authenticated
    @authorized
    @answers
    async def get(self) -> None:
        self.tell({"suites": await asyncio.to_thread(self.settings["reclaim_suites"].get)})


class PaperHandler(Handler):
    """One card."""

    @authenticated
    @authorized
    @answers
    async def get(self, suite: str, paper: str) -> None:
        def read() -> dict[str, Any]:
            name = f"{suite}/{paper}"
            if why := views.unknown(self.settings["reclaim_suites"].get(), name):
                raise NotFound(why)
            return views.card(suite, find_paper(name))

        self.tell(await asyncio.to_thread(read))


class AttemptsHandler(Handler):
    """All attempts; making a new one."""

    @authenticated
    @authorized
    @answers
    async def get(self) -> None:
        watch = self.watch
        epoch, seq = watch.feed.epoch, watch.feed.seq
        found = await asyncio.to_thread(views.rows, self.places)
        watch.know(found)
        lives = watch.lives()

        def text() -> str:
            rows = [views.slim(row) for row in found]
            return json.dumps({"epoch": epoch, "seq": seq, "attempts": rows, "live": lives})

        # Megabytes where there are ten thousand: nobody else is to wait while they are written.
        self.tell_text(await asyncio.to_thread(text))

    @authenticated
    @authorized
    @answers
    async def post(self) -> None:
        body = self.body(StartBody)
        options.check_start(body, self.settings["reclaim_agents"], self.settings["reclaim_kernels"], self.places.root)
        if why := views.unknown(await asyncio.to_thread(self.settings["reclaim_suites"].get), body.paper):
            raise CardError(why)
        await self.require_slot()
        request = Request(
            **body.model_dump(exclude={"grade"}, exclude_none=True)
            | {"runs": str(self.places.runs), "conditions": body.conditions}
        )
        folder = AttemptFolder(Path(await processes.start(request, body.grade)))
        self.watch.soon()
        self.tell(
            {
                "path": folder.path.relative_to(self.places.runs).as_posix(),
                "contents_path": self.places.contents_path(folder),
            },
            201,
        )


class AttemptHandler(Handler):
    """One attempt."""

    @authenticated
    @authorized
    @answers
    async def get(self, name: str) -> None:
        folder = self.places.attempt(name)
        self.tell(await asyncio.to_thread(views.attempt, self.places, folder))


class RecordHandler(Handler):
    """The check of one record, kept until one of its files changes."""

    @authenticated
    @authorized
    @answers
    async def get(self, name: str) -> None:
        folder = self.places.attempt(name)
        cache: dict[str, tuple[str, dict[str, Any]]] = self.settings["reclaim_records"]
        stamp = views.stamp(folder)
        known = cache.get(name)
        if known is None or known[0] != stamp:
            known = (stamp, await asyncio.to_thread(views.record, folder))
            cache[name] = known
            while len(cache) > 200:
                cache.pop(next(iter(cache)))
        self.tell(known[1])


class ActionsHandler(Handler):
    """Stopping, resuming, grading and re-executing an attempt; stopping its re-execution."""

    @authenticated
    @authorized
    @answers
    async def post(self, name: str) -> None:
        folder = self.places.attempt(name)
        body = self.body(ActionBody)
        action = body.action
        if not folder.stream.exists():
            raise processes.Refused("this attempt was made elsewhere and brought in; there is nothing to act on")
        if action == "stop":
            processes.stop(folder)
        elif action == "resume":
            await processes.resume(folder)
        elif action == "reexecute":
            await self.require_kernel(folder)
            await processes.reexecute(folder, body.whole)
        elif action == "stop-reexecution":
            processes.stop_reexecution(folder)
        else:
            await processes.grade(folder)
        self.watch.soon()
        self.tell({"path": name, "action": action}, 202)
