"""Opens `reclaim lab --demo` in a browser, prints what it shows; run where there is no network but the machine itself.

Arguments: an empty folder to work in, and where the picture goes.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from browser_lab import launched

PANEL = "#jp-reclaim-panel"
SHOWN = ".jp-NotebookPanel:not(.lm-mod-hidden)"
PAPER = "small/iforest-breastw"


def main(folder: Path, picture: Path) -> None:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    reached = True
    try:
        socket.create_connection(("192.0.2.1", 80), timeout=2).close()  # nobody's, by RFC 5737
    except OSError as problem:
        reached = problem.errno is None  # a time-out would mean that there is a way out
    kept = {name: text for name, text in os.environ.items() if "KEY" not in name and "TOKEN" not in name}
    environment = {**kept, "HOME": str(folder), "DOCKER_HOST": "unix:///nowhere/docker.sock"}
    options = [
        "--no-browser",
        "--allow-root",
        "--IdentityProvider.token=",
        "--ServerApp.port=8765",
        "--ServerApp.ip=127.0.0.1",
    ]
    reclaim = Path(sys.executable).with_name("reclaim")
    server = subprocess.Popen([reclaim, "lab", "--demo", "--", *options], cwd=folder, env=environment)
    try:
        address = "http://127.0.0.1:8765"
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{address}/reclaim/api/status").close()
                break
            except OSError:
                time.sleep(0.2)
        with launched() as chromium:
            page = chromium.new_page(viewport={"width": 1400, "height": 860})
            page.set_default_timeout(120_000)
            asked: list[str] = []
            page.on("request", lambda request: asked.append(request.url))
            page.goto(f"{address}/lab?reset", timeout=120_000)
            page.wait_for_selector(".jp-Launcher")
            if page.locator("text=Would you like to get notified").count():
                page.click(".Toastify button >> text=No")
            page.click('.jp-SideBar [data-id="jp-reclaim-panel"]')
            page.click(f"{PANEL} label:has-text('tried')")
            page.wait_for_selector(f'{PANEL} .jp-mod-paper[data-paper="{PAPER}"]')
            marks = page.locator(f"{PANEL} .jp-mod-paper .jp-reclaim-Mark").count()
            page.click(f'{PANEL} .jp-mod-paper[data-paper="{PAPER}"]')
            page.click(f'{PANEL} .jp-mod-attempt[data-path*="/iforest-breastw/replay/"]')
            page.wait_for_selector(f"{SHOWN} .jp-reclaim-seal.jp-mod-sound")
            page.click(f"{SHOWN} .jp-reclaim-Evidence >> nth=0")
            page.wait_for_timeout(1500)
            picture.parent.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=picture)
            told = {
                "network": reached,
                "marks": marks,
                "banner": page.inner_text(f"{SHOWN} .jp-reclaim-Banner"),
                "elsewhere": [
                    url for url in asked if not url.startswith((address, "ws://127.0.0.1", "data:", "blob:"))
                ],
            }
        print(json.dumps(told))
    finally:
        server.terminate()
        server.wait(60)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
