"""Why a solver that works on w itself cannot take a problem, and which one can."""

from __future__ import annotations

from .features import ClassDesign, Design
from .problem import Problem


def refuse_shape(problem: Problem, name: str) -> str | None:
    """A sentence about classes, kernels, penalties or layers that the solver of this name does not know; else None."""
    features = problem.features
    if reason := refuse_list(problem, name):
        return reason
    if isinstance(features, ClassDesign):
        plain = getattr(problem.loss, "plain", problem.loss.name == "softmax")
        able = "bundle" if not plain else "class_newton" if problem.loss.name == "softmax" else "class_coordinate"
        return f"{name} takes one score a sample, and this problem has {features.n_classes}; use {able!r}."
    if not isinstance(features, Design):
        return f"{name} works on linear machines, and these features have a kernel; use 'smo'."
    if features.penalty != "l2":
        return refuse_penalty(problem, name)
    if problem.y.ndim > 1:
        return f"{name} does not take a problem in layers; use 'smo'."
    return None


def refuse_list(problem: Problem, name: str) -> str | None:
    """Losses of whole lists of scores are for cutting planes."""
    if getattr(problem.terms, "joint", False):
        return f"{name} takes losses that split over samples, and {problem.loss.name!r} does not; use 'bundle'."
    return None


def refuse_penalty(problem: Problem, name: str) -> str:
    """|w|_1 is for smooth losses, and for the one solver that knows it."""
    row = problem.row
    smooth = row is None or not ((row.d <= 0) & (row.hi > row.lo)).any()
    remedy = "use 'proximal_newton'" if smooth else f"|w|_1 needs a smooth loss, and {problem.loss.name!r} has a kink"
    return f"{name} needs the penalty |w|^2 / 2, and these features have |w|_1; {remedy}."
