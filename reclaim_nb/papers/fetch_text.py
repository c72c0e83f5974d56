"""The paper's text as Markdown, from what is published of it: Markdown or plain text, HTML, PDF."""

from __future__ import annotations

import re
from pathlib import Path

from reclaim_nb.errors import FetchError

_LEAST_LETTERS = 40
_NOISE = ("script", "style", "nav", "header", "footer", "button", "svg", "noscript")


def text_of(path: Path, name: str) -> str:
    """Return the text of a published paper.

    Args:
        path: the file as it came.
        name: what it is called upstream; bytes decide what it is, the name only between plain text and Markdown.

    Returns:
        Markdown, headings as headings; a PDF has none but its pages.

    Raises:
        FetchError: it holds no text, or the package that reads its form is not installed.
    """
    content = path.read_bytes()
    head = content[:1024].lstrip()
    if head.startswith(b"%PDF-"):
        text = _from_pdf(path)
    elif re.match(rb"(?i)(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<(!doctype html|html)", head):
        text = _from_html(content.decode("utf-8", "replace"))
    else:
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            raise FetchError(f"{name}: neither text nor HTML nor PDF; name the paper's text on the card") from None
    if sum(map(str.isalpha, text)) < _LEAST_LETTERS:
        raise FetchError(f"{name}: it holds no text (a scan, or an empty page); name the paper's text on the card")
    return text.rstrip() + "\n"


def _from_html(page: str) -> str:
    try:
        from bs4 import BeautifulSoup
        from markdownify import MarkdownConverter
    except ImportError:
        raise FetchError("a paper in HTML needs markdownify: pip install 'reclaim-nb[fetch]'") from None
    soup = BeautifulSoup(page, "html.parser")
    for part in soup.find_all(_NOISE):
        part.decompose()
    for formula in soup.find_all("math"):  # arXiv's pages carry the source of each formula
        formula.replace_with(f"${formula.get('alttext') or formula.get_text(' ', strip=True)}$")
    body = soup.find("article") or soup.find("main") or soup.body or soup
    text = MarkdownConverter(heading_style="ATX", strip=["img", "a"], escape_underscores=False).convert_soup(body)
    return re.sub(r"\n{3,}", "\n\n", str(text)).strip()


def _from_pdf(path: Path) -> str:
    try:
        from pypdf import PdfReader
        from pypdf.errors import PyPdfError
    except ImportError:
        raise FetchError("a paper in PDF needs pypdf: pip install 'reclaim-nb[fetch]'") from None
    try:
        pages = [page.extract_text() for page in PdfReader(path).pages]
    except (PyPdfError, ValueError, KeyError, RecursionError) as problem:
        raise FetchError(f"{path.name}: the PDF cannot be read: {problem}") from problem
    return "\n\n".join(f"## Page {number}\n\n{text.strip()}" for number, text in enumerate(pages, start=1))
