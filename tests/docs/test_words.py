"""The project's words: one meaning each, and no synonym, in prose, help texts and notebooks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DESIGN = ROOT.parent / "shared" / "DESIGN.md"

PAGES = sorted(
    path
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "papers").glob("*/README.md"))
    # Made from the cards, which speak of what papers measure in the papers' own words.
    if "_build" not in path.parts and path.name != "criteria.md"
)
NOTEBOOKS = sorted([*(ROOT / "templates").glob("*.ipynb"), *(ROOT / "binder").glob("*.ipynb")])

SYNONYMS = {
    r"\btrials?\b": "attempt",
    r"\b(episodes?|rollouts?)\b": "attempt",
    r"\b(agent|replay)('s)? runs?\b": "attempt",
    r"\b(one|each|every|per|a single|failed|graded|finished|which|whose) runs?\b(?! of a)": "attempt",
    r"\b(re-?runs? of|runs? by) (an|the) agent": "attempt",
    r"\bpaper (spec|sheet|file|manifest|record|description)s?\b": "paper card",
    r"\btask cards?\b": "paper card",
    r"\b(benchmark|paper) sets?\b": "suite",
    r"\bsuccess (criterion|criteria|threshold)\b": "criterion",
    r"\b(pass|success) (bar|mark)\b": "criterion",
    r"\b(sanity|spot) checks?\b": "anchor",
    r"\breference runs?\b": "gold run",
    r"\bground.truth runs?\b": "gold run",
    r"\b(compute|time|gpu|hour) (allowance|quota|allotment)\b": "budget",
    r"\b(solver|contestant|participant|candidate agent)s?\b": "agent",
    r"\bdifficulty (level|tier|class)(es|s)?\b": "tier",
    r"\b(sweeps?|campaigns?)\b": "batch",
    r"\bfailure (mode|class|type)s?\b": "cause",
    r"\b(final|overall) (status|result) of the attempt\b": "outcome",
    r"\b(pass rate|solve rate)s?\b": "share reproduced",
    r"\bsandboxed? mode\b": "kernel",
    r"\bartifacts?\b": "release, record or notebook: say which",
}
"""What is not said, as a pattern, and the word that is."""

QUOTED = {
    "docs/use/compare.md": ("modes",),
    "papers/neurips2025/README.md": ("bar",),
    "CONTRIBUTING.md": (),
}
"""Words of the published benchmark that a page has to name."""


def prose(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a page without code blocks, inline code, addresses and front matter."""
    fence = ""
    front = text.startswith("---\n")
    for number, line in enumerate(text.splitlines(), start=1):
        if front:
            front = number == 1 or line != "---"
            continue
        mark = re.match(r"\s*(`{3,}|~{3,})", line)
        if mark and not fence:
            fence = mark[1]
        elif mark and line.strip() == fence:
            fence = ""
        elif not fence:
            yield number, re.sub(r"`[^`]*`|\]\([^)]*\)|https?://\S+", " ", line)


def faults(name: str, text: str) -> list[str]:
    """Return every synonym in a page, with its line and the word to use."""
    found = []
    for number, line in prose(text):
        for pattern, word in SYNONYMS.items():
            for hit in re.finditer(pattern, line, re.IGNORECASE):
                if hit[0].lower() not in QUOTED.get(name, ()):
                    found.append(f"{name}:{number}: '{hit[0]}', the word is '{word}'")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_use_the_projects_words(page: Path) -> None:
    assert faults(str(page.relative_to(ROOT)), page.read_text("utf-8")) == []


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_notebooks_use_the_projects_words(notebook: Path) -> None:
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    assert texts
    assert [fault for text in texts for fault in faults(notebook.name, text)] == []


def test_help_texts_use_the_projects_words() -> None:
    import typer

    from reclaim_nb.cli import app

    def texts(command: object, path: str) -> Iterator[tuple[str, str]]:
        for text in (getattr(command, "help", None), getattr(command, "short_help", None)):
            yield path, text or ""
        for parameter in getattr(command, "params", []):
            yield f"{path} {parameter.name}", getattr(parameter, "help", None) or ""
        for name, below in getattr(command, "commands", {}).items():
            yield from texts(below, f"{path} {name}")

    told = list(texts(typer.main.get_command(app), "reclaim"))
    assert len(told) > 50
    assert [fault for path, text in told for fault in faults(path, text)] == []


@pytest.mark.parametrize(
    ("sentence", "word"),
    [
        ("Each run of the agent is a notebook.", "attempt"),
        ("Every trial has a folder.", "attempt"),
        ("The paper spec holds the target.", "paper card"),
        ("A sweep over agents.", "batch"),
    ],
)
def test_a_synonym_is_found_with_the_word_to_use(sentence: str, word: str) -> None:
    (fault,) = faults("page.md", f"# Title\n\n{sentence}\n")
    assert fault.startswith("page.md:3:") and fault.endswith(f"'{word}'")


@pytest.mark.parametrize(
    "text",
    ["A `trial` in code.", "```\nevery trial\n```", "[x](https://example.org/trial)", "---\na: trial\n---\nText."],
)
def test_code_addresses_and_front_matter_are_no_prose(text: str) -> None:
    assert faults("page.md", text) == []


@pytest.mark.skipif(not DESIGN.exists(), reason="the design document is not here")
def test_the_page_of_words_has_every_word_of_the_design() -> None:
    table = re.findall(r"^\| ([a-z][a-z, ]*) \|", DESIGN.read_text("utf-8").split("## Principles")[0], re.MULTILINE)
    words = set(table) - {"word"}
    page = (ROOT / "docs" / "reference" / "words.md").read_text("utf-8")
    assert len(words) > 12
    assert {word for word in words if f"| {word} |" not in page} == set()


def test_the_page_of_words_names_every_outcome_and_end_reason_by_the_code() -> None:
    from typing import get_args

    from reclaim_nb.grading.cause import Outcome

    page = (ROOT / "docs" / "use" / "grade.md").read_text("utf-8")
    assert [outcome for outcome in get_args(Outcome) if f"| `{outcome}` |" not in page] == []
