"""Configuration of the documentation: `make docs`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]
# Examples call `reclaim` as a reader would: let their kernel find the one that belongs to this Python.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
os.environ.setdefault("COLUMNS", "110")

from reclaim_nb import __version__  # noqa: E402

project = "RECLAIM for Jupyter"
author = "the authors of reclaim-nb"
copyright = "the authors of reclaim-nb, BSD-3-Clause"
release = version = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "reclaim_docs",
]
exclude_patterns = ["_build", "**/.ipynb_checkpoints"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

nb_execution_mode = "cache"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

nitpicky = True
# Several classes have a field of the same short name, and which of them is meant stands beside it.
suppress_warnings = ["ref.python"]
# Other projects' names are not looked up: a build needs no network.
nitpick_ignore_regex = [("py:.*", r"(?!reclaim_nb\.).*")]

copybutton_prompt_text = r"\$ |>>> "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "RECLAIM for Jupyter"
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "navigation_with_keys": False,
}
