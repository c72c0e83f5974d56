"""RECLAIM for Jupyter: can an AI agent reproduce the claim of a machine-learning paper?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reclaim_nb.analysis.frames import load_runs

__version__ = "0.1.0"
__all__ = ["__version__", "load_runs"]


def __getattr__(name: str) -> Any:
    if name == "load_runs":  # brings pandas, which most commands can do without
        try:
            from reclaim_nb.analysis.frames import load_runs
        except ModuleNotFoundError as problem:
            from reclaim_nb.extras import advice

            if (told := advice(problem)) is None:
                raise
            raise ImportError(told, name=problem.name) from problem

        return load_runs
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
