"""Making a scenario's attempt: its cells run in a real kernel, through the same runner as every attempt."""

from __future__ import annotations

import contextlib
import json
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import yaml

from reclaim_nb.attempts.prepare import KernelKind, Request, prepare
from reclaim_nb.attempts.runner import run_attempt
from reclaim_nb.grading.calibration.labels import write_label
from reclaim_nb.grading.calibration.scenarios import WORLD, Lose, Prose, Scenario
from reclaim_nb.papers.loading import CARD_FILE, LoadedCard, load_card, read_yaml
from reclaim_nb.record.files import write_atomic
from reclaim_nb.record.folder import AttemptFolder, write_json
from reclaim_nb.record.reader import read_events
from reclaim_nb.record.render import Rendering
from reclaim_nb.record.stream import StreamWriter


@dataclass(frozen=True)
class Built:
    """A scenario's attempt and the cards it is graded by."""

    scenario: Scenario
    folder: AttemptFolder
    cards: tuple[LoadedCard, ...]


def build(scenario: Scenario, place: Path, kernel: KernelKind = "local") -> Built:
    """Make the attempt of a scenario.

    Args:
        scenario: the scenario.
        place: folder for papers and attempts.
        kernel: where its cells run.

    Raises:
        KernelError: when no kernel can be had.
    """
    cards = _papers(scenario, place / "papers")
    notebook = place / "cells" / f"{scenario.id}.ipynb"
    notebook.parent.mkdir(parents=True, exist_ok=True)
    write_json(notebook, _notebook(scenario))
    with _hub(scenario) as address:
        request = Request(
            paper=str(cards[0].path.parent),
            agent="replay",
            options={"notebook": str(notebook)},
            kernel=kernel,
            runs=str(place / "runs"),
            batch="calibration",
        )
        prepared = prepare(request)
        _furnish(scenario, prepared.folder, cards[0], address)
        run_attempt(prepared)
    if scenario.lose is not None:
        _lose(prepared.folder, scenario.lose)
    if scenario.edit is not None:
        path = prepared.folder.notebook
        path.write_text(path.read_text("utf-8").replace(scenario.edit.before, scenario.edit.after), "utf-8")
    write_label(prepared.folder, scenario.label)
    return Built(scenario, prepared.folder, cards)


def _papers(scenario: Scenario, place: Path) -> tuple[LoadedCard, ...]:
    """Write the paper folders of a scenario and return their cards."""
    plain = yaml.load((WORLD / "cards" / f"{scenario.card}.yaml").read_text("utf-8"), yaml.BaseLoader)
    found = []
    for number, more in enumerate(scenario.cards or (scenario.card_with,)):
        card = merged(read_yaml(WORLD / "cards" / f"{scenario.card}.yaml"), more)
        card["id"] = more.get("id") or f"{plain['id']}-{scenario.id.lower()}"
        folder = place / scenario.id / card["id"]
        folder.mkdir(parents=True)
        (folder / CARD_FILE).write_text(json.dumps(card, default=_digits, indent=1), "utf-8")
        if number == 0 and card["release"].get("code") is not None:
            shutil.copytree(WORLD / "release", folder / "release", ignore=shutil.ignore_patterns("__pycache__"))
            for name in scenario.remove:
                (folder / "release" / name).unlink()
        found.append(load_card(folder / CARD_FILE))
    return tuple(found)


def _digits(value: Any) -> Any:
    return float(value) if value % 1 else int(value)


def merged(base: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Return a mapping with another one laid over it, mapping by mapping."""
    result = dict(base)
    for name, value in more.items():
        held = result.get(name)
        result[name] = merged(held, value) if isinstance(held, dict) and isinstance(value, dict) else value
    return result


def _notebook(scenario: Scenario) -> dict[str, Any]:
    cells = []
    for number, cell in enumerate(scenario.cells):
        kind, text = ("markdown", cell.md) if isinstance(cell, Prose) else ("code", cell)
        cells.append({"id": f"s{number:02d}", "cell_type": kind, "source": text.strip("\n"), "metadata": {}})
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def _furnish(scenario: Scenario, folder: AttemptFolder, card: LoadedCard, hub: str | None) -> None:
    """Put the world into the working folder, and what else is known of the released files into the manifest."""
    world = scenario.world | ({"hub": hub} if hub is not None else {})
    (folder.workspace / ".toy.json").write_text(json.dumps(world), "utf-8")
    if card.card.release.code is None:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(WORLD / "release" / "toy", folder.workspace / "toy", ignore=ignored)
    for name, text in scenario.files.items():
        path = folder.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    if scenario.intake:
        write_json(folder.intake, (folder.read_intake() or {}) | scenario.intake)


class _Refuses(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_error(403, "Forbidden: gated")

    def log_message(self, *words: Any) -> None:
        pass


@contextlib.contextmanager
def _hub(scenario: Scenario) -> Iterator[str | None]:
    if scenario.hub is None:
        yield None
        return
    server = HTTPServer(("127.0.0.1", 0), _Refuses)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


class _Times:
    """A clock that says again what the events of a stream say."""

    def __init__(self) -> None:
        self.time = ""

    def now(self) -> str:
        return self.time

    def monotonic(self) -> float:
        return 0.0


def _lose(folder: AttemptFolder, lose: Lose) -> None:
    """Write the stream anew without some messages, and with the gaps that a runner would have counted."""
    events = list(read_events(folder.stream))
    lost: dict[str, list[str]] = {}
    other = folder.path / "stream.new"
    clock = _Times()
    with StreamWriter(other, folder.store(), clock) as stream:
        for event in events:
            clock.time, data = event.time, event.data
            cell = str(data.get("cell"))
            if event.kind == "message" and data["msg_type"] == "stream" and lose.text in str(data["content"]):
                lost.setdefault(cell, []).append(str(data["content"].get("text")))
                continue
            if event.kind == "cell_end" and cell in lost:
                if lose.log:
                    stream.append("note", {"cell": cell, "log": "".join(lost[cell])})
                data = data | {"gaps": int(data.get("gaps") or 0) + len(lost[cell])}
            stream.append(event.kind, data)
    other.replace(folder.stream)
    rendering = Rendering(folder.store())
    for event in read_events(folder.stream):
        rendering.apply(event)
    write_atomic(folder.notebook, rendering.to_bytes())
