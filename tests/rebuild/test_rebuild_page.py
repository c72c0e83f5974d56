"""The page about the published hundred is what the cards make of it; the notebooks of the steps are whole."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest

from reclaim_nb.data import data_folder
from reclaim_nb.papers.suite import load_suite
from reclaim_nb.rebuild.published import examine, main
from reclaim_nb.rebuild.run import STEPS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "rebuild-selftest.md"


def test_rows_of_some_cards_are_those_of_the_page():
    suite = load_suite(data_folder("papers") / "neurips2025")
    text = PAGE.read_text()
    for slug in ("adlm", "mome"):
        loaded = suite.get(slug)
        assert loaded is not None
        row = examine(loaded.card)
        assert f"| {slug} | {row.route} | {row.budget} | {row.published} |" in text
        assert (f"| {slug} | " in text.partition("## All")[0]) == row.refused


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_whole_page_is_what_the_cards_make_of_it():
    assert main([str(PAGE), "--check"]) == 0


@pytest.mark.parametrize("step", [step for step in STEPS if step != "review"])
def test_every_step_is_a_notebook_with_parameters(step):
    book = nbformat.read(data_folder("templates") / "rebuild" / f"{step}.ipynb", 4)
    nbformat.validate(book)
    tagged = [cell for cell in book.cells if "parameters" in cell.metadata.get("tags", [])]
    assert len(tagged) == 1 and "folder = " in tagged[0].source
    for cell in book.cells:
        if cell.cell_type == "code":
            compile(cell.source, step, "exec")


def test_the_review_notebook_is_whole():
    raw = json.loads((data_folder("templates") / "review.ipynb").read_text())
    code = ["".join(cell["source"]) for cell in raw["cells"] if cell["cell_type"] == "code"]
    for source in code:
        compile(source, "review", "exec")
    assert "review.agreement" in code[-1] and not any(cell.get("outputs") for cell in raw["cells"])
