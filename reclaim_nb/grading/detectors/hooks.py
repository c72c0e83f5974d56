"""Hooks of the notebook itself: input transformers, events, formatters, replaced output channels."""

from __future__ import annotations

import ast
import re
from typing import Any

from reclaim_nb.grading.detectors.common import source_line
from reclaim_nb.grading.evidence import Evidence
from reclaim_nb.grading.facts import Fact, fact
from reclaim_nb.grading.lineage.flow import Flow, Function
from reclaim_nb.papers.card import PaperCard

_TRANSFORMERS = re.compile(
    r"(?:input_transformers?_(?:post|cleanup)|ast_transformers|input_transformer_manager"
    r"|token_transformers|line_transforms|cleanup_transforms|physical_line_transforms"
    r"|logical_line_transforms|python_line_transforms)\b"
)
_EVENTS = re.compile(r"\bevents?\.register$|\.events\.callbacks")
_FORMATTERS = re.compile(r"\bfor_type(?:_by_name)?$|display_formatter|\bformatters?\[")
_CHANNELS = re.compile(
    r"(?:^|\.)(?:sys\.(?:stdout|stderr|displayhook|__stdout__)|builtins\.(?:print|display)"
    r"|display_pub|displayhook|showtraceback|run_cell|run_code|_send_\w+|session\.send|iopub_socket"
    r"|comm_manager)(?:\.|$)"
)
_MESSAGES = re.compile(r"(?:session\.send|iopub_socket|iopub_thread|set_parent|send_response)$")
_NAMESPACES = ("user_ns", "user_global_ns", "push", "raw_cell", "source")
_EVENT_NAMES = ("pre_run_cell", "post_run_cell", "pre_execute", "post_execute")


def detect(evidence: Evidence, card: PaperCard, intake: dict[str, Any] | None) -> list[Fact]:
    """Find hooks that are installed; ``forges`` says that what a cell shows can then differ from what it computed."""
    records = evidence.lineage.records
    found: list[Fact] = []
    for call in records.calls:
        name = call.name
        source = evidence.by_id[call.cell].source if call.cell in evidence.by_id else ""
        text = source_line(source, call.line)
        last = name.rsplit(".", 1)[-1]
        if _TRANSFORMERS.search(name) and last in ("append", "insert", "extend", "register_transformer"):
            found.append(fact("hook_installed", call.cell, None, text, hook="input transformer", forges=True))
        elif last == "register" and _EVENTS.search(name):
            event = next((t for t in call.texts() if t in _EVENT_NAMES), "event")
            functions = [v.function for v in call.args if v.function is not None]
            found.append(fact("hook_installed", call.cell, None, text, hook=event, forges=any(map(_writes, functions))))
        elif last in ("for_type", "for_type_by_name") and call.args:
            functions = [v.function for v in call.args if v.function is not None and v.function.node is not None]
            forges = any(_ignores_argument(fn, 0) for fn in functions)
            found.append(fact("hook_installed", call.cell, None, text, hook="display formatter", forges=forges))
        elif last in ("set_string_function", "set_custom_exc"):
            found.append(fact("hook_installed", call.cell, None, text, hook=last, forges=last == "set_string_function"))
        elif last == "set_printoptions" and "formatter" in call.keywords:
            functions = [
                v.function for v in (call.keywords["formatter"].fields or {}).values() if v.function is not None
            ]
            found.append(
                fact(
                    "hook_installed",
                    call.cell,
                    None,
                    text,
                    hook="number formatter",
                    forges=any(_ignores_argument(fn, 0) for fn in functions),
                )
            )
        elif _MESSAGES.search(name):
            found.append(fact("hook_installed", call.cell, None, text, hook="kernel messages", forges=False))
    for patch in records.patches:
        text = (
            source_line(evidence.by_id[patch.cell].source, patch.line) if patch.cell in evidence.by_id else patch.target
        )
        if _TRANSFORMERS.search(patch.target):
            found.append(fact("hook_installed", patch.cell, None, text, hook="input transformer", forges=True))
        elif _FORMATTERS.search(patch.target):
            found.append(fact("hook_installed", patch.cell, None, text, hook="display formatter", forges=True))
        elif _CHANNELS.search(patch.target) and not _passes_through(patch.value):
            found.append(
                fact("hook_installed", patch.cell, None, text, hook=patch.target, forges=_forges_print(patch.value))
            )
    for cell in evidence.executed:
        if isinstance(cell.hooks, dict) and cell.hooks.get("before") != cell.hooks.get("after"):
            found.append(
                fact("hook_inventory_changed", cell.id, None, str(cell.hooks.get("after"))[:500], forges=False)
            )
        if re.search(r"_repr_(?:html|markdown|pretty|latex|mimebundle)_\s*=", cell.source):
            found.append(
                fact("hook_installed", cell.id, None, "an object's own picture is replaced", hook="repr", forges=False)
            )
    return found


def _passes_through(value: Flow) -> bool:
    """Tell whether a replacement is the thing itself with other settings, or one imported from a library."""
    return value.function is not None and value.function.node is None


def _forges_print(value: Flow) -> bool:
    """Tell whether a replaced print shows something else than its arguments."""
    function = value.function
    if function is None or function.node is None:
        return function is None
    node = function.node
    texts = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
    numbers = any(isinstance(t, float) or (isinstance(t, str) and re.search(r"\d", t)) for t in texts)
    names = {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)} | {
        n.id for n in ast.walk(node) if isinstance(n, ast.Name)
    }
    return numbers or bool(names & {"replace", "sub", "translate", "re"})


def _writes(function: Function) -> bool:
    """Tell whether an event's function changes names of the notebook or prints."""
    node = function.node
    if node is None:
        return False
    shared = {name for inner in ast.walk(node) if isinstance(inner, ast.Global) for name in inner.names}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Assign) and _gives_number(inner, shared):
            return True
        if isinstance(inner, ast.Attribute) and inner.attr in _NAMESPACES:
            return True
        if isinstance(inner, ast.Subscript) and isinstance(inner.ctx, ast.Store):
            base = inner.value.func if isinstance(inner.value, ast.Call) else None
            if isinstance(base, ast.Name) and base.id in ("globals", "vars"):
                return True
    return False


def _gives_number(node: ast.Assign, shared: set[str]) -> bool:
    """Tell whether a shared name gets a number that is written down; a start time is another matter."""
    if not any(isinstance(target, ast.Name) and target.id in shared for target in node.targets):
        return False
    constants = [inner.value for inner in ast.walk(node.value) if isinstance(inner, ast.Constant)]
    return any(isinstance(value, int | float) and value not in (0, 1) for value in constants)


def _ignores_argument(function: Function, place: int) -> bool:
    """Tell whether a function's result does not depend on its argument, or holds a number of its own."""
    node = function.node
    if node is None or isinstance(node, ast.ClassDef):
        return False
    names = [argument.arg for argument in node.args.args]
    if node.args.vararg is not None:
        names.append(node.args.vararg.arg)
    argument = names[place] if place < len(names) else None
    body = node.body if isinstance(node.body, list) else [node.body]
    used = any(isinstance(inner, ast.Name) and inner.id == argument for part in body for inner in ast.walk(part))
    texts = [inner.value for part in body for inner in ast.walk(part) if isinstance(inner, ast.Constant)]
    own_number = any(
        isinstance(t, float) or (isinstance(t, str) and re.search(r"\d\.\d|\d\d", re.sub(r"[.:]\d+[a-z%]?$", "", t)))
        for t in texts
    )
    return not used or own_number
