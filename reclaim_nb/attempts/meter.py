"""The meter: what an attempt has used of its device, read on the host, where no cell can reach it.

CPU budgets are charged the CPU seconds of the whole box, so a job left running in the background is charged and a
thinking agent is not. GPU budgets are charged ``devices x seconds x factor`` while a cell runs or anything the attempt
started still uses a device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

from reclaim_nb.attempts.spec import KernelFacts
from reclaim_nb.kernels.kernel import Kernel
from reclaim_nb.record.clock import Clock


@dataclass(frozen=True, slots=True)
class Reading:
    """What is spent so far.

    Attributes:
        charged_seconds: device seconds charged, in the budget's unit (factor applied).
        held_seconds: seconds in which a cell ran, times devices.
        device: name of the device.
        factor: H100-equivalents of one second of the device; 1 for CPU.
    """

    charged_seconds: float
    held_seconds: float
    device: str
    factor: Decimal

    @property
    def hours(self) -> Decimal:
        """Hours charged, in decimals."""
        return (Decimal(repr(self.charged_seconds)) / 3600).quantize(Decimal("0.000001"))

    def to_json(self) -> dict[str, Any]:
        return {
            "charged_seconds": round(self.charged_seconds, 3),
            "held_seconds": round(self.held_seconds, 3),
            "hours": str(self.hours),
            "device": self.device,
            "factor": str(self.factor),
        }


class Meter(Protocol):
    """Counts what the attempt uses."""

    def tick(self, running: bool) -> Reading:
        """Take a reading; ``running`` tells whether a cell has run since the last one."""

    def state(self) -> dict[str, Any]:
        """Return what a later runner needs to go on counting."""

    def free(self, most: float) -> AbstractContextManager[None]:
        """Do not charge what is used meanwhile, up to ``most`` charged seconds in all."""

    def close(self) -> None:
        """Let go of what the readings need."""


class CpuMeter:
    """CPU seconds of the box.

    Args:
        read: returns the CPU seconds that the box has used since it exists.
        clock: for the time that cells hold the box.
        baseline: reading at the moment the kernel was ready; its start-up is not the agent's.
        carried: charged seconds of boxes before this one.
        held: held seconds so far.
    """

    def __init__(
        self, read: Callable[[], float], clock: Clock, *, baseline: float, carried: float = 0.0, held: float = 0.0
    ) -> None:
        self._read, self._clock = read, clock
        self._baseline, self._carried, self._held = baseline, carried, held
        self._last = clock.monotonic()
        self._charged = carried
        self._left_out, self._most_left_out = 0.0, 0.0
        self._free_since: float | None = None

    def tick(self, running: bool) -> Reading:
        now = self._clock.monotonic()
        if running:
            self._held += now - self._last
        self._last = now
        read = self._read()
        self._charged = max(self._charged, self._carried + read - self._free(read) - self._baseline)
        return Reading(self._charged, self._held, "cpu", Decimal(1))

    @contextmanager
    def free(self, most: float) -> Iterator[None]:
        self._free_since, self._most_left_out = self._read(), most
        try:
            yield
        finally:
            with suppress(OSError):  # the box may have ended meanwhile, and its last reading stands
                self._left_out = self._free(self._read())
            self._free_since = None

    def _free(self, read: float) -> float:
        """Return what of a reading is not charged."""
        if self._free_since is None:
            return self._left_out
        return max(self._left_out, min(self._most_left_out, self._left_out + read - self._free_since))

    def state(self) -> dict[str, Any]:
        return {"baseline": self._baseline, "carried": self._carried}

    def close(self) -> None:
        """Nothing is held."""


class GpuMeter:
    """Seconds of the GPUs that an attempt holds, in H100-equivalents.

    Args:
        busy: tells whether anything of the attempt uses a device now.
        devices: number of devices held.
        name: what the device calls itself.
        factor: H100-equivalents of one device second.
        clock: for the seconds.
        carried: charged seconds so far.
        held: held seconds so far.
        away: seconds without a runner just before now. They are charged when the devices are found in use: what went on
            meanwhile has used them, and nobody was there to look.
        end: called when the meter is closed.
    """

    def __init__(
        self,
        busy: Callable[[], bool],
        clock: Clock,
        *,
        devices: int,
        name: str,
        factor: Decimal,
        carried: float = 0.0,
        held: float = 0.0,
        away: float = 0.0,
        end: Callable[[], None] = lambda: None,
    ) -> None:
        self._end = end
        self._busy, self._clock = busy, clock
        self._devices, self._name, self._factor = devices, name, factor
        self._charged, self._held = carried, held
        self._last = clock.monotonic()
        if away > 0 and busy():
            self._charged += away * devices * float(factor)

    def tick(self, running: bool) -> Reading:
        now = self._clock.monotonic()
        passed = (now - self._last) * self._devices
        self._last = now
        if running:
            self._held += passed
        if running or self._busy():
            self._charged += passed * float(self._factor)
        return Reading(self._charged, self._held, self._name, self._factor)

    def state(self) -> dict[str, Any]:
        return {}

    def free(self, most: float) -> AbstractContextManager[None]:
        return nullcontext()  # looking at names takes no GPU

    def close(self) -> None:
        self._end()


def make_meter(
    kernel: Kernel, facts: KernelFacts, clock: Clock, state: dict[str, Any], carried: Reading, away: float = 0.0
) -> Meter:
    """Return the meter of an attempt's kernel.

    Args:
        kernel: the running kernel.
        facts: where its cells run; with GPUs the meter counts those, without them the box's CPU time.
        clock: source of time.
        state: state of the meter that the kernel's first runner recorded; empty for a kernel that has just started.
        carried: last reading so far.
        away: seconds between the last runner's last event and now; 0 for a kernel that has just started.

    Raises:
        KernelError: when the GPUs cannot be read.
    """
    if not facts.gpus:
        return CpuMeter(
            kernel.cpu_seconds,
            clock,
            baseline=float(state.get("baseline", kernel.cpu_seconds())),
            carried=float(state.get("carried", carried.charged_seconds)),
            held=carried.held_seconds,
        )
    from reclaim_nb.kernels.gpu import GpuWatch, choose_gpus

    watch = GpuWatch(choose_gpus(facts.gpus))
    return GpuMeter(
        lambda: watch.busy(kernel.process_ids(), kernel.pid),
        clock,
        devices=len(facts.gpus),
        name=facts.gpu_name,
        factor=Decimal(facts.device_factor),
        carried=carried.charged_seconds,
        held=carried.held_seconds,
        away=away,
        end=watch.close,
    )
