"""The report: its notebook run by papermill, and one HTML file of it."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import papermill
from traitlets.config import Config

from reclaim_nb.analysis.frames import load_runs
from reclaim_nb.analysis.page import read_notebook, to_html
from reclaim_nb.analysis.story import Story
from reclaim_nb.data import data_folder
from reclaim_nb.errors import AttemptError
from reclaim_nb.kernels.box import box_root
from reclaim_nb.record.files import write_atomic

_TITLE = "RECLAIM: attempts to reproduce published results"


@dataclass(frozen=True, slots=True)
class Report:
    """Where the parts of a report are: the executed notebook, the page, and folders of tables and figures."""

    notebook: Path
    page: Path
    tables: Path
    figures: Path


def make_report(
    runs: Path | str,
    out: Path | str,
    batches: Iterable[str] = (),
    *,
    include_broken: bool = False,
    include_provisional: bool = False,
) -> Report:
    """Write the report on a runs folder.

    Args:
        runs: the runs folder.
        out: folder for the report; made if missing, and its files replaced.
        batches: batches to report on; default: all.
        include_broken, include_provisional: see :func:`~reclaim_nb.analysis.frames.load_runs`.

    Raises:
        RecordError: when there is no such folder or batch.
        AttemptError: when there is no attempt in it.
        papermill.PapermillExecutionError: when a cell of the report fails; the notebook shows where.
    """
    runs, out, names = Path(runs), Path(out), list(batches)
    # What is wrong with the question is better said here than inside a notebook.
    loaded = load_runs(runs, include_broken=include_broken, include_provisional=include_provisional)
    Story(loaded, names)
    if loaded.attempts.empty and loaded.left_out.empty:
        raise AttemptError(f"{runs}: no attempts here to report on; `reclaim run` and `reclaim batch run` make some")
    out.mkdir(parents=True, exist_ok=True)
    notebook = out / "report.ipynb"
    logging.getLogger("papermill").setLevel(logging.ERROR)
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    with TemporaryDirectory(prefix="reclaim_report-", dir=box_root()) as sockets:
        papermill.execute_notebook(
            str(data_folder("templates") / "report.ipynb"),
            str(notebook),
            {
                "runs": str(runs.resolve()),
                "batches": ",".join(names),
                "out": str(out.resolve()),
                "include_broken": include_broken,
                "include_provisional": include_provisional,
            },
            engine_name="nbclient",
            kernel_name="python3",
            progress_bar=False,
            log_output=False,
            # Saving after every cell writes all pictures again each time; a cell that fails is saved all the same.
            request_save_on_cell_execute=False,
            # On a port a kernel can be listened to, and it warns of that whoever waits for the report.
            config=Config({"KernelManager": {"transport": "ipc", "ip": f"{sockets}/k"}}),
        )
    page = out / "report.html"
    write_atomic(page, to_html(read_notebook(notebook), _TITLE).encode("utf-8"))
    return Report(notebook, page, out / "tables", out / "figures")
