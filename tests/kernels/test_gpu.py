"""GPUs through NVML. There is none on a test machine, so a library with NVML's own C interface stands in for it."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from reclaim_nb.attempts.devices import factor_of
from reclaim_nb.attempts.meter import GpuMeter
from reclaim_nb.errors import KernelError
from reclaim_nb.kernels.images import ImageInfo
from reclaim_nb.kernels.kernel import Kernel, KernelConfig

SOURCE = Path(__file__).with_name("fake_nvml.c")

Script = Callable[[str, str], str]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here, so NVML's interface cannot be stood in for")
    folder = tmp_path_factory.mktemp("nvml")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / "libnvidia-ml.so.1", SOURCE], check=True)
    return folder


@pytest.fixture
def ask(library: Path, tmp_path: Path) -> Script:
    """Run code in a process that sees the two devices, in the state that the text describes."""

    def run(state: str, code: str) -> str:
        file = tmp_path / "state"
        file.write_text(state)
        environment = {**os.environ, "LD_LIBRARY_PATH": str(library), "FAKE_NVML": str(file)}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


def test_devices_are_listed_with_name_and_memory(ask: Script) -> None:
    code = "from reclaim_nb.kernels.gpu import find_gpus; print([(g.index, g.uuid, g.name) for g in find_gpus()])"
    name = "NVIDIA A100-SXM4-80GB"
    assert ask("", code) == str([(0, "GPU-0000-0", name), (1, "GPU-0000-1", name)])


def test_devices_are_chosen_by_count_index_or_uuid(ask: Script) -> None:
    code = (
        "from reclaim_nb.kernels.gpu import choose_gpus\n"
        "print([[g.index for g in choose_gpus(a)] for a in (['count=1'], ['1'], ['GPU-0000-1', '0'])])"
    )
    assert ask("", code) == "[[0], [1], [1, 0]]"


@pytest.mark.parametrize(("asked", "words"), [("count=3", "this machine has 2"), ("7", "there are 0, 1")])
def test_asking_for_what_is_not_there_says_what_is(ask: Script, asked: str, words: str) -> None:
    code = (
        "from reclaim_nb.kernels.gpu import choose_gpus\nfrom reclaim_nb.errors import KernelError\n"
        f"try: choose_gpus(['{asked}'])\nexcept KernelError as problem: print(problem)"
    )
    assert words in ask("", code)


BUSY = (
    "from reclaim_nb.kernels.gpu import GpuWatch, find_gpus\n"
    "watch = GpuWatch(find_gpus())\n"
    "print(watch.busy({100, 101}, 100), watch.busy({100, 101}, 100)); watch.close()"
)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("util 100 5 90\n", "True False"),  # computed once, and not again since
        ("util 101 5 40\ncontext 100\n", "True False"),
        ("util 999 5 90\n", "False False"),  # somebody else's process
        ("util 100 5 0\n", "False False"),  # a sample that shows no work
        ("context 100\n", "False False"),  # an idle kernel keeps its context: thinking is not charged
        ("nosamples\ncontext 100\n", "False False"),
        ("nosamples\ncontext 100\ncontext 101\n", "True True"),  # a job in the background
    ],
)
def test_only_work_of_the_box_counts_as_use(ask: Script, state: str, expected: str) -> None:
    assert ask(state, BUSY) == expected


def test_a_machine_without_driver_says_so() -> None:
    code = (
        "from reclaim_nb.kernels.gpu import find_gpus\nfrom reclaim_nb.errors import KernelError\n"
        "try: find_gpus()\nexcept KernelError as problem: print(problem)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    if not done.stdout:
        pytest.skip("this machine has a GPU")
    assert "device is cpu" in done.stdout


def test_an_attempt_of_a_gpu_card_takes_one_device_and_its_factor(ask: Script) -> None:
    code = (
        "from reclaim_nb.attempts.prepare import Request, kernel_facts\n"
        "f = kernel_facts(Request(paper='x', kernel='local'), 'gpu')\n"
        "g = kernel_facts(Request(paper='x', kernel='local', gpus='count=2', device_factor='0.5'), 'gpu')\n"
        "print(f.gpus, f.gpu_name, f.device_factor, g.gpus, g.device_factor)"
    )
    expected = "['GPU-0000-0'] NVIDIA A100-SXM4-80GB 0.315 ['GPU-0000-0', 'GPU-0000-1'] 0.5"
    assert ask("", code) == expected


def test_an_engine_without_gpu_runtime_says_what_to_install(kernel_image: ImageInfo, tmp_path: Path) -> None:
    if shutil.which("nvidia-container-runtime") is not None:
        pytest.skip("this engine has a GPU runtime")

    async def start() -> None:
        await Kernel.start(
            KernelConfig(kind="docker", gpus=("0",)),
            lambda message: None,
            workspace=tmp_path,
            release=None,
            attempt_id="gpu-test",
            batch="test",
        )

    with pytest.raises(KernelError, match="NVIDIA Container Toolkit"):
        asyncio.run(start())


class _Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> str:
        return "2026-01-01T00:00:00.000000Z"

    def monotonic(self) -> float:
        return self.seconds


def test_gpu_seconds_are_devices_times_seconds_times_factor_while_used() -> None:
    clock, used = _Clock(), False
    meter = GpuMeter(lambda: used, clock, devices=2, name="A100", factor=Decimal("0.315"))
    clock.seconds = 10.0
    assert meter.tick(running=True).charged_seconds == pytest.approx(10 * 2 * 0.315)
    clock.seconds = 110.0
    reading = meter.tick(running=False)
    assert reading.charged_seconds == pytest.approx(6.3), "thinking is not charged"
    assert reading.held_seconds == pytest.approx(20.0)
    used = True
    clock.seconds = 120.0
    assert meter.tick(running=False).charged_seconds == pytest.approx(12.6), "a job in the background is"


@pytest.mark.parametrize(("used", "charged"), [(True, 5 + 60 * 2 * 0.5), (False, 5)])
def test_the_time_without_a_runner_is_charged_when_the_devices_are_found_in_use(used: bool, charged: float) -> None:
    meter = GpuMeter(
        lambda: used, _Clock(), devices=2, name="A100", factor=Decimal("0.5"), carried=5.0, held=7.0, away=60.0
    )
    reading = meter.tick(running=False)
    assert (reading.charged_seconds, reading.held_seconds) == (pytest.approx(charged), 7.0)


@pytest.mark.parametrize(
    ("name", "factor"),
    [
        ("NVIDIA H100 80GB HBM3", "1"),
        ("NVIDIA H200", "1.000"),
        ("NVIDIA A100-SXM4-80GB", "0.315"),
        ("Tesla T4", "0.066"),
        ("NVIDIA L40S", "0.366"),
        ("Some Other Card", None),
    ],
)
def test_device_names_find_their_factor(name: str, factor: str | None) -> None:
    assert factor_of(name) == (None if factor is None else Decimal(factor))
