"""Labels: what came of an attempt by the word of one or more people, in ``label.yaml`` beside its record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reclaim_nb.errors import RecordError
from reclaim_nb.grading.cause import Code, Outcome
from reclaim_nb.grading.verdict import Verdict
from reclaim_nb.record.folder import AttemptFolder

LABEL = "label.yaml"


class Rating(BaseModel):
    """What one rater says."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    outcome: Outcome
    cause: Code | None = None


class Label(Rating):
    """What is taken for true, and what each rater said.

    Attributes:
        value: the measured value in the target's unit; None: not labelled.
        flags: flags that a verdict must have.
        raters: by name.
        note: for people.
    """

    value: str | None = None
    flags: tuple[str, ...] = ()
    raters: dict[str, Rating] = Field(default_factory=dict)
    note: str | None = None

    def problems(self, verdict: Verdict) -> list[str]:
        """Return in what a verdict differs; empty when it is right."""
        found = []
        if verdict.outcome != self.outcome:
            found.append(f"outcome {verdict.outcome}, not {self.outcome}")
        if verdict.cause != self.cause:
            found.append(f"cause {verdict.cause}, not {self.cause}")
        if self.value is not None and not _equal(verdict.value, self.value):
            found.append(f"value {verdict.value}, not {self.value}")
        if missing := set(self.flags) - set(verdict.flags):
            found.append(f"without the flag {', '.join(sorted(missing))}")
        return found


@dataclass(frozen=True)
class Labelled:
    """An attempt folder with its label."""

    name: str
    folder: AttemptFolder
    label: Label


def read_labelled(path: Path) -> Iterator[Labelled]:
    """Yield the labelled attempts under a folder, by name.

    Raises:
        RecordError: when a label cannot be read, or lies beside no attempt.
    """
    for file in sorted(path.rglob(LABEL)):
        folder = AttemptFolder(file.parent)
        if not folder.stream.exists():
            raise RecordError(f"{file}: a label without an attempt (there is no {folder.stream.name} beside it)")
        try:
            label = Label.model_validate(yaml.safe_load(file.read_text("utf-8")))
        except (OSError, yaml.YAMLError, ValidationError) as problem:
            raise RecordError(f"{file}: no label: {problem}") from problem
        yield Labelled(file.parent.relative_to(path).as_posix(), folder, label)


def write_label(folder: AttemptFolder, label: Label) -> None:
    """Write a label beside an attempt."""
    data = label.model_dump(mode="json", exclude_defaults=True)
    (folder.path / LABEL).write_text(yaml.safe_dump(data, sort_keys=False, allow_unicode=True), "utf-8")


def _equal(got: str | None, wanted: str) -> bool:
    if got is None:
        return False
    try:
        return Decimal(got) == Decimal(wanted)
    except InvalidOperation:
        return got == wanted
