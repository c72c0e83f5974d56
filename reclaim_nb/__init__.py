"""RECLAIM for Jupyter: can an AI agent reproduce the claim of a machine-learning paper?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reclaim_nb.analysis.frames import load_runs

__version__ = "0.1.0"
__all__ = ["__version__", "load_runs"]


def __getattr__(name: str) -> Any:
    if name == "load_runs":  # brings pandas, which most commands can do without
        from reclaim_nb.analysis.frames import load_runs

        return load_runs
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
