"""The proxy beside a kernel: its own internal network, the container that is the only way out, and their removal."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reclaim_nb.errors import KernelError
from reclaim_nb.kernels.box import Box
from reclaim_nb.kernels.network import PROXY_PORT, Rules, dnsmasq_config, squid_config

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
    """

    network: str
    container: str
    address: str

    @property
    def url(self) -> str:
        """Address of the proxy, as programs take it."""
        return f"http://{self.address}:{PROXY_PORT}"

    def environment(self) -> dict[str, str]:
        """Return the variables by which programs find the proxy."""
        here = "localhost,127.0.0.1"
        upper = {"HTTP_PROXY": self.url, "HTTPS_PROXY": self.url, "NO_PROXY": here}
        return {**upper, **{name.lower(): value for name, value in upper.items()}}


def log_folder(box: Path) -> Path:
    """Return the folder that a box's proxy writes its logs into."""
    return box / "n" / "log"


def start_sidecar(
    api: Any,
    box: Box,
    rules: Rules,
    *,
    labels: dict[str, str],
    user: tuple[int, int],
    abandon_seconds: float,
    egress: str,
) -> Sidecar:
    """Start a proxy for one kernel and wait until it takes requests.

    Args:
        api: low-level client of the engine.
        box: the kernel's private folder; configuration and logs lie in it, where the kernel does not see them.
        rules: what may be reached.
        labels: who it belongs to.
        user: uid and gid it runs as.
        abandon_seconds: seconds without a runner after which it ends itself.
        egress: the engine's network that leads out.

    Raises:
        KernelError: it cannot be started; nothing of it is then left.
    """
    from docker.errors import APIError, ImageNotFound

    from reclaim_nb.kernels.network_image import proxy_image

    image = proxy_image()
    labels = {**labels, PROXY: "1"}
    remove_sidecar(api, box.path)
    try:
        network = _create_network(api, box, labels)
        subnet = api.inspect_network(network)["IPAM"]["Config"][0]["Subnet"]
        _write_config(box, rules, subnet, user)
        container = _create_container(api, image, box, rules, labels, user, abandon_seconds, egress)
        api.connect_container_to_network(container, network)
        api.start(container)
        _wait_until_ready(api, container, log_folder(box.path))
        networks = api.inspect_container(container)["NetworkSettings"]["Networks"].values()
        address = next(one["IPAddress"] for one in networks if one["NetworkID"] == network)
        return Sidecar(network, container, address)
    except ImageNotFound as problem:
        remove_sidecar(api, box.path)
        raise KernelError(f"the image {image} is not here: run `reclaim image build --proxy`") from problem
    except APIError as problem:
        remove_sidecar(api, box.path)
        raise KernelError(_explain(str(problem.explanation))) from problem
    except BaseException:
        remove_sidecar(api, box.path)
        raise


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


def _create_container(
    api: Any,
    image: str,
    box: Box,
    rules: Rules,
    labels: dict[str, str],
    user: tuple[int, int],
    abandon_seconds: float,
    egress: str,
) -> str:
    from docker.types import Ulimit

    host = api.create_host_config(
        binds={
            str(box.path / "n" / "conf"): {"bind": "/conf", "mode": "ro"},
            str(log_folder(box.path)): {"bind": "/log", "mode": "rw"},
            # This file alone: beside it lies the key of the kernel's connection.
            str(box.heartbeat): {"bind": "/given/heartbeat", "mode": "ro"},
        },
        network_mode=egress,
        extra_hosts={entry.name: entry.address for entry in rules.allow if entry.address},
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
        image,
        host_config=host,
        user=f"{user[0]}:{user[1]}",
        labels=labels,
        hostname="proxy",
        environment={"RECLAIM_ABANDON_SECONDS": str(abandon_seconds)},
    )
    return str(made["Id"])


def _wait_until_ready(api: Any, container: str, logs: Path) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        if "Accepting HTTP Socket connections" in _text(logs / "squid.log") and "started" in _text(logs / "names.log"):
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
