"""Two raters and a third person review drafted cards in JupyterLab, as a person does it: by typing and clicking."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser_lab import Lab, shot

from reclaim_nb.data import data_folder
from reclaim_nb.rebuild import review
from reclaim_nb.rebuild.extract import reading
from reclaim_nb.rebuild.folder import Folder
from reclaim_nb.rebuild.run import begin, run_step
from reclaim_nb.rebuild.services import Services
from tests.agents.model_endpoint import Endpoint
from tests.rebuild.mini_conference import VENUE, Conference, reader

pytestmark = [pytest.mark.ui, pytest.mark.timeout(900)]

BOOK = "review.ipynb"
SHOWN = ".jp-NotebookPanel:not(.lm-mod-hidden)"
CARD = f"{SHOWN} .jupyter-widgets.widget-output"


@pytest.fixture(scope="module")
def drafted(lab: Lab) -> Folder:
    """Three drafted and selected cards of the mini conference, and the notebook beside them."""
    path = lab.root / "mini"
    with Conference() as conference, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECLAIM_MIRROR", conference.mirror)
        folder = begin(path, venue=VENUE, suite="mini2026", seed=4, count=3)
        options = {"settings": {}, "retries": 0}
        with (
            Endpoint(reader(path)) as endpoint,
            Services(folder) as services,
            reading("scripted:reader", {**options, "base_url": endpoint.url}) as model,
        ):
            for step in ("collect", "match", "read", "probe", "draft", "select"):
                run_step(step, folder, limit=5, reader=model, services=services)
    shutil.copy(data_folder("templates") / BOOK, lab.root / BOOK)
    return folder


@pytest.fixture
def book(profile: Any, lab: Lab, drafted: Folder) -> Iterator[Any]:
    """The notebook, opened in a lab of its own."""
    page = profile.new_page()
    page.goto(f"{lab.address}/lab/tree/{BOOK}?token={lab.token}&reset")
    page.wait_for_selector(f"{SHOWN} .jp-Notebook-ExecutionIndicator[data-status=idle]", timeout=120_000)
    yield page
    page.close()


def run_all(page: Any, **parameters: str) -> None:
    """Type new parameters and run every cell, as the menu does."""
    text = "".join(f"{name} = {value!r}\n" for name, value in parameters.items())
    cell = page.locator(f"{SHOWN} .jp-CodeCell").first
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text + 'paper = ""\ndecision = ""\nreason = ""\nedits = {}')
    page.click(".lm-MenuBar-itemLabel >> text=Run")
    page.click(".lm-Menu-itemLabel >> text='Run All Cells'")
    page.wait_for_selector(f"{SHOWN} >> text=cards wait for {parameters['rater']}", timeout=120_000)
    page.wait_for_selector(f"{SHOWN} button:has-text('Accept')", timeout=60_000)
    page.wait_for_selector(f"{SHOWN} button:has-text('Let it count')", timeout=60_000)


def left(page: Any, number: int, rater: str) -> None:
    page.wait_for_selector(f"{SHOWN} .widget-html-content >> text={number} of 3 cards wait for {rater}", timeout=30_000)


def fill(page: Any, **texts: str) -> None:
    """Type into fields of the first form, by their labels."""
    for label, text in texts.items():
        name = label.replace("_", " ")
        box = page.locator(f"{SHOWN} .widget-text:has(label:text-is('{name}')) input").first
        box.click()
        box.fill(text)
        box.press("Tab")


def press(page: Any, button: str) -> None:
    page.click(f"{SHOWN} button:has-text('{button}')")


def told(page: Any, text: str) -> None:
    page.wait_for_selector(f"{SHOWN} .widget-html-content >> text={text}", timeout=30_000)


def test_two_raters_and_a_third_person(book: Any, drafted: Folder) -> None:
    first, second, third = review.chosen(drafted)

    run_all(book, folder="mini", rater="ada", signature="Ada Rater")
    left(book, 3, "ada")
    card = book.inner_text(CARD)
    for words in ("Learning", "tier", "84.3 percent", "83.08 to 85.52 percent", "Sources", "We train on 8 NVIDIA A100"):
        assert words in card
    book.locator(f"{SHOWN} button:has-text('Refuse')").scroll_into_view_if_needed()
    shot(book, "review")
    press(book, "Accept")
    left(book, 2, "ada")
    told(book, f"{first}: accept.")
    assert "82.0" in book.inner_text(CARD)

    press(book, "Edit")
    told(book, "to edit a card, name the field")
    fill(book, Field="target.scope", New_value="test", Its_place="S1")
    press(book, "Edit")
    told(book, "to edit a card needs a reason")
    fill(book, Reason="the split has a name", Field="target.value", New_value="12", Its_place="S1")
    press(book, "Edit")
    told(book, "the edited card does not hold together")
    left(book, 2, "ada")
    fill(book, Field="target.scope", New_value="test split of toys", Its_place="S1")
    press(book, "Edit")
    left(book, 1, "ada")

    press(book, "Refuse")
    told(book, "to refuse a card needs a reason")
    fill(book, Reason="a toy: nobody would reproduce it")
    press(book, "Refuse")
    left(book, 0, "ada")
    book.wait_for_selector(f"{CARD} >> text=Nothing is left.")
    assert review.waiting(drafted, "ada") == ()

    run_all(book, folder="mini", rater="bob", signature="Ada Rater")
    left(book, 3, "bob")
    press(book, "Accept")
    told(book, "Ada Rater has decided already, as ada")
    fill(book, Full_name="Bob Rater")
    for number in (2, 1):
        press(book, "Accept")
        left(book, number, "bob")
    fill(book, Reason="a toy")
    press(book, "Refuse")
    left(book, 0, "bob")
    told(book, "3 cards with two raters, 2 decided alike")

    states = {paper: review.final(drafted, paper).state for paper in (first, second, third)}
    assert states == {first: "card", second: "disagreement", third: "refused"}
    assert review.agreement(drafted).same == 2

    run_all(book, folder="mini", rater="eve", signature="Eve Judge")
    book.wait_for_selector(f"{SHOWN} .jp-OutputArea >> text=disagreement")
    form = book.locator(f"{SHOWN} .jp-OutputArea:has(button:has-text('Let it count'))").last
    assert "target.scope = test split of toys (S1)" in form.inner_text()
    form.locator(".widget-dropdown:has(label:text-is('Counts')) select").select_option(label="ada: edit")
    press(book, "Let it count")
    told(book, "an adjudication needs a reason")
    box = form.locator(".widget-text:has(label:text-is('Reason')) input")
    box.fill("the paper says so in its first sentence")
    box.press("Tab")
    press(book, "Let it count")
    told(book, f"{second}: ada's decision counts.")
    settled = review.final(drafted, second)
    assert settled.state == "card" and settled.card is not None
    assert settled.card["target"]["scope"] == "test split of toys"
    assert [one.partition(" (")[0] for one in settled.signers] == ["Ada Rater", "Bob Rater", "Eve Judge"]
    kept = json.loads(drafted.file(second, "review.ada").read_text())
    assert kept["edits"]["target.scope"] == {"value": "test split of toys", "source": "S1"}
    assert Path(drafted.file(first, "review.bob")).is_file()
