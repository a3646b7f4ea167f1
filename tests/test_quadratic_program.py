"""The Wolfe dual as a quadratic program: matrices written out by hand, every loss, general solvers, refusals."""

from __future__ import annotations

import sys
from functools import cache

import numpy as np
import pytest
from class_problems import make_class_problem
from linear_problems import EXAMPLES, PIECEWISE_LOSSES, find_optimum, make_linear_problem
from reference_problems import INTERCEPTS, ROW_LOSSES, make_nu_classification, make_problem, random_duals, say, solve_qp
from sklearn import svm
from sklearn.datasets import make_moons

from maxmargin import QP, SVC, SVR, OneClassSVM, Status, solve
from maxmargin.model.features import Gram
from maxmargin.model.kernels import RBF, Linear, Polynomial
from maxmargin.model.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    LeastSquares,
    Logistic,
    Novelty,
    Quantile,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)  # fmt: skip
from maxmargin.model.problem import Problem
from maxmargin.runtime.interrupt import Interrupt
from maxmargin.solvers.qp import find_backends
from maxmargin.solvers.quadratic_program import MAX_PROGRAM_VARIABLES, QuadraticProgram, form_kernel

KERNELS = {"linear": Linear(), "poly": Polynomial(degree=3, coef0=1.0), "rbf": RBF(gamma=0.5)}
X3 = np.array([[1.0, 0.0], [0.0, 2.0], [-1.0, 1.0]])
K3 = np.array([[1.0, 0.0, -1.0], [0.0, 4.0, 2.0], [-1.0, 2.0, 2.0]])
LABELS, TARGETS = np.array([1.0, -1.0, 1.0]), np.array([0.5, -2.0, 3.0])
every_row = pytest.mark.parametrize("loss", ROW_LOSSES, ids=say)
every_intercept = pytest.mark.parametrize("intercept", INTERCEPTS)


def make_small(loss, offset: float = 0.0, balance=0.0, c=(2.0, 2.0, 2.0)) -> Problem:
    """Three samples with the kernel matrix K3."""
    y = LABELS if loss.target == "label" else np.ones(3) if loss.target == "none" else TARGETS
    return Problem(Gram.from_data(Linear(), X3, offset), y, np.array(c), loss, balance)


# ---- matrices by hand ---------------------------------------------------------------------------------------


def test_labels_with_a_free_intercept():
    """min 1/2 a'Qa - 1'a, 0 <= a <= C, y'a = 0, Q_ij = y_i y_j k_ij, in the order of the samples."""
    program = QuadraticProgram.of(make_small(Hinge()))
    assert pytest.approx(np.array([[1.0, 0.0, -1.0], [0.0, 4.0, -2.0], [-1.0, -2.0, 2.0]])) == program.Q
    assert program.q.tolist() == [-1.0, -1.0, -1.0]
    assert program.sign.tolist() == LABELS.tolist()
    assert program.index.tolist() == [0, 1, 2]
    assert program.upper.tolist() == [2.0, 2.0, 2.0]
    assert program.balance == 0.0


def test_labels_with_a_regularised_intercept():
    """Q + y y', and no equality."""
    free, program = (QuadraticProgram.of(make_small(Hinge(), *how)) for how in ((0.0, 0.0), (1.0, None)))
    assert pytest.approx(free.Q + np.outer(LABELS, LABELS)) == program.Q
    assert program.balance is None


def test_labels_squared():
    """Q + I/(2C), a >= 0 without bounds above."""
    hinge, program = (QuadraticProgram.of(make_small(loss)) for loss in (Hinge(), SquaredHinge()))
    assert pytest.approx(hinge.Q + np.eye(3) / 4.0) == program.Q
    assert np.isinf(program.upper).all()


def test_targets():
    """Q = [[K, -K], [-K, K]], q = (epsilon - y, epsilon + y), e = (1, -1), 0 <= a <= C; squared: Q + I/(2C)."""
    program = QuadraticProgram.of(make_small(EpsilonInsensitive(0.25)))
    assert pytest.approx(np.block([[K3, -K3], [-K3, K3]])) == program.Q
    assert program.q.tolist() == [-0.25, 2.25, -2.75, 0.75, -1.75, 3.25]
    assert program.sign.tolist() == [1.0, 1.0, 1.0, -1.0, -1.0, -1.0]
    assert program.index.tolist() == [0, 1, 2, 0, 1, 2]
    assert program.upper.tolist() == [2.0] * 6
    squared = QuadraticProgram.of(make_small(SquaredEpsilonInsensitive(0.25)))
    assert pytest.approx(program.Q + np.eye(6) / 4.0) == squared.Q
    assert squared.q.tolist() == program.q.tolist()
    assert np.isinf(squared.upper).all()


@pytest.mark.parametrize(
    ("loss", "curvature", "upper"),
    [
        (LeastSquares(), 0.5, [np.inf] * 6),
        (Absolute(), 0.0, [2.0] * 6),
        (Quantile(0.25), 0.0, [0.5, 0.5, 0.5, 1.5, 1.5, 1.5]),
        (Huber(3.0), 1.5, [2.0] * 6),
    ],
    ids=say,
)
def test_other_losses_of_targets(loss, curvature, upper):
    """Curvature on the diagonal, bounds by side."""
    program = QuadraticProgram.of(make_small(loss))
    assert pytest.approx(np.block([[K3, -K3], [-K3, K3]]) + curvature * np.eye(6)) == program.Q
    assert program.q.tolist() == [*-TARGETS, *TARGETS]
    assert program.upper.tolist() == upper


def test_one_class_has_a_balance():
    """min 1/2 a'Ka, 0 <= a <= c, sum a = nu sum c."""
    program = QuadraticProgram.of(make_small(Novelty(), 0.0, 3.0))
    assert pytest.approx(K3) == program.Q
    assert program.q.tolist() == [0.0, 0.0, 0.0]
    assert program.balance == 3.0


def test_samples_without_weight_have_no_variable():
    """They are left out, and their dual is zero."""
    program = QuadraticProgram.of(make_small(EpsilonInsensitive(0.25), c=(2.0, 0.0, 1.0)))
    assert program.index.tolist() == [0, 2, 0, 2]
    assert program.upper.tolist() == [2.0, 1.0, 2.0, 1.0]
    assert program.signed(np.array([1.0, 2.0, 0.5, 0.0])).tolist() == [0.5, 0.0, 2.0]


@every_intercept
@every_row
def test_the_value_is_minus_the_dual(loss, intercept):
    """1/2 v'Qv + q'v = -D(a), a split by its sign; so the two problems have the same optimum."""
    problem = make_problem(loss, RBF(gamma=0.5), intercept, weighted=True)
    a = random_duals(problem, np.random.default_rng(1))
    program = QuadraticProgram.of(problem)
    v = np.maximum(program.sign * a[program.index], 0.0)
    assert program.signed(v) == pytest.approx(a, abs=1e-12)
    assert (v <= program.upper).all()
    assert program.value(v) == pytest.approx(-problem.dual(a), rel=1e-10)


def test_linear_features_and_large_matrices():
    """X X' + scaling^2 of a design; and blocks where the whole matrix is not kept."""
    problem = make_linear_problem("hinge", "regularised")
    X, n = problem.features.samples.X, problem.n
    assert form_kernel(problem, np.arange(n)) == pytest.approx(X @ X.T + problem.features.scaling**2)
    n = 2100
    X = np.random.default_rng(0).normal(size=(n, 2))
    large = Problem(Gram.from_data(Linear(), X), X[:, 0], np.ones(n), Absolute())
    some = np.array([5, 2000, 5])
    assert form_kernel(large, some) == pytest.approx(X[some] @ X[some].T)
    assert large.features.whole is None


# ---- general solvers ----------------------------------------------------------------------------------------


@cache
def optimum_of(loss, kernel: str, intercept: str) -> float:
    """max D by cvxopt, through another way of writing the problem."""
    problem = make_problem(loss, KERNELS[kernel], intercept, weighted=True)
    return solve_qp(problem.features.form(), problem.row, problem.balance)[1]


@every_intercept
@pytest.mark.parametrize("kernel", KERNELS)
@every_row
def test_cvxopt_reaches_the_optimum(loss, kernel, intercept):
    """Every loss, kernel and intercept, with weights of very different size and some that are zero."""
    problem = make_problem(loss, KERNELS[kernel], intercept, weighted=True)
    result = solve(problem, QP(), tol=1e-7)
    assert result.converged, result.certificate
    assert result.certificate.primal == pytest.approx(optimum_of(loss, kernel, intercept), rel=3e-7, abs=1e-9)


@pytest.mark.parametrize("backend", find_backends())
@pytest.mark.parametrize("intercept", ["free", "regularised"])
@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.1), SquaredHinge()], ids=say)
def test_other_backends(loss, intercept, backend):
    """Whatever qpsolvers finds installed: the same optimum, or the gap that is left."""
    problem = make_problem(loss, RBF(gamma=0.5), intercept)
    result = solve(problem, QP(backend), tol=1e-6)
    best = solve(problem, QP(), tol=1e-9).certificate
    assert result.certificate.dual <= best.primal * (1 + 1e-9)
    assert best.dual * (1 - 1e-9) <= result.certificate.primal
    if backend == "clarabel":
        assert result.converged
        assert result.point.b == pytest.approx(solve(problem, QP(), tol=1e-9).point.b, abs=1e-4)


def test_clarabel_is_among_the_backends():
    """The tests would say nothing of other backends without one."""
    assert "clarabel" in find_backends()


@every_intercept
@pytest.mark.parametrize("name", PIECEWISE_LOSSES)
def test_linear_machines(name, intercept):
    """Designs, against the optimum of the primal by another solver."""
    result = solve(make_linear_problem(name, intercept, weighted=True), QP(), tol=1e-8)
    assert result.converged, result.certificate
    assert result.certificate.primal == pytest.approx(find_optimum(name, intercept, True), rel=1e-7)


def test_the_intercept_is_the_multiplier_of_the_equality():
    """b of QP, before any correction, is LIBSVM's."""
    X, y = make_moons(60, noise=0.2, random_state=0)
    ours = SVC(solver=QP(), tol=1e-9).fit(X, y)
    theirs = svm.SVC(tol=1e-9).fit(X, y)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-5)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("solver", ["qp", "lagrangian_dual"])
def test_estimators_agree_with_libsvm(solver, kernel):
    """SVC, SVR and OneClassSVM: the same values."""
    X, label = make_moons(80, noise=0.25, random_state=1)
    for ours, theirs, target in (
        (SVC, svm.SVC, label),
        (SVR, svm.SVR, np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1]),
        (OneClassSVM, svm.OneClassSVM, None),
    ):
        knobs = {"kernel": kernel, "coef0": 1.0} | ({"nu": 0.31} if target is None else {"C": 2.0})
        machine = ours(solver=solver, tol=1e-9, **knobs).fit(X, target)
        reference = theirs(tol=1e-6, **knobs).fit(X, target)
        value = "predict" if ours is SVR else "decision_function"
        assert getattr(machine, value)(X) == pytest.approx(getattr(reference, value)(X), abs=1e-4)


def test_duals_are_put_at_their_bounds():
    """An interior point has none there; the answer has, and as many as SMO's."""
    problem = make_problem(Hinge(), RBF(gamma=0.5), n=80)
    qp, smo = (solve(problem, solver, tol=1e-9).point.a for solver in ("qp", "smo"))
    assert np.array_equal(qp == 0, smo == 0)
    assert np.array_equal(np.abs(qp) == 1.0, np.abs(smo) == 1.0)


# ---- limits -------------------------------------------------------------------------------------------------


def test_every_iteration_can_be_the_last():
    """max_iter, and iterations that are the same whether they are taken one by one or not."""
    problem = make_problem(Hinge(), RBF(gamma=0.5), n=60)
    whole = solve(problem, QP(), tol=1e-9)
    run = QP().start(problem, 1e-9)
    duals = []
    while run.n_iter < whole.n_iter:
        run.advance(1, 0.0)
        duals.append(run.dual)
    assert len(duals) == whole.n_iter > 5
    assert duals == sorted(duals)
    assert duals[-1] == pytest.approx(whole.certificate.dual, rel=1e-12)
    short = solve(problem, QP(), tol=1e-9, max_iter=3)
    assert short.status is Status.MAX_ITER
    assert short.n_iter == 3
    assert short.certificate.dual == pytest.approx(duals[2], rel=1e-12)


def test_a_raised_flag_and_a_spent_budget_stop_it(monkeypatch):
    """Between two iterations, with the best point so far."""
    monkeypatch.setitem(solve.__globals__, "SLICE_SECONDS", 0.0)  # as if every iteration took long
    problem = make_problem(EpsilonInsensitive(0.1), RBF(gamma=0.5), n=60)
    flag = Interrupt()

    def press(progress) -> None:
        flag.raised = progress.n_iter >= 2

    result = solve(problem, QP(), tol=1e-12, interrupt=flag, callback=press)
    assert result.status is Status.INTERRUPTED
    assert result.n_iter == 2
    assert np.isfinite(result.certificate.gap)
    spent = solve(problem, QP(), tol=1e-12, max_seconds=1e-6)
    assert spent.status is Status.MAX_SECONDS
    assert spent.n_iter == 0


def test_what_rounding_allows_and_no_more():
    """A gap that cannot be had is not claimed."""
    problem = make_problem(EpsilonInsensitive(0.1), Polynomial(degree=5, coef0=3.0), n=60)
    result = solve(problem, QP(), tol=1e-16)
    assert result.status is Status.ROUNDING_LIMIT
    assert result.certificate.relative_gap < 1e-8


def test_nothing_is_printed(capfd):
    """cvxopt shows its progress unless told not to; so do others."""
    solve(make_problem(Hinge()), QP(), tol=1e-8)
    solve(make_problem(Hinge()), QP("clarabel"), tol=1e-8)
    assert capfd.readouterr() == ("", "")


def test_where_zero_is_optimal():
    """Nothing to find: D = P = 0 at the start."""
    problem = make_problem(Novelty(), RBF(gamma=0.5), "none")
    result = solve(problem, QP(), tol=1e-9)
    assert result.converged
    assert not result.point.a.any()


# ---- refusals -----------------------------------------------------------------------------------------------


def refuse(problem, solver="qp") -> str:
    """The sentence of a ValueError."""
    with pytest.raises(ValueError) as error:
        solve(problem, solver)
    sentence = str(error.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize("solver", ["qp", "lagrangian_dual"])
def test_problems_that_are_no_such_program(solver):
    """Layers, classes, |w|_1, losses of lists, losses without a row: one sentence each."""
    features = Gram.from_data(RBF(gamma=0.5), X3)
    assert "layers" in refuse(make_nu_classification(features, LABELS, np.ones(3), 0.5), solver)
    assert "this problem has 3" in refuse(make_class_problem("softmax"), solver)
    assert "|w|_1" in refuse(make_linear_problem("squared_hinge", penalty="l1"), solver)
    assert "'logistic' is neither; use 'gradient_descent'" in refuse(make_small(Logistic()), solver)
    assert "'logistic' is neither; use 'newton'" in refuse(make_linear_problem("logistic"), solver)
    assert "weight" in refuse(make_small(Hinge(), c=(0.0, 0.0, 0.0)), solver)


def test_too_many_variables():
    """Their number and the memory are named, also where each sample has two."""
    n = MAX_PROGRAM_VARIABLES // 2 + 50
    features = Gram.from_data(Linear(), np.zeros((n, 1)))
    sentence = refuse(Problem(features, np.arange(n, dtype=float), np.ones(n), Absolute()))
    assert f"{2 * n} duals make 0.21 GB" in sentence
    assert QP().accepts(Problem(features, np.ones(n), np.ones(n), Hinge())) is None


def test_a_program_of_such_a_problem():
    """`of` itself refuses too."""
    with pytest.raises(ValueError, match="'logistic' is neither"):
        QuadraticProgram.of(make_small(Logistic()))


def test_unknown_backends():
    """What is installed, what was asked for, and how to install more."""
    sentence = refuse(make_problem(Hinge()), QP("abacus"))
    assert "'clarabel'" in sentence
    assert "'cvxopt'" in sentence
    assert "got 'abacus'" in sentence
    assert 'pip install "maxmargin[qp]"' in sentence
    with pytest.raises(ValueError, match="backend must be the name of a solver of quadratic programs, got 3"):
        QP(3)


def test_missing_packages(monkeypatch):
    """Neither cvxopt nor qpsolvers: a sentence, not an ImportError."""
    monkeypatch.setitem(sys.modules, "cvxopt", None)
    monkeypatch.setitem(sys.modules, "qpsolvers", None)
    for backend in ("cvxopt", "clarabel"):
        sentence = refuse(make_problem(Hinge()), QP(backend))
        assert "installed are []" in sentence
        assert 'pip install "maxmargin[qp]"' in sentence


def test_a_backend_that_fails(monkeypatch):
    """The start is the best point there is."""
    import qpsolvers

    def fail(*arguments, **settings):
        raise qpsolvers.exceptions.SolverError("no")

    monkeypatch.setattr(qpsolvers, "solve_problem", fail)
    result = solve(make_problem(Hinge()), QP("clarabel"))
    assert result.status is Status.STALLED
    assert result.certificate.dual == 0.0


def test_names_of_the_examples_are_complete():
    """The linear problems here walk every loss with a row."""
    assert {loss.name for loss in ROW_LOSSES} == {EXAMPLES[name].name for name in PIECEWISE_LOSSES}
