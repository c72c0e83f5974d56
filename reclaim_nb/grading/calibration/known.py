"""How the rules of this version did on the built-in scenarios: a summary that ships, so that results can show it."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reclaim_nb import __version__
from reclaim_nb.grading.verdict import RULES_VERSION

if TYPE_CHECKING:
    from reclaim_nb.grading.calibration.calibrate import Calibration

SUMMARY = Path(__file__).parent / "builtin.json"
"""Written by ``reclaim calibrate --builtin --write-summary``; ``make calibration`` does it."""


def grader_version() -> str:
    """Return the version of the rules as verdicts name it."""
    return f"{__version__}+{RULES_VERSION}"


def summary(found: Calibration) -> dict[str, Any]:
    """Return what is kept of a calibration."""
    measures = found.measures.to_json()
    kept = ("attempts", "undecided", "precision", "recall", "f1", "alpha_outcome", "alpha_cause")
    return {
        "schema": 1,
        "grader": found.grader,
        "grader_version": grader_version(),
        "as_labelled": sum(not one.differences for one in found.compared),
        **{name: measures[name] for name in kept},
    }


@lru_cache(maxsize=1)
def known() -> dict[str, Any] | None:
    """Return the summary that ships, None where it is of another version of the rules."""
    try:
        held = json.loads(SUMMARY.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return held if isinstance(held, dict) and held.get("grader_version") == grader_version() else None


def known_text() -> str:
    """Return one line for people, to stand beside results."""
    held = known()
    if held is None:
        return f"grader: rules {grader_version()}, not calibrated; `reclaim calibrate --builtin` does it"

    def share(name: str) -> str:
        part = held[name]
        return f"{name} {part['value']:.2f} ({part['low']:.2f} to {part['high']:.2f})" if part["whole"] else f"{name} -"

    return (
        f"grader: rules {held['grader_version']}; {held['as_labelled']} of {held['attempts']} built-in attempts "
        f"as labelled; of reproduced: {share('precision')}, {share('recall')}"
    )
