"""What a reader sees of HTML, apart from what is hidden in it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_ROW = frozenset({"tr", "p", "div", "br", "li", "h1", "h2", "h3", "h4", "h5", "h6", "table", "pre", "ul", "ol", "hr"})
_COLUMN = frozenset({"td", "th"})
_VOID = frozenset(
    {"br", "hr", "img", "input", "meta", "link", "col", "source", "wbr", "area", "base", "embed", "track"}
)
_NEVER_SHOWN = frozenset({"script", "style", "template", "noscript", "head", "title"})
_HIDING = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*0*(?:\.0+)?(?![.\d])"
    r"|font-size\s*:\s*0(?![.\d])|(?:^|[;\s])(?:width|height|max-height|max-width)\s*:\s*0(?:px)?\s*(?:;|$)"
    r"|(?:left|top|text-indent|margin-left)\s*:\s*-\d{3,}|color\s*:\s*transparent"
    r"|clip(?:-path)?\s*:\s*(?:rect\(0|inset\((?:50|100)%)",
    re.IGNORECASE,
)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.shown: list[str] = []
        self.hidden: list[str] = []
        self._open: list[tuple[str, bool]] = []

    @property
    def _hiding(self) -> bool:
        return bool(self._open) and self._open[-1][1]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        hides = (
            self._hiding
            or tag in _NEVER_SHOWN
            or "hidden" in given
            or bool(_HIDING.search(given.get("style", "")))
            or _same_colours(given.get("style", ""))
        )
        if tag not in _VOID:
            self._open.append((tag, hides))
        if tag in _ROW:
            self.shown.append("\n")
        elif tag in _COLUMN:
            self.shown.append("\t")

    def handle_endtag(self, tag: str) -> None:
        for index in range(len(self._open) - 1, -1, -1):
            if self._open[index][0] == tag:
                del self._open[index:]
                break
        if tag in _ROW:
            self.shown.append("\n")

    def handle_data(self, data: str) -> None:
        if any(tag in ("script", "style") for tag, _ in self._open):
            return
        (self.hidden if self._hiding else self.shown).append(data)

    def handle_comment(self, data: str) -> None:
        self.hidden.append(data)


def _same_colours(style: str) -> bool:
    colours = dict(re.findall(r"(?:^|;)\s*(color|background(?:-color)?)\s*:\s*([^;]+)", style.lower()))
    behind = colours.get("background-color") or colours.get("background") or "white"
    known = {"#fff": "white", "#ffffff": "white", "rgb(255,255,255)": "white", "#000": "black", "#000000": "black"}
    front = colours.get("color", "").replace(" ", "")
    behind = behind.replace(" ", "")
    return bool(front) and known.get(front, front) == known.get(behind, behind)


def read_html(html: str) -> tuple[str, str]:
    """Return the text of HTML that a reader sees, one table row a line, and the text that is hidden in it."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    rows = "".join(reader.shown).split("\n")
    shown = "\n".join(row for row in ("\t".join(_cells(row)) for row in rows) if row)
    hidden = re.sub(r"\s+", " ", " ".join(reader.hidden)).strip()
    return shown, hidden


def _cells(row: str) -> list[str]:
    return [cell for cell in (re.sub(r"\s+", " ", part).strip() for part in row.split("\t")) if cell]
