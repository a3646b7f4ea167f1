"""The smallest ball around the samples in the space of the kernel: a problem that `solve` takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...certificates.certificate import Certificate
from ...model.losses import PiecewiseLoss, make_piecewise
from ...model.problem import Problem
from ...runtime.interrupt import Interrupt
from ...solvers.loop import solve

BALL_TOL = 1e-6  # relative gap of the squared radius


class Ball(NamedTuple):
    """R^2 of the smallest ball around the samples, from above, and its certificate: P* = D* = R^2 / 2."""

    radius_square: float
    certificate: Certificate


@dataclass(frozen=True)
class Enclosure(PiecewiseLoss):
    """max(0, y - f), with a curvature: conj(a) = -y a + diagonal_shift a^2/2 on [0, c]."""

    diagonal_shift: np.ndarray
    name = "enclosure"
    target = "none"

    def row(self, y, c):
        """p = -y, d = diagonal_shift, a in [0, c]."""
        return make_piecewise(-y, self.diagonal_shift, 0.0, 0.0, c, c)


def find_smallest_ball(
    features, diagonal_shift: np.ndarray, counted: np.ndarray, *, max_seconds: float, interrupt: Interrupt | None = None
) -> Ball:
    """min over o of max_i |phi(x_i) - o|^2 = max over a of sum_i a_i K_ii - a'Ka, a >= 0, sum_i a_i = 1.

    With K_ii / 2 in the place of the targets, balance 1 and duals in [0, 1] it is the canonical problem; its w is the
    centre. 2 P is not below R^2 at any point, so a search that ends early gives a larger ball and no wrong one.

    Parameters
    ----------
    features : Gram
    stretch : ndarray of shape (n,)
        Added to the diagonal of the kernel matrix.
    counted : ndarray of shape (n,), bool
        The samples to be enclosed.
    max_seconds : float
    interrupt : Interrupt, optional

    Returns
    -------
    Ball
    """
    half = 0.5 * (features.diagonal + diagonal_shift)
    problem = Problem(features, half, counted.astype(float), Enclosure(np.where(counted, diagonal_shift, 0.0)), 1.0)
    found = solve(problem, "smo", tol=BALL_TOL, max_seconds=max_seconds, interrupt=interrupt).certificate
    return Ball(2.0 * found.primal, found)
