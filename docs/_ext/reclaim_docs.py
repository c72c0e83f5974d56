"""Directives that write reference tables from the code, so that no page can disagree with it.

- ``{reclaim-model} module:Class`` lists the fields of a pydantic model or dataclass, and of the models it is made of.
- ``{reclaim-table} name`` writes one of the tables below: endings, causes, conditions, devices, published, words.
- ``{reclaim-commands}`` writes the command line's own help.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from docutils import nodes
from pydantic import BaseModel
from pydantic_core import PydanticUndefined
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective

Row = tuple[str, ...]


class ModelDirective(SphinxDirective):
    """Fields of a model and of the models below it, in the order in which a reader meets them."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        module, _, name = self.arguments[0].partition(":")
        return [part for model in _models(getattr(import_module(module), name)) for part in self._section(model)]

    def _section(self, model: type[Any]) -> list[nodes.Node]:
        title = nodes.rubric("", model.__name__)
        about = _paragraph(inspect.getdoc(model).split("\n\n")[0].replace("\n", " ") if inspect.getdoc(model) else "")
        return [title, about, _table(("field", "type", "default", "what"), list(_fields(model)), (2, 3, 2, 5))]


class TableDirective(SphinxDirective):
    """One of the tables of :data:`TABLES`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        head, rows = TABLES[self.arguments[0]]()
        return [_table(head, rows)]


class CommandsDirective(SphinxDirective):
    """What ``reclaim`` and each of its commands say with ``--help``."""

    def run(self) -> list[nodes.Node]:
        return [part for name, text in command_help() for part in _command(name, text)]


def command_help() -> list[tuple[str, str]]:
    """Return every command with its help, as plain text."""
    import typer

    from reclaim_nb.cli import app

    found: list[tuple[str, str]] = []

    def walk(command: Any, path: str, parent: Any = None) -> None:
        context = typer.Context(command, info_name=path, parent=None)
        context.terminal_width = context.max_content_width = 100
        found.append((path, command.get_help(context)))
        for name, below in sorted(getattr(command, "commands", {}).items()):
            walk(below, f"{path} {name}")

    walk(typer.main.get_command(app), "reclaim")
    return found


def _command(name: str, text: str) -> list[nodes.Node]:
    section = nodes.section(ids=[nodes.make_id(name)])
    section += nodes.title("", name)
    section += nodes.literal_block(text, text, language="none")
    return [section]


def _models(model: type[Any], seen: set[type[Any]] | None = None) -> Iterator[type[Any]]:
    seen = set() if seen is None else seen
    if model in seen:
        return
    seen.add(model)
    yield model
    for _, hint in _hints(model):
        for part in _parts(hint):
            if inspect.isclass(part) and part.__module__.startswith("reclaim_nb.") and _is_model(part):
                yield from _models(part, seen)


def _is_model(kind: type[Any]) -> bool:
    return issubclass(kind, BaseModel) or dataclasses.is_dataclass(kind)


def _hints(model: type[Any]) -> list[tuple[str, Any]]:
    if issubclass(model, BaseModel):
        return [(name, info.annotation) for name, info in model.model_fields.items()]
    hints = typing.get_type_hints(model, include_extras=True)
    return [(field.name, hints[field.name]) for field in dataclasses.fields(model)]


def _parts(hint: Any) -> Iterator[Any]:
    yield hint
    for part in typing.get_args(hint):
        yield from _parts(part)


def _fields(model: type[Any]) -> Iterator[Row]:
    told = _told(model)
    for name, hint in _hints(model):
        shown, default = name, ""
        if issubclass(model, BaseModel):
            info = model.model_fields[name]
            shown = info.alias or name
            default = _default(info.default, info.default_factory, PydanticUndefined)
        else:
            field = next(one for one in dataclasses.fields(model) if one.name == name)
            default = _default(field.default, field.default_factory, dataclasses.MISSING)
        yield (f"`{shown}`", _type(hint), default, told.get(name, ""))


def _default(value: Any, factory: Any, nothing: Any) -> str:
    if value is not nothing:
        if value is None:
            return "none"
        return "empty" if value in ((), "", {}) else "its own defaults" if _is_model(type(value)) else f"`{value}`"
    return "empty" if callable(factory) else "required"


def _told(model: type[Any]) -> dict[str, str]:
    """Return what is said of each field: the text below it, or its line under ``Attributes:`` of the class."""
    told: dict[str, str] = {}
    for kind in reversed(model.__mro__):
        if not kind.__module__.startswith("reclaim_nb."):
            continue
        text = (inspect.getdoc(kind) or "") if kind.__doc__ else ""
        _, _, listed = text.partition("Attributes:\n")
        for names, what in re.findall(r"^    ([a-z_, ]+): (.+(?:\n      .+)*)", listed, re.MULTILINE):
            told |= dict.fromkeys(names.split(", "), " ".join(what.split()))
        found = ModuleAnalyzer.for_module(kind.__module__).find_attr_docs()
        told |= {
            name: " ".join(" ".join(lines).split()) for (owner, name), lines in found.items() if owner == kind.__name__
        }
    return told


def _type(hint: Any) -> str:
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _type(inside[0])
    if origin is typing.Literal:
        return ", ".join(f"`{one}`" for one in inside)
    if origin in (typing.Union, types.UnionType):
        some = [_type(one) for one in inside if one is not type(None)]
        return " or ".join(dict.fromkeys(some)) + (" or nothing" if type(None) in inside else "")
    if origin in (tuple, list):
        return f"list of {_type(inside[0])}"
    if origin is dict:
        return f"mapping of {_type(inside[0])} to {_type(inside[1])}"
    plain = {str: "text", int: "whole number", float: "number", bool: "true or false", Any: "anything"}
    if hint in plain:
        return plain[hint]
    name = getattr(hint, "__name__", str(hint))
    return "decimal" if name == "Decimal" else name if inspect.isclass(hint) and _is_model(hint) else f"`{name}`"


def endings() -> tuple[Row, list[Row]]:
    """The ways an attempt can end."""
    from reclaim_nb.attempts.reasons import ENDINGS

    yes = {True: "yes", False: "no"}
    rows = [(f"`{name}`", one.text, yes[one.repeat], yes[one.grade], yes[one.counts]) for name, one in ENDINGS.items()]
    return ("end reason", "what happened", "made again by a batch", "graded", "the agent's result"), rows


def causes() -> tuple[Row, list[Row]]:
    """The codes of the taxonomy."""
    from reclaim_nb.grading.cause import CODES

    return ("cause", "meaning"), [(f"`{code}`", text) for code, text in CODES.items()]


def conditions() -> tuple[Row, list[Row]]:
    """Changes of what an agent is told."""
    from reclaim_nb.attempts.conditions import CONDITIONS

    return ("condition", "what changes"), [(f"`{name}`", one.text) for name, one in CONDITIONS.items()]


def devices() -> tuple[Row, list[Row]]:
    """Factors to H100-equivalents."""
    from reclaim_nb.attempts.devices import TFLOPS, factor_of

    return ("device", "TFLOP/s", "H100-equivalents"), [
        (name, str(value), str(factor_of(name))) for name, value in TFLOPS.items()
    ]


def published() -> tuple[Row, list[Row]]:
    """Figures that the paper prints, and the known reasons why its records give others."""
    from reclaim_nb.analysis.published import PRINTED

    return ("figure", "as printed", "where the records differ"), [(one.what, one.text, one.why) for one in PRINTED]


def words() -> tuple[Row, list[Row]]:
    """The release's verdicts and modes, and ours."""
    from reclaim_nb.analysis.published import MODES, VERDICTS

    rows = [
        (kind, word.theirs, word.ours or "-", word.why)
        for kind, listed in (("verdict", VERDICTS), ("mode", MODES))
        for word in listed
        if word.side != "out"
    ]
    return ("what", "published", "here", "where they differ"), rows


TABLES: dict[str, Callable[[], tuple[Row, list[Row]]]] = {
    "endings": endings,
    "causes": causes,
    "conditions": conditions,
    "devices": devices,
    "published": published,
    "words": words,
}


def _table(head: Row, rows: list[Row], widths: tuple[int, ...] = ()) -> nodes.Node:
    table = nodes.table(classes=["table", *(["colwidths-given"] if widths else [])])
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=width) for width in widths or (1,) * len(head)]
    group += nodes.thead("", _row(head))
    group += nodes.tbody("", *(_row(row) for row in rows))
    table += group
    return table


def _row(cells: Row) -> nodes.row:
    return nodes.row("", *(nodes.entry("", _paragraph(cell)) for cell in cells))


def _paragraph(text: str) -> nodes.paragraph:
    """Return a paragraph in which words between backticks are literals and roles are their last word."""
    text = re.sub(r":[a-z]+:`~?([^`]+)`", lambda role: f"`{role[1].rpartition('.')[2]}`", text).replace("``", "`")
    paragraph = nodes.paragraph()
    for place, part in enumerate(text.split("`")):
        if part:
            paragraph += nodes.literal(part, part) if place % 2 else nodes.Text(part)
    return paragraph


def exists_but_is_internal(app: Sphinx, domain: Any, node: nodes.Node) -> bool | None:
    """Accept a name of ours that no page describes, if the code has it; any other name stays a warning."""
    parts = str(node.get("reftarget", "")).split(".")
    if parts[0] != "reclaim_nb":
        return None
    found: Any = None
    for place in range(1, len(parts) + 1):
        try:
            found = import_module(".".join(parts[:place]))
        except ModuleNotFoundError:
            for name in parts[place - 1 :]:
                found = getattr(found, name, None)
            break
    return None if found is None else True


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    app.add_directive("reclaim-model", ModelDirective)
    app.add_directive("reclaim-table", TableDirective)
    app.add_directive("reclaim-commands", CommandsDirective)
    app.connect("warn-missing-reference", exists_but_is_internal)
    return {"version": "1", "parallel_read_safe": True}
