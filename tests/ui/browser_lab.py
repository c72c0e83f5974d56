"""What the browser tests know of the server that they look at."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

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
