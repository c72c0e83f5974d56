"""Tables and pictures that show themselves in a notebook, and tables as Markdown, LaTeX, CSV and HTML.

Whatever a cell of a table holds is text of other people: it is escaped in every one of these forms.
"""

from __future__ import annotations

import base64
import html
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure

Format = Callable[[Any], str]

_SHORT = 24
"""Cells of no more characters are kept on one line."""

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&-])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


def percent(value: Any) -> str:
    """Return a share in percent."""
    return f"{100 * float(value):z.0f} %"


def fine_percent(value: Any) -> str:
    """Return a share in percent with one decimal."""
    return f"{100 * float(value):z.1f} %"


def number(value: Any) -> str:
    """Return a number with three significant digits, whole numbers whole."""
    value = float(value)
    return f"{value:,.0f}" if value.is_integer() or abs(value) >= 1000 else f"{value:.3g}"


def hours(value: Any) -> str:
    """Return hours; what is next to nothing as that, and not in powers of ten."""
    return "< 0.001" if 0 < float(value) < 0.001 else number(value)


def p_value(value: Any) -> str:
    """Return a p value."""
    return "< 0.001" if float(value) < 0.001 else f"{float(value):.3f}"


def words(value: Any) -> str:
    """Return one of our words as people write it."""
    return str(value).replace("_", " ")


FORMATS: dict[str, Format] = {
    **dict.fromkeys(
        ("rate", "share", "mean", "median", "low", "high", "aggregate", "with", "without", "pass_at_k"), percent
    ),
    **dict.fromkeys(("difference",), lambda value: f"{100 * float(value):+z.0f} %"),
    **dict.fromkeys(("hours", "spent_hours", "budget_hours", "hours_per_success", "wall_hours"), hours),
    "tokens": number,
    **dict.fromkeys(("usd", "usd_per_success"), lambda value: f"{float(value):,.2f}"),
    **dict.fromkeys(("p", "p_corrected"), p_value),
    **dict.fromkeys(("mean_score", "kappa", "odds_ratio"), lambda value: f"{float(value):.2f}"),
    **dict.fromkeys(("outcome", "self_report", "state", "reason", "standing", "ungraded_as"), words),
    **dict.fromkeys(("agree", "different"), lambda value: "yes" if value else "no"),
}
"""How columns are written, by their names."""


_MOST_PRINTED = 500
"""Rows of a table as Markdown or LaTeX, which are for papers."""


@dataclass(frozen=True)
class Table:
    """A frame that is ready to be read.

    Attributes:
        name: of its files.
        caption: what it says, in one sentence.
        frame: the values, as they were computed.
        wide: what is shown instead, where the frame is too long to be read; the CSV file holds the frame.
        formats: how columns are written, beside :data:`FORMATS`.
        interval: column whose interval stands in ``low`` and ``high``; the three are shown as one.
        most: rows that are shown; the CSV file holds them all, the others as many as anybody prints.
    """

    name: str
    caption: str
    frame: pd.DataFrame
    formats: Mapping[str, Format] = field(default_factory=dict)
    interval: str | None = None
    wide: pd.DataFrame | None = None
    most: int = 60

    def cells(self, most: int | None = None) -> pd.DataFrame:
        """Return the table, or its first rows, as text; a missing value is empty."""
        known = {**FORMATS, **self.formats}
        read = self._read if most is None else self._read.head(most)
        shown = {}
        for column in self._shown():
            write = known.get(column, _plain)
            values = [_written(value, write) for value in read[column]]
            if column == self.interval:
                low, high = (known.get(name, _plain) for name in ("low", "high"))
                bounds = zip(values, read["low"], read["high"], strict=True)
                values = [_bounded(value, _written(a, low), _written(b, high)) for value, a, b in bounds]
            shown[_title(column)] = values
        return pd.DataFrame(shown, columns=list(shown), dtype=object)

    @property
    def _read(self) -> pd.DataFrame:
        return self.frame if self.wide is None else self.wide

    def _shown(self) -> list[str]:
        bounds = ("low", "high") if self.interval else ()
        return [str(column) for column in self._read.columns if column not in bounds]

    def _right(self) -> list[bool]:
        """Tell which shown columns are numbers, which stand at the right."""
        return [_is_number(self._read[column]) and column != self.interval for column in self._shown()]

    def to_html(self) -> str:
        """Return the table as HTML without any markup in its cells."""
        cells = self.cells(self.most)
        right = self._right()
        head = "".join(
            f'<th class="{"number" if numeric else "text"}">{html.escape(str(name))}</th>'
            for name, numeric in zip(cells.columns, right, strict=True)
        )
        body = "".join(
            f"<tr>{''.join(_cell(value, numeric) for value, numeric in zip(row, right, strict=True))}</tr>"
            for row in cells.itertuples(index=False, name=None)
        )
        rest = self._rest(self.most)
        more = f"<p>{rest} more rows: <code>tables/{html.escape(self.name)}.csv</code></p>" if rest else ""
        return (
            f'<div class="table"><table><caption>{html.escape(self.caption)}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}</div>"
        )

    def to_markdown(self) -> str:
        """Return the table as a pipe table, its caption above."""
        cells = self.cells(_MOST_PRINTED)
        lines = [f"**{markdown_text(self._printed_caption())}**", ""]
        lines.append("| " + " | ".join(markdown_text(str(name)) for name in cells.columns) + " |")
        marks = ["---:" if right else "---" for right in self._right()]
        lines.append("| " + " | ".join(marks) + " |")
        for row in cells.itertuples(index=False, name=None):
            lines.append("| " + " | ".join(markdown_text(value) for value in row) + " |")
        return "\n".join(lines) + "\n"

    def to_latex(self) -> str:
        """Return the table as LaTeX (booktabs)."""
        kinds = "".join("r" if right else "l" for right in self._right())
        cells = self.cells(_MOST_PRINTED).map(one_line)
        caption = _latex(self._printed_caption())
        text: str = cells.to_latex(
            index=False, escape=True, column_format=kinds, caption=caption, label=f"tab:{self.name}"
        )
        return text

    def to_csv(self) -> str:
        """Return the values as they were computed, not as they are shown; no cell is a spreadsheet's formula."""
        frame = self.frame.copy()
        for column in frame.columns:
            if not _is_number(frame[column]):
                frame[column] = [_no_formula(value) for value in frame[column]]
        text: str = frame.to_csv(index=False)
        return text

    def _rest(self, most: int) -> int:
        return max(0, len(self._read) - most)

    def _printed_caption(self) -> str:
        rest = self._rest(_MOST_PRINTED)
        return f"{self.caption} {rest} more rows are in {self.name}.csv." if rest else self.caption

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        plain = f"{self.caption}\n\n{self.cells(self.most).map(one_line).to_string(index=False)}"
        return {"text/html": self.to_html(), "text/plain": plain}


@dataclass(frozen=True)
class Picture:
    """A figure in both themes, as PNG; which one is seen follows the reader's system."""

    name: str
    alt: str
    light: bytes
    dark: bytes

    def to_html(self) -> str:
        """Return the picture as HTML that needs no other file."""
        light, dark = (base64.b64encode(data).decode("ascii") for data in (self.light, self.dark))
        return (
            '<picture><source media="(prefers-color-scheme: dark)" '
            f'srcset="data:image/png;base64,{dark}">'
            f'<img alt="{html.escape(self.alt)}" src="data:image/png;base64,{light}"></picture>'
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        png = base64.b64encode(self.light).decode("ascii")
        return {"text/html": self.to_html(), "image/png": png, "text/plain": f"[{self.alt}]"}


@dataclass(frozen=True)
class Text:
    """A paragraph of Markdown whose values were escaped by :func:`markdown_text`."""

    markdown: str

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/markdown": self.markdown, "text/plain": self.markdown}


_COMPRESSION = 3
"""Of pictures: half the time of the usual level for a tenth more bytes."""


def png(figure: Figure, dots: float = 1.6) -> bytes:
    """Return a figure as PNG, with more dots than its size says, for screens that have them."""
    buffer = io.BytesIO()
    dpi = figure.dpi
    # Before it is laid out, which measures all text: what is drawn with as many dots is not measured again.
    figure.dpi = dpi * dots
    try:
        _lay_out(figure)
        # Not by savefig, which draws twice: once for a layout that these figures have already.
        FigureCanvasAgg(figure).print_png(  # type: ignore[no-untyped-call]
            buffer, metadata={"Software": None}, pil_kwargs={"compress_level": _COMPRESSION}
        )
    finally:
        figure.dpi = dpi
    return buffer.getvalue()


def pdf(figure: Figure) -> bytes:
    """Return a figure as PDF, the same bytes whenever it is drawn."""
    buffer = io.BytesIO()
    _lay_out(figure)
    FigureCanvasPdf(figure).print_pdf(buffer, metadata={"CreationDate": None})  # type: ignore[no-untyped-call]
    return buffer.getvalue()


def _lay_out(figure: Figure) -> None:
    """Put the parts of a figure in place for good; saving would draw all of it once more only to do that."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine("none")


def markdown_text(text: str) -> str:
    """Return text as Markdown that shows exactly it: on one line, no markup, no HTML, no mathematics."""
    escaped = _MARKDOWN.sub(
        lambda found: f"&#{ord(found[1])};" if found[1] in "<>&$|" else f"\\{found[1]}", one_line(text)
    )
    return re.sub(r"(?i)(https?|www|ftp)([:.])", r"\1\\\2", escaped)


def one_line(text: str) -> str:
    """Return text on one line, without control characters and without marks that turn its direction."""
    return " ".join(_CONTROL.sub(" ", text).split())


def _latex(text: str) -> str:
    return re.sub(r"([%&_#$])", r"\\\1", text)


def _plain(value: Any) -> str:
    return number(value) if isinstance(value, float) else one_line(str(value))


def _written(value: Any, write: Format) -> str:
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):
        return ""
    return write(value) if not isinstance(value, str) else one_line(words(value) if write is words else value)


def _cell(value: str, numeric: bool) -> str:
    kind = "number" if numeric else "text" if len(value) > _SHORT else "short"
    return f'<td class="{kind}">{html.escape(value)}</td>'


def bounded(rate: float, low: float, high: float) -> str:
    """Return a share with its interval, ``41 % (26 to 58)``; empty without a share."""
    return "" if rate != rate else _bounded(percent(rate), *("" if b != b else percent(b) for b in (low, high)))


def _bounded(value: str, low: str, high: str) -> str:
    """Return ``41 % (26 to 58)``: the bounds in the value's unit, which is written once."""
    return f"{value} ({low.removesuffix(' %')} to {high.removesuffix(' %')})" if value and low and high else value


def _title(column: str) -> str:
    return column.replace("_", " ")


def _is_number(column: pd.Series[Any]) -> bool:
    return bool(pd.api.types.is_numeric_dtype(column)) and not bool(pd.api.types.is_bool_dtype(column))


def _no_formula(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
