"""Floods of output: all of it is in the record, and where the record must cut it says so and keeps the end."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from attempt_helpers import run

CELLS = {
    "lines": "for i in range(100_000): print('line', i)",
    "flushed": "for i in range(20_000): print('flushed', i, flush=True)",
    "both": "import sys\nfor i in range(5_000): print('out', i); print('err', i, file=sys.stderr)",
    "after": "print('the kernel still answers')",
}
IMAGE = "import os\nfrom IPython.display import Image, display\ndisplay(Image(os.urandom({}), format='png'))"
IMAGES = {
    "small": IMAGE.format(30_000),
    "large": IMAGE.format(6_000_000),
    "huge": IMAGE.format(200_000_000),
    "after": CELLS["after"],
}


@pytest.mark.slow
def test_nothing_that_fits_is_lost(kernel: str, tmp_path: Path) -> None:
    result = run(tmp_path, CELLS, kernel)
    assert [result.status(case) for case in CELLS] == ["ok"] * len(CELLS)
    assert result.printed("lines") == "".join(f"line {i}\n" for i in range(100_000))
    assert result.printed("flushed") == "".join(f"flushed {i}\n" for i in range(20_000))
    for name in ("out", "err"):
        assert result.printed("both", f"std{name}") == "".join(f"{name} {i}\n" for i in range(5_000))
    assert [result.end(case)["gaps"] for case in CELLS] == [0] * len(CELLS)
    assert result.shown("lines").count("line 99999") == 1, "the notebook shows the last line"
    assert result.text("after") == "the kernel still answers\n"
    assert result.folder.notebook.stat().st_size < 20_000_000


@pytest.mark.slow
def test_an_image_too_large_for_the_notebook_leaves_a_sentence(tmp_path: Path) -> None:
    result = run(tmp_path, IMAGES)
    assert [result.status(case) for case in IMAGES] == ["ok"] * len(IMAGES)
    assert len("".join(result.cells["small"]["outputs"][0]["data"]["image/png"])) > 30_000
    assert "[image/png: too large for the notebook, 8,000,000 bytes, of which the record has all]" in result.shown(
        "large"
    )
    size = r"266,666,\d{3} bytes, of which the record has the beginning and the end"
    assert re.search(size, result.shown("huge")), result.shown("huge")
    assert result.text("after") == "the kernel still answers\n"
    assert result.folder.notebook.stat().st_size < 1_000_000


@pytest.mark.slow
def test_a_gigabyte_keeps_its_beginning_and_its_end_and_says_what_is_between(tmp_path: Path) -> None:
    cells = {"floods": "for i in range(1_000): print('x' * 999_990, i)", "after": "print('after', i)"}
    result = run(tmp_path, cells)
    assert [result.status(case) for case in cells] == ["ok", "ok"]
    assert result.text("after") == "after 999\n"
    shown = result.text("floods")
    assert shown.endswith(" 999\n")
    assert len(shown) < 5_000_000
    assert re.search(r"\d[\d,. ]*(characters|bytes|[kKMG]i?B)", shown), "how much is not shown"
    assert result.folder.payloads.stat().st_size < 500_000_000
