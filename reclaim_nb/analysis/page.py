"""A notebook as one HTML file in which nothing can run, whatever agents have printed or called themselves."""

from __future__ import annotations

import html
from pathlib import Path

import nbformat
import nh3
from nbconvert.exporters import HTMLExporter

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Content security policy of the page: even markup that got past the cleaning could load and run nothing."""

_TAGS = {
    *("a", "abbr", "b", "blockquote", "br", "caption", "code", "dd", "del"),
    *("details", "div", "dl", "dt", "em", "h1", "h2", "h3", "h4"),
    *("h5", "h6", "hr", "i", "img", "li", "ol", "p", "picture"),
    *("pre", "section", "small", "source", "span", "strong", "sub", "summary", "sup"),
    *("table", "tbody", "td", "tfoot", "th", "thead", "tr", "u", "ul"),
}
_ATTRIBUTES = {
    "*": {"class", "title"},
    "a": {"href"},
    "img": {"src", "alt"},
    "source": {"srcset", "media"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
    **{f"h{level}": {"id"} for level in range(1, 7)},
}
_IMAGES = ("data:image/png;base64,", "data:image/jpeg;base64,")

STYLE = """
:root { color-scheme: light dark; }
:root { --ink: #1c2024; --muted: #60646c; --faint: #e0e2e6; --ground: #ffffff; --soft: #f6f7f9; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #edeef0; --muted: #a0a5ae; --faint: #33373e; --ground: #15181d; --soft: #1c2026; }
}
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 2rem 1.25rem 5rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 1rem; }
h2 { font-size: 1.3rem; margin: 2.6rem 0 .6rem; padding-top: .8rem; border-top: 1px solid var(--faint); }
p { max-width: 46rem; margin: .6rem 0; }
a { color: inherit; }
.anchor-link, .prompt { display: none; }
img { max-width: 100%; height: auto; display: block; margin: 1rem 0; }
.table { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--muted); padding-bottom: .4rem; caption-side: top; }
th { text-align: left; font-weight: 600; color: var(--muted); vertical-align: bottom; }
th { border-bottom: 1px solid var(--muted); }
th, td { padding: .28rem .8rem .28rem 0; }
td { border-bottom: 1px solid var(--faint); vertical-align: top; }
td.number, th.number { text-align: right; }
td.number, td.short { white-space: nowrap; }
pre, code { font: .85rem/1.45 ui-monospace, monospace; }
pre { background: var(--soft); padding: .7rem; overflow-x: auto; white-space: pre-wrap; }
@media print { main { max-width: none; } h2 { break-after: avoid; } .table, img { break-inside: avoid; } }
"""


def clean(markup: str) -> str:
    """Return HTML with only harmless elements, attributes and addresses; images only where their bytes are inside."""
    return nh3.clean(
        markup,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        attribute_filter=_harmless,
        url_schemes={"http", "https", "data"},
        link_rel="noopener noreferrer nofollow",
    )


def _harmless(tag: str, attribute: str, value: str) -> str | None:
    if attribute in ("src", "srcset"):
        return value if value.startswith(_IMAGES) and " " not in value.strip() else None
    if attribute == "href":
        return value if value.startswith(("https://", "http://", "#")) else None
    return value


def to_html(notebook: nbformat.NotebookNode, title: str) -> str:
    """Return an executed notebook as one HTML file: text, tables and pictures without code, and without any script.

    Args:
        notebook: the notebook.
        title: of the page.
    """
    exporter = HTMLExporter(
        template_name="basic", exclude_input=True, exclude_input_prompt=True, exclude_output_prompt=True
    )
    body, _ = exporter.from_notebook_node(notebook)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"{clean(body)}\n</main>\n</body>\n</html>\n"
    )


def read_notebook(path: Path) -> nbformat.NotebookNode:
    """Return a notebook file."""
    return nbformat.read(path, as_version=4)
