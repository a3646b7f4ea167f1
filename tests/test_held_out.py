"""The stand-in that scorers are given predicts what the machine does, and is the machine where it is asked for more."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_diabetes, load_iris
from sklearn.metrics import accuracy_score, get_scorer, r2_score

from maxmargin import SVC, SVR, LinearSVC, LinearSVR, NuSVC, RiskClassifier
from maxmargin.tuning.held_out import HeldOutMachine, score_predictions
from maxmargin.tuning.predictions import find_decision_function

IRIS, DIABETES = load_iris(return_X_y=True), load_diabetes(return_X_y=True)
MACHINES = [
    SVC(C=0.1), SVC(C=0.1, multi_class="ovr"), SVC(decision_function_shape="ovo"), SVC(break_ties=True, C=0.01),
    NuSVC(nu=0.3), LinearSVC(C=0.1), LinearSVC(multi_class="crammer_singer"), RiskClassifier("logistic"),
    SVR(), LinearSVR(),
]  # fmt: skip


def make_stand_in(machine, X, y):
    """One that knows X; the list counts how often the machine was asked for."""
    fitted, asked = clone(machine).fit(X, y), []

    def fit():
        asked.append(1)
        return fitted

    stand_in = HeldOutMachine(clone(machine), fit, getattr(fitted, "classes_", None))
    stand_in.learn(X, find_decision_function(fitted)(X))
    return fitted, stand_in, asked


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_it_predicts_what_the_machine_does(machine, classes):
    """Labels, decisions and scores, without the machine."""
    X, y = IRIS if machine.task == "classification" else DIABETES
    X, y = (X[y < classes], y[y < classes]) if machine.task == "classification" else (X[:100], y[:100])
    fitted, stand_in, asked = make_stand_in(machine, X, y)
    np.testing.assert_array_equal(stand_in.predict(X), fitted.predict(X))
    if machine.task == "classification":
        np.testing.assert_array_equal(stand_in.decision_function(X), fitted.decision_function(X))
    else:
        assert not hasattr(stand_in, "decision_function")
    assert stand_in.score(X, y) == pytest.approx(fitted.score(X, y), rel=1e-14)
    name = "balanced_accuracy" if machine.task == "classification" else "neg_mean_squared_error"
    assert get_scorer(name)(stand_in, X, y) == get_scorer(name)(fitted, X, y)
    assert is_classifier(stand_in) == is_classifier(fitted)
    assert is_regressor(stand_in) == is_regressor(fitted)
    assert not asked


def test_it_is_the_machine_where_more_is_asked():
    """Other rows, fitted attributes, private ones; the machine is asked for once."""
    X, y = IRIS
    fitted, stand_in, asked = make_stand_in(SVC(C=3.0), X, y)
    assert isinstance(stand_in, SVC)
    assert stand_in.C == 3.0
    assert clone(stand_in).C == 3.0
    assert stand_in.get_params() == fitted.get_params()
    assert repr(stand_in) == "SVC(C=3.0)"
    assert not hasattr(stand_in, "transform")
    assert not asked
    np.testing.assert_array_equal(stand_in.predict(X.copy()), fitted.predict(X))
    np.testing.assert_array_equal(stand_in.support_, fitted.support_)
    assert stand_in.certificate_ is fitted.certificate_
    assert len(asked) == 1


def test_ties_that_cannot_be_broken_are_refused():
    """As `predict` refuses them."""
    X, y = IRIS
    _, stand_in, _ = make_stand_in(SVC(break_ties=True, decision_function_shape="ovo"), X, y)
    with pytest.raises(ValueError, match="break_ties must be False"):
        stand_in.predict(X)


def test_scores_are_those_of_scikit_learn():
    """Accuracy and R^2, weighed or not, and where R^2 has no spread."""
    rng = np.random.default_rng(0)
    y, guess, weight = rng.integers(0, 3, 50), rng.integers(0, 3, 50), rng.uniform(size=50)
    for w in (None, weight):
        assert score_predictions(SVC(), y, guess, w) == accuracy_score(y, guess, sample_weight=w)
        expected = r2_score(y, 0.5 * guess, sample_weight=w)
        assert score_predictions(SVR(), y, 0.5 * guess, w) == pytest.approx(expected, rel=1e-14)
    flat = np.ones(5)
    assert score_predictions(SVR(), flat, flat) == r2_score(flat, flat)
    assert score_predictions(SVR(), flat, 2 * flat) == r2_score(flat, 2 * flat)
