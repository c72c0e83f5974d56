"""Where a value can come from: an abstract value of the static analysis."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from reclaim_nb.grading.vocabulary import SPLITS, tokens
from reclaim_nb.grading.words import words

LITERAL = "literal"
"""Written down in the source."""
RANDOM = "random"
"""Drawn from a random generator."""
COUNTER = "counter"
"""Counted by a loop."""
COMPUTED = "computed"
"""The result of code whose work is not just moving values about, or of code that was not seen."""
SHIPPED = "shipped"
"""Read from a file of the authors."""
PAPER = "paper"
"""Read from the paper's text."""
RELEASE = "release"
"""A path into the release folder; not a number."""
FETCHED = "fetched"
"""Downloaded."""

NOTHING: Any = object()
"""Stands for "no constant is known"."""

_NUMBER = re.compile(r"[+-]?(?:\d[\d,_]*)?(?:\.\d+|(?<=\d)\.?)(?:[eE][+-]?\d+)?")


@dataclass(frozen=True, eq=False)
class Function:
    """A function, lambda or class of the notebook, or something that stands for one."""

    name: str
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef | None = None
    scopes: tuple[dict[str, Flow], ...] = ()
    owner: Flow | None = None
    """The instance a method is bound to."""
    dotted: str = ""
    """For what was imported: its full name."""
    cell: str = ""

    def bound(self, owner: Flow | None) -> Function:
        """Return the same function as a method of an instance."""
        return Function(self.name, self.node, self.scopes, owner, self.dotted, self.cell)


@dataclass(frozen=True, eq=False)
class Flow:
    """One abstract value.

    Attributes:
        kinds: where it can come from.
        literals: numbers from the source that feed it without work in between.
        marks: what its making said: ``split:test``, ``k:5``, ``max``, ``first:500``, ``percent``.
        const: its value, where it is a known number or text.
        parts: for texts: pieces that are known and values between them.
        fields: values by key, for dicts, objects and tables.
        items: values by position.
        function: what is called when it is called.
        path: the file it names or holds open.
        files: files it was read from.
        names: names in the expression it stands for.
        cells: cells it came through.
    """

    kinds: frozenset[str] = frozenset()
    literals: tuple[Decimal, ...] = ()
    marks: frozenset[str] = frozenset()
    const: Any = NOTHING
    parts: tuple[str | Flow, ...] | None = None
    fields: dict[str, Flow] | None = None
    items: tuple[Flow, ...] | None = None
    function: Function | None = None
    path: str | None = None
    files: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()
    cells: frozenset[str] = frozenset()

    @property
    def known(self) -> bool:
        """Whether its value is known."""
        return self.const is not NOTHING

    @property
    def text(self) -> str | None:
        """Its value as a known text."""
        return self.const if isinstance(self.const, str) else None

    def with_marks(self, *marks: str) -> Flow:
        """Return the same value with more said about it."""
        return replace(self, marks=self.marks | set(marks)) if marks else self

    def also(self, *kinds: str) -> Flow:
        """Return the same value, which can also come from elsewhere; its constant is then no longer known."""
        return replace(self, kinds=self.kinds | set(kinds), const=NOTHING)


def replace(flow: Flow, **changes: Any) -> Flow:
    """Return a flow with some attributes changed; many times quicker than the general function of that name."""
    new = object.__new__(Flow)
    new.__dict__.update(flow.__dict__)
    new.__dict__.update(changes)
    return new


EMPTY = Flow()
UNKNOWN = Flow(frozenset({COMPUTED}))
LITERALS_KEPT = 40


def _few(literals: Iterable[Decimal]) -> tuple[Decimal, ...]:
    return tuple(dict.fromkeys(literals))[:LITERALS_KEPT]


def merged(flows: Iterable[Flow], *, literals: bool = True) -> Flow:
    """Return a value that can come from wherever one of several values comes from."""
    flows = [flow for flow in flows if flow is not EMPTY]
    if not flows:
        return EMPTY
    first = flows[0]
    if len(flows) == 1:
        kinds, marks, files, cells = first.kinds, first.marks, first.files, first.cells
    else:
        kinds = frozenset().union(*[flow.kinds for flow in flows])
        marks = frozenset().union(*[flow.marks for flow in flows])
        files = frozenset().union(*[flow.files for flow in flows])
        cells = frozenset().union(*[flow.cells for flow in flows])
    return replace(
        EMPTY,
        kinds=kinds,
        literals=_few(number for flow in flows for number in flow.literals) if literals else (),
        marks=marks - {SIZE},
        files=files,
        cells=cells,
        names=tuple(dict.fromkeys([name for flow in flows for name in flow.names]))[:12],
    )


def joined(first: Flow, second: Flow) -> Flow:
    """Return what a name holds after two branches; what is known of both stays known."""
    if first is second:
        return first
    both = merged((first, second))
    same = first.known and second.known and type(first.const) is type(second.const) and first.const == second.const
    fields = None
    if first.fields is not None or second.fields is not None:
        fields = dict(first.fields or {})
        for key, value in (second.fields or {}).items():
            fields[key] = joined(fields[key], value) if key in fields else value
    return replace(
        both,
        const=first.const if same else NOTHING,
        fields=fields,
        items=second.items if second.items is not None else first.items,
        parts=second.parts if second.parts is not None else first.parts,
        function=second.function or first.function,
        path=second.path or first.path,
    )


def opaque(flows: Iterable[Flow], cell: str = "") -> Flow:
    """Return the result of unseen work on values: computed; what was said about them stays said."""
    both = merged(flows, literals=False)
    cells = both.cells | {cell} if cell else both.cells
    return Flow(kinds=frozenset({COMPUTED}), marks=both.marks, cells=cells)


RANDOM_DATA = "random-data"
"""Mark of many random numbers: data, not one draw."""
SIZE = "size"
"""Mark of a number that says how many there are of something; lost in whatever is made of it."""
MANY = 16
"""From so many draws on they are data; a few may be seeds."""
FED_RANDOM = "fed-random"
"""Mark of work that was done on such data in place of data from outside."""


def is_made_up(flow: Flow) -> bool:
    """Tell whether a value is data drawn here, or work on nothing but such data."""
    if RANDOM_DATA not in flow.marks or flow.kinds & {SHIPPED, FETCHED, PAPER}:
        return False
    return COMPUTED not in flow.kinds or FED_RANDOM in flow.marks


def counted(value: Flow, test: Flow) -> Flow:
    """Return a count of literals that grows only where a test holds: it measures what the test does."""
    if not value.kinds <= {LITERAL, RANDOM}:
        return value
    if COMPUTED in test.kinds:
        return replace(value.also(COMPUTED), marks=value.marks | test.marks, cells=value.cells | test.cells)
    if RANDOM in test.kinds:
        return replace(value.also(RANDOM), marks=value.marks | test.marks | {RANDOM_DATA})
    return value


def is_fed(flows: Iterable[Flow], *, product: bool = False) -> bool:
    """Tell whether drawn data stands where data is due among the arguments of one piece of work.

    Args:
        flows: the arguments.
        product: it is an operation on equals, such as a product of matrices, where drawn numbers may as well be the
            first weights; of a call, they are what it is called on.
    """
    flows = list(flows)
    drawn = [flow for flow in flows if is_made_up(flow)]
    outside = [flow for flow in flows if not flow.kinds <= {LITERAL, RANDOM, COUNTER} and not is_made_up(flow)]
    if not drawn or any(_is_data(flow) for flow in outside):
        return False
    return not product or not outside or any(_is_data(flow) for flow in drawn)


def _is_data(flow: Flow) -> bool:
    """Tell whether a value is called data, or was loaded as such."""
    return bool(flow.marks & {"data", "loader"}) or any(word in _DATA for name in flow.names for word in tokens(name))


_DATA = words(
    """
    x xs xb xx data dataset datasets loader dataloader input inputs image images batch batches sample samples feature
    features text texts tokens test val train
    """
)


def worked(flows: Iterable[Flow], cell: str = "") -> Flow:
    """Return the result of an operation on values; one on drawn data and nothing from outside measures nothing."""
    flows = list(flows)
    result = opaque(flows, cell)
    return result.with_marks(FED_RANDOM) if is_fed(flows, product=True) else result


def constant(value: Any, cell: str = "") -> Flow:
    """Return the flow of a value written down in the source."""
    cells = frozenset({cell}) if cell else frozenset()
    if isinstance(value, bool) or value is None:
        return Flow(const=value, cells=cells)
    if isinstance(value, int | float):
        number = _decimal(repr(value))
        return Flow(frozenset({LITERAL}), (number,) if number is not None else (), const=value, cells=cells)
    if isinstance(value, str):
        return Flow(frozenset({LITERAL}), const=value, parts=(value,), cells=cells)
    if isinstance(value, bytes):
        return Flow(frozenset({LITERAL}), const=value, cells=cells)
    return Flow(frozenset({LITERAL}), cells=cells)


def from_json(value: Any, cell: str = "") -> Flow:
    """Return the flow of a JSON value written down in the source."""
    if isinstance(value, dict):
        fields = {str(key): from_json(item, cell) for key, item in value.items()}
        return replace(merged(fields.values()), fields=fields)
    if isinstance(value, list | tuple):
        items = tuple(from_json(item, cell) for item in value[:200])
        return replace(merged(items), items=items)
    return constant(value, cell)


def numbers_in(text: str) -> tuple[Decimal, ...]:
    """Return the numbers written in a text."""
    found = (
        _decimal(match[0].replace(",", "").replace("_", "")) for match in _NUMBER.finditer(text[:20000]) if match[0]
    )
    return _few(number for number in found if number is not None)


def text_flow(parts: Iterable[str | Flow]) -> Flow:
    """Return a text made of known pieces and values."""
    flat: list[str | Flow] = []
    for part in parts:
        inner = part.parts if isinstance(part, Flow) and part.parts is not None else (part,)
        for piece in inner:
            if isinstance(piece, str) and flat and isinstance(flat[-1], str):
                flat[-1] += piece
            elif piece != "":
                flat.append(piece)
    flat = flat[:200]
    values = [part for part in flat if isinstance(part, Flow)]
    known = all(isinstance(part, str) for part in flat)
    text = "".join(part for part in flat if isinstance(part, str))
    both = merged(values)
    kinds = both.kinds or frozenset({LITERAL})
    return replace(both, kinds=kinds, const=text if known else NOTHING, parts=tuple(flat))


def element(flow: Flow) -> Flow:
    """Return any one element of a value that is iterated over or indexed by something unknown."""
    if flow.items is not None:
        result = EMPTY
        for item in flow.items:
            result = item if result is EMPTY else joined(result, item)
        return replace(result, marks=result.marks | flow.marks) if result is not EMPTY else replace(flow, items=None)
    if flow.fields is not None:
        return merged(flow.fields.values())
    return replace(flow, const=NOTHING, parts=None, function=None)


@lru_cache(maxsize=8192)
def split_marks(name: str) -> frozenset[str]:
    """Return the marks of a name that speaks of a split, such as ``X_test``."""
    return frozenset(f"name:{SPLITS[word]}" for word in tokens(name) if word in SPLITS)


def _decimal(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
