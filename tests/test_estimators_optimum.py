"""The five kernel machines reach the optimum that cvxopt finds, for every loss, kernel and intercept."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from kernel_machine_problems import every_model, make_model, multiply, spread_duals
from machine_data import decide, every_weighting, make_classes
from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel, polynomial_kernel, rbf_kernel
from textbook import MODELS, make_data, solve_textbook

from maxmargin import SMO, SVC, SVR, NuSVC, NuSVR, OneClassSVM
from maxmargin.solvers.result import Status

KERNELS = {
    "linear": linear_kernel,
    "poly": lambda A, B: polynomial_kernel(A, B, degree=2, gamma=0.5, coef0=1.0),
    "rbf": lambda A, B: rbf_kernel(A, B, gamma=0.5),
    "laplacian": lambda A, B: laplacian_kernel(A, B, gamma=0.5),
}


@pytest.mark.parametrize("kernel", [*KERNELS, "precomputed", "callable"])
@pytest.mark.parametrize(
    ("name", "intercept"),
    [
        (name, intercept)
        for name in MODELS
        for intercept in (["free", "regularised", "none"] if name != "OneClassSVM" else ["free"])
    ],
)
@every_weighting
def test_optimum_is_the_textbook_s(name, kernel, intercept, weighted):
    """P and D of the fit equal min P by cvxopt to 1e-6, and so does P recomputed from the fitted attributes."""
    X, y, weight = make_data(name, weighted=weighted)
    matrix = KERNELS.get(kernel, KERNELS["rbf"])(X, X)
    data = matrix if kernel == "precomputed" else X
    model = make_model(name, kernel=multiply if kernel == "callable" else kernel, intercept=intercept, tol=1e-9)
    model.fit(data, y, sample_weight=weight)
    best = solve_textbook(model, matrix, y, weight)
    assert model.certificate_.primal == pytest.approx(best, rel=1e-6)
    assert model.certificate_.dual == pytest.approx(best, rel=1e-6)
    assert model.certificate_.gap >= -1e-12 * abs(best)
    assert measure_primal(model, matrix, data, y, weight) == pytest.approx(best, rel=1e-6)


def measure_primal(model, K: np.ndarray, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
    """P of a fitted model from dual_coef_, intercept_ and its own predictions."""
    s = np.ones(len(y)) if weight is None else np.maximum(weight, 0.0)
    a, f, settings = spread_duals(model, len(y)), decide(model, X), model.get_params()
    square = a @ K @ a + (float(model.intercept_[0]) ** 2 if settings.get("intercept") == "regularised" else 0.0)
    if isinstance(model, OneClassSVM):
        rho = -float(model.intercept_[0])
        return 0.5 * square - model.nu * s.sum() * rho + s @ np.maximum(0.0, -f)
    if isinstance(model, NuSVC):  # the machine is divided by rho; the best rho for it is a parabola's
        slope = model.nu * s.sum() - s @ np.maximum(0.0, 1.0 - y * f)
        return -0.5 * slope**2 / square
    r = f - y
    if isinstance(model, NuSVR):
        tubes = np.abs(r)
        return 0.5 * square + model.C * min(
            model.nu * s.sum() * tube + s @ np.maximum(0.0, np.abs(r) - tube) for tube in tubes
        )
    losses = {
        "hinge": lambda: np.maximum(0.0, 1.0 - y * f),
        "squared_hinge": lambda: np.maximum(0.0, 1.0 - y * f) ** 2,
        "epsilon_insensitive": lambda: np.maximum(0.0, np.abs(r) - model.epsilon),
        "squared_epsilon_insensitive": lambda: np.maximum(0.0, np.abs(r) - model.epsilon) ** 2,
        "absolute": lambda: np.abs(r),
        "huber": lambda: np.where(
            np.abs(r) <= model.threshold, r**2 / (2.0 * model.threshold), np.abs(r) - 0.5 * model.threshold
        ),
        "quantile": lambda: np.maximum(-model.quantile * r, (1.0 - model.quantile) * r),
    }
    return 0.5 * square + model.C * float(s @ losses[model.loss]())


@pytest.mark.parametrize("selection", ["second-order", "mvp", "keerthi"])
@every_model
def test_every_selection_reaches_the_optimum(name, selection):
    """A solver object in place of its name: the same optimum by another way."""
    X, y, _ = make_data(name, seed=3)
    model = make_model(name, solver=SMO(selection=selection), tol=1e-8).fit(X, y)
    assert model.result_.solver.selection == selection
    assert model.certificate_.primal == pytest.approx(solve_textbook(model, rbf_kernel(X, X, 0.5), y), rel=1e-6)


@every_weighting
@every_model
def test_sigmoid_ends_well(name, weighted):
    """A kernel that is not positive semidefinite: a fit ends, is finite, and its certificate does not claim a proof."""
    X, y, weight = make_data(name, weighted=weighted, n=40)
    X = X - X.mean(axis=0)
    model = make_model(name, kernel="sigmoid", gamma=2.0, coef0=-1.0, max_seconds=1.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, sample_weight=weight)
    assert len(caught) == (0 if model.result_.converged else 1)
    assert all("positive semidefinite" in str(warning.message) for warning in caught)
    assert model.certificate_.convex is False
    assert "positive semidefinite" in str(model.certificate_)
    assert np.isfinite(decide(model, X)).all()
    assert model.result_.status in set(Status)


def test_hard_margin():
    """C=inf on separable data: every sample is at least on the margin, and the margin is 2/|w|."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [4.0, 1.0]])
    y = np.array([0, 0, 1, 1])
    model = SVC(C=np.inf, kernel="linear", tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), [-2.0, -1.0, 1.0, 2.0], atol=1e-5)
    np.testing.assert_allclose(model.margin_width_, [2.0], rtol=1e-5)
    np.testing.assert_array_equal(model.bounded_support_, [])


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_quantile_regression_finds_quantiles(q):
    """quantile is scikit-learn's: that share of the targets lies below f."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 1))
    y = X[:, 0] + rng.normal(size=400)
    below = (y < SVR(loss="quantile", quantile=q, C=1.0, gamma=0.1, tol=1e-6).fit(X, y).predict(X)).mean()
    assert below == pytest.approx(q, abs=0.02)


@pytest.mark.parametrize("nu", [0.1, 0.3, 0.6])
def test_nu_bounds_errors_and_support(nu):
    """nu lies between the share of outliers and the share of support vectors."""
    X, y = make_classes(200, 2)
    novelty = OneClassSVM(nu=nu, tol=1e-8).fit(X)
    assert (novelty.predict(X) == -1).mean() <= nu <= len(novelty.support_) / len(X)
    regression = NuSVR(nu=nu, tol=1e-8).fit(X, X[:, 0] + y)
    assert len(regression.bounded_support_) / len(X) <= nu <= len(regression.support_) / len(X) + 1e-12
