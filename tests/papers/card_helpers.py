"""A small valid card as data, and a writer of card files."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
SMALL = ROOT / "papers" / "small"


def raw_card(**changes: Any) -> dict[str, Any]:
    """Return the made-up card ``toy-cls`` as the data of its YAML file."""
    card: dict[str, Any] = {
        "id": "toy-cls",
        "title": "Toy classification",
        "authors": ["A. Author"],
        "release": {"code": None, "data": [{"name": "toy data"}], "weights": None},
        "target": {
            "claim": "M-base reaches 84.3 % top-1 on the test split.",
            "metric": "top-1 accuracy",
            "value": Decimal("84.3"),
            "unit": "percent",
            "direction": "higher",
            "baseline": {"name": "plain", "value": Decimal("83.1")},
        },
        "criterion": {"rule": "within", "low": Decimal("83.8"), "high": Decimal("84.8"), "basis": "plus or minus 0.5"},
        "need": {"hours": Decimal("1.2")},
        "budget": {"hours": 4, "rationale": "three times the need"},
    }
    card.update(changes)
    return card


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return str(value) if isinstance(value, Decimal) else value


def write_card(path: Path, card: dict[str, Any]) -> Path:
    """Write a card's data as YAML and return the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(_plain(card), sort_keys=False), encoding="utf-8")
    return path
