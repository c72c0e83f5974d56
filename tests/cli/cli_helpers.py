"""Running the command as a process of its own, and small notebooks for the agent that replays one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RECLAIM = Path(sys.executable).with_name("reclaim")
PAPER = "small/iforest-breastw"


@dataclass(frozen=True)
class Ran:
    """What a command gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on standard output; anything beside it is an error."""
        return json.loads(self.out)


Call = Callable[..., Ran]


def in_process(*words: object, **environment: str) -> Ran:
    """Run the command as a process of its own."""
    done = subprocess.run(
        [str(RECLAIM), *map(str, words)], capture_output=True, text=True, timeout=280, env=os.environ | environment
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def write_notebook(path: Path, *sources: str) -> Path:
    """Write a notebook with these code cells."""
    cells = [
        {"cell_type": "code", "id": f"c{n}", "metadata": {}, "source": source, "outputs": [], "execution_count": None}
        for n, source in enumerate(sources)
    ]
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return path
