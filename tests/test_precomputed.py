"""Matrices of kernel values: columns of the support vectors, matrices not quite symmetric, and no copies."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
from machine_data import make_classes

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, certify
from maxmargin.model.kernels import RBF

MACHINES = {"SVC": SVC, "NuSVC": NuSVC, "SVR": SVR, "NuSVR": NuSVR, "OneClassSVM": OneClassSVM}
every_machine = pytest.mark.parametrize("make", MACHINES.values(), ids=MACHINES)


def make_matrices(n_classes: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """K over training samples, kernel values of new samples against them, and labels in no order."""
    X, y = make_classes(150, n_classes, seed=2)
    shuffled = np.random.default_rng(0).permutation(len(y))
    X, y = X[shuffled], y[shuffled]
    return RBF(0.5)(X[:120]), RBF(0.5)(X[120:], X[:120]), y[:120]


def decide(model, K: np.ndarray) -> np.ndarray:
    """f(x), or predictions of regressions."""
    return model.predict(K) if isinstance(model, SVR | NuSVR) else model.decision_function(K)


@every_machine
def test_columns_of_support_vectors(make):
    """The same decisions from n_support columns as from all of them, also from lists and in Fortran's order."""
    K, new, y = make_matrices()
    model = make(kernel="precomputed").fit(K, y)
    assert 0 < len(model.support_) < len(K)
    wanted, part = decide(model, new), new[:, model.support_]
    for given in (part, part.tolist(), np.asfortranarray(part), part.astype(np.float32).astype(np.float64)):
        np.testing.assert_allclose(decide(model, given), wanted, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(model.predict(part), model.predict(new))


def test_probabilities_and_both_ways_with_many_classes():
    """One-vs-rest and probabilities read the same columns."""
    K, new, y = make_matrices(4)
    for model in (SVC(kernel="precomputed", multi_class="ovr"), NuSVC(kernel="precomputed", nu=0.1)):
        columns = new[:, model.fit(K, y).support_]
        np.testing.assert_allclose(model.decision_function(columns), model.decision_function(new), atol=1e-12)


def test_other_columns_are_refused():
    """The sentence names both numbers of columns that would do."""
    K, new, y = make_matrices()
    model = SVC(kernel="precomputed").fit(K, y)
    with pytest.raises(ValueError, match=rf"X has 7 features.*120 features.*or {len(model.support_)}, against the"):
        model.predict(new[:, :7])


def test_all_samples_are_support_vectors():
    """Then there is one matrix only: that of all training samples, in their order, although support_ is by classes."""
    K, new, _ = make_matrices(2)
    y = np.arange(len(K)) % 2
    model = SVC(kernel="precomputed", C=1e-6).fit(K, y)
    assert len(model.support_) == len(K)
    assert (np.diff(model.support_) < 0).any()
    f = new @ np.where(y == 1, 1e-6, -1e-6) + model.intercept_
    np.testing.assert_allclose(model.decision_function(new), f, rtol=1e-9)


@every_machine
def test_matrices_not_quite_symmetric(make):
    """They are replaced by their mean with the transpose, with a warning, and that fit is certified."""
    K, new, y = make_matrices()
    skewed = K + 1e-2 * np.triu(np.random.default_rng(1).uniform(size=K.shape))
    with pytest.warns(UserWarning, match=r"not quite symmetric: X\[\d+, \d+\] = .* replaced by the mean"):
        model = make(kernel="precomputed").fit(skewed, y)
    mean = make(kernel="precomputed").fit((skewed + skewed.T) / 2, y)
    np.testing.assert_allclose(decide(model, new), decide(mean, new), atol=1e-12)
    with pytest.warns(UserWarning, match="not quite symmetric"):
        assert certify(model, skewed, y).relative_gap <= 1e-4


def test_callables_not_quite_symmetric():
    """The matrix that a function returns, too."""
    X, y = make_classes(60, 2)
    skew = 1e-2 * np.triu(np.random.default_rng(1).uniform(size=(60, 60)))
    with pytest.warns(UserWarning, match=r"not quite symmetric: kernel\(X, X\)"):
        model = SVC(kernel=lambda A, B: RBF(0.5)(A, B) + skew).fit(X, y)
    wanted = SVC(kernel="precomputed").fit(RBF(0.5)(X) + (skew + skew.T) / 2, y)
    np.testing.assert_allclose(model.dual_coef_, wanted.dual_coef_, atol=1e-9)


def test_rounding_is_no_asymmetry():
    """Values of float32 arithmetic pass without a word."""
    K, _, y = make_matrices()
    K = K * (1.0 + 1e-7 * np.random.default_rng(1).uniform(-1.0, 1.0, K.shape))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SVC(kernel="precomputed").fit(K, y)
    assert not caught


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_large_matrices_are_not_copied(order, dtype):
    """A fit and predictions take less memory than half of the matrix, in either order and in float32."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2600, 2))
    y = (X[:, 0] + 0.1 * rng.normal(size=2600) > 0).astype(int)
    K = np.asarray(RBF(0.5)(X), dtype=dtype, order=order)
    SVC(kernel="precomputed", cache_size=1).fit(K, y).predict(K)  # what is loaded or compiled once is there
    tracemalloc.start()
    try:
        model = SVC(kernel="precomputed", cache_size=1).fit(K, y)
        model.predict(K)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 0.5 * K.nbytes
    assert model.certificate_.relative_gap <= 1e-5
