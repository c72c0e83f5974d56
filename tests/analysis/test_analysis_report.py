"""The report: every part shows, and nothing that an agent has printed or called itself can run in it."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from analysis_helpers import RELEASE, card, write_attempt
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from reclaim_nb.analysis.frames import Runs, load_runs
from reclaim_nb.analysis.importing import import_published
from reclaim_nb.analysis.markup import Table, Text, markdown_text
from reclaim_nb.analysis.page import clean, to_html
from reclaim_nb.analysis.report import make_report
from reclaim_nb.analysis.story import Story
from reclaim_nb.errors import RecordError

HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "[click](javascript:alert(1))",
    "![x](http://evil.example/x.png)",
    "</td></table><iframe src=//evil.example>",
    "<style>@import 'http://evil.example'</style>",
    "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
    "$$\\href{javascript:alert(1)}{x}$$",
)


class Elements(HTMLParser):
    """Everything in a page that could run or load something."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "iframe", "object", "embed", "svg", "math", "link", "base", "form", "audio", "video"):
            self.found.append(tag)
        for name, value in attrs:
            if name.startswith("on") or (value or "").strip().lower().startswith("javascript:"):
                self.found.append(f"{tag} {name}")
            if name in ("src", "srcset") and not (value or "").startswith("data:image/"):
                self.loads.append(value or "")
            if (name == "style" and value != "text-align:right") or (
                name == "href" and (value or "").startswith("data:")
            ):
                self.found.append(f"{tag} {name}")


def harmful(page: str) -> list[str]:
    elements = Elements()
    elements.feed(page)
    return elements.found + elements.loads


def write_hostile(runs: Path, texts: tuple[str, ...]) -> Path:
    """Write attempts in which everything that others can name is hostile, and a record that is broken."""
    for number, text in enumerate(texts):
        document = card(f"p{number}", title=text, area=text)
        write_attempt(
            runs, document, text, model=text, submitted=text, outcome="not_reproduced", cause="C14", value=text,
            flags=[text], contributing=[text], batch=text, suite=text,
        )  # fmt: skip
    broken = runs / "b/s/p/<script>alert(2)<／script>/01"
    broken.mkdir(parents=True)
    (broken / "stream.jsonl").write_text("<script>alert(3)</script>\n")
    return runs


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> nbformat.NotebookNode:
    """Every part of a report on hostile runs, as the outputs of a notebook."""
    return _shown(Story(write_hostile(tmp_path_factory.mktemp("hostile"), HOSTILE)))


def _shown(story: Story) -> nbformat.NotebookNode:
    parts = ("heading", "lead", "batches", "rates", "best", "against_text", "scores", "outcomes", "causes", "spend")
    parts += ("stopped_early", "odds", "pairs", "repeats", "conditions", "criteria", "flips", "claims", "agreement")
    parts += ("cost", "left_out", "notes", "all_attempts")
    cells = []
    for part in parts:
        bundle = getattr(story, part)()._repr_mimebundle_()
        cells.append(nbformat.v4.new_code_cell("", outputs=[nbformat.v4.new_output("display_data", data=bundle)]))
    return nbformat.v4.new_notebook(cells=cells)


def test_the_detector_of_this_test_sees_what_it_should() -> None:
    assert all(harmful(text) for text in (HOSTILE[0], HOSTILE[1], HOSTILE[2], HOSTILE[5], HOSTILE[7]))


def test_nothing_hostile_runs_in_any_part_even_before_the_page_is_cleaned(hostile: nbformat.NotebookNode) -> None:
    for cell in hostile.cells:
        data = cell.outputs[0].data
        assert not harmful(data.get("text/html", ""))
        if "text/markdown" in data:
            assert not harmful(MarkdownIt().enable("table").render(data["text/markdown"]))


def test_nothing_hostile_runs_in_the_page(hostile: nbformat.NotebookNode) -> None:
    page = to_html(hostile, "<script>alert(9)</script>")
    assert not harmful(page)
    assert "&lt;script&gt;alert(1)" in page  # shown, as text


@pytest.mark.parametrize(
    "kind", ["text/html", "text/markdown", "text/plain", "text/latex", "image/svg+xml", "stdout", "error"]
)
def test_an_output_of_any_kind_cannot_run_in_the_page(kind: str) -> None:
    outputs = []
    for text in HOSTILE:
        if kind == "stdout":
            outputs.append(nbformat.v4.new_output("stream", text=text))
        elif kind == "error":
            outputs.append(nbformat.v4.new_output("error", ename=text, evalue=text, traceback=[text]))
        else:
            outputs.append(nbformat.v4.new_output("display_data", data={kind: text}))
    cells = [nbformat.v4.new_code_cell("", outputs=[output]) for output in outputs]
    cells += [nbformat.v4.new_markdown_cell(text) for text in HOSTILE]
    assert not harmful(to_html(nbformat.v4.new_notebook(cells=cells), "t"))


def test_scripts_and_widgets_are_dropped_whole() -> None:
    data = {"application/javascript": "alert(1)"}
    widget = {"application/vnd.jupyter.widget-view+json": {"model_id": "x"}, "text/plain": "w"}
    outputs = [nbformat.v4.new_output("display_data", data=d) for d in (data, widget)]
    page = to_html(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("", outputs=outputs)]), "t")
    assert "alert(1)" not in page
    assert not harmful(page)


def test_the_page_forbids_everything_but_its_own_pictures() -> None:
    page = to_html(nbformat.v4.new_notebook(), "t")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    assert "script-src" not in policy[1]
    assert "http" not in policy[1]
    assert page.index("Content-Security-Policy") < page.index("<style>")


@given(st.text())
@settings(max_examples=60)
def test_cleaned_markup_never_runs(text: str) -> None:
    assert not harmful(clean(text))
    assert not harmful(clean(f"<p {text}>{text}</p><img {text}>"))


@given(st.text())
@settings(max_examples=100)
def test_markdown_text_shows_exactly_the_text(text: str) -> None:
    tokens = MarkdownIt("gfm-like", {"linkify": False, "html": True}).parse(f"x {markdown_text(text)} x")
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    children = tokens[1].children or []
    assert {child.type for child in children} <= {"text", "text_special"}


@pytest.mark.parametrize("text", [*HOSTILE, "a|b", "=cmd()", "50 % & more_", "line\nbreak", "\u202eturned"])
def test_tables_carry_any_text_in_every_form(text: str) -> None:
    table = Table("t", "caption", pd.DataFrame({"what": [text, "next"], "n": [1, 2]}))
    assert not harmful(table.to_html())
    rendered = MarkdownIt().enable("table").render(table.to_markdown())
    assert rendered.count("<tr>") == 3  # nothing breaks out of its row
    assert rendered.count("<td") == 4
    assert not harmful(rendered)
    latex = table.to_latex()
    assert latex.count(r"\\") == 3
    for sign in "%&_#$":
        assert not re.search(rf"(?<!\\){re.escape(sign)}", latex.split("what & n")[1].replace(" & ", " "))
    rows = list(csv.reader(io.StringIO(table.to_csv())))
    assert len(rows) == 3
    assert rows[1][0].lstrip("'") == text
    assert not rows[1][0].startswith(("=", "+", "-", "@"))


def test_tables_keep_numbers_as_computed_in_csv() -> None:
    frame = pd.DataFrame({"rate": [1 / 3], "low": [0.1], "high": [0.6], "n": [3]})
    table = Table("t", "c", frame, interval="rate")
    assert list(table.cells().iloc[0]) == ["33 % (10 to 60)", "3"]
    assert float(next(csv.DictReader(io.StringIO(table.to_csv())))["rate"]) == 1 / 3


def test_the_story_of_a_batch_says_what_it_holds(batch: Path) -> None:
    story = Story(batch)
    heading = story.heading().markdown
    counts = re.search(
        r"(\d+) declared attempts: (\d+) graded \((\d+) reproduced\), (\d+) ended and not graded, (\d+) no", heading
    )
    assert counts is not None
    assert tuple(map(int, counts.groups())) == (12, 8, 5, 1, 2)
    assert "2 makings ended by a fault" in heading
    left = story.left_out()
    assert isinstance(left, Table)
    assert len(left.frame) == 4
    assert isinstance(story.repeats(), Table)


def test_a_story_of_nothing_is_told_in_sentences(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    story = Story(tmp_path / "runs")
    for part in ("heading", "lead", "causes", "spend", "pairs", "repeats", "flips", "claims", "agreement", "criteria"):
        shown = getattr(story, part)()
        assert isinstance(shown, Text)
        assert shown.markdown
    assert _shown(story)


def test_a_batch_that_is_not_there_is_named(batch: Path) -> None:
    with pytest.raises(RecordError, match="no batch other; there are b"):
        Story(batch, ["other"])


def test_unsandboxed_attempts_are_told(tmp_path: Path) -> None:
    write_attempt(tmp_path, card(), unsandboxed=True, outcome="reproduced")
    assert "1 attempt ran unsandboxed" in Story(tmp_path).heading().markdown


def test_published_sweeps_are_checked_in_the_story(release: Runs) -> None:
    shown = Story(release).scores()
    assert isinstance(shown, Table)
    assert "6 of 6 equal the release's own totals" in shown.caption


@pytest.mark.slow
def test_the_report_is_a_notebook_and_one_page_of_it(tmp_path: Path) -> None:
    runs = write_hostile(tmp_path / "runs", HOSTILE[:2])
    import_published(RELEASE, runs)
    write_attempt(runs, card("p1"), "good", outcome="reproduced", value="0.99", submitted="0.99")
    made = make_report(runs, tmp_path / "out")
    notebook = nbformat.read(made.notebook, as_version=4)
    nbformat.validate(notebook)
    assert not [
        o for cell in notebook.cells if cell.cell_type == "code" for o in cell.outputs if o.output_type == "error"
    ]
    page = made.page.read_text("utf-8")
    assert not harmful(page)
    assert page.count("data:image/png;base64,") >= 12
    for heading in (
        "The papers",
        "Results",
        "What became of attempts",
        "What failures spent",
        "Other criteria",
        "Cost",
    ):
        assert heading in page
    assert {"rates.csv", "rates.md", "rates.tex", "pairs.csv"} <= {file.name for file in made.tables.iterdir()}
    assert {"success-light.png", "success-dark.png", "success.pdf"} <= {file.name for file in made.figures.iterdir()}
    cells = json.loads(made.notebook.read_text("utf-8"))["metadata"]
    assert "papermill" in cells


@pytest.mark.slow
def test_one_batch_alone_is_reported(batch: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_attempt(batch, card("other"), "someone-else", batch="c", outcome="reproduced")
    made = make_report(batch, tmp_path / "out", ["c"])
    assert "WARNING" not in capfd.readouterr().err, "its kernel warns whoever waits for the report"
    page = made.page.read_text("utf-8")
    assert "someone-else" in page
    assert "poor" not in load_runs(batch).only(batch="c").attempts["agent"].tolist()
    assert ">poor<" not in page
