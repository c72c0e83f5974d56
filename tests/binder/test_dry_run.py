"""The Binder demo: its files in the order in which repo2docker uses them, and the notebook from top to bottom.

With ``RECLAIM_BINDER=1`` the whole procedure is done: an environment of the Python that ``runtime.txt`` names, the
requirements, ``postBuild``, JupyterLab on the demo, its execution, the peak of memory. Otherwise the notebook runs in
the environment that is there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
import psutil
import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "ui"))  # where the browser is
BINDER = ROOT / "binder"
DEMO = BINDER / "demo.ipynb"
MOST_BYTES = 1024**3
"""What Binder grants at least."""

whole = pytest.mark.skipif(not os.environ.get("RECLAIM_BINDER"), reason="set RECLAIM_BINDER=1 for the whole procedure")


def test_the_python_is_one_that_the_package_takes() -> None:
    named = re.fullmatch(r"python-3\.(\d+)\n", (BINDER / "runtime.txt").read_text())
    assert named is not None and int(named[1]) >= 11


def test_requirements_have_upper_bounds_and_fit_the_package() -> None:
    import tomllib

    lines = [line for line in (BINDER / "requirements.txt").read_text().splitlines() if line and line[0] != "#"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    ours = [Requirement(text) for text in [*project["dependencies"], *project["optional-dependencies"]["analysis"]]]
    for line in lines:
        one = Requirement(line)
        assert any(part.operator == "<" for part in one.specifier), line
        assert one.url is None, "a local path would keep the layer from being cached"
        for other in ours:
            if other.name == one.name:
                lowest = next(part.version for part in one.specifier if part.operator == ">=")
                assert other.specifier.contains(lowest), f"{line} starts below {other}"


def test_post_build_installs_the_package_and_can_be_run() -> None:
    script = BINDER / "postBuild"
    text = script.read_text()
    assert os.access(script, os.X_OK) and text.startswith("#!/bin/bash\n")
    assert re.search(r"^HATCH_BUILD_HOOKS_ENABLE=true python -m pip install --no-cache-dir \. ", text, re.MULTILINE)
    assert "set -euo pipefail" in text
    assert {path.name for path in BINDER.iterdir()} - {".ipynb_checkpoints"} == {
        *("requirements.txt", "runtime.txt", "postBuild", "demo.ipynb")
    }


def test_the_demo_is_kept_without_outputs() -> None:
    notebook = nbformat.read(DEMO, 4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    assert notebook.metadata.language_info.name == "python", "without it JupyterLab opens the notebook as changed"


def test_repo2docker_uses_the_files_in_this_order() -> None:
    pytest.importorskip("repo2docker")
    made = subprocess.run(
        [sys.executable, "-m", "repo2docker", "--no-build", "--debug", str(ROOT)], capture_output=True, text=True
    )
    text = made.stdout + made.stderr
    assert made.returncode == 0
    assert "python=3.12" in text
    parts = ('pip install --no-cache-dir -r "binder/requirements.txt"', "RUN ./binder/postBuild")
    places = [text.find(part) for part in parts]
    assert -1 not in places and places == sorted(places)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_demo_runs_from_top_to_bottom(tmp_path: Path) -> None:
    """No error, and the verdicts that the text between the cells speaks of."""
    from nbclient import NotebookClient

    pytest.importorskip("statsmodels")
    pytest.importorskip("matplotlib")
    notebook = nbformat.read(DEMO, 4)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "RECLAIM_DEMO_RUNS": str(tmp_path / "runs")}
    client = NotebookClient(
        notebook, timeout=280, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute(env=environment)
    check(notebook)


def check(notebook: nbformat.NotebookNode) -> None:
    """Look at what an executed demo shows."""
    shown = {cell.id: json.dumps(cell.get("outputs", [])) for cell in notebook.cells}
    places = {cell.id: place for place, cell in enumerate(notebook.cells)}
    faults = [o for cell in notebook.cells for o in cell.get("outputs", []) if o["output_type"] == "error"]
    assert faults == []
    assert "gradient angle" in shown["card"]
    live = "".join(output.get("text", "") for output in notebook.cells[places["live"]].outputs)
    assert re.search(r"outcome +\S+ reproduced", live)
    assert "outcome: reproduced" in shown["verdict"] and "<mark>" in shown["verdict"]
    assert "outcome: disqualified" in shown["null-verdict"]
    batch = notebook.cells[places["batch"]].outputs[-1]["data"]["text/plain"]
    for paper in ("iforest-breastw", "ntk-relu-condition-number"):
        assert paper in batch
    assert "image/svg+xml" in shown["success"] or "image/png" in shown["success"]
    for widget, told in (("explore", "36 of 36 attempts"), ("whatif", "1 x the tolerance")):
        controls, table = notebook.cells[places[widget]].outputs
        assert "application/vnd.jupyter.widget-view+json" in controls["data"]
        assert told in table["data"]["text/html"], "what is shown without a kernel"
    assert "reproduced" in shown["own-bar"]


class Peak:
    """Largest memory of everything below this process, while the block runs."""

    def __init__(self) -> None:
        self._root, self.bytes, self._over = psutil.Process(), 0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.2):
            total = 0
            for process in self._root.children(recursive=True):
                try:
                    total += process.memory_full_info().pss
                except psutil.Error:
                    continue
            self.bytes = max(self.bytes, total)


@dataclass(frozen=True)
class Started:
    """JupyterLab as Binder starts it, on a copy of the repository."""

    repository: Path
    environment: dict[str, str]
    address: str

    def run(self, *command: str) -> None:
        """Run a command where Binder would."""
        subprocess.run(command, cwd=self.repository, env=self.environment, check=True)


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """Environment, requirements, postBuild, JupyterLab."""
    asked = (BINDER / "runtime.txt").read_text().strip().replace("python-", "python")
    python = os.environ.get("RECLAIM_BINDER_PYTHON") or shutil.which(asked)
    if python is None:
        pytest.skip(f"there is no {asked} here; name one with RECLAIM_BINDER_PYTHON")
    base = tmp_path_factory.mktemp("binder")
    repository = base / "repository"
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, tracked.split("\0")):
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, repository / name)
    subprocess.run([python, "-m", "venv", base / "venv"], check=True)
    environment = {
        **os.environ,
        "PATH": f"{base / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(base),
        "JUPYTER_PLATFORM_DIRS": "0",
        # What the panel's build has downloaded before it need not download again.
        "YARN_GLOBAL_FOLDER": os.environ.get("YARN_GLOBAL_FOLDER") or str(Path.home() / ".yarn" / "berry"),
    }
    environment.pop("PYTHONPATH", None)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made = Started(repository, environment, f"http://127.0.0.1:{port}")
    made.run("python", "-m", "pip", "install", "--quiet", "--no-cache-dir", "-r", "binder/requirements.txt")
    made.run("binder/postBuild")
    made.run("python", "-m", "pip", "check")
    command = ["jupyter", "lab", "--no-browser", "--allow-root", "--IdentityProvider.token=", f"--port={port}"]
    lab = subprocess.Popen([*command, "--ip=127.0.0.1"], cwd=repository, env=environment)
    try:
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"{made.address}/api/contents/binder/demo.ipynb") as answer:
                    assert json.load(answer)["type"] == "notebook"
                break
            except OSError:
                time.sleep(0.2)
        else:
            pytest.fail("JupyterLab did not answer")
        yield made
    finally:
        lab.terminate()
        lab.wait(timeout=60)


@whole
@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_the_whole_procedure(started: Started) -> None:
    """The demo without an error, with JupyterLab beside it, within Binder's memory."""
    command = ["jupyter", "nbconvert", "--to", "notebook", "--execute", "--output", "done.ipynb", "binder/demo.ipynb"]
    begun = time.monotonic()
    with Peak() as peak:
        started.run(*command)
    seconds = time.monotonic() - begun
    check(nbformat.read(started.repository / "binder" / "done.ipynb", 4))
    print(f"demo: {seconds:.0f} s, peak of JupyterLab and demo together {peak.bytes / 2**20:.0f} MiB")
    assert 0 < peak.bytes < MOST_BYTES


@whole
@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_the_demo_in_a_browser(started: Started) -> None:
    """JupyterLab opens on the demo; everything is run there, and the controls change what stands below them."""
    pytest.importorskip("playwright")
    from browser_lab import browser, launched, shot

    if browser() is None:
        pytest.skip("there is no chromium")
    shutil.rmtree(started.repository / "binder" / "demo-runs" / "live", ignore_errors=True)
    with launched() as chromium, Peak() as peak:
        page = chromium.new_page(viewport={"width": 1400, "height": 900})
        page.set_default_timeout(30_000)
        page.goto(f"{started.address}/lab/tree/binder/demo.ipynb?reset", timeout=120_000)
        page.wait_for_selector(".jp-NotebookPanel h1 >> text=Can an AI agent reproduce", timeout=120_000)
        page.click('.jp-SideBar [data-id="jp-reclaim-panel"]')
        page.click("#jp-reclaim-panel label:has-text('tried')")
        page.wait_for_selector('#jp-reclaim-panel .jp-mod-paper[data-paper="small/iforest-breastw"]')
        page.click(".lm-MenuBar-item >> text=Run")
        page.click(".lm-Menu-item >> text=/^Run All Cells$/")
        # The notebook holds only what is in view, so it is looked at its end until the last cell has an output.
        to_the_end = (
            "() => { const all = document.querySelector('.jp-WindowedPanel-outer'); all.scrollTop = all.scrollHeight }"
        )
        last = page.locator(".jp-NotebookPanel .jp-RenderedHTML >> text=degrees: reproduced")
        for _ in range(300):
            page.evaluate(to_the_end)
            page.wait_for_timeout(1000)
            if last.count():
                break
        else:
            pytest.fail("the demo did not come to its end")
        words = page.locator('.jp-NotebookPanel input[placeholder="papers, agents, causes"]')
        words.scroll_into_view_if_needed()
        words.fill("C13")
        words.press("Enter")
        page.wait_for_selector(".jp-NotebookPanel .reclaim-view caption >> text=8 of 36 attempts")
        shot(page, "binder")
    print(f"in the browser: peak with chromium {peak.bytes / 2**20:.0f} MiB")
