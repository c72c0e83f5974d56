"""What all widgets share: a result that is plain HTML, and controls above it that make it anew."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from reclaim_nb.analysis.markup import Picture, Table, Text

Shown = Table | Picture | Text

STYLE = (
    "<style>.reclaim-view{font-family:var(--jp-ui-font-family,system-ui,sans-serif)}"
    ".reclaim-view .table{overflow:auto;max-height:32em;margin:.6em 0}.reclaim-view table{border-collapse:collapse}"
    ".reclaim-view caption{text-align:left;padding:.3em 0;opacity:.75}"
    ".reclaim-view .table th,.reclaim-view .table td{padding:.2em .7em;text-align:left;vertical-align:top}"
    ".reclaim-view .table td.number,.reclaim-view .table th.number{text-align:right;font-variant-numeric:tabular-nums}"
    ".reclaim-view img{max-width:100%}"
    ".reclaim-view pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.3em 0}</style>"
)


class View:
    """One widget. Subclasses say what is shown (:meth:`parts`) and with what it is chosen (:meth:`controls`)."""

    def __init__(self) -> None:
        self._handles: list[Any] = []

    def parts(self) -> Sequence[Shown | str]:
        """Return what is shown now; a text is HTML."""
        raise NotImplementedError

    def controls(self) -> Any | None:
        """Return the ipywidget above the result, None where there is nothing to choose."""
        return None

    def html(self) -> str:
        """Return the result as HTML that needs no kernel, no script and no other file."""
        return f'{STYLE}<div class="reclaim-view">{"".join(map(_html, self.parts()))}</div>'

    def refresh(self) -> None:
        """Make the result anew wherever it is shown."""
        for handle in self._handles:
            handle.update(_Static(self.html()))

    def _ipython_display_(self) -> None:
        from IPython.display import display

        controls = self.controls()
        if controls is not None:
            display(_Controls(controls))
        self._handles.append(display(_Static(self.html()), display_id=True))


class _Controls:
    """Controls that say, wherever they cannot be shown, why nothing can be chosen."""

    def __init__(self, widget: Any) -> None:
        self._widget = widget

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        shown: dict[str, Any] = self._widget._repr_mimebundle_()
        return {**shown, "text/plain": "[controls; with a running kernel they change what is shown below]"}


class _Static:
    def __init__(self, text: str) -> None:
        self._text = text

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": self._text, "text/plain": "[a table or figure; it is HTML]"}


def note(text: str) -> str:
    """Return a sentence as HTML."""
    return f"<p>{html.escape(text)}</p>"


def _html(part: Shown | str) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Text):
        import mistune

        # Values were escaped when the text was written; markup that is none of ours shows as text.
        return str(mistune.create_markdown(escape=True)(part.markdown))
    return part.to_html()


def chooser(label: str, choices: Sequence[str], every: str = "all") -> Any:
    """Return a drop-down of words, of which the first, with an empty value, stands for no choice."""
    from ipywidgets import Dropdown

    options = [(every, ""), *((choice.replace("_", " "), choice) for choice in choices)]
    return Dropdown(description=label, options=options, layout={"width": "240px"})
