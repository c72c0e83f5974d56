"""Which preprint a paper is: by exact id, or by exact title and authors; below that none, never the nearest."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

BAR = Decimal("0.5")
"""Least share of the longer author list that both lists must have in common."""

ARXIV_ID = re.compile(r"arxiv\.org/(?:abs|pdf|html|e-print|src)/(\d{4}\.\d{4,5})(?:v(\d+))?", re.IGNORECASE)

_STYLE = re.compile(r"\\(?:emph|text[a-z]*|math[a-z]*|it|bf|sc|rm)\b")
_MARKUP = str.maketrans({"$": "", "{": "", "}": "", "\\": "", "~": " "})
_GREEK = {
    ord(c): f"{unicodedata.name(c).rsplit(' ', 1)[1].lower()}"
    for c in map(chr, range(0x3B1, 0x3CA))
    if unicodedata.name(c, "").startswith("GREEK SMALL LETTER")
}


@dataclass(frozen=True)
class Preprint:
    """An entry of the preprint server; ``version`` is its newest."""

    id: str
    version: int
    title: str
    authors: tuple[str, ...]


@dataclass(frozen=True)
class Match:
    """What was decided; without a preprint, ``why`` says what failed."""

    preprint: Preprint | None
    how: Literal["id", "title", "none"]
    why: str
    overlap: Decimal | None = None


def normalised(title: str) -> str:
    """Return a title without case, accents, punctuation and markup; words, Greek letters and their order stay."""
    bare = _STYLE.sub("", title).translate(_MARKUP)
    plain = unicodedata.normalize("NFKD", bare).casefold().translate(_GREEK)
    kept = "".join(" " if not (c.isalnum() or unicodedata.combining(c)) else c for c in plain)
    return " ".join("".join(c for c in kept if not unicodedata.combining(c)).split())


def person(name: str) -> tuple[str, str]:
    """Return surname and first initial, from ``Ada Lovelace`` as from ``Lovelace, Ada``."""
    if "," in name:
        last, _, first = name.partition(",")
        name = f"{first} {last}"
    words = normalised(name.replace("-", "")).split()
    return (words[-1], words[0][0]) if words else ("", "")


def overlap(ours: Iterable[str], theirs: Iterable[str]) -> Decimal:
    """Return the share of the longer author list that is in both, 0 to 1."""
    a, b = set(map(person, ours)), set(map(person, theirs))
    return (Decimal(len(a & b)) / max(len(a), len(b))).quantize(Decimal("0.01")) if a and b else Decimal(0)


def match(title: str, authors: Sequence[str], found: Iterable[Preprint], claimed: str | None = None) -> Match:
    """Decide which preprint a paper is.

    Args:
        title: of the accepted paper.
        authors: of the accepted paper.
        found: what the preprint server answered, in any order.
        claimed: id that the authors' own record names.

    Returns:
        The preprint, or none with the reason; the answer does not depend on the order of what was found.
    """
    known = {one.id: one for one in found}
    if claimed is not None:
        one = known.get(claimed)
        if one is None:
            return Match(None, "none", f"the record names {claimed}, and the server has no such entry")
        share = overlap(authors, one.authors)
        if share >= BAR:
            told = "" if normalised(one.title) == normalised(title) else "; its title is another one there"
            return Match(one, "id", f"the record names {claimed}{told}; {share} of the authors are the same", share)
        return Match(None, "none", f"the record names {claimed}, which is by others ({share} in common)", share)
    same = [one for one in known.values() if normalised(one.title) == normalised(title)]
    fit = [(overlap(authors, one.authors), one) for one in same]
    good = [(share, one) for share, one in fit if share >= BAR]
    if len(good) == 1:
        share, one = good[0]
        return Match(one, "title", f"the same title; {share} of the authors are the same", share)
    if good:
        ids = ", ".join(sorted(one.id for _, one in good))
        return Match(None, "none", f"several entries have this title and these authors: {ids}")
    if fit:
        share, one = max(fit, key=lambda pair: (pair[0], pair[1].id))
        return Match(None, "none", f"{one.id} has the same title by others ({share} in common, {BAR} asked)", share)
    return Match(None, "none", f"no entry has this very title ({len(known)} looked at)")
