"""Where the browser tests keep their pictures; no browser is needed to know."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser_lab import REPOSITORY, pictures


@pytest.fixture(autouse=True)
def asked_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    pictures.cache_clear()
    yield
    pictures.cache_clear()


def test_they_go_into_the_folder_that_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RECLAIM_SCREENSHOTS", str(tmp_path / "kept" / "here"))
    assert pictures() == tmp_path / "kept" / "here" and pictures().is_dir()


@pytest.mark.parametrize("named", [None, ""])
def test_they_leave_the_checkout_alone_where_none_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, named: str | None
) -> None:
    monkeypatch.delenv("RECLAIM_SCREENSHOTS", raising=False)
    if named is not None:
        monkeypatch.setenv("RECLAIM_SCREENSHOTS", named)
    assert pictures().parent == tmp_path and not pictures().is_relative_to(REPOSITORY)
    assert pictures() == pictures()
