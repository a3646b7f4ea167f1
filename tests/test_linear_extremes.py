"""Data that leave a solver nothing to hold on to: an optimum or an honest certificate, never an exception."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from class_problems import CLASS_LOSSES, CLASS_SOLVERS, make_classes, pose_classes
from linear_problems import EXAMPLES, FORMS, INTERCEPTS, KINKED, PAIRS, SMOOTH, make_data, pose
from time_allowances import HANG_SECONDS

from maxmargin.certificates.certificate import judge
from maxmargin.model.features import AbsoluteDesign
from maxmargin.model.problem import Problem
from maxmargin.model.samples import wrap
from maxmargin.solvers import SOLVERS, Coordinate
from maxmargin.solvers.loop import solve
from maxmargin.solvers.result import Outcome, Result

LIMITS = ({"max_iter": 300}, {"max_seconds": HANG_SECONDS})  # of a solver that need not arrive, and of one that must
every_form = pytest.mark.parametrize("form", FORMS)
every_intercept = pytest.mark.parametrize("intercept", INTERCEPTS)


def repeat_rows(X, y, c):
    """A few rows of both classes, eight times each."""
    few = np.r_[np.argsort(y, kind="stable")[:3], np.argsort(-y, kind="stable")[:3]]
    return np.tile(X[few], (8, 1)), np.tile(y[few], 8), np.tile(c[few], 8)


def take_one_sample_a_class(X, y, c):
    """The smallest target and the largest."""
    ends = [int(np.argmin(y)), int(np.argmax(y))]
    return X[ends], y[ends], c[ends]


def separate(X, y, c):
    """The first feature is three times the target, and C is large."""
    return np.column_stack([3.0 * y, X[:, 1:]]), y, np.full(len(y), 1e4)


GENTLE = {
    "repeated rows": repeat_rows,
    "a constant column": lambda X, y, c: (np.column_stack([X, np.full(len(y), 7.0)]), y, c),
    "a column of zeros": lambda X, y, c: (np.column_stack([X, np.zeros(len(y))]), y, c),
    "zeros only": lambda X, y, c: (np.zeros_like(X), y, c),
    "one sample a class": take_one_sample_a_class,
    "separable": separate,
    "tiny values": lambda X, y, c: (1e-8 * X, y, c),
}
HARSH = {
    "one wide feature": lambda X, y, c: (X * np.append(1e6, np.ones(X.shape[1] - 1)), y, c),
    "far from the origin": lambda X, y, c: (X + 1e4, y, c),
    "a huge C": lambda X, y, c: (X, y, np.full(len(y), 1e10)),
}
REAL = [name for name, loss in EXAMPLES.items() if loss.target in ("real", "count")]


def make_extreme(name: str, change, form: str, intercept: str, penalty: str = "l2") -> Problem:
    """The problem of a loss over data that were changed."""
    X, y, c = change(*make_data(EXAMPLES[name], n=30))
    return pose(EXAMPLES[name], FORMS[form](X), y, c, intercept, penalty)


def check_honest(problem: Problem, result: Result) -> None:
    """The point is finite, the certificate is the judge's, and the lower bound is one."""
    point, certificate = result.point, result.certificate
    assert np.isfinite(point.a).all()
    assert np.isfinite(point.b).all()
    assert point.coef is None or np.isfinite(point.coef).all()
    assert certificate in (judge(problem, point), judge(problem, point, closely=True))
    assert np.isfinite(certificate.primal)
    zero = float(problem.terms.value(np.zeros(problem.shape)).sum())  # P at w = 0, b = 0
    assert certificate.dual <= zero + 1e-9 * abs(zero)
    assert not result.converged or certificate.relative_gap <= 1e-4


@pytest.mark.cover("values")
@pytest.mark.parametrize("kind", GENTLE)
@pytest.mark.parametrize(("solver", "name"), PAIRS)
def test_gentle_degeneracy(solver, name, kind):
    """Every solver gives an honest answer, and "auto" reaches the tolerance."""
    if (solver, name, kind) == ("auto", "novelty", "zeros only"):
        pytest.xfail("The optimum is zero and nothing has a scale: no relative gap can be small.")
    for form, intercept in product(FORMS, INTERCEPTS if solver == "auto" else ("free", "none")):
        problem = make_extreme(name, GENTLE[kind], form, intercept)
        result = solve(problem, solver, tol=1e-4, **LIMITS[solver == "auto"])
        check_honest(problem, result)
        assert result.converged or solver != "auto", f"{form}, {intercept}: {result.message}"


@pytest.mark.cover("values")
@pytest.mark.parametrize("kind", HARSH)
@pytest.mark.parametrize(("solver", "name"), PAIRS)
def test_harsh_degeneracy(solver, name, kind):
    """Where rounding decides, the certificate says how far it got."""
    for form, intercept in product(FORMS, ("free", "none")):
        problem = make_extreme(name, HARSH[kind], form, intercept)
        check_honest(problem, solve(problem, solver, tol=1e-4, **LIMITS[False]))


@pytest.mark.parametrize("kind", [*GENTLE, *HARSH])
@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in KINKED])
def test_degeneracy_with_the_absolute_penalty(name, kind):
    """The same with |w|_1, where the bound is finite too: duals that pull too hard are made feasible."""
    if (name, kind) == ("huber", "repeated rows"):
        pytest.xfail("Without a bending row the quadratic model has no curvature, and steps are too short to arrive.")
    for form, intercept in product(FORMS, INTERCEPTS):
        problem = make_extreme(name, {**GENTLE, **HARSH}[kind], form, intercept, "l1")
        result = solve(problem, "proximal_newton", tol=1e-4, max_seconds=HANG_SECONDS)
        check_honest(problem, result)
        assert np.isfinite(result.certificate.dual), f"{form}, {intercept}: {result.message}"
        assert result.converged or kind not in GENTLE, f"{form}, {intercept}: {result.message}"


@every_form
@pytest.mark.parametrize("size", [1.0, 1e5, 1e10, 1e14])
def test_duals_that_nearly_cancel_can_be_relaxed(size, form):
    """However much of the pull of large duals is rounding, relaxed ones have a price and are not shrunk to nothing."""
    rng = np.random.default_rng(11)
    for _ in range(300):
        X, a = rng.normal(size=(8, 4)), size * rng.normal(size=8)
        a -= X @ np.linalg.lstsq(X, a, rcond=None)[0] - np.linalg.pinv(X).T @ np.full(
            4, 1.5
        )  # X'a is 1.5 but for rounding
        design = AbsoluteDesign(wrap(FORMS[form](X)))
        pull, relaxed = np.abs(design.combine(a)).max(), design.scale_to_feasible(a)
        assert design.penalty_conjugate(design.combine(relaxed), None) == 0.0
        assert np.abs(relaxed).max() >= 0.5 * np.abs(a).max() / max(pull, 1.0)


@every_form
@pytest.mark.parametrize("value", [0.0, 3.0, 1e6])
@pytest.mark.parametrize(("solver", "name"), [pair for pair in PAIRS if pair[1] in REAL])
def test_equal_targets(solver, name, value, form):
    """A regression without anything to explain: the intercept alone does it, or nearly."""
    loss = EXAMPLES[name]
    X, y, c = make_data(loss, n=30)
    problem = pose(loss, FORMS[form](X), np.full(len(y), np.clip(value, 1.0, 100.0) if name == "poisson" else value), c)
    result = solve(problem, solver, tol=1e-4, **LIMITS[solver == "auto"])
    check_honest(problem, result)
    assert result.converged or solver != "auto", result.message


@every_form
@pytest.mark.parametrize("name", [name for name in EXAMPLES if EXAMPLES[name].target == "label"])
def test_one_label_only(name, form):
    """Without an opposing class the losses vanish as b grows, or w does what it can."""
    X, y, c = make_data(EXAMPLES[name], n=30)
    for intercept in INTERCEPTS:
        problem = pose(EXAMPLES[name], FORMS[form](X), np.ones(len(y)), c, intercept)
        result = solve(problem, tol=1e-4, max_seconds=HANG_SECONDS)
        check_honest(problem, result)
        assert result.converged or (intercept == "free" and name in SMOOTH)


@every_intercept
@pytest.mark.parametrize("name", EXAMPLES)
def test_no_weight_at_all(name, intercept):
    """Nothing to do: P = 0 at w = 0. Without weights no row has a kink, so every solver may take the problem."""
    X, y, c = make_data(EXAMPLES[name], n=12)
    problem = pose(EXAMPLES[name], X, y, 0.0 * c, intercept)
    for solver in ("auto", *(name for name in SOLVERS if SOLVERS[name]().accepts(problem) is None)):
        result = solve(problem, solver, tol=1e-4, max_seconds=HANG_SECONDS)
        check_honest(problem, result)
        assert result.converged, solver
        assert result.certificate.primal == 0.0


@pytest.mark.parametrize("form", FORMS)
def test_coordinate_descent_keeps_to_its_effort(form):
    """A run that gets nowhere gives up after so many updates a sample, so that another solver can go on."""
    problem = make_extreme("hinge", HARSH["one wide feature"], form, "regularised")
    run = Coordinate(effort=50.0).start(problem, 1e-9)
    assert run.advance(1 << 30, HANG_SECONDS) is Outcome.STALLED
    assert run.counters["updates"] <= 60.0 * problem.n


def test_auto_hands_over_where_coordinate_descent_gets_nowhere():
    """On sparse data with a wide feature the second solver has its turn."""
    problem = make_extreme("hinge", HARSH["one wide feature"], "sparse", "regularised")
    result = solve(problem, tol=1e-6, max_seconds=HANG_SECONDS)
    assert len({progress.solver for progress in result.history}) > 1, result.message


# ---- all classes at once --------------------------------------------------------------------------------------

CLASS_KINDS = {
    "repeated rows": lambda X, y, c: (np.tile(X[:6], (5, 1)), np.tile(np.arange(6) % 3, 5).astype(float), c[:30]),
    "a constant column": lambda X, y, c: (np.column_stack([X, np.full(len(y), 7.0)]), y, c),
    "zeros only": lambda X, y, c: (np.zeros_like(X), y, c),
    "one sample a class": lambda X, y, c: (X[:3], np.arange(3.0), c[:3]),
    "an empty class": lambda X, y, c: (X, np.minimum(y, 1.0), c),
    "separable": lambda X, y, c: (np.eye(3)[y.astype(int)], y, np.full(len(y), 1e4)),
    "tiny values": lambda X, y, c: (1e-8 * X, y, c),
    "one wide feature": lambda X, y, c: (X * np.append(1e6, np.ones(X.shape[1] - 1)), y, c),
}


@every_form
@pytest.mark.parametrize("kind", CLASS_KINDS)
@pytest.mark.parametrize("name", CLASS_LOSSES)
def test_degenerate_classes(name, kind, form):
    """Many classes at once: the same promises."""
    for intercept in INTERCEPTS:
        X, y, c = CLASS_KINDS[kind](*make_classes(n=30))
        problem = pose_classes(CLASS_LOSSES[name], FORMS[form](X), y, c, intercept, k=3)
        result = solve(problem, CLASS_SOLVERS[name], tol=1e-4, max_iter=10000)
        check_honest(problem, result)
        hopeless = kind == "one wide feature" or (kind == "an empty class" and (name, intercept) == ("softmax", "free"))
        assert result.converged or hopeless, f"{form}, {intercept}: {result.message}"


def test_rows_without_entries():
    """Sparse rows that hold nothing, at the ends too."""
    X = sp.csr_array(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, -2.0], [0.0, 0.0]]))
    y, c = np.array([1.0, 1.0, -1.0, -1.0, 1.0]), np.ones(5)
    for solver, name in PAIRS:
        if EXAMPLES[name].target == "label":
            problem = pose(EXAMPLES[name], X, y, c)
            whole = pose(EXAMPLES[name], X.toarray(), y, c)
            sparse, dense = (solve(each, solver, tol=1e-8, max_seconds=HANG_SECONDS) for each in (problem, whole))
            assert sparse.certificate.primal == pytest.approx(dense.certificate.primal, rel=1e-7)
