"""The attempt page's conversation, network log and re-execution, and the comparison, in a real browser."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import pytest
from browser_lab import Lab, shot

pytestmark = [pytest.mark.ui, pytest.mark.timeout(600)]

PANEL = "#jp-reclaim-panel"
PAGE = ".jp-MainAreaWidget:not(.lm-mod-hidden) .jp-reclaim-Page"
TALK = f"{PAGE} .jp-reclaim-Talk"
RUN = "([command, args]) => void window.jupyterapp.commands.execute(command, args)"
ACTIVE = "window.jupyterapp.shell.currentWidget?.content?.activeCell?.model.sharedModel.source ?? ''"


def get(lab: Lab, address: str) -> Any:
    with urllib.request.urlopen(f"{lab.address}/reclaim/api/{address}?token={lab.token}", timeout=30) as answer:
        return json.load(answer)


@pytest.fixture(scope="module")
def talked(lab: Lab) -> str:
    """An attempt at ``tiny/good`` by a scripted model; in a container under an allow list where there is one."""
    from lab_talk import talk

    from reclaim_nb.errors import KernelError
    from reclaim_nb.kernels.images import engine_problem, image_info
    from reclaim_nb.kernels.network_image import require_proxy_image

    request: dict[str, Any] = {}
    try:
        if engine_problem() is None and image_info() is not None:
            require_proxy_image()
            request = {"kernel": "docker", "network": "allowlist", "allow": ("data.example",)}
    except KernelError:
        request = {}
    return str(talk(lab.papers, lab.runs, **request).folder.path.relative_to(lab.runs))


@pytest.fixture(scope="module")
def other(lab: Lab) -> str:
    """An attempt at ``tiny/good`` with other cells."""
    from lab_papers import GOOD
    from lab_talk import replay

    cells = {
        "draw": GOOD["draw"].replace("* 8", "* 8.3"),
        "look": "print('smallest and largest:', min(draws), max(draws))",
        "fails": "raise ValueError('a cell that the other attempt has not')",
        "measure": GOOD["measure"],
        "submit": GOOD["submit"],
    }
    finished = replay(lab.papers, lab.runs, cells, lab.root / "other.ipynb")
    return str(finished.folder.path.relative_to(lab.runs))


def listed(page: Any, path: str) -> None:
    """Wait until the panel knows an attempt."""
    page.evaluate(RUN, ["reclaim:refresh", {}])
    page.fill(f"{PANEL} input[type=search]", "tiny/good")
    if page.locator(f'{PANEL} .jp-mod-paper[data-paper="tiny/good"][aria-expanded=false]').count():
        page.click(f'{PANEL} .jp-mod-paper[data-paper="tiny/good"]')
    page.wait_for_selector(f'{PANEL} .jp-mod-attempt[data-path="{path}"]', timeout=30_000)


def open_page(page: Any, path: str) -> None:
    listed(page, path)
    page.evaluate(RUN, ["reclaim:open-page", {"path": path}])
    page.wait_for_selector(f"{TALK} .jp-reclaim-Talk-row", timeout=30_000)


def test_conversation_stands_beside_the_cells(page: Any, talked: str) -> None:
    from lab_talk import ASK, HOSTILE, MEASURE, SAID

    open_page(page, talked)
    row = page.locator(f"{TALK} .jp-reclaim-Talk-row", has_text=SAID)
    assert "20000 draws" in row.locator(".jp-reclaim-Talk-cell").inner_text()
    left, right = (row.locator(f".jp-reclaim-Talk-{one}").bounding_box() for one in ("words", "cell"))
    assert left["x"] + left["width"] <= right["x"]
    calls = page.locator(f"{TALK} .jp-reclaim-Talk-call").all_inner_texts()
    assert any("check_anchor" in text and "agrees with the paper" in text for text in calls)
    assert any("refused" in text for text in calls)

    # What an agent writes is text, whatever it looks like.
    assert HOSTILE in page.locator(f"{TALK} .jp-reclaim-Talk-said").nth(1).inner_text()
    assert page.locator(f"{TALK} :is(img, script, b, iframe)").count() == 0
    assert page.evaluate("window.hacked") is None
    shot(page, "conversation", f"{PAGE} h2:has-text('Conversation')")

    page.select_option(f"{TALK} select", label="5 mean = sum(draws) / len(draws)")
    page.wait_for_function(
        "() => document.activeElement?.classList.contains('jp-reclaim-Talk-row')"
        " && document.activeElement.textContent.includes('mean of the draws = 4.003')"
    )
    long = page.locator(f"{TALK} .jp-reclaim-Talk-said", has_text="A long thought.")
    assert "[…]" in long.inner_text()
    long.locator("text=Show all").click()
    page.wait_for_function(
        "() => [...document.querySelectorAll('.jp-reclaim-Talk-said')].some(one => one.textContent.length > 9000)"
    )
    assert "[…]" not in long.inner_text()

    page.locator(f"{TALK} .jp-reclaim-Talk-row", has_text=MEASURE.split("\n")[0]).locator("header >> text=Show").click()
    page.wait_for_function(f"{ACTIVE} === {json.dumps(MEASURE)}", timeout=60_000)
    assert ASK != MEASURE


def test_network_log_names_requests_and_their_cells(page: Any, lab: Lab, talked: str) -> None:
    from lab_talk import ASK

    if get(lab, f"networks/{talked}")["policy"] != "allowlist":
        pytest.skip("no container under an allow list can be had here")
    open_page(page, talked)
    log = f"{PAGE} .jp-reclaim-Network"
    page.wait_for_selector(f"{log} tr", timeout=30_000)
    refused = page.locator(f"{log} tr", has_text="elsewhere.example")
    assert "refused" in refused.first.inner_text() and "/weights.bin" in refused.first.inner_text()
    assert "allowed" in page.locator(f"{log} tr", has_text="data.example").first.inner_text()
    shot(page, "network", f"{PAGE} h2:has-text('Network')")
    page.select_option(f"{log} select", "refused")
    page.wait_for_function(
        f"document.querySelectorAll({json.dumps(log + ' tbody tr:not(.jp-mod-refused)')}).length === 0"
    )
    refused.first.locator("button").click()
    page.wait_for_function(f"{ACTIVE} === {json.dumps(ASK)}", timeout=60_000)


def test_two_attempts_are_chosen_in_the_panel_and_compared(page: Any, other: str) -> None:
    listed(page, other)
    rows = f'{PANEL} .jp-mod-attempt[data-path$="/replay/{{}}"]'
    page.hover(rows.format("01"))
    page.check(f"{rows.format('01')} .jp-reclaim-Pick")
    bar = f"{PANEL} .jp-reclaim-PickBar"
    assert "Choose another attempt" in page.inner_text(bar)
    assert page.is_disabled(f"{bar} >> text=Compare")
    page.click(rows.format(other[-2:]), modifiers=["Control"])
    assert page.get_attribute(rows.format(other[-2:]), "aria-checked") == "true"
    shot(page, "choose-two")
    page.click(f"{bar} button.jp-mod-accept")

    page.wait_for_selector(f"{PAGE} .jp-reclaim-Compare-row", timeout=30_000)
    sides = page.locator(f"{PAGE} .jp-reclaim-Compare-side").all_inner_texts()
    assert "reproduced" in sides[0] and "near miss" in sides[1]
    # One scale for both: the value of the other stands where its own line has it.
    places = page.eval_on_selector_all(
        f"{PAGE} .jp-reclaim-Compare-side .jp-reclaim-NumberLine-mark.jp-mod-target",
        "all => all.map(x => x.style.left)",
    )
    assert len(places) == 2 and places[0] == places[1]
    matches = page.locator(f"{PAGE} .jp-reclaim-Compare-match").all_inner_texts()
    assert (
        matches[0] == "changed"
        and matches[1].startswith("only in replay #")
        and matches[-2:] == ["the same in both"] * 2
    )
    differs = page.locator(f"{PAGE} .jp-reclaim-Compare-row >> nth=0 >> .jp-mod-differs").all_inner_texts()
    assert len(differs) == 2 and differs[0].startswith("−") and "* 8.3" in differs[1] and differs[1].startswith("+")
    measured = page.locator(f"{PAGE} .jp-reclaim-Compare-row", has_text="mean = sum(draws)").last.inner_text()
    assert "4.003" in measured and "4.15" in measured
    assert page.locator(f"{PAGE} .jp-reclaim-Spend-cell").count() >= 8
    assert page.locator(f"{PAGE} .jp-reclaim-Spend-chart polygon").count() == 3
    shot(page, "compare")
    shot(page, "compare-cells", f"{PAGE} h2:has-text('Cells')")

    page.check(f"{PAGE} >> text=only what differs")
    page.wait_for_function("() => document.querySelectorAll('.jp-reclaim-Compare-row.jp-mod-same').length === 0")
    page.click(f"{PAGE} .jp-reclaim-Spend-cell >> nth=-1", force=True)  # the submission, which is the same in both
    page.wait_for_function(
        "() => document.activeElement?.classList.contains('jp-reclaim-Compare-row')"
        " && document.activeElement.textContent.includes('attempt.submit')"
    )


@pytest.mark.parametrize("theme", ["JupyterLab Dark", "JupyterLab Dark High Contrast"])
def test_comparison_in_other_themes(page: Any, other: str, theme: str) -> None:
    listed(page, other)
    page.evaluate(RUN, ["apputils:change-theme", {"theme": theme}])
    page.wait_for_function(f"document.body.dataset.jpThemeName === '{theme}'", timeout=30_000)
    page.evaluate(RUN, ["reclaim:compare", {"left": "single/tiny/good/replay/01", "right": other}])
    page.wait_for_selector(f"{PAGE} .jp-reclaim-Compare-row", timeout=30_000)
    shot(page, f"compare-{theme.lower().replace('jupyterlab ', '').replace(' ', '-')}")
    page.evaluate(RUN, ["apputils:change-theme", {"theme": "JupyterLab Light"}])
    page.wait_for_function("document.body.dataset.jpThemeName === 'JupyterLab Light'", timeout=30_000)


def test_compare_asks_for_two_attempts(page: Any, other: str) -> None:
    listed(page, other)
    page.evaluate(RUN, ["reclaim:compare", {}])
    page.wait_for_selector(".jp-Dialog .jp-reclaim-Form select")
    page.select_option(".jp-Dialog label:has-text('Paper') select", "tiny/good")
    page.select_option(".jp-Dialog label:has-text('With') select", other)
    shot(page, "compare-dialog")
    page.click(".jp-Dialog .jp-mod-accept")
    page.wait_for_selector(f"{PAGE} .jp-reclaim-Compare-row", timeout=30_000)
    assert "two attempts" in page.inner_text(f"{PAGE} h1")


def test_attempt_is_re_executed_from_its_page(page: Any, lab: Lab, other: str) -> None:
    open_page(page, other)
    again = f"{PAGE} .jp-reclaim-Reexecution"
    assert "Not run again yet" in page.inner_text(again)
    page.click(f"{again} >> text=Re-execute…")
    page.wait_for_selector(".jp-Dialog .jp-reclaim-Choice")
    shot(page, "re-execute-dialog")
    page.click(".jp-Dialog .jp-mod-accept")
    page.wait_for_selector(f"{again} [role=status]", timeout=60_000)
    page.wait_for_selector(f"{again} >> text=came out again", timeout=120_000)
    assert "another number" in page.inner_text(again)
    page.wait_for_selector(f"{PAGE} .jp-reclaim-Verdict h3 >> text=rules+reexecution", timeout=30_000)
    shot(page, "re-execution", f"{PAGE} h2:has-text('Verdicts')")
    files = [one["file"] for one in get(lab, f"attempts/{other}")["verdicts"]]
    assert files == ["verdict.rules.json", "verdict.rules+reexecution.json"]


def test_a_re_execution_is_stopped_from_its_page(page: Any, lab: Lab) -> None:
    from lab_papers import AGAIN_SLOW
    from lab_talk import replay

    made = replay(lab.papers, lab.runs, AGAIN_SLOW, lab.root / "again-slow.ipynb").folder
    open_page(page, made.path.relative_to(lab.runs).as_posix())
    again = f"{PAGE} .jp-reclaim-Reexecution"
    page.click(f"{again} >> text=Re-execute…")
    page.click(".jp-Dialog .jp-mod-accept")
    page.wait_for_selector(f"{again} >> text=Running again for", timeout=60_000)
    shot(page, "re-execution-runs", f"{PAGE} h2:has-text('Verdicts')")

    page.click(f"{again} >> text=Stop…")
    page.click(".jp-Dialog button >> text=Cancel")
    assert "Running again for" in page.inner_text(again)
    page.click(f"{again} >> text=Stop…")
    page.wait_for_selector(".jp-Dialog >> text=keeps its record and its verdicts")
    shot(page, "stop-re-execution")
    page.click(".jp-Dialog .jp-mod-accept")
    page.wait_for_selector(f"{again} >> text=The last try was stopped after", timeout=60_000)
    shot(page, "re-execution-stopped", f"{PAGE} h2:has-text('Verdicts')")
    assert page.locator(f"{again} >> text=Re-execute again…").is_enabled()
    assert page.locator(f"{PAGE} .jp-reclaim-Verdict").count() == 1
    assert not list(made.path.glob("reexecution.*"))
