"""Certified tuning: no dense grid contradicts the lower bound, and no optimum the bounds on its scores."""

from __future__ import annotations

import re
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure as Drawing
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, SVR, LinearSVC, RiskClassifier, certify_tuning, solve
from maxmargin.guarantees.tuning.anchors import interpolate, make_anchor
from maxmargin.guarantees.tuning.bounds import ScoreFloor, bound_scores, find_positive_part
from maxmargin.guarantees.tuning.folds import TuningData, make_folds
from maxmargin.model.problem import Point
from maxmargin.solvers.smo.pairs import PairRun

CV = StratifiedKFold(3, shuffle=True, random_state=1)
MACHINES = {
    "gaussian": SVC(),
    "gaussian, no intercept": SVC(intercept="none"),
    "gaussian, regularised intercept": SVC(intercept="regularised"),
    "polynomial": SVC(kernel="poly", degree=2, coef0=1.0),
    "squared hinge, kernel": SVC(loss="squared_hinge"),
    "linear kernel": SVC(kernel="linear"),
    "balanced classes": SVC(class_weight="balanced"),
    "hinge": RiskClassifier("hinge"),
    "hinge, no intercept": RiskClassifier("hinge", intercept="none"),
    "squared hinge": LinearSVC(),
    "hinge, regularised intercept": LinearSVC(loss="hinge", intercept="regularised"),
    "logistic": RiskClassifier("logistic"),
    "logistic, no intercept": RiskClassifier("logistic", intercept="none"),
    "exponential": RiskClassifier("exponential"),
}


def make_data(seed: int, n: int = 60, classes: int = 2):
    """Noisy points of some classes, weights of the rows, the classes of different sizes."""
    rng = np.random.default_rng(seed)
    y = rng.choice(classes, n, p=np.arange(1, classes + 1) / np.arange(1, classes + 1).sum())
    y[: 6 * classes] = np.repeat(np.arange(classes), 6)
    X = rng.normal(size=(n, 3)) + 0.9 * np.column_stack([np.cos(2 * y), np.sin(2 * y), 0.3 * y])
    return X, y, rng.uniform(0.2, 3.0, n)


def find_exact_errors(model, X, y, weight, Cs) -> np.ndarray:
    """The cross-validated error at each C from fits of their own."""
    folds = make_folds(model, TuningData(X, y, weight), CV.split(X, y))
    errors = np.zeros((len(Cs), len(folds)))
    for k, fold in enumerate(folds):
        starts = [None] * len(fold.machines)
        for j, C in enumerate(Cs):
            anchors = []
            for place, machine in enumerate(fold.machines):
                point = solve(machine.problem(C), tol=1e-12, warm=starts[place]).point
                anchors.append(make_anchor(machine, C, point))
                starts[place] = Point(point.a, point.b)
            errors[j, k] = fold.find_errors(anchors).mean()
    return errors.mean(axis=1)


def assert_grid_agrees(name: str, weighted: bool, count: int) -> None:
    """The lower bound is below the errors of exact fits at many values of C, and proves what it says."""
    X, y, weight = make_data(len(name))
    weight = weight if weighted else None
    model, Cs = MACHINES[name], np.geomspace(1e-2, 1e2, count)
    tuning = certify_tuning(model, X, y, (1e-2, 1e2), cv=CV, eps=0.06, sample_weight=weight)
    errors = find_exact_errors(model, X, y, weight, Cs)
    bounds = np.array([tuning.bound(C) for C in Cs])
    assert (bounds <= errors + 1e-12).all()
    assert errors.min() >= tuning.error - tuning.eps - 1e-12
    proven = bounds >= tuning.error - 0.06 - 1e-12
    assert proven[Cs > 0.5].all()  # below it both classes may weigh the same, and then no intercept is the optimal one
    assert proven.all() == tuning.proven
    assert proven.all() or name == "balanced classes"
    assert (bounds[proven] > 0.05).all()  # the statement is not empty
    assert len(tuning.Cs) < 60


@pytest.mark.parametrize("name", MACHINES)
def test_a_grid_never_contradicts_it(name):
    """Where C is fitted exactly, the error is no less than the lower bound, for every kernel, loss and intercept."""
    assert_grid_agrees(name, weighted=len(name) % 2 == 1, count=12)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", MACHINES)
def test_a_dense_grid_never_contradicts_it(name, weighted):
    """The same at 200 values of C, with and without weights."""
    assert_grid_agrees(name, weighted, count=200)


def make_machine(model, seed: int, weighted: bool):
    """The machine of one fold of a small problem."""
    X, y, weight = make_data(seed, n=30)
    rows = np.arange(30)
    splits = [(rows[rows % 3 > 0], rows[rows % 3 == 0])]
    return make_folds(model, TuningData(X, y, weight if weighted else None), splits)[0].machines[0]


def solve_roughly(problem, tol: float) -> Point:
    """A point with about this gap: without the Newton steps by which small fits end at the optimum."""
    with mock.patch.object(PairRun, "may_find_last_digits", return_value=False):
        return solve(problem, tol=tol).point


def make_optimum(machine, C: float):
    """An anchor that is the optimum up to rounding."""
    return make_anchor(machine, C, solve(machine.problem(C), tol=1e-13).point)


@pytest.mark.parametrize("name", MACHINES)
@settings(deadline=None, max_examples=8)
@given(
    seed=st.integers(0, 10**6), weighted=st.booleans(), low=st.floats(-2, 2), width=st.floats(0.01, 2),
    share=st.floats(0, 1), tols=st.tuples(*[st.sampled_from([1e-1, 1e-2, 1e-4, 1e-9])] * 2),
    scale=st.floats(-2, 2), upwards=st.booleans(),
)  # fmt: skip
def test_the_optimum_keeps_to_its_bounds(name, seed, weighted, low, width, share, tols, scale, upwards):
    """Scores at any C between two anchors that are more or less solved, whatever tau, and from both sides."""
    machine = make_machine(MACHINES[name], seed, weighted)
    Cs = 10.0**low, 10.0 ** (low + width)
    first, second = (
        make_anchor(machine, C, solve_roughly(machine.problem(C), tol)) for C, tol in zip(Cs, tols, strict=True)
    )
    side = 1.0 if upwards else -1.0
    floor = bound_scores(first, second, side * 10.0**scale * np.sqrt(Cs[0]))
    C = (1.0 - share) * Cs[0] + share * Cs[1]
    exact = make_optimum(machine, C)
    slack = 2.0 * np.sqrt(exact.square_radius * machine.held_out_squares) + 1e-6 * (1.0 + np.abs(exact.scores))
    assert (floor.evaluate(share) <= side * exact.scores + slack).all()
    between = interpolate(first, second, C) if Cs[0] < C < Cs[1] else first
    there = bound_scores(between, between, side * 10.0**scale * np.sqrt(C)).start
    if between.C == C:
        assert (there <= side * exact.scores + slack).all()


@pytest.mark.parametrize("name", [name for name in MACHINES if "no intercept" in name or "regularised" in name])
@pytest.mark.parametrize("tol", [1e-1, 1e-3])
def test_the_optimum_is_within_its_radius(name, tol):
    """|w* - (w + v)/2| <= r at a rough fit, and r is not many times as large."""
    ratios = []
    for seed in range(10):
        machine = make_machine(MACHINES[name], seed, weighted=False)
        rough = make_anchor(machine, 1.0, solve_roughly(machine.problem(1.0), tol))
        exact = make_optimum(machine, 1.0)
        apart = exact.untilted.centre.coef - rough.untilted.centre.coef
        distance = np.sqrt(max(machine.expand(apart).square.value, 0.0))
        assert distance <= np.sqrt(rough.square_radius) + 1e-6
        ratios.append(distance / np.sqrt(rough.square_radius))
    assert max(ratios) > 0.1


def test_bounds_meet_the_optimum_where_it_is_known():
    """With two exact anchors side by side, the bounds on scores from both sides are close to each other."""
    machine = make_machine(SVC(), 3, weighted=True)
    first, second = make_optimum(machine, 1.0), make_optimum(machine, 1.001)
    tau = 2.0 * np.sqrt(max(first.square_radius, second.square_radius)) + 1e-4
    below, above = (bound_scores(first, second, side * tau).evaluate(0.5) for side in (1.0, -1.0))
    assert (below <= -above).all()
    assert np.max(-above - below) < 0.02


def test_positive_parts_of_parabolas():
    """[0, start] and [stop, 1] are where (1-t) f + t g - t (1-t) sag is not negative."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        f, g, sag = rng.normal(), rng.normal(), rng.choice([0.0, rng.exponential(4.0)])
        floor = ScoreFloor(np.array([f]), np.array([g]), sag)
        start, stop = (float(each[0]) for each in find_positive_part(floor))
        for t in np.linspace(0.0, 1.0, 101):
            value = float(floor.evaluate(t)[0])
            if abs(value) > 1e-9:
                assert (value > 0) == (t <= start or t >= stop)


def test_breast_cancer_to_one_label_in_a_hundred():
    """[1e-3, 1e3] is covered to 0.1 with as many fits as are made in any case, to 0.02 with a few more."""
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), SVC(kernel="linear"))
    coarse = certify_tuning(model, X, y, (1e-3, 1e3), eps=0.1)
    assert coarse.proven
    assert len(coarse.Cs) == 3
    assert "this bound says nothing" in str(coarse)
    tuning = certify_tuning(model, X, y, (1e-3, 1e3), eps=0.015)
    assert tuning.proven
    assert tuning.lower_bounds.min() > 0.0
    assert len(tuning.Cs) <= 39  # what Shibagaki et al. (2015) need for 0.1 on data of theirs
    assert tuning.n_fits <= 5 * len(tuning.Cs) + 20
    assert tuning.edges[0] == 1e-3
    assert tuning.edges[-1] == 1e3
    assert (np.diff(tuning.edges) > 0).all()
    assert (tuning.errors >= tuning.error).all()


@pytest.mark.parametrize("model", [LinearSVC(), SVC(multi_class="ovr"), RiskClassifier("logistic", intercept="none")])
def test_many_classes(model):
    """One machine for each class; a label is proven wrong where another class has the larger score."""
    X, y, _ = make_data(3, n=70, classes=3)
    tuning = certify_tuning(model, X, y, (1e-1, 1e1), cv=CV, eps=0.08)
    Cs = np.geomspace(1e-1, 1e1, 12)
    errors = find_exact_errors(model, X, y, None, Cs)
    assert (np.array([tuning.bound(C) for C in Cs]) <= errors + 1e-12).all()
    assert tuning.proven
    assert tuning.lower_bounds.min() > 0.05


def test_errors_are_those_of_cross_val_score():
    """At the values of C that were fitted."""
    X, y, _ = make_data(8)
    tuning = certify_tuning(SVC(), X, y, (0.1, 10.0), cv=CV, eps=0.1)
    for C, error in zip(tuning.Cs, tuning.errors, strict=True):
        assert error == pytest.approx(1.0 - cross_val_score(SVC(C=C, tol=1e-9), X, y, cv=CV).mean(), abs=1e-12)


def test_other_forms_of_the_same_data():
    """A kernel matrix, a callable, sparse rows and a pipeline give what the rows do."""
    X, y, _ = make_data(5)
    plain = certify_tuning(SVC(kernel="linear"), X, y, (0.1, 10.0), cv=CV, eps=0.1)
    others = [
        certify_tuning(SVC(kernel="precomputed"), X @ X.T, y, (0.1, 10.0), cv=CV, eps=0.1),
        certify_tuning(SVC(kernel=lambda A, B: A @ B.T), X, y, (0.1, 10.0), cv=CV, eps=0.1),
        certify_tuning(SVC(kernel="linear"), sp.csr_matrix(X), y, (0.1, 10.0), cv=CV, eps=0.1),
        certify_tuning(make_pipeline("passthrough", SVC(kernel="linear")), X, y, (0.1, 10.0), cv=CV, eps=0.1),
        certify_tuning(SVC(kernel="linear"), X.tolist(), np.array(["no", "yes"])[y], (0.1, 10.0), cv=CV, eps=0.1),
    ]
    for other in others:
        assert (other.C, other.error) == (plain.C, plain.error)
        np.testing.assert_allclose(other.lower_bounds.min(), plain.lower_bounds.min(), atol=0.05)
    assert "not known to be" in str(others[0])
    assert "not known to be" not in str(plain)


def test_rows_without_weight_do_not_train():
    """They are held out and counted as errors all the same."""
    X, y, weight = make_data(9)
    weight[::4] = 0.0
    tuning = certify_tuning(SVC(), X, y, (0.1, 10.0), cv=CV, eps=0.1, sample_weight=weight)
    errors = find_exact_errors(SVC(), X, y, weight, tuning.Cs)
    np.testing.assert_allclose(tuning.errors, errors)


def test_one_value_of_C():
    """A range may be a point."""
    X, y, _ = make_data(2)
    tuning = certify_tuning(SVC(), X, y, (1.0, 1.0), cv=CV)
    assert (tuning.C, len(tuning.Cs), tuning.eps) == (1.0, 1, 0.0)
    assert tuning.bound(1.0) == tuning.error


def test_limits_leave_a_true_statement():
    """With few values of C, or little time, a larger eps is proven, and the text says so."""
    X, y, _ = make_data(4)
    few = certify_tuning(SVC(), X, y, (1e-2, 1e2), cv=CV, eps=0.01, max_values=5)
    assert not few.proven
    assert len(few.Cs) == 5
    assert "max_values=5" in str(few)
    assert few.eps == pytest.approx(few.error - few.lower_bounds.min())
    assert few.unproven
    brief = certify_tuning(SVC(), X, y, (1e-2, 1e2), cv=CV, eps=1e-3, max_seconds=0.05)
    assert not brief.proven
    assert "max_seconds" in str(brief)


def test_an_intercept_that_is_not_determined():
    """Where both classes weigh the same and no dual is free, any intercept is optimal: nothing is proven, and said."""
    X, y, _ = make_data(16)
    tuning = certify_tuning(SVC(class_weight="balanced"), X, y, (1e-2, 1e1), cv=CV, eps=0.1)
    assert not tuning.proven
    assert "intercept" in str(tuning)
    (low, high), *_ = tuning.unproven
    assert low == 1e-2
    assert high < 1.0
    free = certify_tuning(SVC(class_weight="balanced", intercept="none"), X, y, (1e-2, 1e1), cv=CV, eps=0.1)
    assert free.proven


def test_text_and_picture():
    """One sentence, and the lower bound below the errors."""
    X, y = make_moons(90, noise=0.3, random_state=0)
    tuning = certify_tuning(SVC(), X, y, (0.1, 10.0), cv=CV, eps=0.05)
    promised = float(re.search(r"more than ([\d.]+) below", str(tuning))[1])
    assert tuning.eps <= promised <= tuning.eps + 1e-4
    ax = tuning.plot(ax=Drawing().subplots())
    assert ax.get_xscale() == "log"
    assert {line.get_label() for line in ax.get_lines()} >= {"errors of the fits"}
    with pytest.raises(ValueError, match="C must be between"):
        tuning.bound(20.0)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"Cs": (1.0, 0.1)}, ValueError, "Cs must be 0 < low"),
        ({"Cs": (0.0, 1.0)}, ValueError, "Cs must be 0 < low"),
        ({"Cs": 3.0}, ValueError, "Cs must be two numbers"),
        ({"eps": 0.0}, ValueError, "eps must be a positive number, got 0.0"),
        ({"tol": -1.0}, ValueError, "tol must be a positive number"),
        ({"max_values": 0}, ValueError, "max_values must be"),
        ({"max_seconds": -1}, ValueError, "max_seconds must be"),
        ({"model": SVR()}, TypeError, "certify_tuning takes SVC"),
        ({"model": LinearSVC(penalty="l1")}, ValueError, "penalty='l1'"),
        ({"model": SVC(kernel="sigmoid", gamma=1.0, coef0=-2.0)}, ValueError, "positive semidefinite"),
        ({"y": np.arange(60) % 3}, ValueError, "multi_class='ovr'"),
    ],
)
def test_bad_input(change, error, message):
    """One sentence each."""
    X, y, _ = make_data(1)
    arguments = {"model": SVC(), "X": X, "y": y, "Cs": (0.1, 1.0), "cv": CV, **change}
    with pytest.raises(error, match=re.escape(message)):
        certify_tuning(**arguments)


def test_the_page_shows_what_its_example_prints():
    """But for the seconds; where fits end a little elsewhere, other values of C are fitted."""
    page = (Path(__file__).parents[1] / "docs" / "certified_tuning.md").read_text()
    scope = {}
    exec(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1].replace("print(tuning)", ""), scope)
    found = [re.search(r"error of ([\d.]+)\. No C in (\S+ \S+) has", text) for text in (page, str(scope["tuning"]))]
    assert found[0].groups() == found[1].groups()
    assert scope["tuning"].proven
