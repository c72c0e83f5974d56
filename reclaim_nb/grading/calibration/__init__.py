"""Calibration: labelled attempts, made by running real cells in a real kernel, and how graders agree with them."""

from reclaim_nb.grading.calibration.labels import Label, Labelled, read_labelled
from reclaim_nb.grading.calibration.measures import Measures, measure

__all__ = ["Label", "Labelled", "Measures", "measure", "read_labelled"]
