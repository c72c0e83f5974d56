"""Every page can be reached, leads nowhere that is not there, and is spelled as English is."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    path
    for path in (*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "papers").glob("*/README.md"))
    if "_build" not in path.parts
)
NOTEBOOKS = sorted([*(ROOT / "templates").rglob("*.ipynb"), *(ROOT / "binder").glob("*.ipynb")])
ASKED_FOR = {
    *("start/first-attempt", "use/gpu", "use/own-agent", "use/paper", "use/rebuild", "use/grade", "use/lab"),
    *("use/compare", "batch/one-machine", "batch/slurm", "batch/kubernetes", "security", "faq"),
    *("reference/card", "reference/record", "reference/verdict", "reference/api"),
}
"""What a reader comes for."""


def without_code(text: str) -> str:
    """Return a page without its code blocks and inline code."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^(`{3,}|~{3,}).*?^\1`*$", "", text, flags=re.MULTILINE | re.DOTALL))


def anchors(page: Path) -> set[str]:
    """Return what a link may name behind ``#``: headings as the sites that show Markdown make them, and labels."""
    text = page.read_text("utf-8")
    heads = re.findall(r"^#+ (.+)$", without_code(text.replace("`", "")), re.MULTILINE)
    labels = re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads} | set(labels)


def dead(page: Path) -> list[str]:
    """Return the links of a page that lead to no file, or to no heading of it."""
    found = []
    for target in re.findall(r"\]\(<?([^)\s>]+)>?\)", without_code(page.read_text("utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        place = (page.parent / name).resolve() if name else page
        if not place.exists() or (anchor and place.suffix == ".md" and anchor not in anchors(place)):
            found.append(target)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_link_inside_the_project_is_dead(page: Path) -> None:
    assert dead(page) == []


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    (tmp_path / "other.md").write_text("# One `word` here\n")
    page.write_text(
        "[a](other.md#one-word-here) [b](other.md#two) [c](gone.md) `[d](code.md)` [e](https://example.org)\n"
    )
    assert dead(page) == ["other.md#two", "gone.md"]


def test_every_page_that_readers_come_for_is_there() -> None:
    assert {name for name in ASKED_FOR if not (DOCS / f"{name}.md").is_file()} == set()
    readme = (ROOT / "README.md").read_text("utf-8")
    wanted = {name for name in ASKED_FOR if not name.startswith("reference/")}
    assert {name for name in wanted if f"docs/{name}.md" not in readme} == set()


def test_pages_and_notebooks_are_spelled_right(tmp_path: Path) -> None:
    pytest.importorskip("codespell_lib")
    texts = [page for page in PAGES if page.name != "criteria.md"]  # made from the cards, which quote papers
    for notebook in NOTEBOOKS:
        cells = json.loads(notebook.read_text("utf-8"))["cells"]
        texts.append(tmp_path / f"{notebook.parent.name}-{notebook.stem}.md")
        texts[-1].write_text("\n\n".join("".join(one["source"]) for one in cells if one["cell_type"] == "markdown"))
    wrong = tmp_path / "wrong.txt"
    wrong.write_text("What was realy measured.\n")
    command = [sys.executable, "-m", "codespell_lib", *map(str, texts), str(wrong)]
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path).stdout.splitlines()
    assert [line for line in found if not line.startswith(str(wrong))] == []
    assert len(found) == 1, "the mistake that was put there"
