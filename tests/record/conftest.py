"""Fixtures for record tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from record_helpers import whole_record

from reclaim_nb.record.folder import AttemptFolder


@pytest.fixture
def record(tmp_path: Path) -> AttemptFolder:
    """An ended attempt of three cells."""
    return whole_record(tmp_path / "attempt")
