"""Pictures for paper from a second process: the same bytes as from this one, and none is missing when it is lost."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import wait
from pathlib import Path
from typing import Any

import matplotlib as mpl
import psutil
import pytest

from reclaim_nb.analysis import beside
from reclaim_nb.analysis.beside import PaperPrinter
from reclaim_nb.analysis.figures import figure
from reclaim_nb.analysis.frames import Runs, load_runs
from reclaim_nb.analysis.markup import pdf
from reclaim_nb.analysis.story import Story
from reclaim_nb.errors import ReclaimError, RecordError

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def runs(batch: Path) -> Runs:
    return load_runs(batch)


@pytest.fixture
def printer(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> Iterator[PaperPrinter]:
    """One whose second process is there."""
    monkeypatch.setattr(beside, "cpu_count", lambda: 2)
    found = PaperPrinter(runs)
    assert found._pool is not None
    found._there.result(60)
    yield found
    if found._pool is not None:
        found._pool.shutdown(kill_workers=True)


def here(runs: Runs, name: str, *args: Any) -> bytes:
    return pdf(figure(name)(runs, *args, size="paper"))


def nothing_is_drawn_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> bytes:
        raise AssertionError("drawn in this process")

    monkeypatch.setattr(beside, "_draw", refuse)


def test_the_second_process_draws_the_same_bytes(
    printer: PaperPrinter, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = str(runs.attempts["attempt"].iloc[0])
    with mpl.rc_context({"pdf.fonttype": 42, "pdf.compression": 0}):  # type: ignore[arg-type]
        changed = here(runs, "success")
    wanted = {name: here(runs, *name) for name in (("success",), ("timeline", attempt))}
    nothing_is_drawn_here(monkeypatch)
    for name, bytes_ in wanted.items():
        assert printer.begin(*name)() == bytes_
    with mpl.rc_context({"pdf.fonttype": 42, "pdf.compression": 0}):  # type: ignore[arg-type]
        assert printer.begin("success")() == changed
    assert changed not in wanted.values()


def test_what_a_figure_raises_is_raised(printer: PaperPrinter, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing_is_drawn_here(monkeypatch)
    with pytest.raises(ReclaimError, match="there is no figure 'nope'"):
        printer.begin("nope")()
    with pytest.raises(RecordError, match="there is no attempt"):
        printer.begin("timeline", "no/such/attempt")()


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_process_that_is_killed_takes_no_picture_with_it(printer: PaperPrinter, runs: Runs, when: str) -> None:
    begun = printer.begin("success") if when == "meanwhile" else None
    assert printer._pool is not None
    (process,) = (psutil.Process(pid) for pid in printer._pool._processes)
    process.kill()
    psutil.wait_procs([process], 20)
    assert (begun or printer.begin("success"))() == here(runs, "success")
    assert printer.begin("causes")() == here(runs, "causes")


def test_a_process_that_ended_for_want_of_work_is_not_asked(printer: PaperPrinter, runs: Runs) -> None:
    assert printer._pool is not None
    printer._pool.submit(_forget).result(60)  # as one has that was started anew
    assert printer.begin("success")() == here(runs, "success")
    assert printer._pool is None


def _forget() -> None:
    beside._taken = None


def test_until_the_process_is_there_pictures_are_drawn_here(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "cpu_count", lambda: 2)
    printer = PaperPrinter(runs)
    assert printer.begin("success")() == here(runs, "success")
    wait([printer._there], 60)


def test_one_processor_starts_no_process(batch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "cpu_count", lambda: 1)
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    story = Story(batch, out=tmp_path / "out")
    story.picture("success")
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before
    assert (tmp_path / "out/figures/success.pdf").read_bytes() == here(story.runs, "success")
