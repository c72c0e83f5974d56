"""A person makes an attempt in JupyterLab: cells run in the attempt's container, and the result is graded as any."""

from __future__ import annotations

import json
from typing import Any

import pytest
from browser_lab import Lab
from test_lab import PANEL, SHOWN, shot

from reclaim_nb.record.folder import AttemptFolder, is_held
from reclaim_nb.record.index import row_of
from reclaim_nb.record.reader import first_event, read_events
from reclaim_nb.record.verify import verify_record

pytestmark = [pytest.mark.ui, pytest.mark.timeout(600)]

WORK = f"{SHOWN} .jp-mod-work"
LAST = f"{SHOWN} .jp-Notebook-cell >> nth=-1"


def begin(page: Any, kernel: str, paper: str = "tiny/good") -> None:
    page.click(f"{PANEL} [data-command='reclaim:new-attempt'] button, {PANEL} jp-button[title^='Let an agent']")
    page.wait_for_selector(".jp-reclaim-Form")
    page.select_option(".jp-reclaim-Form select >> nth=0", paper)
    page.select_option(".jp-reclaim-Form label:has-text('Agent') select", "human")
    page.fill(".jp-reclaim-Form label:has-text('Your name') input", "anna")
    page.select_option(".jp-reclaim-Form label:has-text('Kernel') select", kernel)
    assert page.locator(".jp-reclaim-Form label > span:text-is('Model')").count() == 0


def opened(page: Any) -> None:
    page.click(".jp-Dialog .jp-mod-accept")
    ready(page)


def ready(page: Any) -> None:
    """Wait until the attempt's notebook is shown whole and its kernel listens."""
    page.wait_for_selector(WORK, timeout=120_000)
    page.wait_for_function(
        """() => {
            const shown = window.jupyterapp.shell.currentWidget;
            const last = [...shown.node.querySelectorAll('.jp-Notebook-cell')].pop();
            return (
                shown.sessionContext?.session?.kernel?.status === 'idle' &&
                last?.dataset.windowedListIndex === String(shown.content.model.cells.length - 1)
            );
        }""",
        timeout=60_000,
    )


def newest(lab: Lab) -> AttemptFolder:
    return AttemptFolder(max(lab.runs.glob("lab/tiny/good/human/*"), key=lambda path: path.name))


def run_last(page: Any, source: str) -> None:
    """Type into the last cell and run it."""
    page.click(f"{LAST} >> .cm-content")
    page.keyboard.insert_text(source)
    page.wait_for_function(
        "source => window.jupyterapp.shell.currentWidget.content.activeCell?.model.sharedModel.source === source",
        arg=source,
    )
    page.keyboard.press("Shift+Enter")


def test_a_person_makes_an_attempt_in_a_container(page: Any, lab: Lab, kernel_image: object) -> None:
    begin(page, "docker")
    shot(page, "new-attempt-yourself")
    opened(page)
    folder = newest(lab)
    assert is_held(folder) and first_event(folder.stream).data["spec"]["kernel"]["kind"] == "docker"
    banner = page.inner_text(WORK)
    for words in ("good · anna · 1", "docker", "target 4.0", "reproduced if 3.9 to 4.1", "of 3 min CPU", "clock"):
        assert words in banner, words
    assert "3.99" not in banner and "4.5" not in banner  # the gold run and siblings, which agents are not told

    run_last(
        page,
        "import os, random\nrng = random.Random(0)\n"
        "mean_of_draws = sum(rng.random() * 8 for _ in range(20000)) / 20000\n"
        "print('in a container:', os.path.exists('/.dockerenv'))\n"
        "print(f'mean of the draws = {mean_of_draws:.3f}')",
    )
    page.wait_for_selector(f"{SHOWN} .jp-OutputArea >> text=mean of the draws = 4.0", timeout=60_000)
    assert page.locator(f"{SHOWN} .jp-OutputArea >> text=in a container: True").count() == 1

    # Tab knows what the container's kernel knows, and is no cell of the record.
    cells = sum(event.kind == "cell" for event in read_events(folder.stream))
    page.click(f"{LAST} >> .cm-content")
    page.keyboard.type("attempt.check_")
    page.wait_for_timeout(1000)
    page.keyboard.press("Tab")
    page.wait_for_selector(".jp-Completer:not(.lm-mod-hidden) >> text=check_anchor", timeout=30_000)
    page.keyboard.press("Enter")
    page.keyboard.type("('draws', 20000)")
    assert sum(event.kind == "cell" for event in read_events(folder.stream)) == cells
    page.keyboard.press("Shift+Enter")
    page.wait_for_selector(f"{SHOWN} .jp-OutputArea >> text=agrees with the paper", timeout=30_000)
    page.wait_for_selector(f"{WORK} >> text=2 of 500 cells", timeout=30_000)
    assert page.locator(f"{PANEL} .jp-reclaim-Row.jp-mod-running").count() == 1
    shot(page, "human")

    page.click(f"{WORK} >> text=Hand In…")
    page.wait_for_selector(".jp-Dialog input")
    page.fill(".jp-Dialog input >> nth=0", "many")
    assert page.is_disabled(".jp-Dialog .jp-mod-accept")
    page.fill(".jp-Dialog input >> nth=0", "4.003")
    page.fill(".jp-Dialog input >> nth=1", "mean of 20,000 draws")
    shot(page, "hand-in")
    page.click(".jp-Dialog .jp-mod-accept")
    page.wait_for_selector(f"{WORK} .jp-reclaim-outcome.jp-mod-reproduced", timeout=120_000)
    assert "ended: submitted" in page.inner_text(WORK)
    row = row_of(folder)
    assert (row.agent, row.reason, row.outcome, row.submitted) == ("human", "submitted", "reproduced", "4.003")
    assert verify_record(folder).sound
    page.wait_for_selector(f'{PANEL} .jp-mod-paper[data-paper="tiny/good"] .jp-mod-reproduced >> nth=1')
    shot(page, "human-graded")

    # The person's notebook is saved, and what is judged is the record.
    page.keyboard.press("Control+s")
    page.wait_for_function("!window.jupyterapp.shell.currentWidget.content.model.dirty")
    work = json.loads((folder.path / "work.ipynb").read_text("utf-8"))
    assert any("mean_of_draws" in "".join(cell["source"]) for cell in work["cells"])
    page.click(f"{WORK} >> text=Record")
    page.wait_for_selector(f"{SHOWN} .jp-reclaim-seal.jp-mod-sound", timeout=60_000)
    assert "mean of the draws" in page.inner_text(f"{SHOWN} .jp-reclaim-Banner-evidence")


def test_a_person_leaves_comes_back_and_closes(page: Any, lab: Lab) -> None:
    begin(page, "local")
    opened(page)
    folder = newest(lab)
    run_last(page, "kept = 41")
    page.wait_for_selector(f"{WORK} >> text=1 of 500 cells", timeout=30_000)

    # A closed tab closes no attempt; a click on it in the panel leads back to the notebook, not to the record.
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    page.evaluate("() => void window.jupyterapp.commands.execute('application:close')")
    page.wait_for_selector(WORK, state="detached")
    assert is_held(folder)
    page.click(f"{PANEL} .jp-reclaim-Row.jp-mod-running")
    ready(page)
    run_last(page, "print(kept + 1)")
    page.wait_for_selector(f"{SHOWN} .jp-OutputArea >> text=42", timeout=60_000)

    page.click(f"{WORK} >> text=Close…")
    page.wait_for_selector(".jp-Dialog >> text=To go on later, only close the tab")
    page.click(".jp-Dialog .jp-mod-accept")
    page.wait_for_selector(f"{WORK} >> text=ended: agent stopped", timeout=60_000)
    assert row_of(folder).reason == "agent_stopped" and row_of(folder).submitted is None
    page.wait_for_selector(f"{WORK} .jp-reclaim-outcome", timeout=60_000)
