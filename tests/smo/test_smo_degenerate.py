"""SMO on kernels that are not positive semidefinite, equal rows, constant targets, and no weight."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from reference_problems import ROW_LOSSES, make_problem, make_targets, make_weights, say
from smo_problems import assert_optimal, every_kernel, every_row_loss, every_selection, reference_value, run
from time_allowances import HANG_SECONDS

from maxmargin.model.features import Gram
from maxmargin.model.kernels import RBF, Linear, Precomputed, Sigmoid
from maxmargin.model.losses import EpsilonInsensitive, Hinge, LeastSquares, Quantile, SquaredHinge
from maxmargin.model.problem import Problem
from maxmargin.solvers.loop import solve
from maxmargin.solvers.result import Status
from maxmargin.solvers.smo import SMO


def indefinite(n: int) -> np.ndarray:
    """A symmetric matrix with eigenvalues of both signs."""
    A = np.random.default_rng(9).normal(size=(n, n))
    return A + A.T


def make_indefinite(loss, balance, kind: str) -> Problem:
    """A problem over a kernel that is not positive semidefinite."""
    base = make_problem(loss, n=40)
    X = base.features.samples.X
    kernels = {"sigmoid": (Sigmoid(gamma=1.0, coef0=-1.0), X), "precomputed": (Precomputed(), indefinite(40))}
    return replace(base, features=Gram.from_data(*kernels[kind]), balance=balance)


def assert_ends_well(problem: Problem, selection: str) -> None:
    """A status, finite numbers, duals within their box, and a certificate that does not claim convexity."""
    result = solve(problem, SMO(selection=selection), tol=1e-6, max_iter=20000, max_seconds=HANG_SECONDS)
    assert isinstance(result.status, Status)
    assert result.certificate.convex is False
    assert np.isfinite(result.point.a).all()
    assert np.isfinite(result.point.b)
    assert np.isfinite(result.certificate.primal)
    assert (result.point.a >= problem.row.lo).all()
    assert (result.point.a <= problem.row.hi).all()


either_balance = pytest.mark.parametrize("balance", [0.0, None], ids=["free", "none"])
either_indefinite = pytest.mark.parametrize("kind", ["sigmoid", "precomputed"])


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(), Quantile()], ids=say)
@either_balance
@either_indefinite
@every_selection
def test_kernels_that_are_not_psd_end(loss, balance, kind, selection):
    """Bounded duals: the solve ends at a stationary point or a limit, and says so."""
    assert_ends_well(make_indefinite(loss, balance, kind), selection)


@pytest.mark.parametrize("loss", [SquaredHinge(), LeastSquares()], ids=say)
@either_balance
@either_indefinite
def test_unbounded_duals_of_kernels_that_are_not_psd_end(loss, balance, kind):
    """Where D has no maximum the solve gives up with finite numbers and without a warning from NumPy."""
    assert_ends_well(make_indefinite(loss, balance, kind), "second-order")


def test_negative_curvature_is_counted():
    """The pairs along which D is not concave are counted."""
    problem = replace(make_problem(Hinge(), n=40), features=Gram.from_data(Precomputed(), indefinite(40)))
    result = solve(problem, SMO(), tol=1e-6, max_iter=20000, max_seconds=HANG_SECONDS)
    assert result.counters["negative_curvature"] > 0


@every_row_loss
@pytest.mark.parametrize("intercept", ["free", "none"])
def test_duplicated_samples(loss, intercept):
    """Every sample three times: the optimum of the same samples with three times the weight."""
    rng = np.random.default_rng(10)
    X = rng.normal(size=(12, 2))
    y, c = make_targets(loss, X, rng), make_weights(12, True, rng)
    balance = None if intercept == "none" else (0.5 * c.sum() if loss.target == "none" else 0.0)
    once = Problem(Gram.from_data(Linear(), X), y, 3.0 * c, loss, balance)
    thrice = Problem(Gram.from_data(Linear(), np.tile(X, (3, 1))), np.tile(y, 3), np.tile(c, 3), loss, balance)
    assert_optimal(run(thrice), run(once).certificate.dual, 1e-7)


@every_row_loss
@every_selection
@pytest.mark.parametrize("intercept", ["free", "none"])
def test_all_rows_equal(loss, selection, intercept):
    """One and the same sample with different targets: a problem in one number."""
    rng = np.random.default_rng(12)
    y = make_targets(loss, rng.normal(size=(15, 2)), rng)
    balance = None if intercept == "none" else (7.0 if loss.target == "none" else 0.0)
    problem = Problem(Gram.from_data(RBF(gamma=1.0), np.ones((15, 2))), y, np.ones(15), loss, balance)
    assert_optimal(run(problem, selection=selection), reference_value(problem))


@every_row_loss
@every_kernel
@pytest.mark.parametrize("intercept", ["free", "none"])
def test_two_samples(loss, kernel, intercept):
    """The smallest problem there is."""
    y = np.array([1.0, -1.0])
    balance = None if intercept == "none" else (1.0 if loss.target == "none" else 0.0)
    problem = Problem(Gram.from_data(kernel, np.array([[0.5, 1.0], [-1.0, 0.3]])), y, np.ones(2), loss, balance)
    assert_optimal(run(problem), reference_value(problem))


@pytest.mark.parametrize("loss", [loss for loss in ROW_LOSSES if loss.target == "real"], ids=say)
@pytest.mark.parametrize("value", [0.0, 0.1])
def test_constant_targets(loss, value):
    """Where the intercept alone explains all targets the optimum is zero, and that is found and said."""
    problem = Problem(Gram.from_data(RBF(gamma=0.5), np.eye(10)), np.full(10, value), np.ones(10), loss)
    result = run(problem, 1e-3)
    assert result.certificate.primal == pytest.approx(0.0, abs=1e-12)
    assert result.status is Status.CONVERGED


@pytest.mark.parametrize("loss", [loss for loss in ROW_LOSSES if loss.target == "real"], ids=say)
def test_targets_far_from_zero(loss):
    """A free intercept takes up any constant: the optimum is that of the targets around zero."""
    near = make_problem(loss, RBF(gamma=0.5), weighted=True)
    far = run(replace(near, y=near.y + 1e6), 1e-4)
    assert far.status is Status.CONVERGED
    assert far.certificate.dual == pytest.approx(run(near, 1e-6).certificate.dual, rel=2e-4)


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=say)
@pytest.mark.parametrize("intercept", ["free", "none"])
def test_one_label_only(loss, intercept):
    """All samples of one class: b alone does it, or w must."""
    base = make_problem(loss, RBF(gamma=0.5), intercept)
    problem = replace(base, y=np.ones(base.n))
    result = run(problem)
    assert result.status is Status.CONVERGED
    assert result.certificate.primal == pytest.approx(reference_value(problem), abs=1e-7)


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive()], ids=say)
def test_no_sample_has_weight(loss):
    """Without any weight nothing is to be learnt: zero duals, a finite intercept of sensible size."""
    base = make_problem(loss, RBF(gamma=0.5))
    result = run(replace(base, c=np.zeros(base.n), balance=0.0))
    np.testing.assert_array_equal(result.point.a, np.zeros(base.n))
    assert result.certificate.gap == 0.0
    assert abs(result.point.b) < 1e6


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.1), SquaredHinge()], ids=say)
def test_units_do_not_matter(loss, scale):
    """Features scaled by s and C by 1/s^2 are the same problem: the same value but for the factor."""
    rng = np.random.default_rng(13)
    X = rng.normal(size=(40, 3))
    y = make_targets(loss, X, rng)
    plain = run(Problem(Gram.from_data(Linear(), X), y, np.ones(40), loss))
    scaled = run(Problem(Gram.from_data(Linear(), scale * X), y, np.full(40, scale**-2), loss))
    assert scaled.status is Status.CONVERGED
    assert scaled.certificate.dual * scale**2 == pytest.approx(plain.certificate.dual, rel=1e-7)
