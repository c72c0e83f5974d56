"""Plans and batches by the REST addresses: found, shown, begun, stopped, gone on with; and what is refused."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from test_lab_api import Fetch, get, post, refused, schema

from reclaim_nb.batch.pool import pool_at_work
from reclaim_nb.record.index import Index

PLAN: dict[str, Any] = {
    "name": "two slow ones",
    "papers": ["tiny/slow"],
    "agents": ["replay", "nothing"],
    "repeats": 2,
    "settings": {"kernel": "local", "budget_hours": "0.02"},
}


def write(root: Path, name: str, plan: Any) -> None:
    (root / name).write_text(plan if isinstance(plan, str) else yaml.safe_dump(plan), "utf-8")


async def plan(fetch: Fetch, path: str) -> dict[str, Any]:
    import jsonschema

    answer = json.loads((await fetch("reclaim", "api", "plan", params={"path": path})).body)
    jsonschema.validate(answer, schema("Plan"))
    found: dict[str, Any] = answer
    return found


async def test_plans_of_a_folder_are_told_from_other_files(jp_fetch: Fetch, runs: Path, jp_root_dir: Path) -> None:
    write(jp_root_dir, "plan.yaml", PLAN)
    write(jp_root_dir, "broken-plan.yml", {"agents": [], "suite": "tiny"})
    write(jp_root_dir, "other.yaml", {"name": "nothing of the kind"})
    write(jp_root_dir, "torn.yaml", "agents: [")
    write(jp_root_dir, ".hidden.yaml", PLAN)
    write(jp_root_dir, "list.yaml", "- 1\n- 2\n")
    answer = json.loads((await jp_fetch("reclaim", "api", "plans")).body)
    assert answer == {"plans": ["broken-plan.yml", "plan.yaml"]}


async def test_a_plan_says_what_it_will_do_and_does_it_until_it_is_stopped(
    jp_fetch: Fetch, runs: Path, jp_root_dir: Path
) -> None:
    write(jp_root_dir, "plan.yaml", PLAN)
    shown = await plan(jp_fetch, "plan.yaml")
    assert (shown["total"], shown["done"], shown["agents"]) == (4, 0, ["replay", "nothing"])
    assert shown["papers"] == ["tiny/slow"] and shown["most_hours"] == [{"unit": "CPU-hours", "hours": "0.08"}]
    assert (await get(jp_fetch, "batches", "Batches"))["batches"] == []

    told = json.loads((await post(jp_fetch, "batches", {"path": "plan.yaml"})).body)
    (batch,) = (await get(jp_fetch, "batches", "Batches"))["batches"]
    assert (batch["folder"], batch["total"], batch["retries"], batch["running"]) == (told["folder"], 4, 2, True)
    status, message = await refused(post(jp_fetch, "batches", {"path": "plan.yaml"}))
    assert status == 409 and "a pool is at work" in message
    while not any(row.state == "running" for row in Index(runs).rows()):
        await asyncio.sleep(0.1)

    assert (await post(jp_fetch, f"batches/{told['folder']}", {"action": "stop"})).code == 201
    while pool_at_work(runs / told["folder"]) is not None:
        await asyncio.sleep(0.1)
    made = [row for row in Index(runs).rows() if row.path.startswith(told["folder"] + "/")]
    assert {row.reason for row in made} == {"cancelled"}
    status, message = await refused(post(jp_fetch, f"batches/{told['folder']}", {"action": "stop"}))
    assert status == 409 and "nothing to stop" in message
    left = await get(jp_fetch, f"batches/{told['folder']}", "Plan")
    assert (left["name"], left["total"], left["done"], left["running"]) == ("two slow ones", 4, 0, False)


async def test_a_batch_is_gone_on_with_by_the_plan_it_was_begun_with(
    jp_fetch: Fetch, runs: Path, jp_root_dir: Path
) -> None:
    quick = PLAN | {"name": "quick", "papers": ["tiny/good"], "agents": ["nothing"], "repeats": 1}
    write(jp_root_dir, "plan.yaml", quick)
    await post(jp_fetch, "batches", {"path": "plan.yaml"})
    while pool_at_work(runs / "quick") is not None:
        await asyncio.sleep(0.1)
    assert (await plan(jp_fetch, "plan.yaml"))["done"] == 1
    assert (await post(jp_fetch, "batches/quick", {"action": "resume"})).code == 201
    while pool_at_work(runs / "quick") is not None:
        await asyncio.sleep(0.1)
    assert len([row for row in Index(runs).rows() if row.batch == "quick"]) == 1

    write(jp_root_dir, "plan.yaml", quick | {"settings": {"kernel": "local", "budget_hours": "1"}})
    status, message = await refused(post(jp_fetch, "batches", {"path": "plan.yaml"}))
    assert status == 409 and "budget_hours" in message and "another name" in message


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"agents": ["command"]}, 400, "may not be started here"),
        ({"agents": [{"name": "replay", "options": {"notebook": "/etc/passwd"}}]}, 400, "outside"),
        ({"settings": {"kernel": "docker"}}, 400, "settings.kernel"),
        ({"settings": {}}, 400, "settings.kernel"),
        ({"papers": ["/etc"]}, 400, "not in the configured suites"),
        ({"suite": "/etc"}, 400, "not in the configured suites"),
        ({"agents": []}, 400, "plan.yaml: field 'agents'"),
        ({"settings": {"kernel": "local", "luck": 1}}, 400, "settings has no luck"),
    ],
)
async def test_only_what_is_configured_is_planned(
    jp_fetch: Fetch, runs: Path, jp_root_dir: Path, change: dict[str, Any], code: int, words: str
) -> None:
    write(jp_root_dir, "plan.yaml", PLAN | change)
    for call in (
        jp_fetch("reclaim", "api", "plan", params={"path": "plan.yaml"}),
        post(jp_fetch, "batches", {"path": "plan.yaml"}),
    ):
        status, message = await refused(call)
        assert status == code and words in message and str(jp_root_dir) not in message
    assert len(Index(runs).rows()) == 1


@pytest.mark.parametrize("path", ["../plan.yaml", "/etc/hosts.yaml", "none.yaml", "plan.json", "out.yaml", ".x/a.yaml"])
async def test_paths_lead_nowhere_else(
    jp_fetch: Fetch, runs: Path, jp_root_dir: Path, tmp_path: Path, path: str
) -> None:
    write(tmp_path, "secret.yaml", PLAN)
    write(jp_root_dir.parent, "plan.yaml", PLAN)
    write(jp_root_dir, "plan.json", PLAN)
    (jp_root_dir / "out.yaml").symlink_to(tmp_path / "secret.yaml")
    status, _ = await refused(jp_fetch("reclaim", "api", "plan", params={"path": path}))
    assert status == 404
    status, _ = await refused(post(jp_fetch, "batches", {"path": path}))
    assert status == 404
    status, _ = await refused(jp_fetch("reclaim", "api", "plans", params={"folder": ".."}))
    assert status == 404
    for name in ("..", "none", "single"):
        status, _ = await refused(post(jp_fetch, f"batches/{name}", {"action": "stop"}))
        assert status == 404
        status, _ = await refused(jp_fetch("reclaim", "api", "batches", name))
        assert status == 404
