"""`reclaim --help` against starting Python alone."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path


def seconds(command: list[str]) -> float:
    """Return the wall seconds of a command."""
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


def main() -> None:
    reclaim = str(Path(sys.executable).with_name("reclaim"))
    ours = [seconds([reclaim, "--help"]) for _ in range(9)]
    python = [seconds([sys.executable, "-c", "pass"]) for _ in range(9)]
    print(f"reclaim --help  median {statistics.median(ours):.3f} s  (bar 0.4)")
    print(f"python -c pass  median {statistics.median(python):.3f} s")
    print(f"ratio {statistics.median(ours) / statistics.median(python):.1f}")


if __name__ == "__main__":
    main()
