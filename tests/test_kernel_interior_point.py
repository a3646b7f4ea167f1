"""Interior point in the duals: the optimum of SMO where SMO finds it, and an optimum where SMO does not."""

from __future__ import annotations

import numpy as np
import pytest
from long_fits import make_clouds
from sklearn.exceptions import ConvergenceWarning

from maxmargin import SVC, SVR, NuSVC, Status, solve
from maxmargin.model.features import Gram
from maxmargin.model.formulations import NuClassification, NuRegression
from maxmargin.model.kernels import RBF, Polynomial, Sigmoid
from maxmargin.model.losses import EpsilonInsensitive, Hinge, Logistic, Novelty, Quantile, SquaredHinge
from maxmargin.model.problem import Problem
from maxmargin.solvers.newton.kernel_interior_point import KernelInteriorPoint

SOLVER = KernelInteriorPoint()
LOSSES = [Hinge(), SquaredHinge(), EpsilonInsensitive(0.1), Quantile(0.3)]


def pose(loss, kernel=None, *, free=True, C=2.0, n=150) -> Problem:
    """Two clouds; their labels with some noise are the targets of regressions."""
    X, labels = make_clouds(n, 3, 2)
    rng = np.random.default_rng(0)
    y = np.where(labels > 0, 1.0, -1.0)
    y = y + 0.1 * rng.normal(size=n) if loss.target == "real" else y
    return Problem(
        Gram.from_data(kernel or RBF(gamma=0.5), X), y, C * rng.uniform(0.5, 1.5, n), loss, 0.0 if free else None
    )


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_the_optimum_of_smo(loss, free):
    """To a gap of 1e-8, with bounded duals exactly at their bounds."""
    problem = pose(loss, free=free)
    result, other = solve(problem, SOLVER, tol=1e-8), solve(problem, "smo", tol=1e-8)
    assert result.status is Status.CONVERGED, result.message
    assert result.certificate.primal == pytest.approx(other.certificate.primal, rel=2e-8)
    assert result.n_iter < 60
    a, row = result.point.a, problem.row
    if loss.name == "hinge":
        assert np.mean((a == row.lo) | (a == row.hi)) > 0.3


def test_one_class():
    """A balance that is not zero."""
    X, _ = make_clouds(120, 3, 2)
    problem = Problem(Gram.from_data(RBF(gamma=0.5), X), np.ones(120), np.ones(120), Novelty(), 30.0)
    result, other = solve(problem, SOLVER, tol=1e-7), solve(problem, "smo", tol=1e-7)
    assert result.status is Status.CONVERGED, result.message
    assert result.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-6)


@pytest.mark.parametrize("intercept", ["free", "none"])
@pytest.mark.parametrize("formulation", [NuClassification, NuRegression])
def test_two_intercepts(formulation, intercept):
    """The nu machines: one balance for each layer, or signed samples where the intercept is not free."""
    X, labels = make_clouds(120, 3, 2)
    y = np.where(labels > 0, 1.0, -1.0) if formulation is NuClassification else np.sin(X[:, 0])
    problem = formulation(intercept, nu=0.3).pose(Gram.from_data(RBF(gamma=0.5), X), y, np.ones(120))
    result, other = solve(problem, SOLVER, tol=1e-7), solve(problem, "smo", tol=1e-7)
    assert result.status is Status.CONVERGED, result.message
    assert result.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-6, abs=1e-6)


def test_nu_near_the_largest_it_can_be():
    """|w| is all but zero, and SMO takes millions of steps to say so."""
    X, y = make_clouds(250, 3, 2)
    model = NuSVC(nu=0.1, gamma=0.03).fit(X, y)
    assert model.result_.converged
    assert sum(model.n_iter_) < 100_000


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
def test_polynomials_of_features_that_are_not_scaled(C):
    """Kernel values up to 1e9: SMO would take millions of steps."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 12)) * np.geomspace(1.0, 30.0, 12)
    y = np.where((X / np.geomspace(1.0, 30.0, 12)) @ rng.normal(size=12) + rng.normal(size=300) > 0, 1, -1)
    model = SVC(kernel="poly", gamma=0.1, coef0=1.0, C=C).fit(X, y)
    assert model.result_.converged
    assert sum(model.n_iter_) < 200_000


def test_the_limit_of_float64_is_named():
    """Kernel values of 1e13, and a C by which their rounding is multiplied."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3)) * 300.0
    y = np.where(X @ rng.normal(size=3) + 200.0 * rng.normal(size=200) > 0, 1, -1)
    with pytest.warns(ConvergenceWarning, match="The limit of float64: no smaller gap can be certified"):
        model = SVC(kernel="poly", gamma=0.1, coef0=1.0, C=100.0).fit(X, y)
    assert model.certificate_.relative_gap < 0.3


def test_auto_goes_on_with_it(monkeypatch):
    """Where SMO has used up its steps, and says so."""
    monkeypatch.setattr("maxmargin.solvers.choice.PAIR_STEPS_PER_SAMPLE", 1)
    monkeypatch.setattr("maxmargin.solvers.choice.PAIR_SCORE_UPDATES", 1.0)
    monkeypatch.setattr("maxmargin.solvers.choice.PAIR_STEPS_PER_KERNEL_ENTRY", 0.0)
    monkeypatch.setattr("maxmargin.solvers.smo.together.STEPS_PER_SAMPLE", 1)
    monkeypatch.setattr("maxmargin.solvers.smo.together.MAX_SCORE_UPDATES", 1.0)
    X, y = make_clouds(200, 3, 2)
    model = SVR(C=100.0).fit(X, y.astype(float))
    assert model.result_.converged
    assert "handed over to kernel_interior_point" in model.result_.message


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (pose(Logistic()), "piecewise loss"),
        (pose(Hinge(), Sigmoid(gamma=1.0, coef0=0.0)), "positive semidefinite"),
        (pose(Hinge(), n=2100), "whole matrix"),
    ],
    ids=["logistic", "sigmoid", "many"],
)
def test_what_it_refuses(problem, reason):
    """In a sentence."""
    with pytest.raises(ValueError, match=reason):
        solve(problem, SOLVER)


def test_a_matrix_that_is_not_semidefinite_is_no_crash():
    """A polynomial of even degree with a negative constant, say: it is given up."""

    class Wrong(Polynomial):
        """A kernel that claims to be what it is not."""

        psd = True

    problem = pose(Hinge(), Wrong(gamma=1.0, coef0=-5.0, degree=3), C=10.0)
    result = solve(problem, SOLVER, tol=1e-8, max_seconds=5.0)
    assert result.status in (Status.STALLED, Status.CONVERGED, Status.MAX_SECONDS)
    assert np.isfinite(result.point.a).all()
