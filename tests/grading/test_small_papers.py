"""The nine small papers: what their solutions and the null agents get, each attempt made in a real kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from reclaim_nb.attempts.prepare import Request, prepare
from reclaim_nb.attempts.runner import run_attempt
from reclaim_nb.grading.verdict import Verdict, grade
from reclaim_nb.papers.suite import find_paper

SOLUTIONS: dict[str, tuple[str, str | None]] = {
    "adam-nonconvergence-toy": ("reproduced", None),
    "deep-ensembles-boston": ("reproduced", None),
    "iforest-breastw": ("reproduced", None),
    "maxucb-toy-bandit-small": ("reproduced", None),
    "ngboost-boston-nll": ("reproduced", None),
    "ntk-relu-condition-number": ("not_reproduced", "C14"),  # the claim that does not come out
    "ntk-relu-gradient-angle": ("reproduced", None),
    "omnifc-iris-small": ("reproduced", None),
    "prv-accountant-gaussian": ("reproduced", None),
}
NULL = {
    "nothing": ("not_reproduced", "C03"),
    "constant": ("disqualified", "C12"),
    "copy": ("disqualified", "C13"),
}

pytestmark = pytest.mark.slow


def verdict_of(paper: str, agent: str, runs: Path) -> Verdict:
    prepared = prepare(Request(paper=f"small/{paper}", agent=agent, kernel="local", runs=str(runs)))
    run_attempt(prepared)
    return grade(prepared.folder, find_paper(f"small/{paper}"))


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("paper", SOLUTIONS)
def test_the_reference_solution_is_judged_as_it_is(paper: str, tmp_path: Path) -> None:
    verdict = verdict_of(paper, "replay", tmp_path)
    assert (verdict.outcome, verdict.cause) == SOLUTIONS[paper]
    assert verdict.value is not None and verdict.flags == ()


@pytest.mark.parametrize("agent", NULL)
@pytest.mark.parametrize("paper", SOLUTIONS)
def test_a_null_agent_reproduces_nothing(paper: str, agent: str, tmp_path: Path) -> None:
    verdict = verdict_of(paper, agent, tmp_path)
    assert (verdict.outcome, verdict.cause) == NULL[agent]
    assert verdict.value is None
