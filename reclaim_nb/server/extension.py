"""The extension app: configuration, and what the handlers work with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from jupyter_server.extension.application import ExtensionApp
from tornado.web import HTTPError
from traitlets import Enum, Int, List, Unicode, default

from reclaim_nb.attempts.agent import agent_names
from reclaim_nb.papers.suite import PAPERS_VARIABLE
from reclaim_nb.server import batch_handlers, desk, handlers, reading, socket
from reclaim_nb.server.batches import Batches
from reclaim_nb.server.comparison import Comparisons
from reclaim_nb.server.places import Places
from reclaim_nb.server.story import Stories
from reclaim_nb.server.views import Suites
from reclaim_nb.server.watch import Watch

NAME = r"((?:[^/]+/){4}[^/]+)"

ROUTES: tuple[tuple[str, str, type], ...] = (
    ("/reclaim/api/status", r"/reclaim/api/status", handlers.StatusHandler),
    ("/reclaim/api/options", r"/reclaim/api/options", handlers.OptionsHandler),
    ("/reclaim/api/suites", r"/reclaim/api/suites", handlers.SuitesHandler),
    ("/reclaim/api/papers/{suite}/{paper}", r"/reclaim/api/papers/([^/]+)/([^/]+)", handlers.PaperHandler),
    ("/reclaim/api/attempts", r"/reclaim/api/attempts", handlers.AttemptsHandler),
    ("/reclaim/api/attempts/{attempt}", rf"/reclaim/api/attempts/{NAME}", handlers.AttemptHandler),
    ("/reclaim/api/records/{attempt}", rf"/reclaim/api/records/{NAME}", handlers.RecordHandler),
    ("/reclaim/api/conversations/{attempt}", rf"/reclaim/api/conversations/{NAME}", reading.ConversationHandler),
    ("/reclaim/api/networks/{attempt}", rf"/reclaim/api/networks/{NAME}", reading.NetworkHandler),
    ("/reclaim/api/comparisons/{attempt}", rf"/reclaim/api/comparisons/{NAME}", reading.ComparisonHandler),
    ("/reclaim/api/actions/{attempt}", rf"/reclaim/api/actions/{NAME}", handlers.ActionsHandler),
    ("/reclaim/api/desk/{attempt}", rf"/reclaim/api/desk/{NAME}", desk.DeskHandler),
    ("/reclaim/api/plans", r"/reclaim/api/plans", batch_handlers.PlansHandler),
    ("/reclaim/api/plan", r"/reclaim/api/plan", batch_handlers.PlanHandler),
    ("/reclaim/api/batches", r"/reclaim/api/batches", batch_handlers.BatchesHandler),
    ("/reclaim/api/batches/{batch}", r"/reclaim/api/batches/([^/]+)", batch_handlers.BatchHandler),
    ("/reclaim/api/events", r"/reclaim/api/events", socket.EventsHandler),
)
"""Each address as ``openapi.yaml`` names it, as the server matches it, and who answers."""


class ReclaimServer(ExtensionApp):
    """RECLAIM in a Jupyter server: suites, attempts, verdicts, and what is happening."""

    name = "reclaim"
    load_other_extensions = True

    runs_dir = Unicode(
        "", help="Folder of all attempts; default: 'runs' in the server's root, which the file browser can open."
    ).tag(config=True)
    papers_dirs = List(Unicode(), help="Folders that hold suites, beside the suites that ship with the package.").tag(
        config=True
    )
    agents = List(Unicode(), help="Agents that may be started from the lab; default: all but 'command'.").tag(
        config=True
    )
    kernels = List(
        Enum(["docker", "local"]),
        default_value=["docker", "local"],
        help="Where cells of attempts that are started from the lab may run; 'local' has no sandbox.",
    ).tag(config=True)
    slots = Int(4, min=0, help="Attempts that may run at the same time; 0: none can be started from the lab.").tag(
        config=True
    )

    @default("agents")
    def _agents(self) -> list[str]:
        return [name for name in agent_names() if name != "command"]  # it runs whatever its options say

    def initialize_settings(self) -> None:
        """Put what the handlers work with into the server's settings, and protect the records."""
        root = getattr(self.serverapp.contents_manager, "root_dir", None)
        runs = Path(self.runs_dir).expanduser() if self.runs_dir else Path(root or ".") / "runs"
        if self.papers_dirs:
            given = [str(Path(folder).expanduser().resolve()) for folder in self.papers_dirs]
            before = [part for part in os.environ.get(PAPERS_VARIABLE, "").split(os.pathsep) if part]
            os.environ[PAPERS_VARIABLE] = os.pathsep.join(dict.fromkeys([*given, *before]))
        places = Places(runs.absolute(), Path(root) if root else None)
        self.settings.update(
            reclaim_places=places,
            reclaim_watch=Watch(places, self.log),
            reclaim_suites=Suites(),
            reclaim_batches=Batches(places),
            reclaim_agents=list(self.agents),
            reclaim_kernels=list(self.kernels),
            reclaim_slots=self.slots,
            reclaim_records={},
            reclaim_stories=Stories(),
            reclaim_comparisons=Comparisons(),
        )
        if hasattr(self.serverapp.contents_manager, "register_pre_save_hook"):
            self.serverapp.contents_manager.register_pre_save_hook(keep_records(places))

    def initialize_handlers(self) -> None:
        """Register the addresses."""
        self.handlers.extend((pattern, handler) for _, pattern, handler in ROUTES)

    async def stop_extension(self) -> None:
        """Stop looking; attempts that were started go on."""
        await self.settings["reclaim_watch"].close()


def keep_records(places: Places) -> Any:
    """Return a hook that refuses to save over the files of an attempt: its record is written by its runner alone."""

    def refuse(model: dict[str, Any], path: str, contents_manager: Any, **_: Any) -> None:
        root = getattr(contents_manager, "root_dir", None)
        if root is None:
            return
        file = (Path(root) / path.strip("/")).resolve()
        runs = places.runs.resolve()
        if not file.is_relative_to(runs):
            return
        parts = file.relative_to(runs).parts
        if len(parts) == 6 and not parts[-1].startswith(".") and not desk.is_working_notebook(file):
            raise HTTPError(
                403,
                reason="Forbidden",
                log_message=f"{path} belongs to the record of an attempt, which nobody edits: "
                "save a copy under another name (File > Save Notebook As)",
            )

    return refuse
