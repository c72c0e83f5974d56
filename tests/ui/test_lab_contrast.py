"""Everything that is read can be read: the contrast of every text of ours, in each of the lab's themes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from browser_lab import Lab
from test_lab import PANEL, SHOWN, open_attempt, shot

pytestmark = [pytest.mark.ui, pytest.mark.timeout(600)]

LEAST = 4.5
"""Contrast of text by WCAG 2.1, AA."""

FAINT = """(least) => {
    const linear = part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const parse = text => {
        canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = '#000'; canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255];
    };
    const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
    const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
    const ground = node => {
        const layers = [];
        for (let at = node; at; at = at.parentElement) {
            const colour = parse(getComputedStyle(at).backgroundColor);
            layers.push(colour);
            if (colour[3] === 1) break;
        }
        return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
    };
    const faint = new Map();
    const ours = '.jp-reclaim-Panel *, .jp-reclaim-Banner *, .jp-reclaim-Document *, .jp-reclaim-Gutter *, ' +
        '.jp-reclaim-Form *, .jp-reclaim-Plan *, .jp-reclaim-Mime *';
    for (const node of document.querySelectorAll(ours)) {
        const texts = [...node.childNodes].filter(one => one.nodeType === 3);
        const text = texts.map(one => one.data.trim()).join(' ').trim();
        const box = node.getBoundingClientRect();
        if (!text || !box.width || node.closest('[hidden], .lm-mod-hidden, :disabled, option')) continue;
        const below = ground(node);
        const [a, b] = [light(over(parse(getComputedStyle(node).color), below)), light(below)];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        const name = node.className && typeof node.className === 'string' ? node.className : node.tagName;
        if (ratio < least && !faint.has(name)) faint.set(name, `${ratio.toFixed(2)} ${name}: ${text.slice(0, 40)}`);
    }
    return [...faint.values()].sort();
}"""


def change_theme(page: Any, theme: str) -> None:
    page.evaluate("theme => void window.jupyterapp.commands.execute('apputils:change-theme', {theme})", theme)
    page.wait_for_function(f"document.body.dataset.jpThemeName === '{theme}'", timeout=30_000)


@pytest.fixture
def themed(page: Any) -> Iterator[Any]:
    """The lab keeps the theme for the tests that follow, which are to see it as it was."""
    yield page
    change_theme(page, "JupyterLab Light")
    page.wait_for_timeout(1000)  # settings are saved a little later


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast"])
def test_every_text_stands_out_from_its_ground(themed: Any, lab: Lab, theme: str) -> None:
    page = themed
    change_theme(page, theme)
    high = theme.endswith("High Contrast")
    faint: dict[str, list[str]] = {}

    def look(name: str) -> None:
        page.wait_for_timeout(600)
        if found := page.evaluate(FAINT, LEAST):
            faint[name] = found
        if high:
            shot(page, f"high-contrast-{name}")

    open_attempt(page, "miss")
    look("attempt")
    page.click(f"{SHOWN} .jp-reclaim-Banner-buttons >> text=Timeline")
    page.wait_for_selector(".jp-reclaim-Timeline-cell", timeout=30_000)
    look("page")
    page.dblclick(f'{PANEL} .jp-mod-paper[data-paper="tiny/slow"]')
    page.wait_for_selector(".jp-reclaim-Card", timeout=30_000)
    look("card")
    page.evaluate("() => void window.jupyterapp.commands.execute('reclaim:new-attempt')")
    page.wait_for_selector(".jp-reclaim-Form", timeout=30_000)
    page.click(".jp-reclaim-Form summary")
    look("dialog")
    page.keyboard.press("Escape")
    assert faint == {}, "\n".join(line for lines in faint.values() for line in lines)
