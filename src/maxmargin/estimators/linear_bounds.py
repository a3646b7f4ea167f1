"""What is proven of the optimum of a fitted linear machine: from rows of its training data, or from w alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..certificates.certificate import Certificate
from ..certificates.optimum.bounds import OptimumBounds
from ..certificates.optimum.machines import MachineBounds
from ..certificates.optimum.proof import bound_optimum, find_refusal
from ..certificates.optimum.space import RowSpace, Vector
from ..model.kernels import Linear
from ..model.samples import Dense
from ..solvers.result import Result
from .linear_problems import LinearProblems

KEPT_MAX_ENTRIES = (
    1 << 19
)  # numbers of training data up to which a fit refers to them for bounds; of more it keeps rows


def is_kept(problems: Any) -> bool:
    """Whether a fit refers to its training data until the bounds are asked for."""
    return isinstance(problems, LinearProblems) and problems.features.samples.size <= KEPT_MAX_ENTRIES


def bound_linear_machines(
    problems: LinearProblems, results: Sequence[Result], quick: bool = False
) -> list[MachineBounds]:
    """Of each problem, from all of its rows."""
    found = []
    for k, result in enumerate(results):
        problem = problems.problem(k)
        reason = find_refusal(problem, result.certificate)
        if reason is not None:
            raise ValueError(reason)
        found.append(MachineBounds(bound_optimum(problem, result.point, result.certificate, quick=quick)))
    return found


def bound_by_weights(
    w: np.ndarray, constants: np.ndarray, scaling: float, certificates: Sequence[Certificate], stretch: float
) -> list[MachineBounds]:
    """1/2 |w - w*|^2 <= P - P* <= gap, where no intercept is free: from coefficients and gaps alone.

    Parameters
    ----------
    w : ndarray of shape (machines, d)
    constants : ndarray of shape (machines,)
        The intercepts.
    scaling : float
        The constant feature of a regularised intercept.
    certificates : sequence of Certificate
        One for each machine, or one for all of them.
    stretch : float
        By how much longer the difference of two machines may be than that of all of them together.
    """
    space = RowSpace(Linear(), Dense(np.zeros((0, w.shape[1]))), scaling**2)
    many, found = len(certificates) > 1, []
    for k, (row, constant) in enumerate(zip(w, constants, strict=True)):
        gap = max(certificates[k if many else 0].gap, 0.0) * 2.0 * stretch**2
        centre = Vector(row, float(constant), 4.0 * np.finfo(float).eps * abs(float(constant)) / (scaling or 1.0))
        gap = gap if np.isfinite(gap) else np.inf
        found.append(MachineBounds(OptimumBounds(space, centre, gap, 0.0, np.zeros(1), False, None, np.zeros(1))))
    return found
