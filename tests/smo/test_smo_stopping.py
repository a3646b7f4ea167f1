"""The stopping rule of SMO, its counters, and what it refuses."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from importlib import import_module

import numpy as np
import pytest
from reference_problems import ALL_LOSSES, ROW_LOSSES, make_problem, say
from smo_problems import (
    LAYERED,
    assert_optimal,
    either_working_set,
    every_row_loss,
    every_selection,
    make_layered,
    reference_value,
    run,
)

from maxmargin import SVC
from maxmargin.model.kernels import RBF, Linear
from maxmargin.model.losses import EpsilonInsensitive, Hinge
from maxmargin.model.problem import Problem
from maxmargin.solvers.loop import solve
from maxmargin.solvers.result import Status
from maxmargin.solvers.smo import SELECTIONS, SMO, STOPS

either_shrinking = pytest.mark.parametrize("shrinking", [False, True], ids=["whole", "shrinking"])


def widest_violation(problem: Problem, a: np.ndarray) -> float:
    """m - M over all samples and layers, or the largest violation where the intercept is not free."""
    f = problem.features.scores(problem.features.combine(a))
    left, right = problem.terms.slopes(a)
    up, low = np.atleast_2d(-right - f), np.atleast_2d(-left - f)
    if problem.balance is None:
        return float(max(up.max(), (-low).max()))
    return float((up.max(axis=1) - low.min(axis=1)).max())


@every_row_loss
@every_selection
@pytest.mark.parametrize("intercept", ["free", "none"])
@either_shrinking
@either_working_set
def test_the_rule_of_wu_holds_for_all_samples(loss, selection, intercept, shrinking, working_set):
    """stop="kkt" leaves m - M < tol, recomputed over all samples, set aside or not."""
    tol = 1e-3
    problem = make_problem(loss, Linear(), intercept, weighted=True, n=100, seed=3)
    result = run(problem, tol, selection=selection, stop="kkt", shrinking=shrinking, working_set=working_set)
    assert result.status is Status.CONVERGED
    assert widest_violation(problem, result.point.a) <= tol + 1e-9


@pytest.mark.parametrize("kind", LAYERED)
@either_shrinking
@either_working_set
def test_the_rule_of_wu_holds_in_layers(kind, shrinking, working_set):
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


@pytest.mark.parametrize(("n", "loss"), [(300, Hinge()), (300, EpsilonInsensitive(0.1)), (1200, Hinge())], ids=say)
def test_a_cache_below_the_matrix_is_obeyed(n, loss):
    """A matrix that could be formed is not where it does not fit: rows are on demand, some more than once."""
    problem = make_problem(loss, RBF(gamma=0.5), n=n, seed=4)
    result = run(problem, 1e-6, cache_size=0.1 * 8 * n**2 / 2**20, shrinking=False)
    assert problem.features.whole is None
    assert result.status is Status.CONVERGED
    assert result.counters["hits"] > 0
    assert result.counters["rows"] >= result.counters["misses"] > 0.1 * n


def test_an_estimator_obeys_its_cache_size():
    """SVC, too: with 0.2 MB for a matrix of 2 MB rows are evaluated again, and the optimum is the same."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 4)), rng.integers(0, 2, 500)
    small, large = (SVC(cache_size=size, tol=1e-6).fit(X, y) for size in (0.2, 200))
    assert small.result_.counters["rows"] > large.result_.counters["rows"]
    assert small.certificate_.dual == pytest.approx(large.certificate_.dual, rel=1e-5)


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
    penalty, n_classes = "l2", None
    linear = has_kernel_rows = signed = by_weights = False


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
