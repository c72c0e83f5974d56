"""The grader's prompts and rubric: files under ``templates/prompts/grader``, each with its hash."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from reclaim_nb.attempts.prompts import fill
from reclaim_nb.data import data_folder


@dataclass(frozen=True)
class GraderPrompts:
    """The texts by the name of their file, without its ending."""

    texts: Mapping[str, str]

    @classmethod
    def load(cls) -> GraderPrompts:
        """Read the files that ship with the package."""
        folder = data_folder("templates") / "prompts" / "grader"
        names = sorted(path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.md"))
        return cls({name: (folder / f"{name}.md").read_text("utf-8") for name in names})

    @property
    def sha256(self) -> dict[str, str]:
        """Hash of each file's bytes."""
        return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in self.texts.items()}

    def filled(self, name: str, **values: str) -> str:
        """Return a text with values in place; what is put in is not looked at again."""
        return fill(self.texts[name], values).strip()
