"""Runs cells in a real local kernel and records its true messages as a stream."""

from __future__ import annotations

import os
import queue
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from jupyter_client.manager import KernelManager

from reclaim_nb.papers.loading import LoadedCard
from reclaim_nb.record.clock import SystemClock
from reclaim_nb.record.folder import AttemptFolder
from reclaim_nb.record.payloads import PayloadStore, spill
from reclaim_nb.record.stream import StreamWriter
from tests.grading.made import Made, Md, render


class RealKernel:
    """One kernel that plays notebook after notebook; its names and working folder are reset in between."""

    def __enter__(self) -> Self:
        self.manager = KernelManager(kernel_name="python3")
        self.manager.start_kernel(
            env={**os.environ, "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        )
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def record(self, path: Path, cells: Sequence[str | Md], card: LoadedCard, *, end: str = "agent_stopped") -> Made:
        """Run the cells in order in a folder of their own and write the attempt.

        Args:
            path: a new folder.
            cells: sources of code cells, and Markdown.
            card: the card the attempt is made with.
            end: end reason.
        """
        folder = AttemptFolder(path)
        folder.workspace.mkdir(parents=True)
        self._run(f"%reset -f\nimport os\nos.chdir({str(folder.workspace)!r})\ndel os", None, "")
        ids = []
        with StreamWriter(folder.stream, PayloadStore(folder.payloads)) as stream:
            spec = {
                "id": f"real/{path.name}",
                "paper": card.card.id,
                "card_sha256": card.sha256,
                "card": card.card.model_dump(mode="json"),
                "kernel": {"name": "python3"},
            }
            stream.append("attempt", {"schema": 1, "spec": spec})
            for index, cell in enumerate(cells):
                name = f"c{index:02d}"
                ids.append(name)
                kind, text = ("markdown", cell.text) if isinstance(cell, Md) else ("code", cell)
                stream.append(
                    "cell",
                    {"cell": name, "cell_type": kind, "author": "agent", "turn": index, "source": text, "metadata": {}},
                )
                if kind == "code":
                    self._cell(stream, name, text)
            usage = {"charged_seconds": 0}
            stream.append("meter", {"charged_seconds": 0, "held_seconds": 0, "hours": "0", "device": "cpu"})
            stream.append("end", {"reason": end, "detail": None, "usage": usage, "submission": None})
        render(folder)
        return Made(folder, card, ids)

    def _cell(self, stream: StreamWriter, name: str, source: str) -> None:
        clock = SystemClock()
        started = clock.now()
        stream.append("execute", {"cell": name, "msg_id": name})
        count, status, messages = self._run(source, stream, name)
        stream.append(
            "cell_end",
            {
                "cell": name,
                "status": status,
                "execution_count": count,
                "started": started,
                "ended": clock.now(),
                "held_seconds": 0,
                "charged_seconds": 0,
                "messages": messages,
                "gaps": 0,
                "idle": True,
                "detail": None,
            },
        )

    def _run(self, source: str, stream: StreamWriter | None, cell: str) -> tuple[int | None, str, int]:
        msg_id = self.client.execute(source)
        status, count, messages = "ok", None, 0
        while True:
            try:
                message: dict[str, Any] = self.client.get_iopub_msg(timeout=120)
            except queue.Empty:
                return count, "timeout", messages
            if message["parent_header"].get("msg_id") != msg_id:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "execute_input":
                count = content["execution_count"]
            if kind == "error":
                status = "error"
            messages += 1
            if stream is not None:
                stream.append(
                    "message",
                    {
                        "cell": cell,
                        "channel": "iopub",
                        "msg_type": kind,
                        "msg_id": message["header"]["msg_id"],
                        "parent": msg_id,
                        "content": spill(content, stream.payloads),
                        "metadata": {},
                        "late": False,
                        "from": cell,
                    },
                )
            if kind == "status" and content["execution_state"] == "idle":
                self.client.get_shell_msg(timeout=30)
                return count, status, messages
