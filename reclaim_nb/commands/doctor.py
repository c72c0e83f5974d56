"""What an attempt needs of a machine, looked at one by one."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from reclaim_nb import extras
from reclaim_nb.errors import ReclaimError

_DISK_GIB = 2.0
_GIB = 1024**3


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: what it is.
        ok: it is there.
        needed: without it no attempt can run.
        text: what was found.
        remedy: how to get it, empty when it is there.
    """

    name: str
    ok: bool
    needed: bool
    text: str
    remedy: str = ""


def examine() -> list[Check]:
    """Look at everything, and let nothing that is missing keep the rest from being looked at."""
    checks: list[Check] = []
    for look in (_python, _packages, _extras, _kernels, _papers, _small, _boxes, _disk, _engine):
        try:
            checks.extend(look())
        except (ReclaimError, OSError) as problem:
            checks.append(Check(look.__name__.strip("_"), False, False, str(problem), "see the message"))
    return checks


def can_run(checks: list[Check]) -> bool:
    """Tell whether an attempt can run at all, if only in a plain process."""
    return all(check.ok for check in checks if check.needed)


def _python() -> Iterator[Check]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Check("Python", sys.version_info >= (3, 11), True, f"{version} ({sys.executable})", "install 3.11 or newer")


def _packages() -> Iterator[Check]:
    from importlib.metadata import version

    needed, absent = extras.requirements()[""], extras.missing()
    text = ", ".join(f"{name} {version(name)}" for name in sorted(needed - set(absent)))
    text += f"; not {', '.join(absent)}" if absent else ""
    yield Check("packages", not absent, True, text, "pip install --upgrade reclaim-nb" if absent else "")


def _extras() -> Iterator[Check]:
    absent = [extra for extra in extras.PURPOSES if extras.missing(extra)]
    told = "; ".join(f"{extra}: {extras.PURPOSES[extra]}" for extra in absent)
    text = f"not {told}" if absent else f"all: {', '.join(extras.PURPOSES)}"
    yield Check("extras", not absent, False, text, f"for all of it {extras.how_to_install(*absent)}" if absent else "")


def _kernels() -> Iterator[Check]:
    from importlib.metadata import entry_points

    names = {entry.name for entry in entry_points(group="jupyter_client.kernel_provisioners")}
    own = {"reclaim-docker", "reclaim-local"}
    remedy = "pip install --force-reinstall --no-deps reclaim-nb"
    yield Check("provisioners", own <= names, True, ", ".join(sorted(own & names)) or "none of ours", remedy)
    from jupyter_client.kernelspec import KernelSpecManager

    specs = own & set(KernelSpecManager().find_kernel_specs())
    text = ", ".join(sorted(specs)) or "none of ours where Jupyter looks"
    yield Check("kernelspecs", own <= specs, False, f"{text} (for JupyterLab and papermill -k)", remedy)


def _papers() -> Iterator[Check]:
    from reclaim_nb.papers.suite import load_suite, suite_folders

    suites = [load_suite(folder, keep_going=True) for folder in suite_folders()]
    broken = sum(len(suite.broken) for suite in suites)
    text = ", ".join(f"{suite.name}: {len(suite)} papers" for suite in suites) or "no suite"
    text += f", {broken} broken cards" if broken else ""
    yield Check("papers", bool(suites) and not broken, not suites, text, "reclaim papers check")


def _small() -> Iterator[Check]:
    from reclaim_nb.commands.demo import missing_packages
    from reclaim_nb.papers.suite import find_suite

    missing = sorted({name for loaded in find_suite("small") for name in missing_packages(loaded.name)})
    text = f"not {', '.join(missing)}" if missing else "all that the small papers import"
    yield Check("small papers", not missing, False, text, "pip install 'reclaim-nb[small]', or use --kernel docker")


def _boxes() -> Iterator[Check]:
    from reclaim_nb.kernels.box import box_root

    root = box_root()
    ok = root.is_dir() and os.access(root, os.W_OK | os.X_OK)
    remedy = "set RECLAIM_BOXES to a short folder that you may write to"
    yield Check("sockets", ok, True, f"{root} {'can be written' if ok else 'cannot be written'}", remedy)


def _disk() -> Iterator[Check]:
    free = shutil.disk_usage(Path.cwd()).free / _GIB
    text = f"{free:.1f} GiB free here"
    yield Check("disk", free >= _DISK_GIB, False, text, f"free some: attempts want {_DISK_GIB:g} GiB or more")


def _engine() -> Iterator[Check]:
    from reclaim_nb.kernels.images import engine_problem, image_info, image_name

    problem = engine_problem()
    if problem is not None:
        yield Check("container engine", False, False, problem, "without it cells run unsandboxed (--kernel local)")
        return
    version, runtimes = _engine_facts()
    yield Check("container engine", True, False, version)
    info = image_info()
    state = "not built" if info is None else "stale: built from other files" if info.stale else "up to date"
    text = f"{image_name()}: {state}"
    yield Check("kernel image", info is not None and not info.stale, False, text, "reclaim image build")
    gpu = "nvidia" in runtimes
    text = "the engine has the nvidia runtime" if gpu else "the engine has no GPU runtime"
    remedy = "for papers with device: gpu install the NVIDIA Container Toolkit; CPU papers need none"
    yield Check("GPU runtime", gpu, False, text, remedy)


def _engine_facts() -> tuple[str, set[str]]:
    from reclaim_nb.kernels.images import engine

    client = engine()
    try:
        facts = client.info()
    finally:
        client.close()
    return f"{facts.get('Name', '')} {facts.get('ServerVersion', '')}".strip(), set(facts.get("Runtimes") or {})


Look = Callable[[], Iterator[Check]]
