"""``reclaim-docker``: the kernel in a container without network, rights or a writable root."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Any

import psutil
from traitlets import Enum, Float, Int, List, Unicode

from reclaim_nb.errors import KernelError
from reclaim_nb.kernels.box import Box
from reclaim_nb.kernels.network import Rules
from reclaim_nb.kernels.network_sidecar import Sidecar, WayOut, remove_sidecar, revive_sidecar, start_sidecar
from reclaim_nb.kernels.owner import Owner, process_start
from reclaim_nb.kernels.provisioner import MIB, BoxProvisioner, Death, kill_those_younger, user_of_box

LABEL = "org.reclaim."
WORK = "/work"
RELEASE = "/release"
REMOVAL_SECONDS = 15.0
"""How long an engine that is busy with a container is asked again to remove it."""
IPV6 = Path("/proc/sys/net/ipv6")

# Without any address of IPv6 a stack counts no tries; with the one of its own loop it does, and reaches nobody else.
_COUNT_IPV6 = {"net.ipv6.conf.lo.disable_ipv6": "0"}


class DockerProvisioner(BoxProvisioner):
    """Starts the kernel in a container of the local engine."""

    python = Unicode("python", help="Python that runs the kernel in the image.").tag(config=True)
    image = Unicode("", help="Image of the container; empty: the one `reclaim image build` makes.").tag(config=True)
    network = Enum(
        ["none", "allowlist", "open"],
        "none",
        help="none: no network at all; allowlist: a proxy that reaches listed hosts only; open: the engine's bridge.",
    ).tag(config=True)
    allow = List(help="Hosts that may be reached under allowlist: name, .domain, name:port, name=address.").tag(
        config=True
    )
    block = List(help="Addresses whose hosts are not reached although they are listed.").tag(config=True)
    egress = Unicode("bridge", help="The engine's network that the proxy of allowlist goes out by.").tag(config=True)
    cpus = Float(0.0, help="Most CPUs; 0: all of the machine's.").tag(config=True)
    shm_mib = Int(256, help="Size of /dev/shm, MiB.").tag(config=True)
    tmp_mib = Int(1024, help="Size of /tmp, MiB, in memory.").tag(config=True)
    home_mib = Int(512, help="Size of the home folder, MiB, in memory.").tag(config=True)
    gpus = List(help="GPU ids, or a single number as text for a count; empty: none.").tag(config=True)

    kind = "docker"
    unsandboxed = False

    proxy: Sidecar | None = None
    """The way out of a kernel under allowlist."""

    proxy_news: str | None = None
    """What became of the proxy while no runner was there."""

    _container: str | None = None
    _engine: Any = None
    _init_pid: int | None = None
    _init_start: str | None = None
    _cpu_file: Path | None = None
    _cpu: float | None = None

    @property
    def has_process(self) -> bool:
        return self._container is not None

    def _api(self) -> Any:
        if self._engine is None:
            from reclaim_nb.kernels.images import engine

            self._engine = engine().api
        return self._engine

    def _launch(self, command: list[str]) -> None:
        from docker.errors import APIError, ImageNotFound

        from reclaim_nb.kernels.images import image_name

        assert self.box is not None
        self._remove_container()
        image = image_name(self.image)
        uid, gid = user_of_box()
        self.box.give_to(uid, gid)
        workspace = Path(self.workspace)
        _open_to(workspace, uid, gid)
        api = self._api()
        sockets, given = str(self.box.path / "s"), str(self.box.path / "h")
        binds = {
            sockets: {"bind": sockets, "mode": "rw"},
            given: {"bind": given, "mode": "ro"},
            str(workspace.resolve()): {"bind": WORK, "mode": "rw"},
        }
        if self.release:
            binds[str(Path(self.release).resolve())] = {"bind": RELEASE, "mode": "ro"}
        labels = self._labels()
        self.proxy = proxy = self._start_proxy(api, labels, (uid, gid)) if self.network == "allowlist" else None
        owner = f"uid={uid},gid={gid}"
        host = api.create_host_config(
            binds=binds,
            network_mode=proxy.network if proxy else {"none": "none", "open": "bridge"}[self.network],
            # Without a server of its own the engine would ask the host's on behalf of a box that must reach nobody.
            dns=[proxy.address] if proxy else None,
            sysctls=_COUNT_IPV6 if proxy and IPV6.exists() else None,
            read_only=True,
            tmpfs={
                "/tmp": f"rw,exec,nosuid,nodev,size={self.tmp_mib}m,mode=1777",
                "/home/agent": f"rw,exec,nosuid,nodev,size={self.home_mib}m,mode=0700,{owner}",
            },
            cap_drop=["ALL"],
            security_opt=["no-new-privileges:true"],
            mem_limit=self.memory_mib * MIB,
            memswap_limit=self.memory_mib * MIB,
            pids_limit=self.pids,
            shm_size=self.shm_mib * MIB,
            nano_cpus=int(self.cpus * 1e9) or None,
            init=True,
            ulimits=_ulimits(self.file_mib),
            device_requests=_device_requests(list(self.gpus)),
            log_config={"Type": "json-file", "Config": {"max-size": "5m", "max-file": "1"}},
        )
        try:
            self._container = api.create_container(
                image,
                command,
                host_config=host,
                user=f"{uid}:{gid}",
                working_dir=WORK,
                labels={**labels, f"{LABEL}kernel": "1"},
                hostname="attempt",
                environment=self.kernel_environment(WORK, RELEASE if self.release else "")
                | {"HOME": "/home/agent", "PYTHONDONTWRITEBYTECODE": "1"}
                | (proxy.environment() if proxy else {}),
            )["Id"]
            self.box.describe(kind="docker", container=self._container, attempt=self.attempt_id)
            api.start(self._container)
        except ImageNotFound as problem:
            raise KernelError(f"the image {image} is not here: run `reclaim image build`") from problem
        except APIError as problem:
            self._remove_container()
            raise KernelError(_explain(str(problem.explanation), bool(self.gpus))) from problem
        self._look()

    def _labels(self) -> dict[str, str]:
        assert self.box is not None
        own = {"attempt": self.attempt_id, "batch": self.batch, "box": str(self.box.path)}
        owner = {f"owner.{name}": str(value) for name, value in Owner.me().to_json().items()}
        return {f"{LABEL}{name}": value for name, value in (own | owner).items()}

    def _start_proxy(self, api: Any, labels: dict[str, str], user: tuple[int, int]) -> Sidecar:
        assert self.box is not None
        self.box.describe(kind="docker", container=None, attempt=self.attempt_id)
        return start_sidecar(api, self.box, self._way_out(labels, user))

    def _way_out(self, labels: dict[str, str], user: tuple[int, int]) -> WayOut:
        return WayOut(Rules.of(self.allow, self.block), labels, user, self.abandon_seconds, self.egress)

    def proxy_problem(self) -> str | None:
        """Return what ended the proxy, None while it lives or where there is none."""
        return None if self.proxy is None else self.proxy.problem(self._api())

    def _look(self) -> None:
        assert self._container is not None
        state = self._api().inspect_container(self._container)["State"]
        self._init_pid = state.get("Pid") or None
        self._init_start = process_start(self._init_pid) if self._init_pid else None
        self.pid = self._init_pid
        self._cpu_file = _cpu_file(self._init_pid) if self._init_pid else None

    async def poll(self) -> int | None:
        if self._container is None:
            return self.death.exit_code if self.death else 0
        if self._seen_alive():
            return None
        return await asyncio.to_thread(self._poll)

    def _poll(self) -> int | None:
        from docker.errors import DockerException, NotFound
        from requests.exceptions import RequestException

        assert self._container is not None
        try:
            state = self._api().inspect_container(self._container)["State"]
        except NotFound:
            self.death = Death(None, False, "the container was removed from outside")
            return -1
        except (DockerException, RequestException) as problem:
            self.death = Death(None, False, f"the container engine does not answer any more ({problem})")
            return -1
        if state["Running"]:
            return None
        code = int(state.get("ExitCode", -1))
        memory = bool(state.get("OOMKilled"))
        self.death = Death(code, memory, _sentence(code, memory, self.memory_mib))
        return code

    async def send_signal(self, signum: int) -> None:
        if self._container is not None:
            await asyncio.to_thread(self._signal, signum)

    def _signal(self, signum: int) -> None:
        from docker.errors import APIError

        try:
            self._api().kill(self._container, signal.Signals(signum).name)
        except APIError:
            return  # it has ended already; poll says how

    async def kill(self, restart: bool = False) -> None:
        await self.send_signal(signal.SIGKILL)
        for _ in range(100):
            if await self.poll() is not None:
                return
            await asyncio.sleep(0.05)

    async def cleanup(self, restart: bool = False) -> None:
        if self._container is not None:
            self.cpu_seconds()
        if self._container is not None or self.network == "allowlist":
            await asyncio.to_thread(self._remove_container)
        await super().cleanup(restart)
        if not restart and self._engine is not None:
            self._engine.close()
            self._engine = None

    def _remove_container(self) -> None:
        from docker.errors import APIError

        if self._container is not None:
            with contextlib.suppress(APIError):  # somebody else removed it, which is what was wanted
                self._api().remove_container(self._container, force=True, v=True)
        self._container = self._init_pid = None
        if self.network == "allowlist" and self.box is not None:
            remove_sidecar(self._api(), self.box.path)

    async def get_provisioner_info(self) -> dict[str, Any]:
        network = {"network": self.network, "allow": list(self.allow), "block": list(self.block)}
        network |= {"egress": self.egress, "proxy": self.proxy.address if self.proxy else None}
        return {**await super().get_provisioner_info(), "container": self._container, **network}

    async def load_provisioner_info(self, provisioner_info: dict[str, Any]) -> None:
        await super().load_provisioner_info(provisioner_info)
        self._container = provisioner_info["container"]
        for name in ("network", "allow", "block", "egress"):
            if name in provisioner_info:
                setattr(self, name, provisioner_info[name])
        if await asyncio.to_thread(self._poll) is not None:
            text = self.death.text if self.death else ""
            raise KernelError(f"the container of this attempt does not run any more: {text}")
        await asyncio.to_thread(self._look)
        if self.network == "allowlist":
            await asyncio.to_thread(self._find_proxy, str(provisioner_info.get("proxy") or ""))

    def _find_proxy(self, address: str) -> None:
        assert self.box is not None
        try:
            self.proxy, revived = revive_sidecar(
                self._api(), self.box, self._way_out(self._labels(), user_of_box()), address
            )
        except KernelError as problem:
            self.proxy_news = f"the proxy was gone and could not be brought back: {problem}; nothing can be reached"
        else:
            self.proxy_news = "the proxy had ended and was started again" if revived else None

    def last_words(self) -> str:
        """Return the end of what the container wrote outside Jupyter, for error messages."""
        from docker.errors import APIError

        if self._container is None:
            return ""
        try:
            return bytes(self._api().logs(self._container, tail=20)).decode("utf-8", "replace").strip()
        except APIError:
            return ""

    def cpu_seconds(self) -> float | None:
        reading = _read_cpu(self._cpu_file)
        if reading is None and self._container is not None and self._cpu_file is None:
            reading = self._asked_cpu()
        if reading is not None:
            self._cpu = max(self._cpu or 0.0, reading)
        return self._cpu

    def _asked_cpu(self) -> float | None:
        """Ask the engine for the CPU seconds, None when the container is gone."""
        from docker.errors import NotFound

        try:
            stats = self._api().stats(self._container, stream=False, one_shot=True)
            return float(stats["cpu_stats"]["cpu_usage"]["total_usage"]) / 1e9
        except (NotFound, KeyError):
            return None

    def process_ids(self) -> set[int]:
        return {process.pid for process in self._family()}

    def kill_younger(self, seconds: float) -> int:
        """Kill what began in the last ``seconds``. Nothing inside is asked: the host's own process table decides."""
        return kill_those_younger(self._family(), seconds)

    def living_pid(self) -> int | None:
        """Return the host pid of the box's first process, None once that process is gone."""
        return self._init_pid if self._seen_alive() else None

    def _seen_alive(self) -> bool:
        """The box's first process is in this machine's process table, and is still that process."""
        return (
            self._init_pid is not None
            and self._init_start is not None
            and process_start(self._init_pid) == self._init_start
        )

    def _family(self) -> list[psutil.Process]:
        try:
            return psutil.Process(self._init_pid).children(recursive=True) if self._seen_alive() else []
        except psutil.Error:
            return []


def remove_box(box: Box, container: str | None, proxy: bool = False) -> None:
    """Remove a container, the proxy beside it where there is one, and its private folder."""
    if container or proxy:
        from reclaim_nb.kernels.images import engine

        client = engine()
        try:
            if container:
                _remove(client.api, container)
            if proxy:
                remove_sidecar(client.api, box.path)
        finally:
            client.close()
    box.remove()


def _remove(api: Any, container: str) -> None:
    from docker.errors import APIError

    deadline = time.monotonic() + REMOVAL_SECONDS
    while True:
        try:
            api.remove_container(container, force=True, v=True)
            return
        except APIError as problem:
            if problem.status_code == 404:
                return
            # The engine may still be starting it for a runner that is dead, or removing it for somebody else.
            if time.monotonic() > deadline:
                text = f"container {container[:12]} cannot be removed: {problem.explanation}"
                raise KernelError(text) from problem
        time.sleep(0.2)


def _open_to(folder: Path, uid: int, gid: int) -> None:
    if os.geteuid() == 0:
        os.chown(folder, uid, gid)


def _ulimits(file_mib: int) -> list[Any]:
    from docker.types import Ulimit

    limits = [Ulimit(name="core", soft=0, hard=0)]
    if file_mib:
        limits.append(Ulimit(name="fsize", soft=file_mib * MIB, hard=file_mib * MIB))
    return limits


def _device_requests(gpus: list[str]) -> list[Any] | None:
    if not gpus:
        return None
    from docker.types import DeviceRequest

    if len(gpus) == 1 and gpus[0].startswith("count="):
        return [DeviceRequest(count=int(gpus[0][6:]), capabilities=[["gpu"]])]
    return [DeviceRequest(device_ids=gpus, capabilities=[["gpu"]])]


def _explain(text: str, gpus: bool) -> str:
    if gpus and ("device driver" in text or "gpu" in text.lower() or "nvidia" in text.lower()):
        return (
            "the container engine has no GPU runtime: install the NVIDIA Container Toolkit and restart the engine, "
            f"or run a card whose device is cpu (engine: {text})"
        )
    return f"the container could not be started: {text}"


def _sentence(code: int, memory: bool, memory_mib: int) -> str:
    if memory:
        return f"the kernel was killed because memory ran out (limit {memory_mib} MiB)"
    if code > 128:
        try:
            return f"the kernel was ended by {signal.Signals(code - 128).name}"
        except ValueError:
            pass
    return f"the kernel ended itself with exit code {code}"


def _cpu_file(pid: int) -> Path | None:
    """Return the control group file that counts the container's CPU time (version 1 or 2), None when not visible."""
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if "cpuacct" in controllers.split(","):
            for root in ("/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup/cpu,cpuacct"):
                file = Path(root + path) / "cpuacct.usage"
                if file.exists():
                    return file
        if controllers == "":
            file = Path("/sys/fs/cgroup" + path) / "cpu.stat"
            if file.exists() and path != "/":
                return file
    return None


def _read_cpu(file: Path | None) -> float | None:
    if file is None:
        return None
    try:
        text = file.read_text()
    except OSError:
        return None
    if file.name == "cpuacct.usage":
        return int(text) / 1e9
    for line in text.splitlines():
        if line.startswith("usage_usec"):
            return int(line.split()[1]) / 1e6
    return None
