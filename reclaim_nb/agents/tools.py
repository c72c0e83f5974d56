"""The session's tools as every agent gets them: names, descriptions, schemas and answers stand here alone.

A model agent offers them through its service, an external command through MCP; both call :func:`call_tool`, so what
comes back is the same text.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from reclaim_nb.attempts.session import Session
from reclaim_nb.attempts.tools import AttemptOver, CellResult, ToolRefused, shorten

CALL = "tool_call"
"""Cell metadata that names the tool call behind a cell, so that a resumed agent finds the answer it never got."""


def _text(value: Any) -> Any:
    """Models write numbers where text is asked for; their digits are kept."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return value
    return str(value)


def _none(value: Any) -> Any:
    """Models write an empty string or "null" where they mean nothing."""
    return None if isinstance(value, str) and value.strip().casefold() in ("", "null", "none") else value


Digits = Annotated[str, BeforeValidator(_text)]
MaybeDigits = Annotated[str | None, BeforeValidator(_none), BeforeValidator(_text)]
MaybeText = Annotated[str | None, BeforeValidator(_none)]


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class RunCell(_Arguments):
    source: str = Field(
        description="Source of the cell, as in a notebook: Python, !command, or %%bash for a whole cell."
    )
    timeout: float | None = Field(
        default=None, gt=0, description="Seconds after which the cell is interrupted. Without it only the limits count."
    )


class WriteMarkdown(_Arguments):
    text: str = Field(description="Markdown.")


class ReadOutput(_Arguments):
    cell: str = Field(description="Id of the cell, as run_cell gave it.")
    start: int = Field(default=0, ge=0, description="First character.")
    length: int = Field(default=10_000, ge=1, description="Number of characters.")


class ReadPaper(_Arguments):
    query: str = Field(
        default="",
        description="A section's heading for that section, words to search for, `all` for the whole text, "
        "or nothing for the list of headings.",
    )


class CheckAnchor(_Arguments):
    name: str = Field(description="Name of the anchor, from the card.")
    value: Digits = Field(description="The number you computed, as text, in the anchor's unit.")


class Budget(_Arguments):
    pass


class Submit(_Arguments):
    value: MaybeDigits = Field(
        default=None, description="The measured number as text, in the target's unit; leave it out if there is none."
    )
    cell: MaybeText = Field(default=None, description="Id of the cell whose output shows the number.")
    note: str = Field(default="", description="What was measured, and how it departs from the paper.")


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: its name, what an agent is told of it, and its arguments."""

    name: str
    description: str
    arguments: type[BaseModel]

    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of the arguments, without titles."""
        schema = self.arguments.model_json_schema()
        properties = {name: _plain(field) for name, field in schema.get("properties", {}).items()}
        required = {"required": schema["required"]} if schema.get("required") else {}
        return {"type": "object", "properties": properties, **required, "additionalProperties": False}


TOOLS: tuple[Tool, ...] = (
    Tool(
        "run_cell",
        "Append a code cell to the notebook, run it, and return its output. Variables stay between cells.",
        RunCell,
    ),
    Tool("write_markdown", "Append a Markdown cell for whoever reads the notebook.", WriteMarkdown),
    Tool(
        "read_output", "Return any part of a cell's whole output; run_cell cuts long output in the middle.", ReadOutput
    ),
    Tool("read_paper", "Return text of the paper: its headings, a section, or passages that match words.", ReadPaper),
    Tool(
        "check_anchor",
        "Compare a number you computed with a number of the paper; tells whether they agree.",
        CheckAnchor,
    ),
    Tool("budget", "Tell what is spent and what is left of every limit.", Budget),
    Tool("submit", "Hand in the result and end the attempt. This cannot be taken back.", Submit),
)

_BY_NAME = {tool.name: tool for tool in TOOLS}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool gives back.

    Attributes:
        text: for the agent.
        refused: the call was not carried out, and the text says why.
        cell: the cell whose output it is.
    """

    text: str
    refused: bool = False
    cell: str | None = None


async def call_tool(session: Session, name: str, arguments: Any, call: str | None = None) -> Answer:
    """Carry out a tool call as an agent made it.

    Args:
        session: the attempt.
        name: name of the tool, as the agent gave it.
        arguments: a JSON object, as text or already read.
        call: the service's id of the call; kept with the cell that comes of it.

    Raises:
        AttemptOver: when the attempt has ended, also by this very call.
    """
    session.require_open()
    tool = _BY_NAME.get(name)
    if tool is None:
        return await _malformed(session, name, arguments, f"there is no tool {name!r}; there are {', '.join(_BY_NAME)}")
    given = arguments or {}
    try:
        if isinstance(given, str):
            given = json.loads(given, parse_float=Decimal)  # a model's 0.9870 is not 0.987
    except ValueError as problem:
        return await _malformed(session, name, arguments, f"the arguments of {name} are not JSON: {problem}")
    try:
        checked = tool.arguments.model_validate(given)
    except ValidationError as problem:
        return await _malformed(session, name, arguments, f"wrong arguments for {name}: {_faults(problem)}")
    metadata = {CALL: call} if call else None
    try:
        return await _carry_out(session, checked, metadata)
    except ToolRefused as refusal:
        return Answer(str(refusal), refused=True)


def cell_text(result: CellResult) -> str:
    """Return what an agent is told about a cell that ran."""
    count = "" if result.execution_count is None else f" [{result.execution_count}]"
    head = f"cell {result.cell}{count}: {result.status}, {result.held_seconds:.1f} s"
    if result.detail and result.status != "error":
        head += f" ({result.detail})"
    body = result.text or "(no output)"
    if result.cut:
        body += f'\n\n({result.cut:,} characters left out; read_output(cell="{result.cell}", start=..., length=...))'
    return f"{head}\n\n{body}"


def recorded_answer(session: Session, call: str) -> Answer | None:
    """Return the answer to a call whose cell ran under an earlier runner, None when no cell came of it.

    Args:
        session: the attempt, resumed.
        call: the call's name, as :func:`call_tool` got it.
    """
    for summary in session.cells.values():
        if summary.metadata.get(CALL) != call:
            continue
        if summary.cell_type == "markdown":
            return Answer(f"cell {summary.cell}", cell=summary.cell)
        return Answer(cell_text(session.result_of(summary.cell)), cell=summary.cell)
    return None


async def _carry_out(session: Session, arguments: BaseModel, metadata: dict[str, Any] | None) -> Answer:
    match arguments:
        case RunCell():
            result = await session.run_cell(arguments.source, arguments.timeout, metadata=metadata)
            return Answer(cell_text(result), cell=result.cell)
        case WriteMarkdown():
            cell = await session.write_markdown(arguments.text, metadata=metadata)
            return Answer(f"cell {cell}", cell=cell)
        case _:
            return Answer(await _ask(session, arguments))


async def _ask(session: Session, arguments: BaseModel) -> str:
    match arguments:
        case ReadOutput():
            text = await session.read_output(arguments.cell, arguments.start, arguments.length)
            return text or "(nothing there)"
        case ReadPaper():
            text, cut = shorten(await session.read_paper(arguments.query), 40_000)
            return text + (f"\n\n({cut:,} characters left out; ask by section)" if cut else "")
        case CheckAnchor():
            return str((await session.check_anchor(arguments.name, arguments.value))["text"])
        case Budget():
            return (await session.budget()).text
        case Submit():
            await session.submit(arguments.value, arguments.cell, arguments.note)
    raise AttemptOver("agent_error", f"no code for {type(arguments).__name__}")


async def _malformed(session: Session, name: str, arguments: Any, problem: str) -> Answer:
    await session.model.refuse_call(str(name)[:100], _short(arguments), problem)
    return Answer(problem, refused=True)


def _faults(problem: ValidationError) -> str:
    faults = []
    for fault in problem.errors(include_url=False, include_input=False, include_context=False):
        where = ".".join(map(str, fault["loc"]))
        faults.append(f"{where}: {fault['msg']}" if where else str(fault["msg"]))
    return "; ".join(faults)


def _short(arguments: Any) -> Any:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, default=str)
    return arguments if len(text) <= 4000 else shorten(text, 4000)[0]


def _plain(field: dict[str, Any]) -> dict[str, Any]:
    """Return a field's schema without title; of a value that may be null only what it otherwise is."""
    options = [option for option in field.get("anyOf", []) if option.get("type") != "null"]
    merged = {**field, **options[0]} if options else dict(field)
    for name in ("anyOf", "title"):
        merged.pop(name, None)
    if merged.get("default", "") is None:
        merged.pop("default")
    return merged
