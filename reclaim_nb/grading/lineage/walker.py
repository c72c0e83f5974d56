"""Reads statements: what each name can hold after every cell, in the order in which the cells ran."""

from __future__ import annotations

import ast
from decimal import Decimal
from typing import Any

from reclaim_nb.grading.lineage import flow as f
from reclaim_nb.grading.lineage.expressions import Expressions
from reclaim_nb.grading.lineage.flow import EMPTY, UNKNOWN, Flow, Function, replace, split_marks
from reclaim_nb.grading.lineage.records import Comparison, Emission, Patch, Setting
from reclaim_nb.grading.lineage.syntax import CellCode, read_cell
from reclaim_nb.grading.vocabulary import SPLITS, tokens

_COMPOUND = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Walker(Expressions):
    """The analysis of one notebook; feed it the executed cells in order."""

    def cell(self, cell_id: str, source: str) -> None:
        """Read one executed cell."""
        self.current = cell_id
        self.records.emissions.setdefault(cell_id, [])
        self.order += 1
        code = read_cell(source)
        if code.magic:
            self._magic(code)
        elif code.tree is None:
            if source.strip():
                self.records.unread.add(cell_id)
                self.records.opaque.add(cell_id)
        else:
            self.block(code.tree.body)
            self._last_expression(source, code.tree)

    def _last_expression(self, source: str, tree: ast.Module) -> None:
        last = tree.body[-1] if tree.body else None
        if isinstance(last, ast.Expr) and not source.rstrip().endswith(";"):
            value = self.last_value
            if value is not EMPTY and not (isinstance(last.value, ast.Call) and _name(last.value.func) == "print"):
                self.emit("result", last, (self.shown(value),))
        elif isinstance(last, ast.Assign | ast.AugAssign):
            return

    def _magic(self, code: CellCode) -> None:
        if code.magic in ("bash", "sh", "zsh", "script", "system", "sx", "!"):
            self.shell(code.body, python_names=False)
        elif code.magic in ("writefile", "file"):
            path = code.line.split()[-1] if code.line.split() else ""
            add = "-a" in code.line.split()
            self.write_text_file(path, code.body, add=add)
        elif code.magic in ("html", "HTML", "markdown", "latex", "svg", "javascript", "js"):
            self.records.emit(Emission(self.current, "display", 1, (code.body,)))
        else:
            self.records.opaque.add(self.current)

    # Statements

    def block(self, body: list[ast.stmt]) -> None:
        """Read statements one after another."""
        for statement in body:
            self.steps += 1
            if self.steps > self.limit:
                self.records.opaque.add(self.current)
                return
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        """Read one statement."""
        handler = getattr(self, f"_do_{type(node).__name__.lower()}", None)
        if handler is not None:
            handler(node)

    def _do_expr(self, node: ast.Expr) -> None:
        self.last_value = self.value(node.value)

    def _do_assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self.assign(target, self._carried(target, node.value, value), node.value)

    def _do_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.value(node.value), node.value)

    def _do_augassign(self, node: ast.AugAssign) -> None:
        right = self.value(node.value)
        before = self.value(_as_load(node.target))
        both = self.arithmetic(node.op, before, right)
        if self.loops and not right.kinds <= {f.LITERAL, f.RANDOM}:
            both = both.also(f.COMPUTED)
        elif self.loops:
            both = replace(both, const=f.NOTHING)
            if f.RANDOM in right.kinds:
                both = both.with_marks(f.RANDOM_DATA)
            for test in self.under:
                both = f.counted(both, test)
        self.assign(node.target, both, node.value)

    def _carried(self, target: ast.expr, source: ast.expr, value: Flow) -> Flow:
        """A name that is made from itself, over and over in a loop, holds a computation."""
        if not self.loops or not isinstance(target, ast.Name):
            return value
        if any(isinstance(node, ast.Name) and node.id == target.id for node in ast.walk(source)):
            if isinstance(source, ast.BinOp | ast.UnaryOp | ast.Call) and not self._selects(source):
                return value.also(f.COMPUTED)
            return replace(value, const=f.NOTHING)
        if self.counting and isinstance(source, ast.BinOp | ast.UnaryOp) and self.counting & _names_in(source):
            return value.also(f.COMPUTED)
        return value

    @staticmethod
    def _selects(source: ast.expr) -> bool:
        return isinstance(source, ast.Call) and _name(source.func) in ("max", "min", "float", "round", "list", "sorted")

    def assign(self, target: ast.expr, value: Flow, source: ast.expr | None = None) -> None:
        """Give a value to a name, an attribute, a key or several of them."""
        if isinstance(target, ast.Name):
            self.note_setting(target.id, value)
            held = replace(value, names=(target.id,), marks=value.marks | split_marks(target.id))
            if target.id in ("print", "display", "len", "sum", "max", "min", "round", "abs", "float", "range"):
                self._patch(target, f"builtins.{target.id}", value, imported=True)
            self.bind(target.id, held)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target.elts, value, source)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, value)
        elif isinstance(target, ast.Attribute):
            self._assign_attribute(target, value)
        elif isinstance(target, ast.Subscript):
            self._assign_key(target, value)

    def _unpack(self, targets: list[ast.expr], value: Flow, source: ast.expr | None) -> None:
        items = value.items
        if items is not None and len(items) == len(targets) and not any(isinstance(t, ast.Starred) for t in targets):
            for target, item in zip(targets, items, strict=True):
                self.assign(target, replace(item, marks=item.marks | value.marks))
            return
        # What `train_test_split` and its like return is told apart by the names it is given.
        split_marks = frozenset(mark for mark in value.marks if mark.startswith(("split:", "name:")))
        for target in targets:
            one = f.element(value)
            name = target.id if isinstance(target, ast.Name) else ""
            if any(word in SPLITS for word in tokens(name)):
                one = replace(one, marks=one.marks - split_marks)
            self.assign(target, one)

    def _assign_attribute(self, target: ast.Attribute, value: Flow) -> None:
        self.note_setting(target.attr, value)
        base = self.value(target.value)
        dotted = self.dotted(target)
        imported = bool(base.function and base.function.dotted)
        patches = value.function is not None or imported or target.attr in ("forward", "__call__", "displayhook")
        if dotted and patches:
            self._patch(target, dotted, value, imported)
        if isinstance(target.value, ast.Name):
            held = self.lookup(target.value.id)
            if held is not None and not imported:
                # In place: an object is the same object under all its names.
                fields = held.fields if held.fields is not None else {}
                fields[target.attr] = value
                self.bind(target.value.id, replace(held, fields=fields))
        elif base.fields is not None:
            base.fields[target.attr] = value

    def _assign_key(self, target: ast.Subscript, value: Flow) -> None:
        key = self.value(target.slice)
        root: ast.expr = target.value
        path: list[str | None] = [key.text if key.text is not None else _plain(key.const)]
        while isinstance(root, ast.Subscript | ast.Attribute):
            if isinstance(root, ast.Subscript):
                inner = self.value(root.slice)
                path.append(inner.text)
            else:
                path.append(root.attr)
            root = root.value
        if path[0] is not None:
            self.note_setting(path[0], value)
        dotted = self.dotted(target.value)
        if dotted in ("sys.modules",) or (dotted and dotted.endswith(".__dict__")):
            self._patch(target, f"{dotted.removesuffix('.__dict__')}.{path[0]}", value, imported=True)
        if isinstance(root, ast.Call) and _name(root.func) in ("globals", "locals", "vars") and path[-1] is not None:
            self.bind(path[-1], value)
            return
        if not isinstance(root, ast.Name):
            return
        held = self.lookup(root.id) or EMPTY
        if self.loops and f.COUNTER in key.kinds and f.COMPUTED not in value.kinds and held.kinds - {f.LITERAL}:
            value = value.also(f.COUNTER)
        fields = dict(held.fields or {})
        name = path[-1]
        if len(path) == 1 and name is not None:
            fields[name] = f.joined(fields[name], value) if self.loops and name in fields else value
        elif name is not None:
            fields[name] = f.joined(fields.get(name, EMPTY), value)
        both = f.merged((held, value))
        self.bind(
            root.id,
            replace(
                held,
                kinds=both.kinds,
                literals=both.literals,
                marks=both.marks,
                fields=fields or None,
                files=both.files,
                const=f.NOTHING,
                items=None,
            ),
        )

    def _patch(self, node: ast.AST, target: str, value: Flow, imported: bool) -> None:
        self.records.patches.append(Patch(self.current, getattr(node, "lineno", 0), target, imported, value))
        self.patched[target] = value

    def note_setting(self, name: str, value: Flow) -> None:
        """Note a number that is given to something by name."""
        if (
            value.known
            and isinstance(value.const, int | float)
            and not isinstance(value.const, bool)
            and value.literals
        ):
            self.records.settings.append(Setting(self.current, self.order, name, Decimal(repr(value.const))))

    def _do_for(self, node: ast.For | ast.AsyncFor) -> None:
        source = self.value(node.iter)
        one = self.one_of(source)
        counting = f.COUNTER in one.kinds
        if isinstance(node.target, ast.Name) and isinstance(source.const, range):
            # `for epoch in range(3)` says how many epochs there are.
            many = {"epoch": "epochs", "ep": "epochs", "step": "steps", "iteration": "iterations", "it": "iterations"}
            if (name := many.get(node.target.id.strip("_").lower())) is not None:
                self.note_setting(name, f.constant(len(source.const), self.current))
        before = dict(self.names)
        outer, self.counting = self.counting, self.counting | (_names_in(node.target) if counting else frozenset())
        self.loops += 1
        self.records.loops[self.current] = self.records.loops.get(self.current, 0) + 1
        for _ in range(2):
            self.assign(node.target, one)
            self.block(node.body)
        self.loops -= 1
        self.counting = outer
        self._merge_names(before)
        self.block(node.orelse)

    _do_asyncfor = _do_for

    def _do_while(self, node: ast.While) -> None:
        self.value(node.test)
        before = dict(self.names)
        self.loops += 1
        for _ in range(2):
            self.block(node.body)
        self.loops -= 1
        self._merge_names(before)
        self.block(node.orelse)

    def _do_if(self, node: ast.If) -> None:
        test = self.value(node.test)
        if test.known and isinstance(test.const, bool):
            self.block(node.body if test.const else node.orelse)
            return
        if isinstance(node.test, ast.Compare) and _is_main(node.test):
            self.block(node.body)
            return
        before = dict(self.names)
        outer, self.under = self.under, (*self.under, test)
        self.block(node.body)
        after = dict(self.names)
        self.replace_names(before)
        self.block(node.orelse)
        self.under = outer
        self._merge_names(after)

    def _merge_names(self, other: dict[str, Flow]) -> None:
        names = self.names
        for name, value in other.items():
            held = names.get(name)
            if held is not value:
                names[name] = value if held is None else f.joined(held, value)

    def _do_with(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            value = self.value(item.context_expr)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, value)
        self.block(node.body)

    _do_asyncwith = _do_with

    def _do_try(self, node: ast.Try) -> None:
        before = dict(self.names)
        self.block(node.body)
        after = dict(self.names)
        for handler in node.handlers:
            self.replace_names(
                {**before, **{k: f.joined(v, before[k]) if k in before else v for k, v in after.items()}}
            )
            if handler.name:
                self.bind(handler.name, UNKNOWN)
            self.block(handler.body)
            self._merge_names(after)
            after = dict(self.names)
        self.block(node.orelse)
        self.block(node.finalbody)

    _do_trystar = _do_try

    def _do_match(self, node: ast.Match) -> None:
        self.value(node.subject)
        for case in node.cases:
            before = dict(self.names)
            self.block(case.body)
            self._merge_names(before)

    def _do_functiondef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        defaults = {}
        positional = [*node.args.posonlyargs, *node.args.args]
        for argument, default in zip(reversed(positional), reversed(node.args.defaults), strict=False):
            defaults[argument.arg] = self.value(default)
        for argument, keyword in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            if keyword is not None:
                defaults[argument.arg] = self.value(keyword)
        function = Function(node.name, node, tuple(self.scopes), cell=self.current)
        self.defaults[id(node)] = defaults
        self.kept.append(node)
        flow = Flow(function=function)
        if node.decorator_list and any(not _harmless(d) for d in node.decorator_list):
            for decorator in node.decorator_list:
                self.decorate(decorator, flow)
        if node.name in ("print", "display"):
            self._patch(node, f"builtins.{node.name}", flow, imported=True)
        self.bind(node.name, flow)

    _do_asyncfunctiondef = _do_functiondef

    def _do_classdef(self, node: ast.ClassDef) -> None:
        fields: dict[str, Flow] = {}
        self.scopes.append({})
        self.block(node.body)
        fields = self.scopes.pop()
        self.kept.append(node)
        bases = [self.value(base) for base in node.bases]
        inherited = next((base.fields for base in bases if base.fields), None)
        self.bind(
            node.name,
            Flow(
                function=Function(node.name, node, tuple(self.scopes), cell=self.current),
                fields={**(inherited or {}), **fields},
            ),
        )

    def _do_return(self, node: ast.Return) -> None:
        value = self.value(node.value) if node.value is not None else EMPTY
        self.returned.append(value)

    def _do_import(self, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.asname or alias.name.split(".")[0]
            full = alias.name if alias.asname else alias.name.split(".")[0]
            self.records.imports.append((self.current, alias.name))
            self.bind(name, self.module(full))

    def _do_importfrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        self.records.imports.append((self.current, module))
        own = self.module(module)
        for alias in node.names:
            if alias.name == "*":
                for key, value in (own.fields or {}).items():
                    self.bind(key, value)
                continue
            value = (own.fields or {}).get(alias.name) or self.module(f"{module}.{alias.name}")
            name = alias.asname or alias.name
            self.bind(name, value)

    def _do_global(self, node: ast.Global | ast.Nonlocal) -> None:
        self.globals_here.update(node.names)

    _do_nonlocal = _do_global

    def _do_assert(self, node: ast.Assert) -> None:
        self.value(node.test)

    def _do_delete(self, node: ast.Delete) -> None:
        return

    def _do_raise(self, node: ast.Raise) -> None:
        if node.exc is not None:
            self.value(node.exc)

    def compared(self, node: ast.AST, left: Flow, right: Flow) -> None:
        """Note a comparison of something computed with a literal."""
        for literal, other in ((left, right), (right, left)):
            if literal.kinds == {f.LITERAL} and literal.literals and other.kinds - {f.LITERAL}:
                for number in literal.literals[:4]:
                    self.records.comparisons.append(
                        Comparison(self.current, getattr(node, "lineno", 0), number, f.COMPUTED in other.kinds)
                    )


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _names_in(node: ast.AST) -> frozenset[str]:
    return frozenset(inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name))


def _as_load(target: ast.expr) -> ast.expr:
    return target


def _plain(value: Any) -> str | None:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _is_main(test: ast.Compare) -> bool:
    return isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _harmless(decorator: ast.expr) -> bool:
    name = _name(decorator.func if isinstance(decorator, ast.Call) else decorator)
    return name in (
        "no_grad",
        "inference_mode",
        "cache",
        "lru_cache",
        "jit",
        "njit",
        "dataclass",
        "staticmethod",
        "classmethod",
        "property",
        "wraps",
        "contextmanager",
        "torch",
    )
