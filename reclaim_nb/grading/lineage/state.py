"""What the analysis holds while it reads: names, files, notes."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from reclaim_nb.grading.lineage import flow as f
from reclaim_nb.grading.lineage.flow import EMPTY, Flow, Function, replace
from reclaim_nb.grading.lineage.records import Emission, Records
from reclaim_nb.grading.lineage.syntax import parse, plain_python

STEPS = 600_000
"""Nodes read at most; what comes after counts as code that was not seen."""

_BUILTINS = frozenset(dir(__builtins__) if not isinstance(__builtins__, dict) else __builtins__) | {
    "display",
    "get_ipython",
    "exit",
    "quit",
}
WEIGHTS = (".pt", ".pth", ".ckpt", ".safetensors", ".bin", ".onnx", ".h5", ".keras", ".joblib", ".msgpack")
CODE = (".py", ".ipynb", ".sh")


class State:
    """Names, files and notes of one analysis.

    Args:
        shipped: paths of the files the authors shipped, relative to the release folder.
    """

    def __init__(self, shipped: Iterable[str] = ()) -> None:
        self.scopes: list[dict[str, Flow]] = [{}]
        self.records = Records()
        self.current = ""
        self.order = 0
        self.steps = 0
        self.limit = STEPS
        self.loops = 0
        self.counting: frozenset[str] = frozenset()
        self.last_value: Flow = EMPTY
        self.returned: list[Flow] = []
        self.globals_here: set[str] = set()
        self.defaults: dict[int, dict[str, Flow]] = {}
        self.kept: list[ast.AST] = []
        self.patched: dict[str, Flow] = {}
        self.files: dict[str, Flow] = {}
        self.code: dict[str, str] = {}
        self.modules: dict[str, Flow] = {}
        self.shipped = frozenset(shipped)
        self.shipped_names = frozenset(path.rsplit("/", 1)[-1] for path in self.shipped)
        self.builtin_names = _BUILTINS
        self.running: list[ast.AST] = []
        self.ran_program = False
        self.stdin: Flow = EMPTY

    @property
    def names(self) -> dict[str, Flow]:
        """Names of the innermost scope."""
        return self.scopes[-1]

    def replace_names(self, names: dict[str, Flow]) -> None:
        """Put other names in place of those of the innermost scope."""
        if names is not self.scopes[-1]:
            self.scopes[-1].clear()
            self.scopes[-1].update(names)

    def lookup(self, name: str) -> Flow | None:
        """Return what a name holds, None when nothing is known of it."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def bind(self, name: str, value: Flow) -> None:
        """Give a value to a name."""
        scope = self.scopes[0] if name in self.globals_here else self.scopes[-1]
        scope[name] = value

    def emit(self, kind: str, node: ast.AST, parts: Iterable[str | Flow]) -> None:
        """Note something printed or shown."""
        self.records.emit(Emission(self.current, kind, getattr(node, "lineno", 0), tuple(parts)))

    def shown(self, value: Flow) -> str | Flow:
        """Return a value as it is shown by itself."""
        if value.parts is not None and value.known:
            return str(value.const)
        return value

    # Files

    def path_key(self, path: str) -> str:
        """Return the name under which a file is remembered."""
        path = path.strip().strip("'\"")
        while path.startswith("./"):
            path = path[2:]
        return path.removeprefix("/work/")

    def is_shipped(self, path: str) -> bool:
        """Tell whether a path names a file of the authors that the notebook has not written itself."""
        path = self.path_key(path)
        if path.startswith("/release") or path in self.shipped:
            return True
        if any(path.endswith("/" + shipped) for shipped in self.shipped):
            return True
        return "/" not in path and path in self.shipped_names

    def read_file(self, target: Flow) -> Flow:
        """Return the content of a file."""
        path = target.path if target.path is not None else target.text
        if f.RELEASE in target.kinds or f.SHIPPED in target.kinds:
            return Flow(frozenset({f.SHIPPED}), marks=self.path_marks(path or ""), files=frozenset({path or "?"}))
        if path is None or path == "?":
            held = f.opaque((target,))
            return held.with_marks("data")
        key = self.path_key(path)
        if key in self.files:
            content = self.files[key]
            return replace(content, marks=content.marks | self.path_marks(path))
        if self.is_shipped(path) and not (self.ran_program and not path.startswith("/release")):
            return Flow(frozenset({f.SHIPPED}), marks=self.path_marks(path), files=frozenset({key}))
        marks = self.path_marks(path) | ({"data"} if not key.endswith(WEIGHTS) else set())
        return Flow(frozenset({f.COMPUTED}), marks=frozenset(marks), files=frozenset({key}))

    def path_marks(self, path: str) -> frozenset[str]:
        """Return what a file's name says about it."""
        from reclaim_nb.grading.vocabulary import SPLITS, tokens

        name = path.rsplit("/", 1)[-1]
        if name.endswith((*CODE, *WEIGHTS)):
            return frozenset({f"weights:{name}"}) if name.endswith(WEIGHTS) else frozenset()
        return frozenset(f"split:{SPLITS[word]}" for word in tokens(name) if word in SPLITS)

    def write_file(self, target: Flow, content: Flow, *, add: bool = True) -> None:
        """Remember what was written to a file."""
        path = target.path if target.path is not None else target.text
        if path is None:
            return
        key = self.path_key(path)
        held = self.files.get(key)
        self.files[key] = f.joined(held, content) if add and held is not None else content

    def write_text_file(self, path: str, text: str, *, add: bool = False) -> None:
        """Remember a file written from a text that stands in the source."""
        key = self.path_key(path)
        if key.endswith((".py", ".sh")):
            self.code[key] = self.code.get(key, "") + text if add else text
            return
        self.files[key] = self.text_content(text)

    def text_content(self, text: str) -> Flow:
        """Return the content of a text written down in the source, read back."""
        return Flow(
            frozenset({f.LITERAL}), f.numbers_in(text), const=text, parts=(text,), cells=frozenset({self.current})
        )

    def module(self, name: str) -> Flow:
        """Return an imported module; one that the notebook wrote itself is read."""
        path = name.replace(".", "/") + ".py"
        if path in self.code and name not in self.modules:
            self.modules[name] = Flow()
            self.modules[name] = Flow(function=None, fields=self.run_code(self.code[path], fresh=True))
        return self.modules.get(name) or Flow(function=Function(name, dotted=name))

    def run_code(self, source: str, *, fresh: bool) -> dict[str, Flow]:
        """Read other Python, in its own names or in the notebook's, and return its names."""
        tree = parse(plain_python(source))
        if tree is None:
            self.records.opaque.add(self.current)
            return {}
        if any(node is tree for node in self.running) or len(self.running) > 8:
            return {}
        saved = self.scopes, self.loops, self.counting
        if fresh:
            self.scopes, self.loops, self.counting = [{}], 0, frozenset()
        self.running.append(tree)
        self.block(tree.body)
        self.running.pop()
        names = self.scopes[0]
        self.scopes, self.loops, self.counting = saved
        self.kept.append(tree)
        return names

    def block(self, body: list[ast.stmt]) -> None:
        """Read statements; the statements' half does."""
        raise NotImplementedError
