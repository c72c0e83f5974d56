"""Reads calls of built-ins and of imported functions."""

from __future__ import annotations

import ast

from reclaim_nb.grading.lineage import calls as known
from reclaim_nb.grading.lineage import flow as f
from reclaim_nb.grading.lineage.flow import EMPTY, UNKNOWN, Flow, Function, replace
from reclaim_nb.grading.lineage.moving import Moving, is_array
from reclaim_nb.grading.lineage.records import Handed


class Library(Moving):
    """What is known of built-ins and libraries."""

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
        if last in known.SAYING and (
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
            marks = {"random-data"} if is_array(name, args, keywords) else set()
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
