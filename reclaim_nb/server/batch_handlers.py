"""The REST handlers of plans and batches."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Literal

from jupyter_server.auth.decorator import authorized
from pydantic import BaseModel, ConfigDict, Field
from tornado.web import authenticated

from reclaim_nb.batch.plan import Plan
from reclaim_nb.batch.pool import stop_pool
from reclaim_nb.record.folder import safe_name
from reclaim_nb.server import batches, processes
from reclaim_nb.server.handlers import Handler, answers


class BatchBody(BaseModel):
    """A batch to be begun, or gone on with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Annotated[str, Field(min_length=1, max_length=1000)]
    """Of the plan file, as the file browser names it."""


class BatchActionBody(BaseModel):
    """What is to be done with a batch."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    action: Literal["stop", "resume"]


class _BatchHandler(Handler):
    @property
    def batches(self) -> batches.Batches:
        found: batches.Batches = self.settings["reclaim_batches"]
        return found

    def checked(self, plan: Plan) -> Plan:
        """Return a plan that this server is configured for; refuse any other."""
        papers = {one["name"] for suite in self.settings["reclaim_suites"].get() for one in suite["papers"]}
        batches.check_plan(plan, self.settings["reclaim_agents"], self.settings["reclaim_kernels"], papers, self.places)
        return plan

    def preview(self, plan: Plan) -> dict[str, object]:
        """Return what carrying a plan out would do, where this server is configured for it."""
        return batches.preview(self.checked(plan), self.places, int(self.settings["reclaim_slots"]))

    async def begin(self, plan: Plan) -> None:
        """Carry a plan out in a process of its own, and tell the name of its folder."""
        slots = int(self.settings["reclaim_slots"])
        if slots == 0:
            raise processes.Refused("this server starts no attempts (ReclaimServer.slots is 0)")
        await processes.start_batch(plan, self.places.runs, slots)
        self.watch.soon()
        self.tell({"name": plan.name, "folder": safe_name(plan.name)}, 201)


class PlansHandler(_BatchHandler):
    """The plan files of a folder of the file browser."""

    @authenticated
    @authorized
    @answers
    async def get(self) -> None:
        folder = self.get_query_argument("folder", "")
        self.tell({"plans": await asyncio.to_thread(batches.plans_in, self.places, folder)})


class PlanHandler(_BatchHandler):
    """What one plan file would do."""

    @authenticated
    @authorized
    @answers
    async def get(self) -> None:
        path = self.get_query_argument("path", "")

        self.tell(await asyncio.to_thread(lambda: self.preview(batches.read_plan(self.places, path))))


class BatchesHandler(_BatchHandler):
    """All batches; beginning one."""

    @authenticated
    @authorized
    @answers
    async def get(self) -> None:
        self.tell({"batches": await asyncio.to_thread(self.batches.get)})

    @authenticated
    @authorized
    @answers
    async def post(self) -> None:
        body = self.body(BatchBody)
        await self.begin(await asyncio.to_thread(lambda: self.checked(batches.read_plan(self.places, body.path))))


class BatchHandler(_BatchHandler):
    """Stopping a batch, and going on with it by the plan it was begun with."""

    @authenticated
    @authorized
    @answers
    async def get(self, name: str) -> None:
        self.tell(await asyncio.to_thread(lambda: self.preview(self.batches.plan(name))))

    @authenticated
    @authorized
    @answers
    async def post(self, name: str) -> None:
        action = self.body(BatchActionBody).action
        plan = await asyncio.to_thread(self.batches.plan, name)
        if action == "resume":
            await self.begin(await asyncio.to_thread(self.checked, plan))
            return
        folder: Path = self.places.runs / name
        if await asyncio.to_thread(stop_pool, folder) is None:
            raise processes.Refused(f"no pool is at work on the batch {plan.name!r}; there is nothing to stop")
        self.watch.soon()
        self.tell({"name": plan.name, "folder": name}, 201)
