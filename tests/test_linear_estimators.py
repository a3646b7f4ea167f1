"""The linear estimators: the right optimum for every loss, scikit-learn's attributes, every kind of data."""

from __future__ import annotations

import copy
import pickle
import re
import signal
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.svm
from linear_reference import (
    CASES,
    INTERCEPTS,
    make_data,
    measure_joint,
    measure_primal,
    solve_crammer_singer,
    solve_reference,
    solve_softmax,
)
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.linear_model._base import LinearClassifierMixin, SparseCoefMixin
from sklearn.model_selection import GridSearchCV

from maxmargin import SMO, LinearSVC, LinearSVR, RiskClassifier, RiskRegressor, Status
from maxmargin.certificates.in_memory import worst
from maxmargin.estimators.validation import check_design
from maxmargin.runtime.scikit_learn import VERSION

every_case = pytest.mark.parametrize("name", CASES)
every_intercept = pytest.mark.parametrize("intercept", INTERCEPTS)
every_weighting = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
ESTIMATORS = (LinearSVC, LinearSVR, RiskClassifier, RiskRegressor)
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.__name__)
# every way with many classes
MANY = {
    "LinearSVC": LinearSVC(),
    "LinearSVC hinge": LinearSVC(loss="hinge"),
    "LinearSVC crammer_singer": LinearSVC(multi_class="crammer_singer"),
    "RiskClassifier": RiskClassifier(),
    "RiskClassifier logistic": RiskClassifier("logistic"),
    "RiskClassifier exponential": RiskClassifier("exponential", C=0.3),
    "RiskClassifier crammer_singer": RiskClassifier(multi_class="crammer_singer"),
    "RiskClassifier softmax": RiskClassifier("logistic", multi_class="softmax"),
}
every_way = pytest.mark.parametrize("way", MANY)


def make_model(name: str, **settings):
    """A model of the table with other settings."""
    return clone(CASES[name]).set_params(**settings)


def make_classes(n: int = 90, n_classes: int = 3, seed: int = 0, width: float = 0.6) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping clouds on a circle, one a class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    angles = 2.0 * np.pi * y / n_classes
    return np.column_stack([np.cos(angles), np.sin(angles)]) + width * rng.normal(size=(n, 2)), y


def decide(model, X) -> np.ndarray:
    """What a model says of X: decision values, or predictions where it has none."""
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


# ---- the optimum --------------------------------------------------------------------------------------------


@every_weighting
@every_intercept
@every_case
def test_optimum_is_the_textbook_s(name, intercept, weighted):
    """P and D of the fit equal min P by scipy or cvxopt to 1e-6, and so does P recomputed from coef_ and intercept_."""
    model = make_model(name, intercept=intercept, intercept_scaling=1.7, tol=1e-8)
    X, y, weight = make_data(model, weighted=weighted)
    model.fit(X, y, sample_weight=weight)
    best = solve_reference(model, X, y, weight)
    assert model.result_.status is Status.CONVERGED
    assert model.certificate_.primal == pytest.approx(best, rel=1e-6)
    assert model.certificate_.dual == pytest.approx(best, rel=1e-6)
    assert measure_primal(model, X, y, weight) == pytest.approx(best, rel=1e-6)


@every_intercept
@every_weighting
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "exponential"])
def test_absolute_penalty(loss, intercept, weighted):
    """penalty="l1": min |w|_1 + C sum l, sparse, and scikit-learn's machine where the intercept is LIBLINEAR's."""
    Model, C = (LinearSVC, 0.1) if loss == "squared_hinge" else (RiskClassifier, 0.2)
    model = Model(penalty="l1", loss=loss, C=C, intercept=intercept, intercept_scaling=1.7, tol=1e-7)
    X, y, weight = make_data(model, n=60, weighted=weighted)
    X = np.hstack([X, np.random.default_rng(1).normal(size=(60, 5))])
    model.fit(X, y, sample_weight=weight)
    assert measure_primal(model, X, y, weight) == pytest.approx(solve_reference(model, X, y, weight), rel=1e-6)
    assert model.certificate_.primal == pytest.approx(measure_primal(model, X, y, weight), rel=1e-9)
    assert 0 < np.count_nonzero(model.coef_) < 8
    if intercept == "regularised" and Model is LinearSVC:
        theirs = sklearn.svm.LinearSVC("l1", C=0.1, intercept_scaling=1.7, tol=1e-9, max_iter=100000, random_state=0)
        np.testing.assert_allclose(model.coef_, theirs.fit(X, y, sample_weight=weight).coef_, atol=1e-3)


@every_intercept
@pytest.mark.parametrize("way", [way for way in MANY if "singer" in way or "softmax" in way])
def test_optimum_of_all_classes_at_once(way, intercept):
    """Crammer and Singer's loss and softmax: min P by cvxopt or scipy, samples and classes weighed."""
    X, y = make_classes(36)
    weight = np.random.default_rng(1).uniform(0.3, 2.0, len(y))
    model = clone(MANY[way]).set_params(intercept=intercept, class_weight={1: 2.0}, tol=1e-8)
    model.fit(X, y, sample_weight=weight)
    s = weight * np.where(y == 1, 2.0, 1.0)
    solve = solve_softmax if model.multi_class == "softmax" else solve_crammer_singer
    best = solve(model, X, y, s)
    assert model.certificate_.primal == pytest.approx(best, rel=1e-6)
    assert measure_joint(model, X, y, s) == pytest.approx(best, rel=1e-6)
    assert len(model.results_) == 1


def test_neighbours_in_scikit_learn():
    """Losses that scikit-learn knows under other names, scaled as it scales them."""
    X, y = make_classes(90, 2)
    ours = RiskClassifier("logistic", C=3.0, tol=1e-10).fit(X, y)
    theirs = LogisticRegression(C=3.0, tol=1e-10, max_iter=10000).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    X, y = make_classes(90, 4)
    ours = RiskClassifier("logistic", C=3.0, multi_class="softmax", tol=1e-10).fit(X, y)
    theirs = LogisticRegression(C=3.0, tol=1e-10, max_iter=10000).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    counts = np.random.default_rng(0).poisson(np.exp(X[:, 0]))
    ours = RiskRegressor("poisson", C=1.0 / 90, tol=1e-10).fit(X, counts)
    theirs = PoissonRegressor(alpha=1.0, tol=1e-10, max_iter=10000).fit(X, counts)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-4)
    ours, theirs = RiskRegressor(C=0.5, tol=1e-12).fit(X, counts), Ridge(alpha=2.0).fit(X, counts)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-5)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_quantile_regression_finds_quantiles(q):
    """quantile is scikit-learn's: that share of the targets lies below f."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 2))
    y = X[:, 0] + rng.normal(size=400)
    model = RiskRegressor("quantile", quantile=q, tol=1e-6).fit(X, y)
    assert (y < model.predict(X)).mean() == pytest.approx(q, abs=0.02)


def test_counts_are_predicted_as_counts():
    """loss="poisson" predicts exp(f) > 0, and with a free intercept the mean of the predictions is that of y."""
    model = make_model("poisson", C=10.0, tol=1e-9)
    X, y, _ = make_data(model, n=60)
    predicted = model.fit(X, y).predict(X)
    np.testing.assert_allclose(predicted, np.exp(X @ model.coef_ + model.intercept_))
    assert (predicted > 0).all()
    assert predicted.mean() == pytest.approx(y.mean(), rel=1e-3)


# ---- scikit-learn's classes ---------------------------------------------------------------------------------

TWINS = {
    "LinearSVC hinge": (LinearSVC, {"loss": "hinge", "C": 0.5}),
    "LinearSVC squared_hinge": (LinearSVC, {"C": 0.5}),
    "LinearSVR": (LinearSVR, {"C": 2.0, "epsilon": 0.15}),
    "LinearSVR squared": (LinearSVR, {"C": 2.0, "epsilon": 0.15, "loss": "squared_epsilon_insensitive"}),
}
every_twin = pytest.mark.parametrize("name", TWINS)


def fit_twins(name: str, X, y, weight=None, **settings):
    """Our model with LIBLINEAR's intercept, and scikit-learn's, both far beyond their default tolerance."""
    estimator, own = TWINS[name]
    theirs = getattr(sklearn.svm, estimator.__name__)(**own, **settings, tol=1e-9, max_iter=200000, random_state=0)
    ours = estimator(**own, **settings, intercept="regularised", tol=1e-10)
    return ours.fit(X, y, sample_weight=weight), theirs.fit(X, y, sample_weight=weight)


@every_weighting
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@every_twin
def test_attributes_are_scikit_learn_s(name, n_classes, fit_intercept, weighted):
    """Every public fitted attribute of scikit-learn's class: same type, shape and dtype, and the same values."""
    X, y = make_classes(80, n_classes, seed=5)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if weighted else None
    y = y if "SVC" in name else X[:, 0] - 0.4 * y
    ours, theirs = fit_twins(name, X, y, weight, fit_intercept=fit_intercept, intercept_scaling=1.5)
    attributes = [key for key in vars(theirs) if key.endswith("_") and not key.startswith("_")]
    assert {"coef_", "intercept_", "n_iter_", "n_features_in_"} <= set(attributes)
    for attribute in attributes:
        own, other = getattr(ours, attribute), getattr(theirs, attribute)
        assert type(own) is type(other), attribute
        assert np.shape(own) == np.shape(other), attribute
        assert np.asarray(own).dtype.kind == np.asarray(other).dtype.kind, attribute
        if attribute != "n_iter_":
            np.testing.assert_allclose(own, other, rtol=1e-3, atol=1e-4, err_msg=attribute)
    np.testing.assert_allclose(decide(ours, X), decide(theirs, X), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("class_weight", [{0: 3.0, 1: 0.2}, "balanced"])
@pytest.mark.parametrize("name", ["LinearSVC hinge", "LinearSVC squared_hinge"])
def test_class_weights_are_liblinear_s(name, class_weight, n_classes):
    """Of many classes the one that stands against the rest is weighed, and not the rest."""
    X, y = make_classes(120, n_classes)
    y = np.where(y == 1, np.arange(len(y)) % 2, y)
    weight = np.random.default_rng(2).uniform(0.5, 2.0, len(y))
    if class_weight == "balanced" and VERSION < (1, 7):
        pytest.skip("LinearSVC of scikit-learn counts samples by their weights, to balance classes, from 1.7 on")
    ours, theirs = fit_twins(name, X, y, weight, class_weight=class_weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_crammer_singer_is_scikit_learn_s(n_classes, fit_intercept):
    """All classes at once: the same machine, two classes as a difference."""
    X, y = make_classes(90, n_classes)
    settings = {"multi_class": "crammer_singer", "fit_intercept": fit_intercept, "C": 0.5}
    ours = LinearSVC(**settings, intercept="regularised", tol=1e-10).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # at 1e-10 LIBLINEAR may not
        theirs = sklearn.svm.LinearSVC(**settings, tol=1e-10, max_iter=100000, random_state=0).fit(X, y)
    assert np.shape(ours.intercept_) == np.shape(theirs.intercept_)
    assert ours.coef_.shape == theirs.coef_.shape
    f, g = ours.decision_function(X), theirs.decision_function(X)
    if n_classes > 2:  # an intercept for all classes alike changes nothing
        f, g = f - f.mean(axis=1, keepdims=True), g - g.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(f, g, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("estimator", [LinearSVC, LinearSVR])
def test_parameters_are_scikit_learn_s(estimator):
    """All of scikit-learn's parameters, in its order and with its defaults, but for the limit of iterations."""
    ours, theirs = estimator().get_params(), getattr(sklearn.svm, estimator.__name__)().get_params()
    assert {key: ours[key] for key in theirs if key != "max_iter"} == {
        key: value for key, value in theirs.items() if key != "max_iter"
    }
    assert ours["max_iter"] == -1


def test_liblinear_combinations():
    """Combinations that LIBLINEAR has no solver for are refused in its words; dual changes nothing else."""
    X, y = make_classes(60, 2)
    refused = ({"penalty": "l1", "loss": "hinge"}, {"loss": "hinge", "dual": False}, {"penalty": "l1", "dual": True})
    for settings in refused:
        with pytest.raises(ValueError, match="Unsupported set of arguments"):
            LinearSVC(**settings).fit(X, y)
    with pytest.raises(ValueError, match="Unsupported set of arguments"):
        LinearSVR(dual=False).fit(X, y)
    first, second = (LinearSVC(dual=dual).fit(X, y) for dual in (True, False))
    np.testing.assert_array_equal(first.coef_, second.coef_)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scikit_learn_s_mixins(n_classes):
    """sparsify and densify, before and after which the decisions are the same, on dense and on sparse data."""
    X, y = make_classes(60, n_classes)
    model = LinearSVC().fit(X, y)
    assert isinstance(model, LinearClassifierMixin)
    assert isinstance(model, SparseCoefMixin)
    before = model.decision_function(X)
    assert sp.issparse(model.sparsify().coef_)
    for data in (X, sp.csr_array(X), sp.csr_matrix(X)):
        f = model.decision_function(data)
        assert type(f) is np.ndarray
        np.testing.assert_allclose(f, before, atol=1e-12)
    np.testing.assert_allclose(model.densify().decision_function(X), before, atol=1e-12)
    with pytest.raises(NotFittedError, match="sparsifying"):
        LinearSVC().sparsify()


# ---- sample weights and class weights -----------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@every_intercept
@every_case
def test_weights_are_repetitions(name, intercept, form):
    """Weight 2 equals the row twice, weight 0 the row left out."""
    model = make_model(name, intercept=intercept, tol=1e-10)
    X, y, _ = make_data(model, n=40, seed=7)
    times = np.random.default_rng(8).integers(0, 4, len(y))
    weighted = clone(model).fit(form(X), y, sample_weight=times)
    repeated = clone(model).fit(form(np.repeat(X, times, axis=0)), np.repeat(y, times))
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-8)
    np.testing.assert_allclose(decide(weighted, form(X)), decide(repeated, form(X)), rtol=1e-3, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("class_weight", [None, {0: 2.0, 1: 0.5}, "balanced"])
@every_way
def test_weights_are_repetitions_for_many_classes(way, class_weight):
    """Also for every way with many classes, and with class weights on top."""
    X, y = make_classes(60)
    times = np.random.default_rng(9).integers(0, 4, len(y))
    model = clone(MANY[way]).set_params(class_weight=class_weight, tol=1e-9)
    weighted = clone(model).fit(X, y, sample_weight=times)
    repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("class_weight", [{0: 3.0, 2: 0.2}, "balanced"])
@pytest.mark.parametrize("way", [way for way in MANY if "Risk" in way])
def test_class_weights_are_sample_weights(way, class_weight):
    """RiskClassifier: a class weight is the same weight on all samples of the class."""
    X, y = make_classes(90)
    y = np.where(y == 1, np.arange(len(y)) % 2, y)
    expected = len(y) / (3 * np.bincount(y)) if class_weight == "balanced" else np.array([3.0, 1.0, 0.2])
    model = clone(MANY[way]).set_params(class_weight=class_weight, tol=1e-9).fit(X, y)
    by_hand = clone(MANY[way]).set_params(tol=1e-9).fit(X, y, sample_weight=expected[y])
    np.testing.assert_allclose(model.decision_function(X), by_hand.decision_function(X), atol=1e-3)


# ---- many classes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@every_way
def test_shapes_of_many_classes(way, n_classes):
    """One row of coef_ a class, or one in all for two; decisions, predictions and labels of any kind."""
    X, y = make_classes(100, n_classes)
    labels = np.array(["e", "d", "c", "b", "a"])[y]
    model = clone(MANY[way]).fit(X, labels)
    rows = 1 if n_classes == 2 else n_classes
    assert model.coef_.shape == (rows, 2)
    assert model.intercept_.shape == (rows,)
    f = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), f[:, 0] if rows == 1 else f, atol=1e-12)
    chosen = (f[:, 0] > 0).astype(int) if rows == 1 else f.argmax(axis=1)
    np.testing.assert_array_equal(model.predict(X), model.classes_[chosen])
    assert model.score(X, labels) > 0.6
    assert len(model.results_) == (rows if model.multi_class == "ovr" else 1)
    assert isinstance(model.n_iter_, int)
    assert model.certificate_ == worst(model.certificates_)
    assert model.certificate_.relative_gap <= model.tol


@pytest.mark.parametrize("way", [way for way in MANY if "singer" not in way and "softmax" not in way])
def test_one_against_the_rest(way):
    """Column k is the machine of class k against all others."""
    X, y = make_classes(120, seed=3)
    model = clone(MANY[way]).set_params(tol=1e-9).fit(X, y)
    for k in range(3):
        alone = clone(MANY[way]).set_params(tol=1e-9).fit(X, y == k)
        np.testing.assert_allclose(model.decision_function(X)[:, k], alone.decision_function(X), atol=1e-3)


@every_way
def test_n_jobs_gives_the_same_machine(way):
    """Problems solved side by side are the problems solved one after the other."""
    X, y = make_classes(200, 5, seed=4)
    alone, both = (clone(MANY[way]).set_params(n_jobs=n_jobs, tol=1e-7).fit(X, y) for n_jobs in (1, 2))
    np.testing.assert_allclose(alone.coef_, both.coef_, rtol=1e-8, atol=1e-10)


def test_weightless_classes_of_one_task():
    """A class weight of zero takes samples out of one problem and not out of the others."""
    X, y = make_classes(60)
    with pytest.raises(ValueError, match="class 1 has no sample of positive weight"):
        LinearSVC(class_weight={1: 0.0}).fit(X, y)


# ---- probabilities ------------------------------------------------------------------------------------------

LIKELY = {
    "logistic": RiskClassifier("logistic"),
    "exponential": RiskClassifier("exponential"),
    "softmax": RiskClassifier("logistic", multi_class="softmax"),
}


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", LIKELY)
def test_probabilities(name, n_classes):
    """They are probabilities, rank as the decisions do, and their logarithms are theirs."""
    X, y = make_classes(120, n_classes)
    model = clone(LIKELY[name]).fit(X, y)
    p, f = model.predict_proba(X), model.decision_function(X)
    assert p.shape == (120, n_classes)
    assert ((p >= 0) & (p <= 1)).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(np.log(p), model.predict_log_proba(X), atol=1e-9)
    if n_classes == 2:
        steepness = 2.0 if name == "exponential" else 1.0
        np.testing.assert_allclose(p[:, 1], 1.0 / (1.0 + np.exp(-steepness * f)))
    far = 1e4 * X
    assert np.isfinite(model.predict_log_proba(far)).all()
    np.testing.assert_allclose(model.predict_proba(far).sum(axis=1), 1.0)


def test_probabilities_only_where_the_loss_has_them():
    """The hinges have none, and a sentence says who has; nor has a fit of another loss than is set now."""
    X, y = make_classes(60, 2)
    for loss in ("hinge", "squared_hinge"):
        model = RiskClassifier(loss).fit(X, y)
        assert not hasattr(model, "predict_proba")
        with pytest.raises(AttributeError, match="predict_log_proba") as caught:
            _ = model.predict_log_proba
        assert "available with loss='logistic'" in str(caught.value.__cause__)
    with pytest.raises(NotFittedError, match="the fit was with loss='squared_hinge'"):
        model.set_params(loss="logistic").predict_proba(X)
    assert not hasattr(LinearSVC(), "predict_proba")
    with pytest.raises(NotFittedError):
        RiskClassifier("logistic").predict_proba(X)


# ---- data of every kind -------------------------------------------------------------------------------------


def widen_indices(X: np.ndarray) -> sp.csr_array:
    """CSR with 64-bit indices."""
    X = sp.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def freeze(X: np.ndarray) -> np.ndarray:
    """A read-only copy."""
    X = X.copy()
    X.flags.writeable = False
    return X


def equal(first, second) -> bool:
    """Whether two data sets in the same form hold the same numbers in the same places."""
    if sp.issparse(first):
        parts = [part for part in ("data", "indices", "indptr", "coords") if hasattr(first, part)]
        return all(np.array_equal(getattr(first, part), getattr(second, part)) for part in parts)
    return np.array_equal(np.asarray(first), np.asarray(second))


FORMS = {
    "float32": lambda X: X.astype(np.float32),
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "read-only": freeze,
    "integers": lambda X: (8.0 * X).astype(np.int64),
    "list": lambda X: X.tolist(),
    "pandas": lambda X: pd.DataFrame(X, columns=["left", "middle", "right"]),
    "csr": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csr float32": lambda X: sp.csr_array(X.astype(np.float32)),
    "csr 64-bit indices": widen_indices,
    "csc": sp.csc_array,
    "coo": sp.coo_array,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["LinearSVC hinge", "LinearSVR epsilon_insensitive", "logistic", "huber"])
def test_every_form_of_data_gives_the_same_answer(name, form):
    """Dense, sparse, framed, read-only, of any order and width: the same machine, and X is left alone."""
    model = make_model(name, tol=1e-9)
    X, y, _ = make_data(model, n=60)
    X = np.round(8.0 * X) / 8.0  # exact in every form
    X[np.abs(X) < 0.4] = 0.0
    if form == "integers":
        X *= 8.0
    data = FORMS[form](X if form != "integers" else X / 8.0)
    before = copy.deepcopy(data)
    plain, model = clone(model).fit(X, y), clone(model).fit(data, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(decide(model, data), decide(plain, X), rtol=1e-3, atol=1e-3)
    assert model.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-7)
    assert equal(data, before)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@every_estimator
def test_memory_maps_are_not_copied(tmp_path, estimator, dtype):
    """A file opened read-only is what the solver sees; the machine does not need it any more."""
    rng = np.random.default_rng(0)
    np.save(tmp_path / "X.npy", rng.normal(size=(3000, 800)).astype(dtype))
    mapped, y = np.load(tmp_path / "X.npy", mmap_mode="r"), np.arange(3000) % 2
    model = estimator()
    tracemalloc.start()
    try:
        data, _ = check_design(model, mapped, y)
        samples = model._features(data, model._make_kernel(data)).samples
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.shares_memory(samples.X, mapped)
    assert peak < 0.1 * mapped.nbytes


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_prediction_copies_nothing(dtype, n_classes):
    """Predictions of large data need a few tiles of memory, and equal those of single pieces."""
    X, y = make_classes(90, n_classes)
    wide = np.zeros((90, 500))
    wide[:, :2] = X
    model = LinearSVC().fit(wide, y)
    new = np.random.default_rng(0).normal(size=(30000, 500)).astype(dtype)
    tracemalloc.start()
    try:
        f = model.decision_function(new)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5e7 < new.nbytes
    pieces = [model.decision_function(new[start : start + 7777]) for start in range(0, 30000, 7777)]
    np.testing.assert_allclose(f, np.concatenate(pieces), rtol=1e-10, atol=1e-10)
    sparse = sp.csr_array(new[:2000])
    np.testing.assert_allclose(model.decision_function(sparse), f[:2000], rtol=1e-6, atol=1e-6)


def test_frames_give_feature_names():
    """Column names are kept and held against those of prediction; weights and targets may be series."""
    X, y = make_classes(60, 2)
    frame = pd.DataFrame(X, columns=["left", "right"], index=np.arange(60) + 7)
    weight = pd.Series(np.linspace(0.5, 2.0, 60), index=frame.index[::-1])
    model = LinearSVC(tol=1e-8).fit(frame, pd.Series(y, index=frame.index), sample_weight=weight)
    plain = LinearSVC(tol=1e-8).fit(X, y, sample_weight=weight.to_numpy())
    np.testing.assert_array_equal(model.feature_names_in_, ["left", "right"])
    np.testing.assert_allclose(model.decision_function(frame), plain.decision_function(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["right", "left"]])


# ---- warm start ---------------------------------------------------------------------------------------------


@every_intercept
@every_case
def test_warm_start_saves_iterations(name, intercept):
    """A second fit of the same data starts where the first one ended, and ends at the same machine."""
    model = make_model(name, intercept=intercept, warm_start=True, tol=1e-6)
    X, y, weight = make_data(model, n=80, weighted=True)
    first = model.fit(X, y, sample_weight=weight).n_iter_
    before = decide(model, X)
    assert model.fit(X, y, sample_weight=weight).n_iter_ < first
    np.testing.assert_allclose(decide(model, X), before, rtol=1e-2, atol=1e-2)
    assert model.set_params(warm_start=False).fit(X, y, sample_weight=weight).n_iter_ == first


NEXT = [
    {"C": 0.05}, {"C": 40.0}, {"intercept": "none"}, {"intercept": "regularised"}, {"intercept_scaling": 3.0},
]  # fmt: skip


@pytest.mark.parametrize("change", NEXT, ids=str)
@every_case
def test_warm_start_survives_a_change(name, change):
    """From the point of another problem the same optimum is reached as from zero."""
    model = make_model(name, warm_start=True, tol=1e-7, intercept="free" if "intercept" in change else "regularised")
    X, y, _ = make_data(model)
    model.fit(X, y).set_params(**change).fit(X, y)
    assert model.result_.status is Status.CONVERGED
    assert model.certificate_.primal == pytest.approx(clone(model).fit(X, y).certificate_.primal, rel=1e-6)


def test_warm_start_forgets_other_problems():
    """Other losses, other ways with many classes, other data, another number of features: as good as cold."""
    model = RiskClassifier(warm_start=True, tol=1e-7)
    changes = ({}, {"loss": "squared_hinge"}, {"loss": "hinge"}, {"loss": "squared_hinge", "intercept": "none"})
    for n, n_classes, change in zip((90, 60, 60, 60), (3, 3, 4, 2), changes, strict=True):
        X, y = make_classes(n, n_classes, seed=n)
        for data in (X, X[:, :1]):
            model.set_params(**change).fit(data, y)
            cold = clone(model).fit(data, y)
            assert model.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=1e-6)


@every_way
def test_warm_start_of_many_classes(way):
    """Every binary problem starts from its own point, all classes at once from theirs."""
    X, y = make_classes(150)
    model = clone(MANY[way]).set_params(warm_start=True, tol=1e-6)
    first = sum(result.n_iter for result in model.fit(X, y).results_)
    assert sum(result.n_iter for result in model.fit(X, y).results_) < first


# ---- what a fit reports -------------------------------------------------------------------------------------


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
@every_case
def test_tol_is_the_certified_gap(name, tol):
    """A fit ends at a relative gap of at most tol, never negative, with the duals at hand."""
    model = make_model(name, tol=tol)
    X, y, weight = make_data(model, n=60, seed=4, weighted=True)
    model.fit(X, y, sample_weight=weight)
    assert -1e-12 <= model.certificate_.relative_gap <= tol
    assert model.result_.certificate == model.certificate_
    assert model.result_.point.a.shape == (np.count_nonzero(weight),)


LIMITS = {
    "max_iter": ({"max_iter": 1}, r"The limit of iterations \(max_iter\) came first"),
    "max_seconds": ({"max_seconds": 1e-9}, r"The time budget \(max_seconds\) ran out"),
}


@pytest.mark.parametrize(("limit", "reason"), LIMITS.values(), ids=LIMITS)
@every_estimator
def test_early_ends_are_explained(estimator, limit, reason):
    """One warning names the reason, the gap, tol and a remedy; the machine is there."""
    X, y = make_classes(90, 4)
    loss = {"loss": "absolute"} if estimator is RiskRegressor else {}  # one step is enough for least squares
    with pytest.warns(ConvergenceWarning) as caught:
        model = estimator(**loss, **limit, tol=1e-9).fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    message = str(caught[0].message)
    assert re.search(reason, message)
    assert "certified relative gap is" in message
    assert "tol is 1e-09" in message
    assert "Allow more time or iterations, or a larger tol." in message
    assert ("of 4 binary problems" in message) == (len(model.results_) == 4)
    assert model.result_.status is not Status.CONVERGED
    assert np.isfinite(decide(model, X)).all()


@pytest.mark.parametrize("estimator", [LinearSVC, LinearSVR])
def test_liblinear_s_warning(estimator):
    """scikit-learn's users look for its words."""
    with pytest.warns(ConvergenceWarning, match="Liblinear failed to converge, increase the number of iterations"):
        estimator(max_iter=1, tol=1e-9).fit(*make_classes(90, 2))


def test_remedies_name_the_feature():
    """A feature of another scale is the usual reason."""
    X, y = make_classes(90, 2)
    with pytest.warns(ConvergenceWarning, match=r"Feature 1 spans .* times the others; scale it"):
        LinearSVC(max_iter=1, tol=1e-12).fit(np.column_stack([X[:, 0], 1e5 * X[:, 1], X[:, 1]]), y)


@every_estimator
def test_verbose_prints_the_certificate(estimator, capsys):
    """verbose=1 says how it went; otherwise nothing is printed."""
    X, y = make_classes(60, 2)
    estimator(verbose=1).fit(X, y)
    assert "relative gap" in capsys.readouterr().out
    estimator().fit(X, y)
    assert capsys.readouterr() == ("", "")


class Interrupting(SMO):
    """A solver during which Ctrl-C is pressed."""

    def start(self, problem, tol, warm=None):
        """Begin, and be interrupted, once: a second Ctrl-C would end everything at once."""
        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            signal.raise_signal(signal.SIGINT)
        return super().start(problem, tol, warm)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_ctrl_c_leaves_a_machine(n_classes):
    """The first Ctrl-C ends every solve of the fit; the model is fitted, and the interrupt goes on."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        pytest.skip("This process was started with Ctrl-C switched off.")
    X, y = make_classes(90, n_classes)
    model = LinearSVC(solver=Interrupting(), n_jobs=1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert {result.status for result in model.results_} == {Status.INTERRUPTED}
    assert np.isfinite(model.decision_function(X)).all()


# ---- machines that travel -----------------------------------------------------------------------------------


@every_case
def test_pickle_clone_and_parameters(name):
    """A machine read back decides as before; a clone has the parameters and nothing of the fit."""
    model = make_model(name, max_seconds=5.0)
    X, y, _ = make_data(model)
    model.fit(X, y)
    restored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(decide(restored, X), decide(model, X))
    assert restored.certificate_ == model.certificate_
    restored.fit(X, y)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "certificate_")
    assert type(model)(**model.get_params()).get_params() == model.get_params()


def test_the_machine_stays_what_it_is():
    """set_params prepares the next fit; training data may change; fits repeat to the last bit."""
    X, y = make_classes(80, 2)
    model, again = LinearSVC().fit(X, y), LinearSVC().fit(X, y)
    before, new = model.decision_function(X), X.copy()
    np.testing.assert_array_equal(before, again.decision_function(X))
    model.set_params(C=100.0, intercept="none", fit_intercept=False)
    X[:] = 99.0
    np.testing.assert_array_equal(model.decision_function(new), before)
    counts = RiskRegressor("absolute").fit(new, y)
    f = counts.predict(new)
    np.testing.assert_array_equal(counts.set_params(loss="poisson").predict(new), f)


def test_inside_scikit_learn():
    """A grid search finds what scikit-learn's class finds."""
    X, y = load_iris(return_X_y=True)
    grid = {"C": [0.01, 1.0]}
    ours = GridSearchCV(LinearSVC(intercept="regularised"), grid, cv=3).fit(X, y)
    theirs = GridSearchCV(sklearn.svm.LinearSVC(), grid, cv=3).fit(X, y)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=0.007)
