"""`reclaim lab --demo` on a machine without network, container engine and keys, in a real browser."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from browser_lab import browser, pictures

pytestmark = [pytest.mark.ui, pytest.mark.timeout(600)]


def test_the_recorded_batch_fills_the_panel_without_any_network(tmp_path: Path) -> None:
    pytest.importorskip("playwright")
    pytest.importorskip("jupyterlab")
    from reclaim_nb.commands.lab import panel_installed

    alone = ["unshare", "--net", "--map-root-user"]
    if subprocess.run([*alone, "ip", "link", "set", "lo", "up"], capture_output=True).returncode != 0:
        pytest.skip("no network of its own can be made here")
    if browser() is None or not panel_installed():
        pytest.skip("there is no chromium, or the panel is not built")
    script = Path(__file__).with_name("offline_demo.py")
    command = [*alone, sys.executable, str(script), str(tmp_path), str(pictures() / "demo.png")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["network"] is False
    assert told["marks"] >= 36, "one for each attempt of the recorded batch"
    for words in ("reproduced", "ROC AUC", "ended: submitted"):
        assert words in told["banner"]
    assert told["elsewhere"] == []
