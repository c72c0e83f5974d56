"""The REST handlers of what a stream tells besides its messages: conversation, network log, comparison."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

from jupyter_server.auth.decorator import authorized
from pydantic import BaseModel, ValidationError
from tornado.web import HTTPError, authenticated

from reclaim_nb.server import talk
from reclaim_nb.server.comparison import Comparisons
from reclaim_nb.server.handlers import Handler, answers, told
from reclaim_nb.server.models import TalkQuery, WindowQuery
from reclaim_nb.server.story import Stories

Q = TypeVar("Q", bound=BaseModel)


class ReadingHandler(Handler):
    """What these handlers share."""

    @property
    def stories(self) -> Stories:
        found: Stories = self.settings["reclaim_stories"]
        return found

    def query(self, model: type[Q], *apart: str) -> Q:
        """Return the query of a request as its model.

        Args:
            model: what is expected.
            apart: names that are read elsewhere; the token always is.

        Raises:
            HTTPError: 400 when it is not what is expected.
        """
        given = {name: self.get_query_argument(name) for name in self.request.query_arguments}
        try:
            return model.model_validate({name: given[name] for name in given if name not in (*apart, "token")})
        except ValidationError as problem:
            raise HTTPError(400, reason="Bad Request", log_message=told(problem)) from None


class ConversationHandler(ReadingHandler):
    """A window of the conversation of one attempt."""

    @authenticated
    @authorized
    @answers
    async def get(self, name: str) -> None:
        folder, query = self.places.attempt(name), self.query(TalkQuery)
        self.tell(await asyncio.to_thread(lambda: talk.conversation(self.stories.of(folder), query)))


class NetworkHandler(ReadingHandler):
    """A window of the network log of one attempt."""

    @authenticated
    @authorized
    @answers
    async def get(self, name: str) -> None:
        folder, query = self.places.attempt(name), self.query(WindowQuery)
        self.tell(await asyncio.to_thread(lambda: talk.network(self.stories.of(folder), query)))


class ComparisonHandler(ReadingHandler):
    """Two attempts of one paper, cell by cell."""

    @authenticated
    @authorized
    @answers
    async def get(self, name: str) -> None:
        query = self.query(WindowQuery, "with")
        folder, other = self.places.attempt(name), self.places.attempt(self.get_query_argument("with", ""))
        comparisons: Comparisons = self.settings["reclaim_comparisons"]

        def read() -> dict[str, Any]:
            return comparisons.of(self.stories.of(folder), self.stories.of(other), query)

        self.tell(await asyncio.to_thread(read))
