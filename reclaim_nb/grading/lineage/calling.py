"""Reads calls: of the notebook's own functions, of methods, of anything."""

from __future__ import annotations

import ast

from reclaim_nb.grading.lineage import calls as known
from reclaim_nb.grading.lineage import flow as f
from reclaim_nb.grading.lineage.flow import EMPTY, UNKNOWN, Flow, Function, replace
from reclaim_nb.grading.lineage.library import Library
from reclaim_nb.grading.lineage.moving import is_array
from reclaim_nb.grading.lineage.records import Call

_DEEPEST = 7


class Calling(Library):
    """The calls' half of the analysis."""

    def call(self, node: ast.Call) -> Flow:
        """Return the value of a call."""
        function = self.value(node.func)
        args, keywords = self._arguments(node)
        for name, value in keywords.items():
            self.note_setting(name, value)
        target = function.function
        if target is not None and target.dotted in self.patched:
            patched = self.patched[target.dotted]
            target = patched.function if patched.function is not None and patched.function.node is not None else target
        if target is not None and target.node is not None:
            return self.run_function(target, args, keywords, node)
        if target is not None and target.dotted:
            return self._library(target.dotted, node, args, keywords)
        if isinstance(node.func, ast.Attribute):
            return self._method(node, node.func, args, keywords)
        return self._unseen(node, self.dotted(node.func) or "", [function, *args], args, keywords)

    def _arguments(self, node: ast.Call) -> tuple[list[Flow], dict[str, Flow]]:
        args: list[Flow] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                inner = self.value(argument.value)
                args.extend(inner.items if inner.items is not None else (f.element(inner),))
            else:
                args.append(self.value(argument))
        keywords: dict[str, Flow] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value)
            if keyword.arg is None:
                keywords.update(value.fields or {})
                args.extend(() if value.fields else (value,))
            else:
                keywords[keyword.arg] = value
        return args, keywords

    def run_function(self, function: Function, args: list[Flow], keywords: dict[str, Flow], call: ast.Call) -> Flow:
        """Read a function's body with its arguments and return what it returns."""
        node = function.node
        assert node is not None
        if any(node is running for running in self.running) or len(self.running) > _DEEPEST or self.steps > self.limit:
            return f.opaque([*args, *keywords.values()], self.current)
        if isinstance(node, ast.ClassDef):
            return self._instance(function, args, keywords, call)
        saved = (self.scopes, self.returned, self.globals_here, self.loops, self.counting, self.last_value)
        given = [function.owner, *args] if function.owner is not None else args
        local = dict(self.defaults.get(id(node), {}))
        positional = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        local.update({name: UNKNOWN for name in positional if name not in local})
        local.update(zip(positional, given, strict=False))
        if node.args.vararg is not None:
            extra = tuple(given[len(positional) :])
            local[node.args.vararg.arg] = replace(f.merged(extra), items=extra)
        local.update({name: value for name, value in keywords.items() if name in positional or node.args.kwarg is None})
        if node.args.kwarg is not None:
            local[node.args.kwarg.arg] = replace(f.merged(keywords.values()), fields=dict(keywords))
        self.scopes = [*function.scopes, local]
        self.returned, self.globals_here, self.loops, self.counting = [], set(), 0, frozenset()
        self.running.append(node)
        if isinstance(node, ast.Lambda):
            result = self.value(node.body)
        else:
            self.block(node.body)
            result = EMPTY
            for value in self.returned:
                result = value if result is EMPTY else f.joined(result, value)
        self.running.pop()
        after = self.scopes[-1].get(positional[0]) if positional else None
        self.scopes, self.returned, self.globals_here, self.loops, self.counting, self.last_value = saved
        if function.owner is not None and after is not None and isinstance(call.func, ast.Attribute):
            root = call.func.value
            if isinstance(root, ast.Name) and self.lookup(root.id) is not None:
                self.bind(root.id, after)
        marks = result.marks | self._call_marks("", args, keywords)
        return replace(result, marks=marks, names=(*self._name_of(call.func), *result.names)[:12])

    def _instance(self, function: Function, args: list[Flow], keywords: dict[str, Flow], call: ast.Call) -> Flow:
        node = function.node
        assert isinstance(node, ast.ClassDef)
        held = self.lookup(node.name)
        fields = dict((held.fields if held else None) or {})
        own = replace(f.merged([*args, *keywords.values()]), fields=fields, function=None, items=None)
        start = fields.get("__init__")
        if start is not None and start.function is not None and start.function.node is not None:
            holder = {"self": own}
            bound = start.function.bound(own)
            saved = self.scopes
            self.run_function(bound, args, keywords, ast.Call(func=ast.Name(id="__init__"), args=[], keywords=[]))
            self.scopes = saved
            del holder
            return own
        names = [s.target.id for s in node.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)]
        fields.update(zip(names, args, strict=False))
        fields.update(keywords)
        return own

    def decorate(self, decorator: ast.expr, function: Flow) -> None:
        """Read a decorator: a registration with something imported counts as a call with the function."""
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        self.value(decorator)
        name = self.dotted(target)
        self.records.calls.append(Call(self.current, decorator.lineno, name, (function,), {}))

    def _method(self, node: ast.Call, func: ast.Attribute, args: list[Flow], keywords: dict[str, Flow]) -> Flow:
        base = self.value(func.value)
        name = func.attr
        values = [base, *args, *keywords.values()]
        dotted = self.dotted(func)
        if base.path is not None or f.RELEASE in base.kinds:
            found = self._file_method(node, base, name, args)
            if found is not None:
                return found
        if name == "format" and base.text is not None:
            return self.brace_format(base.text, args, keywords)
        if name == "join" and base.text is not None and args:
            return self._join(base.text, args[0])
        if name in known.WRITE_METHODS and (args or keywords.get("path_or_buf")):
            self.write_file(args[0] if args else keywords["path_or_buf"], base, add=False)
            return EMPTY
        if name in known.STATE_METHODS:
            return self._put(func, base, name, args, keywords)
        if name in known.RANDOM_METHODS and f.RANDOM in base.kinds:
            both = f.merged(values)
            marks = {"random-data"} if is_array(name, args, keywords) else set()
            return replace(both, kinds=both.kinds | {f.RANDOM}, marks=both.marks | marks)
        if name in ("groupby", "query", "sort_values", "rolling", "resample"):
            return replace(base, const=f.NOTHING)
        if name in ("sample", "head", "take", "select", "limit"):
            return replace(base, marks=base.marks | self._call_marks(name, args, keywords), const=f.NOTHING)
        if name in known.SAYING and (args or keywords) and f.RANDOM not in base.kinds:
            self._note_call(dotted, node, args, keywords)
            self._say(node, args, keywords)
            return f.opaque(values, self.current)
        if name in known.MOVING_METHODS and (base.kinds or base.fields or base.items):
            if name == "get" and base.fields is not None and args and args[0].text in base.fields:
                return base.fields[args[0].text or ""]
            if name in ("items",) and base.fields is not None:
                pairs = tuple(replace(value, items=(f.constant(key), value)) for key, value in base.fields.items())
                return replace(f.merged(base.fields.values()), items=pairs)
            if name in ("values",) and base.fields is not None:
                return replace(f.merged(base.fields.values()), items=tuple(base.fields.values()))
            if base.text is not None and not args:
                return base
            moved = self._moving(
                name, [base, *args] if name in ("clip", "fillna", "where", "replace") else [base], keywords
            )
            return replace(moved, parts=None, names=base.names, items=moved.items, const=f.NOTHING)
        if name == "update" and args:
            self._show(node, args)
        self._note_call(dotted, node, args, keywords)
        if isinstance(func.value, ast.Name) and name in (
            "fit",
            "train",
            "load_state_dict",
            "partial_fit",
            "fit_transform",
        ):
            held = self.lookup(func.value.id)
            if held is not None and not (held.function and held.function.dotted):
                self.bind(func.value.id, replace(f.opaque([held, *args], self.current), names=held.names))
        return self._unseen(node, dotted, values, args, keywords, noted=True)

    def _file_method(self, node: ast.Call, base: Flow, name: str, args: list[Flow]) -> Flow | None:
        if name in ("read", "read_text", "read_bytes", "readlines", "readline", "extractfile"):
            return self.read_file(base)
        if name in ("write", "write_text", "write_bytes", "writelines") and args:
            content = args[0]
            if content.text is not None and base.path is not None and base.path.endswith((".py", ".sh")):
                self.write_text_file(base.path, content.text)
            else:
                self.write_file(base, content, add=name in ("write", "writelines"))
            return EMPTY
        if name == "open":
            return self._open([base, *args], {})
        if name in (
            "glob",
            "rglob",
            "iterdir",
            "walk",
            "joinpath",
            "with_suffix",
            "with_name",
            "resolve",
            "absolute",
            "expanduser",
            "parent",
        ):
            if name == "joinpath":
                return self._path([base, *args])
            return replace(
                base, path="?" if name not in ("resolve", "absolute", "expanduser") else base.path, const=f.NOTHING
            )
        if name in (
            "exists",
            "is_file",
            "is_dir",
            "stat",
            "mkdir",
            "unlink",
            "close",
            "flush",
            "seek",
            "endswith",
            "startswith",
            "match",
        ):
            return UNKNOWN if name not in ("mkdir", "close", "flush", "seek", "unlink") else EMPTY
        return None

    def _put(self, func: ast.Attribute, base: Flow, name: str, args: list[Flow], keywords: dict[str, Flow]) -> Flow:
        both = f.merged([base, *args, *keywords.values()])
        if base.path is not None and args:
            self.write_file(base, f.merged(args))
            return EMPTY
        root: ast.expr = func.value
        while isinstance(root, ast.Attribute | ast.Subscript):
            root = root.value
        fields = base.fields
        if name == "update":
            fields = {**(base.fields or {}), **(args[0].fields or {} if args else {}), **keywords}
            if isinstance(func.value, ast.Name) and not (args and args[0].fields) and not keywords:
                self._show(ast.Call(func=func, args=[], keywords=[]), args)
        if isinstance(root, ast.Name):
            held = self.lookup(root.id)
            if held is not None and not (held.function is not None and held.function.dotted):
                if root is not func.value:
                    all_of = f.merged([held, *args])
                    self.bind(
                        root.id,
                        replace(
                            held,
                            kinds=all_of.kinds,
                            literals=all_of.literals,
                            marks=all_of.marks,
                            const=f.NOTHING,
                            items=None,
                        ),
                    )
                else:
                    items = None
                    if (
                        name == "append"
                        and args
                        and base.items is not None
                        and not self.loops
                        and len(base.items) < 500
                    ):
                        items = (*base.items, args[0])
                    self.bind(root.id, replace(both, fields=fields, items=items))
        return EMPTY
