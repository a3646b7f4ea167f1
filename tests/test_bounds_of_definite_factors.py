"""Factors of matrices that should be definite, and of matrices that rounding leaves indefinite."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from maxmargin.model.normal_equations import RIDGE_SHARE_OF_TRACE, factor_semidefinite
from maxmargin.runtime.rounding import UNIT


def test_factors_of_a_definite_matrix_are_its_own():
    X = np.random.default_rng(40).normal(size=(30, 6))
    M = X.T @ X
    kept = M.copy()
    np.testing.assert_array_equal(factor_semidefinite(M)[0], cho_factor(kept)[0])
    np.testing.assert_array_equal(M, kept)
    below = np.triu(M) + np.tril(np.full_like(M, np.nan), -1)  # only the upper half is formed
    np.testing.assert_array_equal(np.triu(factor_semidefinite(below)[0]), np.triu(cho_factor(kept)[0]))


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("gap", [0.0, 2.0**-52, 2.0**-40])
@pytest.mark.cover("all")
def test_factors_of_a_matrix_that_rounding_leaves_indefinite_solve_the_lifted_system(scale, gap):
    M = scale * np.array([[1.0, 1.0 + gap, 0.5], [1.0 + gap, 1.0, 0.5], [0.5, 0.5, 3.0]])
    kept, right = M.copy(), np.array([1.0, -2.0, 0.3])
    with pytest.raises(LinAlgError):
        cho_factor(M)
    x = cho_solve(factor_semidefinite(M), right)
    np.testing.assert_array_equal(M, kept)
    lifted = [
        [
            Fraction(float(M[i, j])) + (i == j) * Fraction(RIDGE_SHARE_OF_TRACE) * Fraction(float(np.trace(M)))
            for j in range(3)
        ]
        for i in range(3)
    ]
    for row, aim in zip(lifted, right, strict=True):
        sizes = sum(abs(value * Fraction(float(each))) for value, each in zip(row, x, strict=True))
        missed = sum(value * Fraction(float(each)) for value, each in zip(row, x, strict=True)) - Fraction(float(aim))
        assert abs(missed) <= Fraction(64 * UNIT) * (sizes + abs(Fraction(float(aim))))


def test_a_matrix_that_is_truly_indefinite_has_no_factors():
    with pytest.raises(LinAlgError):
        factor_semidefinite(np.array([[1.0, 2.0], [2.0, 1.0]]))
