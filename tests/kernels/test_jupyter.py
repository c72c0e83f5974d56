"""The provisioners as ordinary kernels: through jupyter_client, stock papermill and Jupyter Server's own manager."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import papermill
import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import start_new_kernel
from nbformat.v4 import new_code_cell, new_notebook

from reclaim_nb.kernels.box import box_root

NAMES = ["reclaim-local", pytest.param("reclaim-docker", marks=pytest.mark.docker)]


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    if request.param == "reclaim-docker":
        request.getfixturevalue("kernel_image")
    return str(request.param)


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Check that no private folder of this process outlives a test."""

    def boxes() -> set[str]:
        found = set()
        for path in box_root().glob("reclaim-????????"):
            try:
                owner = json.loads((path / "owner.json").read_text())
            except (OSError, ValueError):
                continue
            if owner["pid"] == os.getpid():
                found.add(str(path))
        return found

    before = boxes()
    yield
    assert boxes() == before


def test_both_kernelspecs_are_installed_and_name_their_provisioner(name: str) -> None:
    spec = KernelSpecManager().get_kernel_spec(name)
    assert spec.metadata["kernel_provisioner"]["provisioner_name"] == name
    assert spec.language == "python"


def test_jupyter_client_starts_restarts_and_ends_it(name: str) -> None:
    manager, client = start_new_kernel(kernel_name=name)
    try:
        assert client.execute_interactive("x = 41", timeout=60)["content"]["status"] == "ok"
        manager.restart_kernel(now=True)
        client.wait_for_ready(timeout=60)
        reply = client.execute_interactive("x", timeout=60, output_hook=lambda message: None)
        assert reply["content"]["ename"] == "NameError", "a restart forgets"
        assert client.execute_interactive("import math; math.pi", timeout=60)["content"]["status"] == "ok"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert not manager.is_alive()


def test_stock_papermill_runs_a_notebook_on_it(name: str, tmp_path: Path) -> None:
    meta = {"kernelspec": {"name": name, "display_name": name, "language": "python"}}
    nbformat.write(new_notebook(cells=[new_code_cell("print(6 * 7)")], metadata=meta), tmp_path / "in.ipynb")
    made = papermill.execute_notebook(str(tmp_path / "in.ipynb"), str(tmp_path / "out.ipynb"), progress_bar=False)
    assert made.cells[0].outputs[0].text == "42\n"


def test_an_interrupt_reaches_the_cell(name: str) -> None:
    manager, client = start_new_kernel(kernel_name=name)
    try:
        request = client.execute("import time\nprint('begun', flush=True)\ntime.sleep(60)")
        while True:
            message = client.get_iopub_msg(timeout=60)
            if message["msg_type"] == "stream":
                break
        manager.interrupt_kernel()
        reply = client.get_shell_msg(timeout=60)
        while reply["parent_header"]["msg_id"] != request:  # answers to what was asked while connecting
            reply = client.get_shell_msg(timeout=60)
        assert reply["content"]["ename"] == "KeyboardInterrupt"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_jupyter_servers_kernel_manager_starts_and_ends_it(name: str, tmp_path: Path) -> None:
    from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager

    async def go() -> None:
        manager = AsyncMappingKernelManager(root_dir=str(tmp_path))
        kernel = await manager.start_kernel(kernel_name=name)
        assert await manager.get_kernel(kernel).is_alive()
        await manager.shutdown_kernel(kernel, now=True)
        assert kernel not in manager

    asyncio.run(go())


def test_many_kernels_at_once_find_no_port_taken() -> None:
    async def go() -> None:
        from reclaim_nb.kernels.kernel import Kernel, KernelConfig

        config = KernelConfig(kind="local")
        kernels = await asyncio.gather(
            *(
                Kernel.start(
                    config, lambda message: None, workspace=Path("/tmp"), release=None, attempt_id=f"m{n}", batch="t"
                )
                for n in range(8)
            )
        )
        alive = [await kernel.poll() for kernel in kernels]
        await asyncio.gather(*(kernel.stop() for kernel in kernels))
        assert alive == [None] * 8

    asyncio.run(go())


def test_the_launcher_needs_nothing_of_this_package() -> None:
    from reclaim_nb.kernels.box import LAUNCHER

    code = f"import ast; tree = ast.parse(open({str(LAUNCHER)!r}).read()); " + (
        "print(sorted({a.name.split('.')[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}"
        " | {n.module.split('.')[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module}))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "reclaim_nb" not in shown
    assert set(eval(shown)) - set(sys.stdlib_module_names) <= {"ipykernel", "zmq", "IPython"}
