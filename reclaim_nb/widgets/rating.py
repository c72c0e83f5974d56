"""Blind labelling of attempts with the words of grading, and how raters agree."""

from __future__ import annotations

import html
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from reclaim_nb.analysis.frames import Runs, load_runs
from reclaim_nb.errors import ReclaimError, RecordError
from reclaim_nb.grading.calibration.labels import Rating
from reclaim_nb.grading.calibration.measures import raters_alpha
from reclaim_nb.grading.cause import CODES, Outcome
from reclaim_nb.record.folder import AttemptFolder, write_json
from reclaim_nb.widgets.view import Shown, View, note

_CELL_CHARACTERS = 3000


class RaterPanel(View):
    """Attempts one after the other, without agent, model, prose and verdict, to be labelled by one person.

    Answers are kept in ``<answers>/<rater>.json`` at once, so labelling can go on another day. The order is drawn from
    the rater's name, so that no two raters tire at the same attempts.

    Args:
        runs: a runs folder, or frames that were loaded already; imported attempts have no record and are left out.
        rater: name of the person.
        answers: folder for the answers of all raters, outside of the runs folder.

    Raises:
        ReclaimError: when the name is none, or the folder lies inside of the runs folder.
    """

    def __init__(self, runs: Runs | Path | str, rater: str, answers: Path | str = "ratings") -> None:
        super().__init__()
        self._runs = runs if isinstance(runs, Runs) else load_runs(runs)
        if not rater or not rater.replace("-", "").replace("_", "").isalnum():
            raise ReclaimError(f"{rater!r}: a rater's name is made of letters, digits, - and _")
        folder = Path(answers)
        if folder.resolve().is_relative_to(self._runs.path.resolve()):
            raise ReclaimError(f"{folder}: inside of the runs folder, where only records are; choose another one")
        self._file = folder / f"{rater}.json"
        self.ratings = _read(self._file)
        attempts = self._runs.attempts
        own = attempts[(attempts["state"] == "ended") & ~attempts["imported"].fillna(False).astype(bool)]
        self._names: list[str] = sorted(own["attempt"])
        random.Random(rater).shuffle(self._names)

    @property
    def current(self) -> str | None:
        """The attempt to be labelled next, None when all are."""
        return next((name for name in self._names if name not in self.ratings), None)

    def rate(self, outcome: Outcome, cause: str | None = None) -> None:
        """Label the current attempt, keep it, and go on.

        Raises:
            ReclaimError: when everything is labelled already.
            pydantic.ValidationError: when these are not words of grading.
        """
        name = self.current
        if name is None:
            raise ReclaimError("every attempt is labelled")
        self.ratings[name] = Rating.model_validate({"outcome": outcome, "cause": cause})
        self._file.parent.mkdir(parents=True, exist_ok=True)
        write_json(self._file, {key: rating.model_dump() for key, rating in sorted(self.ratings.items())})
        self.refresh()

    def parts(self) -> Sequence[Shown | str]:
        done = len([name for name in self._names if name in self.ratings])
        told = note(f"{done} of {len(self._names)} labelled.")
        name = self.current
        if name is None:
            return [told, *_agreement(self._file.parent)]
        return [told, *self._evidence(name)]

    def _evidence(self, name: str) -> list[str]:
        row = self._runs.attempts.set_index("attempt").loc[name]
        card = self._runs.cards.get(str(row["card_sha256"]))
        parts = []
        if card is not None:
            bar = card.criterion.as_text(card.target.unit) if card.criterion is not None else "no criterion"
            target = card.target.printed or (str(card.target.value) if card.target.value is not None else "no number")
            parts.append(
                f"<h3>{html.escape(card.title)}</h3><p>{html.escape(card.target.claim)}</p>"
                f"<p>{html.escape(card.tier)}; {html.escape(card.target.metric)} {html.escape(target)}; "
                f"reproduced if {html.escape(bar)}</p>"
            )
        handed_in = row["submitted"] if isinstance(row["submitted"], str) else "nothing"
        parts.append(note(f"Ended: {str(row['reason']).replace('_', ' ')}. Handed in: {handed_in}."))
        try:
            notebook = json.loads(AttemptFolder(self._runs.path / name).notebook.read_text("utf-8"))
        except (OSError, ValueError) as problem:
            return [*parts, note(f"The notebook cannot be read: {problem}")]
        for cell in notebook.get("cells", []):
            facts = cell.get("metadata", {}).get("reclaim", {})
            if cell.get("cell_type") == "code" and facts.get("author") != "harness":
                parts.append(_pre(_joined(cell.get("source"))))
                parts += [_pre(text) for output in cell.get("outputs", []) if (text := _text_of(output))]
        return parts

    def controls(self) -> Any:
        from ipywidgets import Button, Dropdown, HBox

        outcome = Dropdown(
            options=[(word.replace("_", " "), word) for word in get_args(Outcome)], description="Outcome"
        )
        causes = [("none", ""), *((f"{code} {text}", code) for code, text in CODES.items())]
        cause = Dropdown(options=causes, description="Cause")
        button = Button(description="Keep and go on", button_style="primary")

        def keep(_: Any) -> None:
            if self.current is not None:
                self.rate(outcome.value, cause.value or None)
                cause.value = ""
            button.disabled = self.current is None

        button.on_click(keep)
        return HBox([outcome, cause, button], layout={"flex_flow": "row wrap"})


def agreement(answers: Path | str) -> dict[str, float | None]:
    """Return Krippendorff's alpha between all raters of a folder, of outcomes and of causes.

    Raises:
        RecordError: when the answers of one cannot be read.
    """
    raters = [_read(file) for file in sorted(Path(answers).glob("*.json"))]
    names = sorted({name for one in raters for name in one})
    said = [
        {str(index): (one[name].outcome, one[name].cause) for index, one in enumerate(raters) if name in one}
        for name in names
    ]
    return {part: raters_alpha(said, index) for index, part in enumerate(("outcome", "cause"))}


def _agreement(folder: Path) -> list[str]:
    raters = len(list(folder.glob("*.json")))
    if raters < 2:
        return [note("You are the only rater so far; agreement is shown from two on.")]
    found = agreement(folder)
    words = ", ".join(
        f"{part}: {'all say the same' if value is None else f'{value:.2f}'}" for part, value in found.items()
    )
    return [note(f"Agreement of {raters} raters (Krippendorff's alpha) on {words}.")]


def _read(file: Path) -> dict[str, Rating]:
    if not file.exists():
        return {}
    try:
        return {name: Rating.model_validate(one) for name, one in json.loads(file.read_text("utf-8")).items()}
    except (OSError, ValueError, AttributeError) as problem:
        raise RecordError(f"{file}: cannot be read ({problem}); move it away to begin anew") from problem


def _pre(text: str) -> str:
    cut = text if len(text) <= _CELL_CHARACTERS else f"{text[:_CELL_CHARACTERS]}\n[… the rest is in the notebook]"
    return f"<pre>{html.escape(cut)}</pre>"


def _text_of(output: dict[str, Any]) -> str:
    if output.get("output_type") == "stream":
        return _joined(output.get("text"))
    if output.get("output_type") == "error":
        return f"{output.get('ename')}: {output.get('evalue')}"
    return _joined(output.get("data", {}).get("text/plain"))


def _joined(text: Any) -> str:
    return "".join(text) if isinstance(text, list) else str(text or "")
