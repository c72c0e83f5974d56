"""From a finished attempt to its verdict: evidence, facts, numbers, cause; a pure function of the record."""

from reclaim_nb.grading.verdict import (
    Verdict,
    grade,
    judge_evidence,
    read_evidence,
    read_verdict,
    replay,
    write_verdict,
)

__all__ = ["Verdict", "grade", "judge_evidence", "read_evidence", "read_verdict", "replay", "write_verdict"]
