"""The judge: it repeats no one's word, and it catches a point that belongs to another problem."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from reference_problems import (
    INTERCEPTS,
    ROW_LOSSES,
    inner_duals,
    make_nu_classification,
    make_problem,
    random_duals,
    say,
)

from maxmargin.certificates.certificate import Certificate, judge, worst
from maxmargin.certificates.term_sums import measure_violation
from maxmargin.model.features import Gram
from maxmargin.model.kernels import RBF, Linear, Polynomial, Precomputed, Sigmoid
from maxmargin.model.losses import EpsilonInsensitive, Hinge, Logistic
from maxmargin.model.problem import Point, Problem
from maxmargin.solvers.loop import solve

every_row_loss = pytest.mark.parametrize("loss", ROW_LOSSES, ids=say)
every_intercept = pytest.mark.parametrize("intercept", INTERCEPTS)
SOLVED = {"tol": 1e-8}


def recompute(problem: Problem, a: np.ndarray, b: float) -> tuple[float, float, float]:
    """P, D and the violation in ten lines of NumPy, from the kernel and the definition of the loss."""
    K = problem.features.kernel.evaluate(problem.features.samples, problem.features.samples) + problem.features.offset
    f, alive = K @ a + b, problem.c > 0
    primal = 0.5 * a @ K @ a + (problem.c * problem.loss.value(f, problem.y)).sum()
    primal += 0.0 if problem.balance is None else problem.balance * b
    y, c, v = problem.y[alive], problem.c[alive], -a[alive] / problem.c[alive]
    dual = -0.5 * a @ K @ a - (c * problem.loss.conjugate(v, y)).sum()
    p, d, e, lo, hi = problem.row
    right = np.where(a < hi, p + d * a + np.where(a >= 0, e, -e), np.inf)
    left = np.where(a > lo, p + d * a + np.where(a > 0, e, -e), -np.inf)
    return primal, dual, max(0.0, (-f - right).max(), (left + f).max())


def make_solved(loss=None, kernel=None, intercept="free", **knobs):
    """A problem and its optimal point."""
    problem = make_problem(Hinge() if loss is None else loss, kernel or RBF(gamma=0.5), intercept, **knobs)
    return problem, solve(problem, **SOLVED).point


@every_row_loss
@every_intercept
def test_judge_repeats_the_arithmetic(loss, intercept):
    """P, D and the violation at random feasible duals; the gap is never negative beyond rounding."""
    problem = make_problem(loss, RBF(gamma=0.5), intercept)
    rng = np.random.default_rng(0)
    for scale in (0.0, 0.3, 3.0):
        a = inner_duals(problem, rng, scale)
        b = 0.0 if problem.balance is None else rng.normal()
        certificate = judge(problem, Point(a, b))
        primal, dual, violation = recompute(problem, a, b)
        assert certificate.primal == pytest.approx(primal, rel=1e-10)
        assert certificate.dual == pytest.approx(dual, rel=1e-10, abs=1e-10)
        assert certificate.kkt == pytest.approx(violation, rel=1e-9, abs=1e-12)
        assert certificate.gap >= -1e-10 * abs(primal)
        np.testing.assert_allclose(certificate.scores, problem.features.scores(a), atol=1e-12)


@every_row_loss
@every_intercept
def test_optimum_has_no_gap(loss, intercept):
    """At the optimum the gap, the violation and the distance to every other point's value vanish."""
    problem, point = make_solved(loss, intercept=intercept, weighted=True)
    certificate = judge(problem, point)
    assert abs(certificate.relative_gap) <= 1e-8
    assert certificate.kkt < 1e-2
    rng = np.random.default_rng(1)
    for _ in range(5):
        assert judge(problem, Point(random_duals(problem, rng), point.b)).primal >= certificate.dual - 1e-9


@every_row_loss
@every_intercept
def test_infeasible_duals_are_repaired_and_pay_for_it(loss, intercept):
    """Out of the box or off the balance: D stays a lower bound of the optimum, and the gap opens."""
    problem, point = make_solved(loss, intercept=intercept)
    best = judge(problem, point)
    for spoiled in (point.a * 3.0 + 0.5, point.a - 0.3, -point.a - 0.2, np.full(problem.n, 1e6)):
        certificate = judge(problem, Point(spoiled, point.b))
        assert certificate.dual <= best.primal + 1e-7 * max(1.0, abs(best.primal))
        assert certificate.primal >= best.dual - 1e-7 * max(1.0, abs(best.dual))
        assert certificate.relative_gap > 1e-4


@pytest.mark.parametrize("balance", [-100.0, 100.0, 24.5])
def test_a_balance_out_of_reach_has_no_certificate(balance):
    """Where no duals can balance the dual is -inf and the relative gap infinite."""
    problem = replace(make_problem(EpsilonInsensitive(0.1)), balance=balance)
    certificate = judge(problem, Point(np.zeros(problem.n), 0.0))
    assert certificate.dual == -np.inf
    assert certificate.relative_gap == np.inf


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("place", ["a", "b", "coef"])
def test_broken_numbers_have_no_certificate(value, place):
    """A point with nan or infinity in it is infinitely far from optimal."""
    problem, point = make_solved()
    coef = np.array(point.a)
    spoiled = {"a": point._replace(a=np.where(np.arange(24) == 3, value, point.a)), "b": point._replace(b=value)}
    spoiled["coef"] = point._replace(coef=np.where(np.arange(24) == 3, value, coef))
    with np.errstate(all="ignore"):
        assert not judge(problem, spoiled[place]).relative_gap <= 1e-3


def test_catches_the_wrong_c():
    """The optimum for another C is not one."""
    problem, point = make_solved()
    for factor in (0.5, 0.99, 1.01, 2.0):
        assert judge(replace(problem, c=problem.c * factor), point).relative_gap > 1e-4


def test_catches_the_wrong_gamma():
    """The optimum for another kernel is not one."""
    problem, point = make_solved()
    for gamma in (0.4, 0.49, 0.6):
        other = Gram(RBF(gamma=gamma), problem.features.samples)
        assert judge(replace(problem, features=other), point).relative_gap > 1e-6


def test_catches_a_wrong_label():
    """One label turned over opens the gap, wherever it is."""
    problem, point = make_solved()
    for i in range(problem.n):
        y = problem.y.copy()
        y[i] = -y[i]
        assert judge(replace(problem, y=y), point).relative_gap > 1e-3


def test_catches_a_wrong_intercept():
    """b a little off costs what it costs; a regularised or absent intercept is another problem."""
    problem, point = make_solved()
    for off in (-0.1, -0.01, 0.01, 0.1):
        assert judge(problem, point._replace(b=point.b + off)).relative_gap > 1e-5
    absent, alone = make_solved(intercept="none")
    assert judge(problem, alone).relative_gap > 1e-3
    assert (
        judge(replace(absent, features=Gram(RBF(gamma=0.5), problem.features.samples, 1.0)), alone).relative_gap > 1e-3
    )


def test_catches_a_wrong_loss():
    """The hinge's optimum is not that of the tube around its labels."""
    problem, point = make_solved()
    assert judge(replace(problem, loss=EpsilonInsensitive(0.1)), point).relative_gap > 1e-2


def test_own_coefficients_are_judged():
    """A point that brings its own w is judged by that w, and its duals by themselves."""
    problem, point = make_solved()
    best = judge(problem, point)
    honest = judge(problem, point._replace(coef=point.a.copy()))
    assert honest.primal == pytest.approx(best.primal, rel=1e-12)
    other = judge(problem, point._replace(coef=1.1 * point.a))
    assert other.dual == pytest.approx(best.dual, rel=1e-12)
    assert other.gap > best.gap + 1e-3


def test_layers_are_judged():
    """A nu problem's optimum has no gap; with one intercept wrong it has."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=40) > 0, 1.0, -1.0)
    problem = make_nu_classification(Gram.from_data(RBF(gamma=0.5), X), y, np.ones(40), 0.4)
    point = solve(problem, **SOLVED).point
    assert abs(judge(problem, point).relative_gap) <= 1e-8
    assert judge(problem, point._replace(b=point.b + np.array([0.01, 0.0]))).relative_gap > 1e-4
    assert judge(problem, point._replace(a=point.a[::-1])).relative_gap > 1e-3


def test_losses_without_a_row_are_judged():
    """The judge needs no row: for the logistic loss, response(f) at the optimum closes the gap."""
    problem = make_problem(Logistic(), RBF(gamma=0.5), "none")
    a = np.zeros(problem.n)
    for _ in range(3000):
        a += 0.05 * (problem.terms.response(problem.features.scores(a))[0] - a)
    assert judge(problem, Point(a)).relative_gap < 1e-8
    assert judge(problem, Point(1.1 * a)).relative_gap > 1e-5


def indefinite(n: int = 12) -> np.ndarray:
    """A symmetric matrix with eigenvalues of both signs."""
    A = np.random.default_rng(3).normal(size=(n, n))
    return A + A.T


def test_kernels_that_are_not_psd_are_reported():
    """convex is False where a negative eigenvalue shows, None where none was found, True where none can be."""
    X = make_problem(Hinge()).features.samples.X
    known = Gram.from_data(Polynomial(gamma=1.0), X)
    unknown = Gram.from_data(Precomputed(), X @ X.T)
    bad = Gram.from_data(Sigmoid(gamma=2.0, coef0=-1.0), X)
    given = Gram.from_data(Precomputed(), indefinite(24))
    problem = make_problem(Hinge())
    for features, convex in ((known, True), (unknown, None), (bad, False), (given, False)):
        certificate = judge(replace(problem, features=features), Point(np.zeros(24)))
        assert certificate.convex is convex
        assert ("not positive semidefinite" in str(certificate)) == (convex is False)


def test_judge_is_not_fooled_by_what_features_remember():
    """A whole matrix kept by the features is the one their kernel gives."""
    problem, point = make_solved()
    fresh = replace(problem, features=Gram(problem.features.kernel, problem.features.samples))
    assert judge(fresh, point).primal == pytest.approx(judge(problem, point).primal, rel=1e-12)


def test_violation_is_zero_only_at_the_optimum():
    """measure_violation vanishes with the gap and is large elsewhere."""
    problem, point = make_solved(kernel=Linear())
    f = problem.features.scores(point.a) + point.b
    assert measure_violation(problem, point.a, f) < 1e-3
    assert measure_violation(problem, np.zeros(problem.n), np.zeros(problem.n)) == pytest.approx(1.0)


def test_relative_gap():
    """(P - D) / max(|P|, |D|), infinite where either is not a number."""
    assert Certificate(3.0, 2.0, 0.0).gap == 1.0
    assert Certificate(3.0, 2.0, 0.0).relative_gap == pytest.approx(1.0 / 3.0)
    assert Certificate(-2.0, -4.0, 0.0).relative_gap == 0.5
    assert Certificate(0.0, 0.0, 0.0).relative_gap == 0.0
    assert Certificate(np.nan, 1.0, 0.0).relative_gap == np.inf
    assert Certificate(1.0, -np.inf, 0.0).relative_gap == np.inf


def test_worst_of_many():
    """The certificate of a multiclass model is that of its worst part, and one doubt is a doubt about all."""
    good, bad = Certificate(1.0, 1.0, 0.0), Certificate(2.0, 1.0, 0.5)
    assert worst([good]) is good
    both = worst([good, bad])
    assert (both.primal, both.dual, both.kkt) == (2.0, 1.0, 0.5)
    assert both.parts == (good, bad)
    assert worst([Certificate(1.0, 1.0, 0.0, convex=False), bad]).convex is False


def test_worst_keeps_doubt():
    """If one part's kernel is of unknown definiteness, all is not known to be convex."""
    assert worst([Certificate(1.0, 1.0, 0.0, convex=None), Certificate(2.0, 1.0, 0.5)]).convex is not True


def test_a_gap_that_is_rounding_is_said_to_be():
    """The allowance for rounding is named where it is a good part of the gap, and never taken off the gap."""
    coarse = Certificate(405.37, 405.366, 0.0, rounding=3e-3)
    assert coarse.gap == pytest.approx(4e-3)
    assert "relative gap 9.9e-06 (7.4e-06 of it for rounding)" in str(coarse)
    assert "rounding" not in str(Certificate(405.37, 405.366, 0.0, rounding=1e-9))
    sharp = Certificate(405.37, 405.366, 0.0, rounding=1e-3, bound=2e-3)
    assert sharp.gap == 2e-3
