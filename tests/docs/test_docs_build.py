"""The documentation: its examples are valid, and nothing in it is out of step with the code."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)


def blocks(language: str) -> Iterator[tuple[str, str]]:
    """Yield the code blocks of a language with the page they stand on."""
    for page in PAGES:
        for block in re.findall(rf"^```{language}\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
            yield str(page.relative_to(ROOT)), block


def documents() -> list[tuple[str, dict[str, Any]]]:
    """Return the YAML examples."""
    return [(page, yaml.safe_load(block)) for page, block in blocks("yaml")]


def test_the_example_card_is_a_card_without_faults(tmp_path: Path) -> None:
    from reclaim_nb.papers.loading import load_card

    (text,) = [block for _, block in blocks("yaml") if "\ntarget:" in block]
    (tmp_path / "paper.yaml").write_text(text, "utf-8")
    card = load_card(tmp_path / "paper.yaml").card
    assert card.tier == "retrain"
    assert card.criterion is not None and card.criterion.decide(card.target.value).place == "inside"


def test_example_plans_and_clusters_are_valid() -> None:
    from reclaim_nb.batch.cluster import ClusterConfig
    from reclaim_nb.batch.plan import make_plan

    plans = [make_plan(raw, page) for page, raw in documents() if "agents" in raw]
    clusters = [ClusterConfig.model_validate(raw) for _, raw in documents() if "kind" in raw and "workers" in raw]
    assert len(plans) == 1 and len(clusters) == 2


def test_example_commands_exist_with_their_options() -> None:
    import typer

    from reclaim_nb.cli import app

    root = typer.main.get_command(app)
    lines = [
        line.removeprefix("$ ").replace("\\\n", " ")
        for _, block in [*blocks("console"), *blocks("bash")]
        for line in re.split(r"(?<!\\)\n", block)
        if re.match(r"(\$ )?reclaim ", line)
    ]
    unknown = []
    for line in lines:
        command, words = root, line.partition("#")[0].split()[1:]
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        known = {option for parameter in command.params for option in parameter.opts}
        unknown += [f"{line}: {word}" for word in words if word.startswith("--") and word not in known]
        if getattr(command, "commands", None):
            unknown.append(f"{line}: no such command")
    assert len(lines) > 10
    assert unknown == []


def test_the_example_agent_is_an_agent() -> None:
    import inspect

    (source,) = [block for page, block in blocks("python") if "class Baseline" in block]
    scope: dict[str, Any] = {"__name__": "mine"}
    exec(compile(source, "mine.py", "exec"), scope)
    assert inspect.iscoroutinefunction(scope["Baseline"].write)
    from reclaim_nb.attempts.session import Session

    for tool in re.findall(r"session\.(\w+)\(", source):
        assert inspect.iscoroutinefunction(getattr(Session, tool))


def test_every_module_of_the_python_interface_can_be_imported_and_says_what_it_is() -> None:
    named = [name for page in PAGES for name in re.findall(r"automodule:: (\S+)", page.read_text("utf-8"))]
    assert len(named) > 20 and len(named) == len(set(named))
    assert [name for name in named if not importlib.import_module(name).__doc__] == []


def test_tables_made_from_the_code_hold_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    extension = importlib.import_module("reclaim_docs")
    from reclaim_nb.attempts.reasons import ENDINGS
    from reclaim_nb.papers.card import PaperCard

    assert [row[0].strip("`") for row in extension.endings()[1]] == list(ENDINGS)
    fields = [row[0].strip("`") for row in extension._fields(PaperCard)]
    assert set(fields) == {info.alias or name for name, info in PaperCard.model_fields.items()}
    models = [model.__name__ for model in extension._models(PaperCard)]
    assert len(models) == len(set(models)) and {"Target", "Anchor", "Within"} <= set(models)
    told = {row[0]: row[3] for row in extension._fields(PaperCard)}
    assert told["`strict`"].startswith("A second criterion")
    for directive in re.findall(r"\{reclaim-table\} (\w+)", "".join(page.read_text("utf-8") for page in PAGES)):
        head, rows = extension.TABLES[directive]()
        assert rows and all(len(row) == len(head) for row in rows)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_documentation_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("sphinx")
    pytest.importorskip("myst_nb")
    source = tmp_path / "docs"
    shutil.copytree(DOCS, source, ignore=shutil.ignore_patterns("_build"))
    # The examples are executed by `make docs`; here it is about links, names and tables.
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-D", "nb_execution_mode=off"]
    # Without its kernel a cell's language is not known.
    command += ["-D", "suppress_warnings=ref.python,misc.highlighting_failure"]
    ended = subprocess.run([*command, str(source), str(tmp_path / "html")], capture_output=True, text=True, cwd=ROOT)
    assert ended.returncode == 0, ended.stderr[-4000:]
    assert "H100-equivalents" in (tmp_path / "html" / "use" / "gpu.html").read_text("utf-8")
