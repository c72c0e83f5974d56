"""The websocket: numbered messages of the feed, and the events of attempts that a client follows."""

from __future__ import annotations

import json
from typing import Any

from jupyter_server.auth.decorator import ws_authenticated
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from tornado.web import HTTPError
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from reclaim_nb.errors import ReclaimError
from reclaim_nb.server.watch import Listener, Watch

MESSAGE_BYTES = 4096
"""Most bytes of what a client sends at once."""

PENDING = 500
"""Messages that may wait for a client; one that does not read is cut off and can ask again with ``since``."""


class EventsHandler(WebSocketMixin, WebSocketHandler, JupyterHandler):  # type: ignore[misc]
    """``/reclaim/api/events?epoch=E&since=N``.

    From the server: ``hello`` (``epoch``, ``seq``, ``missed``: everything after ``since`` follows, or was lost), then
    ``attempt``, ``gone``, ``live`` and ``reload``, each with its ``seq``; and ``record`` for what is followed.
    From the client: ``{"follow": attempt, "since": n}`` and ``{"unfollow": attempt}``.
    """

    auth_resource = "reclaim"

    @property
    def watch(self) -> Watch:
        found: Watch = self.settings["reclaim_watch"]
        return found

    @ws_authenticated
    async def get(self, *args: Any, **kwargs: Any) -> None:
        """Open the connection for whoever may read."""
        if not await self._allowed():
            raise HTTPError(403)
        await super().get(*args, **kwargs)

    async def _allowed(self) -> bool:
        answer = self.authorizer.is_authorized(self, self.current_user, "read", self.auth_resource)
        return bool(await answer if hasattr(answer, "__await__") else answer)

    def open(self, *args: Any, **kwargs: Any) -> None:
        """Say hello, send what was missed, and go on with what happens."""
        super().open(*args, **kwargs)
        self._pending = 0
        self._listener = Listener(self._send)
        feed = self.watch.feed
        since = self.get_query_argument("since", "")
        missed = feed.since(self.get_query_argument("epoch", None), int(since) if since.isdecimal() else None)
        self._send(json.dumps({"type": "hello", "epoch": feed.epoch, "seq": feed.seq, "missed": missed is None}))
        for text in missed or ():
            self._send(text)
        self.watch.join(self._listener)

    def on_message(self, message: str | bytes) -> None:
        """Follow an attempt, or no more."""
        try:
            if len(message) > MESSAGE_BYTES:
                raise ReclaimError(f"more than {MESSAGE_BYTES} bytes")
            asked = json.loads(message)
            if not isinstance(asked, dict):
                raise ReclaimError("not an object")
            if isinstance(name := asked.get("follow"), str):
                since = asked.get("since", 0)
                self.watch.follow(self._listener, name, since if type(since) is int and since >= 0 else 0)
            elif isinstance(name := asked.get("unfollow"), str):
                self._listener.follows.pop(name, None)
            else:
                raise ReclaimError("expected follow or unfollow")
        except (ReclaimError, ValueError, RecursionError) as problem:
            self._send(json.dumps({"type": "problem", "message": str(problem)}))

    def on_close(self) -> None:
        """Forget the client."""
        if hasattr(self, "_listener"):
            self.watch.leave(self._listener)
        super().on_close()

    def _send(self, text: str) -> None:
        if self._pending >= PENDING:
            self.close(1013, "too slow")
            return
        try:
            sent = self.write_message(text)
        except WebSocketClosedError:
            self.on_close()
            return
        self._pending += 1
        sent.add_done_callback(self._sent)

    def _sent(self, future: Any) -> None:
        self._pending -= 1
        future.exception()  # a closed connection is told by on_close
