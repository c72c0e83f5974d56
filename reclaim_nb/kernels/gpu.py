"""The GPUs of this machine as NVML reports them: what they are, and whether an attempt uses them.

Everything is asked on the host. A container cannot reach these readings.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from reclaim_nb.errors import KernelError


@dataclass(frozen=True, slots=True)
class Gpu:
    """One device: index and UUID as the engine takes them, the name it calls itself, memory in bytes."""

    index: int
    uuid: str
    name: str
    memory_bytes: int


@contextlib.contextmanager
def _nvml() -> Iterator[Any]:
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as problem:
        raise KernelError(
            f"no NVIDIA GPU can be read on this machine ({problem}): "
            "install the driver, or take a card whose device is cpu"
        ) from problem
    try:
        yield pynvml
    finally:
        pynvml.nvmlShutdown()


def find_gpus() -> list[Gpu]:
    """Return the machine's GPUs.

    Raises:
        KernelError: when there is no driver.
    """
    with _nvml() as nvml:
        found = []
        for index in range(nvml.nvmlDeviceGetCount()):
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            memory = int(nvml.nvmlDeviceGetMemoryInfo(handle).total)
            found.append(
                Gpu(index, _text(nvml.nvmlDeviceGetUUID(handle)), _text(nvml.nvmlDeviceGetName(handle)), memory)
            )
        return found


def choose_gpus(asked: Sequence[str]) -> list[Gpu]:
    """Return the devices that were asked for: ids (index or UUID), or ``count=N`` for the first N.

    Raises:
        KernelError: when there are fewer, or one of the ids does not exist.
    """
    gpus = find_gpus()
    if len(asked) == 1 and asked[0].startswith("count="):
        number = int(asked[0].removeprefix("count="))
        if len(gpus) < number:
            raise KernelError(f"{number} GPUs were asked for and this machine has {len(gpus)}")
        return gpus[:number]
    chosen = []
    for identity in asked:
        match = [gpu for gpu in gpus if identity in (str(gpu.index), gpu.uuid)]
        if not match:
            known = ", ".join(str(gpu.index) for gpu in gpus) or "none"
            raise KernelError(f"there is no GPU {identity!r} here; there are {known}")
        chosen += match
    return chosen


class GpuWatch:
    """Tells whether any of some processes computes on any of some devices; holds NVML open, because it is asked often.

    A kernel keeps its context on a device for as long as it lives, so having one is not using it. What counts is the
    per-process utilisation that the driver samples; where a device has no such samples, a process other than the kernel
    with a context counts as using it.
    """

    def __init__(self, gpus: Sequence[Gpu]) -> None:
        self._stack = contextlib.ExitStack()
        self._nvml = self._stack.enter_context(_nvml())
        self._handles = [self._nvml.nvmlDeviceGetHandleByUUID(gpu.uuid) for gpu in gpus]
        self._seen = [0 for _ in gpus]

    def busy(self, pids: set[int], kernel: int | None) -> bool:
        """Return True when one of the processes has computed since the last call.

        Args:
            pids: host pids of everything in the box.
            kernel: host pid of the kernel itself.
        """
        return any([self._busy(index, pids, kernel) for index in range(len(self._handles))])

    def close(self) -> None:
        """Let go of NVML."""
        self._stack.close()

    def _busy(self, index: int, pids: set[int], kernel: int | None) -> bool:
        nvml, handle = self._nvml, self._handles[index]
        try:
            samples = nvml.nvmlDeviceGetProcessUtilization(handle, self._seen[index])
        except nvml.NVMLError as problem:
            if problem.value in (nvml.NVML_SUCCESS, nvml.NVML_ERROR_NOT_FOUND):
                return False  # nobody has computed since then
            running = nvml.nvmlDeviceGetComputeRunningProcesses(handle)
            return any(int(process.pid) in pids - {kernel} for process in running)
        self._seen[index] = max([self._seen[index], *(int(sample.timeStamp) for sample in samples)])
        return any(int(sample.pid) in pids and int(sample.smUtil) > 0 for sample in samples)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
