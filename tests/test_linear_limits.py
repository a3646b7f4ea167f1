"""Linear solvers in the one loop: warm starts, limits, callbacks, history, and data of every form."""

from __future__ import annotations

from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest
import scipy.sparse as sp
from class_problems import (
    CLASS_LOSSES,
    CLASS_SOLVERS,
    find_class_optimum,
    make_class_problem,
    make_classes,
    pose_classes,
)
from linear_problems import EXAMPLES, INTERCEPTS, KINKED, PAIRS, find_optimum, make_data, make_linear_problem, pose
from time_allowances import HANG_SECONDS

from maxmargin import RiskRegressor
from maxmargin.model.problem import Point, Problem
from maxmargin.solvers import Multipliers
from maxmargin.solvers.choice import HANDOVER_GAP
from maxmargin.solvers.loop import solve
from maxmargin.solvers.result import Progress, Result, Status

ABSOLUTE = [("proximal_newton", name) for name in EXAMPLES if name not in KINKED]
CLASSES = [(CLASS_SOLVERS[name], name) for name in CLASS_LOSSES]
EVERY = [*PAIRS, *ABSOLUTE, *CLASSES]
LOOKS_FIRST = ("smo", "newton", "multipliers", "proximal_newton", "class_newton")  # at the gap, before any step
every_pair = pytest.mark.parametrize(("solver", "name"), EVERY)
every_intercept = pytest.mark.parametrize("intercept", INTERCEPTS)
pytestmark = pytest.mark.cover("values")  # solvers meet every loss in tests/test_linear_solvers.py


def make(solver: str, name: str, intercept: str = "free", form: str = "dense", weighted: bool = True) -> Problem:
    """The problem of a loss for a solver, with the penalty or the classes that it is for."""
    if name in CLASS_LOSSES:
        return make_class_problem(name, intercept, form, weighted)
    penalty = "l1" if solver == "proximal_newton" else "l2"
    return make_linear_problem(name, intercept, form, weighted, penalty)


@cache
def find(solver: str, name: str, intercept: str) -> float:
    """The optimum of that problem."""
    if name in CLASS_LOSSES:
        return find_class_optimum(name, intercept, True)
    return find_optimum(name, intercept, True, "l1" if solver == "proximal_newton" else "l2")


def check_bounds(result: Result, optimum: float) -> None:
    """D <= optimum <= P, whenever the solve ended."""
    slack = 1e-9 * abs(optimum)
    assert result.certificate.dual <= optimum + slack
    assert optimum <= result.certificate.primal + slack
    assert np.isfinite(result.certificate.primal)


# ---- warm starts --------------------------------------------------------------------------------------------


@every_intercept
@every_pair
def test_warm_start_at_the_optimum(solver, name, intercept):
    """There is next to nothing left to do: those that look at the gap first need two steps at most.

    Coordinate descent passes over the rows before it looks, and interior point begins amid its bounds: these two
    only have to end where they began.
    """
    problem = make(solver, name, intercept)
    cold = solve(problem, solver, tol=1e-7, max_seconds=HANG_SECONDS)
    warm = solve(problem, solver, tol=1e-7, warm=cold.point, max_seconds=HANG_SECONDS)
    assert warm.converged
    assert warm.certificate.primal == pytest.approx(find(solver, name, intercept), rel=2e-7)
    if solver in LOOKS_FIRST:
        assert warm.n_iter <= 2


@pytest.mark.parametrize("factor", [0.1, 10.0])
@every_pair
def test_warm_start_from_another_cost(solver, name, factor):
    """The solution at another C is a start like any other, with its own w or without, and it stays as it is."""
    problem = make(solver, name)
    other = Problem(problem.features, problem.y, factor * problem.c, problem.loss, scale(problem.balance, factor))
    point = solve(other, solver, tol=1e-6, max_seconds=HANG_SECONDS).point
    kept = np.array(point.a)
    for start in (point, Point(point.a / factor, point.b)):
        warm = solve(problem, solver, tol=1e-8, warm=start, max_seconds=HANG_SECONDS)
        assert warm.converged
        assert warm.certificate.primal == pytest.approx(find(solver, name, "free"), rel=1e-7)
    np.testing.assert_array_equal(point.a, kept)


def scale(balance, factor: float):
    """The balance of a problem whose weights were multiplied."""
    return None if balance is None else factor * balance


@every_pair
def test_warm_start_anywhere(solver, name):
    """Duals, w and b that have nothing to do with the problem."""
    problem, rng = make(solver, name), np.random.default_rng(5)
    wild = Point(5.0 * rng.normal(size=problem.shape), 3.0 + np.zeros(problem.shape[:-1]))
    if wild.b.ndim == 0:
        wild = wild._replace(b=float(wild.b))
    warm = solve(problem, solver, tol=1e-8, warm=wild, max_seconds=HANG_SECONDS)
    assert warm.converged
    assert warm.certificate.primal == pytest.approx(find(solver, name, "free"), rel=1e-7)


# ---- limits -------------------------------------------------------------------------------------------------


@every_pair
def test_max_iter_is_exact(solver, name):
    """Not one iteration more, and a certificate all the same."""
    for intercept, max_iter in product(INTERCEPTS, (0, 1, 2)):
        result = solve(make(solver, name, intercept), solver, tol=1e-12, max_iter=max_iter)
        assert result.n_iter <= max_iter
        assert result.n_iter == max_iter or result.status is not Status.MAX_ITER
        check_bounds(result, find(solver, name, intercept))


@every_pair
def test_max_seconds_is_obeyed(solver, name):
    """A budget that is over before it began: a certificate all the same."""
    for intercept, max_seconds in product(("free", "none"), (0.0, 1e-9, 1e-4)):
        result = solve(make(solver, name, intercept), solver, tol=1e-13, max_seconds=max_seconds)
        assert result.status in (Status.MAX_SECONDS, Status.CONVERGED, Status.STALLED)
        check_bounds(result, find(solver, name, intercept))


@every_pair
def test_callback_stops(solver, name):
    """A true return value ends the solve at the first report."""
    seen = []

    def stop(progress: Progress) -> bool:
        seen.append(progress)
        return True

    result = solve(make(solver, name), solver, tol=1e-9, callback=stop)
    assert result.status is Status.STOPPED
    assert seen == result.history
    assert len(seen) == 1
    assert seen[0].n_iter == result.n_iter
    check_bounds(result, find(solver, name, "free"))


# ---- what is reported -----------------------------------------------------------------------------------------


@every_pair
def test_history_names_the_solver(solver, name):
    """Every line says whose it is, and the last is that of the solver in the result."""
    result = solve(make(solver, name), solver, tol=1e-8, max_seconds=HANG_SECONDS)
    assert result.history
    assert {progress.solver for progress in result.history} == {solver} or solver == "auto"
    assert result.history[-1].solver == result.solver.name
    steps = [progress.n_iter for progress in result.history]
    assert steps == sorted(steps)
    assert steps[-1] <= result.n_iter
    assert all(count >= 0 for count in result.counters.values())


@pytest.mark.parametrize("name", ["hinge", "absolute", "quantile", "epsilon_insensitive"])
def test_handing_over_is_told(name):
    """Sparse rows with kinks: coordinate descent to a gap of 3e-5, then multipliers; message and history say so."""
    problem = make_linear_problem(name, form="sparse", n=200)
    result = solve(problem, tol=1e-8, max_seconds=HANG_SECONDS)
    assert result.converged
    assert list(dict.fromkeys(progress.solver for progress in result.history))[:2] == ["coordinate", "multipliers"]
    assert f"coordinate reached a gap of {HANDOVER_GAP:g} after" in result.message
    assert "handed over to multipliers." in result.message
    assert {"updates", "rounds"} <= set(result.counters)


def test_no_handing_over_for_a_rough_answer():
    """Where the tolerance is not finer than that of the first solver, it has no successor."""
    result = solve(make_linear_problem("hinge", form="sparse", n=200), tol=1e-4)
    assert result.converged
    assert result.solver.name == "coordinate"
    assert "handed over" not in result.message


def test_a_stalled_solver_is_named():
    """A solver that gave up is named, with the steps it took, and the next one goes on from the best point."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.integers(0, 2, size=(8, 3)).astype(float), 40, axis=0)
    y = np.where(rng.uniform(size=len(X)) < 0.5, 1.0, -1.0)
    problem = pose(EXAMPLES["hinge"], X, y, np.full(len(y), 10.0))
    result = solve(problem, tol=1e-9, max_seconds=HANG_SECONDS)
    names = list(dict.fromkeys(progress.solver for progress in result.history))
    assert result.converged
    for before, after in pairwise(names):
        assert f"{before} stalled after" in result.message
        assert f"handed over to {after}." in result.message


def test_hasty_and_patient_multipliers_agree():
    """To give up early is a matter of time, not of the answer."""
    problem = make_linear_problem("hinge", weighted=True)
    hasty, patient = (solve(problem, Multipliers(hasty=hasty), tol=1e-9) for hasty in (True, False))
    assert hasty.certificate.primal == pytest.approx(patient.certificate.primal, rel=2e-9)


# ---- forms of data --------------------------------------------------------------------------------------------


@every_pair
def test_a_fit_repeated_is_the_same_to_the_bit(solver, name):
    """No clock and no thread has a say in the coefficients."""
    for form in ("dense", "sparse"):
        first, second = (
            solve(make(solver, name, form=form), solver, tol=1e-8, max_seconds=HANG_SECONDS) for _ in range(2)
        )
        assert first.n_iter == second.n_iter
        for one, other in zip(first.point, second.point, strict=True):
            np.testing.assert_array_equal(one, other)


def widen(X) -> sp.csr_array:
    """CSR with 64-bit indices."""
    X = sp.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


OTHERS = {
    "float32": lambda X: X.astype(np.float32),
    "float32 sparse": lambda X: sp.csr_array(X.astype(np.float32)),
    "64-bit indices": widen,
    "explicit zeros": lambda X: sp.csr_array((X.ravel(), np.tile(np.arange(4), len(X)), np.arange(0, X.size + 1, 4))),
    "strided": lambda X: np.repeat(X, 2, axis=0)[::2],
    "Fortran order": np.asfortranarray,
}


@pytest.mark.parametrize(("solver", "name"), PAIRS)
def test_forms_of_data(solver, name):
    """Single precision, wide indices, stored zeros and strides change nothing but the time."""
    X, y, c = make_data(EXAMPLES[name])
    X = X.astype(np.float32).astype(float)  # numbers that both precisions hold
    for form, change in OTHERS.items():
        other = solve(pose(EXAMPLES[name], change(X), y, c), solver, tol=1e-8, max_seconds=HANG_SECONDS)
        assert other.converged, form
        assert other.certificate.primal == pytest.approx(solve_plainly(name), rel=3e-8), form


@cache
def solve_plainly(name: str) -> float:
    """P of the same data as an ordinary matrix."""
    X, y, c = make_data(EXAMPLES[name])
    return solve(pose(EXAMPLES[name], X.astype(np.float32).astype(float), y, c), tol=1e-8).certificate.primal


@pytest.mark.parametrize("form", OTHERS)
@pytest.mark.parametrize("name", CLASS_LOSSES)
def test_forms_of_data_for_classes(name, form):
    """The same for all classes at once."""
    X, y, c = make_classes()
    X = X.astype(np.float32).astype(float)
    plain, other = (
        solve(pose_classes(CLASS_LOSSES[name], data, y, c), tol=1e-8, max_seconds=HANG_SECONDS)
        for data in (X, OTHERS[form](X))
    )
    assert other.converged
    assert other.certificate.primal == pytest.approx(plain.certificate.primal, rel=3e-8)


def test_a_negative_gap_that_grows_is_no_progress():
    """Four samples four times each, a tolerance at the edge of rounding: P - D drifts below zero, and the fit ends."""
    X = np.repeat([[1.0, 3.0], [2.0, 1.0], [3.0, 3.0], [4.0, 1.0]], 4, axis=0)
    y = np.repeat([1.0, 2.0, 1.0, 2.0], 4)
    machine = RiskRegressor(loss="quantile", quantile=0.4, tol=1e-11, max_seconds=HANG_SECONDS).fit(X, y)
    assert machine.result_.status is Status.CONVERGED
    assert machine.n_iter_ < 2000
