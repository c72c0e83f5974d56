"""A Dask cluster from configuration: the kinds differ only in the class that is made and its options."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from reclaim_nb.errors import AttemptError, CardError
from reclaim_nb.papers.loading import read_yaml, validate

CLASSES: dict[str, tuple[str, str, str]] = {
    "local": ("distributed", "LocalCluster", "reclaim-nb[dask]"),
    "ssh": ("distributed", "SSHCluster", "reclaim-nb[dask] asyncssh"),
    "slurm": ("dask_jobqueue", "SLURMCluster", "reclaim-nb[dask] dask-jobqueue"),
    "pbs": ("dask_jobqueue", "PBSCluster", "reclaim-nb[dask] dask-jobqueue"),
    "kubernetes": ("dask_kubernetes.operator", "KubeCluster", "reclaim-nb[dask] dask-kubernetes"),
}
"""Module and class of each kind, and what has to be installed for it."""


class ClusterConfig(BaseModel):
    """What a cluster file says.

    Attributes:
        kind: which class makes the cluster.
        workers: workers to ask for; kinds that are given their hosts (ssh) leave it out.
        options: arguments of that class, in its own words.
        resources: what one attempt takes of a worker, for example ``GPU: 1``; workers must offer it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["local", "ssh", "slurm", "pbs", "kubernetes"]
    workers: int | None = Field(default=None, ge=1)
    options: dict[str, Any] = Field(default_factory=dict)
    resources: dict[str, float] = Field(default_factory=dict)


def load_cluster(path: Path) -> ClusterConfig:
    """Read a cluster file.

    Raises:
        AttemptError: when it is none, naming the field.
    """
    try:
        return validate(ClusterConfig, read_yaml(path, digits=False), path)
    except CardError as problem:
        raise AttemptError(str(problem)) from None


@contextmanager
def cluster_client(config: ClusterConfig) -> Iterator[Any]:
    """Start the cluster, give a client of it, and end both.

    Raises:
        AttemptError: when the package of this kind is not installed, or the cluster cannot be started.
    """
    module, name, packages = CLASSES[config.kind]
    try:
        from distributed import Client

        make = getattr(import_module(module), name)
    except ImportError:
        raise AttemptError(f"a cluster of kind {config.kind!r} needs more packages: pip install {packages}") from None
    try:
        cluster = make(**config.options)
    except (TypeError, ValueError, OSError, RuntimeError) as problem:
        raise AttemptError(f"the {config.kind} cluster cannot be started: {problem}") from problem
    with cluster, Client(cluster) as client:
        if config.workers is not None:
            cluster.scale(config.workers)
        yield client
