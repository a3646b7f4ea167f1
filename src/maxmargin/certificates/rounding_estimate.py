"""How small a gap float64 can show: an estimate, by which a run that stands still is explained."""

from __future__ import annotations

import numpy as np

from ..model.problem import Point, Problem
from ..runtime.rounding import UNIT
from .certificate import Certificate

MAX_ESTIMATE_KERNEL_VALUES = 1 << 24  # kernel values that an estimate of rounding errors may evaluate


def estimate_rounding(problem: Problem, point: Point, certificate: Certificate) -> float:
    """The relative gap that float64 typically leaves, because the duals themselves are rounded: an estimate.

    A score sum_j a_j K_ij has an error of about u sqrt(sum_j (a_j K_ij)^2), and P has that error times the slope of
    each loss. This is an estimate, not a bound: it explains why a solver gets no further. It is zero where there is no
    kernel, or where more kernel values are needed than are worth evaluating for this.
    """
    features = problem.features
    if features.linear or features.signed or not features.has_kernel_rows:
        return 0.0
    if problem.row is None or certificate.scores is None or point.w is not None:
        return 0.0
    coef = problem.expand(point)
    support = np.flatnonzero(coef)
    if len(support) * features.n > MAX_ESTIMATE_KERNEL_VALUES:
        return 0.0
    squares = np.square(coef[support]) @ np.square(features.block(support))
    left, right = problem.terms.response(problem.shift(certificate.scores, point.b))
    slopes = np.atleast_2d(np.maximum(np.abs(left), np.abs(right))).sum(axis=0)
    return float(4.0 * UNIT * np.sum(slopes * np.sqrt(squares))) / certificate.size
