"""Certificates of hard but honest problems: separable classes with a large C, data far from the origin, a date.

Each of these fits once claimed a gap that was not there. The optimum is known from the same problem where it is easy:
moved to the origin, which changes b alone, or scaled, which changes P by a factor.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from maxmargin import SVC, SVR, LinearSVC, RiskRegressor, Status, certify
from maxmargin.certificates.certificate import judge, judge_with_refinement
from maxmargin.model.features import Gram
from maxmargin.model.kernels import RBF, Kernel, Linear, Polynomial
from maxmargin.model.losses import Absolute, Hinge, SquaredHinge
from maxmargin.model.problem import Point, Problem
from maxmargin.runtime.rounding import UNIT, Enclosed, add_enclosed, bound_sum
from maxmargin.solvers.best_certified import write_outwards
from maxmargin.solvers.neighbours import find_neighbours, scale_to_margin

rng = np.random.default_rng(0)
Z = rng.normal(size=(60, 2))
LABELS = np.where(Z[:, 0] + 0.3 * rng.normal(size=60) > 0, 1, -1)
PIXELS, DIGITS = (part[load_digits().target < 2] for part in load_digits(return_X_y=True))
APART = np.vstack([rng.normal(size=(30, 2)) + 4.0, rng.normal(size=(30, 2)) - 4.0])
SIDES = np.repeat([1, -1], 30)


def shift_exactly(X: np.ndarray, offset: float) -> np.ndarray:
    """(X + offset) - offset: the data as float64 holds them at the offset, moved back without another rounding."""
    return (X + offset) - offset


def check_around(certificate, optimum, slack: float = 1e-9) -> None:
    """dual <= P* <= primal, for an optimum that is known to lie between the two numbers of another certificate."""
    assert certificate.dual <= optimum.primal * (1.0 + slack)
    assert certificate.primal >= optimum.dual * (1.0 - slack)
    assert certificate.gap >= 0.0


HARD = {
    "pixels x 16, C 1e8, LinearSVC": (LinearSVC(loss="hinge", intercept="free", C=1e8), 16.0),
    "pixels x 16, C 1e8": (SVC(kernel="linear", C=1e8), 16.0),
    "pixels x 1000, C 1e6": (SVC(kernel="linear", C=1e6), 1000.0),
}


@pytest.mark.parametrize(("model", "scale"), HARD.values(), ids=HARD)
def test_separable_classes(model, scale):
    """w of X times s is w / s while no dual is near C, so P times s^2 is that of the pixels themselves."""
    optimum = SVC(kernel="linear", C=1e3, tol=1e-9).fit(PIXELS / 16.0, DIGITS).certificate_.primal / 256.0
    certificate = model.fit(scale * PIXELS, DIGITS).certificate_
    assert model.result_.status is Status.CONVERGED
    assert certificate.dual * scale**2 <= optimum * (1 + 1e-9)
    assert certificate.primal * scale**2 == pytest.approx(optimum, rel=1e-4)


def test_separable_classes_far_apart():
    """X times 1e6 and C = 1e6: the hinges that rounding leaves would be ten thousand times the optimum."""
    optimum = SVC(kernel="linear", C=1e6, tol=1e-10).fit(APART, SIDES).certificate_.primal
    certificate = SVC(kernel="linear", C=1e6).fit(1e6 * APART, SIDES).certificate_
    assert certificate.primal * 1e12 == pytest.approx(optimum, rel=1e-5)
    assert certificate.dual * 1e12 <= optimum * (1 + 1e-9)


def test_a_polynomial_kernel_of_raw_pixels():
    """Kernel values of 1e10, C = 1000: k(s x, s z) is s^6 k(x, z), so P is that of small pixels over s^6."""
    small = SVC(kernel="poly", gamma=1.0, C=1e12, tol=1e-8).fit(PIXELS / 16.0, DIGITS).certificate_
    raw = SVC(kernel="poly", gamma=1.0, C=1e3).fit(PIXELS, DIGITS).certificate_
    assert raw.primal * 16.0**6 == pytest.approx(small.primal, rel=1e-4)
    assert raw.dual * 16.0**6 <= small.primal * (1 + 1e-9)


@pytest.mark.parametrize("offset", [1e6, 1e7, 1e8])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_kernels_of_distances_far_from_the_origin(kernel, offset, form):
    """Gaussian and Laplacian kernels do not see translations, whatever formula evaluates them."""
    near = SVC(kernel=kernel, gamma=0.3, tol=1e-9).fit(shift_exactly(Z, offset), LABELS).certificate_
    model = SVC(kernel=kernel, gamma=0.3).fit(form(Z + offset), LABELS)
    assert model.result_.status is Status.CONVERGED
    check_around(model.certificate_, near)
    assert model.certificate_.primal == pytest.approx(near.primal, rel=2e-5)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_data_in_two_places(form):
    """At +-1e6 no shift helps; samples of different places have a kernel value of 0."""
    far = np.where(np.arange(60) % 2, 1e6, -1e6)[:, None]
    X = Z + far
    exact = X - far
    K = np.exp(-0.3 * ((exact[:, None] - exact) ** 2).sum(axis=2)) * (far == far.T)
    known = SVC(kernel="precomputed", tol=1e-9).fit(K, LABELS).certificate_
    model = SVC(gamma=0.3).fit(form(X), LABELS)
    check_around(model.certificate_, known)
    assert model.certificate_.primal == pytest.approx(known.primal, rel=2e-5)


def test_the_limit_of_float64_is_a_status():
    """A tol below what rounding allows: the message says what is certain, and what to do; nothing more is claimed."""
    with pytest.warns(ConvergenceWarning, match=r"limit of float64.*it is certain that the optimum lies between"):
        model = SVR(tol=1e-17).fit(Z, Z[:, 0] + 0.1 * Z[:, 1])
    assert model.result_.status is Status.ROUNDING_LIMIT
    assert model.fit_status_ == 1
    assert model.tol < model.certificate_.relative_gap < 1e-10
    assert 0.0 < model.certificate_.rounding <= model.certificate_.gap


def test_a_closer_look_is_sharper():
    """In twice the precision P and D are the same but for rounding, and less of the gap is there for it."""
    X = 1e3 * rng.normal(size=(200, 3)) + 1e5
    y = np.where(rng.uniform(size=200) > 0.5, 1.0, -1.0)
    problem = Problem(Gram.from_data(Polynomial(1, gamma=1.0), X), y, np.ones(200), Hinge())
    point = Point(problem.feasible(y * rng.uniform(size=200)), 0.5)
    plain, close = judge(problem, point), judge(problem, point, closely=True)
    assert close.rounding < 0.01 * plain.rounding
    by_weights = judge(replace(problem, features=Gram.from_data(Linear(), X)), point)  # the same products, through w
    assert by_weights.rounding < 0.01 * plain.rounding
    assert plain.dual <= close.dual <= close.primal <= plain.primal
    assert close.gap <= plain.gap
    far = Point(problem.feasible(1e-9 * y), 0.5)  # a gap beside which rounding is nothing: the plain look is enough
    assert judge_with_refinement(problem, far) == judge(problem, far)


def test_certify_is_as_sharp_as_a_fit():
    """Where rounding hides a part of the gap, certify looks as closely as the fit did."""
    X = rng.uniform(0.0, 150.0, (300, 4))
    y = (X[:, 0] + 20.0 * rng.normal(size=300) > 75.0).astype(int)
    model = SVC(C=1e5, gamma=2.0, tol=1e-6).fit(X, y)
    assert model.result_.converged
    assert certify(model, X, y).relative_gap <= 1.01e-6


def test_stretching_leaves_no_loss():
    """Every margin is 1 or more afterwards, by a hair; other losses, and classes that overlap, are left alone."""
    features = Gram.from_data(Linear(), APART)
    problem = Problem(features, SIDES.astype(float), np.full(60, 1e10), Hinge())
    point = SVC(kernel="linear", C=1e10, tol=1e-6).fit(APART, -SIDES).result_.point  # the first class is +1
    found = scale_to_margin(problem, point._replace(b=point.b * (1 - 1e-12)))
    margins = SIDES * (features.scores(found.coef) + found.b)
    assert 1.0 <= margins.min() < 1.0 + 1e-9
    assert judge(problem, found).primal < 1.0
    assert scale_to_margin(problem, Point(np.zeros(60))) is None
    assert scale_to_margin(Problem(features, SIDES.astype(float), np.ones(60), SquaredHinge()), found) is None


def test_targets_that_are_all_the_same():
    """The optimum is 0 and is found as exactly that: b is one of the targets, not their rounded mean."""
    problem = Problem(Gram.from_data(RBF(gamma=1.0), Z), np.full(60, 0.1), np.ones(60), Absolute())
    missed = Point(np.zeros(60), 0.1 * (1 + 2**-52))
    assert judge(problem, missed).primal > 0.0
    best = min((judge(problem, each) for each in find_neighbours(problem, missed)), key=lambda each: each.primal)
    assert best.primal == best.dual == best.gap == 0.0


def test_enclosed_numbers():
    """low <= value - error and value + error <= high; gamma_k is infinite where k u reaches 1."""
    number = Enclosed(3.0, 1e-3)
    assert number.low <= 3.0 - 1e-3 < 3.0 + 1e-3 <= number.high
    assert bound_sum(0) == 0.0
    assert bound_sum(10) > 10 * 2.0**-53
    assert bound_sum(2.0**53) == np.inf


def test_bounds_hold_at_powers_of_two():
    """There half a unit in the last place below is twice one above; compared as fractions."""
    rng = np.random.default_rng(0)
    for k in range(-40, 40):
        number = Enclosed(2.0**k * rng.choice([-1.0, 1.0]), 2.0**k * UNIT * rng.uniform(0.1, 2.0))
        value, error = Fraction(number.value), Fraction(number.error)
        assert Fraction(number.low) <= value - error
        assert value + error <= Fraction(number.high)


def test_sums_of_enclosed_numbers():
    """The exact sum of all exact values lies within the error of the sum."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        parts = [Enclosed(*each) for each in rng.normal(size=(4, 2)) * 10.0 ** rng.integers(-20, 20, (4, 2))]
        parts = [each._replace(error=abs(each.error)) for each in parts]
        total = add_enclosed(*parts)
        for side in (-1, 1):
            exact = sum(Fraction(each.value) + side * Fraction(each.error) for each in parts)
            assert abs(exact - Fraction(total.value)) <= Fraction(total.error)


def test_printed_bounds_are_rounded_outwards():
    rng = np.random.default_rng(2)
    for x in rng.normal(size=200) * 10.0 ** rng.integers(-12, 12, 200):
        low, high = write_outwards(x, x)
        assert Fraction(low) <= Fraction(x) <= Fraction(high)
        assert float(low) == pytest.approx(x, rel=2e-7)
        assert float(high) == pytest.approx(x, rel=2e-7)


def test_the_limit_says_nothing_of_the_optimum_where_the_kernel_is_indefinite():
    """D is no bound there: the message tells how large rounding is, and no interval."""
    K = Z @ np.diag([1.0, -0.5]) @ Z.T
    with pytest.warns(ConvergenceWarning) as caught:
        model = SVC(kernel="precomputed", C=0.01, tol=1e-17).fit(K, LABELS)
    assert model.certificate_.convex is False
    assert model.result_.status is Status.ROUNDING_LIMIT
    assert "it is certain" not in str(caught[0].message)


@dataclass(frozen=True)
class InverseMultiquadric(Kernel):
    """1 / sqrt(1 + |x - z|^2), of which nothing is said but its values."""

    name = "inverse_multiquadric"
    psd = None

    def evaluate(self, A, B):
        return 1.0 / np.sqrt(1.0 + np.maximum(A.norms[:, None] + B.norms - 2.0 * A.dots(B), 0.0))

    def diagonal(self, A):
        return np.ones(A.n)


def test_a_kernel_of_the_user_s_own_that_may_be_indefinite():
    """Its values count as exact, and their sums are bounded by the largest of them."""
    certificate = SVC(kernel=InverseMultiquadric(), tol=1e-6).fit(Z, LABELS).certificate_
    assert certificate.relative_gap <= 1e-6
    assert certificate.convex is None
    assert 0.0 < certificate.rounding < 1e-9
    features = Gram.from_data(InverseMultiquadric(), Z)
    assert np.abs(features.form()).max() <= features.sizes.min() ** 2


def test_an_ill_conditioned_metric():
    """Targets along the weak eigenvector of M; the optimum of one sample follows from two equations, as fractions."""
    for seed in (12, 28, 43, *range(60, 66)):
        rng = np.random.default_rng(seed)
        angle, condition = rng.uniform(0, 3), 10.0 ** rng.uniform(5, 10)
        V = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        M = (V * [1.0, 1.0 / condition]) @ V.T
        M[0, 1] = M[1, 0]
        C, (p, q) = min(condition, 1e9), V[:, 1].tolist()
        model = RiskRegressor("multivariate", M=M, C=C, intercept="none", tol=1e-3).fit([[1.0]], [[p, q]])
        first, mixed, second, c, p, q = map(Fraction, (M[0, 0], M[0, 1], M[1, 1], C, p, q))
        A, B, D = 1 + c * first, c * mixed, 1 + c * second  # (1 + c M) r = y for the residual r = y - w
        u, v = (D * p - B * q) / (A * D - B * B), (A * q - B * p) / (A * D - B * B)
        optimum = c / 2 * (p * (first * u + mixed * v) + q * (mixed * u + second * v))
        certificate = model.certificate_
        assert Fraction(certificate.dual) <= optimum <= Fraction(certificate.primal)


def test_a_metric_that_is_indefinite_by_rounding():
    """An eigenvalue of -5e-13 is taken as zero, in the loss too: otherwise P has no minimum over a free intercept."""
    Y = np.random.default_rng(0).normal(size=(60, 2))
    model = RiskRegressor("multivariate", M=np.diag([1.0, -5e-13])).fit(Z, Y)
    assert model.certificate_.gap >= 0.0
    alone = RiskRegressor("multivariate", M=np.diag([1.0, 0.0])).fit(Z, Y)
    assert model.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=1e-12)
    with pytest.raises(ValueError, match="positive semidefinite"):
        RiskRegressor("multivariate", M=np.diag([1.0, -1e-9])).fit(Z, Y)


@pytest.mark.parametrize("model", [SVC(kernel="linear", C=1e12), LinearSVC(loss="hinge", C=1e12)])
def test_a_large_cost_is_the_one_that_was_asked_for(model):
    """P at coef_ and intercept_ with C = 1e12 itself; certify judges another library's machine by the same C."""
    y = np.where(np.arange(60) % 2, 1, -1)
    model.fit(Z, y)
    margins = y * (Z @ np.ravel(model.coef_) + model.intercept_[0])
    value = 0.5 * float(np.sum(np.square(model.coef_))) + 1e12 * np.maximum(0.0, 1.0 - margins).sum()
    assert model.certificate_.primal == pytest.approx(value, rel=1e-9)
    with pytest.warns(ConvergenceWarning):
        theirs = sklearn.svm.LinearSVC(loss="hinge", C=1e12, max_iter=10).fit(Z, y)
    plain, weighted = certify(theirs, Z, y), certify(theirs, Z, y, np.full(60, 1.0000001))
    assert weighted.primal == pytest.approx(plain.primal, rel=1e-6)


def test_balanced_classes_of_many_weighted_samples():
    """The weight of a class is a sum of n weights: added up one after the other it would be off by n roundings."""
    n, rng = 300_000, np.random.default_rng(0)
    X = rng.integers(-8, 9, (n, 1)).astype(float)
    y = np.where(rng.random(n) < 0.01, 1, -1)
    X[y == 1] += 2.0
    model = LinearSVC(loss="hinge", class_weight="balanced", tol=1e-6).fit(X, y, sample_weight=np.full(n, 0.3))
    w, b, weight = Fraction(float(model.coef_[0, 0])), Fraction(float(model.intercept_[0])), Fraction(0.3)
    value = w * w / 2
    for (x, side), count in zip(*np.unique(np.column_stack([X[:, 0], y]), axis=0, return_counts=True), strict=True):
        c = weight * Fraction(n, 2 * int((y == side).sum()))
        value += int(count) * c * max(Fraction(0), 1 - int(side) * (w * Fraction(x) + b))
    assert value <= Fraction(model.certificate_.primal)


def test_kernels_of_users_are_not_known_to_be_definite():
    """Unless they say so: cos(3 |x - z|) has negative eigenvalues, and the certificate tells."""

    @dataclass(frozen=True)
    class Wave(Kernel):
        name = "wave"

        def evaluate(self, A, B):
            return np.cos(3.0 * np.sqrt(np.maximum(A.norms[:, None] + B.norms - 2.0 * A.dots(B), 0.0)))

        def diagonal(self, A):
            return np.ones(A.n)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SVC(kernel=Wave()).fit(Z, LABELS)
    assert model.certificate_.convex is False
