"""Certified tuning: no dense grid contradicts the lower bound, and no optimum the bounds on its scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, SVR, LinearSVC, RiskClassifier, certify_tuning, solve
from maxmargin.guarantees.tuning.anchors import interpolate, make_anchor
from maxmargin.guarantees.tuning.bounds import bound_scores, find_positive_part
from maxmargin.guarantees.tuning.folds import TuningData, make_folds
from maxmargin.model.problem import Point

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


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", MACHINES)
def test_a_dense_grid_never_contradicts_it(name, weighted):
    """At 200 values of C the error is no less than the lower bound, and the chosen C is within eps of the best."""
    X, y, weight = make_data(len(name))
    weight = weight if weighted else None
    tuning = certify_tuning(MACHINES[name], X, y, (1e-2, 1e2), cv=CV, eps=0.06, sample_weight=weight)
    Cs = np.geomspace(1e-2, 1e2, 200)
    errors = find_exact_errors(MACHINES[name], X, y, weight, Cs)
    bounds = np.array([tuning.bound(C) for C in Cs])
    assert (bounds <= errors + 1e-12).all()
    assert tuning.proven
    assert errors.min() >= tuning.error - tuning.eps - 1e-12
    assert tuning.lower_bounds.min() > 0.05  # the statement is not empty
    assert len(tuning.Cs) < 60
