"""Machines whose risk is bounded, and the radius of the smallest ball by a general solver."""

from __future__ import annotations

import numpy as np
import pytest
from exact_programs import solve_exactly

from maxmargin import SVC, SVR, LinearSVC, LinearSVR

INTERCEPTS = ("free", "regularised", "none")
MACHINES = {
    "SVC hinge": lambda **s: SVC(gamma=0.5, **s),
    "SVC squared_hinge": lambda **s: SVC(gamma=0.5, loss="squared_hinge", **s),
    "LinearSVC hinge": lambda **s: LinearSVC(loss="hinge", **s),
    "LinearSVC squared_hinge": lambda **s: LinearSVC(**s),
    "SVR epsilon_insensitive": lambda **s: SVR(gamma=0.5, **s),
    "SVR squared_epsilon_insensitive": lambda **s: SVR(gamma=0.5, loss="squared_epsilon_insensitive", **s),
    "SVR huber": lambda **s: SVR(gamma=0.5, loss="huber", **s),
    "LinearSVR epsilon_insensitive": lambda **s: LinearSVR(epsilon=0.1, **s),
}
every_intercept = pytest.mark.parametrize("intercept", INTERCEPTS)
every_weighting = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


def find_radius_square(K: np.ndarray) -> float:
    """max sum_i a_i K_ii - a'Ka on the simplex, by a general solver."""
    n = len(K)
    parts = (2.0 * K, -np.diag(K).copy(), -np.eye(n), np.zeros(n), np.ones((1, n)), np.ones(1))
    return -solve_exactly(*parts).value
