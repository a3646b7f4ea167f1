"""Bad input to the linear estimators gets one clear sentence that names the parameter and the value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import DataConversionWarning, NotFittedError

from maxmargin import SMO, LinearSVC, LinearSVR, RiskClassifier, RiskRegressor

MODELS = (LinearSVC, LinearSVR, RiskClassifier, RiskRegressor)
CLASSIFIERS = (LinearSVC, RiskClassifier)
REGRESSORS = (LinearSVR, RiskRegressor)
every_model = pytest.mark.parametrize("Model", MODELS, ids=lambda Model: Model.__name__)
every_classifier = pytest.mark.parametrize("Model", CLASSIFIERS, ids=lambda Model: Model.__name__)
every_regressor = pytest.mark.parametrize("Model", REGRESSORS, ids=lambda Model: Model.__name__)


@pytest.fixture
def data():
    """Thirty samples of two classes."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 3)), np.arange(30) % 2


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.empty((0, 3)), "0 sample"),
        (np.empty((30, 0)), "0 feature"),
        (np.zeros(30), "Expected 2D array, got 1D array"),
        (np.zeros((30, 3, 2)), "Found array with dim 3"),
        ([[1.0, 2.0], [3.0]], "inhomogeneous"),
        ([["a", "b"]] * 30, "could not convert string to float"),
        (np.zeros((30, 3), complex), "Complex data not supported"),
        (np.full((30, 3), np.nan), "Input X contains NaN"),
        (np.full((30, 3), np.inf), "Input X contains infinity"),
        (sp.csr_array(np.full((30, 3), np.nan)), "contains NaN"),
        (np.full((30, 3), 1e200), r"X reaches 1e\+200; values beyond 1e\+100 overflow, so scale them"),
        (np.full((30, 3), -1e200), r"X reaches 1e\+200"),
        (sp.csr_array(np.full((30, 3), 1e200)), r"X reaches 1e\+200"),
    ],
)
@every_model
def test_matrices_that_are_none(Model, X, words):
    """Empty, flat, deep, ragged, strings, complex, not finite, too large."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    with pytest.raises(ValueError, match=words):
        Model().fit(X, np.arange(max(n, 1)) % 2)


@every_model
def test_lengths_that_differ(Model, data):
    """X and y, and the weights."""
    X, y = data
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[30, 29\]"):
        Model().fit(X, y[:-1])
    with pytest.raises(ValueError, match=r"sample_weight and X have incompatible shapes: \(29,\) vs 30"):
        Model().fit(X, y, sample_weight=np.ones(29))


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (np.full(30, np.nan), r"sample_weight must be finite, but sample_weight\[0\] is nan"),
        (np.zeros(30), "all samples have zero or negative weights"),
        (np.ones((30, 2)), r"sample_weight must be one number for each sample, got an array of shape \(30, 2\)"),
        (3.0, r"sample_weight must be one number for each sample, got an array of shape \(\)"),
        (["heavy"] * 30, "sample_weight must be an array of numbers"),
        (np.full(30, 1e300), r"C times sample_weight reaches 1e\+300"),
    ],
)
@every_model
def test_weights_that_are_none(Model, weight, words, data):
    """Not finite, all zero, of the wrong shape, no numbers, beyond all bounds."""
    X, y = data
    with pytest.raises(ValueError, match=words):
        Model().fit(X, y, sample_weight=weight)


@every_model
def test_negative_weights_are_left_out_with_a_word(Model, data):
    """A negative weight is no error, as in scikit-learn, but it is said aloud, at the line of the user."""
    X, y = data
    weight = np.ones(30)
    weight[7] = -0.5
    with pytest.warns(UserWarning, match=r"sample_weight\[7\] is -0.5; samples with a negative weight") as caught:
        model = Model(tol=1e-8).fit(X, y, sample_weight=weight)
    assert caught[0].filename == __file__
    without = Model(tol=1e-8).fit(np.delete(X, 7, axis=0), np.delete(y, 7))
    np.testing.assert_allclose(model.coef_, without.coef_, rtol=1e-3, atol=1e-3)


@every_classifier
def test_one_class_is_no_task(Model, data):
    """All labels equal, or all but those without weight; continuous labels."""
    X, y = data
    with pytest.raises(ValueError, match="at least 2 classes in the data, but the data contains only one class: 7"):
        Model().fit(X, np.full(30, 7))
    with pytest.raises(ValueError, match="class 1 has no sample of positive weight"):
        Model().fit(X, y, sample_weight=np.where(y > 0, 0.0, 1.0))
    with pytest.raises(ValueError, match="class 2 has no sample of positive weight"):
        Model(class_weight={2: 0.0}).fit(X, np.arange(30) % 3)
    with pytest.raises(ValueError, match="Unknown label type"):
        Model().fit(X, X[:, 0])


@every_regressor
def test_targets_that_are_none(Model, data):
    """NaN, words, complex numbers, two columns, and values that overflow."""
    X, y = data
    for targets, words in (
        (np.where(y > 0, np.nan, 1.0), "Input y contains NaN"),
        (np.full(30, 1e300), r"y reaches 1e\+300"),
        (["low"] * 30, "could not convert string to float"),
        (y + 1j, "Complex data not supported"),
        (X[:, :2], r"y should be a 1d array, got .* \(30, 2\)"),
        (None, "requires y to be passed"),
    ):
        with pytest.raises(ValueError, match=words):
            Model().fit(X, targets)


def test_counts_that_are_none(data):
    """loss="poisson" names the first target below zero; where all are zero there is no optimum."""
    X, y = data
    counts = y.astype(float)
    counts[4] = -3.0
    with pytest.raises(ValueError, match=r"loss='poisson' needs targets that are not negative, but y\[4\] is -3"):
        RiskRegressor("poisson").fit(X, counts)
    with pytest.raises(ValueError, match=r"needs a target above zero, but all of y are 0"):
        RiskRegressor("poisson").fit(X, np.zeros(30))
    with pytest.raises(ValueError, match=r"needs a target above zero, but all of y are 0"):
        RiskRegressor("poisson").fit(X, y, sample_weight=1.0 - y)


WRONG = {
    "negative C": (LinearSVC, {"C": -1.0}, r"'C' parameter of LinearSVC must be a float .* Got -1.0"),
    "no C": (LinearSVR, {"C": 0}, r"'C' parameter of LinearSVR .* Got 0"),
    "C not a number": (RiskRegressor, {"C": np.nan}, r"'C' parameter of RiskRegressor .* Got nan"),
    "C as text": (RiskClassifier, {"C": "10"}, r"'C' parameter of RiskClassifier .* Got '10'"),
    "penalty": (LinearSVC, {"penalty": "l0"}, r"'penalty' parameter of LinearSVC .* Got 'l0'"),
    "loss": (LinearSVC, {"loss": "logistic"}, r"'loss' parameter of LinearSVC .* Got 'logistic'"),
    "loss of another kind": (RiskClassifier, {"loss": "huber"}, r"'loss' parameter of RiskClassifier .* Got 'huber'"),
    "loss for labels": (RiskRegressor, {"loss": "hinge"}, r"'loss' parameter of RiskRegressor .* Got 'hinge'"),
    "dual": (LinearSVC, {"dual": "maybe"}, r"'dual' parameter of LinearSVC .* Got 'maybe'"),
    "tube": (LinearSVR, {"epsilon": -0.1}, r"'epsilon' parameter of LinearSVR .* Got -0.1"),
    "quantile": (RiskRegressor, {"quantile": 1.0}, r"'quantile' parameter of RiskRegressor .* Got 1.0"),
    "threshold": (RiskRegressor, {"threshold": 0.0}, r"'threshold' parameter of RiskRegressor .* Got 0.0"),
    "intercept": (LinearSVC, {"intercept": "yes"}, r"'intercept' parameter of LinearSVC .* Got 'yes'"),
    "scaling": (LinearSVC, {"intercept_scaling": 0}, r"'intercept_scaling' parameter of LinearSVC .* Got 0"),
    "many classes": (RiskClassifier, {"multi_class": "ovo"}, r"'multi_class' parameter of RiskClassifier .* Got 'ovo'"),
    "softmax": (RiskClassifier, {"multi_class": "softmax"}, r"'softmax' needs loss='logistic', got loss='hinge'"),
    "hinge": (
        RiskClassifier,
        {"loss": "logistic", "multi_class": "crammer_singer"},
        r"multi_class='crammer_singer' needs loss='hinge', got loss='logistic'",
    ),
    "solver": (LinearSVC, {"solver": "simplex"}, r"'solver' parameter of LinearSVC .* Got 'simplex'"),
    "class of a solver": (LinearSVC, {"solver": SMO}, "solver must be a name or an object, got the class SMO"),
    "tol": (LinearSVR, {"tol": 0.0}, r"'tol' parameter of LinearSVR .* Got 0.0"),
    "iterations": (LinearSVR, {"max_iter": None}, r"'max_iter' parameter of LinearSVR .* Got None"),
    "seconds": (RiskRegressor, {"max_seconds": -1}, r"'max_seconds' parameter of RiskRegressor .* Got -1"),
    "jobs": (LinearSVC, {"n_jobs": 0}, "The 'n_jobs' parameter of LinearSVC must be .* Got 0 instead"),
    "class weight": (LinearSVC, {"class_weight": {0: -1.0}}, r"class_weight must be .* class 0 is -1.0"),
    "infinite class weight": (RiskClassifier, {"class_weight": {0: np.inf}}, "class 0 is inf"),
    "weights of no class": (LinearSVC, {"class_weight": {0: 1, 5: 1}}, r"classes, \[1\]"),
    "a kink": (RiskClassifier, {"penalty": "l1"}, "penalty='l1' needs a smooth loss .* got loss='hinge'"),
    "combination": (LinearSVC, {"penalty": "l1", "loss": "hinge"}, "Unsupported set of arguments: The combination of"),
}


@pytest.mark.parametrize(("Model", "parameters", "words"), WRONG.values(), ids=WRONG)
def test_parameters_that_are_wrong(Model, parameters, words, data):
    """The sentence names the parameter and the value."""
    with pytest.raises(ValueError, match=words):
        Model(**parameters).fit(*data)


def test_losses_that_a_solver_does_not_take(data):
    """A solver that was asked for by name says what it cannot do."""
    with pytest.raises(ValueError, match="SMO needs a piecewise linear or quadratic loss, and 'logistic' is neither"):
        RiskClassifier("logistic", solver="smo").fit(*data)


@every_model
def test_predictions_of_other_data(Model, data):
    """Before the fit; another number of features; one row; no rows; numbers that are none."""
    X, y = data
    with pytest.raises(NotFittedError, match="not fitted"):
        Model().predict(X)
    model = Model().fit(X, y)
    for other, words in (
        (X[:, :2], r"X has 2 features, but .* is expecting 3 features"),
        (sp.csr_array(X[:, :2]), r"X has 2 features, but .* is expecting 3 features"),
        (X[0], "got 1D array"),
        (X[:0], "0 sample"),
        (X * np.nan, "contains NaN"),
        ([["a", "b", "c"]], "string to float"),
    ):
        with pytest.raises(ValueError, match=words):
            model.predict(other)
    np.testing.assert_allclose(model.predict(sp.csr_array(X)), model.predict(X))  # sparse after dense is no mistake


@every_model
def test_column_vectors_are_taken_with_a_word(Model, data):
    """y of shape (30, 1) is meant well."""
    X, y = data
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        model = Model().fit(X, y[:, None])
    np.testing.assert_array_equal(model.coef_, Model().fit(X, y).coef_)


@every_classifier
def test_mistakes_of_newcomers(Model, data):
    """Labels as columns, a frame with words, a keyword that is none."""
    X, y = data
    with pytest.raises(ValueError, match=r"y should be a 1d array, .* \(30, 2\)"):
        Model().fit(X, np.eye(2)[y])
    with pytest.raises(ValueError, match="string to float: 'f'"):
        Model().fit(pd.DataFrame({"age": np.arange(30.0), "sex": ["f", "m"] * 15}), y)
    with pytest.raises(TypeError, match="unexpected keyword argument 'c'"):
        Model(c=1.0)
    with pytest.raises(ValueError, match="requires y to be passed"):
        Model().fit(X, None)


@every_model
@pytest.mark.parametrize(
    "X",
    [np.zeros((30, 3)), np.ones((30, 3)), np.full((30, 1), 1e-300), sp.csr_array((30, 3))],
    ids=["zeros", "ones", "tiny", "empty sparse"],
)
def test_samples_without_information(Model, X):
    """Constant features leave the intercept to decide: no error, no nonsense."""
    y = (np.arange(30) % 3 == 0).astype(int)
    model = Model().fit(X, y)
    assert model.result_.converged
    assert len(np.unique(np.round(model.predict(X), 6))) == 1
