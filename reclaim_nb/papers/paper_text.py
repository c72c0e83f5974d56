"""The paper's text, cut into sections, for the ``read_paper`` tool."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from reclaim_nb.errors import CardError

_HEADING = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t]*#*$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_WORD = re.compile(r"[^\W_]+(?:[.'-][^\W_]+)*")
_PASSAGES = 6


@dataclass(frozen=True)
class Section:
    """A heading with the text up to the next heading of any level."""

    level: int
    title: str
    body: str

    @property
    def markdown(self) -> str:
        """The section as it stands in the file."""
        return f"{'#' * self.level} {self.title}\n\n{self.body}".rstrip() if self.level else self.body


@dataclass(frozen=True)
class PaperText:
    """A paper's text as sections, in order."""

    sections: tuple[Section, ...]

    @classmethod
    def load(cls, path: Path) -> PaperText:
        """Read a Markdown file.

        Raises:
            CardError: the file cannot be read as UTF-8 text.
        """
        try:
            return cls.parse(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise CardError(f"{path}: the paper's text cannot be read: {error}") from error

    @classmethod
    def parse(cls, text: str) -> PaperText:
        """Cut Markdown at its headings; headings inside fenced code are text."""
        found: list[Section] = []
        level, title, body, fence = 0, "", [], ""
        for line in text.splitlines():
            mark = _FENCE.match(line)
            if mark and not fence:
                fence = mark[1]
            elif mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence):
                fence = ""
            heading = None if fence else _HEADING.match(line)
            if heading is None:
                body.append(line)
                continue
            found.append(Section(level, title, "\n".join(body).strip("\n")))
            level, title, body = len(heading[1]), heading[2], []
        found.append(Section(level, title, "\n".join(body).strip("\n")))
        return cls(tuple(s for s in found if s.level or s.body.strip()))

    def contents(self) -> str:
        """List the headings, indented by level."""
        top = min((s.level for s in self.sections if s.level), default=1)
        return "\n".join(f"{'  ' * (s.level - top)}- {s.title}" for s in self.sections if s.level)

    def read(self, query: str = "") -> str:
        """Answer a request for text.

        Args:
            query: nothing for the contents, ``all`` for the whole text, a heading for that section with everything
                below it, or words to search for.

        Returns:
            Markdown; a search that finds nothing says so and lists the headings.
        """
        wanted = " ".join(query.split())
        if not wanted:
            return f"Sections of the paper:\n\n{self.contents()}"
        if wanted.casefold() == "all":
            return "\n\n".join(s.markdown for s in self.sections)
        titled = wanted.lstrip("#").strip().casefold()
        for index, section in enumerate(self.sections):
            if section.level and " ".join(section.title.split()).casefold() == titled:
                return "\n\n".join(s.markdown for s in self._with_children(index))
        return self._search(wanted)

    def _with_children(self, index: int) -> list[Section]:
        head = self.sections[index]
        below = [head]
        for section in self.sections[index + 1 :]:
            if section.level <= head.level:
                break
            below.append(section)
        return below

    def _search(self, query: str) -> str:
        words = {w.casefold() for w in _WORD.findall(query)}
        scored: list[tuple[int, int, str]] = []
        for section in self.sections:
            in_title = _hits(words, section.title)
            for paragraph in _paragraphs(section.body):
                score = 2 * _hits(words, paragraph) + in_title
                if score:
                    where = f"*{section.title or 'before the first heading'}*"
                    scored.append((-score, len(scored), f"{where}\n\n{paragraph}"))
        if not scored:
            return f"Nothing in the paper matches {query!r}. Sections:\n\n{self.contents()}"
        best = [passage for _, _, passage in sorted(scored)[:_PASSAGES]]
        left = len(scored) - len(best)
        tail = f"\n\n({left} more passages match; ask with more words, or by section)" if left else ""
        return "\n\n".join(best) + tail


def sections(path: Path) -> tuple[Section, ...]:
    """Return the sections of a paper's text file."""
    return PaperText.load(path).sections


def read(path: Path, query: str = "") -> str:
    """Read from a paper's text file by section title or by words; see `PaperText.read`."""
    return PaperText.load(path).read(query)


def _hits(words: set[str], text: str) -> int:
    return len(words & {w.casefold() for w in _WORD.findall(text)})


def _paragraphs(body: str) -> list[str]:
    return [p.strip("\n") for p in re.split(r"\n[ \t]*\n", body) if p.strip()]
