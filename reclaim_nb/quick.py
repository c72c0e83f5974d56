"""Keeping processes of this package quick to start."""

from __future__ import annotations

import sys


def spare_the_grammar() -> None:
    """Keep jsonschema from compiling a grammar that nothing here uses.

    Where jupyter_server is installed, ``import nbformat`` imports ``rfc3987_syntax`` by way of jsonschema's format
    checks, and that module compiles a grammar for two to three CPU seconds. nbformat checks no formats; None makes the
    import fail at once, which jsonschema expects and passes over. Only for processes that are ours alone.
    """
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
