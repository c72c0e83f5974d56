"""A plan on a real Dask scheduler with worker processes, some of which are killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from batch_helpers import check_final, first, output_of, quick_plan, start_pool, table, wait_until, waiting_plan

distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")

from reclaim_nb.batch.dask import run_on_dask  # noqa: E402
from reclaim_nb.batch.lock import stop_pool  # noqa: E402
from reclaim_nb.record.folder import is_held  # noqa: E402
from reclaim_nb.record.index import Index  # noqa: E402

pytestmark = pytest.mark.timeout(900)  # the cluster that all tests share starts in the first one's time


class Cluster:
    """A scheduler and workers, each its own process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workers: list[subprocess.Popen[bytes]] = []
        self.schedulers = 0
        self.start_scheduler()

    def start_scheduler(self) -> None:
        self.schedulers += 1
        log = self.folder / f"scheduler-{self.schedulers}.log"
        arguments = ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
        self.scheduler = self._start(arguments, log)
        wait_until(lambda: re.search(r"tcp://127\.0\.0\.1:\d+", log.read_text()))
        found = re.search(r"tcp://127\.0\.0\.1:\d+", log.read_text())
        assert found is not None
        self.address = found.group()

    def start_worker(self, preload: str = "") -> subprocess.Popen[bytes]:
        number = len(self.workers)
        arguments = ["worker", self.address, "--nworkers", "1", "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        arguments += ["--local-directory", str(self.folder / f"w{number}"), "--death-timeout", "60"]
        if preload:
            arguments += ["--preload", preload]
        worker = self._start(arguments, self.folder / f"worker-{number}.log")
        self.workers.append(worker)
        return worker

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()

    def _start(self, arguments: list[str], log: Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]]
        log.touch()
        return subprocess.Popen(command, stdout=log.open("ab"), stderr=subprocess.STDOUT)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path)
    try:
        yield cluster
    finally:
        cluster.close()


@pytest.mark.slow
def test_every_attempt_gets_one_result_though_worker_scheduler_and_client_are_lost(
    cluster: Cluster, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    plan = quick_plan(repeats=2)
    for _ in range(3):
        cluster.start_worker()
    killed = []

    def kill_a_worker(progress: object) -> None:
        if not killed and list(runs.rglob("stream.jsonl")):
            killed.append(cluster.workers[0].pid)
            os.kill(cluster.workers[0].pid, signal.SIGKILL)

    code = (
        "import sys; from pathlib import Path\n"
        "sys.path.insert(0, sys.argv[3])\n"
        "from batch_helpers import quick_plan; from distributed import Client\n"
        "from reclaim_nb.batch.dask import run_on_dask\n"
        "with Client(sys.argv[1]) as client: run_on_dask(quick_plan(repeats=2), Path(sys.argv[2]), client)\n"
    )
    helpers = str(Path(__file__).parent)
    client = subprocess.Popen([sys.executable, "-c", code, cluster.address, str(runs), helpers])
    wait_until(lambda: list(runs.rglob("stream.jsonl")))
    kill_a_worker(None)
    wait_until(lambda: len(table(runs)) >= 2)
    cluster.scheduler.kill()
    cluster.scheduler.wait()
    client.kill()
    client.wait()

    cluster.close()
    cluster.workers.clear()
    cluster.start_scheduler()
    cluster.start_worker()
    cluster.start_worker()
    with distributed.Client(cluster.address) as again:
        progress = run_on_dask(plan, runs, again)
    assert killed
    assert (progress.done, progress.problems) == (8, {})
    check_final(plan, runs)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, None], ids=["ctrl-c", "sigterm", "batch-stop"])
def test_a_stop_cancels_what_workers_do_and_begins_nothing_more(
    cluster: Cluster, tmp_path: Path, how: int | None
) -> None:
    runs = tmp_path / "runs"
    plan = waiting_plan(tmp_path, repeats=2)
    cluster.start_worker()
    client = start_pool(plan, runs, "--dask", cluster.address)
    one = first(plan, runs)
    wait_until(lambda: one.folder().stream.exists())
    if how is None:
        assert stop_pool(runs / plan.name) == client.pid
    else:
        client.send_signal(how)
    told = client.wait(timeout=120), output_of(plan, runs).read_text()
    assert told[0] == 4, told
    assert not is_held(one.folder())
    assert [row.reason for row in Index(runs).rows()] == ["cancelled"]


@pytest.mark.slow
def test_a_worker_that_does_not_see_the_batch_says_so(cluster: Cluster, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    plan = quick_plan(papers=["small/ntk-relu-gradient-angle"], agents=["nothing"])
    code = "import sys; from reclaim_nb.batch import lock; lock.LOCK = '.of-another-disk'"
    cluster.start_worker(preload=code)
    with distributed.Client(cluster.address) as client:
        progress = run_on_dask(plan, runs, client)
    ((_, problem),) = progress.problems.items()
    assert os.uname().nodename in problem and str(runs / plan.name) in problem
    assert progress.done == 0 and not list(runs.rglob("stream.jsonl"))


def test_what_a_worker_says_is_believed_once_it_is_seen_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    says = {"folder": "/elsewhere", "reason": "submitted", "final": True, "hours": "0.1", "problem": None}
    monkeypatch.setattr("reclaim_nb.batch.dask.settle_elsewhere", lambda *given: says)
    monkeypatch.setattr("reclaim_nb.batch.dask.LATE_SECONDS", 0.5)
    plan = quick_plan(papers=["small/ntk-relu-gradient-angle"], agents=["nothing"])
    with distributed.Client(n_workers=1, processes=False, dashboard_address=None) as client:
        progress = run_on_dask(plan, tmp_path, client)
    assert progress.done == 0 and "/elsewhere" in next(iter(progress.problems.values()))


def test_a_cluster_file_starts_a_cluster_and_a_wrong_one_is_refused_by_field(tmp_path: Path) -> None:
    from reclaim_nb.batch.cluster import cluster_client, load_cluster
    from reclaim_nb.errors import AttemptError

    file = tmp_path / "cluster.yaml"
    options = "{n_workers: 0, processes: false, dashboard_address: null}"
    file.write_text(f"kind: local\nworkers: 1\noptions: {options}\nresources: {{GPU: 1}}\n")
    config = load_cluster(file)
    assert config.resources == {"GPU": 1.0}
    with cluster_client(config) as client:
        assert client.submit(sum, [1, 2]).result(timeout=60) == 3
    file.write_text("kind: moon\n")
    with pytest.raises(AttemptError, match="kind"):
        load_cluster(file)


def test_a_kind_that_is_not_installed_says_what_to_install(tmp_path: Path) -> None:
    from reclaim_nb.batch.cluster import ClusterConfig, cluster_client
    from reclaim_nb.errors import AttemptError

    if find_spec("dask_jobqueue") is not None:
        pytest.skip("dask-jobqueue is installed here")
    with pytest.raises(AttemptError, match="dask-jobqueue"), cluster_client(ClusterConfig(kind="slurm")):
        pass
