"""The extras of this distribution, as its own metadata lists them, and which of them a missing package comes with."""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution, requires

DISTRIBUTION = "reclaim-nb"

PURPOSES = {
    "agents": "agents and graders that ask a model, and external commands",
    "analysis": "reports, tables, figures and frames of attempts",
    "calibration": "agreement of graders and raters",
    "dask": "batches on a Dask cluster",
    "fetch": "releases from the hub, papers in HTML or PDF",
    "lab": "the panel in JupyterLab",
    "rebuild": "a new suite from a new conference",
    "widgets": "widgets over many attempts in a notebook",
}
"""What each extra is for that somebody who uses the package may want; what the demo's papers need is their own."""

_IMPORTED_AS = {
    "openreview": "openreview-py",
    "pydantic_ai": "pydantic-ai-slim",
    "sklearn": "scikit-learn",
}
"""Packages that are imported by another name than they are installed by; of one that is missing nothing else tells."""


@lru_cache(maxsize=1)
def requirements() -> dict[str, frozenset[str]]:
    """Return the distributions that each extra needs, by the extra's name; those always needed under the empty name.

    Without metadata, as where the sources are only on the path, there are none.
    """
    found: dict[str, set[str]] = {"": set()}
    try:
        lines = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        lines = []
    for line in lines:
        name = re.match(r"[\w.-]+", line)
        extra = re.search(r"""\bextra\s*==\s*['"]([\w.-]+)['"]""", line)
        if name is not None:
            found.setdefault(extra[1] if extra else "", set()).add(_normalised(name[0]))
    return {extra: frozenset(names) for extra, names in found.items()}


def missing(extra: str = "") -> list[str]:
    """Return what is not installed of the distributions an extra needs; without a name, of those always needed."""
    return sorted(name for name in requirements().get(extra, ()) if not _installed(name))


def how_to_install(*extras: str) -> str:
    """Return the command that installs extras."""
    return f"pip install '{DISTRIBUTION}[{','.join(extras)}]'"


def advice(problem: ImportError) -> str | None:
    """Return what to install where an import failed for a package that one of the extras brings; None for any other."""
    whole = problem.name if isinstance(problem, ModuleNotFoundError) else None
    name = (whole or "").partition(".")[0]
    if name != whole and sys.modules.get(name) is not None:  # a part is missing of a package that is there
        return None
    wanted = _normalised(_IMPORTED_AS.get(name, name))
    for extra in PURPOSES:
        if wanted in requirements().get(extra, ()):
            shown = name.replace("_", "-")
            return f"this needs {shown}, which is not installed: {how_to_install(extra)}"
    return None


def _installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
