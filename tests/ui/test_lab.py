"""What a person sees and does in JupyterLab, in a real browser; its pictures are those of the docs."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import pytest
from browser_lab import Lab, open_lab, shot

from reclaim_nb.record.folder import AttemptFolder, is_held
from reclaim_nb.record.index import row_of

# The first test waits for a server, a browser and three attempts.
pytestmark = [pytest.mark.ui, pytest.mark.timeout(600)]

PANEL = "#jp-reclaim-panel"
SHOWN = ".jp-NotebookPanel:not(.lm-mod-hidden)"
EVIDENCE = f"{SHOWN} .jp-reclaim-Evidence"
CELLS = "window.jupyterapp.shell.currentWidget.content.model.cells.length"
LISTING = re.compile(r"/reclaim/api/attempts(\?.*)?$")
MARKED = """name => [...(CSS.highlights.get(name) ?? [])].map(range => range.toString())"""


def papers(page: Any) -> list[str]:
    return page.eval_on_selector_all(f"{PANEL} .jp-mod-paper", "rows => rows.map(row => row.dataset.paper)")


def open_attempt(page: Any, paper: str, ready: str = EVIDENCE) -> None:
    page.click(f'{PANEL} .jp-mod-paper[data-paper="tiny/{paper}"]')
    page.click(f'{PANEL} .jp-mod-attempt[data-path*="/{paper}/"]')
    page.wait_for_selector(ready, timeout=60_000)


def is_dirty(page: Any) -> bool:
    return page.evaluate("document.querySelectorAll('.lm-TabBar-tab.jp-mod-dirty').length > 0")


def test_panel_lists_filters_and_is_worked_by_keys(page: Any) -> None:
    assert papers(page)[:4] == ["tiny/good", "tiny/hostile", "tiny/miss", "tiny/slow"]
    marks = f'{PANEL} .jp-mod-paper[data-paper="tiny/miss"] .jp-reclaim-Mark.jp-mod-near_miss'
    page.wait_for_selector(marks, timeout=60_000)  # papers are there before their attempts have been listed
    assert page.locator(marks).count() == 1
    header = page.inner_text(f"{PANEL} .jp-mod-header >> nth=0")
    assert "TINY" in header.upper() and "1 / 3" in header
    shot(page, "panel")

    page.fill(f"{PANEL} input[type=search]", "near miss")
    assert papers(page) == ["tiny/miss"]
    page.fill(f"{PANEL} input[type=search]", "no such thing")
    page.wait_for_selector(f"{PANEL} >> text=Nothing fits the filter.")
    page.click(f"{PANEL} >> text=Show everything")
    page.select_option(f"{PANEL} select[aria-label=Outcome]", "disqualified")
    assert papers(page) == ["tiny/hostile"]
    page.select_option(f"{PANEL} select[aria-label=Outcome]", "")
    page.select_option(f"{PANEL} select[aria-label=Order]", "rate")
    assert papers(page)[0] == "tiny/good"
    page.select_option(f"{PANEL} select[aria-label=Order]", "name")

    page.fill(f"{PANEL} input[type=search]", "replay reproduced")
    page.press(f"{PANEL} input[type=search]", "ArrowDown")
    for key in ("ArrowDown", "ArrowRight", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    page.wait_for_selector(EVIDENCE, timeout=60_000)
    assert "good" in page.inner_text(f"{SHOWN} .jp-reclaim-Banner-name")
    active = page.get_attribute(f"{PANEL} [role=tree]", "aria-activedescendant")
    assert page.get_attribute(f"#{active}", "aria-selected") == "true"


def test_paper_opened_before_its_attempts_are_read_shows_them_when_they_are(page: Any, lab: Lab) -> None:
    held: list[Any] = []
    page.route(LISTING, lambda route: held.append(route))  # a built-in function is refused
    open_lab(page, lab)
    page.wait_for_selector(f"{PANEL} >> text=Reading the attempts…")
    page.click(f'{PANEL} .jp-mod-paper[data-paper="tiny/miss"]')
    assert page.get_attribute(f'{PANEL} .jp-mod-paper[data-paper="tiny/miss"]', "aria-expanded") == "true"
    assert held, "the attempts were read already"
    for route in held:
        route.continue_()
    page.unroute(LISTING)
    page.wait_for_selector(f'{PANEL} .jp-mod-attempt[data-path*="/miss/"]')
    assert page.locator(".jp-reclaim-Card").count() == 0


def test_first_click_into_a_list_that_was_scrolled_is_not_lost(page: Any) -> None:
    rows = f"{PANEL} [role=tree]"
    page.eval_on_selector(rows, "list => { list.scrollTop = 112; }")
    place = page.locator(f'{PANEL} .jp-mod-paper[data-paper="tiny/miss"]').bounding_box()
    page.mouse.click(place["x"] + 40, place["y"] + 10)
    page.wait_for_selector(f'{PANEL} .jp-mod-attempt[data-path*="/miss/"]', timeout=10_000)
    assert page.eval_on_selector(rows, "list => list.scrollTop") == 112
    page.press(f"{PANEL} input[type=search]", "ArrowDown")  # by keys the focus comes to a row that is seen
    page.keyboard.press("Home")
    page.wait_for_function("document.querySelector('#jp-reclaim-panel [role=tree]').scrollTop === 0")


def test_opened_attempt_says_what_came_of_it_and_stays_as_it_is(page: Any, lab: Lab) -> None:
    folder = lab.runs / "single/tiny/miss/replay/01"
    before = hashlib.sha256((folder / "attempt.ipynb").read_bytes()).hexdigest()
    open_attempt(page, "miss")
    page.wait_for_selector(f"{SHOWN} .jp-reclaim-seal.jp-mod-sound", timeout=60_000)
    banner = page.inner_text(f"{SHOWN} .jp-reclaim-Banner")
    for words in ("near miss", "C14", "observed 4.15", "target 4.0", "local · unsandboxed", "ended: submitted", "need"):
        assert words in banner
    gutter = page.inner_text(f"{SHOWN} .jp-Notebook-cell:has(.jp-mod-error) .jp-reclaim-Gutter")
    assert "turn 2" in gutter and "error" in gutter
    assert page.evaluate("document.querySelector('.jp-Toolbar-kernelName, .jp-KernelName')?.textContent").strip() in (
        "No Kernel",
        "",
    )

    page.click(f"{EVIDENCE} >> text=mean of the draws")
    page.wait_for_function(f"({MARKED})('reclaim-found').length === 1")
    assert page.evaluate(MARKED, "reclaim-found") == ["4.154"]
    place = page.evaluate(
        """() => { const range = [...CSS.highlights.get('reclaim-found')][0];
        const cell = range.startContainer.parentElement.closest('.jp-Notebook-cell');
        const box = range.getBoundingClientRect();
        return {output: !!range.startContainer.parentElement.closest('.jp-OutputArea'),
                seen: box.top > 0 && box.bottom < innerHeight, active: cell.classList.contains('jp-mod-active')}; }"""
    )
    assert place == {"output": True, "seen": True, "active": True}
    shot(page, "attempt")

    page.keyboard.press("Control+s")
    page.wait_for_timeout(1500)
    if page.locator(".jp-Dialog").count():
        page.keyboard.press("Escape")
    # The lab itself throws what the server answers to a save, after it has shown it.
    page.problems[:] = [problem for problem in page.problems if "which nobody edits" not in problem]
    assert hashlib.sha256((folder / "attempt.ipynb").read_bytes()).hexdigest() == before
    assert not is_dirty(page)


def test_hostile_outputs_do_nothing(page: Any) -> None:
    open_attempt(page, "hostile")
    page.wait_for_selector(f"{SHOWN} .jp-reclaim-Mime >> text=not the verdict on this attempt", timeout=30_000)
    page.click(f"{SHOWN} .jp-OutputArea >> text=click")
    page.click(f"{EVIDENCE} >> nth=0")
    page.wait_for_timeout(1000)
    assert page.evaluate("window.hacked") is None
    assert page.locator(f"{SHOWN} .jp-reclaim-Mime img").count() == 0
    assert page.locator(f"{SHOWN} .jp-OutputArea :is(script, iframe, object, embed)").count() == 0
    alive = """() => [...document.querySelectorAll('.jp-NotebookPanel *')].flatMap(node => [...node.attributes])
        .filter(one => one.name.startsWith('on') || /^\\s*javascript:/i.test(one.value)).map(one => one.name)"""
    assert page.evaluate(alive) == []
    covered = page.evaluate(
        "getComputedStyle([...document.querySelectorAll('.jp-RenderedHTML div')]"
        ".find(node => node.textContent === 'over everything') ?? document.body).position"
    )
    assert covered != "fixed"
    shot(page, "hostile")


@pytest.mark.timeout(900)
def test_new_attempt_is_followed_while_it_is_written_and_stopped(page: Any, lab: Lab) -> None:
    page.click(f"{PANEL} [data-command='reclaim:new-attempt'] button, {PANEL} jp-button[title^='Let an agent']")
    page.wait_for_selector(".jp-reclaim-Form")
    page.select_option(".jp-reclaim-Form select >> nth=0", "tiny/slow")
    page.select_option(".jp-reclaim-Form label:has-text('Kernel') select", "local")
    shot(page, "new-attempt")
    page.click(".jp-Dialog .jp-mod-accept")
    page.wait_for_selector(f"{SHOWN} .jp-reclaim-Banner-live", timeout=200_000)
    folder = AttemptFolder(next(lab.runs.glob("lab/tiny/slow/replay/*")))
    assert is_held(folder)

    first = page.evaluate(CELLS)
    page.wait_for_function(f"{CELLS} >= {first} + 3", timeout=60_000)
    # Who watches stays at the end.
    page.wait_for_function(f"{CELLS} - 1 === window.jupyterapp.shell.currentWidget.content.activeCellIndex")
    assert not is_dirty(page)
    assert "turn" in page.inner_text(f"{PANEL} .jp-reclaim-Row.jp-mod-running")
    page.wait_for_selector(f"{PANEL} .jp-reclaim-Row.jp-mod-running >> text=step", timeout=30_000)
    # The cell that runs says so, and for how long.
    page.wait_for_selector(f"{SHOWN} .jp-reclaim-Gutter:has-text('running') >> text=/^[1-9]\\d* s$/", timeout=30_000)
    assert "not run" not in page.inner_text(f"{SHOWN} .jp-Notebook")
    shot(page, "running")

    # What somebody has changed by hand is never thrown away by following.
    page.evaluate("() => void window.jupyterapp.commands.execute('notebook:insert-cell-below')")
    page.wait_for_selector(f"{SHOWN} >> text=You changed this view", timeout=30_000)
    held = page.evaluate(CELLS)
    page.wait_for_timeout(5000)
    assert page.evaluate(CELLS) == held
    page.click(f"{SHOWN} >> text=Show the record again")
    page.wait_for_function(f"{CELLS} > {held}", timeout=30_000)
    page.wait_for_selector(f"{SHOWN} >> text=You changed this view", state="detached", timeout=60_000)
    assert not is_dirty(page)

    page.click(f"{SHOWN} .jp-reclaim-Banner-buttons >> text=Stop")
    page.click(".jp-Dialog .jp-mod-accept")
    page.wait_for_selector(f"{SHOWN} >> text=ended: cancelled", timeout=60_000)
    page.wait_for_selector(f"{SHOWN} .jp-RenderedMarkdown >> text=The attempt ended", timeout=30_000)
    assert row_of(folder).reason == "cancelled"
    assert not is_dirty(page)
    assert json.loads(folder.notebook.read_text("utf-8"))["metadata"]["reclaim"]["end"] == "cancelled"


def test_card_and_timeline(page: Any) -> None:
    page.fill(f"{PANEL} input[type=search]", "small/iforest")
    page.dblclick(f'{PANEL} .jp-mod-paper[data-paper="small/iforest-breastw"]')
    page.wait_for_selector(".jp-reclaim-Card >> text=withheld from agents", timeout=30_000)
    shot(page, "card")
    page.fill(f"{PANEL} input[type=search]", "")
    open_attempt(page, "good")
    page.click(f"{SHOWN} .jp-reclaim-Banner-buttons >> text=Timeline")
    page.wait_for_selector(".jp-reclaim-Timeline-cell", timeout=30_000)
    shot(page, "timeline")
    page.click(".jp-reclaim-Page .jp-reclaim-Evidence >> text=mean of the draws")
    page.wait_for_function(f"({MARKED})('reclaim-found').length === 1")
    assert page.evaluate(MARKED, "reclaim-found") == ["4.003"]


@pytest.mark.parametrize("theme", ["JupyterLab Dark", "JupyterLab Dark High Contrast"])
def test_other_themes(page: Any, theme: str) -> None:
    open_attempt(page, "miss")
    page.evaluate("theme => void window.jupyterapp.commands.execute('apputils:change-theme', {theme})", theme)
    page.wait_for_function(f"document.body.dataset.jpThemeName === '{theme}'", timeout=30_000)
    page.click(f"{EVIDENCE} >> text=mean of the draws")
    page.wait_for_timeout(1500)
    shot(page, theme.lower().replace("jupyterlab ", "").replace(" ", "-"))


def test_a_broken_record_said(page: Any, lab: Lab) -> None:
    file = lab.runs / "single/tiny/good/replay/01/attempt.ipynb"
    whole = file.read_bytes()
    try:
        notebook = json.loads(whole)
        cell = next(one for one in notebook["cells"] if one["metadata"].get("replays") == "measure")
        cell["outputs"][0]["text"] = ["mean of the draws = 4.000\n"]
        file.write_text(json.dumps(notebook), "utf-8")
        open_attempt(page, "good")
        page.wait_for_selector(f"{SHOWN} >> text=The record is broken; no verdict holds.", timeout=60_000)
        assert "✗" in page.inner_text(f"{SHOWN} .jp-Notebook-cell:has-text('4.000') .jp-reclaim-Gutter")
        shot(page, "broken-record")
    finally:
        file.write_bytes(whole)
