"""What the browser tests know of the server that they look at."""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parent.parent.parent


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


@functools.cache
def pictures() -> Path:
    """Return the folder that pictures are kept in: the one that is named, else a new one outside of the checkout."""
    named = os.environ.get("RECLAIM_SCREENSHOTS")
    folder = Path(named) if named else Path(tempfile.mkdtemp(prefix="pictures-of-the-lab-"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def shot(page: Any, name: str, at: str | None = None) -> None:
    """Keep a picture of a page, with what a selector finds brought to the top."""
    if at is not None:
        page.locator(at).first.evaluate("node => node.scrollIntoView({block: 'start'})")
    page.wait_for_timeout(400)  # animations
    page.screenshot(path=pictures() / f"{name}.png")


def open_lab(page: Any, lab: Lab) -> None:
    """Open the lab as if for the first time, and the panel in it."""
    page.goto(f"{lab.address}/lab?token={lab.token}&reset")
    page.wait_for_selector(".jp-Launcher", timeout=120_000)
    page.click('.jp-SideBar [data-id="jp-reclaim-panel"]')
    page.wait_for_selector(".jp-reclaim-Row.jp-mod-paper", timeout=60_000)


def browser() -> str | None:
    """Return the command of a browser that is there."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@contextmanager
def launched() -> Iterator[Any]:
    """Yield a running browser that calls nobody by itself."""
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
    with sync_playwright() as driver:
        started = driver.chromium.launch(
            executable_path=browser(), args=[*flags, "--disable-component-update", "--disable-sync"]
        )
        yield started
        started.close()
