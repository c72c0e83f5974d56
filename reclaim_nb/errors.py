"""The few error classes of the package. Each message says what happened, where, and what to do."""

from __future__ import annotations


class ReclaimError(Exception):
    """Base of every error a user can act on; its text is shown without a traceback."""


class CardError(ReclaimError):
    """A paper card, criterion or suite is not valid."""


class FetchError(ReclaimError):
    """Something of a release cannot be fetched, or what came is not what the card says."""


class RecordError(ReclaimError):
    """A stream, notebook or attempt folder is damaged or does not agree with itself."""


class KernelError(ReclaimError):
    """A kernel or its container could not be started, reached or controlled."""


class AttemptError(ReclaimError):
    """An attempt cannot be started, resumed or graded as asked."""


class Stopped(AttemptError):
    """What was asked for was stopped before it was done, by a person or a signal."""


class AttemptExists(AttemptError):
    """The attempt that is to be begun was begun before, by whomever."""
