"""Running the measurement again in a fresh kernel, and what follows from it."""

from reclaim_nb.grading.reexecute.record import Reexecution, read_reexecution
from reclaim_nb.grading.reexecute.run import grade_with_reexecution, reexecute

__all__ = ["Reexecution", "grade_with_reexecution", "read_reexecution", "reexecute"]
