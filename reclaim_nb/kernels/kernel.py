"""One running kernel of an attempt: start it, take it over, interrupt it, end it, read its meter."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager

from reclaim_nb.errors import KernelError
from reclaim_nb.kernels.link import KernelLink, Message
from reclaim_nb.kernels.network import Policy, Rules
from reclaim_nb.kernels.network_watch import NetworkWatch
from reclaim_nb.kernels.provisioner import BoxProvisioner, Death

START_SECONDS = 60.0


@dataclass(frozen=True)
class KernelConfig:
    """What an attempt asks of its kernel.

    Attributes:
        kind: ``docker`` or ``local``.
        image: container image; empty: the package's own.
        network: ``none``, ``allowlist`` or ``open``; a local kernel cannot be cut off and records ``open``.
        allow: hosts that may be reached under ``allowlist``.
        block: addresses whose hosts are not reached although they are listed.
        memory_mib: most memory, MiB.
        cpus: most CPUs; 0: all.
        pids: most processes and threads.
        gpus: ids of the GPUs the kernel may use.
        abandon_seconds: seconds without a runner after which the kernel ends itself.
        options: further traits of the provisioner.
    """

    kind: Literal["docker", "local"] = "docker"
    image: str = ""
    network: Policy = "none"
    allow: tuple[str, ...] = ()
    block: tuple[str, ...] = ()
    memory_mib: int = 4096
    cpus: float = 0.0
    pids: int = 512
    gpus: tuple[str, ...] = ()
    abandon_seconds: float = 600.0
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the kernelspec and of the provisioner."""
        return f"reclaim-{self.kind}"

    def traits(self) -> dict[str, Any]:
        """Return the provisioner's configuration."""
        traits: dict[str, Any] = {
            "memory_mib": self.memory_mib,
            "pids": self.pids,
            "abandon_seconds": self.abandon_seconds,
            "gpus": list(self.gpus),
        }
        if self.kind == "docker":
            traits |= {"image": self.image, "network": self.network, "cpus": self.cpus}
            traits |= {"allow": list(self.allow), "block": list(self.block)}
        return traits | self.options

    def to_json(self) -> dict[str, Any]:
        network = "open" if self.kind == "local" else self.network
        return {
            **asdict(self),
            **{name: list(getattr(self, name)) for name in ("gpus", "allow", "block")},
            "name": self.name,
            "network": network,
            "unsandboxed": self.kind == "local",
        }


class _OneSpec(KernelSpecManager):  # type: ignore[misc]
    """Knows one kernelspec, made for one attempt, so nothing has to be installed."""

    spec: KernelSpec

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        return self.spec


class Kernel:
    """A kernel in its box, with the link to it."""

    def __init__(self, manager: AsyncKernelManager, provisioner: BoxProvisioner) -> None:
        self._manager = manager
        self._provisioner = provisioner
        self._link: KernelLink | None = None
        self.language_info: dict[str, Any] = {"name": "python"}
        self.implementation = ""

    @classmethod
    async def start(
        cls,
        config: KernelConfig,
        listener: Callable[[Message], None],
        *,
        workspace: Path,
        release: Path | None,
        attempt_id: str,
        batch: str,
    ) -> Self:
        """Start a kernel and wait until it answers.

        Args:
            config: what it may use.
            listener: called with every message it sends.
            workspace: host folder that becomes its working folder.
            release: host folder with what the authors released, None when nothing is shown.
            attempt_id: id that its box is labelled with.
            batch: batch that its box is labelled with.

        Raises:
            KernelError: when it cannot be started; nothing of it is then left.
        """
        traits = config.traits() | {
            "workspace": str(workspace),
            "release": str(release) if release else "",
            "attempt_id": attempt_id,
            "batch": batch,
        }
        manager = kernel_manager(config.name, traits)
        kernel: Self | None = None
        try:
            await manager.start_kernel()
            kernel = cls(manager, manager.provisioner)
            await kernel._connect(listener)
        except KernelError as problem:
            words = await asyncio.to_thread(_last_words, manager.provisioner)
            await _discard(manager)
            raise KernelError(f"{problem}{f'; it said: {words}' if words else ''}") from problem
        except BaseException:
            await _discard(manager)
            raise
        return kernel

    @classmethod
    async def attach(cls, info: dict[str, Any], listener: Callable[[Message], None]) -> Self:
        """Take over a kernel that another process started.

        Args:
            info: what :meth:`info` returned there.
            listener: called with every message it sends from now on.

        Raises:
            KernelError: when the kernel is gone.
        """
        manager = kernel_manager(info["name"], {})
        from jupyter_client.provisioning import KernelProvisionerFactory

        manager.provisioner = KernelProvisionerFactory.instance(parent=manager).create_provisioner_instance(
            info["kernel_id"], manager.kernel_spec, parent=manager
        )
        kernel = cls(manager, manager.provisioner)
        try:
            await manager.provisioner.load_provisioner_info(info["provisioner"])
            if (await kernel.poll()) is not None:
                raise KernelError("the kernel of this attempt does not run any more")
        except KernelError:
            await _discard(manager)  # what is left of a dead kernel is of no use to anybody
            raise
        kernel._link = KernelLink(manager.provisioner.connection_info, listener)
        return kernel

    async def info(self) -> dict[str, Any]:
        """Return what another process needs to take this kernel over."""
        provisioner = await self._provisioner.get_provisioner_info()
        provisioner.pop("connection_info", None)  # holds the signing key, which belongs in no record
        return {
            "name": self._manager.kernel_name,
            "kernel_id": self._manager.kernel_id,
            "provisioner": provisioner,
            "implementation": self.implementation,
        }

    @property
    def link(self) -> KernelLink:
        assert self._link is not None
        return self._link

    @property
    def pid(self) -> int | None:
        """Host pid of the kernel, or of its container's first process."""
        pid: int | None = self._provisioner.pid
        return pid

    @property
    def death(self) -> Death | None:
        """How the kernel ended, None while it lives."""
        return self._provisioner.death

    @property
    def writable(self) -> list[Path]:
        """Host folders that the kernel can fill, beside its workspace."""
        box = self._provisioner.box
        return [] if box is None else [box.path / "s"]

    async def _connect(self, listener: Callable[[Message], None]) -> None:
        self._link = KernelLink(self._provisioner.connection_info, listener)
        info = await self._link.ready(START_SECONDS, self.poll)
        self.language_info = info.get("language_info") or self.language_info
        self.implementation = f"{info.get('implementation', '')} {info.get('implementation_version', '')}".strip()

    async def poll(self) -> int | None:
        """Return None while the kernel lives, else its exit code."""
        code: int | None = await self._provisioner.poll()
        return code

    async def interrupt(self) -> None:
        """Send what Ctrl-C sends."""
        await self._provisioner.send_signal(signal.SIGINT)

    async def kill(self) -> None:
        """End the box at once."""
        await self._provisioner.kill()

    def kill_younger(self, seconds: float) -> int:
        """Kill processes of the box, except the kernel, that began in the last ``seconds``; return how many."""
        return self._provisioner.kill_younger(seconds)

    def process_ids(self) -> set[int]:
        """Return the host pids of everything in the box."""
        found: set[int] = self._provisioner.process_ids()
        return found

    def cpu_seconds(self) -> float:
        """Return the CPU seconds that everything in the box has used so far."""
        return self._provisioner.cpu_seconds() or 0.0

    def network_watch(self, before: dict[str, int]) -> NetworkWatch | None:
        """Return what reads along at the kernel's proxy, None where it has none.

        Args:
            before: how far another process has read.
        """
        provisioner: Any = self._provisioner
        if getattr(provisioner, "network", "none") != "allowlist" or provisioner.box is None:
            return None
        rules, proxy = Rules.of(provisioner.allow, provisioner.block), provisioner.proxy
        address = proxy.address if proxy is not None else ""
        return NetworkWatch(
            provisioner.box.path, rules, address, provisioner.living_pid, provisioner.proxy_problem, before
        )

    def network_news(self) -> str | None:
        """Return what became of the proxy when this kernel was taken over, None where there is nothing to say."""
        news: str | None = getattr(self._provisioner, "proxy_news", None)
        return news

    async def stop(self, grace: float = 1.0) -> None:
        """Ask the kernel to end, then end it, then remove its box."""
        if self._link is not None:
            if await self.poll() is None:
                self._link.send("control", "shutdown_request", {"restart": False})
                deadline = time.monotonic() + grace
                while time.monotonic() < deadline and await self.poll() is None:
                    await asyncio.sleep(0.02)
            self._link.close()
        await self._provisioner.kill()
        await self._manager.cleanup_resources(restart=False)

    def detach(self) -> None:
        """Let go of the kernel without ending it."""
        if self._link is not None:
            self._link.close()
        if self._provisioner.box is not None:
            self._provisioner.box.stop_heartbeat()


def kernel_manager(name: str, traits: dict[str, Any]) -> AsyncKernelManager:
    """Return Jupyter's own manager for a provisioner's name and traits, without an installed kernelspec."""
    specs = _OneSpec()
    specs.spec = KernelSpec(
        argv=["python", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        display_name=name,
        language="python",
        metadata={"kernel_provisioner": {"provisioner_name": name, "config": traits}},
    )
    return AsyncKernelManager(kernel_name=name, kernel_spec_manager=specs)


def _last_words(provisioner: Any) -> str:
    words = getattr(provisioner, "last_words", None)
    return str(words())[-2000:] if words is not None else ""


async def _discard(manager: AsyncKernelManager) -> None:
    provisioner = manager.provisioner
    if provisioner is not None:
        await provisioner.kill()
        await manager.cleanup_resources(restart=False)
