"""The form in which a linear machine multiplies its samples: by the share of their nonzeros, not by their type."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import LinearSVC
from maxmargin.estimators.plain_arrays import find_two_classes
from maxmargin.model.samples import choose_product_format, mark_moved, wrap
from maxmargin.model.samples.storage import COPY_MIN_ENTRIES


def make_matrix(n: int, d: int, density: float, dtype=np.float64) -> np.ndarray:
    """Random numbers of which a share is not zero; the first row has none, and the last column neither."""
    random = np.random.default_rng(0)
    X = np.where(random.random((n, d)) < density, random.standard_normal((n, d)), 0.0)
    X[0], X[:, -1] = 0.0, 0.0
    return X.astype(dtype)


WIDE, NARROW = (COPY_MIN_ENTRIES // 40, 50), (2000, 7)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("shape", "density", "sparse"),
    [(WIDE, 0.1, True), (WIDE, 0.5, False), (NARROW, 0.9, False), ((30, 50), 0.5, False)],
)
def test_dense_and_sparse_become_the_same(shape, density, sparse, dtype):
    """The form does not depend on the type, and products do not depend on the form; as given, nothing is copied."""
    X = make_matrix(*shape, density, dtype)
    w, a = np.random.default_rng(1).standard_normal(shape[1]), np.random.default_rng(2).standard_normal(shape[0])
    for given in (X, sp.csr_array(X)):
        samples = mark_moved(wrap(given), np.ones(shape[1]))
        chosen = choose_product_format(samples)
        assert chosen.sparse == sparse
        assert (chosen is samples) == (sparse == sp.issparse(given))
        assert (chosen.copied > 0) == (chosen is not samples)
        assert (chosen.rounding, chosen.displacement) == (samples.rounding, samples.displacement)
        np.testing.assert_allclose(chosen.project(w), X @ w, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(chosen.combine(a), a @ X, rtol=1e-6, atol=1e-4)
        np.testing.assert_allclose(chosen.norms, np.sum(X.astype(float) ** 2, axis=1), rtol=1e-12)
        np.testing.assert_array_equal(chosen.X.toarray() if sparse else chosen.X, X)


@pytest.mark.parametrize("labels", [(-1.0, 1.0), (3, 7), (np.int8(0), np.int8(1)), (2.0, 2.0), (0.0, 1.0, 2.0), ()])
def test_two_classes_are_found_without_sorting(labels):
    """As np.unique finds them, types included."""
    y = np.array(labels * 3)[::-1]
    found, expected = find_two_classes(y), np.unique(y, return_inverse=True)
    assert (found is None) == (len(expected[0]) != 2)
    for mine, theirs in zip(found or (), expected, strict=False):
        np.testing.assert_array_equal(mine, theirs)
        assert mine.dtype == theirs.dtype


def test_small_data_stay_as_they_are():
    """Where products are quick either way, dense data are not copied."""
    samples = wrap(make_matrix(100, 50, 0.1))
    assert choose_product_format(samples) is samples
    empty = wrap(sp.csr_array((3, 0)))
    assert choose_product_format(empty) is empty


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_full_matrix_in_sparse_form_is_fitted_as_the_array(loss):
    """To the bit, and the problem that is solved is dense."""
    X = make_matrix(3000, 6, 0.9)
    y = np.sign(X[:, 0] + 0.3)
    dense, sparse = (LinearSVC(loss=loss, tol=1e-6).fit(given, y) for given in (X, sp.csr_array(X)))
    np.testing.assert_array_equal(sparse.coef_, dense.coef_)
    assert not LinearSVC(loss=loss).pose_first_problem(sp.csr_array(X), y).traits.sparse
