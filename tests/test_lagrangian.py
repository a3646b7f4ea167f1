"""The Lagrangian dual: augmented to the optimum of every problem, plain as far as it gets, and what it says of that."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from linear_problems import PIECEWISE_LOSSES, find_optimum, make_linear_problem
from reference_problems import INTERCEPTS, ROW_LOSSES, make_problem, say, solve_qp
from scipy.sparse.linalg import minres
from selection import leave_long
from sklearn import svm

from maxmargin import SVC, SVR, LagrangianDual, Status, solve
from maxmargin.insight.traces import record
from maxmargin.model.features import Gram
from maxmargin.model.kernels import RBF, Linear, Polynomial, Precomputed
from maxmargin.model.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    LeastSquares,
    Novelty,
    Quantile,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)  # fmt: skip
from maxmargin.model.problem import Point, Problem
from maxmargin.runtime.interrupt import Interrupt
from maxmargin.solvers.quadratic_program import QuadraticProgram

KERNELS = {"linear": Linear(), "poly": Polynomial(degree=3, coef0=1.0), "rbf": RBF(gamma=0.5)}
AUGMENTED, PLAIN = LagrangianDual(), LagrangianDual("plain")
LEAST_NORM = LagrangianDual("plain", inner="normal_equations")
SMOOTH = (SquaredHinge(), SquaredEpsilonInsensitive(0.1), LeastSquares())
every_intercept = pytest.mark.parametrize("intercept", INTERCEPTS)
every_kernel = pytest.mark.parametrize("kernel", KERNELS)
every_row = pytest.mark.parametrize("loss", ROW_LOSSES, ids=say)


@cache
def optimum_of(loss, kernel: str, intercept: str) -> float:
    """max D by cvxopt."""
    problem = make_problem(loss, KERNELS[kernel], intercept, weighted=True)
    return solve_qp(problem.features.form(), problem.row, problem.balance)[1]


def make_clouds(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two overlapping Gaussian clouds of n points."""
    rng = np.random.default_rng(seed)
    X = [rng.multivariate_normal(mean, [[1.5, 1.0], [1.0, 1.5]], n) for mean in ([0.0, 2.0], [2.0, 0.0])]
    return np.concatenate(X), np.repeat([1.0, -1.0], n)


def make_sine(n: int) -> tuple[np.ndarray, np.ndarray]:
    """sin(x) and uniform noise."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 2.0 * np.pi, n)
    return x[:, None], np.sin(x) + rng.uniform(-0.125, 0.125, n)


def pose(loss, X, y, C: float, intercept: str = "free", kernel=None) -> Problem:
    """A problem with one C for all samples."""
    features = Gram.from_data(Linear() if kernel is None else kernel, X, float(intercept == "regularised"))
    return Problem(features, y, np.full(len(y), C), loss, 0.0 if intercept == "free" else None)


# ---- augmented ----------------------------------------------------------------------------------------------


@every_intercept
@every_kernel
@every_row
def test_augmented_reaches_the_optimum(loss, kernel, intercept):
    """Every loss, kernel and intercept, with weights of very different size and some that are zero."""
    problem = make_problem(loss, KERNELS[kernel], intercept, weighted=True)
    result = solve(problem, AUGMENTED, tol=1e-8)
    assert result.converged, result.certificate
    assert result.certificate.primal == pytest.approx(optimum_of(loss, kernel, intercept), rel=1e-7, abs=1e-9)
    assert not result.point.a[problem.c == 0].any()


@every_intercept
@pytest.mark.parametrize("name", PIECEWISE_LOSSES)
def test_linear_machines(name, intercept):
    """Designs, against the optimum of the primal by another solver."""
    result = solve(make_linear_problem(name, intercept, weighted=True), AUGMENTED, tol=1e-8)
    assert result.converged, result.certificate
    assert result.certificate.primal == pytest.approx(find_optimum(name, intercept, True), rel=1e-7)


@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0, 1e4])
@pytest.mark.parametrize("intercept", ["free", "regularised"])
@every_kernel
def test_every_size_of_C(kernel, intercept, C):
    """Labels and targets of the report's experiments, from nearly all duals at their bounds to nearly none."""
    for loss, (X, y) in ((Hinge(), make_clouds(40)), (EpsilonInsensitive(0.1), make_sine(50))):
        result = solve(pose(loss, X, y, C, intercept, KERNELS[kernel]), AUGMENTED, tol=1e-8)
        assert result.converged, result.certificate
        assert result.n_iter < 300


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.1), Absolute(), SquaredHinge()], ids=say)
def test_duplicates_and_unscaled_columns(loss):
    """Every row three times, so K has rank two of forty-five; columns a thousand times larger than others."""
    rng = np.random.default_rng(2)
    X = np.repeat(rng.normal(size=(15, 2)) * [1.0, 1e3], 3, axis=0)
    y = np.where(rng.normal(size=45) > 0, 1.0, -1.0) if loss.target == "label" else rng.normal(size=45)
    for intercept in ("free", "regularised", "none"):
        result = solve(pose(loss, X, y, 2.0, intercept), AUGMENTED, tol=1e-8)
        assert result.converged, result.certificate


def test_a_kernel_that_is_zero():
    """A linear program: min sum_i |y_i - b| is the median."""
    y = np.array([3.0, -1.0, 10.0, 2.0, 2.5])
    result = solve(pose(Absolute(), np.zeros((5, 1)), y, 1.0), AUGMENTED, tol=1e-9)
    assert result.converged
    assert result.point.b == pytest.approx(2.5, abs=1e-6)


def test_targets_far_from_zero():
    """The intercept finds its way from their mean."""
    X, y = make_sine(60)
    near, far = (
        solve(pose(EpsilonInsensitive(0.1), X, y + shift, 1.0, kernel=RBF()), AUGMENTED, tol=1e-8)
        for shift in (0.0, 1e5)
    )
    assert far.converged
    assert far.point.b - 1e5 == pytest.approx(near.point.b, abs=1e-4)


def test_one_class():
    """Duals that sum to nu n."""
    problem = make_problem(Novelty(), RBF(gamma=0.5), "free", weighted=True, n=50)
    result = solve(problem, AUGMENTED, tol=1e-9)
    assert result.converged
    assert result.point.a.sum() == pytest.approx(problem.balance, rel=1e-12)


def test_the_duals_keep_their_bounds_exactly():
    """As many samples at zero and at C as SMO finds."""
    problem = pose(Hinge(), *make_clouds(60), 1.0)
    ours, theirs = (solve(problem, solver, tol=1e-9).point.a for solver in (AUGMENTED, "smo"))
    assert np.array_equal(ours == 0, theirs == 0)
    assert np.array_equal(np.abs(ours) == 1.0, np.abs(theirs) == 1.0)


def test_a_warm_start_is_used():
    """The optimum is seen at once, a point near it soon."""
    X, y = make_clouds(50)
    near, problem = pose(Hinge(), X, y, 1.0), pose(Hinge(), X, y, 1.1)
    cold = solve(problem, AUGMENTED, tol=1e-8)
    assert solve(problem, AUGMENTED, tol=1e-6, warm=cold.point).n_iter == 0
    warm = solve(problem, AUGMENTED, tol=1e-8, warm=solve(near, AUGMENTED, tol=1e-8).point)
    assert warm.converged
    assert warm.certificate.primal == pytest.approx(cold.certificate.primal, rel=1e-7)


def test_the_point_is_stationary_in_its_multipliers():
    """K a + p + d a + l + b = 0, l a subgradient of e |a| plus the bounds: the conditions of the Wolfe dual."""
    problem = pose(EpsilonInsensitive(0.1), *make_sine(50), 1.0, kernel=RBF())
    run = AUGMENTED.start(problem, 1e-10)
    while not run.reached():
        run.advance(1, 0.0)
    z, free = run.z, (np.abs(run.z) > 0) & (np.abs(run.z) < 1.0)
    residual = run.K @ z + run.p + run.multiplier + run.b
    assert np.abs(residual).max() < 1e-6
    assert np.abs(run.multiplier[free]) == pytest.approx(np.full(free.sum(), 0.1), abs=1e-7)
    assert (np.abs(run.multiplier[z == 0]) <= 0.1 + 1e-9).all()
    assert (run.multiplier[z == 1.0] >= 0.1 - 1e-9).all()


def test_no_gap_is_claimed_that_is_not_there():
    """tol = 0 ends at rounding, and says so."""
    result = solve(pose(EpsilonInsensitive(0.1), *make_sine(40), 1.0, kernel=RBF()), AUGMENTED, tol=0.0)
    assert result.status is Status.ROUNDING_LIMIT
    assert result.certificate.relative_gap < 1e-11


def test_a_kernel_that_is_not_positive_semidefinite():
    """It ends, and the certificate does not call the problem convex."""
    problem = make_problem(Hinge(), RBF(gamma=0.5), n=20)
    K = problem.features.form() - 0.5 * np.eye(20)
    features = Gram.from_data(Precomputed(), K)
    result = solve(Problem(features, problem.y, problem.c, Hinge()), AUGMENTED, tol=1e-8, max_iter=1000)
    assert result.certificate.convex is False
    assert np.isfinite(result.certificate.gap)


@pytest.mark.slow
def test_a_thousand_samples():
    """Within a few hundred Newton steps of order 1000."""
    rng = np.random.default_rng(0)
    X, y = make_clouds(500)
    y = np.where(rng.uniform(size=1000) < 0.1, -y, y)
    for C in (1.0, 100.0):
        for kernel in KERNELS.values():
            result = solve(pose(Hinge(), X, y, C, kernel=kernel), AUGMENTED, tol=1e-8)
            assert result.converged, result.certificate
            assert result.n_iter < 400


# ---- plain --------------------------------------------------------------------------------------------------


@every_intercept
@every_kernel
@pytest.mark.parametrize("solver", [PLAIN, LEAST_NORM], ids=["minres", "normal_equations"])
@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.1), Quantile(0.3)], ids=say)
def test_the_gap_of_the_plain_method_is_true(loss, solver, kernel, intercept):
    """P >= P* >= D, far apart; and the residual of the last inner solve says why, unless MINRES can solve Q v = r.

    Where Q is regular, as for hinges with the Gaussian kernel, it can, and the gap is that of the multipliers. Where Q
    is singular, v = 0 has the residual 1, and a least-squares solution no more than that beyond the rounding of Q v.
    """
    problem = make_problem(loss, KERNELS[kernel], intercept)
    result = solve(problem, solver, tol=1e-6, max_iter=300)
    best = solve(problem, "smo", tol=1e-9).certificate
    ends = {Status.STALLED, Status.MAX_ITER}
    if solver.inner == "minres":  # duals of 1e12 and more, whose scores float64 cannot hold
        ends.add(Status.ROUNDING_LIMIT)
    assert result.status in ends
    assert result.certificate.primal >= best.dual
    assert best.primal >= result.certificate.dual
    assert result.certificate.relative_gap > 1e-3
    program, residual = QuadraticProgram.of(problem), result.counters["residual"]
    eigenvalues = np.linalg.eigvalsh(program.Q @ np.eye(len(program.q)))
    if solver.inner == "minres" and eigenvalues[0] > 1e-9 * eigenvalues[-1]:
        assert residual < 1e-3
        return
    rounding = np.finfo(float).eps * eigenvalues[-1] * np.linalg.norm(result.point.a)
    assert 1e-4 < residual <= 1.0 + 1e-6 + rounding  # what of r lies off the range of Q, which may be little of it


@pytest.mark.parametrize("intercept", ["free", "regularised"])
def test_the_inner_solutions_minimise_the_residual(intercept):
    """Both have the residual of LAPACK's least squares; normal equations also have its norm, MINRES need not."""
    X, y = make_clouds(30)
    runs = [solver.start(pose(Hinge(), X, y, 1.0, intercept), 0.0) for solver in (PLAIN, LEAST_NORM)]
    Z = np.column_stack([X, np.ones(60)]) if intercept == "regularised" else X
    Q = (y[:, None] * Z) @ (y[:, None] * Z).T
    exact = np.linalg.lstsq(Q, np.ones(60), rcond=1e-10)[0]
    residuals = [np.linalg.norm(Q @ run.v - 1.0) for run in runs]
    least = np.linalg.norm(Q @ exact - 1.0)
    assert residuals[1] == pytest.approx(least, rel=1e-6)
    # the part of v in the null space, up to 1e12 times as large, leaves few digits to the rest
    assert residuals[0] == pytest.approx(least, rel=0.05)
    assert runs[1].v == pytest.approx(exact, abs=1e-4 * np.abs(exact).max())
    assert np.linalg.norm(runs[0].v) > 10.0 * np.linalg.norm(exact)


def test_minres_is_called_as_equation_32_says():
    """SciPy's MINRES on Q v = r with Q written out by hand, from zero, at the multipliers of each of a few steps."""
    X, y = make_clouds(20)
    run = PLAIN.start(pose(Hinge(), X, y, 1.0), 0.0)
    Q = run.program.Q
    assert pytest.approx(np.outer(y, y) * (X @ X.T)) == Q
    for _ in range(4):
        right = -(-np.ones(40) - run.mu * y + run.above - run.below)
        assert np.array_equal(run.v, minres(Q, right, rtol=1e-5, maxiter=500)[0])
        run.take_step()


def test_the_plain_method_does_not_know_C():
    """The report's finding: where v stays within its bounds C has no say, and every sample is a support vector."""
    X, y = make_clouds(50)
    points = [solve(pose(Hinge(), X, y, C), LEAST_NORM, tol=1e-6, max_iter=200).point for C in (10.0, 1000.0)]
    assert np.array_equal(points[0].a, points[1].a)
    assert (points[0].a != 0).all()


@pytest.mark.parametrize("intercept", ["free", "regularised"])
@pytest.mark.parametrize("loss", leave_long(SMOOTH, SquaredHinge()), ids=say)
def test_the_plain_method_converges_where_Q_is_regular(loss, intercept):
    """Squared losses: Q + I/(2C) has an inverse, and the ascent finds the optimum."""
    X, y = make_clouds(30) if loss.target == "label" else make_sine(40)
    problem = pose(loss, X, y, 1.0, intercept)
    result = solve(problem, PLAIN, tol=1e-5, max_iter=5000)
    assert result.converged, result.certificate
    assert result.counters["residual"] < 1e-8
    assert result.certificate.primal == pytest.approx(solve(problem, "smo", tol=1e-9).certificate.primal, rel=1e-5)


def test_the_value_rises_to_the_optimum_where_Q_is_regular():
    """Weak duality: the value of the Lagrangian is below the minimum of the program, and comes near it."""
    problem = pose(SquaredHinge(), *make_clouds(30), 1.0)
    best = -solve(problem, "smo", tol=1e-10).certificate.dual
    run = PLAIN.start(problem, 0.0)
    values = []
    for _ in range(600):
        run.advance(1, 0.0)
        values.append(run.value)
    assert max(values) <= best + 1e-9 * abs(best)
    assert values[-1] == pytest.approx(best, rel=1e-3)
    assert run.value == pytest.approx(lagrangian(run), rel=1e-9)


def test_the_value_is_no_bound_where_Q_is_singular():
    """It rises above the minimum: the part of the system that has no solution is left out."""
    problem = pose(Hinge(), *make_clouds(30), 1.0)
    best = -solve(problem, "smo", tol=1e-10).certificate.dual
    run = LEAST_NORM.start(problem, 0.0)
    run.advance(300, 10.0)
    assert run.value > best + 1.0


def lagrangian(run) -> float:
    """1/2 v'Qv + q'v - mu (sign'v - balance) + above'(v - upper) - below'v, written out."""
    program: QuadraticProgram = run.program
    bounds = float(run.above[run.finite] @ (run.v - program.upper)[run.finite]) - float(run.below @ run.v)
    return program.value(run.v) - run.mu * (float(program.sign @ run.v) - program.balance) + bounds


def test_the_steps_go_along_the_gradient():
    """Finite differences of the value in each multiplier, where Q is regular."""
    problem = pose(SquaredEpsilonInsensitive(0.1), *make_sine(8), 1.0)
    run = PLAIN.start(problem, 0.0)
    run.advance(5, 10.0)
    program, size = run.program, 1e-5
    gradient = {"mu": program.balance - float(program.sign @ run.v), "below": -run.v[3]}
    run.minimise()
    value = run.value
    run.mu += size
    run.minimise()
    assert (run.value - value) / size == pytest.approx(gradient["mu"], rel=1e-3, abs=1e-4)
    run.mu -= size
    run.below[3] += size
    run.minimise()
    assert (run.value - value) / size == pytest.approx(gradient["below"], rel=1e-3, abs=1e-4)


def test_the_step_is_a_knob():
    """A smaller one goes another way."""
    problem = pose(Hinge(), *make_clouds(20), 1.0)
    large, small = (solve(problem, LagrangianDual("plain", step), max_iter=3) for step in (0.5, 0.01))
    assert not np.allclose(large.point.a, small.point.a)


# ---- estimators, limits, parameters -------------------------------------------------------------------------


def test_estimators():
    """SVC and SVR by the augmented dual predict like scikit-learn's; by the plain one they warn of the gap."""
    X, y = make_clouds(60)
    ours, theirs = SVC(kernel="linear", solver=AUGMENTED, tol=1e-8), svm.SVC(kernel="linear", tol=1e-8)
    assert np.array_equal(ours.fit(X, y).predict(X), theirs.fit(X, y).predict(X))
    X, y = make_sine(80)
    assert SVR(solver="lagrangian_dual", tol=1e-8).fit(X, y).predict(X) == pytest.approx(
        svm.SVR(tol=1e-8).fit(X, y).predict(X), abs=1e-5
    )
    with pytest.warns(match="relative gap is"):
        machine = SVR(solver=PLAIN).fit(X, y)
    assert len(machine.support_) == 80


@pytest.mark.parametrize("solver", [AUGMENTED, PLAIN, LEAST_NORM], ids=["augmented", "plain", "normal_equations"])
def test_limits(solver, monkeypatch):
    """Iterations, seconds and a raised flag end a run with its best point so far."""
    monkeypatch.setitem(solve.__globals__, "SLICE_SECONDS", 0.0)  # as if every step took long
    problem = pose(Hinge(), *make_clouds(40), 10.0)
    few = solve(problem, solver, tol=1e-12, max_iter=3)
    assert few.status is Status.MAX_ITER
    assert few.n_iter == 3
    spent = solve(problem, solver, tol=1e-12, max_seconds=1e-6)
    assert spent.status is Status.MAX_SECONDS
    assert spent.n_iter == 0
    flag = Interrupt()

    def press(progress) -> None:
        flag.raised = progress.n_iter >= 2

    stopped = solve(problem, solver, tol=1e-12, interrupt=flag, callback=press)
    assert stopped.status is Status.INTERRUPTED
    assert stopped.n_iter == 2
    assert np.isfinite(stopped.certificate.gap)


@pytest.mark.parametrize("solver", [AUGMENTED, PLAIN, LEAST_NORM], ids=["augmented", "plain", "normal_equations"])
def test_trajectories(solver):
    """Every step can be judged, and looking does not change the way."""
    problem = pose(SquaredHinge(), *make_clouds(20), 1.0)
    path, result = record(problem, solver, tol=1e-5, max_iter=60), solve(problem, solver, tol=1e-5, max_iter=60)
    assert path.n_iter[-1] <= result.n_iter
    assert (path.primal >= path.dual - 1e-9).all()
    assert path.n_iter.tolist() == list(range(len(path.n_iter)))


def test_parameters():
    """One sentence with the name and the value."""
    with pytest.raises(ValueError, match=r"method must be one of \['augmented', 'plain'\], got 'newton'"):
        LagrangianDual("newton")
    for step in (0.0, -1.0, np.inf, np.nan, "0.5"):
        with pytest.raises(ValueError, match=rf"step must be a positive number, got {step!r}"):
            LagrangianDual("plain", step)
    with pytest.raises(ValueError, match=r"inner must be one of \['minres', 'normal_equations'\], got 'cg'"):
        LagrangianDual("plain", inner="cg")


def test_the_same_bits_again():
    """No clock, no chance."""
    problem = pose(Hinge(), *make_clouds(40), 1.0)
    for solver in (AUGMENTED, PLAIN, LEAST_NORM):
        one, two = (solve(problem, solver, tol=1e-6, max_iter=50).point for _ in range(2))
        assert np.array_equal(one.a, two.a)
        assert one.b == two.b


def test_a_start_outside_the_bounds():
    """A warm point is clipped first."""
    problem = pose(Hinge(), *make_clouds(20), 1.0)
    result = solve(problem, AUGMENTED, tol=1e-8, warm=Point(np.full(40, 5.0), 1.0))
    assert result.converged
