"""The image that container kernels run in: is the engine there, is the image there, is it current, build it.

An image carries the hash of the files it was built from, so that an image which is up to date is not built again and
one that is not is called stale instead of being used unnoticed.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reclaim_nb import __version__
from reclaim_nb.data import data_folder
from reclaim_nb.errors import KernelError

if TYPE_CHECKING:
    import docker
    from docker.context import Context

DEFAULT_IMAGE = f"reclaim-kernel:{__version__}"
"""Name of the kernel image that belongs to this version; ``RECLAIM_IMAGE`` names another one."""

_CONTENT_LABEL = "org.reclaim.content"
_BASE_LABEL = "org.reclaim.base"
_VERSION_LABEL = "org.reclaim.version"
_BUILD_FILES = ("Dockerfile", "requirements.txt", "constraints.txt")
_BUILD_SECONDS = 3600
_LOG_LINES_IN_ERROR = 20
# The engine wraps what a build step writes to its standard error in colour codes.
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class ImageInfo:
    """One image as the engine has it."""

    tag: str
    id: str
    """What the engine calls it, ``sha256:<64 hex>``: the same id is the same image, whatever its tag."""
    created: str
    size_bytes: int
    version: str | None
    """Version of reclaim-nb that built it; None for an image from elsewhere."""
    base: str | None
    """Base image asked for when it was built; None: the Dockerfile's own."""
    content: str | None
    """sha256 of the files it was built from; None for an image from elsewhere."""
    stale: bool
    """It was built by ``reclaim image build``, but from other files than this version has."""


def image_name(tag: str | None = None) -> str:
    """Return the image to use: ``tag``, else ``$RECLAIM_IMAGE``, else the one of this version."""
    return tag or os.environ.get("RECLAIM_IMAGE") or DEFAULT_IMAGE


def build_folder() -> Path:
    """Return the folder with the Dockerfile and the requirements, which is the context of a build."""
    return data_folder("templates") / "containers"


def build_content(folder: Path | None = None, files: tuple[str, ...] = _BUILD_FILES) -> str:
    """Return the sha256 (64 hex) over names and bytes of the files that make an image.

    Args:
        folder: where they are; default: the ones that ship with the package.
        files: their names; default: those of the kernel image.

    Raises:
        KernelError: one of them is missing.
    """
    digest = hashlib.sha256()
    for name in files:
        path = (folder or build_folder()) / name
        try:
            data = path.read_bytes()
        except OSError as error:
            raise KernelError(f"cannot read '{path}' of the kernel image: {error}; reinstall reclaim-nb") from error
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def engine(timeout: float = 60) -> docker.DockerClient:
    """Return a client of the container engine, after the engine has answered it. Close it after use.

    The engine is the one ``DOCKER_HOST`` names, else the one of the Docker CLI's current context.

    Args:
        timeout: seconds to wait for each answer.

    Raises:
        KernelError: no engine answers; the message says why and what to do.
    """
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    try:
        client = _client(timeout)
    except (DockerException, RequestException, OSError) as error:
        raise KernelError(_no_engine(error)) from error
    try:
        client.ping()
    except (DockerException, RequestException, OSError) as error:
        client.close()
        raise KernelError(_no_engine(error)) from error
    return client


def engine_problem(timeout: float = 10) -> str | None:
    """Return why no container engine can be used and what to do about it, or None when one answers."""
    try:
        engine(timeout).close()
    except KernelError as error:
        return str(error)
    return None


def image_info(tag: str | None = None) -> ImageInfo | None:
    """Return what the engine knows of an image, or None when it does not have it.

    Args:
        tag: name of the image; default: see :func:`image_name`.

    Raises:
        KernelError: no engine answers.
    """
    with _engine_call("look up the image") as client:
        return _lookup(client, image_name(tag))


def recipe_image(recipe: Recipe, name: str) -> ImageInfo | None:
    """Return what the engine knows of an image of a recipe, or None when it does not have it.

    Raises:
        KernelError: no engine answers.
    """
    with _engine_call("look up the image") as client:
        return _lookup(client, name, recipe.content)


def require_image(tag: str | None = None) -> ImageInfo:
    """Return what the engine knows of an image that must be there.

    Args:
        tag: name of the image; default: see :func:`image_name`.

    Raises:
        KernelError: no engine answers, or it does not have the image.
    """
    info = image_info(tag)
    if info is None:
        name = image_name(tag)
        how = "reclaim image build" if name == image_name() else f"reclaim image build --tag {name}"
        raise KernelError(f"the engine has no image '{name}'; run `{how}`, or use --kernel local")
    return info


def build_image(
    tag: str | None = None,
    base_image: str | None = None,
    network: str | None = None,
    progress: Callable[[str], None] | None = None,
    *,
    force: bool = False,
) -> ImageInfo:
    """Build the kernel image, unless the engine already has it from the same files and base.

    Args:
        tag: its name; default: see :func:`image_name`.
        base_image: image to build on; default: ``$RECLAIM_BASE_IMAGE``, else the one that the present image was built
            on, else the Dockerfile's own.
        network: network of the build steps, such as ``host``; default: ``$RECLAIM_BUILD_NETWORK``, else the engine's.
        progress: called with each line of the build's log.
        force: build even an image that is up to date, and without the engine's cache.

    Returns:
        The image as the engine now has it.

    Raises:
        KernelError: no engine answers, or the build failed; the message ends with the last lines of its log.
    """
    recipe = Recipe(build_folder(), _BUILD_FILES)
    return build_recipe(recipe, image_name(tag), base_image, network, progress, force=force)


@dataclass(frozen=True)
class Recipe:
    """What an image is made of: a folder with a Dockerfile, and the files in it that count."""

    folder: Path
    files: tuple[str, ...]

    @property
    def content(self) -> str:
        """sha256 of its files."""
        return build_content(self.folder, self.files)


def build_recipe(
    recipe: Recipe,
    name: str,
    base_image: str | None = None,
    network: str | None = None,
    progress: Callable[[str], None] | None = None,
    *,
    force: bool = False,
) -> ImageInfo:
    """Build an image from a recipe, unless the engine already has it from the same files and base.

    Args, returned value and errors are those of :func:`build_image`, which builds the kernel image so.
    """
    content = recipe.content
    with _engine_call(f"build the image '{name}'", timeout=_BUILD_SECONDS) as client:
        present = _lookup(client, name, content)
        base = base_image or os.environ.get("RECLAIM_BASE_IMAGE") or (present.base if present else None)
        if not force and present is not None and (present.content, present.base) == (content, base):
            return present
        labels = {_CONTENT_LABEL: content, _VERSION_LABEL: __version__} | ({_BASE_LABEL: base} if base else {})
        messages = client.api.build(
            path=str(recipe.folder),
            tag=name,
            buildargs={"BASE_IMAGE": base} if base else {},
            network_mode=network or os.environ.get("RECLAIM_BUILD_NETWORK") or None,
            labels=labels,
            nocache=force,
            rm=True,
            forcerm=True,
            decode=True,
        )
        _follow(messages, name, progress)
        built = _lookup(client, name, content)
    if built is None:
        raise KernelError(f"the engine said it built '{name}' but does not have it; run `reclaim image build` again")
    return built


def _client(timeout: float) -> docker.DockerClient:
    import docker

    if context := _context():
        return docker.DockerClient(base_url=context.Host, tls=context.TLSConfig or False, timeout=timeout)  # type: ignore[arg-type]
    return docker.from_env(timeout=timeout)  # type: ignore[arg-type]


def _context() -> Context | None:
    """Return the Docker CLI's current context where it decides: only it knows of rootless Docker and Docker Desktop."""
    from docker.context import ContextAPI

    if os.environ.get("DOCKER_HOST"):
        return None
    context = ContextAPI.get_current_context()
    return context if context is not None and context.name != "default" else None


def _no_engine(error: Exception) -> str:
    context = _context()
    where = os.environ.get("DOCKER_HOST") or (context.Host if context else "its usual socket")
    if "PermissionError" in repr(error) or "Permission denied" in str(error):
        return (
            f"this user may not talk to the container engine at {where} ({error}); "
            "join the group that owns the socket (docker), or use --kernel local"
        )
    return f"no container engine answers at {where} ({error}); start Docker, or use --kernel local"


@contextmanager
def _engine_call(doing: str, timeout: float = 60) -> Iterator[docker.DockerClient]:
    """Give a client, close it, and turn what the engine or the connection answers into our error."""
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    client = engine(min(timeout, 60))
    client.api.timeout = timeout  # type: ignore[assignment]
    try:
        yield client
    except (DockerException, RequestException) as error:
        raise KernelError(f"the container engine could not {doing}: {error}") from error
    finally:
        client.close()


def _lookup(client: docker.DockerClient, name: str, expected: str | None = None) -> ImageInfo | None:
    from docker.errors import ImageNotFound

    try:
        facts: dict[str, Any] = client.images.get(name).attrs
    except ImageNotFound:
        return None
    labels: dict[str, str] = (facts.get("Config") or {}).get("Labels") or {}
    content = labels.get(_CONTENT_LABEL)
    return ImageInfo(
        tag=name,
        id=facts["Id"],
        created=facts.get("Created") or "",
        size_bytes=int(facts.get("Size") or 0),
        version=labels.get(_VERSION_LABEL),
        base=labels.get(_BASE_LABEL),
        content=content,
        stale=content is not None and content != (expected or build_content()),
    )


def _follow(messages: Iterator[dict[str, Any]], name: str, progress: Callable[[str], None] | None) -> None:
    """Hand the lines of a build's log to ``progress``; raise if it failed."""
    last: deque[str] = deque(maxlen=_LOG_LINES_IN_ERROR)
    for message in messages:
        for line in _lines(message):
            last.append(line)
            if progress is not None:
                progress(line)
        if "error" in message:
            log = "\n  ".join(last)
            raise KernelError(f"building the image '{name}' failed: {message['error'].strip()}\n  {log}")


def _lines(message: dict[str, Any]) -> list[str]:
    """Return the lines of one message of the engine's build stream.

    Format: https://docs.docker.com/reference/api/engine/ (ImageBuild). A pull's progress bars, which come many times a
    second with an id and a ``progressDetail``, are left out.
    """
    if "stream" in message:
        text = _COLOUR.sub("", str(message["stream"]))
        return [line.rstrip() for line in text.splitlines() if line.strip()]
    if "status" in message and not message.get("progressDetail"):
        return [" ".join(str(message[key]) for key in ("id", "status") if message.get(key))]
    return []
