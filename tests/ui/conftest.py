"""JupyterLab with the built extension, real attempts, and a browser."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser_lab import REPOSITORY, Lab, browser, launched, open_lab, pictures

sys.path.insert(0, str(Path(__file__).parent.parent / "server"))  # what both folders' tests make attempts of


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say where the pictures are, when there are any."""
    if pictures.cache_info().currsize:
        terminalreporter.write_line(f"pictures of the lab: {pictures()}")


def missing() -> str | None:
    """Return what the browser test lacks here."""
    if not (REPOSITORY / "reclaim_nb" / "labextension" / "package.json").exists():
        return "the lab extension is not built (make labextension)"
    if browser() is None:
        return "there is no chromium (Debian: apt install chromium)"
    try:
        import jupyterlab  # noqa: F401
        import playwright  # noqa: F401
    except ImportError as problem:
        return f"{problem.name} is not installed (pip install -e '.[ui]')"
    return None


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A server with three attempts in it, made on the local kernel."""
    if (problem := missing()) is not None:
        if os.environ.get("RECLAIM_REQUIRE_BROWSER") == "1":
            pytest.fail(f"RECLAIM_REQUIRE_BROWSER=1, but: {problem}", pytrace=False)
        pytest.skip(problem)
    from lab_papers import GOOD, HOSTILE, MISS, slow, write_suite

    from reclaim_nb.attempts.prepare import Request, prepare
    from reclaim_nb.attempts.runner import run_attempt
    from reclaim_nb.commands.running import grade_now

    base = tmp_path_factory.mktemp("lab")
    papers, root = base / "papers", base / "root"
    write_suite(papers, {"good": GOOD, "miss": MISS, "hostile": HOSTILE, "slow": slow(45, 4)})
    for paper in ("good", "miss", "hostile"):
        request = Request(paper=str(papers / "tiny" / paper), runs=str(root / "runs"), kernel="local")
        grade_now(run_attempt(prepare(request)).folder)

    labextensions = base / "labextensions" / "@reclaim-nb"
    labextensions.mkdir(parents=True)
    (labextensions / "lab").symlink_to(REPOSITORY / "reclaim_nb" / "labextension")
    # An editable install does not enable the server extension; the file that a wheel installs does.
    enabled = base / "config" / "jupyter_server_config.d"
    enabled.mkdir(parents=True)
    shutil.copy(REPOSITORY / "reclaim_nb" / "server" / "reclaim.json", enabled)
    settings = base / "settings"
    settings.mkdir()
    (settings / "overrides.json").write_text(
        json.dumps({"@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}}), "utf-8"
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {
        "ServerApp.root_dir": root,
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.open_browser": False,
        "ServerApp.allow_root": True,
        "IdentityProvider.token": "secret",
        "ReclaimServer.papers_dirs": papers,
        "LabServerApp.extra_labextensions_path": base / "labextensions",
        "LabApp.app_settings_dir": settings,
        "LabApp.user_settings_dir": base / "user",
        "LabApp.workspaces_dir": base / "workspaces",
        "LabApp.expose_app_in_browser": True,
    }
    with open(base / "server.log", "wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *(f"--{name}={value}" for name, value in options.items())],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "JUPYTER_CONFIG_DIR": str(base / "config"), "HOME": str(base)},
        )
    found = Lab(f"http://127.0.0.1:{port}", "secret", root, papers)
    try:
        deadline = time.monotonic() + 120
        while True:
            try:
                with urllib.request.urlopen(f"{found.address}/reclaim/api/status?token=secret", timeout=5) as answer:
                    assert json.load(answer)["runs_path"] == "runs"
                    break
            except OSError as problem:
                # An answer of 404 is one of a server whose extension did not load.
                if (
                    isinstance(problem, urllib.error.HTTPError)
                    or server.poll() is not None
                    or time.monotonic() > deadline
                ):
                    pytest.fail(f"the server did not start:\n{(base / 'server.log').read_text()[:3000]}")
                time.sleep(0.2)
        yield found
    finally:
        server.terminate()
        server.wait(30)


@pytest.fixture(scope="session")
def chromium(lab: Lab) -> Iterator[Any]:
    with launched() as started:
        yield started


@pytest.fixture(scope="session")
def profile(chromium: Any) -> Iterator[Any]:
    """One for all tests, so that the lab's many files are fetched once."""
    context = chromium.new_context(viewport={"width": 1400, "height": 820})
    context.set_default_timeout(60_000)
    context.set_default_navigation_timeout(120_000)
    yield context
    context.close()


LATE_ANSWERS = """(most) => {
    const soon = window.fetch.bind(window);
    window.fetch = async (...asked) => {
        const url = String(asked[0]?.url ?? asked[0]);
        const wait = url.includes('/reclaim/api/') ? Math.random() * most : 0;
        await new Promise(done => setTimeout(done, wait));
        return soon(...asked);
    };
}"""


def slowed(page: Any) -> None:
    """Make a page as slow as RECLAIM_UI_SLOWER says, to find races: its processor, network and server."""
    if slower := int(os.environ.get("RECLAIM_UI_SLOWER", "1")) - 1:
        tools = page.context.new_cdp_session(page)
        tools.send("Emulation.setCPUThrottlingRate", {"rate": slower + 1})
        slow_network = {"offline": False, "latency": 100 * slower, "downloadThroughput": -1, "uploadThroughput": -1}
        tools.send("Network.emulateNetworkConditions", slow_network)
        page.add_init_script(f"({LATE_ANSWERS})({1000 * slower})")


@pytest.fixture
def page(profile: Any, lab: Lab) -> Iterator[Any]:
    """A fresh lab, with the panel open."""
    page = profile.new_page()
    slowed(page)
    problems: list[str] = []

    def keep(problem: Any) -> None:
        # ipywidgets stumbles over every notebook without a kernel, which those of attempts are.
        if "@jupyter-widgets/" not in (problem.stack or ""):
            problems.append(f"{problem}\n{problem.stack}")

    page.on("pageerror", keep)
    page.problems = problems
    open_lab(page, lab)
    # Running attempts and batches come to stand above the papers, and would move what is about to be clicked.
    page.wait_for_selector("#jp-reclaim-panel [role=tree][aria-busy=false]", timeout=60_000)
    yield page
    page.close()
    assert problems == [], "errors in the page"
