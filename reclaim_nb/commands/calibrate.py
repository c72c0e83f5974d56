"""``reclaim calibrate``: how the rules, and a model if one is named, agree with labelled attempts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reclaim_nb.commands import exits, screen
from reclaim_nb.commands.attempt import AsJson, KernelKind
from reclaim_nb.commands.grading import Model, ModelOption, Votes, model_grader
from reclaim_nb.errors import AttemptError

if TYPE_CHECKING:
    from rich.console import Console

    from reclaim_nb.grading.calibration.calibrate import Calibration, Compared
    from reclaim_nb.grading.calibration.measures import Share
    from reclaim_nb.grading.model import ModelGrader


def calibrate(
    folder: Annotated[
        Path | None, typer.Argument(help="Folder of attempts with a label.yaml beside each.", show_default=False)
    ] = None,
    builtin: Annotated[
        bool, typer.Option("--builtin", help="Make the built-in scenarios in a real kernel and grade them.")
    ] = False,
    only: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Of the built-in scenarios, these; may be repeated.")
    ] = None,
    kernel: Annotated[KernelKind, typer.Option(help="Where the cells of the scenarios run.")] = KernelKind.local,
    keep: Annotated[
        Path | None, typer.Option(help="Keep the made attempts, with their labels, in this new folder.")
    ] = None,
    write_summary: Annotated[
        bool, typer.Option("--write-summary", help="Keep the summary that ships with this version of the rules.")
    ] = False,
    model: Model = None,
    option: ModelOption = None,
    votes: Votes = 3,
    as_json: AsJson = False,
) -> None:
    """Compare verdicts with labels: one by one, as confusion, precision, recall and F1, and Krippendorff's alpha.

    Labels come from a folder of attempts, or from the built-in scenarios, whose cells really run. The exit code is 1
    when the rules give a built-in scenario another verdict than the specification.
    """
    if builtin == (folder is not None):
        raise AttemptError("name a folder of labelled attempts, or --builtin, one of the two")
    if not builtin and (only or keep or write_summary):
        raise AttemptError("--only, --keep and --write-summary are for --builtin")
    if only and write_summary:
        raise AttemptError("--write-summary is of all scenarios, not of some")
    grader = None if model is None else model_grader(model, option, votes)
    found = _of_builtin(only or [], kernel.value, keep, grader) if builtin else _of_folder(folder or Path(), grader)
    if write_summary:
        import json

        from reclaim_nb.grading.calibration.known import SUMMARY, summary

        SUMMARY.write_text(json.dumps(summary(found[0]), indent=1) + "\n", "utf-8")
    wrong = [one.name for one in found[0].compared if one.differences] if builtin else []
    if as_json:
        screen.print_json({"calibrations": [one.to_json() for one in found], "wrong": wrong})
    else:
        console = screen.screen()
        for one in found:
            _print(one, console)
    if wrong:
        raise typer.Exit(exits.ERROR)


def _of_builtin(only: list[str], kernel: Any, keep: Path | None, grader: ModelGrader | None) -> list[Calibration]:
    import tempfile

    from reclaim_nb.grading.calibration.scenarios import builtin

    scenarios = builtin()
    if unknown := set(only) - {scenario.id for scenario in scenarios}:
        names = ", ".join(scenario.id for scenario in scenarios)
        raise AttemptError(f"no built-in scenario {', '.join(sorted(unknown))}; there are: {names}")
    chosen = [scenario for scenario in scenarios if not only or scenario.id in only]
    if any(scenario.judge is not None for scenario in chosen):
        import pydantic_ai  # noqa: F401 - a scripted model grades these; better missing now than after the others
    if keep is not None:
        if keep.exists():
            raise AttemptError(f"{keep}: is there already; name a new folder")
        return _made(chosen, keep, kernel, grader)
    with tempfile.TemporaryDirectory(prefix="reclaim-calibrate-") as place:
        return _made(chosen, Path(place), kernel, grader)


def _made(chosen: list[Any], place: Path, kernel: Any, grader: ModelGrader | None) -> list[Calibration]:
    from reclaim_nb.grading.calibration.build import build
    from reclaim_nb.grading.calibration.calibrate import calibration, grade_built, grade_built_with

    side = screen.side()
    by_rules: list[Compared] = []
    by_model: list[Compared] = []
    with side.status("scenarios") as shown:
        for number, scenario in enumerate(chosen, start=1):
            shown.update(f"{number} of {len(chosen)}: {scenario.id}, {scenario.title}")
            made = build(scenario, place, kernel)
            by_rules += grade_built(made)
            if grader is not None and scenario.judge is None and not scenario.reexecute and scenario.edit is None:
                by_model.append(grade_built_with(made, grader))
    found = [calibration("rules", by_rules)]
    return [*found, calibration(f"model {grader.model}", by_model)] if grader is not None else found


def _of_folder(folder: Path, grader: ModelGrader | None) -> list[Calibration]:
    from reclaim_nb.grading.calibration.calibrate import calibration, grade_labelled
    from reclaim_nb.grading.calibration.labels import read_labelled

    attempts = list(read_labelled(folder))
    if not attempts:
        raise AttemptError(f"{folder}: no attempt in it has a label.yaml beside its stream")
    found = [calibration("rules", list(grade_labelled(attempts)))]
    if grader is not None:
        found.append(calibration(f"model {grader.model}", list(grade_labelled(attempts, grader))))
    return found


def _print(one: Calibration, console: Console) -> None:
    table = screen.table("attempt", "what", "wanted", "got", "value", "graded by", "", whole="attempt")
    for compared in one.compared:
        label, verdict = compared.label, compared.verdict
        table.add_row(
            compared.name,
            compared.title,
            said((label.outcome, label.cause)),
            said(compared.got),
            (verdict.value if verdict is not None else None) or "-",
            compared.by,
            "right" if not compared.differences else f"WRONG: {'; '.join(compared.differences)}",
        )
    console.print(table)
    console.print()
    for compared in one.compared:
        if compared.alone is not None:
            alone = compared.alone
            told = f"{said((alone.outcome, alone.cause))}, value {alone.value or '-'}"
            console.print(f"{compared.name}: by rules alone {told}", soft_wrap=True)
    if any(compared.alone is not None for compared in one.compared):
        console.print()
    right = sum(not compared.differences for compared in one.compared)
    measures = one.measures
    pairs = [
        ("grader", one.grader),
        ("as labelled", f"{right} of {len(one.compared)}; {measures.undecided} left undecided"),
        *_specified(one.compared),
        ("precision", share_text(measures.precision)),
        ("recall", share_text(measures.recall)),
        ("F1", share_text(measures.f1, counts=False)),
        ("alpha", f"outcome {number(measures.alpha_outcome)}, cause {number(measures.alpha_cause)}"),
    ]
    if one.raters_outcome is not None or one.raters_cause is not None:
        pairs.append(("raters", f"outcome {number(one.raters_outcome)}, cause {number(one.raters_cause)}"))
    screen.print_facts(console, pairs)
    for name, counts in (("outcomes", measures.outcomes), ("causes", measures.causes)):
        console.print()
        confusion = screen.table(f"label \\ grader: {name}", *sorted({got for _, got in counts}))
        for label_said in sorted({said for said, _ in counts}):
            confusion.add_row(
                label_said, *(str(counts.get((label_said, got), "")) for got in sorted({g for _, g in counts}))
            )
        console.print(confusion)
    console.print()


def _specified(compared: Sequence[Compared]) -> list[tuple[str, str]]:
    """Return how many scenarios and holes of the specification come out as stated, their variants included."""
    found = []
    for kind, name in (("S", "scenarios"), ("N", "holes")):
        wrong: dict[str, bool] = {}
        for one in compared:
            if match := re.match(rf"{kind}\d\d", one.name):
                wrong[match[0]] = wrong.get(match[0], False) or bool(one.differences)
        if wrong:
            found.append((name, f"{len(wrong) - sum(wrong.values())} of {len(wrong)} as specified"))
    return found


def said(pair: tuple[str, str | None]) -> str:
    """Return outcome and cause as text."""
    return pair[0] + (f" / {pair[1]}" if pair[1] else "")


def share_text(share: Share, *, counts: bool = True) -> str:
    """Return a share of ``reproduced`` with its interval."""
    if share.value is None:
        return "- (nothing to count)"
    text = f"{share.value:.3f}, 95 % interval {share.low:.3f} to {share.high:.3f}"
    return f"{text} ({share.part} of {share.whole})" if counts else text


def number(value: float | None) -> str:
    """Return an agreement, or that it is not defined."""
    return "not defined" if value is None else f"{value:.3f}"
