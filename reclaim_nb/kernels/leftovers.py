"""Boxes whose runner is provably dead, and their removal. Everything else is left alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from reclaim_nb.errors import KernelError
from reclaim_nb.kernels.box import PREFIX, Box, box_root
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

    def remove(self) -> None:
        """End the kernel and remove its traces.

        Raises:
            KernelError: when the engine refuses.
        """
        if self.pid is not None:
            _kill(self.pid, self.started, Box(self.box))
        from reclaim_nb.kernels.docker_provisioner import remove_box

        remove_box(Box(self.box), self.container)


def find_leftovers() -> list[Leftover]:
    """Return the boxes of dead runners of this machine, containers and plain processes."""
    found: dict[str, Leftover] = {}
    for container in _containers():
        labels = container["Labels"]
        box = Box(Path(labels["org.reclaim.box"]))
        owner = box.owner() or Owner.from_json(
            {name: labels.get(f"org.reclaim.owner.{name}", "") for name in ("host", "boot", "namespace", "pid")}
            | {"started": labels.get("org.reclaim.owner.started", "")}
        )
        if owner.is_gone():
            identity = container["Id"]
            attempt = labels.get("org.reclaim.attempt", "")
            found[str(box.path)] = Leftover("container", identity[:12], attempt, box.path, container=identity)
    for path in sorted(box_root().glob(f"{PREFIX}????????")):
        if str(path) in found or not path.is_dir():
            continue
        box = Box(path)
        holder = box.owner()
        if holder is None or not holder.is_gone():
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


def _containers() -> list[dict[str, Any]]:
    from reclaim_nb.kernels.images import engine, engine_problem

    if engine_problem() is not None:
        return []
    client = engine()
    try:
        containers: list[dict[str, Any]] = client.api.containers(all=True, filters={"label": "org.reclaim.kernel"})
    finally:
        client.close()
    return containers


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
