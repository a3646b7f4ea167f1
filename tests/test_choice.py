"""Which solver "auto" takes, and the sentence that says why."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from class_problems import make_class_problem
from linear_problems import EXAMPLES, make_linear_problem, pose
from reference_problems import make_problem
from time_allowances import HANG_SECONDS

from maxmargin.model.kernels import RBF
from maxmargin.model.problem import Problem
from maxmargin.solvers import SMO, SOLVERS, Coordinate, Newton
from maxmargin.solvers.choice import COORDINATE_UPDATES_PER_SAMPLE, HANDOVER_GAP, explain, plan
from maxmargin.solvers.loop import solve


def make_text(name: str, n: int = 60, d: int = 3000) -> Problem:
    """A few words a row out of many."""
    rng = np.random.default_rng(0)
    X = sp.random_array((n, d), density=0.01, random_state=rng).tocsr()
    signal = X[:, :500].sum(axis=1) - X[:, 500:1000].sum(axis=1)
    y = np.where(signal > 0, 1.0, -1.0) if EXAMPLES[name].target == "label" else signal
    return pose(EXAMPLES[name], X, y, np.ones(n))


RELAY = ["coordinate", "multipliers"]
CASES = {  # a problem, the solvers that take it in turn at tol=1e-8, and what the sentence says of it
    "kernel": (lambda: make_problem(EXAMPLES["hinge"], RBF(gamma=0.5), n=30), ["smo"], "have a kernel"),
    "kernel logistic": (
        lambda: make_problem(EXAMPLES["logistic"], RBF(gamma=0.5), n=30),
        ["gradient_descent"],
        "is not a piecewise loss",
    ),
    "dense hinge": (lambda: make_linear_problem("hinge"), ["multipliers"], "hinge has a kink"),
    "sparse hinge": (
        lambda: make_linear_problem("hinge", form="sparse", n=200),
        ["coordinate", "multipliers"],
        "sparse",
    ),
    "dense absolute": (lambda: make_linear_problem("absolute"), ["multipliers"], "absolute has a kink"),
    "text hinge": (lambda: make_text("hinge"), RELAY, "3000 features, sparse"),
    "text squared hinge": (lambda: make_text("squared_hinge"), ["coordinate"], "too many for a matrix"),
    "text absolute": (lambda: make_text("absolute"), RELAY, "3000 features, sparse"),
    "squared hinge": (lambda: make_linear_problem("squared_hinge"), ["newton"], "squared_hinge is smooth"),
    "sparse least squares": (lambda: make_linear_problem("least_squares", form="sparse"), ["newton"], "is smooth"),
    "logistic": (lambda: make_linear_problem("logistic"), ["newton"], "logistic is smooth"),
    "text logistic": (lambda: make_text("logistic"), ["newton"], "logistic is smooth"),
    "poisson": (lambda: make_linear_problem("poisson"), ["newton"], "poisson is smooth"),
    "softmax": (lambda: make_class_problem("softmax"), ["class_newton"], "softmax is smooth"),
    "multiclass hinge": (lambda: make_class_problem("multiclass_hinge"), ["class_coordinate", "bundle"], "simplex"),
    "|w|_1": (lambda: make_linear_problem("logistic", penalty="l1"), ["proximal_newton"], "|w|_1"),
}
every_case = pytest.mark.parametrize("case", CASES)


@every_case
def test_the_explanation_is_what_happens(case):
    """One sentence, which begins with the solver that begins, and says why."""
    make, names, why = CASES[case]
    problem = make()
    sentence = explain(problem, tol=1e-8)
    assert sentence.startswith(f"{names[0]}, because ")
    assert why in sentence
    assert sentence.endswith(".")
    assert ". " not in sentence
    assert "\n" not in sentence
    result = solve(problem, tol=1e-8, max_seconds=HANG_SECONDS)
    assert result.converged
    assert list(dict.fromkeys(progress.solver for progress in result.history)) == names
    assert result.solver.name == names[-1]


@every_case
def test_every_stage_takes_the_problem_and_has_a_reason(case):
    """Also those in reserve; the explanation names all of them, once."""
    problem = CASES[case][0]()
    stages, sentence = plan(problem, tol=1e-8), explain(problem, tol=1e-8)
    for stage in stages:
        assert stage.solver.accepts(problem) is None
        assert stage.tol >= 1e-8
        assert stage.solver.name in sentence
    assert stages[-1].tol == 1e-8
    assert all(stage.reason for stage in stages[:1] + [stage for stage in stages if stage.tol > 1e-8])
    assert "because ;" not in sentence
    assert "because ." not in sentence


@pytest.mark.parametrize("tol", [1e-3, 1e-5, 1e-6, 1e-9])
def test_the_tolerance_has_a_say(tol):
    """Coordinate descent hands over only where more is asked of it than it is quick at."""
    problem = make_linear_problem("hinge", form="sparse")
    first, *others = plan(problem, tol=tol)
    assert isinstance(first.solver, Coordinate)
    assert first.solver.effort == COORDINATE_UPDATES_PER_SAMPLE
    assert first.tol == max(tol, HANDOVER_GAP)
    assert (f"to a gap of {HANDOVER_GAP:g}; then multipliers" in explain(problem, tol=tol)) == (tol < HANDOVER_GAP)
    assert all(stage.tol == tol for stage in others)


def test_a_warm_start_has_a_say():
    """From a good start multipliers are the quicker, on sparse rows too."""
    problem = make_linear_problem("hinge", form="sparse", n=200)
    assert plan(problem, tol=1e-8)[0].solver.name == "coordinate"
    assert plan(problem, tol=1e-8, warm=True)[0].solver.name == "multipliers"
    cold = solve(problem, tol=1e-8)
    warm = solve(problem, tol=1e-8, warm=cold.point)
    assert {progress.solver for progress in warm.history} == {"multipliers"}
    assert warm.converged


@pytest.mark.parametrize("solver", ["coordinate", Coordinate(shrinking=False), Newton(), SMO(), "smo"])
def test_a_solver_that_was_asked_for(solver):
    """By name or as an object: that one, and no other in reserve."""
    problem = make_linear_problem("squared_hinge")
    stages = plan(problem, solver)
    assert len(stages) == 1
    wanted = SOLVERS[solver] if isinstance(solver, str) else type(solver)
    assert isinstance(stages[0].solver, wanted)
    assert explain(problem, solver) == f"{stages[0].solver.name}, because it was asked for."


@pytest.mark.parametrize("name", ["simplex", "", "Newton"])
def test_unknown_names(name):
    """The sentence lists the names there are, and repeats the one given."""
    with pytest.raises(
        ValueError, match=f"solver must be 'auto', one of .*'newton'.* or a solver object, got '{name}'"
    ):
        explain(make_linear_problem("hinge"), name)


def test_explaining_changes_nothing():
    """No solve, no state: asked twice it says the same, and the problem is as it was."""
    problem = make_linear_problem("hinge", form="sparse")
    before = problem.features.samples.data.copy()
    assert explain(problem) == explain(problem)
    np.testing.assert_array_equal(problem.features.samples.data, before)
