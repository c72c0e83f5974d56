"""A paper's LaTeX source as sections, sentences, links and tables whose cells have row and column heads."""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from reclaim_nb.errors import ReclaimError

MOST_BYTES = 20 * 1024 * 1024
"""Most LaTeX text that is read of one paper."""

_COMMENT = re.compile(r"(?<!\\)%.*")
_INPUT = re.compile(r"\\(?:input|include|subfile)\s*\{([^}]+)\}")
_TABLE = re.compile(r"\\begin\{(table\*?|wraptable|longtable)\}(.*?)\\end\{\1\}", re.DOTALL)
_TABULAR = re.compile(r"\\begin\{(tabularx?|tabular\*|tblr|longtable)\}(.*?)\\end\{\1\}", re.DOTALL)
_RULES = re.compile(
    r"\\(?:toprule|midrule|bottomrule|hline|addlinespace|specialrule|noalign|cmidrule|cline)\b(?:\([a-z]+\))?(?:\[[^\]]*\])?(?:\{[^}]*\})*"
)
_SECTION = re.compile(r"\\(?:sub)*section\*?\s*\{")
_URL = re.compile(r"\\(?:url|href)\s*\{([^}]+)\}|(https?://[^\s{}\\,;]+)")


@dataclass(frozen=True)
class Cell:
    """One cell, numbered from 0, with the heads of its row and column."""

    row: int
    column: int
    row_head: str
    column_head: str
    text: str


@dataclass(frozen=True)
class Table:
    """One table: its number in the order of the source, caption and cells."""

    number: int
    caption: str
    label: str
    cells: tuple[Cell, ...]


def unpack(content: bytes) -> dict[str, str]:
    """Return the LaTeX files of an e-print, by name; empty where it holds none (a PDF).

    An e-print is a gzipped tar, a single gzipped file, or a PDF (https://info.arxiv.org/help/mimetypes.html). Nothing
    is written to disk and links are not followed.

    Raises:
        ReclaimError: the archive is damaged or larger than is read.
    """
    if content[:4] == b"%PDF":
        return {}
    try:
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            return dict(_members(archive))
    except (tarfile.TarError, OSError, EOFError, zlib.error):
        pass  # no archive: a single file, or damaged
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            single = file.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as problem:
        raise ReclaimError(f"the e-print is neither tar, gzip nor PDF: {problem}") from None
    if len(single) > MOST_BYTES:
        raise ReclaimError(f"the e-print has more than {MOST_BYTES} bytes of text")
    return {} if single[:4] == b"%PDF" else {"main.tex": _text(single)}


def _members(archive: tarfile.TarFile) -> Iterator[tuple[str, str]]:
    left = MOST_BYTES
    for member in archive:
        if not member.isfile() or not member.name.lower().endswith((".tex", ".bbl")):
            continue
        left -= member.size
        if left < 0:
            raise ReclaimError(f"the e-print has more than {MOST_BYTES} bytes of text")
        file = archive.extractfile(member)
        assert file is not None
        yield member.name.removeprefix("./"), _text(file.read())


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def whole(files: dict[str, str]) -> str:
    """Return the main file with all it takes in, without comments.

    Raises:
        ReclaimError: no file begins a document.
    """
    mains = [name for name in sorted(files) if re.search(r"^[^%\n]*\\documentclass", files[name], re.MULTILINE)]
    with_body = [name for name in mains if "\\begin{document}" in files[name]]
    if not with_body:
        raise ReclaimError("no file of the source begins a document")
    return _with_inputs(max(with_body, key=lambda name: (len(files[name]), name)), files, ())


def _with_inputs(name: str, files: dict[str, str], above: tuple[str, ...]) -> str:
    text = _COMMENT.sub("", files[name])

    def put(found: re.Match[str]) -> str:
        inner = found[1].strip().removeprefix("./")
        for one in (inner, f"{inner}.tex"):
            if one in files and one not in above and one != name:
                return _with_inputs(one, files, (*above, name))
        return ""

    return _INPUT.sub(put, text)


def plain(latex: str) -> str:
    """Return a piece of LaTeX as text (pylatexenc), white space folded."""
    from pylatexenc.latex2text import LatexNodes2Text

    spare = re.sub(
        r"\\(?:cite[a-z]*|ref|eqref|label|vspace|hspace|rowcolor|cellcolor)\*?(?:\[[^\]]*\])*\{[^}]*\}", "", latex
    )
    text = LatexNodes2Text(math_mode="text", keep_comments=False).latex_to_text(spare)
    return " ".join(text.split())


def links(latex: str) -> list[str]:
    """Return all addresses, in order, each once."""
    found = [(one[1] or one[2]).strip().rstrip(".)") for one in _URL.finditer(latex)]
    return list(dict.fromkeys(one.replace("\\_", "_").replace("\\#", "#").replace("\\%", "%") for one in found))


def tables(latex: str) -> list[Table]:
    """Return the tables, in order."""
    found = []
    for number, table in enumerate(_TABLE.finditer(latex), 1):
        body = table[2]
        inner = _TABULAR.search(body)
        if inner is None:
            continue
        caption = _argument(body, "\\caption")
        label = _argument(body, "\\label")
        found.append(Table(number, plain(caption), label, tuple(_cells(inner[2]))))
    return found


def _argument(text: str, command: str) -> str:
    place = text.find(command + "{")
    return _braces(text, place + len(command)) if place >= 0 else ""


def _braces(text: str, place: int) -> str:
    depth = 0
    for end in range(place, len(text)):
        if text[end] in "{}" and (end == 0 or text[end - 1] != "\\"):
            depth += 1 if text[end] == "{" else -1
            if depth == 0:
                return text[place + 1 : end]
    return ""


def _cells(body: str) -> Iterator[Cell]:
    # What stands before the first & of the first line is the column format.
    body = re.sub(r"^\s*(?:\[[^\]]*\])?", "", body)
    while body.startswith("{"):
        body = body[len(_braces(body, 0)) + 2 :].lstrip()
    rows = []
    for raw in re.split(r"\\\\(?:\[[^\]]*\])?", _RULES.sub("", body)):
        if not raw.strip():
            continue
        row: list[str] = []
        for part in re.split(r"(?<!\\)&", raw):
            wide = re.match(r"\s*\\multicolumn\s*\{(\d+)\}\s*\{[^}]*\}\s*", part)
            text = plain(
                _braces(part, wide.end()) if wide else re.sub(r"\\multirow\s*\{[^}]*\}\s*\{[^}]*\}\s*", "", part)
            )
            row += [text] * (int(wide[1]) if wide else 1)
        rows.append(row)
    heads = 0
    while heads < len(rows) and not any(re.fullmatch(r"[^A-Za-z]*\d[^A-Za-z]*", one) for one in rows[heads][1:]):
        heads += 1
    group = ""
    for number, row in enumerate(rows):
        if number < heads:
            continue
        group = row[0] or group
        for column, text in enumerate(row[1:], 1):
            above = [head[column] for head in rows[:heads] if column < len(head) and head[column]]
            yield Cell(number, column, group, " / ".join(dict.fromkeys(above)), text)


@dataclass(frozen=True)
class Sentence:
    """A sentence with the section it stands in."""

    section: str
    text: str


def sentences(latex: str) -> list[Sentence]:
    """Return the running text as sentences, tables and figures left out; addresses stay in them."""
    body = latex.partition("\\begin{document}")[2].partition("\\end{document}")[0]
    body = _TABLE.sub(" ", body)
    body = re.sub(
        r"\\begin\{(figure\*?|equation\*?|align\*?|thebibliography)\}.*?\\end\{\1\}", " ", body, flags=re.DOTALL
    )
    body = re.sub(r"\\href\s*\{([^}]*)\}\s*\{([^}]*)\}", r"\2 (\1)", body)
    body = re.sub(r"\\footnote\s*\{", r" {", body)
    found, section = [], "Abstract"
    places = [(one.start(), one.end()) for one in _SECTION.finditer(body)]
    edges = [0, *[start for start, _ in places], len(body)]
    for index in range(len(edges) - 1):
        piece = body[edges[index] : edges[index + 1]]
        if index:
            _, end = places[index - 1]
            section = plain(_braces(body, end - 1))
            piece = body[end + len(_braces(body, end - 1)) + 1 : edges[index + 1]]
        found += [Sentence(section, one) for one in split(plain(piece))]
    return found


def split(text: str) -> list[str]:
    """Split text into sentences; a point inside a number or an address ends none."""
    return [one.strip() for one in re.split(r"(?<=[.!?])\s+(?=[A-Z(\[])", text) if len(one.strip()) > 3]
