"""Trajectories: what the judge saw, step by step, and that looking changes nothing."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import pytest
from class_problems import CLASS_LOSSES, make_classes, pose_classes
from reference_problems import solve_qp
from structured_problems import make_chains, pose
from time_allowances import HANG_SECONDS

from maxmargin import SMO, Bundle, ChainModel, GradientDescent, InteriorPoint, Multipliers, solve
from maxmargin.contracts.solvers import Solver
from maxmargin.insight.traces import DENSE_ITERATIONS
from maxmargin.insight.traces import record as record_in_time
from maxmargin.model.features import Design, Gram
from maxmargin.model.kernels import RBF, Linear
from maxmargin.model.losses import EpsilonInsensitive, Hinge, Logistic, SquaredHinge
from maxmargin.model.problem import Point, Problem
from maxmargin.model.samples import wrap
from maxmargin.solvers import SOLVERS
from maxmargin.solvers.result import Outcome
from maxmargin.solvers.trajectory import Trajectory

record = functools.partial(record_in_time, max_seconds=HANG_SECONDS)
SLOW = ("gradient_descent", "adagrad", "lagrangian_dual")  # need not reach the tolerance in these tests
LINEAR = {
    "hinge": Hinge(), "squared_hinge": SquaredHinge(), "epsilon_insensitive": EpsilonInsensitive(0.2),
    "logistic": Logistic(),
}  # fmt: skip


def make_data(n: int = 60):
    """Two clouds that overlap, and their labels."""
    rng = np.random.default_rng(0)
    y = np.repeat([1.0, -1.0], n // 2)
    return rng.normal(size=(n, 2)) + y[:, None] * [0.6, -0.4], y


def make_problem(kind: str) -> Problem:
    """A small problem: a loss over linear features with a free intercept, or the hinge over a kernel."""
    X, y = make_data()
    if kind == "kernel":
        return Problem(Gram.from_data(RBF(gamma=0.5), X), y, np.ones(len(y)), Hinge(), 0.0)
    target = X[:, 0] - X[:, 1] if kind == "epsilon_insensitive" else y
    return Problem(Design(wrap(X)), target, np.ones(len(y)), LINEAR[kind], 0.0)


PAIRS = [
    (kind, name)
    for kind in (*LINEAR, "kernel")
    for name, solver in SOLVERS.items()
    if "memory" in solver.forms and solver().accepts(make_problem(kind)) is None
]
every_pair = pytest.mark.parametrize(("kind", "name"), PAIRS, ids=[f"{kind}-{name}" for kind, name in PAIRS])


def test_there_are_pairs():
    """The registry was walked: every kind has solvers."""
    assert {kind for kind, _ in PAIRS} == {*LINEAR, "kernel"}
    assert len(PAIRS) >= 15


@pytest.mark.cover("values")
@every_pair
def test_bounds_and_values(kind, name):
    """D <= P throughout; P is that of the points that were kept, evaluated afresh; seconds and iterations grow."""
    problem = make_problem(kind)
    seen = record(problem, name, tol=1e-7, max_iter=2000)
    assert isinstance(seen, Trajectory)
    assert seen.solver == name
    assert seen.n_iter[0] == 0
    assert (np.diff(seen.n_iter) > 0).all()
    assert (np.diff(seen.seconds) >= 0).all()
    assert len(seen.points) == len(seen.n_iter) == len(seen.primal) == len(seen.dual)
    assert (seen.primal >= seen.dual - 1e-12 * np.abs(seen.dual)).all()
    np.testing.assert_allclose([problem.primal(point) for point in seen.points], seen.primal, rtol=1e-12)
    gap = (seen.primal[-1] - seen.dual[-1]) / abs(seen.primal[-1])
    assert gap <= 1e-7 or name in SLOW


@every_pair
def test_looking_does_not_change_the_way(kind, name):
    """A run that takes single steps without being looked at stands at the same place."""
    seen = record(make_problem(kind), name, tol=1e-6, max_iter=25)
    alone = SOLVERS[name]().start(make_problem(kind), 1e-6)
    outcome = Outcome.GOING
    while alone.n_iter < min(seen.n_iter[-1], 25) and outcome is Outcome.GOING:
        outcome = alone.advance(1, 1.0)
    point = alone.here()
    np.testing.assert_array_equal(point.a, seen.points[-1].a)
    np.testing.assert_array_equal(point.b, seen.points[-1].b)


@pytest.mark.parametrize("kind", ["hinge", "squared_hinge", "epsilon_insensitive", "kernel"])
def test_optimum_of_an_independent_solver(kind):
    """P and D of every step lie on both sides of the optimum that cvxopt finds."""
    problem = make_problem(kind)
    K = problem.features.form() if kind == "kernel" else Gram.from_data(Linear(), make_data()[0]).form()
    best = solve_qp(K, problem.row, 0.0)[1]
    seen = record(problem, "smo", tol=1e-9)
    assert (seen.primal >= best - 1e-7 * abs(best)).all()
    assert (seen.dual <= best + 1e-7 * abs(best)).all()
    assert seen.primal[-1] == pytest.approx(best, rel=1e-7)


def test_barrier_survives_being_looked_at():
    """To ask the interior point method for its point closes its barrier: the copy's is closed, not the run's."""
    problem = make_problem("hinge")
    seen = record(problem, InteriorPoint(), tol=1e-6)
    assert seen.n_iter[-1] <= solve(problem, InteriorPoint(), tol=1e-6).n_iter + 2


def test_stands_where_it_is():
    """Gradient descent over a kink goes up and down: its places are kept, not the best of them."""
    seen = record(make_problem("hinge"), GradientDescent(step=0.05), max_iter=60)
    assert (np.diff(seen.primal) > 0).any()
    assert (np.diff(seen.primal) < 0).any()


@pytest.mark.parametrize("limit", [1, 7, 150])
def test_max_iter(limit):
    """No run goes beyond its limit."""
    seen = record(make_problem("hinge"), SMO(), tol=0.0, max_iter=limit)
    assert seen.n_iter[-1] <= limit


def test_max_seconds():
    """A budget that is used up by the start leaves the start."""
    seen = record(make_problem("hinge"), "smo", max_seconds=1e-9)
    assert list(seen.n_iter) == [0]


def test_long_runs_are_judged_now_and_then():
    """All of the first hundred steps, then in steps of two per cent."""
    seen = record(make_problem("hinge"), GradientDescent(step=1e-4), tol=1e-12, max_iter=1500)
    assert list(seen.n_iter[: DENSE_ITERATIONS + 1]) == list(range(DENSE_ITERATIONS + 1))
    ratios = seen.n_iter[DENSE_ITERATIONS + 1 :] / seen.n_iter[DENSE_ITERATIONS:-1]
    assert seen.n_iter[-1] == 1500
    assert ((ratios > 1.0) & (ratios <= 1.03)).all()
    assert len(seen.n_iter) < 260


def test_a_rule_of_its_own():
    """SMO(stop="kkt") goes on where the gap is within tol, until m - M < tol."""
    problem = make_problem("hinge")
    loose, own = record(problem, SMO(), tol=0.1), record(problem, SMO(stop="kkt"), tol=0.1)
    assert own.n_iter[-1] > loose.n_iter[-1]
    assert own.n_iter[-1] == solve(problem, SMO(stop="kkt"), tol=0.1).n_iter


@dataclass(frozen=True)
class Hesitant(Solver):
    """A solver that thinks itself done at once, and is made to go on by the judge."""

    def start(self, problem, tol, warm=None):
        """SMO, in disguise."""
        run = SMO().start(problem, tol)
        advance = run.advance
        run.advance = lambda steps, seconds: (advance(steps, seconds), Outcome.DONE)[1]
        return run


def test_the_judge_has_the_last_word():
    """A run that believes itself done goes on until the judge agrees."""
    seen = record(make_problem("hinge"), Hesitant(), tol=1e-6)
    assert (seen.primal[-1] - seen.dual[-1]) <= 1e-6 * seen.primal[-1]


@pytest.mark.parametrize("loss", CLASS_LOSSES)
def test_classes(loss):
    """One machine of all classes has a trajectory too."""
    X, y, c = make_classes()
    seen = record(pose_classes(CLASS_LOSSES[loss], X, y, c, "none"), tol=1e-6)
    assert (seen.primal >= seen.dual).all()
    assert seen.primal[-1] - seen.dual[-1] <= 1e-6 * abs(seen.primal[-1])


@pytest.mark.parametrize("solver", ["frank_wolfe", "structured_bundle"])
def test_structures(solver):
    """So have structured outputs."""
    seen = record(pose(ChainModel(), *make_chains()), solver, tol=1e-3)
    assert len(seen.n_iter) > 2
    assert seen.primal[-1] - seen.dual[-1] <= 1e-3 * abs(seen.primal[-1])


def test_auto_is_the_first_of_its_plan():
    """The name says which solver was chosen."""
    assert record(make_problem("squared_hinge")).solver == "newton"
    assert record(make_problem("hinge")).solver == Multipliers.name


def test_points_are_points():
    """What is kept can be started from."""
    problem = make_problem("hinge")
    seen = record(problem, Bundle())
    assert all(isinstance(point, Point) for point in seen.points)
    again = solve(problem, "smo", tol=1e-6, warm=seen.points[-1])
    assert again.converged


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tol": -1.0}, "tol must be a number of at least zero, got -1.0."),
        ({"tol": "small"}, "tol must be a number of at least zero, got 'small'."),
        ({"max_iter": 0}, "max_iter must be a whole number above zero, got 0."),
        ({"max_iter": 2.5}, "max_iter must be a whole number above zero, got 2.5."),
        ({"max_seconds": 0}, "max_seconds must be a number above zero, got 0."),
        ({"max_seconds": float("nan")}, "max_seconds must be a number above zero, got nan."),
        ({"solver": "magic"}, "solver must be 'auto', one of"),
        ({"solver": "class_newton"}, "Newton"),
    ],
    ids=["negative tol", "tol word", "no steps", "half steps", "no time", "nan time", "unknown", "refused"],
)
def test_bad_input(arguments, message):
    """One sentence that names the parameter."""
    with pytest.raises(ValueError) as error:
        record(make_problem("hinge"), **arguments)
    assert message in str(error.value)
