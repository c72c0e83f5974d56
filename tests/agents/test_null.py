"""Agents that reproduce nothing: what they do, and that no grader may call it a success."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from decimal import Decimal
from functools import cache

import pytest
from agent_helpers import PAPER, events, grade_outcome, make

from reclaim_nb.attempts.runner import Finished
from reclaim_nb.papers.suite import find_paper

pytestmark = pytest.mark.slow  # each agent runs a kernel

NAMES = ["nothing", "constant", "copy"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Finished]:
    """One attempt of each agent for all tests."""
    return cache(lambda name: make(tmp_path_factory.mktemp(name), None, agent=name, model=None))


@pytest.mark.parametrize("name", NAMES)
def test_no_null_agent_reproduces_anything(made: Callable[[str], Finished], name: str) -> None:
    outcome = grade_outcome(made(name))
    assert outcome not in ("reproduced", "near_miss", "ungraded")


@pytest.mark.parametrize("name", NAMES)
def test_they_end_as_any_agent_does(made: Callable[[str], Finished], name: str) -> None:
    finished = made(name)
    assert finished.reason == ("agent_stopped" if name == "nothing" else "submitted")
    authors = [event.data["author"] for event in events(finished, "cell")]
    assert [key for key, _ in itertools.groupby(authors)] == ["harness", "agent", "harness"]


def test_nothing_writes_a_sentence_and_no_code(made: Callable[[str], Finished]) -> None:
    written = [event.data for event in events(made("nothing"), "cell") if event.data["author"] == "agent"]
    assert [data["cell_type"] for data in written] == ["markdown"]
    assert made("nothing").notebook["metadata"]["reclaim"].get("submission") is None


@pytest.mark.parametrize("name", ["constant", "copy"])
def test_the_others_hand_in_the_papers_own_value(made: Callable[[str], Finished], name: str) -> None:
    value = find_paper(PAPER).card.target.value
    assert value is not None
    assert Decimal(made(name).notebook["metadata"]["reclaim"]["submission"]["value"]) == value


def test_the_null_agents_are_told_what_others_are(made: Callable[[str], Finished]) -> None:
    hashes = {events(made(name))[0].data["spec"]["prompt_sha256"] for name in NAMES}
    assert len(hashes) == 1
