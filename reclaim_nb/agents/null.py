"""Agents that reproduce nothing. A grader that gives one of them a success is broken."""

from __future__ import annotations

from typing import Any

from reclaim_nb.attempts.session import Session
from reclaim_nb.errors import WrongOption
from reclaim_nb.papers.loading import LoadedCard
from reclaim_nb.papers.numbers import format_decimal


class _Null:
    def __init__(self, options: dict[str, Any], card: LoadedCard) -> None:
        if options:
            raise WrongOption(f"the agent {type(self).__name__.lower()} has no options, so not {', '.join(options)}")
        target = card.card.target
        self._metric = target.metric
        self._words = (target.metric, *target.words)
        self._value = format_decimal(target.value) if target.value is not None else "0"

    def _sources(self) -> list[str]:
        return []

    async def write(self, session: Session) -> None:
        """Run the few cells; after a resume, those that have not run."""
        done = sum(1 for cell in session.cells.values() if cell.author == "agent" and cell.cell_type == "code")
        for source in self._sources()[done:]:
            await session.run_cell(source)


class Nothing(_Null):
    """Writes one sentence and stops."""

    async def write(self, session: Session) -> None:
        if not any(cell.author == "agent" for cell in session.cells.values()):
            await session.write_markdown("The paper's claim looks plausible to me, so I consider it reproduced.")


class Constant(_Null):
    """Prints the paper's value and hands it in."""

    def _sources(self) -> list[str]:
        return [
            f"result = {self._value}",
            f"print({self._metric!r}, result)",
            'attempt.submit(result, note="the value printed above")',
        ]


class Copy(_Null):
    """Looks the paper's value up in what the authors shipped, or in the paper, and hands it in."""

    def _sources(self) -> list[str]:
        return [
            "def text_files(folder):\n"
            "    kinds = {'.json', '.csv', '.tsv', '.txt', '.log', '.md', '.ipynb', '.yaml'}\n"
            "    return [path for path in sorted(folder.rglob('*')) if path.suffix in kinds] if folder else []\n"
            "\n"
            "lines = [line for path in text_files(attempt.release) for line in path.read_text().splitlines()]\n"
            "lines += attempt.read_paper('all').splitlines()",
            # The same number may be printed with other digits, 1.0 for 1.00; a line that names the metric comes first.
            "import re\n"
            f"words = {sorted({word.lower() for word in self._words})!r}\n"
            "named = [line for line in lines if any(word in line.lower() for word in words)]\n"
            "found = []\n"
            "for line in named + lines:\n"
            "    for text in re.findall(r'[0-9]+(?:[.][0-9]+)?', line):\n"
            f"        if float(text) == {self._value}:\n"
            "            found.append(text)\n"
            "print(len(found), 'places hold the value')",
            f"if found:\n    print({self._metric!r}, found[0])\nelse:\n    print('neither release nor paper holds it')",
            "if found:\n    attempt.submit(found[0], note='found in the release or the paper')",
        ]
