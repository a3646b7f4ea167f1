"""SVCCV and its like: the best of a grid, ranges from the data, and why the search stopped."""

from __future__ import annotations

import inspect
import pickle
import signal

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.model_selection as theirs
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics import get_scorer
from sklearn.model_selection import GroupKFold, PredefinedSplit
from test_check_estimator import every_check

from maxmargin import (
    SVC,
    SVCCV,
    SVR,
    SVRCV,
    LinearSVC,
    LinearSVCCV,
    LinearSVR,
    LinearSVRCV,
    RiskClassifierCV,
    RiskRegressorCV,
)
from maxmargin.tuning.ranges import derive_costs, derive_gammas, read_axis

IRIS, DIABETES = load_iris(return_X_y=True), load_diabetes(return_X_y=True)
KINDS = (SVCCV, SVRCV, LinearSVCCV, LinearSVRCV, RiskClassifierCV, RiskRegressorCV)
FEW = {"Cs": [0.5, 2.0], "cv": 2, "tol": 1e-8}


@every_check([kind(**FEW, **({"gammas": [0.5, 2.0]} if "gamma" in kind.axis_names else {})) for kind in KINDS])
@pytest.mark.filterwarnings("ignore:The best candidate has")
@pytest.mark.filterwarnings("ignore:The least populated class")
@pytest.mark.slow
def test_check_estimator(estimator, check):
    """As the plain machines pass it."""
    check(estimator)


@pytest.mark.filterwarnings("ignore:The best candidate has")
def test_a_grid_has_the_winner_of_scikit_learn():
    """Both axes given: the table and the machine of GridSearchCV."""
    tuned = SVCCV(Cs=[10, 0.1, 1], gammas=[1, 0.1, "scale"], kernel="laplacian", cv=4).fit(*IRIS)
    grid = {"C": [0.1, 1.0, 10.0], "gamma": ["scale", 0.1, 1.0]}
    other = theirs.GridSearchCV(SVC(kernel="laplacian"), grid, cv=4).fit(*IRIS)
    assert tuned.best_params_ == other.best_params_ == {"C": tuned.C_, "gamma": tuned.gamma_}
    np.testing.assert_array_equal(tuned.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"])
    assert tuned.scores_.shape == (9, 4)
    np.testing.assert_array_equal(tuned.scores_.mean(axis=1), tuned.cv_results_["mean_test_score"])
    assert len(tuned.cell_certificates_) == 36
    assert all(certificate.relative_gap <= 1e-5 for certificate in tuned.cell_certificates_.values())
    np.testing.assert_array_equal(tuned.predict(IRIS[0]), other.predict(IRIS[0]))
    np.testing.assert_array_equal(tuned.support_, other.best_estimator_.support_)
    assert tuned.search_message_.startswith("All candidates that were given are scored.")


@pytest.mark.parametrize("kind", KINDS)
def test_ranges_from_the_data(kind):
    """No grid: the score is no worse than at the defaults, and a sentence says why the search stopped."""
    X, y = IRIS if kind.machine_class.task == "classification" else (DIABETES[0][:200], DIABETES[1][:200])
    tuned = kind().fit(X, y)
    plain = theirs.cross_val_score(tuned.make_machine(), X, y, cv=5)
    assert tuned.best_score_ >= plain.mean()
    assert "The search stopped at steps of a factor" in tuned.search_message_
    assert isinstance(tuned.best_estimator_, kind.machine_class)
    assert tuned.best_estimator_.C == tuned.C_
    assert tuned.score(X, y) == tuned.best_estimator_.score(X, y)


def test_ranges_follow_the_scale_of_the_data():
    """Features in other units, targets in other units: the same machine."""
    X, y = IRIS
    tuned, other = SVCCV().fit(X, y), SVCCV().fit(64.0 * X, y)
    assert pytest.approx(tuned.C_) == other.C_
    assert other.gamma_ == pytest.approx(tuned.gamma_ / 64.0**2)
    linear, other = (LinearSVCCV(intercept="free").fit(scale * X, y) for scale in (1.0, 8.0))
    assert pytest.approx(linear.C_ / 64.0) == other.C_
    X, y = DIABETES[0][:150], DIABETES[1][:150]
    regression, other = SVRCV(epsilon=0.1).fit(X, y), SVRCV(epsilon=1.6).fit(X, 16.0 * y)
    assert pytest.approx(16.0 * regression.C_) == other.C_


def test_axes():
    """Lists, numbers of values, and what is refused."""
    X, y = load_breast_cancer(return_X_y=True)
    costs, gammas = derive_costs(SVC(), X, y), derive_gammas(X)
    assert costs.values == (2.0**-5, 0.5, 8.0, 128.0, 2048.0, 32768.0)
    assert gammas.values[2] == pytest.approx(1.0 / (X.shape[1] * X.var()))
    many = read_axis("C", 7, costs)
    assert len(many.values) == 7
    assert (many.values[0], many.values[-1]) == pytest.approx((2.0**-5, 2.0**15))
    assert read_axis("C", 3.0, costs).values == (3.0,)
    assert read_axis("gamma", "scale", gammas).values == ("scale",)
    for name, given in (("C", [1.0, -1.0]), ("C", ["scale"]), ("C", []), ("gamma", ["some"]), ("C", 0)):
        with pytest.raises(ValueError, match=f"{name}s must be"):
            read_axis(name, given, costs)
    with pytest.raises(ValueError, match="gammas must be None where kernel='linear' has no gamma"):
        SVCCV(kernel="linear", gammas=[1.0]).fit(*IRIS)
    assert not hasattr(SVCCV(kernel="linear").fit(*IRIS), "gamma_")


def test_the_edge_of_a_given_grid_is_told():
    """Once, by name; not where a list has one value or the range was ours."""
    with pytest.warns(UserWarning, match=r"The best candidate has C=0\.0001, at the edge of Cs"):
        tuned = SVCCV(Cs=[1e-4, 1e-3], gammas=[0.5]).fit(*IRIS)
    assert tuned.search_message_.endswith("The best lies at the edge of Cs.")


def test_parameters():
    """Those of the machine but those of the search; clone and pickle."""
    names = set(SVC().get_params()) - {"C", "gamma", "probability", "warm_start"}
    assert names | {"Cs", "gammas", "cv", "scoring", "refit", "checkpoint"} == set(SVCCV().get_params())
    with pytest.raises(TypeError, match="LinearSVCCV has no parameter 'gammas'"):
        LinearSVCCV(gammas=[1.0])
    tuned = clone(LinearSVCCV(Cs=[0.1, 1.0, 10.0], loss="hinge")).fit(*IRIS)
    assert isinstance(tuned.best_estimator_, LinearSVC)
    assert tuned.best_estimator_.loss == "hinge"
    again = pickle.loads(pickle.dumps(tuned))
    np.testing.assert_array_equal(again.predict(IRIS[0]), tuned.predict(IRIS[0]))
    assert again.C_ == tuned.C_
    assert "Cs" in inspect.signature(SVCCV).parameters
    with pytest.raises(NotFittedError):
        SVCCV().predict(IRIS[0])


def test_scoring_groups_and_weights():
    """Given to the search, and to the score of the best."""
    X, y = make_classification(200, 5, weights=[0.8], random_state=0)
    weight, groups = np.random.default_rng(0).uniform(0.5, 2.0, 200), np.arange(200) % 8
    tuned = RiskClassifierCV(loss="logistic", scoring="roc_auc", cv=GroupKFold(4), class_weight="balanced")
    tuned.fit(X, y, sample_weight=weight, groups=groups)
    assert tuned.n_splits_ == 4
    assert tuned.score(X, y) == get_scorer("roc_auc")(tuned.best_estimator_, X, y)
    assert tuned.predict_proba(X).shape == (200, 2)
    assert not hasattr(SVCCV(), "predict_proba")
    assert not hasattr(SVRCV(), "decision_function")


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("scoring", [None, "balanced_accuracy"])
def test_weights_are_repeated_rows(scoring, routing):
    """In the ranges, the scores and the fits, with and without scikit-learn's routing of metadata."""
    X, y = IRIS
    counts = np.random.default_rng(1).integers(0, 4, len(y))
    fold = np.arange(len(y)) % 3
    rows = np.arange(len(y)).repeat(counts)
    with config_context(enable_metadata_routing=routing):
        weighted = SVCCV(scoring=scoring, cv=PredefinedSplit(fold)).fit(X, y, sample_weight=counts)
        repeated = SVCCV(scoring=scoring, cv=PredefinedSplit(fold[rows])).fit(X[rows], y[rows])
    assert pytest.approx((repeated.C_, repeated.gamma_), rel=1e-9) == (weighted.C_, weighted.gamma_)
    np.testing.assert_allclose(weighted.scores_, repeated.scores_, atol=1e-12)


def test_scores_count_the_weights_of_classes():
    """As fits do, where no scorer is given: a class that hardly counts does not decide about C."""
    X, y = make_classification(200, 5, n_informative=3, flip_y=0.2, random_state=0)
    tuned = LinearSVCCV(class_weight={0: 1000.0, 1: 1e-4}).fit(X, y)
    assert tuned.best_score_ > 1.0 - 1e-6
    assert (tuned.predict(X) == 0).mean() > 0.95
    given = LinearSVCCV(class_weight={0: 1000.0, 1: 1e-4}, scoring="accuracy").fit(X, y)
    assert given.best_score_ < 0.95


def test_ranges_count_rows_by_their_weights():
    """Dense and sparse, as rows that are repeated."""
    X, y = load_diabetes(return_X_y=True)
    weight = np.random.default_rng(2).integers(0, 4, len(y)).astype(float)
    rows = np.arange(len(y)).repeat(weight.astype(int))
    for samples in (X, sp.csr_array(X)):
        for machine in (SVR(), LinearSVR()):
            counted = derive_costs(machine, samples, y, weight).values
            assert counted == pytest.approx(derive_costs(machine, X[rows], y[rows]).values, rel=1e-9)
        assert derive_gammas(samples, weight).unit == pytest.approx(derive_gammas(X[rows]).unit, rel=1e-9)


def test_no_refit():
    """Only the table."""
    tuned = LinearSVCCV(refit=False).fit(*IRIS)
    assert tuned.C_ > 0
    with pytest.raises(AttributeError, match="refit=False"):
        tuned.predict(IRIS[0])


def test_ctrl_c_keeps_the_best_so_far():
    """As of a search: pressed by a scorer, with two candidates done."""
    calls = []

    def score(machine, X, y):
        calls.append(1)
        if len(calls) == 11:
            signal.raise_signal(signal.SIGINT)
        return machine.score(X, y)

    tuned = SVCCV(n_jobs=1, scoring=score)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            tuned.fit(*IRIS)
    finally:
        signal.signal(signal.SIGINT, before)
    assert tuned.search_outcome_.interrupted
    assert len(tuned.scores_) < 24
    assert tuned.predict(IRIS[0][:3]).shape == (3,)
    assert "was ended" in tuned.search_message_
