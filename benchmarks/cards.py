"""Loading and checking the published hundred, and whether ten thousand cards take a hundred times as long."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from reclaim_nb.data import data_folder
from reclaim_nb.papers.check import check_suite
from reclaim_nb.papers.suite import load_suite, write_manifest

HUNDRED = data_folder("papers") / "neurips2025"


def copies(folder: Path, count: int) -> Path:
    """Write a suite of ``count`` cards, the hundred over and over under new ids."""
    originals = [(c.card.id, c.path.read_text("utf-8")) for c in load_suite(HUNDRED)]
    folder.mkdir()
    for number in range(count):
        slug, text = originals[number % len(originals)]
        new = f"{slug}-{number // len(originals)}"
        (folder / f"{new}.yaml").write_text(text.replace(f"\nid: {slug}\n", f"\nid: {new}\n", 1), "utf-8")
    write_manifest(folder)
    return folder


def seconds(folder: Path, repeats: int) -> tuple[float, float]:
    """Return the median CPU seconds of loading a suite, and of checking it, which loads it too."""
    loads, checks = [], []
    for _ in range(repeats):
        began = time.process_time()
        load_suite(folder)
        loads.append(time.process_time() - began)
        began = time.process_time()
        check_suite(folder)
        checks.append(time.process_time() - began)
    return statistics.median(loads), statistics.median(checks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=10_000, help="cards of the largest suite")
    most = parser.parse_args().most
    load, check = seconds(HUNDRED, 5)
    print(f"100 cards     load {load:.2f} s, load and check {check:.2f} s  (bar 1)")
    with tempfile.TemporaryDirectory(prefix="reclaim-cards-") as temporary:
        # Same cards in every size: the cost of one card must not depend on how many there are.
        small_load, small_check = seconds(copies(Path(temporary) / "small", most // 10), 3)
        large_load, large_check = seconds(copies(Path(temporary) / "large", most), 1)
    print(f"{most // 10:<6} cards  load {small_load:.2f} s, load and check {small_check:.2f} s")
    print(f"{most:<6} cards  load {large_load:.2f} s, load and check {large_check:.2f} s")
    print(f"ratio per card, ten times the cards: load {large_load / small_load / 10:.2f}", end=", ")
    print(f"check {large_check / small_check / 10:.2f}  (linear is 1)")


if __name__ == "__main__":
    main()
