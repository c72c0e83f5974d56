"""Whether the card that an attempt was made with is still a card of its frozen suite."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reclaim_nb.errors import CardError
from reclaim_nb.papers.frozen import CARD_FILE, place_in_suite
from reclaim_nb.papers.loading import MANIFEST, frozen_suite, read_yaml
from reclaim_nb.papers.suite import suite_roots


@dataclass(frozen=True)
class MadeWith:
    """What the record of an attempt says of its card.

    Attributes:
        suite, paper: the card's name.
        sha256: hash of the card's file.
        path: the card's file as it was then; None where the record does not say.
        version: of the suite's freeze; None: it was not frozen.
    """

    suite: str
    paper: str
    sha256: str
    path: str | None = None
    version: str | None = None

    @classmethod
    def of(cls, first: dict[str, Any]) -> MadeWith:
        """Return what the first event of a record says."""
        spec = first["spec"]
        frozen = spec.get("frozen") or {}
        suite, paper, sha256 = (str(spec.get(name)) for name in ("suite", "paper", "card_sha256"))
        return cls(suite, paper, sha256, first.get("card_path"), frozen.get("version"))


@dataclass
class FrozenSuites:
    """The frozen suites of this machine, each looked at once: a new object looks again."""

    _seen: dict[Path, tuple[str | None, dict[str, str] | None]] = field(default_factory=dict)

    def departed(self, made: MadeWith) -> str | None:
        """Say why an attempt's card is not that of its frozen suite.

        Looked at are the folder that the card was read from, and every suite of that name that is found here. Where
        none of them is left nothing can be said, and the record stands for itself.
        """
        thawed = None
        for folder in dict.fromkeys(_folders(made)):
            fault, cards = self._look(folder)
            if fault is not None:
                return fault
            if cards is None:
                thawed = thawed or folder
                continue
            listed = [cards[one] for one in (f"{made.paper}/{CARD_FILE}", f"{made.paper}.yaml") if one in cards]
            if made.sha256 not in listed:
                return (
                    f"it was made with a card of {made.suite}/{made.paper} with sha256 {made.sha256}, and the frozen "
                    f"suite {folder} lists {listed[0] if listed else 'no such card'}"
                )
        if made.version is not None and thawed is not None:
            return f"its suite was frozen (version {made.version}), and {thawed} is not"
        return None

    def _look(self, folder: Path) -> tuple[str | None, dict[str, str] | None]:
        if folder not in self._seen:
            try:
                frozen = frozen_suite(folder)
                cards = read_yaml(folder / MANIFEST)["cards"] if frozen is not None else None
                self._seen[folder] = (None, cards)
            except CardError as problem:
                self._seen[folder] = (str(problem), None)
        return self._seen[folder]


def _folders(made: MadeWith) -> Iterator[Path]:
    if made.path is not None and Path(made.path).is_file():
        yield place_in_suite(Path(made.path).resolve())[0].parent
    for root in suite_roots():
        if (root / made.suite / MANIFEST).is_file():
            yield (root / made.suite).resolve()
