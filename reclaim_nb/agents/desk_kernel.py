"""The kernel of a working notebook: it runs nothing itself, but passes every cell on to the attempt's runner.

Started by Jupyter as ``python -m reclaim_nb.agents.desk_kernel -f CONNECTION_FILE`` in the folder of the notebook,
which is the attempt folder. It can be interrupted, restarted and ended as often as one likes; the attempt stays.
"""

from __future__ import annotations

import platform
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel

from reclaim_nb import __version__
from reclaim_nb.agents.desk_client import DeskLine, attempt_of_kernel
from reclaim_nb.errors import ReclaimError


class DeskKernel(Kernel):  # type: ignore[misc]
    """Passes cells on to the desk of the attempt in whose folder it was started."""

    implementation = "reclaim-attempt"
    implementation_version = __version__
    banner = "An attempt of RECLAIM: every cell is recorded."
    language_info: ClassVar[dict[str, Any]] = {
        "name": "python",
        "version": platform.python_version(),
        "mimetype": "text/x-python",
        "file_extension": ".py",
        "codemirror_mode": {"name": "ipython", "version": 3},
        "pygments_lexer": "ipython3",
        "nbconvert_exporter": "python",
    }

    _line: DeskLine | None = None

    async def do_execute(
        self,
        code: str,
        silent: bool,
        store_history: bool = True,
        user_expressions: dict[str, Any] | None = None,
        allow_stdin: bool = False,
        *,
        cell_meta: dict[str, Any] | None = None,
        cell_id: str | None = None,
    ) -> dict[str, Any]:
        """Run one cell in the attempt. It blocks, as a cell does; interrupts are passed on."""
        if silent or not code.strip():  # what a front end asks behind the person's back is no cell of the attempt
            return self._reply({"status": "ok"})
        try:
            return self._pass_on(code, cell_id)
        except ReclaimError as problem:
            self._hang_up()
            return self._fail("AttemptError", str(problem))

    def do_complete(self, code: str, cursor_pos: int) -> dict[str, Any]:
        """Complete a name as the attempt's kernel does; it is no cell, and is not charged."""
        nothing = {"status": "ok", "matches": [], "cursor_start": cursor_pos, "cursor_end": cursor_pos, "metadata": {}}
        return nothing | self._look_up("complete", code, cursor_pos)

    def do_inspect(self, code: str, cursor_pos: int, detail_level: int = 0, omit_sections: Any = ()) -> dict[str, Any]:
        """Say what an object is as the attempt's kernel does; it is no cell, and is not charged."""
        nothing = {"status": "ok", "found": False, "data": {}, "metadata": {}}
        return nothing | self._look_up("inspect", code, cursor_pos, level=detail_level)

    def do_shutdown(self, restart: bool) -> dict[str, Any]:
        """Let go of the line; the attempt goes on."""
        self._hang_up()
        return {"status": "ok", "restart": restart}

    def _pass_on(self, code: str, cell_id: str | None) -> dict[str, Any]:
        if self._line is None:
            self._line = DeskLine(attempt_of_kernel())
        line = self._line
        error: dict[str, Any] = {}
        with _interrupts_go_to(line):
            line.send("execute", source=code, cell=cell_id)
            while (answer := line.receive())["is"] == "message":
                self.send_response(self.iopub_socket, answer["kind"], answer["content"])
                if answer["kind"] == "error":
                    error = answer["content"]
        if answer["is"] != "done":
            return self._fail("AttemptError", str(answer.get("text", answer)))
        if answer["count"] is not None:
            self.execution_count = answer["count"]
        if answer["over"] is not None and answer["status"] != "over":
            told = f"{answer['over']}. The notebook that is judged: {line.folder.notebook}\n"
            self.send_response(self.iopub_socket, "stream", {"name": "stderr", "text": told})
        if answer["status"] == "ok":
            return self._reply({"status": "ok"})
        if answer["detail"] is not None and not error:
            head = "" if answer["status"] in ("over", "refused") else f"{answer['status']}: "
            return self._fail("AttemptError", head + answer["detail"])
        if answer["detail"] is not None and answer["status"] != "error":
            self.send_response(self.iopub_socket, "stream", {"name": "stderr", "text": f"{answer['detail']}\n"})
        return self._reply({"status": "error", "ename": "Error", "evalue": "", "traceback": [], **error})

    def _look_up(self, do: str, code: str, cursor: int, **words: Any) -> dict[str, Any]:
        try:
            if self._line is None:
                self._line = DeskLine(attempt_of_kernel(), patience=0)
            answer = self._line.ask(do, source=code, cursor=cursor, **words)
        except ReclaimError:  # the next cell says what is wrong
            self._hang_up()
            return {}
        return dict(answer.get("content", {}))

    def _fail(self, name: str, text: str) -> dict[str, Any]:
        error = {"ename": name, "evalue": text, "traceback": [text]}
        self.send_response(self.iopub_socket, "error", error)
        return self._reply({"status": "error", **error})

    def _reply(self, reply: dict[str, Any]) -> dict[str, Any]:
        return {"execution_count": self.execution_count, "payload": [], "user_expressions": {}, **reply}

    def _hang_up(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None


@contextmanager
def _interrupts_go_to(line: DeskLine) -> Iterator[None]:
    """While a cell runs there, what Jupyter sends to interrupt it goes to the attempt."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: line.send("interrupt"))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


if __name__ == "__main__":
    IPKernelApp.launch_instance(kernel_class=DeskKernel)
