"""SMO: the optimum of an independent QP solver for every loss, kernel and intercept, by every rule it knows."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from importlib import import_module

import numpy as np
import pytest
from reference import (
    ALL_LOSSES,
    INTERCEPTS,
    ROW_LOSSES,
    make_nu_classification,
    make_nu_regression,
    make_problem,
    make_targets,
    make_weights,
    random_duals,
    say,
    solve_qp,
)
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from slack import HANG_SECONDS

import maxmargin.model.features
from maxmargin.certificates.in_memory import judge
from maxmargin.compiled import smo as compiled
from maxmargin.model.features import Gram
from maxmargin.model.kernels import RBF, Laplacian, Linear, Polynomial, Precomputed, Sigmoid
from maxmargin.model.losses import EpsilonInsensitive, Hinge, LeastSquares, Novelty, Quantile, SquaredHinge
from maxmargin.model.problem import Point, Problem
from maxmargin.solvers.loop import solve
from maxmargin.solvers.result import Result, Status
from maxmargin.solvers.smo import SELECTIONS, SMO, STOPS

KERNELS = (Linear(), Polynomial(degree=3, gamma=0.5, coef0=1.0), RBF(gamma=0.5), Laplacian(gamma=0.5))
LAYERED = ("nu-classification", "nu-regression", "one-class")
every_row_loss = pytest.mark.parametrize("loss", ROW_LOSSES, ids=say)
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=[kernel.name for kernel in KERNELS])
every_intercept = pytest.mark.parametrize("intercept", INTERCEPTS)
every_selection = pytest.mark.parametrize("selection", SELECTIONS)
either_weighted = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
either_working_set = pytest.mark.parametrize("working_set", [2, 20], ids=["pairs", "blocks"])
either_shrinking = pytest.mark.parametrize("shrinking", [False, True], ids=["whole", "shrinking"])


def run(problem: Problem, tol: float = 1e-8, **knobs) -> Result:
    """A solve that cannot go on for ever."""
    return solve(problem, SMO(**knobs), tol=tol, max_seconds=HANG_SECONDS)


def reference_value(problem: Problem) -> float:
    """The optimum by the independent QP solver."""
    K = problem.features.block(np.arange(problem.n))
    return solve_qp(K, problem.row, problem.balance)[1]


def assert_optimal(result: Result, best: float, accuracy: float = 1e-6) -> None:
    """Converged, and P and D both at the optimum."""
    assert result.status is Status.CONVERGED, (result.status, result.certificate)
    assert result.certificate.primal == pytest.approx(best, rel=accuracy, abs=accuracy * 1e-2)
    assert result.certificate.dual == pytest.approx(best, rel=accuracy, abs=accuracy * 1e-2)


def widest_violation(problem: Problem, a: np.ndarray) -> float:
    """m - M over all samples and layers, or the largest violation where the intercept is not free."""
    f = problem.features.scores(problem.features.combine(a))
    left, right = problem.terms.slopes(a)
    up, low = np.atleast_2d(-right - f), np.atleast_2d(-left - f)
    if problem.balance is None:
        return float(max(up.max(), (-low).max()))
    return float((up.max(axis=1) - low.min(axis=1)).max())


def make_layered(kind: str, n: int = 40, nu: float = 0.4, kernel=None) -> Problem:
    """A nu problem over random samples."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(n, 3))
    features = Gram.from_data(kernel or RBF(gamma=0.5), X)
    if kind == "one-class":
        return Problem(features, np.ones(n), np.ones(n), Novelty(), nu * n)
    make, loss = {
        "nu-classification": (make_nu_classification, Hinge()),
        "nu-regression": (make_nu_regression, EpsilonInsensitive()),
    }[kind]
    return make(features, make_targets(loss, X, rng), np.ones(n), nu)


@pytest.fixture(autouse=True)
def _shrink_early(monkeypatch):
    """Samples are set aside however few there are, so that small problems show what large ones do."""
    monkeypatch.setattr(import_module("maxmargin.solvers.smo.pairs"), "SHRINKING_MIN_SAMPLES", 0)
    monkeypatch.setattr(import_module("maxmargin.solvers.smo.blocks"), "SHRINK_INTERVAL_ROUNDS", 2)


@pytest.fixture
def row_by_row(monkeypatch):
    """No Gram matrix is formed whole, as if n were large."""
    monkeypatch.setattr(maxmargin.model.features, "MAX_FULL_GRAM_SAMPLES", 0)


# ---- the optimum --------------------------------------------------------------------------------------------


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


# ---- against scikit-learn -----------------------------------------------------------------------------------


def make_two_classes(n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping classes."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("nu", [0.2, 0.5])
@every_selection
def test_nu_classification_is_scikit_learns(nu, selection):
    """NuSVC: duals and intercept, both divided by rho as LIBSVM does."""
    X, y = make_two_classes()
    machine = NuSVC(nu=nu, gamma=0.5, tol=1e-10).fit(X, y)
    problem = make_nu_classification(Gram.from_data(RBF(gamma=0.5), X), y, np.ones(120), nu)
    point = run(problem, 1e-10, selection=selection).point
    rho = 0.5 * (point.b[1] - point.b[0])
    coef = np.zeros(120)
    coef[machine.support_] = machine.dual_coef_[0]
    np.testing.assert_allclose(point.a.sum(axis=0) / rho, coef, atol=2e-4 * np.abs(coef).max())
    assert point.b.mean() / rho == pytest.approx(machine.intercept_[0], abs=2e-4)


@pytest.mark.parametrize("nu", [0.2, 0.6])
@every_selection
def test_nu_regression_is_scikit_learns(nu, selection):
    """NuSVR: duals, intercept."""
    X, _ = make_two_classes()
    y = X[:, 0] + np.sin(X[:, 1]) + 0.2 * np.random.default_rng(8).normal(size=120)
    machine = NuSVR(nu=nu, gamma=0.5, C=2.0, tol=1e-10).fit(X, y)
    problem = make_nu_regression(Gram.from_data(RBF(gamma=0.5), X), y, np.full(120, 2.0), nu)
    point = run(problem, 1e-10, selection=selection).point
    coef = np.zeros(120)
    coef[machine.support_] = machine.dual_coef_[0]
    np.testing.assert_allclose(point.a.sum(axis=0), coef, atol=2e-4)
    assert point.b.mean() == pytest.approx(machine.intercept_[0], abs=2e-4)


@pytest.mark.parametrize("nu", [0.1, 0.5])
@every_selection
def test_one_class_is_scikit_learns(nu, selection):
    """OneClassSVM: duals, rho."""
    X, _ = make_two_classes()
    machine = OneClassSVM(nu=nu, gamma=0.5, tol=1e-10).fit(X)
    problem = Problem(Gram.from_data(RBF(gamma=0.5), X), np.ones(120), np.ones(120), Novelty(), nu * 120)
    point = run(problem, 1e-10, selection=selection).point
    coef = np.zeros(120)
    coef[machine.support_] = machine.dual_coef_[0]
    np.testing.assert_allclose(point.a, coef, atol=2e-4)
    assert point.b == pytest.approx(machine.intercept_[0], abs=2e-4)


# ---- stopping and counting ----------------------------------------------------------------------------------


@every_row_loss
@every_selection
@pytest.mark.parametrize("intercept", ["free", "none"])
@either_shrinking
@either_working_set
def test_lectures_rule_holds_for_all_samples(loss, selection, intercept, shrinking, working_set):
    """stop="kkt" leaves m - M < tol, recomputed over all samples, set aside or not."""
    tol = 1e-3
    problem = make_problem(loss, Linear(), intercept, weighted=True, n=100, seed=3)
    result = run(problem, tol, selection=selection, stop="kkt", shrinking=shrinking, working_set=working_set)
    assert result.status is Status.CONVERGED
    assert widest_violation(problem, result.point.a) <= tol + 1e-9


@pytest.mark.parametrize("kind", LAYERED)
@either_shrinking
@either_working_set
def test_lectures_rule_holds_in_layers(kind, shrinking, working_set):
    """stop="kkt" leaves m - M < tol in every layer."""
    problem = make_layered(kind, n=100)
    result = run(problem, 1e-4, stop="kkt", shrinking=shrinking, working_set=working_set)
    assert result.status is Status.CONVERGED
    assert widest_violation(problem, result.point.a) <= 1e-4 + 1e-9


@every_selection
@pytest.mark.usefixtures("row_by_row")
def test_counters(selection):
    """Every miss evaluates at least its own row, hits and misses are the rows used, and a large cache misses less."""
    counts = {}
    for rows in (12, 150):
        problem = make_problem(Hinge(), RBF(gamma=0.5), n=150, seed=4)
        solver = {"selection": selection, "shrinking": False, "cache_size": rows * 8 * 150 / 2**20, "working_set": 2}
        result = run(problem, 1e-6, **solver)
        counts[rows] = result.counters
        assert result.counters["hits"] + result.counters["misses"] == 2 * result.n_iter
        assert result.counters["rows"] >= result.counters["misses"] > 0
        assert result.counters["negative_curvature"] == 0
    assert counts[150]["rows"] <= 150
    assert counts[12]["misses"] > counts[150]["misses"]


@either_working_set
@pytest.mark.usefixtures("row_by_row")
def test_rows_evaluated_after_shrinking_are_counted(working_set):
    """A row cut to the active samples was evaluated too."""
    base = make_problem(EpsilonInsensitive(0.1), RBF(gamma=0.3), n=400, seed=4)
    solver = {"cache_size": 6 * 8 * 400 / 2**20, "batch": 1, "working_set": working_set}
    counters = run(replace(base, c=10.0 * base.c), 1e-5, **solver).counters
    assert counters["shrinks"] > 0
    assert counters["rows"] >= counters["misses"]


@pytest.mark.usefixtures("row_by_row")
def test_counters_of_blocks():
    """A store that holds every row evaluates each once; a small one evaluates more."""
    counts = {}
    for rows in (12, 150):
        problem = make_problem(Hinge(), RBF(gamma=0.5), n=150, seed=4)
        solver = {"shrinking": False, "cache_size": rows * 8 * 150 / 2**20, "working_set": 20}
        counts[rows] = run(problem, 1e-5, **solver).counters
        assert counts[rows]["rows"] >= counts[rows]["misses"] > 0
        assert counts[rows]["hits"] > 0
    assert counts[150]["misses"] <= 150
    assert counts[12]["misses"] > counts[150]["misses"]


def test_whole_matrix_misses_nothing():
    """Up to FULL samples every row is there from the start, evaluated once."""
    counters = run(make_problem(Hinge(), RBF(gamma=0.5), n=50)).counters
    assert counters["misses"] == 0
    assert counters["rows"] == 50


@dataclass(frozen=True)
class SlowRBF(RBF):
    """A kernel that takes longer for a few rows than the loop waits between two looks at the clock."""

    def evaluate(self, A, B, out=None):
        """The values of RBF, after a while."""
        time.sleep(0.003)
        return super().evaluate(A, B, out)


@every_selection
@either_working_set
@pytest.mark.usefixtures("row_by_row")
def test_slow_rows_are_not_mistaken_for_standstill(selection, working_set, monkeypatch):
    """A loop that spends its whole slice on kernel rows has not stalled."""
    monkeypatch.setattr(import_module("maxmargin.solvers.loop"), "SLICE_SECONDS", 0.002)
    problem = make_problem(Hinge(), SlowRBF(gamma=0.5), n=100, seed=5)
    result = run(problem, 1e-6, selection=selection, batch=1, shrinking=False, working_set=working_set)
    assert_optimal(result, reference_value(problem))


@pytest.mark.parametrize("loss", [loss for loss in ALL_LOSSES if loss not in ROW_LOSSES], ids=say)
def test_losses_without_a_row_are_refused(loss):
    """The reason names the loss and what is missing."""
    problem = make_problem(loss)
    assert loss.name in SMO().accepts(problem)
    with pytest.raises(ValueError, match=f"SMO needs a piecewise linear or quadratic loss, and '{loss.name}'"):
        solve(problem, "smo")


@every_row_loss
def test_losses_with_a_row_are_taken(loss):
    """No reason, no refusal."""
    assert SMO().accepts(make_problem(loss)) is None


def test_features_without_rows_are_refused():
    """Features that cannot give kernel rows are refused with a reason."""
    assert "kernel rows" in SMO().accepts(replace(make_problem(Hinge()), features=FlatFeatures()))


class FlatFeatures:
    """Features of 24 samples that give no kernel rows."""

    n = 24
    diagonal = np.ones(24)


@pytest.mark.parametrize(
    "knobs",
    [{"selection": "random"}, {"stop": "never"}, {"cache_size": 0.0}, {"cache_size": float("nan")}, {"working_set": 1}],
    ids=str,
)
def test_wrong_knobs_are_refused(knobs):
    """The sentence names the knob and repeats the value."""
    (name, value), *_ = knobs.items()
    with pytest.raises(ValueError, match=f"SMO's {name} must be .*, got {value!r}"):
        SMO(**knobs)


def test_knobs_are_the_tables():
    """The rules a user can name."""
    assert SELECTIONS == ("second-order", "mvp", "keerthi")
    assert STOPS == ("gap", "kkt")


def test_layers_without_a_free_intercept():
    """Several layers and no balance: solved to the optimum, or refused with a reason."""
    problem = replace(make_layered("nu-regression"), balance=None)
    if SMO().accepts(problem) is None:
        assert_optimal(run(problem), reference_value(problem))


# ---- data that are not nice ---------------------------------------------------------------------------------


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


# ---- the compiled functions and their twins -----------------------------------------------------------------


def random_rates(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """up, low and f at random, some of them blocked, some free."""
    rng = np.random.default_rng(seed)
    middle, width = rng.normal(size=n), np.where(rng.uniform(size=n) < 0.3, 0.0, rng.uniform(size=n))
    up = np.where(rng.uniform(size=n) < 0.3, -compiled.BLOCKED, middle - width)
    low = np.where(rng.uniform(size=n) < 0.3, compiled.BLOCKED, middle + width)
    return up, low, rng.normal(size=n)


every_size = pytest.mark.parametrize("n", [1, 2, 7, 512, 513, 1500])


@every_size
def test_maximum_and_its_last_place(n):
    """The maximum, and the last of the places that hold it."""
    for seed in range(5):
        values = np.random.default_rng(seed).integers(-5, 5, n).astype(float)
        assert compiled.maximum(values) == values.max()
        assert compiled.last_place(values, values.max()) == np.flatnonzero(values == values.max())[-1]


@every_size
def test_largest_and_smallest(n):
    """The extremes of up - f and low - f, and where they are."""
    for seed in range(5):
        up, low, f = random_rates(n, seed)
        m, i = compiled.largest(up, f, np.empty(n))
        M, j = compiled.smallest(low, f, np.empty(n))
        assert m == (up - f).max() == up[i] - f[i]
        assert M == (low - f).min() == low[j] - f[j]


@every_size
def test_best_partner(n):
    """The j of largest slope^2 / curvature, and that gain."""
    for seed in range(5):
        up, low, f = random_rates(n, seed)
        rng = np.random.default_rng(100 + seed)
        row, curvature, bend, m = rng.uniform(-1.0, 1.0, n), rng.uniform(0.5, 2.0, n), 1.5, (up - f).max()
        place, gain = compiled.best_partner(m, bend, low, f, row, curvature, np.empty(n))
        slopes = np.maximum(m - (low - f), 0.0)
        gains = slopes**2 / np.maximum(bend + curvature - 2.0 * row, compiled.MIN_CURVATURE)
        assert gains[place] == pytest.approx(gains.max(), rel=1e-13)
        assert gain == pytest.approx(gains.max(), rel=1e-13)


@every_size
def test_best_single(n):
    """The i of largest gain when one dual moves alone, and the largest violation."""
    for seed in range(5):
        up, low, f = random_rates(n, seed)
        curvature = np.random.default_rng(200 + seed).uniform(0.5, 2.0, n)
        place = compiled.best_single(up, low, f, curvature, np.empty(n))
        slopes = np.maximum(up - f, f - low)
        gains = np.maximum(slopes, 0.0) ** 2 / curvature
        assert gains[place] == pytest.approx(gains.max(), rel=1e-13)
        assert compiled.slope_of(place, up, low, f) == slopes[place]
        assert compiled.widest_slope(up, low, f, np.empty(n)) == slopes.max()


@every_size
def test_extremes_of_free(n):
    """The maximal violating pair among the samples that can move both ways."""
    up, low, f = random_rates(n, 3)
    free = (up > -compiled.BLOCKED) & (low < compiled.BLOCKED)
    m, i, M, j = compiled.extremes_of_free(up, low, f)
    if not free.any():
        assert (i, j) == (-1, -1)
        return
    assert m == (up - f)[free].max() == up[i] - f[i]
    assert M == (low - f)[free].min() == low[j] - f[j]


def test_keerthis_sweep_stays_among_the_active_samples():
    """When samples are set aside the place of the sweep is one of those that are left."""
    problem = make_problem(Hinge(), Linear(), n=200, seed=3)
    state = SMO(selection="keerthi", shrinking=False).start(problem, 1e-6)
    state.advance(20000, 5.0)
    state.counts[compiled.POSITION] = len(state.f) - 1
    state.shrink()
    assert len(state.f) < 200
    assert state.counts[compiled.POSITION] < len(state.f)


def test_keerthi_finds_every_violating_pair():
    """A pair that violates by more than the threshold is returned if and only if there is one."""
    for seed in range(200):
        up, low, f = random_rates(6, seed)
        counts = np.zeros(6, np.int64)
        counts[compiled.POSITION] = seed % 6
        widest = (up - f).max() - (low - f).min()
        i, j = compiled.select_keerthi(up, low, f, 0.5, counts, np.empty(6))
        if widest <= 0.5:
            assert (i, j) == (-1, -1)
        else:
            assert (up[i] - f[i]) - (low[j] - f[j]) > 0.5


def value_along(t, slope, bend, first_kink, first_drop, second_kink, second_drop):
    """slope t - bend t^2/2 - sum of drop max(0, t - kink)."""
    lost = first_drop * np.maximum(0.0, t - first_kink) + second_drop * np.maximum(0.0, t - second_kink)
    return slope * t - 0.5 * bend * t * t - lost


@pytest.mark.parametrize("kinks", [0, 1, 2])
@pytest.mark.parametrize("bend", [0.0, 0.3, 2.0, 50.0])
def test_step_length_is_the_best_of_a_grid(kinks, bend):
    """No point of a fine grid beats the direction search."""
    rng = np.random.default_rng(14)
    for _ in range(100):
        slope, room = rng.uniform(0.01, 3.0), rng.uniform(0.01, 3.0)
        places = np.where(np.arange(2) < kinks, rng.uniform(0.0, 2.0, 2), compiled.BLOCKED)
        drops = rng.uniform(0.0, 2.0, 2)
        shape = (slope, bend, places[0], drops[0], places[1], drops[1])
        t = compiled.step_length(*shape, room)
        assert 0.0 <= t <= room
        best = value_along(np.linspace(0.0, room, 4001), *shape).max()
        assert value_along(t, *shape) >= best - 1e-9


@pytest.mark.parametrize("kinks", [0, 1, 2])
def test_step_length_without_curvature_ends_somewhere(kinks):
    """On a direction of negative curvature the step ends at a kink or a bound, and D has risen."""
    rng = np.random.default_rng(15)
    for _ in range(100):
        slope, room = rng.uniform(0.01, 3.0), rng.uniform(0.01, 3.0)
        places = np.where(np.arange(2) < kinks, rng.uniform(0.0, 2.0, 2), compiled.BLOCKED)
        shape = (slope, -rng.uniform(0.1, 5.0), places[0], rng.uniform(0.0, 2.0), places[1], rng.uniform(0.0, 2.0))
        t = compiled.step_length(*shape, room)
        assert t in (room, *places)
        assert t <= room
        assert value_along(t, *shape) > 0.0


def test_step_length_without_bounds_is_finite():
    """Neither curvature nor a bound: a finite step all the same."""
    t = compiled.step_length(1.0, -3.0, compiled.BLOCKED, 0.0, compiled.BLOCKED, 0.0, compiled.BLOCKED)
    assert 0.0 < t < 1e13


def test_moves_land_on_bounds():
    """A step meant to end at a bound ends there exactly, and no step goes beyond."""
    rng = np.random.default_rng(16)
    for _ in range(500):
        lo, hi = -rng.uniform(0.0, 2.0, 1), rng.uniform(0.0, 2.0, 1)
        a = lo + rng.uniform(size=1) * (hi - lo)
        assert compiled.move(0, hi[0] - a[0], a, lo, hi) == hi[0]
        assert compiled.move(0, lo[0] - a[0], a, lo, hi) == lo[0]
        assert lo[0] <= compiled.move(0, rng.normal(), a, lo, hi) <= hi[0]
        assert compiled.move(0, 0.0, a, lo, hi) == a[0]


@every_row_loss
def test_marks_are_the_slopes_of_the_conjugate(loss):
    """up is minus the right slope of conj, low minus the left one, blocked where infinite."""
    problem = make_problem(loss, intercept="none", weighted=True)
    a = random_duals(problem, np.random.default_rng(17))[None]
    a[0, :3] = 0.0
    row = [np.ascontiguousarray(np.clip(part, -1e300, 1e300))[None] for part in problem.row]
    up, low = np.empty_like(a), np.empty_like(a)
    compiled.update_all_rates(a, *row, up, low)
    left, right = problem.row.slopes(a[0])
    np.testing.assert_allclose(up[0], np.where(np.isinf(right), -compiled.BLOCKED, -right), rtol=1e-13)
    np.testing.assert_allclose(low[0], np.where(np.isinf(left), compiled.BLOCKED, -left), rtol=1e-13)


@every_row_loss
@pytest.mark.parametrize("intercept", ["free", "none"])
def test_fenchel_gap_is_the_duality_gap(loss, intercept):
    """sum of c l(f) + conj(a) + a f is P - D, wherever the duals balance."""
    problem = make_problem(loss, RBF(gamma=0.5), intercept, weighted=True)
    rng = np.random.default_rng(18)
    row = [np.clip(part, -1e300, 1e300) for part in problem.row]
    for scale in (0.0, 0.5, 2.0):
        a, b = random_duals(problem, rng, scale), 0.0 if problem.balance is None else rng.normal()
        gap = problem.primal(Point(a, b)) - problem.dual(a)
        got = compiled.fenchel_gap(problem.features.scores(a), b, a, *row)
        assert got == pytest.approx(gap, rel=1e-10, abs=1e-10)


def intercept_twin(up: np.ndarray, low: np.ndarray, f: np.ndarray, distance: np.ndarray) -> float:
    """The mean over the free by their distance from a bound, else the middle of what is left, else its only end."""
    free = up == low
    if distance[free].sum() > 0:
        return np.average((up - f)[free], weights=distance[free])
    can_rise, can_fall = up > -compiled.BLOCKED, low < compiled.BLOCKED
    m = (up - f)[can_rise].max() if can_rise.any() else None
    M = (low - f)[can_fall].min() if can_fall.any() else None
    return M if m is None else m if M is None else 0.5 * (m + M)


@every_size
def test_find_intercept(n):
    """b against its twin: with free samples, without, and with one side blocked altogether."""
    for seed in range(5):
        up, low, f = random_rates(n, seed)
        lo, a, hi = np.sort(np.random.default_rng(300 + seed).normal(size=(3, n)), axis=0)
        distance = np.minimum(a - lo, hi - a)
        low = np.where((up == -compiled.BLOCKED) & (low == compiled.BLOCKED), f, low)
        rise_only = np.where(up == -compiled.BLOCKED, f - 1.0, up)
        for first, second in (
            (up, low),
            (up, np.where(up == low, low + 1.0, low)),
            (rise_only, np.full(n, compiled.BLOCKED)),
            (np.full(n, -compiled.BLOCKED), np.where(low == compiled.BLOCKED, f, low)),
        ):
            expected = intercept_twin(first, second, f, distance)
            assert compiled.find_intercept(first, second, f, a, lo, hi) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_add_rows():
    """f += t K_i + s K_j."""
    rng = np.random.default_rng(19)
    f, row_i, row_j, up = rng.normal(size=(4, 701))
    expected, scratch = f + 0.3 * row_i - 1.7 * row_j, np.empty(701)
    top = compiled.add_rows(f, 0.3, row_i, -1.7, row_j, up, scratch)
    np.testing.assert_allclose(f, expected, rtol=1e-14, atol=1e-15)
    np.testing.assert_array_equal(scratch, up - f)
    assert top == scratch.max()


@pytest.mark.parametrize("kind", [*LAYERED, "plain"])
def test_the_solvers_own_view_is_the_judges(kind):
    """At any moment of a run its P, D and f are those of the judge."""
    problem = make_layered(kind) if kind != "plain" else make_problem(EpsilonInsensitive(0.2), RBF(gamma=0.5), n=60)
    state = SMO(shrinking=False).start(problem, 1e-12)
    for _ in range(6):
        state.advance(7, 10.0)
        progress, certificate = state.progress(0.0), judge(problem, state.point())
        assert progress.dual == pytest.approx(certificate.dual, rel=1e-10, abs=1e-12)
        assert progress.primal == pytest.approx(certificate.primal, rel=1e-10, abs=1e-12)
        np.testing.assert_allclose(state.f, certificate.scores, atol=1e-11)


BOUNDS_CHECK = """
from reference import ROW_LOSSES, make_problem
from maxmargin.model.kernels import Linear
from maxmargin.solvers.loop import solve
from maxmargin.solvers.smo import SELECTIONS, SMO, pairs
pairs.SMALL = 0
for loss in ROW_LOSSES:
    for selection in SELECTIONS:
        for intercept in ("free", "none"):
            for seed in range(6):
                problem = make_problem(loss, Linear(), intercept, True, 100, seed)
                working_set = 20 if seed == 5 else 2
                solve(problem, SMO(selection=selection, working_set=working_set), tol=1e-6, max_seconds=5.0)
"""


@pytest.mark.slow
def test_no_index_is_out_of_bounds(tmp_path):
    """The compiled loops under Numba's bounds checks, in a process and a cache of their own."""
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    here = os.path.dirname(os.path.abspath(__file__))
    done = subprocess.run(
        [sys.executable, "-c", BOUNDS_CHECK], cwd=here, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-2000:]
