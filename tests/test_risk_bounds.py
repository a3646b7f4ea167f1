"""risk_bounds: leave-one-out by brute force, balls and optima by cvxopt, and the theorems on random problems."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
import sklearn.svm
from exact_programs import solve_exactly
from matplotlib.figure import Figure as Drawing
from sklearn.datasets import load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, precision_score, recall_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler
from slack import HANG_SECONDS
from textbook import make_data, solve_textbook

import maxmargin
from experiments import risk
from experiments.risk_grids import Grid, Survey, tabulate_choices
from experiments.risk_theorems import CASES, count_violations, is_proven
from maxmargin import SVC, SVR, LinearSVC, LinearSVR, NuSVC, RiskClassifier, RiskRegressor, risk_bounds
from maxmargin.guarantees.risk import bounds as bounds_of_model
from maxmargin.guarantees.risk import leave_one_out, stability
from maxmargin.guarantees.risk.ball import find_smallest_ball
from maxmargin.model.features import Gram
from maxmargin.model.kernels import RBF, Linear
from maxmargin.plots import plot_risk_bounds
from maxmargin.runtime.interrupt import Interrupt

DOCS = Path(__file__).parent.parent / "docs" / "risk.md"
INTERCEPTS = ("free", "regularised", "none")
MACHINES = {
    "SVC hinge": lambda **s: SVC(gamma=0.5, **s),
    "SVC squared_hinge": lambda **s: SVC(gamma=0.5, loss="squared_hinge", **s),
    "LinearSVC hinge": lambda **s: LinearSVC(loss="hinge", **s),
    "LinearSVC squared_hinge": lambda **s: LinearSVC(**s),
    "SVR epsilon_insensitive": lambda **s: SVR(gamma=0.5, **s),
    "SVR squared_epsilon_insensitive": lambda **s: SVR(gamma=0.5, loss="squared_epsilon_insensitive", **s),
    "SVR huber": lambda **s: SVR(gamma=0.5, loss="huber", **s),
    "LinearSVR epsilon_insensitive": lambda **s: LinearSVR(epsilon=0.1, **s),
}
every_machine = pytest.mark.parametrize("name", MACHINES)
every_intercept = pytest.mark.parametrize("intercept", INTERCEPTS)
every_weighting = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


def predict_left_out(make, X, y, weight) -> np.ndarray:
    """The score of each row by a machine fitted on all others, from nothing; NaN for rows without weight."""
    f = np.full(len(y), np.nan)
    for t in range(len(y)):
        if weight is not None and weight[t] == 0:
            continue
        rest = np.arange(len(y)) != t
        model = make().fit(X[rest], y[rest], sample_weight=None if weight is None else weight[rest])
        f[t] = (model.decision_function if hasattr(model, "classes_") else model.predict)(X[[t]])[0]
    return f


def measure(f, y, labels: bool) -> np.ndarray:
    """Errors, or absolute errors."""
    return np.where(np.isnan(f), np.nan, y * f <= 0) if labels else np.abs(f - y)


# ---- the ball -----------------------------------------------------------------------------------------------


def find_radius_square(K: np.ndarray) -> float:
    """max sum_i a_i K_ii - a'Ka on the simplex, by a general solver."""
    n = len(K)
    parts = (2.0 * K, -np.diag(K).copy(), -np.eye(n), np.zeros(n), np.ones((1, n)), np.ones(1))
    return -solve_exactly(*parts).value


def enclose_all(kernel, X, stretch: float = 0.0):
    """The ball around the rows of X."""
    n = len(X)
    gram, stretches, counted = Gram.from_data(kernel, X), np.full(n, stretch), np.ones(n, bool)
    return find_smallest_ball(gram, stretches, counted, max_seconds=HANG_SECONDS, interrupt=Interrupt())


@pytest.mark.parametrize("stretch", [0.0, 0.4])
@pytest.mark.parametrize("kernel", [Linear(), RBF(0.1), RBF(3.0)], ids=["linear", "wide", "narrow"])
def test_ball_is_the_smallest(kernel, stretch):
    """The squared radius of cvxopt, from above and to six digits, with a certificate."""
    X = make_data("SVC", n=40)[0]
    ball = enclose_all(kernel, X, stretch)
    bound = kernel.bind(X)
    samples = bound.samples(X)
    expected = find_radius_square(bound.evaluate(samples, samples) + stretch * np.eye(40))
    assert ball.radius_square == pytest.approx(expected, rel=2e-6)
    assert ball.radius_square >= expected * (1 - 1e-9)
    assert ball.certificate.relative_gap <= 1e-6


@pytest.mark.parametrize("X", [np.ones((1, 2)), np.ones((5, 2)), 1e4 + np.ones((5, 2))], ids=["one", "same", "far"])
def test_ball_of_a_point_has_no_radius(X):
    """One sample, or the same sample many times; from above, so that the rounding of |x|^2 is allowed for."""
    assert 0.0 <= enclose_all(Linear(), X).radius_square <= 1e-7 + 2e-14 * np.square(X[0]).sum()


def test_ball_of_two_points_is_half_way():
    """R = |x - z| / 2."""
    X = np.array([[0.0, 0.0], [6.0, 8.0]])
    assert enclose_all(Linear(), X).radius_square == pytest.approx(25.0, rel=1e-6)


# ---- exact leave-one-out ------------------------------------------------------------------------------------


@every_machine
@every_intercept
@every_weighting
def test_exact_is_brute_force(name, intercept, weighted):
    """The same error for every row as n fits from cold starts, though most of those are never made."""
    X, y, weight = make_data(name.replace("Linear", ""), n=20, weighted=weighted)

    def make():
        return MACHINES[name](C=3.0, intercept=intercept, tol=1e-9)

    bounds = risk_bounds(make().fit(X, y, sample_weight=weight), X, y, weight, exact=True, max_seconds=HANG_SECONDS)
    exact = bounds.leave_one_out
    assert not exact.undetermined.any()
    labels = bounds.kind == "classification"
    losses = measure(predict_left_out(make, X, y, weight), y, labels)
    np.testing.assert_allclose(exact.losses, losses, atol=0.0 if labels else 2e-3)
    s = np.ones(20) if weight is None else weight
    assert exact.error == pytest.approx(np.nansum(s * losses) / s.sum(), abs=1e-3)
    assert exact.refits < (s > 0).sum() or not labels
    assert exact.gap <= 1e-6


@pytest.mark.parametrize("kind", ["SVC", "SVR"])
def test_exact_is_that_of_libsvm(kind):
    """Left out one by one in scikit-learn."""
    X, y, _ = make_data(kind, n=40, seed=2)

    def make():
        return getattr(sklearn.svm, kind)(C=2.0, gamma=0.5, tol=1e-9)

    bounds = risk_bounds(make().fit(X, y), X, y, exact=True)
    losses = measure(predict_left_out(make, X, y, None), y, kind == "SVC")
    np.testing.assert_allclose(bounds.leave_one_out.losses, losses, atol=0.0 if kind == "SVC" else 2e-3)


def test_rows_given_twice_are_left_out_one_at_a_time():
    """A row whose twin stays is nearly known: leave-one-out of doubled data is not that of weights 2."""
    X, y, _ = make_data("SVC", n=24, seed=3)
    twice, twins = np.vstack([X, X]), np.append(y, y)

    def make():
        return SVC(C=5.0, gamma=2.0, tol=1e-9)

    doubled = risk_bounds(make().fit(twice, twins), twice, twins, exact=True)
    losses = measure(predict_left_out(make, twice, twins, None), twins, True)
    np.testing.assert_array_equal(doubled.leave_one_out.losses, losses)
    weighted = risk_bounds(make().fit(X, y, np.full(24, 2.0)), X, y, np.full(24, 2.0), exact=True)
    assert weighted.leave_one_out.error > doubled.leave_one_out.error + 0.1


def test_an_intercept_that_is_not_unique_is_put_in_the_middle():
    """All targets in one tube: no duals, and b is half way between the largest and the least of those that are left."""
    X, y = np.zeros((3, 1)), np.array([0.0, 0.2, 0.6])
    bounds = risk_bounds(SVR(epsilon=1.0).fit(X, y), X, y, exact=True)
    assert bounds.leave_one_out.losses == pytest.approx([0.4, 0.1, 0.5])
    assert bounds.leave_one_out.undetermined.all()
    assert not bounds.proven


@pytest.mark.parametrize("name", [name for name in MACHINES if "SVC" in name])
def test_the_last_of_its_class_is_an_error(name):
    """Without it there is one class, and that is predicted."""
    X = np.array([[-1.0], [-2.0], [-3.0], [2.0]])
    y = np.array([0, 0, 0, 1])
    bounds = risk_bounds(MACHINES[name](C=10.0, tol=1e-8).fit(X, y), X, y, exact=True)
    assert bounds.leave_one_out.losses.tolist() == [0.0, 0.0, 0.0, 1.0]
    assert bounds.allowed[3] == 1


# ---- xi-alpha -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@every_intercept
def test_xi_alpha_is_its_formula(loss, intercept):
    """2 alpha R^2 + xi >= 1 with R^2 = max k(x, x) - k(x, z); K_ii + 1 or K_ii in place of 2 R^2 if b is not free."""
    X, y, _ = make_data("SVC", n=60, seed=4)
    model = SVC(C=2.0, gamma=0.2, loss=loss, intercept=intercept, tol=1e-9).fit(X, y)
    K = rbf_kernel(X, X, 0.2)
    alpha = np.zeros(60)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    xi = np.maximum(0.0, 1.0 - y * model.decision_function(X))
    R2 = (1.0 - K)[alpha > 0].max()
    d = 1.0 / (2.0 * 2.0) if loss == "squared_hinge" else 0.0
    rho = {"free": 2.0 * R2 + d, "regularised": 2.0, "none": 1.0}[intercept]
    flagged = rho * alpha + xi >= 1.0
    bounds = risk_bounds(model, X, y, exact=False)
    np.testing.assert_array_equal(bounds.allowed, flagged)
    assert bounds.xi_alpha == flagged.mean()
    assert bounds.proven
    assert 0.05 < bounds.xi_alpha < 0.95
    assert bounds.training == (y * model.decision_function(X) <= 0).mean()


def test_xi_alpha_does_not_depend_on_the_origin():
    """Samples moved by a constant: the same machine but for b, and the same bound; distances, not dot products."""
    X, y, _ = make_data("SVC", n=40, seed=11)
    model = SVC(kernel="linear", C=0.3, tol=1e-9)
    near, far = (risk_bounds(model.fit(Z, y), Z, y, exact=False) for Z in (X, X + 30.0))
    np.testing.assert_array_equal(near.allowed, far.allowed)
    assert near.radius_margin == pytest.approx(far.radius_margin, rel=1e-4)
    assert near.xi_alpha < 0.9


def test_precision_recall_and_f1_are_those_of_flagged_errors():
    """As if every flagged sample were predicted wrong; weights count; the second class is the positive one."""
    X, y, weight = make_data("SVC", n=60, seed=5, weighted=True)
    y = np.where(y > 0, "yes", "no")
    model = SVC(gamma=0.2).fit(X, y, sample_weight=weight)
    bounds = risk_bounds(model, X, y, weight, exact=False)
    predicted = np.where(bounds.allowed == 1, np.where(y == "yes", "no", "yes"), y)
    asked = {"pos_label": "yes", "sample_weight": weight}
    assert bounds.precision == pytest.approx(precision_score(y, predicted, **asked))
    assert bounds.recall == pytest.approx(recall_score(y, predicted, **asked))
    assert bounds.f1 == pytest.approx(f1_score(y, predicted, **asked))
    assert bounds.xi_alpha == pytest.approx(np.average(predicted != y, weights=weight))


@every_intercept
def test_regression_bound_is_its_formula(intercept):
    """|f - y| + rho |a| of each sample."""
    X, y, _ = make_data("SVR", n=50, seed=6)
    model = SVR(C=0.5, gamma=0.3, intercept=intercept, tol=1e-9).fit(X, y)
    a = np.zeros(50)
    a[model.support_] = np.abs(model.dual_coef_[0])
    R2 = (1.0 - rbf_kernel(X, X, 0.3))[a > 0].max()
    rho = {"free": 2.0 * R2, "regularised": 2.0, "none": 1.0}[intercept]
    bounds = risk_bounds(model, X, y, exact=False)
    expected = np.abs(y - model.predict(X)) + rho * a
    np.testing.assert_allclose(bounds.allowed, expected, rtol=1e-9)
    assert bounds.xi_alpha == pytest.approx(expected.mean())
    assert (bounds.precision, bounds.radius_margin, bounds.kind) == (None, None, "regression")


@pytest.mark.parametrize("kind", ["SVC", "SVR", "LinearSVC", "LinearSVR"])
@every_weighting
def test_scikit_learn_is_read(kind, weighted):
    """The same numbers for scikit-learn's model as for ours of the same problem."""
    X, y, weight = make_data(kind.replace("Linear", ""), n=50, weighted=weighted, seed=7)
    linear = "Linear" in kind
    ours = getattr(maxmargin, kind)(C=0.7, tol=1e-8, **({"intercept": "regularised"} if linear else {"gamma": 0.3}))
    theirs = getattr(sklearn.svm, kind)(C=0.7, tol=1e-8, **({"max_iter": 10**6} if linear else {"gamma": 0.3}))
    found, expected = (
        risk_bounds(model.fit(X, y, sample_weight=weight), X, y, weight, exact=True) for model in (theirs, ours)
    )
    assert found.n == (50 if weight is None else 46)
    assert found.xi_alpha == pytest.approx(expected.xi_alpha, rel=1e-3)
    assert found.leave_one_out.error == pytest.approx(expected.leave_one_out.error, rel=1e-3)
    assert found.f1 == expected.f1
    if "SVC" in kind:
        assert found.radius_margin == pytest.approx(expected.radius_margin, rel=1e-3)


# ---- the theorems -------------------------------------------------------------------------------------------


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


# ---- many classes -------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_many_classes_are_bounded_by_their_parts(multi_class):
    """A sample counts if it does in any part; the vote of n refits is wrong no more often."""
    X, y = load_wine(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[::4, :4], y[::4]

    def make():
        return SVC(C=1.0, multi_class=multi_class, gamma=0.2, tol=1e-7)

    model = make().fit(X, y)
    bounds = risk_bounds(model, X, y, exact=True)
    assert len(bounds.parts) == 3
    assert bounds.n == len(y)
    flagged = np.any([part.allowed == 1 for part in bounds.parts], axis=0)
    assert bounds.xi_alpha == flagged.mean()
    assert bounds.training == (model.predict(X) != y).mean()
    assert bounds.radius_margin == pytest.approx(sum(part.radius_margin * part.n for part in bounds.parts) / bounds.n)
    assert bounds.leave_one_out is None
    assert "parts" in str(bounds)
    rest = [np.arange(len(y)) != t for t in range(len(y))]
    wrong = [make().fit(X[keep], y[keep]).predict(X[~keep])[0] != y[~keep][0] for keep in rest]
    assert 0 < np.mean(wrong) <= bounds.xi_alpha
    assert not np.any(np.array(wrong) & ~flagged)
    assert all(part.leave_one_out.error <= part.xi_alpha for part in bounds.parts)


def test_linear_classes_are_parts_too():
    """LinearSVC: each class against the rest."""
    X, y = make_blobs(60, centers=3, cluster_std=2.0, random_state=0)
    bounds = risk_bounds(LinearSVC(C=0.1).fit(X, y), X, y)
    assert len(bounds.parts) == 3
    assert all(part.n == 60 and part.leave_one_out is not None for part in bounds.parts)
    assert max(part.xi_alpha for part in bounds.parts) <= bounds.xi_alpha


# ---- time, and what it costs --------------------------------------------------------------------------------


def test_exact_can_be_declined():
    """exact=False makes no refit and says nothing about it."""
    X, y, _ = make_data("SVC", n=40)
    bounds = risk_bounds(SVC().fit(X, y), X, y, exact=False)
    assert bounds.leave_one_out is None
    assert bounds.notes == ()


def make_long():
    """A problem whose refits take many seconds in all."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1500, 8)), rng.integers(0, 2, 1500)
    return SVC(C=10.0, tol=1e-3).fit(X, y), X, y


def test_auto_gives_up_what_would_take_too_long():
    """The sentence says how long it would take; everything else is there."""
    model, X, y = make_long()
    bounds = risk_bounds(model, X, y, max_seconds=0.7)
    assert bounds.leave_one_out is None
    assert any(note.startswith("Exact leave-one-out was not") for note in bounds.notes)
    assert 0 < bounds.xi_alpha <= 1
    assert bounds.radius_margin > 0


def test_the_limit_ends_what_was_asked_for():
    """exact=True goes on to the limit, and the note says how far it came."""
    model, X, y = make_long()
    bounds = risk_bounds(model, X, y, exact=True, max_seconds=1.0)
    assert bounds.leave_one_out is None
    assert any("max_seconds came after" in note or "no time" in note for note in bounds.notes)


def test_without_time_for_distances_the_ball_serves(monkeypatch):
    """|x - z| <= 2 R in a ball: the bound is looser, and still a bound."""
    X, y, _ = make_data("SVC", n=60, seed=10)
    model = SVC(C=1.0, gamma=0.2, tol=1e-7).fit(X, y)
    patient = risk_bounds(model, X, y, exact=True)
    monkeypatch.setattr(stability, "TILE_ENTRIES", 60)  # a row at a time, and the clock is looked at before the second
    monkeypatch.setattr(stability, "time", SimpleNamespace(perf_counter=lambda: np.inf))
    hasty = risk_bounds(model, X, y, exact=False)
    assert patient.notes == ()
    assert any("from the ball" in note for note in hasty.notes)
    assert (hasty.allowed >= patient.allowed).all()
    assert patient.leave_one_out.error <= patient.xi_alpha < hasty.xi_alpha
    assert hasty.proven


@pytest.mark.parametrize("kind", ["kernel", "linear"])
def test_ctrl_c_ends_it(kind):
    """KeyboardInterrupt passes through, from the refits and from the search for duals; the handler is put back."""
    model, X, y = make_long()
    if kind == "linear":
        X = X * 10.0 ** np.arange(8)
        with pytest.warns(ConvergenceWarning):
            model = sklearn.svm.LinearSVC(loss="hinge", C=100.0, max_iter=2).fit(X, y)
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        risk_bounds(model, X, y, exact=True, max_seconds=600)
    timer.join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_fit_that_was_never_judged_has_no_losses():
    """Ctrl-C long ago leaves no time for a certificate, so there are no scores to count errors by."""
    X, y, _ = make_data("SVC", n=30)
    model = SVC(C=1.0, gamma=0.5).fit(X, y)
    (posed,) = bounds_of_model.pose_model(model, X, y, None, 1.0, Interrupt())
    interrupt = Interrupt()
    interrupt.raised, interrupt.seen = True, time.perf_counter() - 1e3
    terms = leave_one_out.RefitBudget(time.perf_counter() + 1e3, False, interrupt)
    reach = stability.ScoreShiftBound(np.full(30, 2.0), True)
    found, sentence = leave_one_out.leave_each_out(posed.problem, posed.point, np.ones(30), reach, terms)
    assert found is None
    assert sentence.startswith("Exact leave-one-out was not computed")


# ---- what is said -------------------------------------------------------------------------------------------


def test_the_table_reads_well():
    """One line a number, the kind and the gap first."""
    X, y, _ = make_data("SVC", n=40)
    bounds = risk_bounds(SVC().fit(X, y), X, y)
    lines = str(bounds).splitlines()
    assert lines[0].startswith("classification, 40 samples, relative gap")
    assert [line.split("  ")[1] for line in lines[1:]] == [
        "training error", "xi-alpha bound", "", "radius-margin", "leave-one-out, exact",
    ]  # fmt: skip
    assert f"{bounds.leave_one_out.error:.4g}" in lines[-1]
    X, y, _ = make_data("SVR", n=40)
    assert "training mean absolute error" in str(risk_bounds(SVR().fit(X, y), X, y))


def test_a_model_far_from_its_optimum_is_told():
    """The bounds are about the optimum."""
    X, y, _ = make_data("SVC", n=60)
    with pytest.warns(ConvergenceWarning):
        model = SVC(C=100.0, max_iter=3).fit(X, y)
    bounds = risk_bounds(model, X, y)
    assert bounds.certificate.relative_gap > 1e-3
    assert bounds.notes[0].startswith("The model is not at its optimum")
    assert bounds.leave_one_out.error == risk_bounds(SVC(C=100.0).fit(X, y), X, y).leave_one_out.error


def test_refits_that_stall_are_told(monkeypatch):
    """A gap that the solver cannot close is said, and not hidden in a mean."""
    X, y, _ = make_data("SVC", n=40)
    model = SVC(C=100.0).fit(X, y)
    monkeypatch.setattr(leave_one_out, "REFIT_TOL", 0.5)
    monkeypatch.setattr(bounds_of_model, "OPTIMAL_GAP", 1e-9)
    bounds = risk_bounds(model, X, y, exact=True)
    assert bounds.leave_one_out.gap > 1e-9
    assert "Exact leave-one-out is not so exact" in bounds.notes[-1]
    assert f"{bounds.leave_one_out.gap:.2g}" in bounds.notes[-1]


def test_kernels_that_are_not_known_are_told():
    """A matrix may not be positive semidefinite; sigmoid is seen not to be."""
    X, y, _ = make_data("SVC", n=40)
    K = rbf_kernel(X, X, 0.3)
    given = risk_bounds(SVC(kernel="precomputed").fit(K, y), K, y)
    known = risk_bounds(SVC(gamma=0.3).fit(X, y), X, y)
    assert given.xi_alpha == known.xi_alpha
    assert given.radius_margin == pytest.approx(known.radius_margin, rel=1e-4)
    assert "not known" in str(given)
    sigmoid = risk_bounds(SVC(kernel="sigmoid", coef0=0.5, gamma=0.5).fit(X, y), X, y)
    assert not sigmoid.proven
    assert (sigmoid.radius_margin, sigmoid.leave_one_out) == (None, None)
    assert "not positive semidefinite" in str(sigmoid)


def test_risk_machines_with_piecewise_losses_are_taken():
    """Least squares has a row too: its leave-one-out is that of the hat matrix."""
    X, y, _ = make_data("SVR", n=40)
    bounds = risk_bounds(RiskRegressor("least_squares", C=2.0, tol=1e-9).fit(X, y), X, y, exact=True)
    Z = np.column_stack([X, np.ones(40)])
    hat = Z @ np.linalg.solve(2.0 * Z.T @ Z + np.diag([1.0, 1.0, 1.0, 0.0]), 2.0 * Z.T)
    residuals = (y - hat @ y) / (1.0 - np.diag(hat))
    np.testing.assert_allclose(bounds.leave_one_out.losses, np.abs(residuals), atol=1e-3)
    assert bounds.proven
    assert (np.abs(residuals) <= bounds.allowed).all()


ERRORS = [
    ("a string", TypeError, "risk_bounds takes a fitted SVC.*got str", lambda m, X, y: risk_bounds("model", X, y)),
    ("NuSVC", TypeError, "got NuSVC", lambda m, X, y: risk_bounds(NuSVC().fit(X, y), X, y)),
    ("another", TypeError, "got LogisticRegression", lambda m, X, y: risk_bounds(LogisticRegression(), X, y)),
    ("unfitted", NotFittedError, "not fitted", lambda m, X, y: risk_bounds(SVC(), X, y)),
    ("exact", ValueError, "exact must be True, False or 'auto', got 'yes'",
     lambda m, X, y: risk_bounds(m, X, y, exact="yes")),
    ("no time", ValueError, "max_seconds must be a positive number, got 0",
     lambda m, X, y: risk_bounds(m, X, y, max_seconds=0)),
    ("time as text", ValueError, "max_seconds must be a positive number, got '1'",
     lambda m, X, y: risk_bounds(m, X, y, max_seconds="1")),
    ("y missing", ValueError, "y is needed", lambda m, X, y: risk_bounds(m, X, None)),
    ("other rows", ValueError, "10 samples.*40", lambda m, X, y: risk_bounds(m, X[:10], y[:10])),
    ("unknown label", ValueError, "label 7", lambda m, X, y: risk_bounds(m, X, np.where(np.arange(40) == 3, 7, y))),
    ("smooth loss", ValueError, "piecewise loss of one score, and 'logistic'",
     lambda m, X, y: risk_bounds(RiskClassifier("logistic").fit(X, y), X, y)),
    ("all classes at once", ValueError, "piecewise loss of one score",
     lambda m, X, y: risk_bounds(LinearSVC(multi_class="crammer_singer").fit(X, y), X, y)),
    ("l1", ValueError, r"penalty \|w\|\^2 / 2", lambda m, X, y: risk_bounds(LinearSVC(penalty="l1").fit(X, y), X, y)),
    ("weights", ValueError, "sample_weight", lambda m, X, y: risk_bounds(m, X, y, np.ones(3))),
]  # fmt: skip


@pytest.mark.parametrize(("error", "sentence", "call"), [row[1:] for row in ERRORS], ids=[row[0] for row in ERRORS])
def test_errors_are_clear(error, sentence, call):
    """What is wrong, by name."""
    X, y, _ = make_data("SVC", n=40)
    model = SVC().fit(X, y)
    with pytest.raises(error, match=sentence):
        call(model, X, y)


# ---- the picture and the chapter ----------------------------------------------------------------------------


def draw(**others):
    """Axes with the bounds of three fits, and the bounds."""
    X, y, _ = make_data("SVC", n=30)
    Cs = [1.0, 0.5, 10.0]
    bounds = [risk_bounds(SVC(C=C).fit(X, y), X, y) for C in Cs]
    return plot_risk_bounds(Cs, bounds, ax=Drawing().subplots(), others=others), bounds


def test_the_picture_has_every_curve():
    """By name and in the order of C, a ring at the least of each, and zero errors at half a sample."""
    ax, bounds = draw(test=np.array([0.3, 0.2, 0.0]))
    curves = {line.get_label(): line for line in ax.get_lines() if not line.get_label().startswith("_")}
    assert list(curves) == ["xi-alpha bound", "radius-margin", "leave-one-out", "training", "test"]
    xi_alpha = [bounds[k].xi_alpha for k in (1, 0, 2)]
    np.testing.assert_allclose(curves["xi-alpha bound"].get_xydata(), np.column_stack([[0.5, 1.0, 10.0], xi_alpha]))
    np.testing.assert_allclose(curves["test"].get_ydata(), [0.2, 0.3, 0.5 / 30])
    rings = [line.get_xydata()[0].tolist() for line in ax.get_lines() if len(line.get_xdata()) == 1]
    assert len(rings) == 4
    assert rings[-1] == [10.0, 0.5 / 30]


def test_the_picture_of_regression_has_no_radius():
    """Curves that no bound has are left out."""
    X, y, _ = make_data("SVR", n=30)
    bounds = [risk_bounds(SVR(C=C).fit(X, y), X, y, exact=False) for C in (0.1, 1.0)]
    ax = plot_risk_bounds([0.1, 1.0], bounds, ax=Drawing().subplots())
    labels = [line.get_label() for line in ax.get_lines() if not line.get_label().startswith("_")]
    assert labels == ["xi-alpha bound", "training"]
    assert ax.get_ylabel() == "mean absolute error"


def test_the_picture_refuses_what_does_not_fit():
    """Lengths must agree, and a logarithm needs positive numbers."""
    _, bounds = draw()
    with pytest.raises(ValueError, match=r"values must be a list of positive numbers, got \[0.0, 1.0, 2.0\]"):
        plot_risk_bounds([0, 1, 2], bounds)
    with pytest.raises(ValueError, match="bounds must be as many as values, got 3 for 2"):
        plot_risk_bounds([1, 2], bounds)
    with pytest.raises(ValueError, match=r"others\['test'\] must have the shape \(3,\)"):
        plot_risk_bounds([1, 2, 3], bounds, others={"test": [0.1]})


def test_choices_are_the_first_least():
    """Of several values with the least criterion the first is chosen: the most regularised."""
    _, bounds = draw()
    survey = Survey(Grid("moons", "hinge", "C", np.array([1.0, 2.0, 3.0])), bounds, [0.2, 0.1, 0.1], [0.3, 0.2, 0.25])
    assert survey.choose("5-fold") == 1
    assert survey.choose("test") == 1
    assert survey.choose("xi-alpha") == int(np.argmin([each.xi_alpha for each in bounds]))
    columns, rows = (getattr(tabulate_choices([survey]), part) for part in ("columns", "rows"))
    assert dict(zip(columns, rows[0], strict=True))["5-fold: test error"] == 0.2
    assert dict(zip(columns, rows[0], strict=True))["best: chooses"] == 2.0


def test_violations_are_counted():
    """None where there is a theorem; and the count is able to find one where there is none."""
    assert count_violations(("squared_hinge", "free", "unequal"), 4)[1:3] == (0, 0)
    assert count_violations(("epsilon_insensitive", "free", "unequal"), 12).determined > 0
    assert [is_proven(case) for case in CASES].count(False) == 2


@pytest.mark.slow
def test_the_examples_of_the_documentation_run(capsys):
    """Every block of code of docs/risk.md, and what the first of them prints."""
    text = DOCS.read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(blocks) == 3
    for block in blocks:
        exec(compile(block, str(DOCS), "exec"), {})
    plt.close("all")
    printed = capsys.readouterr().out.splitlines()
    shown = [line[4:] for line in text.splitlines() if line.startswith("    ")]
    assert printed[1:6] == shown[1:6]  # but for the gap, in the line before
    assert "7.249" in printed[9]
    assert "3.699" in printed[8]


@pytest.mark.slow
def test_the_chapter_is_written():
    """As many ticks as announced, every block named, and the sentences hold the numbers of the tables."""
    told = []
    chapter = risk.write_chapter(True, told.append)
    assert len(told) == risk.count_ticks(True)
    names = [block.name for block in chapter.blocks if hasattr(block, "name")]
    assert names == ["risk_choices", "risk_breast_cancer", "risk_moons", "risk_sine", "risk_theorems", "risk_grids"]
    grids = next(block for block in chapter.blocks if getattr(block, "name", "") == "risk_grids")
    assert all(len(row) == len(grids.columns) for row in grids.rows)
    assert len(grids.rows) == sum(len(grid.values) for grid in risk.list_grids(True))
