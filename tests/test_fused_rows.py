"""One compiled pass over rows of few features, and the runs that are made of such passes."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin import solve
from maxmargin.compiled.fused_rows import CHUNK_ROWS, CONJUGATES, CURVED, LOSSES, pass_rows
from maxmargin.compiled.small_newton import ROWS
from maxmargin.compiled.smooth_rows import EXPONENTIAL, LOGISTIC, POISSON
from maxmargin.model.features import Design
from maxmargin.model.losses import LOSSES as NAMED
from maxmargin.model.problem import Problem
from maxmargin.model.samples import wrap
from maxmargin.solvers.newton import Newton, fused
from maxmargin.solvers.newton.fused import FusedRun
from maxmargin.solvers.newton.run import NewtonRun

KINDS = {"logistic": LOGISTIC, "exponential": EXPONENTIAL, "poisson": POISSON}
LABELLED = ("logistic", "exponential", "squared_hinge")
SMOOTH = (*KINDS, "squared_hinge", "squared_epsilon_insensitive", "huber")
STEP = 1e-4  # of central differences
LEAST_CURVATURE = 1e-3  # of a row that is curved: more than rounding makes of a straight one


def make_problem(loss: str, n: int, d: int, balance: float | None, seed: int = 0) -> Problem:
    """Rows with weights of different sizes and targets that suit the loss."""
    random = np.random.default_rng(seed)
    X, c = random.standard_normal((n, d)), random.uniform(0.2, 3.0, n)
    f = 0.5 * X[:, 0] - 0.3 * X[:, -1] + 0.2 + random.standard_normal(n)
    y = np.where(f > 0.0, 1.0, -1.0) if loss in LABELLED else random.poisson(np.exp(0.3 * f)) * 1.0
    features = Design(wrap(X), 0.0 if balance is not None else 1.5)
    return Problem(features, y, c, NAMED[loss](), balance)


def make_arguments(problem: Problem, loss: str) -> tuple[int, list[np.ndarray]]:
    """The kind of a loss, and its five numbers or what stands in their place."""
    if loss in KINDS:
        return KINDS[loss], [problem.y, *[problem.c] * 4]
    return ROWS, [np.ascontiguousarray(part) for part in problem.row]


@pytest.mark.parametrize("n", [1, 6, CHUNK_ROWS + 3])
@pytest.mark.parametrize("d", [1, 3, 8, 21])
@pytest.mark.parametrize("constant", [0.0, 1.0, 1.5])
@pytest.mark.parametrize("loss", SMOOTH)
def test_pass_is_what_the_loss_says(loss, constant, d, n):
    """The sums by the values of the loss, duals and curvature by its differences, Z'a and the matrix by NumPy."""
    problem = make_problem(loss, n, d, 0.0)
    kind, row = make_arguments(problem, loss)
    X, y, c = problem.features.samples.X, problem.y, problem.c
    u = 0.3 * np.random.default_rng(1).standard_normal(d + 1)
    a, sums, pulled, M = np.empty(n), np.empty(3), np.empty(d + 1), np.zeros((d + 1, d + 1))
    pass_rows(kind, X, constant, u, *row, True, a, sums, pulled, M)

    Z = np.column_stack([X, np.full(n, constant)])
    f = Z @ u
    values, ahead, behind = (c * problem.loss.value(scores, y) for scores in (f, f + STEP, f - STEP))
    assert sums[LOSSES] == pytest.approx(values.sum(), rel=1e-12)
    np.testing.assert_allclose(a, -(ahead - behind) / (2.0 * STEP), rtol=1e-6, atol=1e-6)
    assert sums[CONJUGATES] == pytest.approx(-(a @ f) - values.sum(), rel=1e-10, abs=1e-10)  # Fenchel and Young
    np.testing.assert_allclose(pulled, Z.T @ a, rtol=1e-12, atol=1e-12)

    curvature = (ahead - 2.0 * values + behind) / STEP**2
    curvature[np.abs(curvature) < LEAST_CURVATURE] = 0.0
    assert sums[CURVED] == np.count_nonzero(curvature)
    expected = np.tril((Z.T * curvature) @ Z)
    np.testing.assert_allclose(np.tril(M), expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


def test_pass_without_the_matrix_leaves_it_alone():
    """All else is the same, but for the order of a sum, which may depend on where the arrays lie in memory."""
    problem = make_problem("squared_hinge", 700, 5, 0.0)
    kind, row = make_arguments(problem, "squared_hinge")
    u, found = np.full(6, 0.1), []
    for formed in (True, False):
        a, sums, pulled, M = np.empty(700), np.empty(3), np.empty(6), np.full((6, 6), np.nan)
        pass_rows(kind, problem.features.samples.X, 1.0, u, *row, formed, a, sums, pulled, M)
        assert np.isnan(M).all() != formed
        found.append((a, sums[:CURVED], pulled))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)


@pytest.fixture
def few_rows(monkeypatch):
    """A few thousand rows count as many."""
    monkeypatch.setattr(fused, "FUSED_MIN_ROWS", 1_000)
    monkeypatch.setattr(fused, "MIN_ROWS", 1_000)


@pytest.mark.parametrize("balance", [None, 0.0])
@pytest.mark.parametrize("loss", SMOOTH)
def test_same_optimum_as_with_a_search_along_the_scores(loss, balance, few_rows):
    """To a gap far below what an eighth of the rows could know; the judge certifies both."""
    problem = make_problem(loss, 10_000, 4, balance)
    run = Newton().start(problem, 1e-9)
    assert type(run) is FusedRun
    assert len(run.levels) == 3
    found = solve(problem, Newton(), tol=1e-9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fused, "FUSED_MIN_ROWS", 10**9)
        assert type(Newton().start(problem, 1e-9)) is NewtonRun
        other = solve(problem, Newton(), tol=1e-9)
    assert found.converged
    assert other.converged
    assert found.counters["levels"] == 2
    assert found.certificate.primal == pytest.approx(other.certificate.primal, rel=2e-9)
    np.testing.assert_allclose(found.point.coef, other.point.coef, rtol=1e-3, atol=1e-4)
    assert found.point.b == pytest.approx(other.point.b, rel=1e-3, abs=1e-4)


def test_point_before_the_first_step_is_one_of_all_rows(few_rows):
    """A run that is stopped on some of the rows has duals of all of them, that balance."""
    problem = make_problem("logistic", 10_000, 4, 0.0)
    run = Newton().start(problem, 1e-9)
    assert np.array_equal(run.a, np.zeros(10_000))
    point = run.point()
    assert np.count_nonzero(point.a) == 10_000
    assert abs(point.a.sum()) <= 1e-12 * np.abs(point.a).sum()


def test_steps_that_fail_are_left_to_a_search(few_rows, monkeypatch):
    """Where no pass may look twice and none is flat enough, `NewtonRun` ends at the same optimum."""
    problem = make_problem("poisson", 10_000, 4, 0.0)
    expected = solve(problem, Newton(), tol=1e-9)
    monkeypatch.setattr(fused, "SLOPE_SHARE", 0.0)
    monkeypatch.setattr(fused, "MAX_LOOKS", 1)
    found = solve(problem, Newton(), tol=1e-9)
    assert found.converged
    assert found.counters["levels"] == 0
    assert found.certificate.primal == pytest.approx(expected.certificate.primal, rel=2e-9)


def test_warm_start_looks_at_all_rows_at_once(few_rows):
    """From the optimum there is nothing to do."""
    problem = make_problem("squared_epsilon_insensitive", 10_000, 4, None)
    found = solve(problem, Newton(), tol=1e-9)
    run = Newton().start(problem, 1e-6, found.point)
    assert len(run.levels) == 1
    assert run.reached()
