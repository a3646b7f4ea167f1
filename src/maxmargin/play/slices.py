"""The risk in one dimension: along the line from where a run starts to where it ends, with a cut at every step.

With f_i(t) = f_i(start) + t (f_i(end) - f_i(start)), the risk R(t) = sum_i c_i l(f_i(t); y_i) is convex, and a cut
that is made at scores f lies below it: R(f) + sum_i g_i (f_i(t) - f_i), g_i a subgradient of c_i l at f_i. It is a line
in t.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model.problem import Problem

LINE_POINTS = 121
FIRST, LAST = -0.4, 1.6  # the part of the line that is drawn; the run starts at 0 and ends at 1


def has_slice(problem: Problem) -> bool:
    """Whether P is a penalty and a sum over samples of losses of one score each."""
    traits = problem.traits
    plain = not traits.vector and not traits.joint and traits.layers == 1 and not traits.signed
    return plain and (problem.balance is None or not np.any(problem.balance))


def make_slice(problem: Problem, scores: list[np.ndarray], penalties: list[float]) -> dict[str, Any] | None:
    """t, R(t) and the penalty on the line; for each step its place t, and the height at t = 0 and slope of its cut.

    None where the line has no length. The penalty is that of 1/2 |w|^2, which grows with t^2 from a start at w = 0; it
    is left out if the run starts elsewhere.

    Parameters
    ----------
    problem : Problem
    scores : list of ndarray of shape (n,)
        f_i at each step.
    penalties : list of float
        R(w) at each step.
    """
    start, way = scores[0], scores[-1] - scores[0]
    square = float(way @ way)
    if not np.isfinite(square) or square == 0.0:
        return None
    t = np.linspace(FIRST, LAST, LINE_POINTS)
    with np.errstate(over="ignore", invalid="ignore"):
        risk = [float(np.sum(problem.terms.value(start + each * way))) for each in t]
        steps = [describe_cut(problem, start, way, square, f) for f in scores]
    from_zero = penalties[0] <= 1e-12 * max(penalties[-1], 1e-300) and problem.features.penalty == "l2"
    penalty = (t**2 * penalties[-1]).tolist() if from_zero else None
    return {"t": t.tolist(), "risk": risk, "penalty": penalty, "steps": steps}


def describe_cut(
    problem: Problem, start: np.ndarray, way: np.ndarray, square: float, f: np.ndarray
) -> dict[str, float]:
    """Where a step stands on the line, and its cut there."""
    low, high = problem.terms.response(f)  # both ends of minus the subdifferential
    subgradient = -0.5 * (low + high)
    height = float(np.sum(problem.terms.value(f)) + subgradient @ (start - f))
    return {"t": float((f - start) @ way) / square, "height": height, "slope": float(subgradient @ way)}
