"""A name that was meant, for a message about one that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def near(name: str, known: Iterable[str]) -> str:
    """Return `` (did you mean 'replay'?)`` for a misspelt name, and nothing where none is close."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean '{close[0]}'?)" if close else ""
