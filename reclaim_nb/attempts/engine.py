"""The papermill engine ``reclaim``: whatever can run papermill can run an attempt."""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Sequence
from typing import Any, get_type_hints

from nbformat import NotebookNode, from_dict
from papermill.engines import Engine

from reclaim_nb.attempts.gpus import given
from reclaim_nb.attempts.prepare import Request, prepare
from reclaim_nb.attempts.runner import Observer, run_attempt
from reclaim_nb.errors import AttemptError

logger = logging.getLogger("papermill")


class ErrorOutput(NotebookNode):
    """An error output that papermill does not raise for.

    papermill looks at ``output.output_type`` after the engine has returned, and turns every error into banner cells and
    an exception. In an attempt an error in a cell is the agent's affair and stays in the record; as JSON this is an
    ordinary error output.
    """

    output_type = "error-of-the-agent"


class ReclaimEngine(Engine):
    """Runs a whole attempt for the parameters of ``templates/attempt.ipynb``."""

    @classmethod
    def execute_notebook(
        cls,
        nb: NotebookNode,
        kernel_name: str,
        output_path: str | None = None,
        progress_bar: bool = True,
        log_output: bool = False,
        autosave_cell_every: int = 30,
        observer: Observer | None = None,
        gpus: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> NotebookNode:
        """Run an attempt and return its notebook.

        The attempt's folder, with the notebook that is graded, lies under the parameter ``runs``; what papermill writes
        to its output path is a copy of that notebook, named in its metadata.

        Args:
            nb: the parameterised template.
            kernel_name: ``reclaim-docker`` or ``reclaim-local`` (papermill's ``-k``) decides where the cells run,
                unless the parameter ``kernel`` does.
            output_path, progress_bar, log_output, autosave_cell_every, kwargs: papermill's; the session saves the
                attempt's own notebook after every cell and needs none of them.
            observer: called after every change, for live views.
            gpus: ids of the GPUs to choose from; default: all of this machine. Those chosen are held while the attempt
                is at work here, so that no other on this machine is given them.

        Raises:
            ReclaimError: when the attempt cannot begin.
        """
        parameters = dict(nb.metadata.get("papermill", {}).get("parameters") or {})
        if "kernel" not in parameters and kernel_name in ("reclaim-docker", "reclaim-local"):
            chosen = kernel_name.removeprefix("reclaim-")
            if nb.metadata.get("kernelspec", {}).get("name") != kernel_name or chosen == "docker":
                parameters["kernel"] = chosen
        with given(request_from(parameters), gpus) as request:
            prepared = prepare(request, json.loads(json.dumps(nb)))
            logger.info("Attempt: %s", prepared.folder.path)
            finished = run_attempt(prepared, observer)
        logger.info("Ended: %s", finished.reason)
        result = from_dict(finished.notebook)
        for cell in result.cells:
            if "outputs" in cell:
                cell.outputs = [ErrorOutput(o) if o["output_type"] == "error" else o for o in cell.outputs]
        result.metadata.papermill = nb.metadata.get("papermill", {}) | {"attempt": str(finished.folder.path)}
        return result


def request_from(parameters: dict[str, Any]) -> Request:
    """Return the request of papermill's parameters.

    Raises:
        AttemptError: when a parameter is unknown or ``paper`` is missing.
    """
    known = get_type_hints(Request)
    unknown = set(parameters) - set(known)
    if unknown:
        raise AttemptError(f"no parameter {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    if not parameters.get("paper"):
        raise AttemptError("name a paper: -p paper small/iforest-breastw (`reclaim papers list` shows all)")
    fields = {field.name for field in dataclasses.fields(Request)}
    values = {name: value for name, value in parameters.items() if name in fields and value not in (None, "")}
    for name in ("conditions", "allow"):
        if isinstance(values.get(name), str):
            values[name] = tuple(filter(None, values[name].split(",")))
    return Request(**values)
