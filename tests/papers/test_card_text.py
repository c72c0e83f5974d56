"""The paper's text: sections, whole passages, searches."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reclaim_nb.errors import CardError
from reclaim_nb.papers.paper_text import PaperText, read, sections

TEXT = """Preface.

# Title

## Method

We fit trees.

### Score

The score is a mean.

```
# no heading
```

## Results

AUC is 0.99 on Breastw.
"""


def test_sections_are_cut_at_headings_but_not_inside_code() -> None:
    assert [(s.level, s.title) for s in PaperText.parse(TEXT).sections] == [
        (0, ""),
        (1, "Title"),
        (2, "Method"),
        (3, "Score"),
        (2, "Results"),
    ]


def test_a_section_comes_with_everything_below_it() -> None:
    text = PaperText.parse(TEXT).read("method")
    assert text.startswith("## Method\n\nWe fit trees.")
    assert "# no heading" in text
    assert "AUC" not in text


def test_no_query_lists_the_sections_and_all_gives_everything() -> None:
    paper = PaperText.parse(TEXT)
    assert paper.read() == "Sections of the paper:\n\n- Title\n  - Method\n    - Score\n  - Results"
    assert "Preface." in paper.read("all") and "0.99" in paper.read("all")


def test_words_find_the_passage_and_its_section() -> None:
    assert PaperText.parse(TEXT).read("what AUC on breastw?") == "*Results*\n\nAUC is 0.99 on Breastw."


def test_nothing_found_says_so_and_lists_the_sections() -> None:
    answer = PaperText.parse(TEXT).read("zebra")
    assert "Nothing in the paper matches 'zebra'" in answer
    assert "- Results" in answer


def test_many_hits_are_bounded_and_counted() -> None:
    paper = PaperText.parse("# T\n\n" + "\n\n".join(f"the word {i}" for i in range(20)))
    answer = paper.read("word please")
    assert answer.count("*T*") == 6
    assert "14 more passages" in answer


def test_files_are_read_from_disk_or_named(tmp_path: Path) -> None:
    file = tmp_path / "paper.md"
    file.write_text(TEXT, encoding="utf-8")
    assert len(sections(file)) == 5
    assert read(file, "Score").startswith("### Score")
    with pytest.raises(CardError, match=r"none\.md"):
        read(tmp_path / "none.md")


@given(st.text(st.sampled_from("#`~ ab\n"), max_size=80), st.text(max_size=10))
def test_no_words_are_lost_whatever_the_text(text: str, query: str) -> None:
    paper = PaperText.parse(text)
    kept = paper.read("all").replace("#", "").split()
    assert [w.replace("#", "") for w in text.split() if w.replace("#", "")] == kept
    assert isinstance(paper.read(query), str)
