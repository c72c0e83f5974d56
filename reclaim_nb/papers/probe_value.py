"""Whether a number of a card stands in the paper's text, in any of the forms that papers print numbers in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from reclaim_nb.papers.numbers import CONTEXT, format_decimal, unit
from reclaim_nb.papers.paper_text import PaperText

_NEAR = 400
"""Characters around a number in which a word of the metric is looked for."""

_AROUND = 60


@dataclass(frozen=True)
class Sighting:
    """One place of the text where a number stands.

    Attributes:
        section: title of the section, empty before the first heading.
        text: the number with what stands around it.
        near: a word of the metric stands close by.
    """

    section: str
    text: str
    near: bool


def find_value(paper: PaperText, value: Decimal, unit_name: str, words: tuple[str, ...] = ()) -> list[Sighting]:
    """Return the places where a number stands, those near a word of its metric first.

    Args:
        paper: the paper's text.
        value: the number, with the digits that were printed.
        unit_name: its unit; of a share both forms count (84.3 % and 0.843).
        words: names of the metric.
    """
    forms = "|".join(sorted(map(_pattern, printed_forms(value, unit_name)), key=len, reverse=True))
    number = re.compile(rf"(?<![\d.,\w])(?:{forms})(?!\d|[.,]\d)")
    names = [word.lower() for phrase in words for word in re.findall(r"[^\W_]{3,}", phrase)]
    found = []
    for section in paper.sections:
        body = _plain(f"{section.title}\n{section.body}")
        for match in number.finditer(body):
            around = body[max(0, match.start() - _NEAR) : match.end() + _NEAR].lower()
            shown = body[max(0, match.start() - _AROUND) : match.end() + _AROUND]
            found.append(Sighting(section.title, " ".join(shown.split()), any(name in around for name in names)))
    return sorted(found, key=lambda one: not one.near)


def printed_forms(value: Decimal, unit_name: str) -> tuple[str, ...]:
    """Return how a number may be printed: without its sign, with and without thousands marks, as share and percent."""
    values = [abs(value)]
    known = unit(unit_name)
    if known.family == "share":
        for name in ("percent", "fraction"):
            values.append(CONTEXT.divide(CONTEXT.multiply(abs(value), known.factor), unit(name).factor))
    forms: dict[str, None] = {}
    for one in values:
        plain = format_decimal(one)
        whole, point, rest = plain.partition(".")
        for text in (plain, f"{int(whole):,}{point}{rest}"):
            forms[text] = None
        if whole == "0" and rest:
            forms[f".{rest}"] = None
        if rest and set(rest) == {"0"}:
            forms[whole] = None
    return tuple(forms)


def _pattern(form: str) -> str:
    # A paper rounds differently from a card only in trailing zeros: 84.3 is also printed 84.30.
    return re.escape(form) + ("0{0,3}" if "." in form else r"(?:\.0{1,3})?")


def _plain(text: str) -> str:
    return text.translate({0x2212: "-", 0x00A0: " ", 0x202F: "", 0x2009: " ", 0x200B: None})
