"""Reads expressions: the abstract value of each."""

from __future__ import annotations

import ast
import json
import operator
import re
from collections.abc import Callable
from typing import Any

from reclaim_nb.grading.lineage import flow as f
from reclaim_nb.grading.lineage.calling import Calling
from reclaim_nb.grading.lineage.flow import EMPTY, UNKNOWN, Flow, Function, replace, split_marks
from reclaim_nb.grading.vocabulary import SPLITS
from reclaim_nb.grading.words import words

_FOLD: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_SAME_NAME = words(
    """
    torch torchvision numpy pandas sklearn json random time os sys re subprocess datasets pickle yaml math statistics
    transformers nbformat shutil glob logging
    """
)
MODULES = {
    **{name: name for name in _SAME_NAME},
    "np": "numpy",
    "pd": "pandas",
    "F": "torch.nn.functional",
    "nn": "torch.nn",
    "plt": "matplotlib.pyplot",
    "tf": "tensorflow",
    "jnp": "jax.numpy",
    "Path": "pathlib.Path",
}
"""What a name that was never bound stands for: code that was run may have got it from somewhere the stream has not."""
_PERCENT_FORMAT = re.compile(r"%(?:\((\w+)\))?[-#0 +]*(?:\d+|\*)?(?:\.(?:\d+|\*))?[diouxXeEfFgGcrsa%]")
_BRACE_FORMAT = re.compile(r"\{\{|\}\}|\{([^{}:!]*)(?:![rsa])?(?::[^{}]*(?:\{[^{}]*\}[^{}]*)*)?\}")


class Expressions(Calling):
    """The expressions' half of the analysis."""

    def value(self, node: ast.expr | None) -> Flow:
        """Return the abstract value of an expression."""
        if node is None:
            return EMPTY
        self.steps += 1
        if self.steps > self.limit:
            return UNKNOWN
        handler = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        if handler is None:
            return f.opaque(self.value(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))
        result: Flow = handler(node)
        return result

    def _of_constant(self, node: ast.Constant) -> Flow:
        return f.constant(node.value, self.current)

    def _of_name(self, node: ast.Name) -> Flow:
        held = self.lookup(node.id)
        if held is None:
            if node.id in ("attempt", "reclaim"):
                return Flow(function=Function(node.id, dotted="attempt"))
            if node.id in self.builtin_names:
                return Flow(function=Function(node.id, dotted=f"builtins.{node.id}"))
            if node.id in MODULES:
                return self.module(MODULES[node.id])
            held = UNKNOWN
        if held.names == (node.id,):
            return held
        return replace(held, names=(node.id,), marks=held.marks | split_marks(node.id))

    def _of_attribute(self, node: ast.Attribute) -> Flow:
        base = self.value(node.value)
        names = (*base.names, node.attr)
        if base.function is not None and base.function.dotted:
            dotted = f"{base.function.dotted}.{node.attr}"
            if dotted == "attempt.release":
                return Flow(frozenset({f.RELEASE}), path="", names=names)
            if dotted == "sys.stdin" and self.stdin is not EMPTY:
                return self.stdin
            if dotted in self.patched and self.patched[dotted].function is not None:
                return replace(self.patched[dotted], names=names)
            if base.fields and node.attr in base.fields:
                return replace(base.fields[node.attr], names=names)
            if node.attr == "pi" and dotted in ("math.pi", "numpy.pi"):
                return Flow(frozenset({f.LITERAL}), names=names)
            return Flow(function=Function(node.attr, dotted=dotted), names=names)
        if base.fields is not None and node.attr in base.fields:
            field = base.fields[node.attr]
            if field.function is not None and field.function.node is not None and field.function.owner is None:
                owner = base if base.function is None else None
                field = replace(field, function=field.function.bound(owner))
            return replace(field, names=names, marks=field.marks | base.marks)
        if node.attr in (
            "T",
            "values",
            "loc",
            "iloc",
            "at",
            "iat",
            "real",
            "data",
            "columns",
            "index",
            "cells",
            "outputs",
        ):
            return replace(base, names=names)
        if node.attr in ("parent", "name", "stem", "suffix", "parts") and base.path is not None:
            return replace(base, names=names)
        if node.attr in ("shape", "size", "nbytes", "ndim", "dtype"):
            return f.opaque((base,))
        if node.attr in ("stdout", "stderr", "text", "content"):
            return replace(base, names=names)
        plain = replace(base, const=f.NOTHING, parts=None, items=None, fields=None, function=None, names=names)
        return plain if base.kinds else UNKNOWN

    def _of_subscript(self, node: ast.Subscript) -> Flow:
        base = self.value(node.value)
        if isinstance(node.slice, ast.Slice):
            self.value(node.slice.lower)
            upper = self.value(node.slice.upper)
            marks = set()
            if node.slice.lower is None and upper.known and isinstance(upper.const, int) and upper.const > 0:
                marks.add(f"first:{upper.const}")
            text = base.const if isinstance(base.const, str) else None
            if text is not None:
                return replace(base, const=f.NOTHING, parts=None)
            return replace(base, marks=base.marks | marks, const=f.NOTHING)
        key = self.value(node.slice)
        name = key.text
        names = (*base.names, *((name,) if name else ()))
        marks = {f"split:{SPLITS[name]}"} if name in SPLITS else set()
        if base.fields is not None:
            found = base.fields.get(name if name is not None else str(key.const) if key.known else "")
            if found is not None:
                return replace(found, names=names, marks=found.marks | marks)
            if name is not None and base.kinds <= {f.LITERAL} and base.items is None:
                return replace(f.element(base), names=names)
        place = key.const if isinstance(key.const, int) and not isinstance(key.const, bool) else None
        if base.items is not None and place is not None and -len(base.items) <= place < len(base.items):
            item = base.items[place]
            chosen = {"max"} if "sorted" in base.marks else set()
            return replace(item, names=names, marks=item.marks | base.marks | chosen)
        if {"sorted"} & base.marks and isinstance(key.const, int):
            marks.add("max")
        if isinstance(node.slice, ast.Compare | ast.BoolOp):
            return replace(f.opaque((base, key)), marks=base.marks | key.marks)
        one = f.element(base)
        return replace(
            one, names=names, marks=one.marks | marks, files=base.files, kinds=one.kinds | (key.kinds & {f.COUNTER})
        )

    def _of_slice(self, node: ast.Slice) -> Flow:
        return EMPTY

    def _of_binop(self, node: ast.BinOp) -> Flow:
        return self.arithmetic(node.op, self.value(node.left), self.value(node.right))

    def arithmetic(self, op: ast.operator, left: Flow, right: Flow) -> Flow:
        """Return the value of an operation on two values."""
        if isinstance(op, ast.Mod) and left.parts is not None:
            return self.percent_format(left, right)
        if isinstance(op, ast.Add) and (left.parts is not None or right.parts is not None) and not left.items:
            return f.text_flow((left, right))
        if isinstance(op, ast.Div) and (left.path is not None or f.RELEASE in left.kinds):
            tail = right.text or ""
            path = f"{left.path.rstrip('/')}/{tail}".lstrip("/") if left.path else tail
            if left.path and left.path.startswith("/"):
                path = "/" + path
            return replace(
                left, path=path if right.known else "?", const=path if right.known else f.NOTHING, parts=None
            )
        both = f.merged((left, right))
        if isinstance(op, ast.Mult | ast.Div | ast.Pow | ast.Mod | ast.FloorDiv):
            # A factor is no part of the value: only literals of the side that is more than a literal go on.
            more = [flow for flow in (left, right) if flow.kinds - {f.LITERAL}]
            if len(more) == 1:
                both = replace(both, literals=more[0].literals)
        elif isinstance(op, ast.Sub) and left.kinds and right.kinds:
            self.compared(ast.Pass(), left, right)
        if isinstance(op, ast.MatMult):
            return f.opaque((left, right), self.current)
        if isinstance(op, ast.Add) and left.items is not None and right.items is not None:
            return replace(both, items=left.items + right.items)
        marks = set(both.marks)
        if isinstance(op, ast.Mult) and 100 in (left.const, right.const):
            marks.add("percent")
        if isinstance(op, ast.Div) and right.const == 100:
            marks.add("fraction")
        const: Any = f.NOTHING
        if type(op) in _FOLD and _number(left) and _number(right):
            try:
                const = _FOLD[type(op)](left.const, right.const)
            except (ArithmeticError, ValueError):
                const = f.NOTHING
        elif (
            isinstance(op, ast.Pow)
            and _number(left)
            and _number(right)
            and abs(right.const) <= 64
            and abs(left.const) < 1e6
        ):
            try:
                const = left.const**right.const
            except ArithmeticError:
                const = f.NOTHING
        elif (
            isinstance(op, ast.Mult)
            and isinstance(left.const, str)
            and isinstance(right.const, int)
            and right.const < 200
        ):
            return f.constant(left.const * right.const, self.current)
        kinds = both.kinds
        if f.COUNTER in kinds and f.COMPUTED not in kinds:
            kinds = kinds | {f.COMPUTED}
        return replace(both, kinds=kinds, marks=frozenset(marks), const=const)

    def percent_format(self, left: Flow, right: Flow) -> Flow:
        """Return the text of ``"acc %.2f" % acc``."""
        template = left.text
        if template is None:
            return f.text_flow((left, right))
        values = list(right.items) if right.items is not None and not right.fields else [right]
        parts: list[str | Flow] = []
        position = 0
        for match in _PERCENT_FORMAT.finditer(template):
            parts.append(template[position : match.start()])
            position = match.end()
            if match[0].endswith("%"):
                parts.append("%")
            elif match[1]:
                parts.append(self.hole((right.fields or {}).get(match[1], right)))
            else:
                parts.append(self.hole(values.pop(0)) if values else UNKNOWN)
        parts.append(template[position:])
        return f.text_flow(parts)

    def brace_format(self, template: str, args: list[Flow], keywords: dict[str, Flow]) -> Flow:
        """Return the text of ``"acc {:.2f}".format(acc)``."""
        parts: list[str | Flow] = []
        position = count = 0
        for match in _BRACE_FORMAT.finditer(template):
            parts.append(template[position : match.start()])
            position = match.end()
            if match[0] in ("{{", "}}"):
                parts.append(match[0][0])
                continue
            name = re.split(r"[.\[]", match[1], maxsplit=1)[0]
            if name == "":
                parts.append(self.hole(args[count]) if count < len(args) else UNKNOWN)
                count += 1
            elif name.isdigit():
                parts.append(self.hole(args[int(name)]) if int(name) < len(args) else UNKNOWN)
            else:
                parts.append(self.hole(keywords.get(name, UNKNOWN)))
        parts.append(template[position:])
        return f.text_flow(parts)

    def hole(self, value: Flow) -> Flow | str:
        """Return a value as it stands in a text: known texts as themselves, all else as a value."""
        if value.parts is not None:
            return replace(value, const=value.const)
        if value.kinds or value.fields or value.items:
            return value
        if value.known and (isinstance(value.const, bool) or value.const is None):
            return str(value.const)
        return replace(UNKNOWN, names=value.names)

    def _of_unaryop(self, node: ast.UnaryOp) -> Flow:
        value = self.value(node.operand)
        if isinstance(node.op, ast.USub) and _number(value):
            return replace(value, const=-value.const, literals=tuple(-n for n in value.literals))
        if isinstance(node.op, ast.Not):
            return f.opaque((value,)) if not value.known else Flow(const=not value.const)
        return replace(value, const=value.const if isinstance(node.op, ast.UAdd) else f.NOTHING)

    def _of_boolop(self, node: ast.BoolOp) -> Flow:
        values = [self.value(part) for part in node.values]
        result = values[0]
        for value in values[1:]:
            result = f.joined(result, value)
        return result

    def _of_compare(self, node: ast.Compare) -> Flow:
        left = self.value(node.left)
        flows = [left]
        for comparator in node.comparators:
            right = self.value(comparator)
            self.compared(node, flows[-1], right)
            flows.append(right)
        if all(_number(flow) for flow in flows) and len(flows) == 2:
            return EMPTY
        both = f.merged(flows, literals=False)
        if f.RANDOM in both.kinds and both.kinds <= {f.LITERAL, f.RANDOM}:
            # Comparing noise with noise measures nothing.
            return replace(both, names=())
        return f.opaque(flows, self.current)

    def compared(self, node: ast.AST, left: Flow, right: Flow) -> None:
        """Note a comparison; the statements' half does."""

    def _of_ifexp(self, node: ast.IfExp) -> Flow:
        test = self.value(node.test)
        if test.known and isinstance(test.const, bool):
            return self.value(node.body if test.const else node.orelse)
        return f.joined(self.value(node.body), self.value(node.orelse))

    def _of_tuple(self, node: ast.Tuple | ast.List | ast.Set) -> Flow:
        items: list[Flow] = []
        loose = False
        for element in node.elts[:2000]:
            if isinstance(element, ast.Starred):
                inner = self.value(element.value)
                loose = loose or inner.items is None
                items.extend(inner.items if inner.items is not None else (f.element(inner),))
            else:
                items.append(self.value(element))
        return replace(f.merged(items), items=None if loose else tuple(items))

    _of_list = _of_tuple
    _of_set = _of_tuple

    def _of_dict(self, node: ast.Dict) -> Flow:
        fields: dict[str, Flow] = {}
        flows: list[Flow] = []
        for key, item in zip(node.keys, node.values, strict=True):
            value = self.value(item)
            flows.append(value)
            if key is None:
                fields.update(value.fields or {})
                continue
            name = self.value(key)
            if name.known:
                fields[str(name.const)] = value
                self.note_setting(str(name.const), value)
        return replace(f.merged(flows), fields=fields)

    def note_setting(self, name: str, value: Flow) -> None:
        """Note a number given by name; the statements' half does."""

    def _of_joinedstr(self, node: ast.JoinedStr) -> Flow:
        parts: list[str | Flow] = []
        for value in node.values:
            if isinstance(value, ast.Constant):
                parts.append(str(value.value))
            elif isinstance(value, ast.FormattedValue):
                inner = self.value(value.value)
                # `{acc=}` comes as text and value already; what stands in a format (a width) is no result.
                part = self.hole(inner)
                if (
                    isinstance(part, Flow)
                    and isinstance(value.format_spec, ast.JoinedStr)
                    and _shows_percent(value.format_spec)
                ):
                    part = part.with_marks("percent")
                parts.append(part)
        return f.text_flow(parts)

    def _of_formattedvalue(self, node: ast.FormattedValue) -> Flow:
        return self.value(node.value)

    def _of_lambda(self, node: ast.Lambda) -> Flow:
        self.kept.append(node)
        self.defaults[id(node)] = {}
        return Flow(function=Function("<lambda>", node, tuple(self.scopes), cell=self.current))

    def _of_listcomp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Flow:
        self.scopes.append({})
        marks: set[str] = set()
        total: int | None = 1
        for generator in node.generators:
            source = self.value(generator.iter)
            total = total * len(source.items) if total is not None and source.items is not None else None
            marks |= source.marks
            self.assign(generator.target, self.one_of(source))
            for test in generator.ifs:
                self.value(test)
        one = self.value(node.elt)
        self.scopes.pop()
        result = replace(one, const=f.NOTHING, parts=None, function=None, marks=one.marks | marks)
        return replace(result, items=None, fields=one.fields)

    _of_setcomp = _of_listcomp
    _of_generatorexp = _of_listcomp

    def _of_dictcomp(self, node: ast.DictComp) -> Flow:
        self.scopes.append({})
        for generator in node.generators:
            self.assign(generator.target, self.one_of(self.value(generator.iter)))
        self.value(node.key)
        one = self.value(node.value)
        self.scopes.pop()
        return replace(one, const=f.NOTHING, parts=None, function=None)

    def assign(self, target: ast.expr, value: Flow, source: ast.expr | None = None) -> None:
        """Give a value to a target; the statements' half does."""

    def one_of(self, source: Flow) -> Flow:
        """Return what one turn of a loop over a value gets."""
        if f.COUNTER in source.kinds:
            if source.items is not None:
                return source
            return source
        return f.element(source)

    def _of_namedexpr(self, node: ast.NamedExpr) -> Flow:
        value = self.value(node.value)
        self.assign(node.target, value)
        return value

    def _of_await(self, node: ast.Await) -> Flow:
        return self.value(node.value)

    def _of_starred(self, node: ast.Starred) -> Flow:
        return self.value(node.value)

    def _of_yield(self, node: ast.Yield) -> Flow:
        self.returned.append(self.value(node.value))
        return EMPTY

    def _of_yieldfrom(self, node: ast.YieldFrom) -> Flow:
        self.returned.append(self.value(node.value))
        return EMPTY

    def _of_call(self, node: ast.Call) -> Flow:
        return self.call(node)

    def parse_json(self, text: str) -> Flow:
        """Return the value of a JSON text (or Python literal) written down in the source."""
        for reader in (json.loads, ast.literal_eval):
            try:
                return f.from_json(reader(text), self.current)
            except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
                continue
        return Flow(frozenset({f.LITERAL}), f.numbers_in(text), cells=frozenset({self.current}))


def _number(flow: Flow) -> bool:
    return isinstance(flow.const, int | float) and not isinstance(flow.const, bool)


def _shows_percent(spec: ast.JoinedStr) -> bool:
    return any(isinstance(part, ast.Constant) and str(part.value).endswith("%") for part in spec.values)
