"""SMO reaches the optimum of the quadratic program, for every loss, kernel, selection and working set."""

from __future__ import annotations

import numpy as np
import pytest
from reference_problems import INTERCEPTS, make_problem, make_targets, say
from sklearn.svm import SVC, SVR
from smo_problems import (
    LAYERED,
    assert_optimal,
    either_working_set,
    every_kernel,
    every_row_loss,
    every_selection,
    make_layered,
    reference_value,
    run,
)
from time_allowances import HANG_SECONDS

from maxmargin.model.features import Gram
from maxmargin.model.kernels import RBF, Linear
from maxmargin.model.losses import EpsilonInsensitive, Hinge
from maxmargin.model.problem import Problem
from maxmargin.solvers.loop import solve
from maxmargin.solvers.result import Status
from maxmargin.solvers.smo import SMO

every_intercept = pytest.mark.parametrize("intercept", INTERCEPTS)
either_weighted = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


@every_row_loss
@every_kernel
@every_intercept
@either_weighted
def test_optimum_of_the_qp(loss, kernel, intercept, weighted):
    """P and D are those of cvxopt."""
    problem = make_problem(loss, kernel, intercept, weighted)
    assert_optimal(run(problem), reference_value(problem))


@every_row_loss
@every_selection
@pytest.mark.parametrize("intercept", ["free", "none"])
def test_every_selection_reaches_the_optimum(loss, selection, intercept):
    """The order of the steps does not change where they end."""
    problem = make_problem(loss, RBF(gamma=0.5), intercept, weighted=True, n=50, seed=1)
    assert_optimal(run(problem, selection=selection), reference_value(problem))


@every_row_loss
@every_kernel
@every_intercept
def test_blocks_reach_the_optimum(loss, kernel, intercept):
    """Blocks end where pairs end."""
    problem = make_problem(loss, kernel, intercept, weighted=True, seed=7)
    assert_optimal(run(problem, working_set=12), reference_value(problem))


@every_row_loss
@pytest.mark.parametrize("working_set", [3, 4, 40])
def test_blocks_of_any_size(loss, working_set):
    """From hardly more than a pair to all samples at once."""
    problem = make_problem(loss, RBF(gamma=0.5), weighted=True, n=40, seed=7)
    assert_optimal(run(problem, working_set=working_set), reference_value(problem))


@every_row_loss
@pytest.mark.parametrize("selection", ["second-order", "mvp"])
@pytest.mark.usefixtures("row_by_row")
def test_blocks_in_half_precision(loss, selection):
    """Where rows are kept in float32 the certificate is not: it is within tol, and so is the optimum."""
    problem = make_problem(loss, RBF(gamma=0.5), weighted=True, n=80, seed=8)
    result = run(problem, 1e-5, selection=selection, working_set=20)
    assert_optimal(result, reference_value(problem), 1e-5)
    assert result.certificate.relative_gap <= 1e-5


@pytest.mark.parametrize("kind", LAYERED)
@pytest.mark.parametrize("working_set", [4, 20])
def test_blocks_in_layers(kind, working_set):
    """Blocks over two layers."""
    problem = make_layered(kind)
    assert_optimal(run(problem, working_set=working_set), reference_value(problem))


@pytest.mark.parametrize("kind", LAYERED)
@every_selection
def test_layers_reach_the_optimum_of_the_qp(kind, selection):
    """Two intercepts, two balances, one w."""
    problem = make_layered(kind)
    assert_optimal(run(problem, selection=selection), reference_value(problem))


@every_row_loss
@every_selection
@pytest.mark.parametrize("intercept", ["free", "none"])
def test_duals_stay_in_their_box(loss, selection, intercept):
    """Not one dual is beyond its bound, not by a rounding, at whatever accuracy; and they balance."""
    problem = make_problem(loss, RBF(gamma=0.5), intercept, weighted=True, n=50, seed=6)
    for tol in (1e-2, 1e-5, 1e-10):
        a = run(problem, tol, selection=selection).point.a
        assert (a >= problem.row.lo).all()
        assert (a <= problem.row.hi).all()
        if problem.balance is not None:
            assert abs(a.sum() - problem.balance) <= 1e-12 * np.abs(a).sum()


@every_row_loss
@pytest.mark.parametrize("intercept", ["free", "none"])
@pytest.mark.parametrize("seed", [2, 3, 4])
def test_shrinking_changes_nothing(loss, intercept, seed):
    """Samples set aside in error come back: the optimum is reached with and without shrinking."""
    problem = make_problem(loss, Linear(), intercept, weighted=True, n=60, seed=seed)
    plain = run(problem, shrinking=False)
    assert plain.counters["shrinks"] == 0
    assert plain.status is Status.CONVERGED
    assert_optimal(run(problem, shrinking=True), plain.certificate.dual, 1e-7)


@every_selection
@pytest.mark.parametrize("intercept", ["free", "none"])
@pytest.mark.parametrize("rows", [0.1, 5, 40, 1000])
@either_working_set
@pytest.mark.usefixtures("row_by_row")
def test_any_cache_reaches_the_optimum(selection, intercept, rows, working_set):
    """From two rows to all of them, pair by pair or block by block."""
    problem = make_problem(Hinge(), RBF(gamma=0.5), intercept, n=80, seed=2)
    solver = SMO(selection=selection, cache_size=rows * 8 * 80 / 2**20, working_set=working_set)
    assert_optimal(solve(problem, solver, tol=1e-8, max_seconds=HANG_SECONDS), reference_value(problem))


@pytest.mark.parametrize("kind", LAYERED)
@every_selection
@either_working_set
@pytest.mark.usefixtures("row_by_row")
def test_layers_in_a_small_cache(kind, selection, working_set):
    """Layers, shrinking and a cache of ten rows."""
    problem = make_layered(kind, n=60)
    solver = SMO(selection=selection, cache_size=10 * 8 * 60 / 2**20, working_set=working_set)
    assert_optimal(solve(problem, solver, tol=1e-8, max_seconds=HANG_SECONDS), reference_value(problem))


@pytest.mark.slow
@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.1)], ids=say)
@either_working_set
@pytest.mark.usefixtures("row_by_row")
def test_shrinking_through_the_cache(loss, working_set):
    """Rows are cut and evaluated anew as samples leave and return; the optimum is that of scikit-learn."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(500, 4))
    y = make_targets(loss, X, rng)
    problem = Problem(Gram.from_data(RBF(gamma=0.3), X), y, np.full(500, 10.0), loss)
    result = run(problem, cache_size=50 * 8 * 500 / 2**20, working_set=working_set)
    assert result.counters["shrinks"] > 0
    machine = SVC(C=10.0, gamma=0.3, tol=1e-9) if loss.target == "label" else SVR(C=10.0, gamma=0.3, tol=1e-9)
    machine.fit(X, y)
    a = np.zeros(500)
    a[machine.support_] = machine.dual_coef_[0]
    assert_optimal(result, problem.dual(a), 1e-7)


@pytest.mark.parametrize("working_set", [2, None], ids=["pairs", "blocks"])
def test_large_enough_for_the_row_cache(working_set):
    """Beyond FULL samples: rows on demand, in a cache too small for them, shrinking or not."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(2600, 4))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=2600) > 0, 1.0, -1.0)
    values = []
    for shrinking in (True, False):
        problem = Problem(Gram.from_data(RBF(gamma=0.2), X), y, np.ones(2600), Hinge())
        result = run(problem, 1e-5, shrinking=shrinking, cache_size=10.0, working_set=working_set)
        assert result.status is Status.CONVERGED
        assert problem.features.whole is None
        values.append(result.certificate.dual)
    assert values[0] == pytest.approx(values[1], rel=2e-5)
