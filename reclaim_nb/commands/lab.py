"""``reclaim lab``: JupyterLab with the panel, in the folder that attempts are in."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from reclaim_nb.errors import AttemptError

PANEL = "@reclaim-nb/lab"
DEMO_RUNS = Path("reclaim-demo/runs")


def lab(
    runs: Annotated[
        Path | None, typer.Argument(help="Folder of all attempts; it may be empty or missing. [default: runs]")
    ] = None,
    options: Annotated[
        list[str] | None, typer.Argument(metavar="[-- OPTIONS]", help="What is passed on to `jupyter lab`.")
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Show the recorded batch that ships; it is copied to reclaim-demo/runs.")
    ] = False,
) -> None:
    """Open JupyterLab on a runs folder: attempts, verdicts and their evidence in the panel at the left.

    After `--` come options of `jupyter lab`, such as --no-browser or --port 8889.
    """
    folder = runs or (DEMO_RUNS if demo else Path("runs"))
    command = lab_command(folder, options or [])
    if demo:
        from reclaim_nb.demo import copy_recorded

        copy_recorded(folder)
    os.execv(command[0], command)


def lab_command(runs: Path, options: list[str]) -> list[str]:
    """Return the command that opens JupyterLab on a runs folder.

    Args:
        runs: the folder; the file browser shows the one that holds it, so that notebooks of attempts can be opened.
        options: passed on.

    Raises:
        AttemptError: where JupyterLab or the panel is not installed, or the folder is a file.
    """
    if find_spec("jupyterlab") is None:
        raise AttemptError("JupyterLab is not installed: pip install 'reclaim-nb[lab]'")
    if not panel_installed():
        raise AttemptError(
            "the panel is not built: `make labextension` builds it in a checkout; a wheel from an index holds it"
        )
    folder = runs.expanduser().absolute()
    if folder.exists() and not folder.is_dir():
        raise AttemptError(f"{runs}: not a folder; name the one that attempts are in, such as runs")
    return [
        *(sys.executable, "-m", "jupyterlab"),
        f"--ServerApp.root_dir={folder.parent}",
        f"--ReclaimServer.runs_dir={folder}",
        *options,
    ]


def panel_installed() -> bool:
    """Return whether JupyterLab finds the panel here."""
    from jupyter_core.paths import jupyter_path

    return any((Path(folder) / PANEL / "package.json").is_file() for folder in jupyter_path("labextensions"))
