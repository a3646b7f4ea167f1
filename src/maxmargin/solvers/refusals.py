"""Why a solver that works on w itself cannot take a problem, and which one can."""

from __future__ import annotations

from ..model.features import ClassDesign, Design
from ..model.problem import Problem


def refuse_shape(problem: Problem, name: str) -> str | None:
    """A sentence about classes, kernels, penalties or layers that the solver of this name does not know; else None."""
    features = problem.features
    if reason := refuse_list(problem, name):
        return reason
    if isinstance(features, ClassDesign):
        return refuse_classes(problem, name)
    if not isinstance(features, Design):
        return refuse_kernel(problem, f"{name} works")
    if features.penalty != "l2":
        return refuse_penalty(problem, name)
    if problem.y.ndim > 1:
        return f"{name} does not take a problem in layers; use 'smo'."
    return None


def refuse_classes(problem: Problem, name: str) -> str:
    """Several scores a sample are for others, and for whom depends on the loss."""
    plain = getattr(problem.loss, "plain", problem.loss.name == "softmax")
    able = "bundle" if not plain else "class_newton" if problem.loss.name == "softmax" else "class_coordinate"
    return f"{name} takes one score a sample, and this problem has {problem.features.n_classes}; use {able!r}."


def refuse_kernel(problem: Problem, claim: str) -> str:
    """A claim like "Cutting planes work", on linear machines only; and who takes the loss with a kernel."""
    able = "smo" if problem.row is not None else "gradient_descent"
    return f"{claim} on linear machines, and these features have a kernel; use {able!r}."


def refuse_list(problem: Problem, name: str) -> str | None:
    """Losses of whole lists of scores are for cutting planes."""
    if problem.terms.joint:
        return f"{name} takes losses that split over samples, and {problem.loss.name!r} does not; use 'bundle'."
    return None


def refuse_penalty(problem: Problem, name: str) -> str:
    """|w|_1 is for smooth losses, and for the one solver that knows it."""
    kink = f"|w|_1 needs a smooth loss, and {problem.loss.name!r} has a kink"
    remedy = kink if problem.kinked else "use 'proximal_newton'"
    return f"{name} needs the penalty |w|^2 / 2, and these features have |w|_1; {remedy}."
