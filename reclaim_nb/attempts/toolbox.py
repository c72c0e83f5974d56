"""The tools that need no cell to run: the same code for every agent, whether it asks from outside or from a cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from reclaim_nb.attempts.cells import CellSummary
from reclaim_nb.attempts.recorder import Recorder
from reclaim_nb.attempts.tools import HANDED_IN, BudgetState, ToolRefused, as_decimal, bundle_text, shorten
from reclaim_nb.errors import ReclaimError
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.paper_text import PaperText
from reclaim_nb.record.text import collapse, visible

READ_LIMIT = 100_000
"""Most characters that ``read_output`` gives at once."""

NOTE_LIMIT = 10_000
"""Most characters of the note that comes with a submission."""


class Toolbox:
    """Carries out and records tool calls.

    Args:
        card: the paper card.
        paper: text of the paper, None when it is not here.
        recorder: where calls and answers are recorded.
        cells: the attempt's cells by id.
        budget: returns the state of the budget.
        before_submit: called with the value before it is handed in; may refuse.

    Attributes:
        submission: what was handed in.
        anchored: a check of an anchor has agreed with the paper.
    """

    def __init__(
        self,
        card: PaperCard,
        paper: PaperText | None,
        recorder: Recorder,
        cells: Mapping[str, CellSummary],
        budget: Callable[[], BudgetState],
        before_submit: Callable[[str | None], None] = lambda value: None,
    ) -> None:
        self._card, self._paper, self._recorder = card, paper, recorder
        self._cells, self._budget = cells, budget
        self._before_submit = before_submit
        self.submission: dict[str, Any] | None = None
        self.anchored = False
        self._tools: dict[str, Callable[..., dict[str, Any]]] = {
            "read_paper": self._read_paper,
            "check_anchor": self._check_anchor,
            "budget": self._budget_json,
            "read_output": self._read_output,
            "submit": self._submit,
        }

    def call(self, name: str, arguments: dict[str, Any], cell: str | None, meter: dict[str, Any]) -> dict[str, Any]:
        """Carry out one call and record it with its answer.

        Args:
            name: name of the tool.
            arguments: its arguments, by name.
            cell: id of the cell that asks, None when the agent asks from outside.
            meter: spend at this moment, for the record.

        Raises:
            ToolRefused: when it cannot be carried out, with what to do instead.
        """
        if name not in self._tools:
            raise ToolRefused(f"there is no tool {name!r} here; there are {', '.join(self._tools)}")
        try:
            result = self._tools[name](**arguments)
        except (TypeError, ValueError, OverflowError, ReclaimError) as problem:
            self._record(name, arguments, {"error": str(problem)}, cell, meter)
            raise ToolRefused(f"{name}: {problem}") from None
        shown = {**result, "text": shorten(str(result["text"]), 2000)[0]} if "text" in result else result
        self._record(name, arguments, shown, cell, meter)
        return result

    def _record(
        self, name: str, arguments: dict[str, Any], result: dict[str, Any], cell: str | None, meter: dict[str, Any]
    ) -> None:
        self._recorder.append(
            "tool", {"name": name, "arguments": arguments, "result": result, "cell": cell, "meter": meter}
        )

    def _read_paper(self, query: str = "") -> dict[str, Any]:
        if self._paper is None:
            return {"text": "The text of this paper is not here."}
        return {"text": self._paper.read(query)}

    def _check_anchor(self, name: str, value: str | None) -> dict[str, Any]:
        anchor = self._card.anchor(name)
        if anchor is None:
            known = ", ".join(f"`{item.name}`" for item in self._card.anchors) or "none"
            raise ToolRefused(f"this card has no anchor {name!r}; it has {known}")
        agrees = anchor.decide(as_decimal(value)).place == "inside"
        self.anchored = self.anchored or agrees
        verb = "agrees" if agrees else "does not agree"
        return {"text": f"anchor {name}: {value} {anchor.unit} {verb} with the paper", "agrees": agrees, "name": name}

    def _budget_json(self) -> dict[str, Any]:
        return self._budget().to_json()

    def _read_output(self, cell: str, start: int = 0, length: int = 10_000) -> dict[str, Any]:
        if cell not in self._cells:
            raise ToolRefused(f"there is no cell {cell!r} in this attempt")
        start, length = max(0, int(start)), max(0, min(int(length), READ_LIMIT))
        whole = self._whole_output(cell)
        return {"text": visible(whole[start : start + length]), "start": start, "total": len(whole)}

    def _whole_output(self, cell: str) -> str:
        parts = []
        for data in self._recorder.cell_messages(cell):
            content = data["content"]
            if data["msg_type"] == "stream":
                parts.append(str(content.get("text", "")))
            elif data["msg_type"] in ("execute_result", "display_data", "update_display_data"):
                parts.append(bundle_text(content.get("data", {})) + "\n")
            elif data["msg_type"] == "error":
                parts.append("\n".join(map(str, content.get("traceback", []))) + "\n")
        return collapse("".join(parts))

    def _submit(self, value: str | None, note: str = "", cell: str | None = None) -> dict[str, Any]:
        if value is not None:
            as_decimal(value)
        if len(str(note)) > NOTE_LIMIT:
            raise ToolRefused(f"the note has more than {NOTE_LIMIT} characters; write it as a Markdown cell")
        if cell is not None and cell not in self._cells:
            raise ToolRefused(f"there is no cell {cell!r} in this attempt")
        self._before_submit(value)
        self.submission = {"value": value, "cell": cell, "note": note}
        return {"text": HANDED_IN.format(value), "value": value}
