"""A batch is begun from its plan file in JupyterLab, watched in the panel, stopped and resumed."""

from __future__ import annotations

import time
from typing import Any

import pytest
import yaml
from browser_lab import Lab
from test_lab import PANEL, shot

from reclaim_nb.batch.pool import pool_at_work
from reclaim_nb.record.index import Index

pytestmark = [pytest.mark.ui, pytest.mark.timeout(600)]

START = "Start Batch…"
FILES = "#filebrowser"
PLAN = {
    "name": "slow and good",
    "papers": ["tiny/slow", "tiny/good"],
    "agents": ["replay", "nothing"],
    "repeats": 2,
    "settings": {"kernel": "local", "budget_hours": "0.02"},
}
ROW = f"{PANEL} .jp-reclaim-Row.jp-mod-running:has-text('batch')"


@pytest.fixture
def files(page: Any, lab: Lab) -> Any:
    """The lab with the file browser on a folder that holds a plan and another YAML file."""
    folder = lab.root / "plans"
    folder.mkdir(exist_ok=True)
    (folder / "plan.yaml").write_text(yaml.safe_dump(PLAN), "utf-8")
    (folder / "wrong.yaml").write_text(yaml.safe_dump(PLAN | {"papers": ["tiny/none"]}), "utf-8")
    (folder / "other.yaml").write_text("just: settings\n", "utf-8")
    page.click(f'.jp-SideBar [data-id="{FILES[1:]}"]')
    page.evaluate("() => void window.jupyterapp.commands.execute('filebrowser:open-path', {path: 'plans'})")
    page.wait_for_selector(f"{FILES} .jp-DirListing-item >> text=plan.yaml", timeout=30_000)
    return page


def menu_of(page: Any, name: str) -> list[str]:
    page.click(f"{FILES} .jp-DirListing-item >> text={name}", button="right")
    page.wait_for_selector(".lm-Menu")
    return page.eval_on_selector_all(
        ".lm-Menu-item:not(.lm-mod-hidden) .lm-Menu-itemLabel", "nodes => nodes.map(node => node.textContent)"
    )


def close_menu(page: Any) -> None:
    page.keyboard.press("Escape")
    page.wait_for_selector(".lm-Menu", state="detached")


def test_a_batch_is_begun_from_its_plan_watched_and_stopped(files: Any, lab: Lab) -> None:
    page = files
    deadline = time.monotonic() + 60
    while START not in menu_of(page, "wrong.yaml"):  # the folder's files are looked at when it is shown
        assert time.monotonic() < deadline
        close_menu(page)
    close_menu(page)
    assert START not in menu_of(page, "other.yaml")
    close_menu(page)

    menu_of(page, "wrong.yaml")
    page.click(f".lm-Menu-itemLabel >> text={START}")
    page.wait_for_selector(".jp-Dialog >> text=tiny/none: not in the configured suites", timeout=30_000)
    page.click(".jp-Dialog-footer button")

    menu_of(page, "plan.yaml")
    shot(page, "batch-menu")
    page.click(f".lm-Menu-itemLabel >> text={START}")
    page.wait_for_selector(".jp-reclaim-Plan", timeout=30_000)
    told = page.inner_text(".jp-Dialog")
    for words in (
        "slow and good",
        "8 will be made",
        "tiny/slow",
        "replay, nothing",
        "0.2 CPU-hours",
        "without a sandbox",
    ):
        assert words in told, words
    shot(page, "batch")
    page.click(".jp-Dialog .jp-mod-accept")

    page.wait_for_selector(ROW, timeout=60_000)
    folder = lab.runs / "slow-and-good"
    assert pool_at_work(folder) is not None
    page.wait_for_selector(f"{PANEL} .jp-reclaim-Row.jp-mod-running:has-text('slow · replay')", timeout=60_000)
    page.wait_for_selector(f"{ROW} >> text=1 running", timeout=30_000)
    assert "of 8 done" in page.inner_text(ROW)
    shot(page, "batch-running")

    page.click(f"{ROW} button[title='Stop this batch']")
    page.click(".jp-Dialog .jp-mod-accept")
    page.wait_for_selector(ROW, state="detached", timeout=60_000)
    assert pool_at_work(folder) is None
    made = [row for row in Index(lab.runs).rows() if row.path.startswith("slow-and-good/")]
    assert "cancelled" in {row.reason for row in made} and len(made) < 8
    resumed(page, lab)

    # From the palette, a plan that has begun says what is left.
    page.click(f'.jp-SideBar [data-id="{FILES[1:]}"]')
    page.click(f"{FILES} .jp-DirListing-item >> text=plan.yaml")
    page.evaluate("() => void window.jupyterapp.commands.execute('reclaim:start-batch')")
    page.wait_for_selector(".jp-reclaim-Plan >> text=will be made", timeout=30_000)
    page.click(".jp-Dialog button >> text=Cancel")


def resumed(page: Any, lab: Lab) -> None:
    """Go on with the batch that was stopped, and stop it again."""
    page.click(f"{PANEL} .jp-reclaim-Row.jp-mod-header >> text=Unfinished batches")
    page.wait_for_selector(f"{ROW} >> text=stopped")
    assert "of 8 done" in page.inner_text(ROW)
    shot(page, "batch-stopped")
    page.click(f"{ROW} button[title='Resume this batch']")
    page.wait_for_selector(".jp-Dialog >> text=Resume the batch slow and good?", timeout=30_000)
    assert "will be made" in page.inner_text(".jp-reclaim-Plan")
    shot(page, "batch-resume")
    page.click(".jp-Dialog .jp-mod-accept")
    page.wait_for_selector(f"{ROW} button[title='Stop this batch']", timeout=60_000)
    assert pool_at_work(lab.runs / "slow-and-good") is not None
    assert page.locator(f"{PANEL} .jp-reclaim-Row >> text=Unfinished batches").count() == 0
    page.wait_for_selector(f"{ROW} >> text=1 running", timeout=30_000)

    # The only one that runs is meant where none is named.
    page.evaluate("() => void window.jupyterapp.commands.execute('reclaim:stop-batch')")
    page.click(".jp-Dialog .jp-mod-accept")
    page.wait_for_selector(f"{PANEL} .jp-reclaim-Row >> text=Unfinished batches", timeout=60_000)
    assert pool_at_work(lab.runs / "slow-and-good") is None
