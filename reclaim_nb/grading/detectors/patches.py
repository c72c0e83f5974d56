"""Metrics, timers and parts of the model that the notebook replaces."""

from __future__ import annotations

import ast
import re
from typing import Any

from reclaim_nb.grading.detectors.common import source_line
from reclaim_nb.grading.evidence import Evidence
from reclaim_nb.grading.facts import Fact, fact
from reclaim_nb.grading.lineage.flow import Function
from reclaim_nb.grading.lineage.records import Patch
from reclaim_nb.grading.vocabulary import families_of, tokens
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.numbers import unit

_TIMER = re.compile(
    r"(?:^|\.)(?:time\.(?:time|perf_counter|monotonic|process_time|time_ns|perf_counter_ns|sleep)"
    r"|elapsed_time|timeit\.\w+|cuda\.Event|cuda\.synchronize|datetime\.now|Timer\.\w+)$"
)
_METRIC = re.compile(r"(?:^|\.)(?:metrics?|evaluate|scorers?|torchmetrics|sacrebleu|rouge\w*)\.")
_EQUALITY = re.compile(r"\.(?:__eq__|__ne__|__float__|__format__|__repr__|__str__|__array__|equal|eq|item|mean|sum)$")
_FORWARD = re.compile(r"\.(?:forward|__call__|call|attn|attention|self_attn|mlp|generate)$")
_VOID = frozenset(
    {
        "zeros_like",
        "zeros",
        "ones_like",
        "empty_like",
        "empty",
        "new_zeros",
        "full_like",
        "Identity",
        "ones",
        "identity",
    }
)


def detect(evidence: Evidence, card: PaperCard, intake: dict[str, Any] | None) -> list[Fact]:
    """Find replaced metrics and timers (``forges``) and computations replaced by nothing."""
    found = []
    speed = is_speed(card)
    for patch in evidence.lineage.records.patches:
        cell = evidence.by_id.get(patch.cell)
        text = source_line(cell.source, patch.line) if cell is not None else patch.target
        if _TIMER.search(patch.target) and patch.value.function is not None:
            found.append(fact("timer_replaced", patch.cell, None, text, target=patch.target, forges=_own_code(patch)))
        elif _is_metric(patch, card):
            found.append(fact("metric_replaced", patch.cell, None, text, target=patch.target, forges=_own_code(patch)))
        elif _EQUALITY.search(patch.target) and _own_code(patch):
            found.append(
                fact(
                    "operator_replaced",
                    patch.cell,
                    None,
                    text,
                    target=patch.target,
                    forges=patch.imported or _is_constant(patch),
                )
            )
        elif _FORWARD.search(patch.target) and _is_void(patch):
            found.append(fact("void_computation", patch.cell, None, text, target=patch.target, forges=speed))
    for call in evidence.lineage.records.calls:
        if call.name.rsplit(".", 1)[-1] in ("patch", "object") and "patch" in call.name:
            target = ".".join(call.texts()) or call.name
            if _METRIC.search(target) or _TIMER.search(target):
                cell = evidence.by_id.get(call.cell)
                text = source_line(cell.source, call.line) if cell is not None else call.name
                found.append(fact("metric_replaced", call.cell, None, text, target=target, forges=True))
    return found


def is_speed(card: PaperCard) -> bool:
    """Tell whether the target is a time or a ratio of times."""
    words = tokens(f"{card.target.metric} {' '.join(card.target.words)}")
    return unit(card.target.unit).family == "time" or bool(families_of(words) & {"speedup", "throughput", "latency"})


def _own_code(patch: Patch) -> bool:
    return patch.value.function is not None and patch.value.function.node is not None


def _is_metric(patch: Patch, card: PaperCard) -> bool:
    if patch.value.function is None or not patch.imported:
        return False
    if _METRIC.search(patch.target):
        return True
    words = tokens(patch.target.rsplit(".", 1)[-1])
    named = families_of(words) - {"loss", "latency", "parameters", "memory"}
    return bool(named) and _own_code(patch)


def _is_constant(patch: Patch) -> bool:
    function = patch.value.function
    return (
        function is not None and isinstance(function.node, ast.Lambda) and isinstance(function.node.body, ast.Constant)
    )


def _is_void(patch: Patch) -> bool:
    function: Function | None = patch.value.function
    if function is None or function.node is None:
        return bool(set(patch.value.names) & _VOID)
    node = function.node
    if isinstance(node, ast.ClassDef):
        return False
    arguments = [a.arg for a in node.args.args]
    if isinstance(node, ast.Lambda):
        returned: list[ast.expr | None] = [node.body]
    else:
        returned = [inner.value for inner in ast.walk(node) if isinstance(inner, ast.Return)]
    return bool(returned) and all(_nothing(value, arguments) for value in returned)


def _nothing(value: ast.expr | None, arguments: list[str]) -> bool:
    if value is None or isinstance(value, ast.Constant):
        return True
    if isinstance(value, ast.Name):
        return value.id in arguments
    if isinstance(value, ast.Tuple):
        return bool(value.elts) and all(_nothing(item, arguments) for item in value.elts)
    if isinstance(value, ast.Call):
        name = (
            value.func.attr
            if isinstance(value.func, ast.Attribute)
            else value.func.id
            if isinstance(value.func, ast.Name)
            else ""
        )
        return name in _VOID or (
            name in ("clone", "detach", "contiguous")
            and isinstance(value.func, ast.Attribute)
            and _nothing(value.func.value, arguments)
        )
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        return any(isinstance(side, ast.Constant) and side.value == 0 for side in (value.left, value.right))
    return False
