"""Every number of a text, in decimals, with the words that stand by it. Pure; knows no card and no cell.

A number's *label* is what stands between it and the number before, up to a clause border; what names a whole line (a
split, a metric, keys of the JSON around it, the head of its table column) is inherited where its own label is silent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from reclaim_nb.grading import vocabulary as v
from reclaim_nb.grading.layout import RULE, Header, Keys, columns_of, is_row, is_under

_NUMBER = re.compile(
    r"""(?<![\w.@^#$])(?<![A-Za-z]-)(?<![A-Za-z]\.)(?<!\d[:/-]\d\d[:/-])
    (?P<sign>[+\-\u2212](?=[.\d]))?
    (?P<digits>[0-9]{1,3}(?:,[0-9]{3})+(?![0-9,])(?:\.[0-9]+)?
        |[0-9]+(?:_[0-9]{3})+(?![0-9])|[0-9]+(?:\.[0-9]*)?|\.[0-9]+)
    (?P<exponent>[eE][+-]?[0-9]{1,4})?
    (?P<space>[ ]?)(?P<unit>(?:%|‰|°|×|percent\b|per[ ]cent\b|pct\b
        |(?:x|ms|s|pp|bp|bps|nats|bits|nat|bit|degrees|deg)\b(?![-(=:]))(?:/(?:token|byte|char|dim|word)\b)?)?
    (?![0-9A-Za-z_]|\.[0-9])""",
    re.VERBOSE,
)
_NOT_A_NUMBER = re.compile(r"(?<![\w.])[+-]?(?:nan|NaN|NAN|inf|Inf|INF|infinity|None|null|N/A|n/a)(?![\w])")
_UNIT_WORDS = re.compile(
    r"(%|\bpercent\b|\bper cent\b|\bpct\b|\bfraction\b|\bnats?\b|\bbits?\b|\bbp\b|\bbasis points\b"
    r"|\bdegrees?\b|\bdeg\b|°)"
    r"(?:\s*(?:/|per)\s*(token|byte|char|character|dim|word))?",
    re.IGNORECASE,
)
_BORDER = re.compile(
    r"[;\n\t,]|\s\|\s|\s[/–—-]\s|[()\[\]{}]|\bvs\.?\b|\bversus\b|\bagainst\b|\bbut\b|\binstead\b|\s{3,}|→|->|=>|\.\s"
)
_COMPARE = re.compile(r"(<=|>=|≤|≥|<|>|≈|~|±|\+/-|\+-|\u00b1)\s*$")
_PAIR = re.compile(r"([A-Za-z][\w@.-]*)\s*[=:]?\s*$")
_RATIO = re.compile(r"(?<![\w.,/])([0-9][0-9,]*)\s*(?:/|of|out of)\s*([0-9][0-9,]*)(?![\w./]|,[0-9])")
_OPENERS = {"{": "}", "[": "]", "(": ")"}
_KEY = re.compile(r"""(?:"([^"\\\n]{1,80})"|'([^'\\\n]{1,80})')\s*:\s*""")


_PROGRESS = re.compile(rf"(?<![a-z])(?:{'|'.join(sorted(v.PROGRESS))})(?![a-z])|\d/\d+ *\[|\d%\|", re.IGNORECASE)
_FINAL = re.compile(rf"(?<![a-z])(?:{'|'.join(sorted(v.FINAL))})(?![a-z])", re.IGNORECASE)
_LEVEL = re.compile(
    r"\s*-?(?:[a-z]+\s+)?(?:interval|ci\b|confidence|credible|percentile|quantile|level)", re.IGNORECASE
)
_THROUGH = frozenset({"to", "-", "–", "—", "and", ",", "..", "...", "to:"})
"""What stands between the two ends of a range."""
_LEVELS = frozenset({"interval", "ci", "confidence", "percentile", "quantile", "level", "credible"})
_WORD = re.compile(r"(?<![\d.])[A-Za-z]{2,}")


@dataclass(frozen=True, slots=True)
class Number:
    """One number and what is said about it where it stands.

    Attributes:
        offset: characters before it in its output's text.
        text: its own characters, with sign and exponent, without a unit.
        value: the same as a decimal.
        unit: unit printed with it (``%``, ``nats``, ``x``), None when there is none.
        per: what the unit is per (``token``), None when nothing.
        own: words of its own label.
        around: words inherited from its line, the keys around it, its column and row.
        split: ``train``, ``val``, ``test`` or None.
        n: items it was computed on, as printed beside it.
        stat: ``mean``, ``max``, ``min``, ``median``, ``spread``, ``bound``, ``gap`` or None.
        reference: whether its label says that it is somebody else's number.
        scene: whether it sets the scene (``epoch 3``, ``n=500``) instead of being a result.
        progress: whether its line counts epochs or steps.
        final: whether its line says that it is the final one.
        alone: whether no word stands by it at all.
        framed: whether keys or a table's head name it, not just the words before it.
        line: its line, shortened.
        column: characters before it in the shortened line.
    """

    offset: int
    text: str
    value: Decimal
    unit: str | None
    per: str | None
    own: tuple[str, ...]
    around: tuple[str, ...]
    split: str | None
    n: int | None
    stat: str | None
    reference: bool
    scene: bool
    progress: bool
    final: bool
    alone: bool
    framed: bool
    line: str
    column: int

    @property
    def words(self) -> tuple[str, ...]:
        """All words that stand by it."""
        return self.own + self.around


def parse(text: str) -> Decimal:
    """Return the decimal of a matched number."""
    return Decimal(text.replace(",", "").replace("_", "").replace("\u2212", "-"))


def numbers(text: str, start: int = 0) -> Iterator[Number]:
    """Yield every number of a text.

    Args:
        text: any text; lines end with ``\\n`` or ``\\r``.
        start: offset of the text in its output.
    """
    header: list[Header] = []
    keys = Keys()
    offset = start
    for raw in re.split(r"([\n\r])", text):
        if raw in ("\n", "\r"):
            offset += 1
            continue
        yield from _line(raw, offset, header, keys)
        offset += len(raw)


def line_numbers(line: str, offset: int, *, scenes: bool = True) -> list[Number]:
    """Return the numbers of one line that stands by itself; without ``scenes`` maybe only those that may be results."""
    return list(_line(line, offset, [], Keys(), scenes))


def absent(text: str) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Yield (offset, text, label) of every NaN, infinity or "none" that stands where a number could."""
    for match in _NOT_A_NUMBER.finditer(text):
        begin = max(text.rfind("\n", 0, match.start()), text.rfind("\r", 0, match.start())) + 1
        yield match.start(), match[0], v.tokens(text[begin : match.start()])


def ratios(text: str) -> Iterator[tuple[Decimal, Decimal, int]]:
    """Yield (count, total, offset) of every ``90/10000`` or ``90 of 10000``."""
    for match in _RATIO.finditer(text):
        try:
            count, total = parse(match[1]), parse(match[2])
        except ArithmeticError:
            continue
        if total >= 20 and count <= total:
            yield count, total, match.start()


def _line(line: str, offset: int, header: list[Header], keys: Keys, scenes: bool = True) -> Iterator[Number]:
    found = list(_NUMBER.finditer(line))
    if found and not header and not keys.stack and not keys.key and not _OPENING.search(line):
        yield from _alike(line, offset, found, scenes)
        return
    structured = bool(keys.stack) or bool(_KEY.search(line)) or ("{" in line and "}" in line)
    if not found:
        if line.strip() and not RULE.match(line):
            kind, columns = columns_of(line)
            # "BLEU n/a" is a result that is not there, and no head of the numbers below it.
            if len(columns) > 1 and not _NOT_A_NUMBER.search(line):
                header[:] = [Header(kind, columns, "  " in line.rstrip())]
            else:
                header.clear()
        if structured or "{" in line or "[" in line:
            keys.feed(line)
            if len(keys.stack) > 20:
                keys.clear()
        return
    kind, columns = columns_of(line) if header else ("", ())
    table = header[0] if header and header[0].kind == kind and len(columns) > 1 else None
    if table is not None and kind == " " and not is_under(line, found, columns, table):
        table = None
    yield from _LineReader(line, offset, found, keys, table, columns).read()
    if table is None and not structured and header and not is_row(line):
        header.clear()


_OPENING = re.compile(r"""[{}\[\]"']""")
"""What may begin or end keys around a number."""
_DIGITS = re.compile("[0-9]+")
_ALIKE: dict[str, tuple[tuple[Number, ...], int | None]] = {}
"""What was read of a line with other digits, also more or fewer, in its numbers: they change only values and counts."""
_ALIKE_KEPT = 4096
_RATIO_MARK = re.compile(r"/|\bof\b")


def _alike(line: str, offset: int, found: list[re.Match[str]], scenes: bool) -> Iterator[Number]:
    """Yield the numbers of a line that stands by itself; logs repeat their lines with other digits over and over."""
    pieces: list[str] = []
    position = 0
    for match in found:
        pieces += (line[position : match.start()], _DIGITS.sub("0", match[0]))
        position = match.end()
    pieces.append(line[position:])
    shape = "".join(pieces)
    known = _ALIKE.get(shape)
    if known is None:
        reader = _LineReader(line, 0, found, Keys(), None, ())
        known = tuple(reader.read()), reader.counted
        if len(_ALIKE) >= _ALIKE_KEPT:
            _ALIKE.clear()
        _ALIKE[shape] = known
    numbers, counted = known
    if not scenes and all(number.scene for number in numbers):
        return
    n = int(parse(found[counted]["digits"])) if counted is not None else None
    if n is None and _RATIO_MARK.search(line):
        n = _ratio_total(line)
    for match, alike in zip(found, numbers, strict=True):
        if alike.scene and not scenes:
            continue
        start = match.start()
        text = (match["sign"] or "") + match["digits"] + (match["exponent"] or "")
        yield Number(
            offset=offset + start,
            text=text,
            value=parse(text),
            unit=alike.unit,
            per=alike.per,
            own=alike.own,
            around=alike.around,
            split=alike.split,
            n=n,
            stat=alike.stat,
            reference=alike.reference,
            scene=alike.scene,
            progress=alike.progress,
            final=alike.final,
            alone=alike.alone,
            framed=alike.framed,
            line=line[max(0, start - 400) : match.end() + 400],
            column=min(start, 400),
        )


def _ratio_total(line: str) -> int | None:
    """Return the total of the first ``90/10000`` of a line, which counts items unless it counts steps."""
    if (first := next(ratios(line), None)) is None or re.search(r"epoch|step|iter|batch", line, re.IGNORECASE):
        return None
    return int(first[1])


class _LineReader:
    def __init__(
        self,
        line: str,
        offset: int,
        found: list[re.Match[str]],
        keys: Keys,
        table: Header | None,
        columns: tuple[tuple[int, int, str], ...],
    ) -> None:
        self.line, self.offset, self.found, self.keys, self.table, self.columns = (
            line,
            offset,
            found,
            keys,
            table,
            columns,
        )
        self.counted: int | None = None

    def read(self) -> Iterator[Number]:
        line = self.line
        gaps = self._gaps()
        progress = _PROGRESS.search(line) is not None
        final = _FINAL.search(line) is not None
        alone = _WORD.search(line) is None
        scenes = [self._scene(index, before) for index, (before, _) in enumerate(gaps)]
        count = self._count(scenes)
        row = self._row_words() if self.table else ()
        split_left: str | None = None
        around: tuple[str, ...] = ()
        position = 0
        stat_left: str | None = None
        for index, match in enumerate(self.found):
            before, after = gaps[index]
            self.keys.feed(line[position : match.start()])
            position = match.start()
            path = self.keys.path()
            own_words = v.tokens(before)
            if index and scenes[index - 1] and own_words and own_words[0] in v.NOUNS:
                own_words = own_words[1:]
            compare = _COMPARE.search(before)
            scene = scenes[index]
            if self.table is not None:
                head = self._head(match)
                own = v.tokens(head) or row
                inherited = row + v.tokens(head)
            elif path:
                own = v.tokens(path[-1])
                inherited = tuple(word for key in path[:-1] for word in v.tokens(key)) + around
            else:
                own, inherited = own_words, around
            after_words = v.tokens(after)
            label_split = v.split_of(" ".join(own)) or v.split_of(" ".join(after_words))
            if label_split is None and path:
                label_split = next((s for key in reversed(path) if (s := v.split_of(key))), None)
            if label_split is None and self.table is not None:
                label_split = v.split_of(" ".join(row))
            if label_split is not None:
                split_left = label_split
            unit, per = self._unit(match, before, after, own)
            stat = self._stat(own, compare)
            if stat is None and not _content(own):
                stat = next((v.STATISTICS[w] for w in inherited if w in v.STATISTICS), None)
            if self.table is not None and index == 0 and not self._head(match) and "." not in match["digits"]:
                scene = True
            if not _content(own) and before.strip(" ([") in _THROUGH and stat_left in ("bound", "gap", "spread"):
                stat = stat_left
            if any(word in _LEVELS for word in after_words[:2]):
                stat = "bound"
            stat_left = stat
            if not scene and (path or self.table is not None) and own and own[-1] in v.QUALIFIERS | v.COUNT_KEYS:
                scene = True
            reference = self._reference(own, after_words, path, row)
            yield Number(
                offset=self.offset + match.start(),
                text=(match["sign"] or "") + match["digits"] + (match["exponent"] or ""),
                value=parse((match["sign"] or "") + match["digits"] + (match["exponent"] or "")),
                unit=unit,
                per=per,
                own=own + after_words,
                around=inherited,
                split=label_split or split_left,
                n=count,
                stat=stat,
                reference=reference,
                scene=scene,
                progress=progress,
                final=final,
                alone=alone and not path and self.table is None,
                framed=bool(path) or self.table is not None,
                line=line[max(0, match.start() - 400) : match.end() + 400],
                column=min(match.start(), 400),
            )
            if scene and not path and self.table is None:
                # "condition number, n = 20: 7.68": what stands before a number that sets the scene names the next one.
                left = self.found[index - 1].end() if index else 0
                words = tuple(w for w in v.tokens(self.line[left : match.start()]) if w not in v.QUALIFIERS)
                if any(not v.is_generic(w) and w not in v.SPLITS and w not in v.NOUNS for w in words):
                    around = tuple(word for word in words if word not in v.SPLITS)
            elif not path and any(not v.is_generic(w) and w not in v.SPLITS for w in own):
                around = tuple(word for word in own if word not in v.SPLITS)
        self.keys.feed(line[position:])

    def _gaps(self) -> list[tuple[str, str]]:
        """Return, for each number, the label before it and the label after it."""
        line, found = self.line, self.found
        result = []
        for index, match in enumerate(found):
            left = found[index - 1].end() if index else 0
            right = found[index + 1].start() if index + 1 < len(found) else len(line)
            between_left = line[left : match.start()]
            if index:
                border = _BORDER.search(between_left)
                if border is not None:
                    between_left = between_left[border.start() :]
            between_left = _last_clause(between_left)
            between_right = line[match.end() : right]
            if index + 1 < len(found):
                border = _BORDER.search(between_right)
                between_right = between_right[: border.start()] if border is not None else ""
            after = re.split(r"[;,.\n\t|]\s|\s[/–—-]\s", between_right, maxsplit=1)[0]
            inside = re.match(r"\s*\(([^()]*)\)?", after)
            after = inside[1] if inside is not None else re.split(r"[()\[\]]", after, maxsplit=1)[0]
            result.append((between_left, " ".join(after.split()[:5])))
        return result

    def _scene(self, index: int, before: str) -> bool:
        match = self.found[index]
        if (pair := _PAIR.search(before)) is not None:
            words = v.tokens(pair[1])
            if words and words[-1] in v.QUALIFIERS and not match["unit"]:
                return True
        rest = self.line[match.end() :]
        if _LEVEL.match(rest):
            return True
        noun = re.match(r"\s*(?:-\s*)?([A-Za-z]+)(?:\s+([A-Za-z]+))?", rest)
        if noun is not None and not match["unit"] and self.line[match.end() : match.end() + 1] in (" ", "-"):
            if noun[1].lower() in v.NOUNS and not re.match(r"\s*[A-Za-z]+\s*[=:]", rest):
                return True
            if (noun[2] or "").lower() in v.ITEM_NOUNS and noun[1].lower() in (
                *v.SPLITS,
                "different",
                "random",
                "held",
            ):
                return True
        return bool(re.match(r"\s*/\s*[0-9]", rest) or re.search(r"[0-9]\s*/\s*$", self.line[: match.start()]))

    def _count(self, scenes: list[bool]) -> int | None:
        """Return the number of items; which number of the line says it is kept in ``counted``."""
        for index, match in enumerate(self.found):
            if not scenes[index]:
                continue
            before = self.line[: match.start()]
            pair = _PAIR.search(before)
            words = v.tokens(pair[1]) if pair else ()
            rest = self.line[match.end() :].lstrip(" -")
            nouns = re.findall(r"[A-Za-z]+", rest)[:2]
            counted = bool(words) and (
                "".join(words) in v.COUNT_KEYS or words[-1] in ("n", "samples", "items", "images")
            )
            counted = counted or any(noun.lower() in v.ITEM_NOUNS for noun in nouns[:2])
            if counted and "." not in match["digits"]:
                self.counted = index
                return int(parse(match["digits"]))
        return _ratio_total(self.line)

    def _unit(
        self, match: re.Match[str], before: str, after: str, own: tuple[str, ...]
    ) -> tuple[str | None, str | None]:
        per = None
        if match["unit"]:
            unit, _, per = match["unit"].partition("/")
            return unit.strip(), per or None
        label = self._head(match) if self.table is not None else before
        found = _UNIT_WORDS.search(label) or _UNIT_WORDS.search(after)
        if found is None and (rest := re.match(r"\s*[(\[]([^()\[\]\d]{1,30})[)\]]", self.line[match.end() :])):
            found = _UNIT_WORDS.search(rest[1])
        if found is not None:
            return found[1].lower(), found[2]
        for word in own:
            if word in ("pct", "percent", "nats", "bits"):
                return word, None
        return None, None

    def _stat(self, own: tuple[str, ...], compare: re.Match[str] | None) -> str | None:
        if compare is not None:
            return "spread" if compare[1] in ("±", "+/-", "+-") else None if compare[1] in ("≈", "~") else "bound"
        if any(word in v.SPREAD for word in own):
            return "spread"
        if any(word in v.GAP for word in own):
            return "gap"
        if any(word in v.BOUND for word in own):
            return "bound"
        stats = [v.STATISTICS[word] for word in own if word in v.STATISTICS]
        return stats[0] if stats else None

    def _reference(self, own: tuple[str, ...], after: tuple[str, ...], path: list[str], row: tuple[str, ...]) -> bool:
        marks = [word for word in own if word in v.REFERENCE or word in v.OURS]
        if marks:
            return marks[-1] in v.REFERENCE
        if any(word in v.REFERENCE for word in after) and not any(word in v.OURS for word in after):
            return True
        outer = [word for key in path[:-1] for word in v.tokens(key)] + list(row)
        return any(word in v.REFERENCE for word in outer) and not any(word in v.OURS for word in outer)

    def _head(self, match: re.Match[str]) -> str:
        if self.table is None:
            return ""
        heads = self.table.columns
        if self.table.kind != " " or not self.table.aligned:
            places = [i for i, (begin, end, _) in enumerate(self.columns) if begin <= match.start() < end]
            shift = max(0, len(self.columns) - len(heads))
            place = places[0] - shift if places else -1
            return heads[place][2] if 0 <= place < len(heads) else ""
        begin, end = match.start(), match.end()
        best = [text for left, right, text in heads if (left < end and begin < right) or abs(right - end) <= 1]
        return best[0] if best else ""

    def _row_words(self) -> tuple[str, ...]:
        rest = self.line
        for match in reversed(self.found):
            rest = f"{rest[: match.start()]} {rest[match.end() :]}"
        return v.tokens(rest)


def _content(words: tuple[str, ...]) -> bool:
    """Tell whether words name a quantity at all."""
    return any(not v.is_generic(word) and word not in v.SPLITS for word in words)


def _last_clause(text: str) -> str:
    """Return the part of a label after its last clause border; a border at the very end does not count."""
    text = text.rstrip()
    stripped = re.sub(r"[\s(\[{:=,|]+$", "", text)
    tail = text[len(stripped) :]
    borders = list(
        re.finditer(
            r"[;\n\t,]|\s\|\s|\s[/–—-]\s|[()\[\]{}]|\bvs\.?\b|\bversus\b|\bagainst\b|\s{3,}|→|->|=>|\.\s", stripped
        )
    )
    return (stripped[borders[-1].end() :] if borders else stripped) + tail
