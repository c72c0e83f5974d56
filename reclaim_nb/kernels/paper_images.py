"""The image of one paper: the kernel image with the packages of the card's environment as one more layer."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from reclaim_nb.errors import KernelError
from reclaim_nb.kernels.images import (
    ImageInfo,
    Recipe,
    build_folder,
    build_recipe,
    image_info,
    image_name,
    recipe_image,
)
from reclaim_nb.papers.card import Environment

NAME = "reclaim-paper"
_FILES = ("Dockerfile", "requirements.txt")

# A requirement as pip takes it from a file (PEP 508, without addresses and markers); nothing else may reach that file.
_REQUIREMENT = re.compile(
    r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9._,-]+\])?"
    r"(\s*(==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+(\s*,\s*(==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+)*)?$"
)


@dataclass(frozen=True)
class PaperImage:
    """What became of one paper's image.

    Attributes:
        info: the image; None where the paper needs nothing beyond the kernel image, or the build failed.
        built: it was built now, and not there already.
        left_out: entries of the card's packages that are no requirements.
        problem: why the build failed.
    """

    info: ImageInfo | None
    built: bool = False
    left_out: tuple[str, ...] = ()
    problem: str | None = None


def requirements_of(environment: Environment) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the packages of an environment as pip takes them, and the entries that are none."""
    stripped = [one.strip() for one in environment.packages]
    wanted = sorted({one for one in stripped if _REQUIREMENT.match(one)}, key=str.lower)
    return tuple(wanted), tuple(one for one in stripped if not _REQUIREMENT.match(one))


def find_paper_image(environment: Environment, base: ImageInfo) -> ImageInfo | None:
    """Return the image of an environment on a kernel image, None where it was not built or none is needed.

    Raises:
        KernelError: no engine answers.
    """
    wanted, _ = requirements_of(environment)
    if not wanted:
        return None
    with _recipe(wanted) as recipe:
        return recipe_image(recipe, _name(recipe, base))


def build_paper_image(
    environment: Environment,
    base: ImageInfo | None = None,
    network: str | None = None,
    progress: Callable[[str], None] | None = None,
    *,
    force: bool = False,
) -> PaperImage:
    """Build the image of an environment, unless the engine has it from the same files and kernel image.

    Args:
        environment: as on the card; its packages count.
        base: the kernel image; default: the one of this version, which must be there.
        network: network of the build steps, such as ``host``.
        progress: called with each line of the build's log.
        force: build it even if it is there, and without the engine's cache.

    Returns:
        The image, or why there is none; a build that fails is told of and not raised.

    Raises:
        KernelError: no engine answers, or the kernel image is not there.
    """
    base = base or image_info()
    if base is None:
        raise KernelError(f"the engine has no image '{image_name()}'; run `reclaim image build` first")
    wanted, left_out = requirements_of(environment)
    if not wanted:
        return PaperImage(None, left_out=left_out)
    with _recipe(wanted) as recipe:
        name = _name(recipe, base)
        before = None if force else recipe_image(recipe, name)
        if before is not None:
            return PaperImage(before, left_out=left_out)
        try:
            built = build_recipe(recipe, name, base.tag, network, progress, force=force)
        except KernelError as problem:
            return PaperImage(None, left_out=left_out, problem=str(problem))
    return PaperImage(built, True, left_out)


@contextmanager
def _recipe(wanted: tuple[str, ...]) -> Iterator[Recipe]:
    with tempfile.TemporaryDirectory(prefix="reclaim-image-") as made:
        folder = Path(made)
        shutil.copyfile(build_folder() / "paper" / "Dockerfile", folder / "Dockerfile")
        (folder / "requirements.txt").write_text("".join(f"{one}\n" for one in wanted), "utf-8")
        yield Recipe(folder, _FILES)


def _name(recipe: Recipe, base: ImageInfo) -> str:
    """Return a name that other packages, another Dockerfile or another kernel image do not share."""
    return f"{NAME}:{hashlib.sha256(f'{recipe.content} {base.id}'.encode()).hexdigest()[:16]}"
