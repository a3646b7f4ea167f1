"""The canonical problem: weak duality everywhere, and duals made feasible."""

from __future__ import annotations

import numpy as np
import pytest
from reference_problems import (
    ALL_LOSSES,
    INTERCEPTS,
    ROW_LOSSES,
    inner_duals,
    make_nu_classification,
    make_nu_regression,
    make_problem,
    random_duals,
    say,
)

from maxmargin.model.features import Gram
from maxmargin.model.kernels import RBF, Linear
from maxmargin.model.losses import Hinge, LeastSquares, Quantile
from maxmargin.model.problem import Point, Problem

every_loss = pytest.mark.parametrize("loss", ALL_LOSSES, ids=say)
every_row_loss = pytest.mark.parametrize("loss", ROW_LOSSES, ids=say)
every_intercept = pytest.mark.parametrize("intercept", INTERCEPTS)
either_weighted = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
SMOOTH_LOSSES = tuple(loss for loss in ALL_LOSSES if loss not in ROW_LOSSES)


def make_layered(kind: str, seed: int = 0) -> Problem:
    """A nu problem with two layers over the same samples."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 3))
    features, c = Gram.from_data(RBF(gamma=0.4), X), rng.uniform(0.2, 2.0, 30)
    if kind == "classification":
        return make_nu_classification(features, np.where(X[:, 0] > 0, 1.0, -1.0), c, 0.3)
    return make_nu_regression(features, X[:, 0] + 0.1 * rng.normal(size=30), c, 0.4)


def assert_weak_duality(problem: Problem, a: np.ndarray, rng: np.random.Generator) -> None:
    """P >= D at these duals, against the w of the duals and against another w, at any intercept."""
    dual = problem.dual(a)
    assert np.isfinite(dual)
    for scale in (0.0, 1.0, 30.0):
        b = 0.0 if problem.balance is None else scale * rng.normal(size=problem.y.shape[:-1])
        for coef in (None, rng.normal(size=problem.n)):
            primal = problem.primal(Point(a, b, coef))
            assert primal - dual >= -1e-10 * max(abs(primal), abs(dual), 1.0)


def assert_feasible(problem: Problem, a: np.ndarray) -> None:
    """Within the box, and balanced up to rounding."""
    assert (a >= problem.row.lo).all()
    assert (a <= problem.row.hi).all()
    if problem.balance is not None:
        np.testing.assert_allclose(a.sum(axis=-1), problem.balance, rtol=1e-12, atol=1e-12 * np.abs(a).sum())


@every_row_loss
@every_intercept
@either_weighted
def test_weak_duality(loss, intercept, weighted):
    """P >= D at random duals, weights and intercepts."""
    rng = np.random.default_rng(1)
    for kernel in (Linear(), RBF(gamma=0.5)):
        problem = make_problem(loss, kernel, intercept, weighted)
        for scale in (0.1, 1.0, 10.0):
            assert_weak_duality(problem, random_duals(problem, rng, scale), rng)


@pytest.mark.parametrize("loss", SMOOTH_LOSSES, ids=say)
@every_intercept
def test_weak_duality_without_a_row(loss, intercept):
    """P >= D for losses whose conjugate is written by hand, at duals that are responses to random scores."""
    rng = np.random.default_rng(2)
    problem = make_problem(loss, RBF(gamma=0.5), intercept, weighted=True)
    for _ in range(5):
        f = rng.normal(size=problem.n)
        a = problem.terms.response(f)[0]
        if problem.balance is not None:
            a = balance_by_shifting(problem, f)
        assert_weak_duality(problem, a, rng)


def balance_by_shifting(problem: Problem, f: np.ndarray) -> np.ndarray:
    """The responses to f + b, with the b at which they sum to zero."""
    low, high = -40.0, 40.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        total = problem.terms.response(f + middle)[0].sum()
        low, high = (middle, high) if total > 0 else (low, middle)
    return problem.terms.response(f + middle)[0]


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_weak_duality_in_layers(kind):
    """P >= D for the nu problems: two intercepts, two balances, one w."""
    rng = np.random.default_rng(3)
    problem = make_layered(kind)
    for scale in (0.1, 1.0, 10.0):
        a = random_duals(problem, rng, scale)
        assert_feasible(problem, a)
        assert_weak_duality(problem, a, rng)


@every_row_loss
@every_intercept
@either_weighted
def test_feasible_gives_feasible_duals(loss, intercept, weighted):
    """Whatever comes in, the box and the balance hold afterwards."""
    problem = make_problem(loss, intercept=intercept, weighted=weighted)
    rng = np.random.default_rng(4)
    for scale in (0.0, 1e-3, 1.0, 1e3):
        assert_feasible(problem, problem.feasible(scale * rng.normal(size=problem.n)))


@every_row_loss
@every_intercept
def test_feasible_leaves_feasible_duals_alone(loss, intercept):
    """What is feasible stays as it is, up to the rounding of its sum."""
    problem = make_problem(loss, intercept=intercept, weighted=True)
    a = random_duals(problem, np.random.default_rng(5))
    np.testing.assert_allclose(problem.feasible(a), a, rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize("missing", [-3.5, -1.0, 0.0, 1.0, 3.5])
def test_feasible_moves_no_more_than_is_missing(missing):
    """The repair of a balance moves the duals by what is missing in all."""
    problem = make_problem(Quantile(0.5), n=20)
    a = np.zeros(20)
    a[3] = missing
    clipped = np.clip(a, problem.row.lo, problem.row.hi)
    repaired = problem.feasible(a)
    assert np.abs(repaired - clipped).sum() == pytest.approx(np.abs(clipped.sum()), abs=1e-14)


@every_row_loss
@every_intercept
def test_values_by_hand(loss, intercept):
    """P and D as the module's docstring writes them."""
    problem = make_problem(loss, RBF(gamma=0.5), intercept, weighted=True)
    rng = np.random.default_rng(6)
    a, b = inner_duals(problem, rng), 0.0 if problem.balance is None else 0.7
    K = problem.features.block(np.arange(problem.n))
    losses = problem.c * loss.value(K @ a + b, problem.y)
    primal = 0.5 * a @ K @ a + losses.sum() + (0.0 if problem.balance is None else problem.balance * b)
    assert problem.primal(Point(a, b)) == pytest.approx(primal, rel=1e-11)
    y, c, v = (part[problem.c > 0] for part in (problem.y, problem.c, -a / np.maximum(problem.c, 1e-300)))
    dual = -0.5 * a @ K @ a - (c * loss.conjugate(v, y)).sum()
    assert problem.dual(a) == pytest.approx(dual, rel=1e-11)


@pytest.mark.parametrize("scale", [1.0, 1e-10, 1e10])
def test_dual_is_minus_infinity_off_the_balance(scale):
    """Duals that do not sum to the balance have no dual value, whatever the size of C."""
    features = Gram.from_data(Linear(), np.eye(4))
    problem = Problem(features, np.array([1.0, -1.0, 1.0, -1.0]), np.full(4, scale), Hinge())
    assert problem.dual(np.array([1.0, -1.0, 0.0, 0.0]) * scale) > -np.inf
    assert problem.dual(np.array([1.0, 0.0, 0.0, 0.0]) * scale) == -np.inf
    assert problem.dual(np.array([1.0, -0.9, 0.0, 0.0]) * scale) == -np.inf


@every_row_loss
def test_dual_is_minus_infinity_outside_the_box(loss):
    """A dual beyond its bound has no dual value."""
    problem = make_problem(loss, intercept="none")
    bounded = np.flatnonzero(np.isfinite(problem.row.hi))
    for i in bounded[:3]:
        a = np.zeros(problem.n)
        a[i] = problem.row.hi[i] + 1e-3
        assert problem.dual(a) == -np.inf


def test_layers_have_their_own_intercepts():
    """f_l = <w, phi> + b_l."""
    problem = make_layered("regression")
    scores = np.arange(30.0)
    shifted = problem.shift(scores, np.array([1.0, -2.0]))
    np.testing.assert_array_equal(shifted, np.stack([scores + 1.0, scores - 2.0]))
    np.testing.assert_array_equal(problem.shift(scores, 3.0), scores + 3.0)
    assert problem.offset(np.array([1.0, -2.0])) == pytest.approx(3.0 * problem.balance[0])


def test_problem_is_immutable():
    """No solver can change the problem it was given."""
    problem = make_problem(LeastSquares())
    with pytest.raises(AttributeError):
        problem.c = problem.c * 2.0


@every_loss
def test_row_is_there_or_not(loss):
    """A problem knows its row exactly if its loss has one."""
    problem = make_problem(loss)
    assert (problem.row is not None) == (loss in ROW_LOSSES)
    assert problem.n == 24
