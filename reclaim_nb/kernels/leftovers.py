"""Boxes whose runner is provably dead, and their removal. Everything else is left alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from reclaim_nb.errors import KernelError
from reclaim_nb.kernels.box import PREFIX, Box, box_root
from reclaim_nb.kernels.network_sidecar import boxes_with_sidecars
from reclaim_nb.kernels.owner import Owner, process_start


@dataclass(frozen=True)
class Leftover:
    """A box without an owner: what it is, which attempt it served, what removes it."""

    kind: str
    name: str
    attempt: str
    box: Path
    container: str | None = None
    pid: int | None = None
    started: str | None = None
    proxy: bool = False

    def remove(self) -> None:
        """End the kernel and remove its traces.

        Raises:
            KernelError: when the engine refuses.
        """
        if self.pid is not None:
            _kill(self.pid, self.started, Box(self.box))
        from reclaim_nb.kernels.docker_provisioner import remove_box

        remove_box(Box(self.box), self.container, self.proxy)


def find_leftovers() -> list[Leftover]:
    """Return the boxes of dead runners of this machine, containers and plain processes."""
    found: dict[str, Leftover] = {}
    containers, proxies = _containers()
    for container in containers:
        labels = container["Labels"]
        box = Box(Path(labels["org.reclaim.box"]))
        if _owner(box, labels).is_gone():
            identity = container["Id"]
            attempt, proxy = labels.get("org.reclaim.attempt", ""), box.path in proxies
            found[str(box.path)] = Leftover(
                "container", identity[:12], attempt, box.path, container=identity, proxy=proxy
            )
    for path, labels in proxies.items():
        if str(path) not in found and _owner(Box(path), labels).is_gone():
            attempt = labels.get("org.reclaim.attempt", "")
            found[str(path)] = Leftover("proxy", path.name, attempt, path, proxy=True)
    for path in sorted(box_root().glob(f"{PREFIX}????????")):
        if str(path) in found or not path.is_dir():
            continue
        box = Box(path)
        holder = box.owner()
        if not (box.is_forsaken() if holder is None else holder.is_gone()):
            continue
        facts: dict[str, Any] = box.description()
        if facts.get("kind") == "docker" and not _engine_answers():
            continue  # whether its container still runs cannot be told now
        found[str(path)] = Leftover(
            "process" if facts.get("kind") == "local" else "folder",
            str(facts.get("pid") or path.name),
            str(facts.get("attempt", "")),
            path,
            pid=facts.get("pid"),
            started=facts.get("started"),
        )
    return list(found.values())


def _owner(box: Box, labels: dict[str, str]) -> Owner:
    return box.owner() or Owner.from_json(
        {name: labels.get(f"org.reclaim.owner.{name}", "") for name in ("host", "boot", "namespace", "pid", "started")}
    )


def _containers() -> tuple[list[dict[str, Any]], dict[Path, dict[str, str]]]:
    """Return the containers of kernels, and the labels of proxies by their box."""
    from reclaim_nb.kernels.images import engine, engine_problem

    if engine_problem() is not None:
        return [], {}
    client = engine()
    try:
        containers = client.api.containers(all=True, filters={"label": "org.reclaim.kernel"})
        return containers, boxes_with_sidecars(client.api)
    finally:
        client.close()


def _engine_answers() -> bool:
    from reclaim_nb.kernels.images import engine_problem

    return engine_problem() is None


def _kill(pid: int, started: str | None, box: Box) -> None:
    from reclaim_nb.kernels.local_provisioner import belongs_to

    family = [process for process in psutil.process_iter() if process.pid != pid and belongs_to(process.pid, pid, box)]
    try:
        if started is not None and process_start(pid) == started:  # else the pid is somebody else's by now
            process = psutil.Process(pid)
            family += [process, *process.children(recursive=True)]
    except psutil.Error:
        pass
    for member in family:
        try:
            member.kill()
        except psutil.Error:
            continue
    _, alive = psutil.wait_procs(family, timeout=5)
    if alive:
        raise KernelError(f"process {pid} does not end; end it by hand")
