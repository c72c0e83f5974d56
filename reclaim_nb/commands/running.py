"""Making an attempt as papermill makes it, grading it, and telling what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reclaim_nb.commands import exits, screen
from reclaim_nb.errors import UnsoundRecord

if TYPE_CHECKING:
    from rich.console import Console

    from reclaim_nb.papers.loading import LoadedCard
    from reclaim_nb.record.folder import AttemptFolder
    from reclaim_nb.record.index import Row

_CITATIONS = 3


@dataclass(frozen=True)
class Report:
    """What came of one attempt: its row, its newest verdict, the criterion in words, what is unusual about it."""

    folder: AttemptFolder
    row: Row
    verdict: dict[str, Any] | None
    criterion: str | None
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        return exits.of_reason(self.row.reason)

    @property
    def explanation(self) -> str:
        """A sentence on why there is no outcome, or what the verdict says."""
        from reclaim_nb.attempts.reasons import ENDINGS

        ending = ENDINGS.get(self.row.reason)  # type: ignore[call-overload]
        if self.verdict is not None:
            return str(self.verdict.get("meaning") or "")
        if ending is not None and not ending.grade:
            return f"not graded, for it is no result of the agent: {ending.text}"
        return "" if ending is not None else "the attempt has not ended"

    def to_json(self) -> dict[str, Any]:
        return {
            "attempt": self.row.to_json(),
            "criterion": self.criterion,
            "folder": str(self.folder.path),
            "notebook": str(self.folder.notebook),
            "notes": list(self.notes),
            "verdict": self.verdict,
            "exit_code": self.exit_code,
        }


def make_attempt(parameters: dict[str, Any], label: str = "") -> AttemptFolder:
    """Run one attempt to its end by the same papermill call that anybody can make, and show it meanwhile.

    Args:
        parameters: of ``templates/attempt.ipynb``; None leaves the default.
        label: words before the attempt in the live view.

    Raises:
        ReclaimError: when it cannot begin.
    """
    import logging

    from reclaim_nb.attempts.live import LiveView
    from reclaim_nb.data import data_folder
    from reclaim_nb.record.folder import open_folder

    logging.getLogger("papermill").setLevel(logging.ERROR)
    console = screen.side()
    with LiveView(console, label) as view:
        import papermill  # takes a second, in which the view is there already

        notebook = papermill.execute_notebook(
            str(data_folder("templates") / "attempt.ipynb"),
            None,
            {name: value for name, value in parameters.items() if value is not None},
            engine_name="reclaim",
            progress_bar=False,
            log_output=False,
            observer=view,
        )
    say_if_stopped(view.problem, console)
    return open_folder(Path(notebook.metadata.papermill["attempt"]))


def go_on(path: Path) -> AttemptFolder:
    """Resume one attempt and show it meanwhile.

    Raises:
        ReclaimError: when it cannot be resumed.
    """
    from reclaim_nb.attempts.live import LiveView
    from reclaim_nb.attempts.runner import resume_attempt

    console = screen.side()
    with LiveView(console) as view:
        finished = resume_attempt(path, view)
    say_if_stopped(view.problem, console)
    return finished.folder


def say_if_stopped(problem: str | None, console: Console) -> None:
    """Say that the view has stopped, which changed nothing about the attempt."""
    if problem is not None:
        console.print(f"note: the live view stopped ({problem}); the attempt went on without it")


def grade_if_due(folder: AttemptFolder) -> None:
    """Grade an attempt that has ended with a result of the agent and has no verdict yet."""
    from reclaim_nb.attempts.reasons import ENDINGS
    from reclaim_nb.record.index import row_of

    row = row_of(folder)
    ending = ENDINGS.get(row.reason)  # type: ignore[call-overload]
    if ending is not None and ending.grade and not row.verdicts:
        grade_now(folder)


def cause_text(cause: str | None) -> str:
    """Return a cause's code and what it means."""
    from reclaim_nb.grading.cause import CODES

    meaning = CODES.get(cause)  # type: ignore[call-overload]
    return "-" if cause is None else f"{cause}: {meaning}" if meaning else cause


def grade_now(folder: AttemptFolder) -> Path:
    """Grade an attempt by the card in its record, and return the path of the verdict.

    Raises:
        ReclaimError: when it cannot be graded.
    """
    from reclaim_nb.grading.verdict import grade, write_verdict

    return write_verdict(folder, grade(folder, recorded_card(folder)))


def recorded_card(folder: AttemptFolder) -> LoadedCard:
    """Return the card that an attempt was made with, from its own record: papers need not be installed to grade.

    Raises:
        RecordError: when the record does not begin with an attempt.
        UnsoundRecord: when the card in it is none.
    """
    from pydantic import ValidationError

    from reclaim_nb.papers.card import PaperCard
    from reclaim_nb.papers.loading import CARD_FILE, LoadedCard
    from reclaim_nb.record.reader import first_event

    spec = first_event(folder.stream).data["spec"]
    path = Path(spec["suite"]) / spec["paper"] / CARD_FILE
    try:
        card = PaperCard.model_validate(spec["card"])
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise UnsoundRecord(f"{folder.stream}: the card in it is none: {place}: {first['msg']}") from problem
    return LoadedCard(card, path, spec["card_sha256"])


def report(folder: AttemptFolder) -> Report:
    """Return what is on disk of an attempt."""
    from reclaim_nb.record.index import read_verdict, row_of

    row = row_of(folder)
    criterion = None
    if row.problem is None:
        card = recorded_card(folder).card
        criterion = card.criterion.as_text(card.target.unit) if card.criterion is not None else None
    notes = [*without_effect(folder), *departed(folder)] if row.problem is None else []
    return Report(folder, row, read_verdict(folder), criterion, tuple(notes))


def without_effect(folder: AttemptFolder) -> list[str]:
    """Return a sentence for each condition of an attempt that changes nothing at its card."""
    from reclaim_nb.attempts import conditions
    from reclaim_nb.record.reader import first_event

    spec = first_event(folder.stream).data["spec"]
    return conditions.without_effect(spec["conditions"], anchors=bool(spec["card"].get("anchors")))


def departed(folder: AttemptFolder) -> list[str]:
    """Say so where an attempt's card is not that of its frozen suite any more; no verdict on it holds then."""
    from reclaim_nb.papers.recorded import FrozenSuites, MadeWith
    from reclaim_nb.record.reader import first_event

    why = FrozenSuites().departed(MadeWith.of(first_event(folder.stream).data))
    return [f"no verdict holds: {why}"] if why else []


def print_report(made: Report, console: Console, *, graded: bool = True) -> None:
    """Print what came of one attempt.

    Args:
        made: the report.
        console: where to.
        graded: grading was asked for.
    """
    from reclaim_nb.attempts.live import kernel_text
    from reclaim_nb.attempts.reasons import ENDINGS

    row = made.row
    ending = ENDINGS.get(row.reason)  # type: ignore[call-overload]
    pairs: list[tuple[str, Any]] = [
        ("paper", f"{row.suite}/{row.paper}: {row.title}"),
        ("agent", f"{row.agent}{f' ({row.model})' if row.model else ''}, repeat {row.repeat}"),
        ("tier", row.tier),
        ("target", screen.target_text(row)),
        ("reproduced if", made.criterion or "the card has no criterion"),
        ("handed in", row.submitted or "-"),
        ("observed", row.value or "-"),
        ("spent", screen.spend_text(row)),
        ("outcome", screen.outcome_text(row.outcome, console)),
        ("cause", cause_text(row.cause)),
        ("ended", f"{row.reason}: {row.detail or (ending.text if ending else '')}" if row.reason else "not yet"),
        ("kernel", kernel_text(row.kernel, row.unsandboxed)),
        ("notebook", str(made.folder.notebook)),
    ]
    verdict = made.verdict or {}
    for citation in list(verdict.get("citations") or ())[:_CITATIONS]:
        found = "measured in" if row.value else "number in"
        pairs.append((found, f"cell {citation['cell']}: {citation['line']}"))
    for fact in list(verdict.get("because") or ())[:_CITATIONS]:
        where = f", cell {fact['cell']}" if fact.get("cell") else ""
        text = f": {fact['text']}" if fact.get("text") else ""
        pairs.append(("because", f"{fact['rule']}{where}{text}"))
    if flags := verdict.get("flags"):
        pairs.append(("flags", ", ".join(flags)))
    if verdict:
        pairs.append(("graded by", f"{row.grader}; {verdict.get('model')}"))
    why = made.explanation if graded or row.outcome else "not graded, as asked; `reclaim grade` does it"
    if why:
        pairs.append(("reason", why))
    pairs += [("note", text) for text in made.notes]
    screen.print_facts(console, pairs)
