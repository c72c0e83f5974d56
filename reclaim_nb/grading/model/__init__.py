"""The model grader: a separate model says what the numbers are; code checks every citation and does the arithmetic."""

from reclaim_nb.grading.model.grader import ModelGrader, grade_with_model, regrade

__all__ = ["ModelGrader", "grade_with_model", "regrade"]
