"""The published runs, explored in the same panel after they were brought in."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from browser_lab import REPOSITORY, Lab
from test_lab import PANEL, papers, shot

from reclaim_nb.analysis.importing import import_published

pytestmark = [pytest.mark.ui, pytest.mark.timeout(600)]

TABLE = REPOSITORY.parent / "shared" / "published" / "runs.csv"
SMALL = REPOSITORY / "tests" / "analysis" / "data" / "release"
PAGE = ".jp-MainAreaWidget:not(.lm-mod-hidden) .jp-reclaim-Page"


@pytest.fixture(params=["372 runs", "small release"])
def published(request: pytest.FixtureRequest, lab: Lab) -> Iterator[str]:
    """A release in the runs folder while the test runs: the table of all runs where it is here, else the small one."""
    source = TABLE if request.param == "372 runs" else SMALL
    if not source.exists():
        pytest.skip(f"{source.name} is not here")
    made = import_published(source, lab.runs)
    yield request.param
    shutil.rmtree(made.folder)


def test_published_runs_are_explored(published: str, page: Any) -> None:
    many = published == "372 runs"
    page.fill(f"{PANEL} input[type=search]", "published")
    page.wait_for_selector(f"{PANEL} .jp-reclaim-Row.jp-mod-paper")
    headers = page.eval_on_selector_all(f"{PANEL} .jp-mod-header", "rows => rows.map(row => row.innerText)")
    if many:
        assert [line for line in headers if "RUN" in line.upper()] and any("/ 1" in line for line in headers), headers
        shot(page, "published")
        page.fill(f"{PANEL} input[type=search]", "published near miss")
        assert len(papers(page)) > 5
    row = f"{PANEL} .jp-mod-paper >> nth=0"
    page.click(row)
    page.wait_for_selector(f"{PANEL} .jp-mod-attempt")
    page.click(f"{PANEL} .jp-mod-attempt >> nth=0")
    page.wait_for_selector(PAGE, timeout=30_000)
    told = page.inner_text(PAGE)
    assert "there is no notebook" in told and "published" in told
    assert "undefined" not in told and "[object" not in told and "NaN" not in told
    if many:
        assert "activated-lora" in told and "score 6 of 10" in told and "H100 hours" in told
    page.click(f"{PAGE} summary")
    assert "arxiv id" in page.inner_text(PAGE)
    page.click(f"{PAGE} summary")
    shot(page, "published-run" if many else "published-small")
    menu = f"{PANEL} .jp-mod-attempt >> nth=0"
    page.click(menu, button="right")
    page.wait_for_selector(".lm-Menu")
    enabled = page.eval_on_selector_all(
        ".lm-Menu-item:not(.lm-mod-disabled):not(.lm-mod-hidden) .lm-Menu-itemLabel",
        "nodes => nodes.map(node => node.textContent)",
    )
    assert "Grade Attempt" not in enabled and "Open Timeline and Verdicts" in enabled
    page.keyboard.press("Escape")
