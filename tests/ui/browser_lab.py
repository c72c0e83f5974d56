"""What the browser tests know of the server that they look at."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parent.parent.parent
SHOTS = Path(os.environ.get("RECLAIM_SCREENSHOTS") or REPOSITORY / "docs" / "screenshots")


@dataclass
class Lab:
    """A running server."""

    address: str
    token: str
    root: Path
    papers: Path

    @property
    def runs(self) -> Path:
        return self.root / "runs"


def shot(page: Any, name: str, at: str | None = None) -> None:
    """Keep a picture of a page, with what a selector finds brought to the top."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    if at is not None:
        page.locator(at).first.evaluate("node => node.scrollIntoView({block: 'start'})")
    page.wait_for_timeout(400)  # animations
    page.screenshot(path=SHOTS / f"{name}.png")
