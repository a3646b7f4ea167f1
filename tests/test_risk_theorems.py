"""The risk bounds hold where their theorems say so."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from risk_machines import INTERCEPTS, MACHINES, every_intercept, find_radius_square
from sklearn.metrics.pairwise import rbf_kernel
from textbook import make_data, solve_textbook
from time_allowances import HANG_SECONDS

from maxmargin import SVC, SVR, LinearSVC, risk_bounds


def draw_problem(name: str, seed: int, intercept: str, weighted: bool):
    """A small random problem of a machine, its data and weights; C over four decades, rows given twice at times."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 16))
    X = rng.normal(size=(n, int(rng.integers(1, 4))))
    X = np.round(X) if rng.random() < 0.3 else X
    signal = X[:, 0] + 0.5 * rng.normal(size=n)
    labels = "SVC" in name
    y = np.where(np.arange(n) == 0, 1, np.where((np.arange(n) == 1) | (signal < 0), -1, 1)) if labels else signal
    weight = rng.uniform(0.2, 3.0, n) if weighted else None
    return MACHINES[name](C=10.0 ** rng.uniform(-2, 2), intercept=intercept, tol=1e-9), X, y, weight


PROVEN = [
    (name, intercept, weighted)
    for name, intercept, weighted in product(MACHINES, INTERCEPTS, [False, True])
    if intercept != "free" or not weighted or "squared" in name
]


@pytest.mark.slow
@pytest.mark.cover("values")
@pytest.mark.parametrize(("name", "intercept", "weighted"), PROVEN)
def test_leave_one_out_is_between_training_and_xi_alpha(name, intercept, weighted):
    """Row by row, wherever the intercept of the refit is determined; never anything else of these is promised."""
    seen = 0
    for seed in range(8):
        model, X, y, weight = draw_problem(name, seed, intercept, weighted)
        bounds = risk_bounds(model.fit(X, y, sample_weight=weight), X, y, weight, exact=True, max_seconds=HANG_SECONDS)
        exact = bounds.leave_one_out
        assert exact.error >= bounds.training - 1e-4
        if not bounds.proven:
            assert any("No dual is free" in note for note in bounds.notes)
            continue
        held = ~exact.undetermined
        assert (exact.losses[held] <= bounds.allowed[held] + 1e-4 * (1 + np.abs(exact.losses[held]))).all()
        assert held.all() or any("xi-alpha does not bound those" in note for note in bounds.notes)
        assert held.all() or (intercept == "free" and "squared" not in name)
        seen += 1
    assert seen >= 4


@pytest.mark.parametrize("name", [name for name in MACHINES if "SVC" in name])
@every_intercept
def test_radius_margin_bounds_leave_one_out(name, intercept):
    """R^2 |w|^2 / n is a bound if the intercept is not free, and four times it if it is."""
    factor = 4.0 if intercept == "free" else 1.0
    for seed in range(100, 108):
        model, X, y, _ = draw_problem(name, seed, intercept, False)
        bounds = risk_bounds(model.fit(X, y), X, y, exact=True, max_seconds=HANG_SECONDS)
        if bounds.proven and not bounds.leave_one_out.undetermined.any():
            assert bounds.leave_one_out.error <= factor * bounds.radius_margin + 1e-9
            assert bounds.xi_alpha <= factor * bounds.radius_margin + 1e-4


def test_radius_margin_alone_is_no_bound_with_a_free_intercept():
    """Two samples: R |w| = 1, so R^2 |w|^2 / n = 1/2; but without either the other class is all there is."""
    X, y = np.array([[-1.0], [1.0]]), np.array([0, 1])
    bounds = risk_bounds(SVC(kernel="linear", C=1e6, tol=1e-9).fit(X, y), X, y, exact=True)
    assert bounds.leave_one_out.error == 1.0
    assert bounds.radius_margin == pytest.approx(0.5, rel=1e-4)


def test_unequal_weights_are_no_theorem():
    """Where all duals reach different bounds at once the intercept jumps, and the error with it."""
    X, y, weight = np.array([[0.0], [4.0], [3.0]]), np.array([-3.0, -4.0, 4.0]), np.array([2.0, 2.0, 3.0])
    model = SVR(kernel="linear", C=0.01, epsilon=0.5, tol=1e-9).fit(X, y, sample_weight=weight)
    bounds = risk_bounds(model, X, y, weight, exact=True)
    assert not bounds.leave_one_out.undetermined.any()
    assert bounds.leave_one_out.error > bounds.xi_alpha + 1.0
    assert not bounds.proven
    assert "different bounds" in str(bounds)


def test_undetermined_intercepts_are_no_theorem():
    """Without the first sample there is one of each class, both at C: the intercept is anything in an interval."""
    X, y = np.array([[2.0], [1.0], [-1.0]]), np.array([0, 1, 0])
    bounds = risk_bounds(SVC(kernel="linear", C=0.1, tol=1e-9).fit(X, y), X, y, exact=True)
    assert bounds.proven
    assert bounds.leave_one_out.undetermined.tolist() == [True, False, True]
    assert bounds.leave_one_out.error > bounds.xi_alpha
    assert "In 2 of the refits no dual is free" in str(bounds)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@every_intercept
def test_radius_margin_is_its_formula(loss, intercept):
    """R^2 and P* by cvxopt: |w|^2 + 2 C sum xi is 2 P*, and so is |w|^2 of the kernel K + I/(2C)."""
    X, y, _ = make_data("SVC", n=40, seed=8)
    model = SVC(C=0.8, gamma=0.3, loss=loss, intercept=intercept, tol=1e-9).fit(X, y)
    K = rbf_kernel(X, X, 0.3)
    K_all = K + (1.0 if intercept == "regularised" else 0.0)
    K_all = K_all + (np.eye(40) / (2 * 0.8) if loss == "squared_hinge" else 0.0)
    R2 = find_radius_square(K_all) if intercept == "free" else np.diag(K_all).max()
    second = 2.0 * solve_textbook(model, K, y)
    expected = (R2 + (1 / 0.8 if loss == "hinge" else 0.0)) * second / 40
    bounds = risk_bounds(model, X, y, exact=False)
    assert bounds.radius_margin == pytest.approx(expected, rel=1e-5)
    assert bounds.vacuous == (expected > 1)


def test_weights_in_the_radius_margin():
    """The least weight in 1/C, and every error may be the heaviest."""
    X, y, weight = make_data("SVC", n=40, seed=8, weighted=True)
    model = SVC(C=0.8, gamma=0.3, tol=1e-9).fit(X, y, sample_weight=weight)
    K, kept = rbf_kernel(X, X, 0.3), weight > 0
    R2 = find_radius_square(K[np.ix_(kept, kept)])
    second = 2.0 * solve_textbook(model, K, y, weight)
    expected = (R2 + 1.0 / (0.8 * weight[kept].min())) * second * weight.max() / weight.sum()
    assert risk_bounds(model, X, y, weight, exact=False).radius_margin == pytest.approx(expected, rel=1e-5)


def test_a_vacuous_bound_says_so():
    """More than all samples cannot be wrong."""
    X, y, _ = make_data("SVC", n=40)
    bounds = risk_bounds(LinearSVC(C=100.0).fit(X, y), X, y, exact=False)
    assert bounds.vacuous
    assert "vacuous" in str(bounds)


def test_a_common_factor_of_weights_moves_into_c():
    """Weights s with C are weights 1 with C s: all numbers are the same."""
    X, y, _ = make_data("SVC", n=40, seed=9)
    weight = np.full(40, 2.5)
    first = risk_bounds(SVC(C=0.4, gamma=0.3, tol=1e-8).fit(X, y, weight), X, y, weight)
    second = risk_bounds(SVC(C=1.0, gamma=0.3, tol=1e-8).fit(X, y), X, y)
    for field in ("training", "xi_alpha", "precision", "recall", "f1", "radius_margin"):
        assert getattr(first, field) == pytest.approx(getattr(second, field), rel=1e-5)
    assert first.leave_one_out.error == second.leave_one_out.error
