"""What a command says where an extra is not installed."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest

from reclaim_nb import extras

WITHOUT = """
import importlib.metadata, sys
class Without:
    names = {names!r}
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Without())
known = importlib.metadata.distribution
def distribution(name):
    if name in {distributions!r}:
        raise importlib.metadata.PackageNotFoundError(name)
    return known(name)
importlib.metadata.distribution = distribution
"""
AGENTS = {"pydantic_ai": "pydantic-ai-slim", "genai_prices": "genai-prices", "mcp": "mcp", "mcp_types": "mcp-types"}


def without(packages: dict[str, str], program: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a Python that does not have some packages, by the names of import and installation."""
    code = WITHOUT.format(names=sorted(packages), distributions=sorted(packages.values())) + program
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)


def reclaim_without(packages: dict[str, str], *words: object) -> subprocess.CompletedProcess[str]:
    return without(packages, f"from reclaim_nb.cli import main\nsys.exit(main({[str(word) for word in words]!r}))")


def test_the_doctor_asks_for_no_extra() -> None:
    ended = reclaim_without(AGENTS, "doctor")
    assert ended.returncode == 0
    lines = [" ".join(line.split()) for line in ended.stdout.splitlines()]
    assert not any(line.startswith("MISSING") for line in lines)
    assert "pydantic-ai" not in next(line for line in lines if line.startswith("ok packages"))
    place = next(number for number, line in enumerate(lines) if line.startswith("missing extras"))
    assert f"agents: {extras.PURPOSES['agents']}" in lines[place]
    assert "pip install 'reclaim-nb[agents,rebuild]'" in lines[place + 1]


def test_the_doctor_misses_what_is_always_needed() -> None:
    ended = reclaim_without({"nothing": "papermill"}, "doctor")
    assert ended.returncode == 1
    assert "MISSING packages" in " ".join(ended.stdout.split())


@pytest.mark.parametrize(
    "words",
    [
        ("grade", "ATTEMPT", "--model", "openai:gpt-5"),
        ("calibrate", "--builtin"),
        ("rebuild", "draft", "FOLDER", "--model", "openai:gpt-5"),
        ("run", "small/iforest-breastw", "--agent", "model", "--model", "openai:gpt-5", "--kernel", "local"),
    ],
)
def test_a_missing_extra_is_named_in_one_line(words: tuple[str, ...], attempt: Path, tmp_path: Path) -> None:
    places = {"ATTEMPT": str(attempt), "FOLDER": str(begun(tmp_path))}
    ended = reclaim_without(AGENTS, *(places.get(word, word) for word in words))
    assert ended.returncode == 1
    line = ended.stderr.splitlines()[-1]
    assert line.startswith("error: ")
    assert "pydantic-ai" in line
    assert "pip install 'reclaim-nb[agents]'" in line
    assert "Traceback" not in ended.stderr


def begun(folder: Path) -> Path:
    """Begin a rebuild in a folder."""
    from reclaim_nb.rebuild.run import begin

    return begin(folder / "rebuild", venue="Some.cc/2025/Conference").path


def test_where_a_rebuild_stands_is_told_without_a_client_of_models(tmp_path: Path) -> None:
    ended = reclaim_without(AGENTS, "rebuild", "status", begun(tmp_path))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "Some.cc/2025/Conference: 0 papers" in ended.stdout


@pytest.mark.parametrize("step", ["match", "read", "probe", "select", "selftest"])
def test_a_step_that_asks_no_model_needs_no_client_of_models(tmp_path: Path, step: str) -> None:
    ended = reclaim_without(AGENTS, "rebuild", step, begun(tmp_path))
    assert ended.returncode == 1
    assert "no papers are collected yet" in ended.stderr


def test_a_figure_without_the_extra_names_it(tmp_path: Path) -> None:
    packages = {"matplotlib": "matplotlib"}
    ended = reclaim_without(packages, "papers", "overview", "small", "--figure", tmp_path / "figure.svg")
    said = "error: this needs matplotlib, which is not installed: pip install 'reclaim-nb[analysis]'\n"
    assert (ended.returncode, ended.stderr) == (1, said)


def test_frames_without_the_extra_name_it() -> None:
    ended = without({"pandas": "pandas"}, "from reclaim_nb import load_runs")
    assert ended.stderr.splitlines()[-1] == (
        "ImportError: this needs pandas, which is not installed: pip install 'reclaim-nb[analysis]'"
    )


def test_an_import_that_fails_for_another_reason_is_a_fault() -> None:
    ended = reclaim_without({"papermill": "papermill"}, "run", "small/iforest-breastw", "--kernel", "local")
    assert ended.returncode == 1
    assert "Traceback" in ended.stderr


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("pydantic_ai", "agents"),
        ("mcp", "agents"),
        ("openreview", "rebuild"),
        ("huggingface_hub", "fetch"),
        ("statsmodels", "analysis"),
        ("krippendorff", "calibration"),
        ("distributed", "dask"),
        ("jupyterlab", "lab"),
        ("mistune", "widgets"),
    ],
)
def test_the_extra_of_a_package(module: str, extra: str) -> None:
    told = extras.advice(ModuleNotFoundError("", name=module))
    assert told is not None
    assert f"pip install 'reclaim-nb[{extra}]'" in told


@pytest.mark.parametrize("name", ["papermill", "rfc3987_syntax", "mcp.nowhere", "pytest", None])
def test_no_extra_brings_what_is_not_of_ours(name: str | None) -> None:
    pytest.importorskip("mcp")
    assert extras.advice(ModuleNotFoundError("", name=name)) is None
    assert extras.advice(ImportError("cannot import name 'x'", name="pandas")) is None


def test_every_extra_that_has_a_purpose_is_one() -> None:
    known = {
        line.rpartition("extra == ")[2].strip("'\"") for line in requires("reclaim-nb") or [] if "extra ==" in line
    }
    assert set(extras.PURPOSES) <= known
    assert known - set(extras.PURPOSES) == {"small", "test", "ui", "docs", "dev"}
