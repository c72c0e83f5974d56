"""The published benchmark's words and ours, both ways, and the figures that its paper prints.

Source: arXiv 2609.28850 and the README of its release (repository ``mithils3/reclaim``, data under CC BY 4.0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reclaim_nb.attempts.reasons import EndReason
from reclaim_nb.grading.cause import Code, Outcome

Side = Literal["both", "in", "out"]


@dataclass(frozen=True, slots=True)
class Word:
    """One word of the release and ours for it.

    Attributes:
        theirs: as the release spells it.
        ours: outcome, cause or end reason; None: nothing of ours says it.
        side: ``both`` ways; ``in`` only when reading, ``out`` only when writing the release's words.
        why: where the two do not mean quite the same.
    """

    theirs: str
    ours: str | None
    side: Side = "both"
    why: str = ""


VERDICTS: tuple[Word, ...] = (
    Word("reproduced", "reproduced"),
    Word(
        "partial",
        "near_miss",
        why="theirs: a faithful pipeline that fell short, by a score of 6 or 7; ours: by distance",
    ),
    Word("not_reproduced", "not_reproduced"),
    Word("disqualified", "disqualified"),
    Word("unverifiable", "unverifiable"),
    Word("unverifiable", "blocked", "out", "the release has no word for an honest wall"),
    Word("unverifiable", "needs_human", "out", "the release has no word for an open question"),
    Word("unverifiable", "ungraded", "out", "the release holds graded runs only"),
)

MODES: tuple[Word, ...] = (
    Word("reproduced-clean", None),
    Word("near-miss-partial", "C14"),
    Word("reimplement-without-validating", "C01"),
    Word("environment-fights", "C04"),
    Word("artifact-provenance-mismatch", "C10", why="theirs names split and scale too, which are C08 and C11 here"),
    Word("scope-substitution", "C09"),
    Word("stale-artifact-reliance", "C13"),
    Word("procrastination/wall-kill", "C03", why="theirs: the pinned pipeline never runs"),
    Word("killed-before-the-number", "C07"),
    Word("other", None, "in", "the raw label says more, see SLUGS"),
    Word("procrastination/wall-kill", "C02", "out", "most of the allocation unspent"),
    Word("other", "C05", "out"),
    Word("killed-before-the-number", "C06", "out"),
    Word("artifact-provenance-mismatch", "C08", "out"),
    Word("scope-substitution", "C11", "out"),
    Word("other", "C12", "out", "their integrity faults are flags, no mode"),
    Word("other", "H01", "out"),
    Word("other", "G01", "out"),
)

SLUGS: tuple[Word, ...] = (
    Word("verified-non-attempt", "C03", "in"),
    Word("context-or-round-exhaustion", "C07", "in"),
    Word("tool-call-format-collapse", "C03", "in"),
    Word("scope-collapse", "C09", "in"),
    Word("under-determined-target", "C09", "in", "the claim was read in another way than it is pinned"),
    Word("unavailability-concluded-from-prose", "C05", "in"),
    Word("fabrication", "C12", "in"),
    Word("fabrication-or-provenance-break", "C12", "in"),
    Word("protocol-drift-direction-flip", "C08", "in"),
    Word("eval-protocol-shopping", "C08", "in"),
    Word("report-serialization-fault", None, "in", "the report's form, not the experiment"),
    Word("report-serialization-collapse", "C07", "in"),
    Word("reproduced-clean", None, "in"),
)
"""Raw labels of the runs whose mode is ``other``, spelt with ``-``; the mode itself stays beside our cause."""

FLAGS: tuple[Word, ...] = (
    Word("other_provenance_break", "C10"),
    Word("wrong_split_scale_dataset", "C08"),
    Word("self_scored_or_fabricated", "C12"),
    Word("hardcoded_constant", "C12"),
    Word("stale_artifact", "C13"),
    Word("echoed_prose_number", "C13"),
    Word("cherry_picked_metric", "C08"),
)
"""Kinds of flags; one of severity ``med`` or ``high`` is a contributing cause."""

SEVERITIES = ("low", "med", "high")

EXITS: tuple[Word, ...] = (
    Word("Finished", "submitted"),
    Word("Budget exhausted", "budget_exhausted"),
    Word("Context limit", "token_limit"),
    Word("Finished", "agent_stopped", "out"),
    Word("Finished", "agent_error", "out"),
    Word("Finished", "kernel_died", "out"),
    Word("Budget exhausted", "wall_clock", "out"),
    Word("Context limit", "turn_limit", "out"),
    Word("Context limit", "cost_limit", "out"),
)

PAPERS_OF_TIER = {"run": 34, "retrain": 33, "reimplement": 33}
"""The hundred papers by tier; one of them (a retrain paper) has no graded run at all."""

AGENTS = {"dsv4": "DeepSeek-V4", "qwen3": "Qwen3.6-27B", "minimax": "MiniMax-M2.7", "muse": "Muse Spark 1.2"}


@dataclass(frozen=True, slots=True)
class Printed:
    """One figure in the paper's text.

    Attributes:
        what: in words.
        text: as printed.
        statistic: name of the figure in :func:`reclaim_nb.analysis.reference.recomputed`.
        why: the known reason why records give another figure, empty where they agree.
    """

    what: str
    text: str
    statistic: str
    why: str = ""


PRINTED: tuple[Printed, ...] = (
    Printed("best agent, run tier", "41 %", "best_run"),
    Printed("best agent, retrain tier", "27 %", "best_retrain"),
    Printed("best agent, reimplement tier", "15 %", "best_reimplement"),
    Printed(
        "mean share of the budget that failed runs used",
        "29 %",
        "failed_share_mean",
        "over all runs, failed or not, the records' mean is 29.7 %",
    ),
    Printed("runs outside the tolerance (near misses)", "76", "near_misses"),
    Printed(
        "runs that wrote the method without checking a part",
        "63",
        "unchecked_builds",
        "the text's counts add up to all runs only if the 25 runs of mode 'other' are spread over the named modes",
    ),
)

BEST_OF_TIER = {"run": 0.41, "retrain": 0.27, "reimplement": 0.15}
"""Share reproduced by the best agent of each tier, as printed: the reference marks of figures."""


def ours(words: tuple[Word, ...], theirs: str) -> str | None:
    """Return our word for one of the release's, None where there is none."""
    return next((word.ours for word in words if word.theirs == theirs and word.side != "out"), None)


def theirs(words: tuple[Word, ...], ours: str | None) -> str | None:
    """Return the release's word for one of ours, None where there is none."""
    return next((word.theirs for word in words if word.ours == ours and word.side != "in"), None)


def slug(text: str) -> str:
    """Return a raw label in one spelling: the release writes ``_`` and ``-`` alike."""
    return text.replace("_", "-").lower()


def outcome_of(verdict: str) -> Outcome:
    """Return our outcome for a published verdict; one that is not known is ``ungraded``."""
    return ours(VERDICTS, verdict) or "ungraded"  # type: ignore[return-value]


def cause_of(verdict: str, mode: str, mode_slug: str) -> Code | None:
    """Return our primary cause of a published run: that of its mode, of its raw label where the mode is ``other``."""
    if verdict == "reproduced":
        return None
    return ours(SLUGS, slug(mode_slug)) if mode == "other" else ours(MODES, mode)  # type: ignore[return-value]


def reason_of(exit_label: str) -> EndReason | None:
    """Return our end reason for a published exit label."""
    return ours(EXITS, exit_label)  # type: ignore[return-value]
