"""Reads calls: of the notebook's own functions, of built-ins, of libraries, of methods."""

from __future__ import annotations

import ast

from reclaim_nb.grading.lineage import calls as known
from reclaim_nb.grading.lineage import flow as f
from reclaim_nb.grading.lineage.flow import EMPTY, UNKNOWN, Flow, Function, replace
from reclaim_nb.grading.lineage.records import Call, Handed
from reclaim_nb.grading.lineage.shell import Shell
from reclaim_nb.grading.vocabulary import SPLITS, tokens
from reclaim_nb.grading.words import words

_SPLIT_KEYS = frozenset(
    {"split", "subset", "partition", "which", "mode", "part", "image_set", "dataset_split", "phase"}
)
_LIMIT_KEYS = words(
    """
    n limit max_samples num_samples max_examples max_items nrows n_eval num_eval n_test num_test
    max_eval_samples n_items n_images subset_size max_n eval_size n_examples num_examples n_samples max_eval
    max_test_samples sample_size max_num
    """
)
_DATA_WORDS = frozenset({"data", "dataset", "datasets", "dataloader", "loader", "loaders", "fetch", "read", "corpus"})
_SAYING = words(
    """
    info warning warn error debug critical success print write echo secho log log_metric log_metrics pprint
    metric
    """
)
_CUTTING = frozenset({"sample", "head", "take", "select", "limit", "shard", "islice", "Subset", "tail", "first"})
_DEEPEST = 7


class Calling(Shell):
    """The calls' half of the analysis."""

    def value(self, node: ast.expr | None) -> Flow:
        """Read an expression; the expressions' half does."""
        raise NotImplementedError

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

    def dotted(self, node: ast.AST) -> str:
        """Return the full name of an expression made of names and attributes, empty for any other."""
        if isinstance(node, ast.Name):
            held = self.lookup(node.id)
            if held is not None and held.function is not None and held.function.dotted:
                return held.function.dotted
            return node.id
        if isinstance(node, ast.Attribute):
            base = self.dotted(node.value)
            return f"{base}.{node.attr}" if base else node.attr
        if isinstance(node, ast.Call):
            return f"{self.dotted(node.func)}()"
        if isinstance(node, ast.Subscript):
            return self.dotted(node.value)
        return ""

    # The notebook's own functions

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

    # Built-ins and libraries

    def _library(self, name: str, node: ast.Call, args: list[Flow], keywords: dict[str, Flow]) -> Flow:
        name = known.canonical(name)
        values = [*args, *keywords.values()]
        if name.startswith("builtins.") and "." not in name[9:]:
            return self._builtin(name[9:], node, args, keywords)
        name = name.removeprefix("builtins.")
        if name == "collections.namedtuple()":
            return self._named_tuple(node, args, keywords)
        if name == "collections.namedtuple" and len(args) > 1:
            names = args[1].text or " ".join(item.text or "" for item in args[1].items or ())
            fields = {one: EMPTY for one in names.replace(",", " ").split()}
            return Flow(function=Function("namedtuple", dotted="collections.namedtuple()"), fields=fields)
        if name.startswith("attempt."):
            return self._attempt(name[8:], node, args, keywords)
        self._note_call(name, node, args, keywords)
        last = name.rsplit(".", 1)[-1]
        if name.startswith("get_ipython") or "get_ipython()" in name:
            return self._ipython(last, args)
        if name in known.RUNNERS:
            return self._run_program(name, args, keywords)
        if name in known.WRITERS and len(args) > max(known.WRITERS[name]):
            value, target = (args[place] for place in known.WRITERS[name])
            self.write_file(target, value, add=False)
            return EMPTY
        if name.startswith("yaml.") and args and (text := args[0].text) is not None and set(text) & set(":\n{"):
            return self.parse_json(text)
        if name in known.READERS and args:
            content = (
                self.read_file(args[0])
                if args[0].path is not None or args[0].text is not None or args[0].kinds & {f.RELEASE, f.SHIPPED}
                else args[0]
            )
            if content.text is not None and name.startswith(("json.", "yaml.")):
                return self.parse_json(content.text)
            if f.COMPUTED in content.kinds and not content.fields and known.is_loader(name):
                content = content.with_marks("data")
            return replace(
                content, marks=content.marks | self._call_marks(name, args, keywords), parts=None, const=f.NOTHING
            )
        if last in _SAYING and (
            name.startswith(
                ("logging", "rich", "sys.std", "click", "tqdm", "loguru", "typer", "pprint", "wandb", "mlflow")
            )
        ):
            self._say(node, args, keywords)
            return EMPTY
        if name.endswith(("display.display", "display.update_display")):
            self._show(node, args)
            return EMPTY
        if name.startswith("IPython.display.") and args:
            return args[0]
        if known.is_generator(name):
            return Flow(frozenset({f.RANDOM}), marks=frozenset({"rng"}))
        if known.is_random(name):
            both = f.merged(values)
            marks = {"random-data"} if _is_array(name, args, keywords) else set()
            return replace(both, kinds=both.kinds | {f.RANDOM}, marks=both.marks | marks)
        if last in ("isclose", "allclose", "assert_allclose", "approx", "assert_almost_equal") and len(args) > 1:
            self.compared(node, args[0], args[1])
            return f.opaque(values, self.current)
        if name in ("io.open", "codecs.open", "gzip.open", "bz2.open", "lzma.open"):
            return self._open(args, keywords)
        if name.startswith(("pathlib.Path", "pathlib.Pure")) and last in (
            "Path",
            "PurePath",
            "PosixPath",
            "PurePosixPath",
        ):
            return self._path(args)
        if name == "os.path.join":
            return self._path(args)
        if (
            name in ("shutil.copy", "shutil.copyfile", "shutil.copy2", "shutil.move", "os.rename", "os.replace")
            and len(args) > 1
        ):
            self.write_file(args[1], self.read_file(args[0]), add=False)
            return EMPTY
        if (
            name in ("json.loads", "yaml.safe_load", "yaml.load", "ast.literal_eval")
            and args
            and args[0].text is not None
        ):
            return self.parse_json(args[0].text)
        if name in ("json.dumps", "yaml.dump", "pprint.pformat") and args:
            return replace(args[0], parts=None, const=f.NOTHING)
        if name == "functools.partial" and args:
            return replace(args[0], names=args[0].names)
        if name in ("glob.glob", "glob.iglob", "os.listdir", "os.walk", "os.scandir") and args:
            return replace(args[0], const=f.NOTHING, parts=None, path="?")
        if name in ("time.time", "time.perf_counter", "time.monotonic", "time.process_time"):
            return replace(UNKNOWN, marks=frozenset({"timer"}))
        if name in ("types.SimpleNamespace", "argparse.Namespace", "builtins.dict"):
            return replace(f.merged(values), fields=dict(keywords))
        if known.is_moving(name):
            return self._moving(last, args, keywords, name)
        if known.is_loader(name):
            result = f.opaque(values, self.current)
            return replace(result, marks=result.marks | {"data", "loader"} | self._call_marks(name, args, keywords))
        return self._unseen(node, name, values, args, keywords)

    def _named_tuple(self, node: ast.Call, args: list[Flow], keywords: dict[str, Flow]) -> Flow:
        names = list(self.value(node.func).fields or {})
        fields = {**dict(zip(names, args, strict=False)), **keywords}
        return replace(f.merged([*args, *keywords.values()]), fields=fields, items=tuple(args))

    def _moving(self, last: str, args: list[Flow], keywords: dict[str, Flow], name: str = "") -> Flow:
        values = [*args, *(value for key, value in keywords.items() if key not in ("sep", "encoding", "errors"))]
        first = args[0] if args else EMPTY
        marks = self._call_marks(name, args, keywords)
        if last in ("max", "min", "amax", "amin", "nanmax", "nanmin") or (last in ("sorted", "sort")):
            marks = marks | {"sorted" if last.startswith("sort") else "max" if "max" in last else "min"}
        if last in ("mean", "fmean", "average", "nanmean", "median"):
            marks = marks | {"mean"}
        if (
            last
            in (
                "array",
                "asarray",
                "list",
                "tuple",
                "tensor",
                "Series",
                "sorted",
                "deepcopy",
                "copy",
                "round",
                "reversed",
            )
            and len(args) >= 1
        ):
            keeps = replace(first, marks=first.marks | marks, parts=first.parts, names=first.names)
            return replace(keeps, items=None) if last == "reversed" else keeps
        if last == "DataFrame" and (first.fields is not None or first.items is not None):
            return replace(first, marks=first.marks | marks)
        if last in ("float", "int", "Decimal", "str", "float64", "float32", "double"):
            return self._convert(last, first, marks)
        if last in (
            "read",
            "reads",
            "search",
            "match",
            "findall",
            "sub",
            "split",
            "fullmatch",
            "finditer",
        ) and name.startswith("re."):
            texts = args[1:] if last != "sub" else args[1:3]
            return replace(f.merged([_digits_of(text) for text in texts]), marks=marks)
        result = f.merged(values)
        return replace(result, marks=result.marks | marks)

    def _convert(self, last: str, first: Flow, marks: frozenset[str]) -> Flow:
        if first.text is not None and last != "str":
            numbers = f.numbers_in(first.text)
            if len(numbers) == 1:
                return f.constant(float(numbers[0]), self.current)
            return Flow(frozenset({f.LITERAL}), numbers)
        if last == "str":
            return (
                f.text_flow([first])
                if first.parts is not None
                else f.text_flow([first if first.kinds or first.fields else UNKNOWN])
            )
        return replace(
            first,
            parts=None,
            marks=first.marks | marks,
            const=first.const if not isinstance(first.const, str) else f.NOTHING,
        )

    def _builtin(self, name: str, node: ast.Call, args: list[Flow], keywords: dict[str, Flow]) -> Flow:
        first = args[0] if args else EMPTY
        if name == "print":
            self._print(node, args, keywords)
            return EMPTY
        if name == "display":
            self._show(node, args)
            return EMPTY
        if name == "get_ipython":
            return Flow(function=Function("get_ipython", dotted="get_ipython()"))
        if name == "open":
            return self._open(args, keywords)
        if name in ("exec", "eval"):
            return self._evaluate(name, first)
        if name == "range":
            const = (
                range(first.const)
                if len(args) == 1 and isinstance(first.const, int) and 0 <= first.const < 10**12
                else f.NOTHING
            )
            return Flow(frozenset({f.COUNTER}), const=const)
        if name == "enumerate" and args:
            inner = f.element(first)
            return (
                replace(f.merged(args), items=None, kinds=first.kinds, fields=None)
                if first.items is None
                else replace(
                    f.merged(args), items=(replace(f.merged(args), items=(Flow(frozenset({f.COUNTER})), inner)),)
                )
            )
        if name == "zip":
            pair = tuple(f.element(arg) for arg in args)
            return replace(f.merged(args), items=(replace(f.merged(pair), items=pair),))
        if name == "map" and len(args) > 1:
            elements = [f.element(arg) for arg in args[1:]]
            if first.function is not None and first.function.node is not None:
                return self.run_function(first.function, elements, {}, node)
            if first.function is not None and first.function.dotted:
                return self._library(first.function.dotted, node, elements, {})
            return f.opaque(args, self.current)
        if name == "len":
            if isinstance(first.const, str):
                return f.constant(len(first.const), self.current)
            if first.kinds <= {f.LITERAL} and (first.kinds or first.items is not None):
                # How many values were written down is as much written down as they are.
                count = len(first.items) if first.items is not None and not self.loops else f.NOTHING
                return Flow(frozenset({f.LITERAL}), const=count)
            return f.opaque(args, self.current)
        if name == "getattr" and len(args) > 1 and args[1].text is not None:
            found = (first.fields or {}).get(args[1].text)
            if found is not None:
                return found
            if first.function is not None and first.function.dotted:
                return Flow(function=Function(args[1].text, dotted=f"{first.function.dotted}.{args[1].text}"))
            return replace(first, fields=None, const=f.NOTHING)
        if name == "setattr" and len(args) > 2 and args[1].text is not None:
            self._set_attribute(node, first, args[1].text, args[2])
            return EMPTY
        if name in ("dict",):
            fields = {**(first.fields or {}), **keywords}
            return replace(f.merged([*args, *keywords.values()]), fields=fields)
        if name in ("sum", "max", "min", "sorted"):
            base = f.merged([f.element(arg) if arg.items is not None else arg for arg in args])
            return self._moving(name, [base] if name != "sorted" else [first], {})
        if name in ("globals", "locals", "vars"):
            return Flow(fields=self.scopes[0] if name != "locals" else self.scopes[-1])
        if name in ("chr", "ord", "hex", "bytes", "int") and len(args) == 2 and first.text is not None:
            return Flow(frozenset({f.LITERAL}), f.numbers_in(first.text))
        if name in known.BUILTINS_MOVING:
            return self._moving(name, args, keywords)
        if name in known.QUIET or name[:1].isupper():
            return f.opaque([*args, *keywords.values()], self.current)
        return self._unseen(node, name, [*args, *keywords.values()], args, keywords)

    def _set_attribute(self, node: ast.Call, base: Flow, name: str, value: Flow) -> None:
        imported = bool(base.function is not None and base.function.dotted)
        target = (
            f"{base.function.dotted}.{name}"
            if base.function is not None and base.function.dotted
            else f"{self.dotted(node.args[0])}.{name}"
        )
        fake = ast.Attribute(value=node.args[0], attr=name, ctx=ast.Store())
        ast.copy_location(fake, node)
        self.assign(fake, value)
        if imported or value.function is not None:
            self.patched[target] = value

    def assign(self, target: ast.expr, value: Flow, source: ast.expr | None = None) -> None:
        """Give a value to a target; the statements' half does."""

    def compared(self, node: ast.AST, left: Flow, right: Flow) -> None:
        """Note a comparison; the statements' half does."""

    def parse_json(self, text: str) -> Flow:
        """Return the value of a JSON text; the expressions' half does."""
        raise NotImplementedError

    def _evaluate(self, name: str, first: Flow) -> Flow:
        text = first.text
        if text is None:
            self.records.opaque.add(self.current)
            return f.opaque((first,), self.current) if f.SHIPPED not in first.kinds else UNKNOWN
        if name == "exec":
            self.run_code(text, fresh=False)
            return EMPTY
        try:
            return self.value(ast.parse(text.strip(), mode="eval").body)
        except (SyntaxError, ValueError):
            return UNKNOWN

    def _print(self, node: ast.Call, args: list[Flow], keywords: dict[str, Flow]) -> None:
        parts: list[str | Flow] = []
        separator = keywords["sep"].text if "sep" in keywords and keywords["sep"].text is not None else " "
        for index, arg in enumerate(args):
            if index:
                parts.append(separator)
            parts.append(self._piece(arg))
        text = f.text_flow(parts)
        target = keywords.get("file")
        if target is not None and (
            target.path is not None or (target.function is None and not target.kinds <= {f.COMPUTED})
        ):
            self.write_file(target, text)
            return
        self.emit("print", node, text.parts or ())

    def _piece(self, arg: Flow) -> str | Flow:
        if arg.parts is not None:
            return replace(arg)
        if arg.known and not arg.kinds:
            return str(arg.const)
        if not arg.kinds and not arg.fields and not arg.items:
            return replace(UNKNOWN, names=arg.names)
        return arg

    def _show(self, node: ast.Call, args: list[Flow]) -> None:
        for arg in args:
            piece = self._piece(arg)
            parts = piece.parts if isinstance(piece, Flow) and piece.parts is not None else (piece,)
            self.emit("display", node, parts)

    def _say(self, node: ast.Call, args: list[Flow], keywords: dict[str, Flow]) -> None:
        if len(args) > 1 and args[0].text is not None and "%" in args[0].text:
            text = self.percent_format(args[0], replace(f.merged(args[1:]), items=tuple(args[1:])))
            self.emit("log", node, text.parts or ())
            return
        self._print(node, args, {})

    def percent_format(self, left: Flow, right: Flow) -> Flow:
        """Return a formatted text; the expressions' half does."""
        raise NotImplementedError

    def brace_format(self, template: str, args: list[Flow], keywords: dict[str, Flow]) -> Flow:
        """Return a formatted text; the expressions' half does."""
        raise NotImplementedError

    def _open(self, args: list[Flow], keywords: dict[str, Flow]) -> Flow:
        target = args[0] if args else keywords.get("file", EMPTY)
        path = target.path if target.path is not None else target.text
        mode = args[1].text if len(args) > 1 else keywords["mode"].text if "mode" in keywords else "r"
        release = target.kinds & {f.RELEASE, f.SHIPPED}
        if mode and "w" in mode and path is not None and not release:
            self.files[self.path_key(path)] = EMPTY
        return Flow(frozenset(release), path=path if path is not None else "?", marks=frozenset({"handle"}))

    def _path(self, args: list[Flow]) -> Flow:
        release = frozenset().union(*(arg.kinds & {f.RELEASE, f.SHIPPED} for arg in args)) if args else frozenset()
        texts = [arg.path if arg.path is not None else arg.text for arg in args]
        path = "/".join(text.rstrip("/") for text in texts if text) if all(text is not None for text in texts) else "?"
        if not release and len(args) == 1 and args[0].path is None and args[0].text is None:
            return Flow(args[0].kinds & {f.RELEASE}, path="?")
        return Flow(frozenset(release), path=path, const=path if path != "?" else f.NOTHING)

    def _run_program(self, name: str, args: list[Flow], keywords: dict[str, Flow]) -> Flow:
        first = args[0] if args else keywords.get("args", EMPTY)
        texts: list[str | None] = (
            [first.text] if first.text is not None else [i.text for i in first.items] if first.items else []
        )
        if not texts and first.parts is not None:
            texts = ["".join(part if isinstance(part, str) else "x" for part in first.parts)]
        caught = (
            name.endswith(("check_output", "getoutput", "getstatusoutput", "popen"))
            or "capture_output" in keywords
            or "stdout" in keywords
        )
        if not texts:
            return self._program()
        if len(texts) == 1 and texts[0] is not None:
            command = texts[0]
        else:
            import shlex

            command = " ".join(shlex.quote(text) if text is not None else "x" for text in texts)
            if texts[0] is None:
                command = "python " + command.split(" ", 1)[-1]
        return self.shell(command, python_names=False, silent=caught)

    def _ipython(self, method: str, args: list[Flow]) -> Flow:
        texts = [arg.text or "" for arg in args]
        if method in ("system", "getoutput", "system_raw", "system_piped"):
            return self.shell(texts[0] if texts else "", python_names=True, silent=method == "getoutput")
        if method == "run_line_magic" and texts:
            name, line = texts[0], texts[1] if len(texts) > 1 else ""
            if name in ("time", "timeit", "prun", "memit"):
                self.run_code(line, fresh=False)
            elif name in ("run", "load"):
                parts = line.split()
                path = next((part for part in parts if not part.startswith("-")), "")
                if self.path_key(path) in self.code:
                    self.run_code(self.code[self.path_key(path)], fresh=False)
                else:
                    self._program()
            elif name in ("sx", "system", "bash", "sh"):
                return self.shell(line, python_names=True, silent=name == "sx")
            return EMPTY
        if method == "run_cell" and texts:
            self.run_code(texts[0], fresh=False)
            return EMPTY
        if method == "run_cell_magic" and len(texts) > 2 and texts[0] in ("bash", "sh"):
            return self.shell(texts[2], python_names=False)
        return EMPTY

    def _attempt(self, name: str, node: ast.Call, args: list[Flow], keywords: dict[str, Flow]) -> Flow:
        if name == "submit":
            value = args[0] if args else keywords.get("value", EMPTY)
            self.records.handed.append(Handed(self.current, node.lineno, value))
            return f.text_flow(["handed in ", value, "; the attempt ends after this cell"])
        if name == "read_paper":
            return Flow(frozenset({f.PAPER}), cells=frozenset({self.current}))
        if name == "check_anchor":
            self.records.anchors.append((self.current, args[0].text if args else None))
            # The answer repeats the value it was given.
            given = [*args[1:], *(value for key, value in keywords.items() if key == "value")]
            return f.merged([Flow(marks=frozenset({"anchor"})), *given]) if given else UNKNOWN
        if name.startswith("release"):
            return Flow(frozenset({f.RELEASE}), path="?", names=("release",))
        return UNKNOWN

    # Methods

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
            marks = {"random-data"} if _is_array(name, args, keywords) else set()
            return replace(both, kinds=both.kinds | {f.RANDOM}, marks=both.marks | marks)
        if name in ("groupby", "query", "sort_values", "rolling", "resample"):
            return replace(base, const=f.NOTHING)
        if name in ("sample", "head", "take", "select", "limit"):
            return replace(base, marks=base.marks | self._call_marks(name, args, keywords), const=f.NOTHING)
        if name in _SAYING and (args or keywords) and f.RANDOM not in base.kinds:
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

    def _join(self, separator: str, items: Flow) -> Flow:
        if items.items is None:
            return replace(items, const=f.NOTHING, parts=None, items=None)
        parts: list[str | Flow] = []
        for index, item in enumerate(items.items):
            if index:
                parts.append(separator)
            parts.append(item)
        return f.text_flow(parts)

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

    # What was not seen

    def _unseen(
        self,
        node: ast.Call,
        name: str,
        values: list[Flow],
        args: list[Flow],
        keywords: dict[str, Flow],
        *,
        noted: bool = False,
    ) -> Flow:
        if not noted:
            self._note_call(name, node, args, keywords)
        if name.rsplit(".", 1)[-1] == "update_display":
            self._show(node, args[:1])
            return EMPTY
        if name not in known.QUIET:
            self.records.opaque.add(self.current)
        for value in (*args, *keywords.values()):
            # A function of the notebook that is handed to a library is called by it; what it prints is seen then.
            if value.function is not None and value.function.node is not None and len(self.running) < 3:
                if not isinstance(value.function.node, ast.ClassDef):
                    values = [*values, self.run_function(value.function, [UNKNOWN], {}, node)]
        result = f.opaque(values, self.current)
        marks = set(result.marks) | self._call_marks(name, args, keywords)
        fed = [value for value in args if value.kinds & {f.RANDOM} and not value.kinds & {f.COMPUTED, f.SHIPPED}]
        if any("random-data" in value.marks for value in fed):
            marks.add("fed-random")
        if any(word in _DATA_WORDS for word in tokens(name)) and "random-data" not in marks:
            marks.add("data")
        return replace(result, marks=frozenset(marks), names=tuple(part for part in name.split(".") if part)[-3:])

    def _note_call(self, name: str, node: ast.Call, args: list[Flow], keywords: dict[str, Flow]) -> None:
        if len(self.records.calls) < 20000:
            self.records.calls.append(Call(self.current, getattr(node, "lineno", 0), name, tuple(args), keywords))

    def _call_marks(self, name: str, args: list[Flow], keywords: dict[str, Flow]) -> frozenset[str]:
        marks: set[str] = set()
        last = name.rsplit(".", 1)[-1]
        for key, value in keywords.items():
            low = key.lower()
            if low in _SPLIT_KEYS and value.text is not None:
                word = value.text.split("[")[0].lower()
                marks.add(f"split:{SPLITS.get(word, word)}")
                if "[:" in value.text and (count := value.text.split("[:")[1].rstrip("]%")).isdigit():
                    marks.add(f"first:{count}" if not value.text.endswith("%]") else "part")
            elif low in ("train", "is_train", "training") and isinstance(value.const, bool):
                marks.add("split:train" if value.const else "split:test")
            elif low == "average" and value.text is not None:
                marks.add(f"average:{value.text}")
            elif low in ("k", "top_k", "topk", "at") and isinstance(value.const, int):
                marks.add(f"k:{value.const}")
            elif low in _LIMIT_KEYS and isinstance(value.const, int) and not isinstance(value.const, bool):
                marks.add(f"limit:{value.const}")
            elif low in ("frac", "fraction") and isinstance(value.const, float) and 0 < value.const < 1:
                marks.add("part")
        for value in args:
            if (
                value.text is not None
                and value.text.lower() in SPLITS
                and last not in ("get", "print", "split", "replace")
            ):
                marks.add(f"split:{SPLITS[value.text.lower()]}")
            if last in _CUTTING:
                if isinstance(value.const, int) and not isinstance(value.const, bool) and value.const > 0:
                    marks.add(f"first:{value.const}")
                elif isinstance(value.const, range):
                    marks.add(f"first:{len(value.const)}")
        return frozenset(marks)

    def _name_of(self, node: ast.AST) -> tuple[str, ...]:
        if isinstance(node, ast.Name):
            return (node.id,)
        return (node.attr,) if isinstance(node, ast.Attribute) else ()


def _digits_of(value: Flow) -> Flow:
    if value.text is not None:
        return Flow(frozenset({f.LITERAL}), f.numbers_in(value.text), const=f.NOTHING)
    return replace(value, parts=None)


def _is_array(name: str, args: list[Flow], keywords: dict[str, Flow]) -> bool:
    """Tell whether a draw gives many numbers: data, not one noise term."""
    if name.rsplit(".", 1)[-1].startswith(("make_", "FakeData", "rand_like", "randn_like")):
        return True
    sizes = [value.const for value in args if isinstance(value.const, int) and not isinstance(value.const, bool)]
    size = keywords.get("size")
    if size is not None:
        sizes += [size.const] if isinstance(size.const, int) else [item.const for item in size.items or ()]
        if size.items is None and not isinstance(size.const, int):
            return True
    for value in args:
        sizes += [item.const for item in value.items or () if isinstance(item.const, int)]
        if (
            not value.known
            and not value.items
            and name.rsplit(".", 1)[-1] in ("randn", "rand", "random", "standard_normal")
        ):
            return True
    total = 1
    for number in sizes:
        total *= abs(number) if isinstance(number, int) else 1
    return total >= 16
