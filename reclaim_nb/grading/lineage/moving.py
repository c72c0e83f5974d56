"""What calls have in common: moving values about, showing them, opening files, and what was not seen."""

from __future__ import annotations

import ast

from reclaim_nb.grading.lineage import calls as known
from reclaim_nb.grading.lineage import flow as f
from reclaim_nb.grading.lineage.flow import EMPTY, UNKNOWN, Flow, Function, replace
from reclaim_nb.grading.lineage.records import Call
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


class Moving(Shell):
    """The ground of the calls' half of the analysis."""

    def run_function(self, function: Function, args: list[Flow], keywords: dict[str, Flow], call: ast.Call) -> Flow:
        """Read a function's body with its arguments; the calls' half does."""
        raise NotImplementedError

    def value(self, node: ast.expr | None) -> Flow:
        """Read an expression; the expressions' half does."""
        raise NotImplementedError

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

    def assign(self, target: ast.expr, value: Flow, source: ast.expr | None = None) -> None:
        """Give a value to a target; the statements' half does."""

    def compared(self, node: ast.AST, left: Flow, right: Flow) -> None:
        """Note a comparison; the statements' half does."""

    def parse_json(self, text: str) -> Flow:
        """Return the value of a JSON text; the expressions' half does."""
        raise NotImplementedError

    def percent_format(self, left: Flow, right: Flow) -> Flow:
        """Return a formatted text; the expressions' half does."""
        raise NotImplementedError

    def brace_format(self, template: str, args: list[Flow], keywords: dict[str, Flow]) -> Flow:
        """Return a formatted text; the expressions' half does."""
        raise NotImplementedError

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

    def _piece(self, arg: Flow) -> str | Flow:
        if arg.parts is not None:
            return replace(arg)
        if arg.known and not arg.kinds:
            return str(arg.const)
        if not arg.kinds and not arg.fields and not arg.items:
            return replace(UNKNOWN, names=arg.names)
        return arg

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

    def _join(self, separator: str, items: Flow) -> Flow:
        if items.items is None:
            return replace(items, const=f.NOTHING, parts=None, items=None)
        parts: list[str | Flow] = []
        for index, item in enumerate(items.items):
            if index:
                parts.append(separator)
            parts.append(item)
        return f.text_flow(parts)

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
            handed = value.function
            if handed is None or handed.node is None or isinstance(handed.node, ast.ClassDef) or len(self.running) > 2:
                continue
            values = [*values, self.run_function(handed, [UNKNOWN], {}, node)]
        result = f.opaque(values, self.current)
        marks = set(result.marks) | self._call_marks(name, args, keywords)
        fed = [value for value in args if value.kinds & {f.RANDOM} and not value.kinds & {f.COMPUTED, f.SHIPPED}]
        if any("random-data" in value.marks for value in fed):
            marks.add("fed-random")
        if any(word in _DATA_WORDS for word in tokens(name)) and "random-data" not in marks:
            marks.add("data")
        return replace(result, marks=frozenset(marks), names=tuple(part for part in name.split(".") if part)[-3:])


def _digits_of(value: Flow) -> Flow:
    if value.text is not None:
        return Flow(frozenset({f.LITERAL}), f.numbers_in(value.text), const=f.NOTHING)
    return replace(value, parts=None)


def is_array(name: str, args: list[Flow], keywords: dict[str, Flow]) -> bool:
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
