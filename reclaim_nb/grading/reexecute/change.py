"""The cell that changes the inputs of a measurement: arrays, tables, tensors and lists of numbers, in place."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# What runs in the kernel has no annotations, because a paper's own image may have an old Python.

from __future__ import annotations

import json
from collections.abc import Sequence
from inspect import getsource
from typing import Any

MARK = "reclaim-changed: "
"""Begins the line on which the cell says what it changed."""


def change_cell(names: Sequence[str], seed: int) -> str:
    """Return the source of a cell that changes the data that some names hold, and prints which it changed."""
    body = getsource(_change)
    return f"{body}\nprint({MARK!r} + _change(globals(), {list(names)!r}, {seed}))\ndel _change\n"


def _change(space, names, seed):
    import json
    import random
    import sys

    chance = random.Random(seed)
    seen = set()
    changed = []

    def numpy_array(array):
        numpy = sys.modules["numpy"]
        draw = numpy.random.default_rng(seed)
        if array.size < 2 or array.dtype.kind not in "fiub":
            return None
        if array.dtype.kind == "f":
            spread = max(float(numpy.nanstd(array)), abs(float(numpy.nanmean(array))) / 2) or 1.0
            return array[draw.permutation(len(array))] + draw.normal(0, spread, array.shape).astype(array.dtype)
        return draw.choice(numpy.unique(array), array.shape)

    def fresh(value, depth):
        """Return another value of the same kind, or None; what can be changed in place is."""
        numpy, pandas, torch = (sys.modules.get(name) for name in ("numpy", "pandas", "torch"))
        if value is None or id(value) in seen or depth > 3:
            return None
        seen.add(id(value))
        if numpy is not None and isinstance(value, numpy.ndarray):
            new = numpy_array(value)
            if new is not None and value.flags.writeable:
                value[...] = new
                return value
            return new
        if pandas is not None and isinstance(value, (pandas.DataFrame, pandas.Series)):
            columns = [value] if isinstance(value, pandas.Series) else [value[name] for name in value.columns]
            made = [numpy_array(column.to_numpy()) for column in columns]
            if all(new is None for new in made):
                return None
            parts = [
                column if made[place] is None else pandas.Series(made[place], column.index)
                for place, column in enumerate(columns)
            ]
            if isinstance(value, pandas.Series):
                return parts[0].rename(value.name)
            table = pandas.concat(parts, axis=1)
            table.columns = value.columns
            return table
        if torch is not None and isinstance(value, torch.Tensor):
            if value.numel() < 2:
                return None
            with torch.no_grad():
                generator = torch.Generator().manual_seed(seed)
                if value.is_floating_point():
                    noise = torch.randn(value.shape, generator=generator).to(value.device, value.dtype)
                    value.add_(noise * (value.std() + 1e-3))
                else:
                    pool = value.unique()
                    place = torch.randint(len(pool), value.shape, generator=generator).to(value.device)
                    value.copy_(pool[place])
            return value
        if isinstance(value, (list, tuple)) and len(value) > 1:
            if all(isinstance(item, (int, float)) for item in value):
                if any(isinstance(item, float) for item in value):
                    top = max(abs(item) for item in value) or 1.0
                    new = [item + chance.gauss(0, top / 2) for item in value]
                else:
                    new = [chance.choice(sorted(set(value))) for _ in value]
                if isinstance(value, list):
                    value[:] = new
                    return value
                return tuple(new)
            hits = [fresh(item, depth + 1) for item in value[:200]]
            return value if any(hit is not None for hit in hits) else None
        if isinstance(value, dict):
            hits = []
            for key in list(value)[:200]:
                new = fresh(value[key], depth + 1)
                if new is not None:
                    value[key] = new
                    hits.append(key)
            return value if hits else None
        if isinstance(value, type) or (callable(value) and not hasattr(value, "__dict__")):
            return None
        if torch is not None and isinstance(value, torch.nn.Module):
            hits = [fresh(parameter.data, depth + 1) for parameter in value.parameters()]
            return value if any(hit is not None for hit in hits) else None
        inner = getattr(value, "__dict__", None)
        if isinstance(inner, dict) and type(value).__name__ not in ("module", "function", "builtin_function_or_method"):
            return value if fresh(inner, depth + 1) is not None else None
        return None

    for name in names:
        if name.startswith("_") or name not in space or name in ("In", "Out", "attempt", "get_ipython"):
            continue
        try:
            new = fresh(space[name], 0)
        except Exception:  # noqa: BLE001 - whatever an object does, the others can still be changed
            continue
        if new is not None:
            space[name] = new
            changed.append(name)
    return json.dumps(changed)


def changed_names(text: str) -> tuple[str, ...]:
    """Return what a change cell said it changed; empty where it said nothing."""
    for line in text.splitlines():
        if line.startswith(MARK):
            try:
                found: Any = json.loads(line.removeprefix(MARK))
            except ValueError:
                return ()
            return tuple(map(str, found)) if isinstance(found, list) else ()
    return ()
