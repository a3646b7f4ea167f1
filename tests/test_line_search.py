"""Cutting planes with the line search of Schmidt-Thieme (n.d.): each iterate the least on its line, one cut a round."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from class_problems import make_class_problem
from generated_functions import GENERATED
from linear_problems import EXAMPLES, find_optimum, make_linear_problem
from textbook_functions import CATALOGUE

from maxmargin import Bundle, LinearSVC, Status, minimize, solve
from maxmargin.solvers.bundle.cutting_planes import ExactLineSearch
from maxmargin.solvers.bundle.line import Look, minimise_on_line

FUNCTIONS = {**CATALOGUE, **GENERATED}
SMALL = [name for name, each in FUNCTIONS.items() if each.dimension <= 5]


def record_lines(monkeypatch) -> list[tuple]:
    """Centre, minimum of the model, new best place, and the cuts before and after, of every round."""
    lines, take_step = [], ExactLineSearch.step

    def step(rule, descent):
        before, m = descent.best.x, descent.cuts.m
        take_step(rule, descent)
        lines.append((before, descent.tried.x, descent.best.x, descent.cuts.m - m, descent.newest))

    monkeypatch.setattr(ExactLineSearch, "step", step)
    return lines


@pytest.mark.parametrize("name", SMALL)
def test_minima_of_the_literature(name):
    """The optimum that all methods find."""
    function = FUNCTIONS[name]
    found = minimize(function.fun, function.x0, "line-search", bounds=function.box, max_iter=500)
    assert found.status is Status.CONVERGED
    assert found.fun - function.minimum <= 1.01e-6 * max(1.0, abs(found.fun)) + 1e-9
    assert found.lower_bound <= function.minimum + 1e-9 * max(1.0, abs(found.fun))


@pytest.mark.parametrize(("name", "ridge"), [("CB2", 0.0), ("Wolfe", 0.0), ("Shor", 0.0), ("Shor", 0.5), ("QL", 2.0)])
def test_each_iterate_is_the_least_on_its_line(monkeypatch, name, ridge):
    """x_t+1 = x_t + eta (x~ - x_t), no eta of the line gives less, and there is one cut, which touches F at x_t+1."""
    lines, function = record_lines(monkeypatch), FUNCTIONS[name]
    bounds = function.box if ridge == 0.0 else None
    minimize(function.fun, function.x0, "line-search", bounds=bounds, ridge=ridge, max_iter=40)

    def value(x):
        return function.fun(x)[0] + 0.5 * ridge * x @ x

    assert len(lines) > 3
    for before, goal, after, n_cuts, cut in lines:
        way = goal - before
        eta = float((after - before) @ way) / float(way @ way)
        np.testing.assert_allclose(after, before + eta * way, atol=1e-9 * (1.0 + np.abs(way).max()))
        longest = 1.0 if bounds is not None else max(2.0 * eta, 2.0)
        least = scipy.optimize.minimize_scalar(
            lambda t, x=before, s=way: value(x + t * s),
            bounds=(0.0, longest),
            method="bounded",
            options={"xatol": 1e-9},
        )
        assert value(after) <= min(least.fun, value(before)) + 1e-9 * max(1.0, abs(least.fun))
        assert n_cuts == 1
        touching = cut.offset + cut.slope @ after
        assert touching == pytest.approx(function.fun(after)[0], rel=1e-6, abs=1e-6)


def test_a_kink_does_not_hold_it():
    """At a kink any subgradient is one, and some say nothing new: that of the other side is taken."""

    def fun(x):  # the subgradient at the kink x_0 = 0 is that of the left side
        return abs(x[0]) + 3.0 * abs(x[1] - x[0]), np.array(
            [(-1.0 if x[0] <= 0 else 1.0) - 3.0 * np.sign(x[1] - x[0]), 3.0 * np.sign(x[1] - x[0])]
        )

    found = minimize(fun, [-2.0, 5.0], "line-search", bounds=(-10.0, 10.0), max_iter=100)
    assert found.status is Status.CONVERGED
    assert found.fun == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("name", ["CB3", "Wolfe", "Mifflin 1", "Shor"])
def test_without_bounds(name):
    """Where the model is open, as for the other cutting planes."""
    function = FUNCTIONS[name]
    found = minimize(function.fun, function.x0, "line-search", max_iter=200)
    assert found.status is Status.CONVERGED
    assert found.fun == pytest.approx(function.minimum, abs=1e-4)


@pytest.mark.parametrize("intercept", ["free", "regularised"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_loss(name, intercept):
    """The optimum of each risk, certified, in no more rounds than BMRM takes."""
    problem = make_linear_problem(name, intercept)
    result = solve(problem, Bundle("line-search"), tol=1e-6)
    assert result.status is Status.CONVERGED
    assert result.certificate.primal == pytest.approx(find_optimum(name, intercept), rel=2e-6)
    assert result.n_iter <= solve(problem, Bundle("bmrm"), tol=1e-6).n_iter


@pytest.mark.parametrize("name", ["softmax", "multiclass_hinge"])
def test_many_classes(name):
    """Losses of many scores, whose free intercepts are coordinates."""
    problem = make_class_problem(name)
    result, other = (solve(problem, Bundle(method), tol=1e-5) for method in ("line-search", "ocas"))
    assert result.status is Status.CONVERGED
    assert result.certificate.primal == pytest.approx(other.certificate.primal, rel=2e-5)


def test_a_machine():
    """As the solver of an estimator."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + 0.5 * rng.normal(size=60) > 0
    one, other = (LinearSVC(loss="hinge", solver=each, tol=1e-8).fit(X, y) for each in (Bundle("line-search"), "auto"))
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-3)


def test_resume_goes_on_where_it_was():
    """Two halves of a run are the whole run."""
    function = FUNCTIONS["Shor"]
    whole = minimize(function.fun, function.x0, "line-search", bounds=function.box, max_iter=12)
    half = minimize(function.fun, function.x0, "line-search", bounds=function.box, max_iter=6)
    rest = minimize(function.fun, function.x0, "line-search", bounds=function.box, max_iter=12, resume=half)
    assert rest.fun == pytest.approx(whole.fun, rel=1e-9)


@pytest.mark.parametrize("kink", [1e-9, 0.3, 0.5, 1.0, 7.0])
def test_a_kink_on_a_line(kink):
    """The minimum of two pieces is where they meet, and the bracket has a slope of either sign that touches it."""
    found = minimise_on_line(
        lambda t: Look(t, max(-2.0 * (t - kink), 0.5 * (t - kink)), -2.0 if t < kink else 0.5),
        Look(0.0, 2.0 * kink, -2.0), 1e-14, 100.0,
    )  # fmt: skip
    assert found.lowest.t == pytest.approx(kink, rel=1e-9)
    assert found.falling.slope < 0.0 <= found.rising.slope
    assert found.rising.reach(found.lowest.t) == pytest.approx(0.0, abs=1e-12)


def test_a_parabola_and_the_end_of_a_line():
    """The minimum of a parabola; the last t where the function falls to the end; t = 0 where it rises from there."""

    def look(t):
        return Look(t, (t - 3.0) ** 2, 2.0 * (t - 3.0))

    assert minimise_on_line(look, look(0.0), 1e-14, 100.0).lowest.t == pytest.approx(3.0, abs=1e-6)
    assert minimise_on_line(look, look(0.0), 1e-14, 1.0).lowest.t == 1.0
    assert minimise_on_line(lambda t: Look(t, t, 1.0), Look(0.0, 0.0, 1.0), 1e-14, 1.0).lowest.t == 0.0
