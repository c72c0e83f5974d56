"""Fixtures for card tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from card_helpers import raw_card, write_card


@pytest.fixture
def toy_suite(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a suite folder holding the given cards, by default ``toy-cls`` alone."""

    def write(*cards: dict[str, Any]) -> Path:
        for card in cards or (raw_card(),):
            write_card(tmp_path / "toys" / card["id"] / "paper.yaml", card)
        return tmp_path / "toys"

    return write
