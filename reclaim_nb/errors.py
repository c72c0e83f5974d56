"""The few error classes of the package. Each message says what happened, where, and what to do."""

from __future__ import annotations

import errno
import os

_CANNOT_WRITE = {errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class ReclaimError(Exception):
    """Base of every error a user can act on; its text is shown without a traceback."""


class CardError(ReclaimError):
    """A paper card, criterion or suite is not valid."""


class FetchError(ReclaimError):
    """Something of a release cannot be fetched, or what came is not what the card says."""


class RecordError(ReclaimError):
    """A stream, notebook or attempt folder is damaged or does not agree with itself."""


class UnsoundRecord(RecordError):
    """A record is not what was recorded: its chain does not hold, or its texts or its notebook were changed."""


class KernelError(ReclaimError):
    """A kernel or its container could not be started, reached or controlled."""


class AttemptError(ReclaimError):
    """An attempt cannot be started, resumed or graded as asked."""


class WrongOption(AttemptError):
    """An option is not one that the agent or model has, or its value is none it can take."""


class Stopped(AttemptError):
    """What was asked for was stopped before it was done, by a person or a signal."""


class AttemptExists(AttemptError):
    """The attempt that is to be begun was begun before, by whomever."""


def os_error_text(problem: OSError) -> str:
    """Return in words what the machine refused, and where."""
    why = problem.strerror or str(problem) or type(problem).__name__
    why = why[:1].lower() + why[1:]
    if problem.errno in _CANNOT_WRITE:
        why = f"cannot be written: {why}"
    place = problem.filename
    return f"{os.fsdecode(place)}: {why}" if isinstance(place, str | bytes | os.PathLike) else why
