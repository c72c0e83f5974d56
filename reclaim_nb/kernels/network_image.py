"""The image of the proxy beside a kernel: its name, and building it."""

from __future__ import annotations

import os
from collections.abc import Callable

from reclaim_nb import __version__
from reclaim_nb.kernels.images import ImageInfo, Recipe, build_folder, build_recipe, recipe_image

DEFAULT_PROXY_IMAGE = f"reclaim-proxy:{__version__}"
"""Name of the proxy image that belongs to this version; ``RECLAIM_PROXY_IMAGE`` names another one."""

_FILES = ("Dockerfile", "watch.sh")


def proxy_image(tag: str | None = None) -> str:
    """Return the image to use: ``tag``, else ``$RECLAIM_PROXY_IMAGE``, else the one of this version."""
    return tag or os.environ.get("RECLAIM_PROXY_IMAGE") or DEFAULT_PROXY_IMAGE


def build_proxy_image(
    tag: str | None = None,
    base_image: str | None = None,
    network: str | None = None,
    progress: Callable[[str], None] | None = None,
    *,
    force: bool = False,
) -> ImageInfo:
    """Build the proxy image, unless the engine already has it from the same files and base.

    Args, returned value and errors are those of :func:`~reclaim_nb.kernels.images.build_image`.
    """
    return build_recipe(_recipe(), proxy_image(tag), base_image, network, progress, force=force)


def require_proxy_image() -> ImageInfo:
    """Return the proxy image, built first where the engine does not have it.

    Raises:
        KernelError: no engine answers, or the build failed.
    """
    return recipe_image(_recipe(), proxy_image()) or build_proxy_image()


def _recipe() -> Recipe:
    return Recipe(build_folder() / "proxy", _FILES)
