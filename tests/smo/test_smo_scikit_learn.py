"""SMO on the nu problems agrees with scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from reference_problems import make_nu_classification, make_nu_regression
from sklearn.svm import NuSVC, NuSVR, OneClassSVM
from smo_problems import every_selection, run

from maxmargin.model.features import Gram
from maxmargin.model.kernels import RBF
from maxmargin.model.losses import Novelty
from maxmargin.model.problem import Problem


def make_two_classes(n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping classes."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("nu", [0.2, 0.5])
@every_selection
def test_nu_classification_is_scikit_learns(nu, selection):
    """NuSVC: duals and intercept, both divided by rho as LIBSVM does."""
    X, y = make_two_classes()
    machine = NuSVC(nu=nu, gamma=0.5, tol=1e-10).fit(X, y)
    problem = make_nu_classification(Gram.from_data(RBF(gamma=0.5), X), y, np.ones(120), nu)
    point = run(problem, 1e-10, selection=selection).point
    rho = 0.5 * (point.b[1] - point.b[0])
    coef = np.zeros(120)
    coef[machine.support_] = machine.dual_coef_[0]
    np.testing.assert_allclose(point.a.sum(axis=0) / rho, coef, atol=2e-4 * np.abs(coef).max())
    assert point.b.mean() / rho == pytest.approx(machine.intercept_[0], abs=2e-4)


@pytest.mark.parametrize("nu", [0.2, 0.6])
@every_selection
def test_nu_regression_is_scikit_learns(nu, selection):
    """NuSVR: duals, intercept."""
    X, _ = make_two_classes()
    y = X[:, 0] + np.sin(X[:, 1]) + 0.2 * np.random.default_rng(8).normal(size=120)
    machine = NuSVR(nu=nu, gamma=0.5, C=2.0, tol=1e-10).fit(X, y)
    problem = make_nu_regression(Gram.from_data(RBF(gamma=0.5), X), y, np.full(120, 2.0), nu)
    point = run(problem, 1e-10, selection=selection).point
    coef = np.zeros(120)
    coef[machine.support_] = machine.dual_coef_[0]
    np.testing.assert_allclose(point.a.sum(axis=0), coef, atol=2e-4)
    assert point.b.mean() == pytest.approx(machine.intercept_[0], abs=2e-4)


@pytest.mark.parametrize("nu", [0.1, 0.5])
@every_selection
def test_one_class_is_scikit_learns(nu, selection):
    """OneClassSVM: duals, rho."""
    X, _ = make_two_classes()
    machine = OneClassSVM(nu=nu, gamma=0.5, tol=1e-10).fit(X)
    problem = Problem(Gram.from_data(RBF(gamma=0.5), X), np.ones(120), np.ones(120), Novelty(), nu * 120)
    point = run(problem, 1e-10, selection=selection).point
    coef = np.zeros(120)
    coef[machine.support_] = machine.dual_coef_[0]
    np.testing.assert_allclose(point.a, coef, atol=2e-4)
    assert point.b == pytest.approx(machine.intercept_[0], abs=2e-4)
