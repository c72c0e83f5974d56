"""The proxy beside a kernel: its own internal network, the container that is the only way out, and their removal."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reclaim_nb.errors import KernelError
from reclaim_nb.kernels.box import Box
from reclaim_nb.kernels.network import PROXY_PORT, Rules, dnsmasq_config, squid_config
from reclaim_nb.kernels.owner import process_start

PROXY = "org.reclaim.proxy"
"""Label of sidecars and their networks; ``org.reclaim.box`` says whose they are."""

BOX = "org.reclaim.box"
READY_SECONDS = 20.0
STOP_SECONDS = 4
_MIB = 1024 * 1024
_MEMORY = 256 * _MIB
_LOG_MOST = 256 * _MIB

# No address for the host in the internal network: else a kernel reached whatever listens there. The second name is the
# one of Docker 28 and later; an engine passes over options it does not know.
_ISOLATED = {
    "com.docker.network.bridge.inhibit_ipv4": "true",
    "com.docker.network.bridge.gateway_mode_ipv4": "isolated",
}


@dataclass(frozen=True)
class Sidecar:
    """A running proxy.

    Attributes:
        network: id of the internal network, which the kernel joins.
        container: id of the proxy's container.
        address: the proxy's address in that network.
        pid: host pid of its first process; ``started`` tells it from a later one.
    """

    network: str
    container: str
    address: str
    pid: int = 0
    started: str = ""

    @property
    def url(self) -> str:
        """Address of the proxy, as programs take it."""
        return f"http://{self.address}:{PROXY_PORT}"

    def environment(self) -> dict[str, str]:
        """Return the variables by which programs find the proxy."""
        here = "localhost,127.0.0.1"
        upper = {"HTTP_PROXY": self.url, "HTTPS_PROXY": self.url, "NO_PROXY": here}
        return {**upper, **{name.lower(): value for name, value in upper.items()}}

    def problem(self, api: Any) -> str | None:
        """Say what ended it, None while it lives."""
        from docker.errors import DockerException
        from requests.exceptions import RequestException

        if self.pid and process_start(self.pid) == self.started:
            return None
        try:
            state = api.inspect_container(self.container)["State"]
        except (DockerException, RequestException):
            return "the proxy was removed from outside"
        if state["Running"]:
            return None
        memory = ", because its memory ran out" if state.get("OOMKilled") else ""
        return f"the proxy has ended with exit code {state.get('ExitCode')}{memory}"


@dataclass(frozen=True)
class WayOut:
    """What a proxy is started with.

    Attributes:
        rules: what may be reached.
        labels: who it belongs to.
        user: uid and gid it runs as.
        abandon_seconds: seconds without a runner after which it ends itself.
        egress: the engine's network that leads out.
    """

    rules: Rules
    labels: dict[str, str]
    user: tuple[int, int]
    abandon_seconds: float
    egress: str


def log_folder(box: Path) -> Path:
    """Return the folder that a box's proxy writes its logs into."""
    return box / "n" / "log"


def start_sidecar(api: Any, box: Box, way: WayOut) -> Sidecar:
    """Start a proxy for one kernel and wait until it takes requests.

    Args:
        api: low-level client of the engine.
        box: the kernel's private folder; configuration and logs lie in it, where the kernel does not see them.
        way: what it is started with.

    Raises:
        KernelError: it cannot be started; nothing of it is then left.
    """
    remove_sidecar(api, box.path)
    try:
        with _explained():
            network = _create_network(api, box, {**way.labels, PROXY: "1"})
            return _run_in(api, box, way, network)
    except BaseException:
        remove_sidecar(api, box.path)
        raise


def revive_sidecar(api: Any, box: Box, way: WayOut, address: str) -> tuple[Sidecar, bool]:
    """Find the proxy of a kernel that runs, and start it again where it has ended.

    Args:
        api, box, way: see :func:`start_sidecar`.
        address: the address that the kernel knows it by.

    Returns:
        The proxy, and whether it had to be started again.

    Raises:
        KernelError: it cannot be brought back under its address.
    """
    mine = {"label": [PROXY, f"{BOX}={box.path}"]}
    with _explained():
        networks = api.networks(filters=mine)
        if not networks:
            raise KernelError("its network is gone")
        network, revived = networks[0]["Id"], False
        containers = api.containers(all=True, filters=mine)
        running = [one["Id"] for one in containers if one["State"] == "running"]
        if running:
            found = _described(api, running[0], network)
        else:
            for one in containers:
                _unless_gone(lambda identity=one["Id"]: api.remove_container(identity, force=True, v=True))
            found, revived = _run_in(api, box, way, network), True
        if found.address != address:
            raise KernelError(f"the kernel knows it as {address}, and it is {found.address} now")
        return found, revived


def _run_in(api: Any, box: Box, way: WayOut, network: str) -> Sidecar:
    subnet = api.inspect_network(network)["IPAM"]["Config"][0]["Subnet"]
    _write_config(box, way.rules, subnet, way.user)
    logs = log_folder(box.path)
    before = _marks(logs)
    container = _create_container(api, box, way)
    api.connect_container_to_network(container, network)
    api.start(container)
    _wait_until_ready(api, container, logs, before)
    return _described(api, container, network)


def _described(api: Any, container: str, network: str) -> Sidecar:
    facts = api.inspect_container(container)
    networks = facts["NetworkSettings"]["Networks"].values()
    address = next((one["IPAddress"] for one in networks if one["NetworkID"] == network), "")
    pid = int(facts["State"].get("Pid") or 0)
    return Sidecar(network, container, address, pid, process_start(pid) or "")


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    from docker.errors import APIError, ImageNotFound

    from reclaim_nb.kernels.network_image import proxy_image

    try:
        yield
    except ImageNotFound as problem:
        raise KernelError(f"the image {proxy_image()} is not here: run `reclaim image build --proxy`") from problem
    except APIError as problem:
        raise KernelError(_explain(str(problem.explanation))) from problem


def remove_sidecar(api: Any, box: Path) -> None:
    """End the proxy of a box, so that its log is whole, and remove it and its network; without one do nothing.

    Raises:
        KernelError: the engine refuses.
    """
    from docker.errors import APIError

    mine = {"label": [PROXY, f"{BOX}={box}"]}
    try:
        for container in api.containers(all=True, filters=mine):
            with contextlib.suppress(APIError):
                api.stop(container["Id"], timeout=STOP_SECONDS)
            _unless_gone(lambda identity=container["Id"]: api.remove_container(identity, force=True, v=True))
        for network in api.networks(filters=mine):
            for member in api.inspect_network(network["Id"]).get("Containers") or {}:
                _unless_gone(
                    lambda one=member, net=network["Id"]: api.disconnect_container_from_network(one, net, True)
                )
            _unless_gone(lambda identity=network["Id"]: api.remove_network(identity))
    except APIError as problem:
        raise KernelError(f"the proxy of {box} cannot be removed: {problem.explanation}") from problem


def boxes_with_sidecars(api: Any) -> dict[Path, dict[str, str]]:
    """Return the boxes that a proxy or its network is labelled with, each with the labels."""
    found: dict[Path, dict[str, str]] = {}
    for one in [*api.containers(all=True, filters={"label": PROXY}), *api.networks(filters={"label": PROXY})]:
        labels = one.get("Labels") or {}
        if labels.get(BOX):
            found.setdefault(Path(labels[BOX]), labels)
    return found


def _create_network(api: Any, box: Box, labels: dict[str, str]) -> str:
    from docker.errors import APIError

    try:
        made = api.create_network(
            box.path.name, driver="bridge", internal=True, enable_ipv6=False, options=_ISOLATED, labels=labels
        )
    except APIError as problem:
        text = str(problem.explanation)
        if "gateway_mode" not in text and "gateway mode" not in text:
            raise
        options = {name: value for name, value in _ISOLATED.items() if "gateway_mode" not in name}
        made = api.create_network(
            box.path.name, driver="bridge", internal=True, enable_ipv6=False, options=options, labels=labels
        )
    return str(made["Id"])


def _write_config(box: Box, rules: Rules, subnet: str, user: tuple[int, int]) -> None:
    config, logs = box.path / "n" / "conf", log_folder(box.path)
    config.mkdir(parents=True, exist_ok=True)
    logs.mkdir(exist_ok=True)
    (config / "squid.conf").write_text(squid_config(rules, subnet), "utf-8")
    (config / "dnsmasq.conf").write_text(dnsmasq_config(), "utf-8")
    logs.chmod(0o700)
    if os.geteuid() == 0:
        os.chown(logs, *user)
        for file in logs.iterdir():
            os.chown(file, *user)


def _create_container(api: Any, box: Box, way: WayOut) -> str:
    from docker.types import Ulimit

    from reclaim_nb.kernels.network_image import proxy_image

    host = api.create_host_config(
        binds={
            str(box.path / "n" / "conf"): {"bind": "/conf", "mode": "ro"},
            str(log_folder(box.path)): {"bind": "/log", "mode": "rw"},
            # This file alone: beside it lies the key of the kernel's connection.
            str(box.heartbeat): {"bind": "/given/heartbeat", "mode": "ro"},
        },
        network_mode=way.egress,
        extra_hosts={entry.name: entry.address for entry in way.rules.allow if entry.address},
        read_only=True,
        tmpfs={"/tmp": "rw,noexec,nosuid,nodev,size=16m", "/run": "rw,noexec,nosuid,nodev,size=4m,mode=1777"},
        cap_drop=["ALL"],
        security_opt=["no-new-privileges:true"],
        mem_limit=_MEMORY,
        memswap_limit=_MEMORY,
        pids_limit=64,
        init=True,
        # A full log ends the proxy, and with it the way out, instead of filling the host's disk.
        ulimits=[Ulimit(name="core", soft=0, hard=0), Ulimit(name="fsize", soft=_LOG_MOST, hard=_LOG_MOST)],
        log_config={"Type": "json-file", "Config": {"max-size": "1m", "max-file": "1"}},
    )
    made = api.create_container(
        proxy_image(),
        host_config=host,
        user=f"{way.user[0]}:{way.user[1]}",
        labels={**way.labels, PROXY: "1"},
        hostname="proxy",
        environment={"RECLAIM_ABANDON_SECONDS": str(way.abandon_seconds)},
    )
    return str(made["Id"])


def _marks(logs: Path) -> tuple[int, int]:
    """Return how often squid and dnsmasq have said in their logs that they are ready."""
    squid = _text(logs / "squid.log").count("Accepting HTTP Socket connections")
    return squid, _text(logs / "names.log").count(": started, version")


def _wait_until_ready(api: Any, container: str, logs: Path, before: tuple[int, int]) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        if all(now > then for now, then in zip(_marks(logs), before, strict=True)):
            return
        state = api.inspect_container(container)["State"]
        if not state["Running"]:
            words = bytes(api.logs(container, tail=20)).decode("utf-8", "replace").strip()
            raise KernelError(f"the proxy ended at once ({state.get('ExitCode')}): {words[-1000:]}")
        time.sleep(0.05)
    words = bytes(api.logs(container, tail=20)).decode("utf-8", "replace").strip()
    raise KernelError(f"the proxy takes no requests after {READY_SECONDS:g} s: {words[-1000:]}")


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _unless_gone(call: Any) -> None:
    from docker.errors import APIError

    try:
        call()
    except APIError as problem:
        if problem.status_code != 404:
            raise


def _explain(text: str) -> str:
    if "non-overlapping" in text or "address pool" in text:
        return (
            "the engine has no room for another network: let fewer attempts with an allow list run at a time, or widen "
            f"default-address-pools in its configuration (engine: {text})"
        )
    return f"the proxy could not be started: {text}"
