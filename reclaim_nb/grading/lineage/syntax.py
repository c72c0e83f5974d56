"""From the text of a cell to Python's syntax tree: magics and shell lines become calls."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass
from functools import lru_cache

from IPython.core.inputtransformer2 import TransformerManager

_SPECIAL = re.compile(r"^\s*(?:[%!?]|.*=\s*[%!]|.*\?\s*$)", re.MULTILINE)
_CELL_MAGIC = re.compile(r"\s*%%(\w+)[ \t]*([^\n]*)\n?(.*)\Z", re.DOTALL)
_WRAPPERS = frozenset({"time", "timeit", "capture", "prun", "memit", "mprun", "lprun", "matplotlib", "px", "debug"})


@dataclass(frozen=True)
class CellCode:
    """A cell ready to be read.

    Attributes:
        tree: its Python, None where it is none or does not parse.
        magic: name of a cell magic that is no Python wrapper, such as ``bash``.
        line: the rest of the magic's line.
        body: what stands under the magic's line.
    """

    tree: ast.Module | None
    magic: str = ""
    line: str = ""
    body: str = ""


@lru_cache(maxsize=4096)
def read_cell(source: str) -> CellCode:
    """Return what a cell's source says, IPython syntax included."""
    while (match := _CELL_MAGIC.match(source)) is not None:
        name, line, body = match[1], match[2].strip(), match[3]
        if name not in _WRAPPERS:
            if name in ("python", "python3", "pypy"):
                return CellCode(parse(plain_python(body)))
            if name == "script" and re.match(r"(?:\S*/)?python", line):
                return CellCode(parse(plain_python(body)))
            return CellCode(None, name, line, body)
        # The line of %%time and %%timeit may hold set-up code, the others' options.
        source = body
    return CellCode(parse(plain_python(source)))


def plain_python(source: str) -> str:
    """Return Python in which magics and shell lines are calls of ``get_ipython()``."""
    if not _SPECIAL.search(source):
        return source
    try:
        code: str = TransformerManager().transform_cell(source)  # type: ignore[no-untyped-call]
        return code
    except SyntaxError:
        return source


def parse(source: str) -> ast.Module | None:
    """Return the syntax tree of Python, None where it does not parse (such a cell did not run either)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
