"""Small fits at their default tolerance agree to the last digits, whichever way they came."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from machine_data import decide, make_classes
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM, RiskClassifier, RiskRegressor, solve
from maxmargin.solvers.smo import SMO

MACHINES = {
    "SVC": SVC(),
    "SVC, linear kernel": SVC(kernel="linear"),
    "SVC, squared hinge": SVC(loss="squared_hinge"),
    "NuSVC": NuSVC(nu=0.3),
    "SVR": SVR(),
    "SVR, quantile": SVR(loss="quantile", quantile=0.3),
    "NuSVR": NuSVR(),
    "OneClassSVM": OneClassSVM(nu=0.3),
    "LinearSVC": LinearSVC(),
    "LinearSVC, hinge": LinearSVC(loss="hinge"),
    "LinearSVC, hinge, free": LinearSVC(loss="hinge", intercept="free"),
    "LinearSVR": LinearSVR(epsilon=0.1),
    "LinearSVR, free": LinearSVR(epsilon=0.1, intercept="free"),
    "RiskClassifier": RiskClassifier(),
    "RiskRegressor": RiskRegressor("quantile", quantile=0.3),
}
every_machine = pytest.mark.parametrize("model", MACHINES.values(), ids=MACHINES)


def make_data(model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, targets, and weights that are whole numbers, some of them zero."""
    X, label = make_classes(36, 3, seed=4)
    X = X - X.min(axis=0)
    y = X[:, 0] - 0.4 * label + np.random.default_rng(1).normal(size=36) if model.task == "regression" else label
    return X, y, np.arange(36) % 4


@every_machine
def test_dense_and_sparse(model):
    """f agrees to nine digits."""
    X, y, _ = make_data(model)
    dense, sparse = decide(model.fit(X, y), X), decide(model.fit(sp.csr_array(X), y), sp.csr_array(X))
    np.testing.assert_allclose(sparse, dense, rtol=1e-9, atol=1e-9)


@every_machine
def test_weighted_and_repeated(model):
    """So it does where a row of weight k is there k times, in another order."""
    X, y, weight = make_data(model)
    order = np.random.default_rng(2).permutation(len(X))
    weighted = decide(model.fit(X, y, sample_weight=weight), X)
    repeated = np.repeat(order, weight[order])
    np.testing.assert_allclose(decide(model.fit(X[repeated], y[repeated]), X), weighted, rtol=1e-9, atol=1e-9)


@every_machine
def test_the_optimum_itself(model):
    """f is that of a fit to a gap of 1e-12, for which there are other methods."""
    X, y, _ = make_data(model)
    loose = decide(model.fit(X, y), X)
    tol = model.tol
    try:
        tight = decide(model.set_params(tol=1e-12).fit(X, y), X)
    finally:
        model.set_params(tol=tol)
    np.testing.assert_allclose(loose, tight, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("intercept", ["free", "regularised"])
def test_last_digits_in_the_loop(intercept):
    """A run in the loop ends near rounding too, with pairs of duals and with single ones."""
    X, y, _ = make_data(SVC())
    problem = SVC(kernel="rbf", intercept=intercept).pose_problem(X, y, 0)
    result = solve(problem, SMO(), tol=1e-4)
    assert result.certificate.relative_gap < 1e-10


def test_last_digits_of_a_regression_with_most_duals_at_their_bounds():
    """On the way to nine free duals of 442 there are more than ten features: their equations are singular.

    Directions that do not sum to zero then have to be made up for by one dual, which moves f by 1e-5.
    """
    X, y = load_diabetes(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    exact = SVR(kernel="linear", tol=1e-12).fit(X, y).predict(X)
    np.testing.assert_allclose(SVR(kernel="linear").fit(X, y).predict(X), exact, rtol=1e-9)


def test_what_is_dear_is_left_undone():
    """With many free duals a fit ends within tol, and no earlier than it must."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 40))
    model = SVC(C=10.0).fit(X, rng.integers(0, 2, 900))
    assert len(model.free_support_) > 300
    assert 1e-9 < model.certificate_.relative_gap <= model.tol
