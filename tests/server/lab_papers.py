"""A suite of tiny papers for tests of what the lab shows, each with a reference notebook to replay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

ATTEMPT = "single/tiny/good/replay/01"
"""Path of the attempt that the server tests find."""

_DRAW = "import random\nrng = random.Random(0)\ndraws = [rng.random() * {high} for _ in range(20000)]\n"
_MEAN = "mean = sum(draws) / len(draws)\nprint(f'mean of the draws = {mean:.3f}')"
_SUBMIT = "attempt.submit(f'{mean:.3f}', note='mean of 20,000 draws')"

GOOD = {
    "draw": _DRAW.replace("{high}", "8") + "attempt.check_anchor('draws', len(draws))\nprint('drawn:', len(draws))",
    "measure": _MEAN,
    "submit": _SUBMIT,
}
MISS = {
    "draw": _DRAW.replace("{high}", "8.3") + "print('drawn:', len(draws))",
    "broken": "raise RuntimeError('a cell that fails')",
    "measure": _MEAN,
    "submit": _SUBMIT,
}
AGAIN_SLOW = {
    "draw": GOOD["draw"],
    "measure": f"import pathlib, time\nif pathlib.Path('ran').exists():\n    time.sleep(300)\n{_MEAN}",
    "submit": f"pathlib.Path('ran').touch()\n{_SUBMIT}",
}
"""Quick the first time, and slow where it runs again in the workspace that it left."""
HOSTILE = {
    "script": (
        "from IPython.display import HTML, Javascript, display\n"
        "display(HTML('<script>window.hacked = 1</script><img src=x onerror=\"window.hacked = 1\">'\n"
        "             '<div style=\"position:fixed;inset:0;background:red\">over everything</div>'))\n"
        "display(Javascript('window.hacked = 1'))\n"
        "display({'application/vnd.reclaim.verdict+json': {'outcome': 'reproduced', 'meaning': '<img src=x "
        "onerror=window.hacked=1>'}, 'text/plain': 'a verdict of its own'}, raw=True)"
    ),
    "frames": (
        "from IPython.display import HTML, SVG, display\n"
        "display(HTML('<iframe srcdoc=\"&lt;script&gt;parent.hacked = 1&lt;/script&gt;\"></iframe>'\n"
        '             \'<object data="javascript:window.hacked=1"></object><embed src="javascript:window.hacked=1">\'\n'
        '             \'<a href="javascript:window.hacked=1" onclick="window.hacked=1">link</a>\'\n'
        "             '<form action=\"javascript:window.hacked=1\"><button>press</button></form>'))\n"
        'display(SVG(\'<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20" onload="window.hacked=1">\'\n'
        '            \'<script>window.hacked=1</script><rect width="20" height="20"/></svg>\'))'
    ),
    "markdown": "from IPython.display import Markdown\n"
    "Markdown('[click](javascript:window.hacked=1) <script>1</script>')",
    "measure": "print('mean of the draws = 4.00')",
    "submit": "attempt.submit('4.00', note='<script>window.hacked = 1</script>')",
}


def slow(cells: int, seconds: float) -> dict[str, str]:
    """Return cells that take their time and print while they do."""
    waiting = f"import time\nfor step in range(4):\n    print('step', step)\n    time.sleep({seconds / 4})"
    return {f"wait-{index}": waiting for index in range(cells)} | {"submit": "attempt.submit('4', note='late')"}


def write_suite(root: Path, papers: dict[str, dict[str, str]], card: dict[str, dict[str, Any]] | None = None) -> Path:
    """Write a suite ``<root>/tiny`` with one paper for each entry, whose cells are its reference notebook."""
    for name, cells in papers.items():
        folder = root / "tiny" / name
        folder.mkdir(parents=True)
        (folder / "paper.yaml").write_text(yaml.safe_dump(_card(name) | ((card or {}).get(name) or {})), "utf-8")
        (folder / "paper.md").write_text("# Uniform draws\n\n## Result\n\nThe mean is 4.\n", "utf-8")
        notebook = {
            "cells": [
                {"cell_type": "code", "id": id, "metadata": {}, "source": text, "outputs": [], "execution_count": None}
                for id, text in cells.items()
            ],
            "metadata": {},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        (folder / "solution.ipynb").write_text(json.dumps(notebook), "utf-8")
    return root / "tiny"


def _card(name: str) -> dict[str, Any]:
    return {
        "id": name,
        "title": f"Uniform draws, {name}",
        "authors": ["A. Author"],
        "release": {
            "code": None,
            "data": [{"name": "uniform draws (synthetic)", "access": "public"}],
            "weights": None,
        },
        "device": "cpu",
        "target": {
            "claim": "The mean of draws between 0 and 8 is 4.",
            "metric": "mean",
            "words": ["mean", "mean of the draws"],
            "value": 4.0,
            "unit": "count",
            "direction": "none",
            "baseline": {"name": "draws between 0 and 6", "value": 3},
            "siblings": [{"what": "draws between 0 and 9", "value": 4.5}],
        },
        "criterion": {"rule": "within", "low": 3.9, "high": 4.1, "basis": "plus or minus 0.1"},
        "need": {"hours": 0.002},
        "budget": {"hours": 0.05, "rationale": "plenty"},
        "anchors": [{"name": "draws", "what": "how many draws", "value": 20000, "unit": "count"}],
        "gold": {"value": 3.99, "route": "solution.ipynb", "device": "one CPU core"},
    }


def json_schema(api: dict[str, Any], name: str) -> dict[str, Any]:
    """Return one of the schemas of an OpenAPI file as JSON schema, with ``nullable`` put into its words."""

    def words(value: Any) -> Any:
        if isinstance(value, list):
            return [words(item) for item in value]
        if not isinstance(value, dict):
            return value
        plain = {key: words(item) for key, item in value.items() if key != "nullable"}
        return {"anyOf": [plain, {"type": "null"}]} if value.get("nullable") is True else plain

    return {"$ref": f"#/components/schemas/{name}", "components": words(api["components"])}
