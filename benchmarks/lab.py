"""JupyterLab beside ten thousand attempts: the panel's first paint, a keystroke in its filter, the server's memory.

A real server and a real browser. The folders are written by ``synthetic.py`` unless a runs folder is given. A large
attempt (500 cells that print 100 kB each) is really made, on the local kernel, and opened beside them.

    python benchmarks/lab.py [RUNS] [--small]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parent.parent
BARS = {
    "first paint, s": 1.5,
    "keystroke, ms": 100.0,
    "keystroke beside the large attempt, ms": 100.0,
    "memory growth, MB": 200.0,
}
PANEL = "#jp-reclaim-panel"
WORDS = "replay near miss"
MARKS = """
window.marks = {};
const look = () => {
  const app = window.jupyterapp;
  if (app && !window.marks.asked) {
    window.marks.asked = true;
    app.restored.then(() => { window.marks.ready = performance.now(); });
  }
  if (document.querySelector('.jp-reclaim-Row.jp-mod-paper')) {
    window.marks.painted = window.marks.painted ?? performance.now();
  }
  // Not by an attempt's mark: those of the first papers in the list may have none.
  if (window.marks.painted && !document.querySelector('.jp-reclaim-Explorer-reading')) {
    window.marks.listed = window.marks.listed ?? performance.now();
  }
  if (!(window.marks.ready && window.marks.painted && window.marks.listed)) { requestAnimationFrame(look); }
};
requestAnimationFrame(look);
window.strokes = [];
document.addEventListener('input', () => {
  const began = performance.now();
  requestAnimationFrame(() => setTimeout(() => window.strokes.push(performance.now() - began)));
}, true);
"""
"""From the event of a key to the first moment after the next frame was painted."""


GAPS = """
() => new Promise(done => {
  const gaps = [];
  const began = performance.now();
  let last = began;
  const outer = document.querySelector('.jp-WindowedPanel-outer');
  const look = now => {
    gaps.push(now - last);
    last = now;
    if (outer) { outer.scrollTop += 40; }
    if (now - began < 10000) { requestAnimationFrame(look); } else { done(gaps); }
  };
  requestAnimationFrame(look);
})
"""
"""Time between frames while the notebook is scrolled."""


def write_large(base: Path) -> Path:
    """Make an attempt of 500 cells and about 50 MB; return the folder of its suite's parent."""
    sys.path.insert(0, str(ROOT / "tests" / "server"))
    from lab_papers import write_suite

    from reclaim_nb.attempts.prepare import Request, prepare
    from reclaim_nb.attempts.runner import run_attempt
    from reclaim_nb.commands.running import grade_now

    cells = {f"c{index}": f"for row in range(1000):\n    print('{index}', row, 'x' * 90)" for index in range(499)}
    cells["submit"] = "attempt.submit('4', note='large')"
    papers = base / "papers"
    write_suite(papers, {"large": cells}, {"large": {"budget": {"hours": 2, "rationale": "plenty"}}})
    request = Request(paper=str(papers / "tiny" / "large"), runs=str(base / "runs"), kernel="local", batch="large")
    grade_now(run_attempt(prepare(request)).folder)
    return papers


@contextmanager
def server(base: Path, papers: Path | None, *, panel: bool = True) -> Iterator[tuple[str, psutil.Process]]:
    """Run JupyterLab on ``base/runs``; without the panel, as anybody's."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    state = Path(tempfile.mkdtemp(prefix="reclaim-lab-"))
    (state / "labextensions" / "@reclaim-nb").mkdir(parents=True)
    if panel:
        (state / "labextensions" / "@reclaim-nb" / "lab").symlink_to(ROOT / "reclaim_nb" / "labextension")
    else:
        settings = state / "config" / "labconfig"
        settings.mkdir(parents=True)
        (settings / "page_config.json").write_text(json.dumps({"disabledExtensions": {"@reclaim-nb/lab": True}}))
    (state / "config" / "jupyter_server_config.d").mkdir(parents=True)
    shutil.copy(ROOT / "reclaim_nb" / "server" / "reclaim.json", state / "config" / "jupyter_server_config.d")
    options = {
        "ServerApp.root_dir": base,
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.open_browser": False,
        "ServerApp.allow_root": True,
        "IdentityProvider.token": "secret",
        "LabServerApp.extra_labextensions_path": state / "labextensions",
        "LabApp.user_settings_dir": state / "user",
        "LabApp.workspaces_dir": state / "workspaces",
        "LabApp.expose_app_in_browser": True,
    }
    if papers is not None:
        options["ReclaimServer.papers_dirs"] = papers
    with open(state / "server.log", "wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *(f"--{name}={value}" for name, value in options.items())],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "JUPYTER_CONFIG_DIR": str(state / "config")},
        )
    address = f"http://127.0.0.1:{port}"
    try:
        while True:
            try:
                with urllib.request.urlopen(f"{address}/reclaim/api/status?token=secret", timeout=5) as answer:
                    json.load(answer)
                break
            except OSError:
                if process.poll() is not None:
                    raise SystemExit((state / "server.log").read_text()) from None
                time.sleep(0.2)
        yield address, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(30)
        shutil.rmtree(state, ignore_errors=True)


def megabytes(process: psutil.Process) -> float:
    """Return what a server holds, with its children's share."""
    return sum(one.memory_info().rss for one in (process, *process.children(recursive=True))) / 1e6


def strokes(page: Any) -> float:
    """Type into the filter and return the slowest keystroke, in milliseconds."""
    field = f"{PANEL} input[type=search]"
    page.fill(field, "")
    page.wait_for_timeout(500)
    page.evaluate("window.strokes = []")
    page.focus(field)
    for key in WORDS:
        page.keyboard.press(key if key != " " else "Space")
        page.wait_for_timeout(120)
    page.wait_for_timeout(500)
    found = page.evaluate("window.strokes")
    page.fill(field, "")
    print(f"  keystrokes: median {statistics.median(found):.0f} ms, slowest {max(found):.0f} ms")
    return float(max(found))


def opened(page: Any, address: str, notebook: str) -> tuple[float, float]:
    """Open a notebook; return the seconds until its first cell is there, and the longest the page then stands still.

    The second in milliseconds, over ten seconds of scrolling down.
    """
    page.goto("about:blank")
    began = time.monotonic()
    page.goto(f"{address}/lab/tree/{notebook}?token=secret&reset")
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell")
    seconds = time.monotonic() - began
    gaps = page.evaluate(GAPS)
    return seconds, float(max(gaps))


def measure(base: Path, papers: Path | None) -> dict[str, float]:
    """Measure what ``BARS`` names."""
    from playwright.sync_api import sync_playwright

    found: dict[str, float] = {}
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    flags = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    with server(base, papers) as (address, process), sync_playwright() as driver:
        idle = megabytes(process)
        chromium = driver.chromium.launch(executable_path=browser, args=flags)
        page = chromium.new_page(viewport={"width": 1400, "height": 820})
        page.set_default_timeout(180_000)
        page.add_init_script(MARKS)
        page.goto(f"{address}/lab?token=secret")
        page.wait_for_selector(".jp-Launcher")
        page.click('.jp-SideBar [data-id="jp-reclaim-panel"]')
        page.wait_for_selector(".jp-reclaim-Row.jp-mod-paper")
        page.wait_for_timeout(3000)  # the workspace is saved, so that the panel is open at the next start
        page.goto(f"{address}/lab?token=secret")
        page.wait_for_function("window.marks.ready && window.marks.painted && window.marks.listed")
        marks = page.evaluate("window.marks")
        found["first paint, s"] = max(0.0, marks["painted"] - marks["ready"]) / 1000
        found["attempts listed, s"] = max(0.0, marks["listed"] - marks["ready"]) / 1000
        found["keystroke, ms"] = strokes(page)
        page.wait_for_timeout(20_000)  # looks at the folder
        found["memory growth, MB"] = megabytes(process) - idle
        if papers is not None:
            page.fill(f"{PANEL} input[type=search]", "tiny/large")
            page.click(f'{PANEL} .jp-mod-paper[data-paper="tiny/large"]')
            page.click(f'{PANEL} .jp-mod-attempt[data-path*="/large/"]')
            began = time.monotonic()
            page.wait_for_selector(".jp-reclaim-Banner-name")
            found["large attempt opened, s"] = time.monotonic() - began
            page.wait_for_timeout(5000)
            found["keystroke beside the large attempt, ms"] = strokes(page)
        chromium.close()
    if papers is not None:
        [path] = (base / "runs" / "large").rglob("attempt.ipynb")
        notebook = path.relative_to(base).as_posix()
        for panel in (False, True):
            with server(base, papers, panel=panel) as (address, _), sync_playwright() as driver:
                chromium = driver.chromium.launch(executable_path=browser, args=flags)
                page = chromium.new_page(viewport={"width": 1400, "height": 820})
                page.set_default_timeout(180_000)
                seconds, still = opened(page, address, notebook)
                beside = "with the panel" if panel else "in plain JupyterLab"
                found[f"first cell {beside}, s"], found[f"stood still {beside}, ms"] = seconds, still
                chromium.close()
    return found


def main() -> None:
    """Measure, and say what is over its bar."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="?", type=Path, help="a runs folder, named runs; default: one is written")
    parser.add_argument("--attempts", type=int, default=10_000, help="how many are written")
    parser.add_argument("--small", action="store_true", help="without the large attempt")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="reclaim-lab-runs-") as folder:
        base = Path(folder)
        if given.runs is None:
            from synthetic import write_runs

            write_runs(base / "runs", given.attempts)
        else:
            shutil.copytree(given.runs, base / "runs", copy_function=os.link)
        papers = None if given.small else write_large(base)
        if papers is not None:
            size = sum(path.stat().st_size for path in (base / "runs" / "large").rglob("*") if path.is_file())
            print(f"  large attempt: {size / 1e6:.0f} MB on disk")
        found = measure(base, papers)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
    for name, value in found.items():
        bar = BARS.get(name)
        told = "" if bar is None else f"  (bar {bar:g}: {'ok' if value <= bar else 'OVER'})"
        print(f"{name:<42}{value:>9.2f}{told}")
    sys.exit(any(value > BARS.get(name, float("inf")) for name, value in found.items()))


if __name__ == "__main__":
    main()
