"""Margins, support vectors and intercepts as Wu (2014) and Meoli (2021) derive them, against independent programs."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from exact_programs import solve_exactly
from scipy.optimize import minimize as minimise_by_scipy
from sklearn.metrics.pairwise import rbf_kernel

from maxmargin import SVC, SVR

C = 0.7
SMALL_C = 0.08  # at which the duals that are free do not settle w and b alone
EPSILON = 0.3


@cache
def draw_labels() -> tuple[np.ndarray, np.ndarray]:
    """Two overlapping classes in the plane."""
    rng = np.random.default_rng(3)
    y = np.repeat([1.0, -1.0], 20)
    return rng.normal(size=(40, 2)) + 0.8 * y[:, None], y


@cache
def draw_curve() -> tuple[np.ndarray, np.ndarray]:
    """A noisy sine."""
    rng = np.random.default_rng(4)
    x = np.sort(rng.uniform(0.0, 6.0, 40))
    return x[:, None], np.sin(x) + 0.3 * rng.normal(size=40)


@cache
def fit_labels() -> SVC:
    """A linear machine on the two classes, solved closely."""
    return SVC(kernel="linear", C=C, tol=1e-12).fit(*draw_labels())


def solve_with_slacks(X: np.ndarray, y: np.ndarray, margin: float, C: float):
    """min 1/2 |w|^2 + C sum xi with y_i (<w, x_i> + b) >= margin - xi_i and xi >= 0, variable by variable."""
    n, d = X.shape
    H = np.diag(np.concatenate([np.ones(d), np.zeros(n + 1)]))
    c = np.concatenate([np.zeros(d + 1), np.full(n, C)])
    walls = np.hstack([-y[:, None] * X, -y[:, None], -np.eye(n)])
    positive = np.hstack([np.zeros((n, d + 1)), -np.eye(n)])
    return solve_exactly(H, c, np.vstack([walls, positive]), np.concatenate([np.full(n, -margin), np.zeros(n)]))


def list_signed_duals(machine) -> np.ndarray:
    """a_i of every sample, zero where it is no support vector."""
    a = np.zeros(machine.shape_fit_[0])
    a[machine.support_] = machine.dual_coef_[0]
    return a


# ---- the margin -------------------------------------------------------------------------------------------------


def test_the_margin_is_two_over_the_norm():
    """The homework of Wu (2014): the walls f = 1 and f = -1 are 2/|w| apart, here by their two nearest points."""
    machine = fit_labels()
    w, b = machine.coef_[0], machine.intercept_[0]

    def wall(side: float) -> dict:
        return {"type": "eq", "fun": lambda z, part=slice(0, 2) if side > 0 else slice(2, 4): z[part] @ w + b - side}

    nearest = minimise_by_scipy(
        lambda z: np.sum((z[:2] - z[2:]) ** 2), np.zeros(4), constraints=[wall(1.0), wall(-1.0)], tol=1e-14
    )
    assert machine.margin_width_[0] == pytest.approx(np.sqrt(nearest.fun), rel=1e-6)
    assert machine.margin_width_[0] == pytest.approx(2.0 / np.linalg.norm(w), rel=1e-14)


@pytest.mark.parametrize("margin", [0.1, 1.0, 25.0])
def test_the_level_of_the_walls_does_not_move_the_hyperplane(margin):
    """Walls at f = +-a with cost C a: (w, b) is a times that of a = 1, so f = 0 and the duals over C stay."""
    X, y = draw_labels()
    found = solve_with_slacks(X, y, margin, C * margin).x
    machine = fit_labels()
    np.testing.assert_allclose(found[:2] / margin, machine.coef_[0], atol=1e-5)
    assert found[2] / margin == pytest.approx(machine.intercept_[0], abs=1e-5)


def test_slacks_are_the_hinge():
    """Meoli (2021), eqs. 5 and 10: the program with slacks has the optimum of the unconstrained one."""
    X, y = draw_labels()
    found, machine = solve_with_slacks(X, y, 1.0, C), fit_labels()
    slacks = np.maximum(0.0, 1.0 - y * machine.decision_function(X))
    np.testing.assert_allclose(found.x[3:], slacks, atol=1e-5)
    assert found.value == pytest.approx(machine.certificate_.primal, rel=1e-9)


def test_slacks_are_the_tube():
    """Meoli (2021), eqs. 43, 44 and 48: two slacks a sample, and at most one of them is positive."""
    x, y = draw_curve()
    machine = SVR(kernel="linear", C=C, epsilon=EPSILON, tol=1e-12).fit(x, y)
    n = len(y)
    H = np.diag(np.concatenate([[1.0], np.zeros(2 * n + 1)]))
    c = np.concatenate([[0.0, 0.0], np.full(2 * n, C)])
    rows = np.hstack([x, np.ones((n, 1))])
    G = np.vstack([np.hstack([np.vstack([-rows, rows]), -np.eye(2 * n)]), np.eye(2 * n, 2 * n + 2, 2) * -1.0])
    h = np.concatenate([EPSILON - y, EPSILON + y, np.zeros(2 * n)])
    found = solve_exactly(H, c, G, h)
    above, below = found.x[2 : n + 2], found.x[n + 2 :]
    assert found.value == pytest.approx(machine.certificate_.primal, rel=1e-9)
    assert np.minimum(above, below).max() < 1e-8
    residual = y - machine.predict(x)
    np.testing.assert_allclose(above, np.maximum(0.0, residual - EPSILON), atol=1e-5)
    np.testing.assert_allclose(below, np.maximum(0.0, -residual - EPSILON), atol=1e-5)


def test_the_norm_instead_of_its_square_is_another_cost():
    """Meoli (2021), eqs. 4 and 5: |w| + C sum xi has the minimiser of 1/2 |w|^2 + C |w*| sum xi, not that of C."""
    X, y = draw_labels()

    def objective(point: np.ndarray) -> float:
        return np.linalg.norm(point[:2]) + SMALL_C * np.maximum(0.0, 1.0 - y * (X @ point[:2] + point[2])).sum()

    machine = plain = SVC(kernel="linear", C=SMALL_C, tol=1e-12).fit(X, y)
    for _ in range(60):  # a fixed point: the cost that belongs to the norm of its own solution
        machine = SVC(kernel="linear", C=SMALL_C * float(np.linalg.norm(machine.coef_)), tol=1e-12).fit(X, y)
    ours = np.append(machine.coef_[0], machine.intercept_[0])
    other = np.append(plain.coef_[0], plain.intercept_[0])
    options = {"xatol": 1e-10, "fatol": 1e-13, "maxiter": 4000}
    polished = minimise_by_scipy(objective, ours, method="Nelder-Mead", options=options)
    assert objective(ours) <= polished.fun * (1.0 + 1e-9)
    assert objective(ours) < objective(other) * (1.0 - 1e-4)


# ---- what the duals say of the samples ----------------------------------------------------------------------------


@pytest.mark.parametrize("cost", [0.05, 1.0, 20.0])
def test_kinds_of_support_vectors(cost):
    """Wu (2014), Meoli (2021) eq. 89: none has y f >= 1, a free one y f = 1, a bounded one y f <= 1."""
    X, y = draw_labels()
    machine = SVC(kernel="rbf", gamma=0.5, C=cost, tol=1e-12).fit(X, y)
    z, alpha = y * machine.decision_function(X), y * list_signed_duals(machine)
    free, bounded = machine.free_support_, machine.bounded_support_
    rest = np.setdiff1d(np.arange(len(y)), machine.support_)
    assert (z[rest] >= 1.0 - 1e-5).all()
    np.testing.assert_allclose(z[free], 1.0, atol=1e-5)
    assert (z[bounded] <= 1.0 + 1e-5).all()
    assert sorted([*free, *bounded]) == sorted(machine.support_)
    np.testing.assert_allclose(alpha[bounded], cost, rtol=1e-12)
    slack = np.maximum(0.0, 1.0 - z)
    assert np.abs(alpha * (1.0 - z - slack)).max() < 1e-4 * cost  # complementary slackness
    assert np.abs((cost - alpha) * slack).max() < 1e-4 * cost


def test_stationarity():
    """Meoli (2021), eqs. 14 to 16: w = sum alpha_i y_i x_i, sum alpha_i y_i = 0 and 0 <= alpha_i <= C."""
    X, y = draw_labels()
    machine = fit_labels()
    a = list_signed_duals(machine)
    np.testing.assert_allclose(machine.coef_[0], a @ X, atol=1e-9)
    assert a.sum() == pytest.approx(0.0, abs=1e-12)
    assert (y * a).min() >= 0.0
    assert (y * a).max() <= C * (1.0 + 1e-14)


def test_every_free_support_vector_gives_the_intercept():
    """Wu (2014), Meoli (2021) eqs. 19 to 23: b = y_s - <w, x_s>; an average over the bounded ones is another number."""
    X, y = draw_labels()
    machine = fit_labels()
    each = y - X @ machine.coef_[0]
    np.testing.assert_allclose(each[machine.free_support_], machine.intercept_[0], atol=1e-6)
    assert abs(each[machine.support_].mean() - machine.intercept_[0]) > 1e-2


def test_every_free_support_vector_of_a_tube_gives_the_intercept():
    """Meoli (2021), eqs. 58 and 59, mended: b = y_s - epsilon - <w, x_s> above the tube, + epsilon below it."""
    x, y = draw_curve()
    machine = SVR(kernel="rbf", gamma=0.5, C=3.0, epsilon=EPSILON, tol=1e-12).fit(x, y)
    a = list_signed_duals(machine)
    free = np.flatnonzero((np.abs(a) > 1e-9) & (np.abs(a) < 3.0 * (1.0 - 1e-9)))
    each = y - np.sign(a) * EPSILON - rbf_kernel(x, x, 0.5) @ a
    assert (a[free] > 0).any()
    assert (a[free] < 0).any()
    np.testing.assert_allclose(each[free], machine.intercept_[0], atol=1e-6)


def test_predictions_are_sums_over_support_vectors():
    """Meoli (2021), eqs. 24 and 57: f(x) = sum_s a_s k(x_s, x) + b, and its sign is the label."""
    X, y = draw_labels()
    new = np.random.default_rng(5).normal(scale=2.0, size=(50, 2))
    machine = SVC(kernel="rbf", gamma=0.5, C=C).fit(X, y)
    f = rbf_kernel(new, X[machine.support_], 0.5) @ machine.dual_coef_[0] + machine.intercept_[0]
    np.testing.assert_allclose(machine.decision_function(new), f, atol=1e-12)
    np.testing.assert_array_equal(machine.predict(new), np.where(f > 0, 1.0, -1.0))


# ---- the intercept ------------------------------------------------------------------------------------------------


def test_a_regularised_intercept_is_a_feature_of_ones():
    """Meoli (2021), eqs. 11, 12 and 25: 1/2 b^2 added, a column of ones, or Q + y y' in the dual."""
    X, y = draw_labels()
    machine = SVC(kernel="linear", C=SMALL_C, intercept="regularised", tol=1e-12).fit(X, y)
    wide = SVC(kernel="linear", C=SMALL_C, intercept="none", tol=1e-12).fit(np.column_stack([X, np.ones(len(y))]), y)
    np.testing.assert_allclose([*machine.coef_[0], machine.intercept_[0]], wide.coef_[0], atol=1e-6)
    Q = (y[:, None] * X) @ (y[:, None] * X).T + np.outer(y, y)
    box = np.vstack([np.eye(len(y)), -np.eye(len(y))])
    found = solve_exactly(Q, -np.ones(len(y)), box, np.repeat([SMALL_C, 0.0], len(y)))
    assert -found.value == pytest.approx(machine.certificate_.dual, rel=1e-9)
    free = SVC(kernel="linear", C=SMALL_C, tol=1e-12).fit(X, y)
    assert abs(machine.intercept_[0] - free.intercept_[0]) > 1e-4  # another problem than that of the free intercept
