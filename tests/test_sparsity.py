"""Why support vector machines are sparse: Wu (2014), sections 1 to 3, and Meoli (2021), section 8."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from exact_programs import solve_exactly
from sklearn.metrics.pairwise import rbf_kernel

from maxmargin import SVC, SVR
from maxmargin.model.features import Gram
from maxmargin.model.kernels import RBF
from maxmargin.model.losses import Hinge
from maxmargin.model.problem import Point, Problem

GAMMA = 0.5
LAMBDA = 0.2  # Wu's weight of |w|^2, so that C = 1 / (2 lambda)


@cache
def draw_sine() -> tuple[np.ndarray, np.ndarray]:
    """A sine with noise that a tube of 0.2 mostly holds."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0.0, 6.0, 60))
    return x[:, None], np.sin(x) + 0.1 * rng.normal(size=60)


@cache
def draw_classes() -> tuple[np.ndarray, np.ndarray]:
    """Two classes with a wide gap between them."""
    rng = np.random.default_rng(1)
    y = np.repeat([1.0, -1.0], 30)
    return rng.normal(size=(60, 2)) + 4.0 * y[:, None], y


def test_samples_inside_the_tube_have_no_coefficient():
    """Support vectors of SVR are the samples on and outside the tube: a few; with epsilon = 0 all of them are."""
    x, y = draw_sine()
    tube = SVR(gamma=GAMMA, C=5.0, epsilon=0.2, tol=1e-10).fit(x, y)
    residual = np.abs(y - tube.predict(x))
    inside = np.setdiff1d(np.arange(len(y)), tube.support_)
    assert residual[inside].max() <= 0.2 + 1e-6
    assert residual[tube.support_].min() >= 0.2 - 1e-6
    assert len(tube.support_) < len(y) / 3
    assert len(SVR(gamma=GAMMA, C=5.0, epsilon=0.0, tol=1e-10).fit(x, y).support_) == len(y)


@pytest.mark.parametrize("kind", ["labels", "targets"])
def test_samples_without_a_coefficient_can_be_left_out(kind):
    """A fit on the support vectors alone is the same machine: the others need not be stored."""
    X, y = draw_classes() if kind == "labels" else draw_sine()
    model = SVC(gamma=GAMMA, C=2.0, tol=1e-12) if kind == "labels" else SVR(gamma=GAMMA, epsilon=0.2, tol=1e-12)
    score = {"labels": "decision_function", "targets": "predict"}[kind]
    whole = getattr(model.fit(X, y), score)(X)
    kept = model.support_.copy()
    assert 0 < len(kept) < len(y)
    np.testing.assert_allclose(getattr(model.fit(X[kept], y[kept]), score)(X), whole, atol=1e-5)


@pytest.mark.parametrize("kind", ["labels", "targets"])
def test_the_representer_theorem_gives_the_kernel_primal(kind):
    """min over c and b of sum l(K_t c + b) + lambda c'Kc is 2 lambda times P with C = 1 / (2 lambda)."""
    X, y = draw_classes() if kind == "labels" else draw_sine()
    X, y = X[::3], y[::3]
    K, n = rbf_kernel(X, X, GAMMA), len(y)
    if kind == "labels":
        machine = SVC(gamma=GAMMA, C=0.5 / LAMBDA, tol=1e-10).fit(X, y)
        walls, heights = -y[:, None] * np.column_stack([K, np.ones(n)]), -np.ones(n)
    else:
        machine = SVR(gamma=GAMMA, C=0.5 / LAMBDA, epsilon=0.2, tol=1e-10).fit(X, y)
        rows = np.column_stack([K, np.ones(n)])
        walls, heights = np.vstack([-rows, rows]), np.concatenate([0.2 - y, 0.2 + y])
    slacks = len(walls)
    H = np.zeros((n + 1 + slacks,) * 2)
    H[:n, :n] = 2.0 * LAMBDA * K
    cost = np.concatenate([np.zeros(n + 1), np.ones(slacks)])
    G = np.vstack([np.hstack([walls, -np.eye(slacks)]), -np.eye(slacks, n + 1 + slacks, n + 1)])
    found = solve_exactly(H, cost, G, np.concatenate([heights, np.zeros(slacks)]))
    assert found.value == pytest.approx(2.0 * LAMBDA * machine.certificate_.primal, rel=1e-8)


def count_support(kernel: str, gamma: float) -> tuple[int, int]:
    """Support vectors of the hinge and of a tube of 0.1, both on labels +-1."""
    X, y = draw_classes()
    hinge = SVC(kernel=kernel, gamma=gamma, tol=1e-10).fit(X, y)
    return len(hinge.support_), len(SVR(kernel=kernel, gamma=gamma, epsilon=0.1, tol=1e-10).fit(X, y).support_)


@pytest.mark.parametrize(("kernel", "gamma"), [("linear", 1.0), ("poly", 0.1)])
def test_a_tube_around_labels_is_dense(kernel, gamma):
    """Wu (2014), section 3: on labels +-1, samples far beyond the boundary leave the tube on its other side."""
    by_hinge, by_tube = count_support(kernel, gamma)
    assert by_hinge < 60 / 6
    assert by_tube > 2 * by_hinge


def test_a_tube_around_labels_is_sparse_where_scores_level_off():
    """The limit of that claim: a Gaussian kernel lets f level off, and the tube costs no sample more."""
    by_hinge, by_tube = count_support("rbf", GAMMA)
    assert by_tube == by_hinge


def test_the_perceptrons_objective_collapses():
    """Without the margin w = 0 has no loss; with the margin of one it has, and the optimum is away from zero."""
    X, y = draw_classes()
    for margin, collapses in ((0.0, True), (1.0, False)):
        problem = Problem(Gram.from_data(RBF(GAMMA), X), y, np.ones(len(y)), Hinge(margin=margin), 0.0)
        at_zero = problem.primal(Point(np.zeros(len(y))))
        assert (at_zero == 0.0) == collapses
    slopes = y[:, None] * X
    nothing = solve_exactly(np.eye(3) * [1, 1, 1e-9], np.zeros(3), -np.column_stack([slopes, y]), np.zeros(len(y)))
    assert np.abs(nothing.x).max() < 1e-9


def test_many_hyperplanes_separate_and_one_is_in_the_middle():
    """Hard margins: of all planes without an error, the machine has the one whose nearest samples are farthest."""
    X, y = draw_classes()
    machine = SVC(kernel="linear", C=1e6, tol=1e-10).fit(X, y)
    w, b = machine.coef_[0], machine.intercept_[0]
    best = (y * (X @ w + b)).min() / np.linalg.norm(w)
    assert best == pytest.approx(machine.margin_width_[0] / 2.0, rel=1e-4)
    rng, separating = np.random.default_rng(2), 0
    for _ in range(500):
        other, shift = w + 0.3 * np.linalg.norm(w) * rng.normal(size=2), b + 0.2 * rng.normal()
        distance = (y * (X @ other + shift)).min() / np.linalg.norm(other)
        separating += distance > 0
        assert distance <= best * (1.0 + 1e-6)
    assert separating > 50
