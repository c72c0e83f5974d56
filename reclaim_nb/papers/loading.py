"""Reading card files: YAML with the paper's digits kept, and one readable error for a broken card."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from reclaim_nb.errors import CardError
from reclaim_nb.near import near
from reclaim_nb.papers.card import PaperCard
from reclaim_nb.papers.frozen import CANARY, Frozen, departures, is_frozen, place_in_suite, refusal
from reclaim_nb.papers.frozen import CARD_FILE as CARD_FILE
from reclaim_nb.papers.frozen import MANIFEST as MANIFEST

M = TypeVar("M", bound=BaseModel)

_BASE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _OnceLoader(_BASE):  # type: ignore[misc]  # the C loader is chosen at run time
    """YAML reader that refuses a key given twice."""


class _CardLoader(_OnceLoader):
    """YAML reader that also keeps printed digits."""


def _number(loader: Any, node: Any) -> Any:
    text = loader.construct_scalar(node).replace("_", "")
    try:
        return Decimal(text)
    except ArithmeticError as error:
        raise yaml.constructor.ConstructorError(None, None, f"'{text}' is not a number", node.start_mark) from error


def _mapping(loader: Any, node: Any) -> dict[Hashable, Any]:
    result: dict[Hashable, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} is not text", key_node.start_mark)
        if key in result:
            raise yaml.constructor.ConstructorError(None, None, f"the key '{key}' stands twice", key_node.start_mark)
        result[key] = loader.construct_object(value_node, deep=True)
    return result


_OnceLoader.add_constructor("tag:yaml.org,2002:map", _mapping)
_CardLoader.add_constructor("tag:yaml.org,2002:map", _mapping)
_CardLoader.add_constructor("tag:yaml.org,2002:float", _number)
# Dates stay text: a card's date is printed, not computed with.
_CardLoader.add_constructor("tag:yaml.org,2002:timestamp", lambda loader, node: loader.construct_scalar(node))


def read_yaml(path: Path, content: bytes | None = None, *, digits: bool = True) -> Any:
    """Read one YAML file.

    Args:
        path: the file.
        content: its bytes, where they were read already.
        digits: keep the digits of numbers with a point, as `Decimal`.

    Raises:
        CardError: the file cannot be read, or is not YAML; with line and column.
    """
    try:
        data = path.read_bytes() if content is None else content
        return yaml.load(data.decode("utf-8"), Loader=_CardLoader if digits else _OnceLoader)  # both are safe loaders
    except FileNotFoundError as error:
        raise CardError(f"{path}: there is no such file") from error
    except OSError as error:
        raise CardError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise CardError(f"{path}: expected UTF-8, found byte 0x{data[error.start]:02x} at {error.start}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"{path}:{mark.line + 1}" if mark else str(path)
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        column = f" (column {mark.column + 1})" if mark else ""
        raise CardError(f"{line}: not valid YAML: {problem}{column}") from error


@dataclass(frozen=True)
class LoadedCard:
    """A card together with the file it was read from."""

    card: PaperCard
    path: Path
    """The card file."""
    sha256: str
    """Hash of the card file's bytes."""
    listed_sha256: str | None = None
    """Hash in the suite's manifest; None where the card is not listed."""
    frozen: Frozen | None = None
    """The freeze that the card belongs to; None where its suite is not frozen."""

    @property
    def folder(self) -> Path:
        """The folder that holds the card's paper text, release and solution."""
        return self.path.parent

    @property
    def suite_name(self) -> str:
        """Name of the suite folder."""
        return self.folder.parent.name if self.path.name == CARD_FILE else self.folder.name

    @property
    def name(self) -> str:
        """``suite/slug``, the name commands take."""
        return f"{self.suite_name}/{self.card.id}"

    @property
    def changed(self) -> bool:
        """Whether the file differs from what the suite's manifest lists."""
        return self.listed_sha256 is not None and self.listed_sha256 != self.sha256

    @property
    def paper_text(self) -> Path | None:
        """The paper's text, if the card has one."""
        return self._beside("paper.md")

    @property
    def release_folder(self) -> Path | None:
        """The folder with what stands for the authors' release, if the card has one."""
        return self._beside("release")

    @property
    def solution(self) -> Path | None:
        """The reference attempt, if the card has one. Never shown to an agent."""
        return self._beside("solution.ipynb")

    def _beside(self, name: str) -> Path | None:
        path = self.folder / name
        return path if self.path.name == CARD_FILE and path.exists() else None


def load_card(path: Path, *, listed_sha256: str | None = None) -> LoadedCard:
    """Read and validate one card.

    Args:
        path: ``paper.yaml``, a card file of a flat suite, or a paper folder.
        listed_sha256: the hash the suite's manifest has for this card, if any.

    Raises:
        CardError: one message with file, field, what was expected and what was found; or the card belongs to a frozen
            suite and is not the one that was frozen.
    """
    file = path / CARD_FILE if path.is_dir() else path
    manifest, _ = place_in_suite(file.resolve())
    return read_card(file, listed_sha256, frozen_suite(manifest.parent))


def read_card(file: Path, listed_sha256: str | None, frozen: Frozen | None) -> LoadedCard:
    """Read one card of a suite whose freeze was checked already; see :func:`load_card`."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise CardError(f"{file}: cannot be read: {error.strerror or error}") from error
    sha256 = hashlib.sha256(content).hexdigest()
    if frozen is not None:  # before the content is looked at: a changed card may still be valid
        manifest, entry = place_in_suite(file.resolve())
        raw = _manifest(manifest, manifest.read_bytes())
        if (raw.get("cards") or {}).get(entry) != sha256:
            raise CardError(refusal(manifest.parent, raw, [f"{entry} is not a card of it as it was frozen"]))
    card = validate(PaperCard, read_yaml(file, content), file)
    if frozen is None and card.notes is not None and CANARY in card.notes:
        raise CardError(
            f"{file}: the card is one of a frozen suite (it holds a canary), and no manifest of a frozen suite lies "
            "beside it; take the whole folder of the suite as it was published"
        )
    return LoadedCard(card, file, sha256, listed_sha256, frozen)


def frozen_suite(folder: Path) -> Frozen | None:
    """Return the freeze of a suite, None where it is not frozen.

    Raises:
        CardError: the suite is frozen and is not as it was frozen.
    """
    path = folder / MANIFEST
    try:
        content = path.read_bytes()
    except OSError:
        return None
    raw = _manifest(path, content)
    if not is_frozen(raw):
        return None
    if found := departures(folder, content, raw):
        raise CardError(refusal(folder, raw, found))
    return validate(Frozen, raw["frozen"], path)


@lru_cache(maxsize=16)
def _manifest(path: Path, content: bytes) -> Any:
    return read_yaml(path, content)


def validate(model: type[M], raw: Any, file: Path) -> M:
    """Turn parsed data into a model, or say readably what is wrong with the file."""
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        raise CardError(f"{file}: {what_is_wrong(error, model)}") from None


def what_is_wrong(error: ValidationError, model: type[BaseModel]) -> str:
    """Return what is wrong with the data of a model in one line: the field, what was expected, what was found."""
    # A misspelt key causes both an "extra" and a "missing" error; the extra one names the cure.
    details = sorted(error.errors(), key=lambda d: d["type"] != "extra_forbidden")
    first = details[0]
    line = f"field '{_field(first)}': {_expectation(first, model)}"
    # What a part makes of its whole is no fault of its own.
    apart = [d for d in details[1:] if d["loc"] != first["loc"][: len(d["loc"])]]
    others = sorted({f"'{_field(d)}'" for d in apart} - {f"'{_field(first)}'"})
    if others:
        line += f" (also wrong: {', '.join(others[:5])}{' ...' if len(others) > 5 else ''})"
    return line


_RULES = {"within", "at_least", "at_most", "beats", "between"}
_KINDS = {"str", "float"}
"""What pydantic adds to the place of a value that may be of several kinds."""


def _field(detail: ErrorDetails) -> str:
    location = [part for part in detail["loc"] if part not in _RULES | _KINDS]
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return text.lstrip(".") or "(whole file)"


def _expectation(detail: ErrorDetails, model: type[BaseModel]) -> str:
    kind, found = detail["type"], _short(detail["input"])
    context = detail.get("ctx", {})
    if kind == "extra_forbidden":
        keys = _known_keys(model, detail["loc"][:-1])
        hint = near(str(detail["loc"][-1]), keys)
        return f"expected one of the keys {', '.join(keys)}{hint}, found an unknown key with value {found}"
    if kind == "missing":
        return "expected a value, found nothing"
    if kind == "value_error":
        said = str(context.get("error", detail["msg"]))
        return f"{said} (found {found})" if detail["loc"] else said
    if kind == "union_tag_invalid":
        return f"expected rule to be one of {context.get('expected_tags')}, found {context.get('tag')!r}"
    if kind == "union_tag_not_found":
        return f"expected a key 'rule' (within, at_least, at_most, beats or between), found {found}"
    if kind == "too_short":
        return f"expected at least {context['min_length']} of them, found {found}"
    expected = _WORDS.get(kind) or detail["msg"].removeprefix("Input should be ").removeprefix("a valid ")
    return f"expected {expected}, found {found}"


_WORDS = {"model_type": "keys with values", "dict_type": "keys with values", "tuple_type": "a list"}
"""Words of YAML for what pydantic calls by its Python name."""


def _known_keys(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    current: Any = model
    for part in location:
        if isinstance(part, int) or part in _RULES:
            continue
        field = getattr(current, "model_fields", {}).get(part)
        current = _model_in(field.annotation) if field else None
    return [f.alias or name for name, f in getattr(current, "model_fields", {}).items()]


def _model_in(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        found = _model_in(argument)
        if found is not None:
            return found
    return None


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return "a mapping with keys " + ", ".join(map(str, list(value)[:6])) if value else "an empty mapping"
    if isinstance(value, Decimal):
        return str(value)
    if value is None or value in ([], ()):
        return "nothing"
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
