"""GPUs of this machine, handed out to one attempt at a time.

Who has one holds a lock on a file of its id in a folder that all attempts of the machine share. The system frees the
lock when that process ends, however it ends, so nothing is ever leaked; nobody has to be alive to hand the GPU back.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reclaim_nb.attempts.prepare import Request
from reclaim_nb.errors import AttemptError, KernelError, RecordError
from reclaim_nb.papers.suite import find_paper
from reclaim_nb.record.folder import AttemptFolder, safe_name, take_lock
from reclaim_nb.record.reader import first_event

LOCKS = "RECLAIM_GPU_LOCKS"
"""Environment variable that names another folder for the lock files."""
_FOLDER = Path("/tmp/reclaim-gpus")
WAIT_SECONDS = 0.5

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an attempt takes of this machine: so many GPUs, whichever they are, or exactly those of some ids."""

    number: int
    ids: tuple[str, ...] = ()


def wanted(asked: str, device: str) -> Wanted:
    """Return what is asked for by a request's ``gpus``; a card whose device is gpu takes one without being asked."""
    ids = tuple(filter(None, (part.strip() for part in asked.split(","))))
    if len(ids) == 1 and ids[0].startswith("count="):
        return Wanted(int(ids[0].removeprefix("count=")))
    return Wanted(len(ids), ids) if ids else Wanted(1 if device == "gpu" else 0)


def machine_gpus() -> tuple[str, ...]:
    """Return the ids of all GPUs here; none where no driver can be asked."""
    from reclaim_nb.kernels.gpu import find_gpus

    try:
        return tuple(gpu.uuid for gpu in find_gpus())
    except KernelError:
        return ()


def same_ids(ids: Sequence[str]) -> tuple[str, ...]:
    """Return ids as UUIDs where the driver knows them by index, so that one GPU is never locked under two names."""
    from reclaim_nb.kernels.gpu import find_gpus

    try:
        known = {str(gpu.index): gpu.uuid for gpu in find_gpus()}
    except KernelError:
        return tuple(ids)
    return tuple(known.get(one, one) for one in ids)


class Held:
    """Some GPUs of this machine, held until released or until this process ends."""

    def __init__(self, ids: tuple[str, ...], handles: list[int]) -> None:
        self.ids = ids
        self._handles = handles

    def release(self) -> None:
        """Let them go."""
        while self._handles:
            os.close(self._handles.pop())


def take(ids: Sequence[str], number: int) -> Held | None:
    """Take so many of some GPUs, all or none.

    Args:
        ids: those to choose from, the first that are free.
        number: how many.

    Returns:
        what is now held; None when too few are free.
    """
    taken: list[str] = []
    handles: list[int] = []
    for one in ids:
        if len(taken) == number:
            break
        handle = _locked(one)
        if handle is not None:
            taken.append(one)
            handles.append(handle)
    held = Held(tuple(taken), handles)
    if len(taken) == number:
        return held
    held.release()
    return None


def free(ids: Sequence[str]) -> tuple[str, ...]:
    """Return those of some GPUs that nobody holds now."""
    return tuple(one for one in ids if not _is_held(one))


@contextlib.contextmanager
def given(request: Request, pool: Sequence[str] | None = None, *, waits: bool = True) -> Iterator[Request]:
    """Hold the GPUs that an attempt takes, and yield its request with their ids.

    Args:
        request: what is asked for; a card whose device is gpu takes one without being asked.
        pool, waits: see :func:`holding`.

    Raises:
        CardError: when the paper is not found or its card is broken.
        AttemptError: when they are not free and nobody waits.
    """
    device = find_paper(request.paper).card.device
    with holding(wanted(request.gpus, device), pool, waits=waits) as ids:
        yield dataclasses.replace(request, gpus=",".join(ids)) if ids else request


@contextlib.contextmanager
def holding(
    want: Wanted,
    pool: Sequence[str] | None = None,
    *,
    waits: bool = True,
    look: Callable[[], None] = lambda: None,
) -> Iterator[tuple[str, ...]]:
    """Hold what an attempt takes while it runs.

    Args:
        want: what it takes.
        pool: ids to choose from; default: all GPUs of the machine.
        waits: until they are free.
        look: called again and again meanwhile; what it raises ends the wait.

    Yields:
        the ids; none where none are wanted, or where the machine does not know enough of them, which whoever begins
        the attempt then says.

    Raises:
        AttemptError: when one is named twice, or when they are not free and nobody waits.
    """
    ids = same_ids(want.ids) if want.ids else tuple(pool if pool is not None else machine_gpus() if want.number else ())
    if len(set(ids)) < len(ids):
        raise AttemptError(f"a GPU is named twice in {', '.join(want.ids or ids)}; name each once")
    if not want.number or len(ids) < want.number:
        yield ()
        return
    if (held := take(ids, want.number)) is None:
        which = f"GPUs {', '.join(want.ids)} are" if want.ids else f"{want.number} of {len(ids)} GPUs are"
        busy = f"{which} wanted, and other attempts on this machine hold them"
        if not waits:
            raise AttemptError(f"{busy}; begin it when one of those has ended, or put it into a batch, which waits")
        logger.warning("waiting: %s", busy)
    while held is None:
        look()
        time.sleep(WAIT_SECONDS)
        held = take(ids, want.number)
    try:
        yield held.ids
    finally:
        held.release()


def gpus_of(folder: AttemptFolder) -> tuple[str, ...]:
    """Return the GPUs that an attempt was begun with."""
    try:
        return tuple(first_event(folder.stream).data["spec"]["kernel"].get("gpus") or ())
    except (RecordError, KeyError, TypeError, AttributeError):
        return ()


def _locked(identity: str) -> int | None:
    """Return a handle that holds the lock of a GPU, None when another process has it."""
    handle = _open(_folder() / f"{safe_name(identity)}.lock")
    try:
        take_lock(handle)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle


def _is_held(identity: str) -> bool:
    handle = _open(_folder() / f"{safe_name(identity)}.lock")
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)  # as one who only looks
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _open(path: Path) -> int:
    """Open a lock file, which another user may have made: reading is enough to lock it."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    while True:
        with contextlib.suppress(FileNotFoundError):
            return os.open(path, flags)
        with contextlib.suppress(FileExistsError):
            handle = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o644)
            os.fchmod(handle, 0o644)  # whatever this user's mask says
            return handle


def _folder() -> Path:
    folder = Path(os.environ.get(LOCKS) or _FOLDER)
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(PermissionError):
            folder.chmod(0o1777)  # for every user's attempts
    return folder
