"""The cutting plane algorithm of Joachims (2006): its lemma, its stopping rule, and how many rounds it takes."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from linear_problems import EXAMPLES, find_optimum, make_data, make_linear_problem, pose

from maxmargin import Bundle, minimize
from maxmargin.certificates.certificate import judge
from maxmargin.model.losses import Hinge
from maxmargin.model.problem import Problem
from maxmargin.solvers.bundle.one_slack import OneSlack
from maxmargin.solvers.loop import solve
from maxmargin.solvers.result import Outcome, Status

LAMBDA = 1e-3  # of the clouds
SIZES = (200, 2_000, 20_000)
both_intercepts = pytest.mark.parametrize("intercept", ["none", "regularised"])
both_weights = pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])


def run_to_end(problem: Problem, epsilon: float | None = None, tol: float = 1e-9):
    """A run of the algorithm by itself."""
    run = OneSlack(epsilon).start(problem, tol)
    assert run.advance(10_000, 10.0) is Outcome.DONE
    return run


@cache
def make_cloud(n: int) -> Problem:
    """Two overlapping classes; with gamma = 1 / (lambda n), J = lambda/2 |w|^2 + mean hinge is the same for all n."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=n) > 0, 1.0, -1.0)
    return pose(Hinge(), X, y, np.full(n, 1.0 / (LAMBDA * n)), "none")


# ---- the lemma ------------------------------------------------------------------------------------------------


@both_weights
@both_intercepts
def test_optimum_is_that_of_the_plain_machine(intercept, weighted):
    """One slack for all constraints or one for each sample: the same w, and xi is the mean loss."""
    problem, optimum = (
        make_linear_problem("hinge", intercept, "dense", weighted),
        find_optimum("hinge", intercept, weighted),
    )
    run = run_to_end(problem)
    w, total = run.point().coef, problem.c.sum()
    losses = np.maximum(1.0 - problem.y * problem.features.scores(w), 0.0)
    slack = max(float((run.constraints.offsets - run.constraints.slopes @ w).max()), 0.0)
    assert 0.5 * w @ w + total * slack == pytest.approx(optimum, rel=1e-8)
    assert slack == pytest.approx(float(problem.c @ losses) / total, rel=1e-8)
    assert run.dual == pytest.approx(optimum, rel=1e-8)


@both_weights
@both_intercepts
def test_duals_are_feasible_and_certified(intercept, weighted):
    """a_i = gamma n sum_c alpha_c c_i y_i / n lies in the box, and its w is the primal's."""
    optimum = find_optimum("hinge", intercept, weighted)
    for form in ("dense", "sparse"):
        problem = make_linear_problem("hinge", intercept, form, weighted)
        result = solve(problem, OneSlack(), tol=1e-8)
        a, certificate = result.point.a, result.certificate
        assert result.converged
        assert np.all((problem.row.lo <= a) & (a <= problem.row.hi))
        np.testing.assert_allclose(problem.features.combine(a), result.point.coef, atol=1e-4)
        assert certificate.relative_gap <= 1e-8
        assert certificate.primal == pytest.approx(optimum, rel=1e-8)
        assert certificate.dual <= optimum * (1.0 + 1e-9)
        assert judge(problem, result.point) == certificate


def test_bounds_on_the_way():
    """D rises to the optimum from below, P is never below it."""
    problem, optimum = make_linear_problem("hinge", "none"), find_optimum("hinge", "none")
    run, duals = OneSlack().start(problem, 1e-9), []
    while run.advance(1, 1.0) is Outcome.GOING:
        duals.append(run.dual)
        assert run.dual <= optimum * (1.0 + 1e-9) <= run.primal * (1.0 + 2e-9)
    assert len(duals) > 5
    assert np.all(np.diff(duals) >= -1e-12 * optimum)


def test_lambda_is_the_inverse_of_n_gamma():
    """J = lambda/2 |w|^2 + mean hinge is P / (n C), and has the same minimum."""
    X, y, _ = make_data(EXAMPLES["hinge"])
    n, C = len(y), 0.7

    def measure(w):
        short = np.maximum(1.0 - y * (X @ w), 0.0)
        return short.mean(), -X.T @ (y * (short > 0)) / n

    found = minimize(measure, np.zeros(4), "cutting-plane", ridge=1.0 / (n * C), tol=1e-11)
    result = solve(pose(Hinge(), X, y, np.full(n, C), "none"), OneSlack(), tol=1e-11)
    assert found.fun == pytest.approx(result.certificate.primal / (n * C), rel=1e-10)
    np.testing.assert_allclose(result.point.coef[:4], found.x, atol=1e-5)


def test_same_rounds_as_the_risk_by_cutting_planes():
    """BMRM on the mean hinge and the 1-slack method are one algorithm, but for the constraint to begin with."""
    problem = make_linear_problem("hinge", "none", n=200, d=6)
    one, other = solve(problem, OneSlack(), tol=1e-6), solve(problem, Bundle("bmrm"), tol=1e-6)
    assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-6)
    assert abs(one.n_iter - other.n_iter) <= 3 + 0.2 * other.n_iter


# ---- its own rule ---------------------------------------------------------------------------------------------


@both_weights
@pytest.mark.parametrize("epsilon", [0.1, 1e-2, 1e-4])
def test_rule_of_the_lecture_notes(epsilon, weighted):
    """Line (11): the newest constraint is violated by at most epsilon more than xi, so P - P* <= gamma n epsilon."""
    problem, optimum = make_linear_problem("hinge", "none", "dense", weighted), find_optimum("hinge", "none", weighted)
    run = run_to_end(problem, epsilon)
    assert run.violation <= epsilon
    result = solve(problem, OneSlack(epsilon), tol=1e-15)
    assert result.status is Status.CONVERGED
    assert -1e-9 <= (result.certificate.primal - optimum) / problem.c.sum() <= epsilon
    assert result.certificate.gap <= epsilon * problem.c.sum() * (1.0 + 1e-9)
    assert "own rule, that no constraint is violated by more than xi + epsilon, is met" in result.message
    assert result.n_iter == run.n_iter


def test_rule_of_the_gap_is_the_default():
    """Without epsilon the message speaks of the gap."""
    result = solve(make_linear_problem("hinge", "none"), "one_slack", tol=1e-5)
    assert result.message == "The certified relative gap is within tol."
    assert result.certificate.relative_gap <= 1e-5


@pytest.mark.parametrize("n", SIZES[:2])
def test_rounds_grow_no_faster_than_the_inverse_of_epsilon(n):
    """The bound of the lecture notes (Schmidt-Thieme); in truth they grow by far less."""
    rounds = [solve(make_cloud(n), OneSlack(epsilon)).n_iter for epsilon in (1e-1, 1e-2, 1e-3, 1e-4)]
    assert rounds == sorted(rounds)
    for few, many in pairwise(rounds):
        assert many <= 10 * few + 5


def test_rounds_do_not_depend_on_the_number_of_samples():
    """At the same lambda and epsilon, a hundred times the samples take no more than twice the rounds."""
    rounds = [solve(make_cloud(n), OneSlack(1e-3)).n_iter for n in SIZES]
    assert min(rounds) > 10
    assert max(rounds) <= 2 * min(rounds)


@pytest.mark.parametrize("n", SIZES)
def test_line_search_and_proximity_save_rounds(n):
    """What OCAS and the proximal bundle are for."""
    rounds = {
        method: solve(make_cloud(n), Bundle(method), tol=1e-4).n_iter for method in ("bmrm", "ocas", "proximal-bundle")
    }
    assert max(rounds["ocas"], rounds["proximal-bundle"]) < rounds["bmrm"]


# ---- what it takes --------------------------------------------------------------------------------------------


def test_two_runs_are_the_same():
    """To the bit, dense and sparse; and the two agree."""
    X, y, c = make_data(EXAMPLES["hinge"])
    results = {
        form: solve(pose(Hinge(), form(X), y, c, "none"), OneSlack(), tol=1e-9) for form in (np.asarray, sp.csr_array)
    }
    for form, result in results.items():
        again = solve(pose(Hinge(), form(X), y, c, "none"), OneSlack(), tol=1e-9)
        np.testing.assert_array_equal(result.point.coef, again.point.coef)
        np.testing.assert_array_equal(result.point.a, again.point.a)
    dense, sparse = results.values()
    assert sparse.certificate.primal == pytest.approx(dense.certificate.primal, rel=1e-9)


def test_float32():
    """Data in single precision."""
    X, y, c = make_data(EXAMPLES["hinge"])
    X = X.astype(np.float32)
    single, double = (solve(pose(Hinge(), each, y, c, "none"), OneSlack(), tol=1e-6) for each in (X, X.astype(float)))
    assert single.converged
    assert single.certificate.primal == pytest.approx(double.certificate.primal, rel=2e-6)


def test_separable_classes():
    """xi = 0 at the end: the constraint of all zeros has weight, and the multipliers sum to less than gamma n."""
    X, y = np.array([[2.0, 0.0], [3.0, 1.0], [-2.0, 0.0], [-3.0, 1.0]]), np.array([1.0, 1.0, -1.0, -1.0])
    run = run_to_end(pose(Hinge(), X, y, np.full(4, 10.0), "none"))
    np.testing.assert_allclose(run.point().coef, [0.5, 0.0, 0.0], atol=1e-8)
    assert run.primal == pytest.approx(0.125, rel=1e-8)
    assert run.alpha.sum() < 0.5


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (make_linear_problem("logistic", "none"), "is for the hinge, not for 'logistic'; use 'bundle'"),
        (make_linear_problem("hinge", "free"), "has no free intercept; make it regularised or none, or use 'bundle'"),
        (pose(Hinge(2.0), *make_data(EXAMPLES["hinge"]), "none"), "'bundle'"),
    ],
    ids=["loss", "intercept", "margin"],
)
def test_what_it_refuses(problem, sentence):
    """With a sentence that says where to go."""
    assert sentence in OneSlack().accepts(problem)
    with pytest.raises(ValueError, match="'bundle'"):
        solve(problem, "one_slack")
