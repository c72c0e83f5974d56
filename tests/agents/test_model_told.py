"""What agents are told: from the agent view alone, the same for every agent, changed only by recorded conditions."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from agent_helpers import PAPER, make
from hypothesis import given
from hypothesis import strategies as st

from reclaim_nb.attempts.conditions import CONDITIONS
from reclaim_nb.attempts.limits import limits_for
from reclaim_nb.attempts.prepare import Request as AttemptRequest
from reclaim_nb.attempts.prepare import prepare
from reclaim_nb.attempts.prompts import fill, render_prompts
from reclaim_nb.attempts.spec import KernelFacts
from reclaim_nb.errors import AttemptError
from reclaim_nb.papers.suite import find_paper
from reclaim_nb.papers.view import agent_view

CARD = find_paper(PAPER).card
KERNEL = KernelFacts(
    name="reclaim-docker",
    kind="docker",
    network="none",
    unsandboxed=False,
    memory_mib=4096,
    cpus=0,
    pids=100,
    abandon_seconds=60,
)


def prompts(*conditions: str, **limits: Any) -> Any:
    return render_prompts(agent_view(CARD), limits_for(CARD, **limits), KERNEL, conditions)


def test_nothing_withheld_stands_in_any_prompt() -> None:
    told = prompts(*CONDITIONS)
    everything = "\n".join((told.system, told.task, told.asked, told.nudge, told.continued))
    assert CARD.target.config and CARD.gold and CARD.pitfalls and CARD.doubts
    withheld = [CARD.target.config, *CARD.doubts, *CARD.pitfalls, *CARD.commands, str(CARD.gold.value)]
    withheld += [str(anchor.value) for anchor in CARD.anchors if str(anchor.value) not in str(CARD.target.n)]
    for text in withheld:
        assert text not in everything.replace("0.05", "")


def test_the_task_names_what_counts() -> None:
    task = prompts(tokens=1000, usd="2.50", turns=7).task
    for part in ("0.99", "0.98 to 1.00", "ROC AUC", "`rows`", "0.05 CPU-hours", "1,000 model tokens", "2.5", "7 cells"):
        assert part in task
    assert "without a network" in task and "$" not in task


def test_the_hash_changes_with_each_condition_and_limit_and_with_nothing_else() -> None:
    sets = [c for n in range(len(CONDITIONS) + 1) for c in itertools.combinations(CONDITIONS, n) if "nudge" not in c]
    hashes = [prompts(*conditions).sha256 for conditions in sets] + [prompts(turns=3).sha256]
    assert len(set(hashes)) == len(hashes)
    assert prompts("checklist", "anchor_gate").sha256 == prompts("anchor_gate", "checklist").sha256
    assert prompts("nudge").task == prompts().task


@given(st.text(), st.text())
def test_what_is_put_in_is_not_looked_at_again(one: str, other: str) -> None:
    assert fill("a $one b $other $$", {"one": one, "other": other}) == f"a {one} b {other} $"


def test_unknown_conditions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(AttemptError, match="anchor_gate, checklist, nudge"):
        make(tmp_path, "http://127.0.0.1:9/v1", conditions=("be_nice",))


def test_switching_the_agent_changes_no_byte_of_what_others_are_told(tmp_path: Path) -> None:
    specs = {}
    url = {"base_url": "http://127.0.0.1:9/v1"}
    installed = {"program": sys.executable}
    for agent, model, options in [
        ("model", "a:b", url),
        ("model", "c:d", url | {"settings": {"temperature": 0}}),
        ("codex", "gpt-5", installed),
        ("claude-code", None, installed | url),
        ("replay", None, {}),
        ("nothing", None, {}),
    ]:
        request = AttemptRequest(PAPER, agent=agent, model=model, options=options, kernel="local", runs=str(tmp_path))
        prepared = prepare(request)
        spec = prepared.spec.to_json()
        for name in ("id", "repeat", "agent"):
            del spec[name]
        specs[f"{agent} {model}"] = json.dumps([spec, prepared.template], sort_keys=True)
    assert len(set(specs.values())) == 1
