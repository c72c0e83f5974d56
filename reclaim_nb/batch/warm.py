"""Imported once by the server that attempts are forked from, so that each of them starts with everything in place."""

from __future__ import annotations

from reclaim_nb.quick import spare_the_grammar

spare_the_grammar()

import papermill  # noqa: E402, F401

import reclaim_nb.attempts.engine  # noqa: E402
import reclaim_nb.batch.pool  # noqa: E402, F401
from reclaim_nb.attempts.agent import agent_names  # noqa: E402
from reclaim_nb.attempts.spec import package_versions  # noqa: E402
from reclaim_nb.grading.detectors import load_detectors  # noqa: E402

# What each attempt would find out anew about the installed packages.
load_detectors()
agent_names()
package_versions()
