"""Products over runs of a matrix, beside those of copies of its rows and columns."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.solvers.smo.matrix_products import MAX_RUNS, Runs, multiply_covered, multiply_part, multiply_parts

RNG = np.random.default_rng(0)
MATRIX = RNG.normal(size=(90, 90))
SORTED = {
    "one run": np.arange(10, 40),
    "two runs": np.r_[3:20, 60:85],
    "holes": np.setdiff1d(np.arange(5, 80), np.arange(7, 80, 5)),
    "scattered": np.arange(0, 90, 5),
    "one": np.array([89]),
    "none": np.zeros(0, int),
}


@pytest.mark.parametrize("columns", SORTED.values(), ids=SORTED)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_those_of_copies(columns, dtype):
    """In any order, with columns that are there twice, for runs of rows and for single ones."""
    matrix, tolerance = MATRIX.astype(dtype), 1e-4 if dtype == np.float32 else 1e-12
    twice = np.concatenate([columns, columns[:3]])
    for rows in (np.arange(20, 70), RNG.permutation(90)[:30], np.array([4, 4, 1]), np.zeros(0, int)):
        for some in (columns, columns[::-1], twice):
            coef = RNG.normal(size=(len(some), 3))
            expected = MATRIX[np.ix_(rows, some)] @ coef
            np.testing.assert_allclose(multiply_part(matrix, rows, some, coef), expected, atol=tolerance)
            first, second = multiply_parts(matrix, rows, [(some, coef[:, 0]), (columns, coef[: len(columns)])])
            np.testing.assert_allclose(first, expected[:, 0], atol=tolerance)
            assert second.shape == (len(rows), 3)


def test_runs_cover_all_samples():
    """Few of them, and not where they would be mostly others."""
    for name, samples in SORTED.items():
        runs = Runs.cover(samples)
        assert (runs is None) == (name == "scattered")
        if runs is not None and len(samples):
            assert len(runs.spans) <= MAX_RUNS
            every = np.concatenate([np.arange(*span) for span in runs.spans])
            np.testing.assert_array_equal(every[runs.find(samples)], samples)
            assert runs.offsets[-1] == len(every)


@pytest.mark.parametrize("relative", [0.0, 1e-3])
def test_covered_products_are_those_of_each_problem(relative):
    """Several folds of the same classes in one product, and the sizes beside it."""
    samples = SORTED["two runs"]
    own = [samples[samples % 3 != fold] for fold in range(3)]
    coef = [RNG.normal(size=(len(columns), 2)) for columns in own]
    scores, errors = multiply_covered(MATRIX, samples, own, coef, relative)
    assert len(errors) == (3 if relative else 0)
    for k, columns in enumerate(own):
        part = MATRIX[np.ix_(columns, columns)]
        np.testing.assert_allclose(scores[k], part @ coef[k], atol=1e-12)
        if relative:
            np.testing.assert_allclose(errors[k], relative * np.abs(part) @ np.abs(coef[k]), rtol=1e-12)
    assert multiply_covered(MATRIX, SORTED["scattered"], own, coef, relative) is None
