"""The ``reclaim`` command.

Here commands only get their names; each imports what it needs when it runs, so that ``reclaim --help`` is quick.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from reclaim_nb.commands import (
    agents,
    analysis,
    attempt,
    batch,
    calibrate,
    demo,
    desk,
    exits,
    grading,
    lab,
    machine,
    papers,
    rebuild,
    record,
    streams,
)
from reclaim_nb.errors import os_error_text

app = typer.Typer(
    name="reclaim",
    help="Can an AI agent reproduce the claim of a machine-learning paper? One attempt is one executed notebook.",
    epilog=exits.TEXT,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(short_help="Attempts of three small papers, and one that cheats.")(demo.demo)
app.command(short_help="Make one attempt at a paper and grade it.")(attempt.run)
app.command(short_help="Go on with an attempt whose runner died.")(attempt.resume)
app.add_typer(desk.attempt, name="attempt", short_help="Make an attempt yourself, in a notebook: open, submit, close.")
app.command(short_help="Grade an attempt from its record: by rules, or with a model.")(grading.grade)
app.command(short_help="Measure an attempt's number again in a fresh kernel.")(grading.reexecute)
app.command(short_help="How graders agree with labelled attempts.")(calibrate.calibrate)
app.command(short_help="List attempts: state, spend, outcome.")(record.status)
app.command("verify-record", short_help="Check stream, large texts and notebook.")(record.verify_record)
app.add_typer(batch.batch, name="batch", short_help="Many attempts by a plan: run, status, stop.")
app.command(short_help="Report on attempts: notebook, page, tables, figures.")(analysis.report)
app.command(short_help="Open JupyterLab on a runs folder.")(lab.lab)
app.command(short_help="Share attempts as an RO-Crate.")(analysis.export)
app.command("import-published", short_help="Import the published runs.")(analysis.import_published)
app.command(short_help="Bring a paper's release into the cache.")(papers.fetch)
app.add_typer(papers.papers, name="papers", short_help="The paper cards: list, show, check.")
app.add_typer(rebuild.rebuild, name="rebuild", short_help="A new suite from a new conference, step by step.")
app.add_typer(agents.agents, name="agents", short_help="The agents that are installed: list.")
app.add_typer(machine.image, name="image", short_help="The image of container kernels: build.")
app.command(short_help="Remove what dead runners left behind.")(machine.clean)
app.command(short_help="What is missing here, and how to get it.")(machine.doctor)


def _print_version(asked: bool) -> None:
    if asked:
        from reclaim_nb import __version__

        typer.echo(f"reclaim-nb {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; the codes are in :mod:`reclaim_nb.commands.exits`.

    Args:
        arguments: words after ``reclaim``; default: the process's own.
    """
    from reclaim_nb.quick import spare_the_grammar

    spare_the_grammar()
    with streams.lasting():
        return _run(arguments)


def _run(arguments: Sequence[str] | None) -> int:
    from reclaim_nb.errors import ReclaimError, Stopped
    from reclaim_nb.extras import advice

    try:
        code = _invoke(arguments)
        sys.stdout.flush()
    except ReclaimError as problem:
        return _say("stopped" if isinstance(problem, Stopped) else "error", str(problem), exits.of_error(problem))
    except ImportError as problem:
        if (told := advice(problem)) is None:
            raise
        return _say("error", told, exits.ERROR)
    except OSError as problem:
        return _say("error", os_error_text(problem), exits.ERROR)
    return code


def _invoke(arguments: Sequence[str] | None) -> int:
    try:
        app(args=None if arguments is None else list(arguments), prog_name="reclaim")
    except SystemExit as end:
        if end.code == exits.INTERRUPTED:
            return _say("stopped", "told to stop by a signal", exits.CANCELLED)
        return exits.from_typer(end.code)
    return exits.DONE


def _say(word: str, text: str, code: int) -> int:
    print(f"{word}: {text}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
