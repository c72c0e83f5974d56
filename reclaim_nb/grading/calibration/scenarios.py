"""The built-in scenarios: cells, the little world they run in, and the verdict they must get; data, no code."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from reclaim_nb.grading.calibration.labels import Label

FOLDER = Path(__file__).parent / "scenarios"
WORLD = Path(__file__).parent / "world"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Prose(_Part):
    """A Markdown cell."""

    md: str


class Edit(_Part):
    """What is changed in the finished notebook, as somebody might who hands it in."""

    before: str = Field(alias="from")
    after: str = Field(alias="to")


class Lose(_Part):
    """Messages that are taken out of the record again, as if they had been lost between kernel and runner.

    Attributes:
        text: those that hold it.
        log: the container's own log has it all the same.
    """

    text: str
    log: bool


class Scenario(_Part):
    """One scenario.

    Attributes:
        id: as in the specification, with a word behind it for variants and controls.
        title: in words.
        card: name of a card of the world.
        card_with: what is different on that card.
        cards: differences of several cards; each is a target of its own.
        world: what ``.toy.json`` says, so that no number of it stands in the notebook.
        files: files in the working folder before the first cell, by path.
        hub: ``gated``: a server that refuses every download.
        intake: what else the manifest of the released files says.
        remove: released files that are taken away, as a harness might.
        edit, lose: what happens to the record afterwards.
        judge: a grading model that answers like this.
        reexecute: the measurement is run again before the verdict.
        cells: in order.
        label: what the verdict must be.
        also: the same for the further cards.
    """

    id: str
    title: str
    card: str = "toy-cls"
    card_with: dict[str, Any] = Field(default_factory=dict)
    cards: tuple[dict[str, Any], ...] = ()
    world: dict[str, Any] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict)
    hub: Literal["gated"] | None = None
    intake: dict[str, Any] = Field(default_factory=dict)
    remove: tuple[str, ...] = ()
    edit: Edit | None = None
    lose: Lose | None = None
    judge: Literal["broken", "by_position"] | None = None
    reexecute: bool = False
    cells: tuple[str | Prose, ...]
    label: Label
    also: tuple[Label, ...] = ()


def builtin() -> tuple[Scenario, ...]:
    """Return the scenarios that ship with the package, in the order of the specification."""
    files = ("never_measured", "judge", "arithmetic", "wrong_experiment", "notebook", "honest")
    found: list[Scenario] = []
    for name in files:
        data = yaml.safe_load((FOLDER / f"{name}.yaml").read_text("utf-8"))
        found.extend(Scenario.model_validate(item) for item in data)
    return tuple(found)
