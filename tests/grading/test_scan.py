"""Finding the lines of interest in a flood: the same as looking at every line, only quicker."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from reclaim_nb.grading.scan import FEW, Digest, Interest, Line

INTEREST = Interest(["accuracy", "loss"], ["0.917"])
words = st.sampled_from(["loss", "Accuracy", "step", "fold", "é", "it/s", "", "lr=", "\ud800"])
numbers = st.sampled_from(["1", "22", "0.917", "-3e5", "٣", ""])
line = st.tuples(words, numbers, words).map(" ".join)
block = st.tuples(st.lists(line, min_size=1, max_size=6), st.integers(1, 2 * FEW)).map(
    lambda drawn: drawn[0] * drawn[1]
)


def shape(text: str) -> str:
    return text.translate(str.maketrans("", "", "0123456789.+- "))


def looked_at_one_by_one(text: str) -> tuple[set[tuple[int, str]], list[tuple[int, str]]]:
    """Return (offset, line) of the lines of interest, and of the first of each shape."""
    lines, offset, starts = text.split("\n"), 0, []
    for one in lines:
        starts.append(offset)
        offset += len(one) + 1
    alike: dict[str, list[int]] = {}
    for place, one in enumerate(lines):
        alike.setdefault(shape(one), []).append(place)
    chosen = {place for place, one in enumerate(lines) if "0.917" in one}
    for places in alike.values():
        first = lines[places[0]]
        if any(word in first.lower() for word in INTEREST.words) and any(sign.isdigit() for sign in first):
            chosen |= set(places if len(places) <= FEW else places[-2:])
    firsts = sorted(places[0] for kind, places in alike.items() if kind)
    return {(starts[place], lines[place]) for place in chosen}, [(starts[place], lines[place]) for place in firsts]


@given(st.lists(block, max_size=12), st.integers(0, 5))
def test_what_is_found_is_what_a_look_at_every_line_finds(blocks: list[list[str]], offset: int) -> None:
    text = "\n".join(one for lines in blocks for one in lines)
    digest = Digest()
    found = INTEREST.scan(text, offset, digest)
    wanted, firsts = looked_at_one_by_one(text)
    assert {(one.offset - offset, one.text) for one in found} == wanted
    assert [one.offset for one in found] == sorted(one.offset for one in found)
    assert [(at - offset, first) for at, first in digest.lines] == firsts


def test_many_of_one_shape_are_said_to_be_many() -> None:
    few = INTEREST.scan("loss 1\n" * FEW, 0, Digest())
    many = INTEREST.scan("loss 1\n" * (FEW + 1), 0, Digest())
    assert few == [Line(7 * place, "loss 1", False) for place in range(FEW)]
    assert many == [Line(7 * place, "loss 1", True) for place in (FEW - 1, FEW)]


def test_a_flood_in_which_each_line_is_printed_twice_takes_time_by_its_length() -> None:
    def seconds(lines: int) -> float:
        text = "\n".join(f"loss {letters(place)} 0.5" for place in range(lines))
        text = f"{text}\n{text}"
        best = 60.0
        for _ in range(3):
            began = time.process_time()
            INTEREST.scan(text, 0, Digest())
            best = min(best, time.process_time() - began)
        return best

    assert seconds(20_000) < 15 * seconds(4_000)  # five times the length; squares would take 25 times as long


def letters(number: int) -> str:
    return "".join(chr(97 + int(digit)) for digit in str(number))
