"""The five estimators: the right optimum, scikit-learn's attributes, every kind of data, and machines that keep."""

from __future__ import annotations

import io
import pickle
import signal
import tracemalloc
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel, polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from textbook import CLASSIFIERS, MODELS, make_data, solve_textbook

from maxmargin import SMO, SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM, load, save
from maxmargin.certificates.in_memory import worst
from maxmargin.estimators import probability
from maxmargin.estimators.tasks import Budget
from maxmargin.model.kernels import RBF
from maxmargin.solvers.result import Status

KERNELS = {
    "linear": linear_kernel,
    "poly": lambda A, B: polynomial_kernel(A, B, degree=2, gamma=0.5, coef0=1.0),
    "rbf": lambda A, B: rbf_kernel(A, B, gamma=0.5),
    "laplacian": lambda A, B: laplacian_kernel(A, B, gamma=0.5),
}
SETTINGS = {"gamma": 0.5, "degree": 2, "coef0": 1.0}
ESTIMATORS = (SVC, NuSVC, SVR, NuSVR, OneClassSVM)

every_model = pytest.mark.parametrize("name", MODELS)
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.__name__)
every_weighting = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


def multiply(A, B):
    """A kernel of the user's own, at module level so that it can be pickled."""
    return rbf_kernel(A, B, gamma=0.5)


def make_model(name: str, **settings):
    """A model of the table with other settings; those it does not know are dropped."""
    model = clone(MODELS[name])
    known = model.get_params()
    return model.set_params(**{key: value for key, value in {**SETTINGS, **settings}.items() if key in known})


def make_classes(n: int = 90, n_classes: int = 3, seed: int = 0, width: float = 0.6) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping clouds on a circle, one a class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    angles = 2.0 * np.pi * y / n_classes
    return np.column_stack([np.cos(angles), np.sin(angles)]) + width * rng.normal(size=(n, 2)), y


def make_targets(estimator, n: int = 90, seed: int = 0, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Data for a class of estimators: classes, real targets, or samples away from the origin for one class."""
    X, y = make_classes(n, n_classes, seed, width=1.2 / n_classes)
    if issubclass(estimator, OneClassSVM):
        X = X + 4.0  # around the origin w = 0 is optimal for the linear kernel, and any duals that cancel
    return (X, y) if issubclass(estimator, (SVC, NuSVC)) else (X, X[:, 0] ** 2 + 0.1 * X[:, 1] + 0.1 * y)


def decide(model, X) -> np.ndarray:
    """What a model says of X: decision values, or predictions where it has none."""
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def spread_duals(model, n: int) -> np.ndarray:
    """The signed duals of a machine of one problem over all samples."""
    coef = np.zeros(n)
    coef[model.support_] = np.ravel(model.dual_coef_)
    return coef


# ---- the optimum --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [*KERNELS, "precomputed", "callable"])
@pytest.mark.parametrize(
    ("name", "intercept"),
    [
        (name, intercept)
        for name in MODELS
        for intercept in (["free", "regularised", "none"] if name != "OneClassSVM" else ["free"])
    ],
)
@every_weighting
def test_optimum_is_the_textbook_s(name, kernel, intercept, weighted):
    """P and D of the fit equal min P by cvxopt to 1e-6, and so does P recomputed from the fitted attributes."""
    X, y, weight = make_data(name, weighted=weighted)
    matrix = KERNELS.get(kernel, KERNELS["rbf"])(X, X)
    data = matrix if kernel == "precomputed" else X
    model = make_model(name, kernel=multiply if kernel == "callable" else kernel, intercept=intercept, tol=1e-9)
    model.fit(data, y, sample_weight=weight)
    best = solve_textbook(model, matrix, y, weight)
    assert model.certificate_.primal == pytest.approx(best, rel=1e-6)
    assert model.certificate_.dual == pytest.approx(best, rel=1e-6)
    assert model.certificate_.gap >= -1e-12 * abs(best)
    assert measure_primal(model, matrix, data, y, weight) == pytest.approx(best, rel=1e-6)


def measure_primal(model, K: np.ndarray, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
    """P of a fitted model from dual_coef_, intercept_ and its own predictions."""
    s = np.ones(len(y)) if weight is None else np.maximum(weight, 0.0)
    a, f, settings = spread_duals(model, len(y)), decide(model, X), model.get_params()
    square = a @ K @ a + (float(model.intercept_[0]) ** 2 if settings.get("intercept") == "regularised" else 0.0)
    if isinstance(model, OneClassSVM):
        rho = -float(model.intercept_[0])
        return 0.5 * square - model.nu * s.sum() * rho + s @ np.maximum(0.0, -f)
    if isinstance(model, NuSVC):  # the machine is divided by rho; the best rho for it is a parabola's
        slope = model.nu * s.sum() - s @ np.maximum(0.0, 1.0 - y * f)
        return -0.5 * slope**2 / square
    r = f - y
    if isinstance(model, NuSVR):
        tubes = np.abs(r)
        return 0.5 * square + model.C * min(
            model.nu * s.sum() * tube + s @ np.maximum(0.0, np.abs(r) - tube) for tube in tubes
        )
    losses = {
        "hinge": lambda: np.maximum(0.0, 1.0 - y * f),
        "squared_hinge": lambda: np.maximum(0.0, 1.0 - y * f) ** 2,
        "epsilon_insensitive": lambda: np.maximum(0.0, np.abs(r) - model.epsilon),
        "squared_epsilon_insensitive": lambda: np.maximum(0.0, np.abs(r) - model.epsilon) ** 2,
        "absolute": lambda: np.abs(r),
        "huber": lambda: np.where(
            np.abs(r) <= model.threshold, r**2 / (2.0 * model.threshold), np.abs(r) - 0.5 * model.threshold
        ),
        "quantile": lambda: np.maximum(-model.quantile * r, (1.0 - model.quantile) * r),
    }
    return 0.5 * square + model.C * float(s @ losses[model.loss]())


@pytest.mark.parametrize("selection", ["second-order", "mvp", "keerthi"])
@every_model
def test_every_selection_reaches_the_optimum(name, selection):
    """A solver object in place of its name: the same optimum by another way."""
    X, y, _ = make_data(name, seed=3)
    model = make_model(name, solver=SMO(selection=selection), tol=1e-8).fit(X, y)
    assert model.result_.solver.selection == selection
    assert model.certificate_.primal == pytest.approx(solve_textbook(model, rbf_kernel(X, X, 0.5), y), rel=1e-6)


@every_weighting
@every_model
def test_sigmoid_ends_well(name, weighted):
    """A kernel that is not positive semidefinite: a fit ends, is finite, and its certificate does not claim a proof."""
    X, y, weight = make_data(name, weighted=weighted, n=40)
    X = X - X.mean(axis=0)
    model = make_model(name, kernel="sigmoid", gamma=2.0, coef0=-1.0, max_seconds=1.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, sample_weight=weight)
    assert len(caught) == (0 if model.result_.converged else 1)
    assert all("positive semidefinite" in str(warning.message) for warning in caught)
    assert model.certificate_.convex is False
    assert "positive semidefinite" in str(model.certificate_)
    assert np.isfinite(decide(model, X)).all()
    assert model.result_.status in set(Status)


def test_hard_margin():
    """C=inf on separable data: every sample is at least on the margin, and the margin is 2/|w|."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [4.0, 1.0]])
    y = np.array([0, 0, 1, 1])
    model = SVC(C=np.inf, kernel="linear", tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), [-2.0, -1.0, 1.0, 2.0], atol=1e-5)
    np.testing.assert_allclose(model.margin_width_, [2.0], rtol=1e-5)
    np.testing.assert_array_equal(model.bounded_support_, [])


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_quantile_regression_finds_quantiles(q):
    """quantile is scikit-learn's: that share of the targets lies below f."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 1))
    y = X[:, 0] + rng.normal(size=400)
    below = (y < SVR(loss="quantile", quantile=q, C=1.0, gamma=0.1, tol=1e-6).fit(X, y).predict(X)).mean()
    assert below == pytest.approx(q, abs=0.02)


@pytest.mark.parametrize("nu", [0.1, 0.3, 0.6])
def test_nu_bounds_errors_and_support(nu):
    """nu lies between the share of outliers and the share of support vectors."""
    X, y = make_classes(200, 2)
    novelty = OneClassSVM(nu=nu, tol=1e-8).fit(X)
    assert (novelty.predict(X) == -1).mean() <= nu <= len(novelty.support_) / len(X)
    regression = NuSVR(nu=nu, tol=1e-8).fit(X, X[:, 0] + y)
    assert len(regression.bounded_support_) / len(X) <= nu <= len(regression.support_) / len(X) + 1e-12


# ---- scikit-learn's classes ---------------------------------------------------------------------------------

# nu n is no whole number, so that some duals are free and the machine is unique
TWINS = {
    "SVC": (SVC, {"C": 2.0}),
    "NuSVC": (NuSVC, {"nu": 0.3717}),
    "SVR": (SVR, {"C": 2.0, "epsilon": 0.15}),
    "NuSVR": (NuSVR, {"C": 2.0, "nu": 0.3717}),
    "OneClassSVM": (OneClassSVM, {"nu": 0.2917}),
}
every_twin = pytest.mark.parametrize("name", TWINS)


def fit_twins(name: str, X, y, weight=None, **settings):
    """Our model and scikit-learn's, both at tol=1e-10."""
    estimator, own = TWINS[name]
    ours = estimator(**own, **settings, tol=1e-10).fit(X, y, sample_weight=weight)
    theirs = getattr(sklearn.svm, name)(**own, **settings, tol=1e-10).fit(X, y, sample_weight=weight)
    return ours, theirs


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "precomputed", "callable"])
@every_weighting
@every_twin
def test_decisions_are_scikit_learn_s(name, kernel, weighted):
    """Decision values agree to 1e-5 where the models coincide; predictions agree."""
    X, y = make_targets(TWINS[name][0])
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if weighted else None
    settings = {"kernel": multiply if kernel == "callable" else kernel, "gamma": 0.5, "degree": 2, "coef0": 1.0}
    train, new = X, np.random.default_rng(2).normal(size=(50, 2))
    if kernel == "precomputed":
        train, new = rbf_kernel(X, X, 0.5), rbf_kernel(new, X, 0.5)
    ours, theirs = fit_twins(name, train, y, weight, **settings)
    size = np.abs(decide(theirs, new)).max()
    np.testing.assert_allclose(decide(ours, new), decide(theirs, new), rtol=1e-5, atol=1e-5 * max(1.0, size))
    np.testing.assert_allclose(ours.predict(new), theirs.predict(new), rtol=1e-5, atol=1e-5 * max(1.0, size))


@pytest.mark.parametrize("shape", ["ovo", "ovr"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_many_classes_are_scikit_learn_s(name, shape):
    """Pairs of four classes, one-vs-rest summary and votes."""
    X, y = make_classes(160, 4)
    labels = np.array(["d", "b", "a", "c"])[y]
    ours, theirs = fit_twins(name, X, labels, decision_function_shape=shape)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.decision_function(X).shape == (160, 6 if shape == "ovo" else 4)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@every_twin
def test_attributes_are_scikit_learn_s(name, kernel, n_classes):
    """Every public fitted attribute of scikit-learn's class: same type, shape and dtype, and the same values."""
    X, y = make_targets(TWINS[name][0], 80, seed=5, n_classes=n_classes)
    ours, theirs = fit_twins(name, X, y, kernel=kernel, gamma=0.7)
    ends = [key for key in dir(theirs) if key.endswith("_") and not key.startswith("_")]
    attributes = set(ends) - {"probA_", "probB_"} | ({"coef_"} if kernel == "linear" else set())
    assert {"support_", "dual_coef_", "intercept_", "n_support_", "fit_status_", "shape_fit_", "n_iter_"} <= attributes
    for attribute in sorted(attributes):
        if attribute == "coef_" and kernel != "linear":
            continue
        own, other = getattr(ours, attribute), getattr(theirs, attribute)
        assert np.shape(own) == np.shape(other), attribute
        assert np.asarray(own).dtype.kind == np.asarray(other).dtype.kind, attribute
        if attribute != "n_iter_":
            np.testing.assert_allclose(own, other, rtol=1e-4, atol=5e-4, err_msg=attribute)


@pytest.mark.parametrize("container", [sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("n_classes", [2, 3])
@every_twin
def test_sparse_attributes_are_scikit_learn_s(name, n_classes, container):
    """Sparse data have sparse support vectors, dual coefficients and coef_, as scikit-learn's."""
    X, y = make_targets(TWINS[name][0], 60, seed=6, n_classes=n_classes)
    X[np.arange(60), np.arange(60) % 2] *= np.arange(60) % 3 > 0
    ours, theirs = fit_twins(name, container(X), y, kernel="linear")
    for attribute in ("support_vectors_", "dual_coef_", "coef_"):
        own, other = getattr(ours, attribute), getattr(theirs, attribute)
        assert sp.issparse(own), attribute
        assert own.format == other.format == "csr", attribute
        assert own.shape == other.shape, attribute
    np.testing.assert_allclose(ours.coef_.toarray(), theirs.coef_.toarray(), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(decide(ours, container(X)), decide(theirs, container(X)), rtol=1e-5, atol=1e-5)


@every_twin
def test_parameters_are_scikit_learn_s(name):
    """All of scikit-learn's parameters with its defaults, but for tol, which means another thing here."""
    ours, theirs = TWINS[name][0]().get_params(), getattr(sklearn.svm, name)().get_params()
    assert {key: ours[key] for key in theirs if key != "tol"} == {k: v for k, v in theirs.items() if k != "tol"}


@pytest.mark.parametrize("class_weight", [{0: 3.0, 2: 0.2}, "balanced"])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_class_weight_multiplies(class_weight, multi_class):
    """A class weight is the same weight on all samples of the class; class_weight_ is in the order of classes_."""
    X, y = make_classes(120, 3)
    y = np.where(y == 1, np.arange(len(y)) % 2, y)
    model = SVC(class_weight=class_weight, multi_class=multi_class, tol=1e-9, gamma=0.5).fit(X, y)
    counts = np.bincount(y)
    expected = len(y) / (3 * counts) if class_weight == "balanced" else np.array([3.0, 1.0, 0.2])
    np.testing.assert_allclose(model.class_weight_, expected)
    by_hand = SVC(multi_class=multi_class, tol=1e-9, gamma=0.5).fit(X, y, sample_weight=expected[y])
    np.testing.assert_allclose(model.decision_function(X), by_hand.decision_function(X), atol=1e-6)
    if multi_class == "ovo":
        theirs = sklearn.svm.SVC(class_weight=class_weight, tol=1e-10, gamma=0.5).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), theirs.decision_function(X), atol=1e-5)


def test_nu_classes_listen_to_class_weights():
    """NuSVC's class weights multiply sample weights; LIBSVM takes no notice of them."""
    X, y = make_classes(120, 2)
    weighted = NuSVC(nu=0.3, class_weight={0: 2.0, 1: 1.0}, tol=1e-9, gamma=0.5).fit(X, y)
    by_hand = NuSVC(nu=0.3, tol=1e-9, gamma=0.5).fit(X, y, sample_weight=np.where(y == 0, 2.0, 1.0))
    np.testing.assert_allclose(weighted.decision_function(X), by_hand.decision_function(X), atol=1e-6)


# ---- sample weights -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.4])
@pytest.mark.parametrize("form", ["dense", "sparse"])
@every_model
def test_weights_are_repetitions(name, form, gamma):
    """Weight 2 equals the row twice, weight 0 the row left out: the same decisions, gamma="scale" included."""
    X, y, _ = make_data(name, n=40, seed=7)
    times = np.random.default_rng(8).integers(0, 4, len(y))
    again, data = np.repeat(X, times, axis=0), X
    if form == "sparse":
        again, data = sp.csr_array(again), sp.csr_array(X)
    weighted = make_model(name, gamma=gamma, tol=1e-10).fit(data, y, sample_weight=times)
    repeated = make_model(name, gamma=gamma, tol=1e-10).fit(again, np.repeat(y, times))
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-8)
    np.testing.assert_allclose(decide(weighted, data), decide(repeated, data), rtol=1e-6, atol=1e-6)
    assert not set(np.flatnonzero(times == 0)) & set(weighted.support_)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("class_weight", [None, {0: 2.0, 1: 0.5, 2: 1.0}, "balanced"])
def test_weights_are_repetitions_for_many_classes(multi_class, class_weight):
    """Also for pairs, for one against the rest, and with class weights on top."""
    X, y = make_classes(60, 3)
    times = np.random.default_rng(9).integers(0, 4, len(y))
    settings = {"multi_class": multi_class, "class_weight": class_weight, "gamma": 0.6, "tol": 1e-10}
    weighted = SVC(**settings).fit(X, y, sample_weight=times)
    repeated = SVC(**settings).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-6, atol=1e-6)


@every_model
def test_unit_weights_change_nothing(name):
    """All weights one is no weights; weights multiply C."""
    X, y, _ = make_data(name, n=40)
    plain, unit = make_model(name, tol=1e-9).fit(X, y), make_model(name, tol=1e-9).fit(X, y, sample_weight=np.ones(40))
    np.testing.assert_array_equal(plain.dual_coef_, unit.dual_coef_)
    if hasattr(plain, "C"):
        double = make_model(name, tol=1e-9, C=2.0 * plain.C).fit(X, y)
        weighted = make_model(name, tol=1e-9).fit(X, y, sample_weight=np.full(40, 2.0))
        np.testing.assert_allclose(decide(double, X), decide(weighted, X), atol=1e-6)


# ---- many classes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_pairs_are_binary_machines(name):
    """Each column of the one-vs-one decisions is the machine of its two classes alone, in LIBSVM's sign."""
    X, y = make_classes(120, 4, seed=2)
    settings = {"tol": 1e-9, "gamma": 0.5, "decision_function_shape": "ovo"}
    model = TWINS[name][0](**TWINS[name][1], **settings).fit(X, y)
    decisions = model.decision_function(X)
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    assert len(model.certificates_) == len(model.results_) == len(pairs) == decisions.shape[1]
    for column, (i, j) in enumerate(pairs):
        both = (y == i) | (y == j)
        binary = TWINS[name][0](**TWINS[name][1], **settings).fit(X[both], y[both])
        np.testing.assert_allclose(decisions[:, column], -binary.decision_function(X), atol=1e-5)
        assert model.certificates_[column].primal == pytest.approx(binary.certificate_.primal, rel=1e-8)


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_one_against_the_rest(name, form):
    """multi_class="ovr": column k is the machine of class k against all others, and the largest column wins."""
    X, y = make_classes(120, 3, seed=3)
    data = form(X)
    settings = {"tol": 1e-9, "gamma": 0.5}
    model = TWINS[name][0](**TWINS[name][1], **settings, multi_class="ovr").fit(data, y)
    decisions = model.decision_function(data)
    assert decisions.shape == (120, 3)
    for k in range(3):
        alone = TWINS[name][0](**TWINS[name][1], **settings).fit(data, (y == k).astype(int))
        np.testing.assert_allclose(decisions[:, k], alone.decision_function(data), atol=1e-5)
    np.testing.assert_array_equal(model.predict(data), decisions.argmax(axis=1))
    assert model.dual_coef_.shape == (3, len(model.support_))
    assert model.n_support_.sum() == len(model.support_)
    linear = TWINS[name][0](**TWINS[name][1], tol=1e-9, multi_class="ovr", kernel="linear").fit(X, y)
    np.testing.assert_allclose(linear.decision_function(X), X @ linear.coef_.T + linear.intercept_, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_coef(n_classes):
    """coef_ x + intercept_ is the decision of each pair, and coef_ is read-only."""
    X, y = make_classes(60, n_classes)
    model = SVC(kernel="linear", decision_function_shape="ovo", tol=1e-8).fit(X, y)
    f = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(f[:, 0] if n_classes == 2 else f, model.decision_function(X), atol=1e-9)
    with pytest.raises(AttributeError):
        model.coef_ = np.zeros(2)
    with pytest.raises(ValueError, match="read-only"):
        model.coef_[0, 0] = 1.0
    with pytest.raises(AttributeError, match="linear kernel"):
        _ = SVC().fit(X, y).coef_


@pytest.mark.parametrize("kind", [str, bool, float, np.int8, object])
def test_labels_of_any_kind(kind):
    """Labels come back as they came in."""
    X, y = make_classes(60, 2)
    labels = y.astype(kind) if kind is not object else np.array(["cat", "dog"], dtype=object)[y]
    model = SVC(tol=1e-8).fit(X, labels)
    assert model.predict(X).dtype == labels.dtype
    assert set(model.predict(X)) <= set(labels)
    np.testing.assert_array_equal(model.predict(X) == model.classes_[1], model.decision_function(X) > 0)


# ---- what a fit reports -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("multi_class", "parts"), [("ovo", 6), ("ovr", 4)])
def test_certificate_is_the_worst(multi_class, parts):
    """certificate_ is the worst of certificates_, carries them, and belongs to result_."""
    X, y = make_classes(160, 4)
    model = SVC(multi_class=multi_class, tol=1e-3).fit(X, y)
    gaps = [certificate.relative_gap for certificate in model.certificates_]
    assert len(gaps) == parts
    assert model.certificate_.relative_gap == max(gaps) <= 1e-3
    assert model.certificate_.parts == tuple(model.certificates_)
    assert model.result_.certificate.relative_gap == max(gaps)
    assert model.certificate_ == worst(model.certificates_)
    assert model.fit_status_ == 0


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6, 1e-10])
@every_model
def test_tol_is_the_certified_gap(name, tol):
    """A fit ends at a relative gap of at most tol, never negative."""
    X, y, weight = make_data(name, n=60, seed=4, weighted=True)
    certificate = make_model(name, tol=tol).fit(X, y, sample_weight=weight).certificate_
    assert -1e-12 <= certificate.relative_gap <= tol


@every_model
def test_free_and_bounded_support(name):
    """Free duals are strictly inside their bounds and sit on the margin; bounded ones are at a bound."""
    X, y, _ = make_data(name, n=60, seed=5)
    model = make_model(name, tol=1e-10).fit(X, y)
    free, bounded = model.free_support_, model.bounded_support_
    assert set(free) | set(bounded) == set(model.support_)
    assert not set(free) & set(bounded)
    if name in ("SVC hinge", "SVR epsilon_insensitive", "OneClassSVM"):
        size = np.abs(spread_duals(model, 60))
        limit = getattr(model, "C", 1.0)
        np.testing.assert_allclose(size[bounded], limit, rtol=1e-9)
        assert (size[free] < limit).all()
        margins = {
            "SVC hinge": lambda f: y * f - 1.0,
            "SVR epsilon_insensitive": lambda f: np.abs(f - y) - 0.2,
            "OneClassSVM": lambda f: f,
        }
        np.testing.assert_allclose(margins[name](decide(model, X))[free], 0.0, atol=1e-6)
    if "squared" in name:
        np.testing.assert_array_equal(bounded, [])


@pytest.mark.parametrize("name", ["SVC hinge", "SVC squared_hinge", "NuSVC"])
@pytest.mark.parametrize("intercept", ["free", "none"])
def test_margin_width(name, intercept):
    """2/|w|, w in the units of the decision function."""
    X, y, _ = make_data(name, n=60, seed=6)
    model = make_model(name, kernel="linear", tol=1e-9, intercept=intercept).fit(X, y)
    np.testing.assert_allclose(model.margin_width_, 2.0 / np.linalg.norm(model.coef_, axis=1), rtol=1e-7)
    many = make_model(name, kernel="linear", tol=1e-9, intercept=intercept).fit(*make_classes(60, 3))
    np.testing.assert_allclose(many.margin_width_, 2.0 / np.linalg.norm(many.coef_, axis=1), rtol=1e-7)


def test_result_counts_the_work():
    """Status, message, history and counters of the fit are at hand."""
    X, y = make_classes(200, 2)
    model = SVC().fit(X, y)
    assert model.result_.status is Status.CONVERGED
    assert model.result_.converged
    assert model.result_.n_iter == model.n_iter_[0] > 0
    assert {"rows", "hits", "misses"} <= set(model.result_.counters)
    assert model.result_.history
    assert model.result_.seconds > 0


@every_estimator
def test_verbose_prints_the_certificate(estimator, capsys):
    """verbose=True says how it went; otherwise nothing is printed."""
    X, y = make_targets(estimator)
    estimator(verbose=True).fit(X, y)
    assert "relative gap" in capsys.readouterr().out
    estimator().fit(X, y)
    assert capsys.readouterr() == ("", "")


# ---- warm start, n_jobs, repetition -------------------------------------------------------------------------


@every_model
def test_warm_start_saves_iterations(name):
    """A second fit of the same data starts where the first one ended, and ends at the same machine."""
    X, y, weight = make_data(name, n=80, weighted=True)
    model = make_model(name, warm_start=True, tol=1e-7)
    first = np.sum(model.fit(X, y, sample_weight=weight).n_iter_)
    before = decide(model, X)
    second = np.sum(model.fit(X, y, sample_weight=weight).n_iter_)
    assert second <= 0.2 * first
    np.testing.assert_allclose(decide(model, X), before, rtol=1e-3, atol=1e-3)
    cold = np.sum(make_model(name, warm_start=False, tol=1e-7).fit(X, y, sample_weight=weight).n_iter_)
    assert cold == first


NEXT = {
    "SVC hinge": [{"C": 0.1}, {"C": 50.0}, {"loss": "squared_hinge"}],
    "NuSVC": [{"nu": 0.2}],
    "SVR epsilon_insensitive": [{"C": 0.1}, {"C": 50.0}, {"loss": "quantile"}, {"loss": "huber"}, {"epsilon": 0.0}],
    "NuSVR": [{"C": 0.1}, {"C": 50.0}, {"nu": 0.9}],
    "OneClassSVM": [{"nu": 0.1}, {"nu": 0.9}],
}
INTERCEPTS = [{"intercept": "none"}, {"intercept": "regularised"}]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (name, change)
        for name, changes in NEXT.items()
        for change in [*changes, {"kernel": "linear"}, *(INTERCEPTS if name != "OneClassSVM" else [])]
    ],
    ids=str,
)
def test_warm_start_survives_a_change(name, change):
    """From the duals of another problem the same optimum is reached as from zero, there and back."""
    X, y, _ = make_data(name, n=50)
    model = make_model(name, warm_start=True, tol=1e-8)
    before = {key: model.get_params()[key] for key in change}
    model.fit(X, y).set_params(**change).fit(X, y)
    cold = clone(model).fit(X, y)
    assert model.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=1e-7, abs=1e-9)
    assert model.certificate_.relative_gap <= 1e-8
    model.set_params(**before).fit(X, y)
    assert model.certificate_.primal == pytest.approx(clone(model).fit(X, y).certificate_.primal, rel=1e-7)


def test_warm_start_forgets_other_samples():
    """Other data, other classes, another number of samples: the fit is as good as cold."""
    model = SVC(warm_start=True, tol=1e-8, gamma=0.5)
    for n, n_classes, multi_class in ((90, 3, "ovo"), (60, 3, "ovo"), (60, 3, "ovr"), (60, 2, "ovr"), (90, 4, "ovo")):
        X, y = make_classes(n, n_classes, seed=n)
        model.set_params(multi_class=multi_class).fit(X, y)
        cold = clone(model).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), cold.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("estimator", [SVC, NuSVC], ids=["SVC", "NuSVC"])
def test_n_jobs_gives_the_same_machine(estimator, multi_class):
    """Pairs solved side by side are the pairs solved one after the other."""
    X, y = make_classes(300, 5, seed=4)
    nu = {"nu": 0.35} if estimator is NuSVC else {}
    alone = estimator(**nu, multi_class=multi_class, tol=1e-8).fit(X, y)
    both = estimator(**nu, multi_class=multi_class, tol=1e-8, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(alone.support_, both.support_)
    np.testing.assert_allclose(alone.dual_coef_, both.dual_coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(alone.decision_function(X), both.decision_function(X), atol=1e-8)


@every_estimator
def test_fits_repeat(estimator):
    """The same fit twice is the same machine to the last bit."""
    X, y = make_targets(estimator, n=150)
    first, second = estimator().fit(X, y), estimator().fit(X, y)
    np.testing.assert_array_equal(first.dual_coef_, second.dual_coef_)
    np.testing.assert_array_equal(first.intercept_, second.intercept_)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*certified relative gap")
@pytest.mark.parametrize("kind", ["stalled", "long"])
def test_fits_of_many_steps_repeat(kind):
    """Also fits that rounding ends, and fits of half a second: their steps are counted, not timed by the clock."""
    rng = np.random.RandomState(0)
    if kind == "stalled":
        model, X, y = SVC(kernel="poly", tol=1e-8), rng.normal(loc=100.0, size=(100, 2)), rng.randint(0, 2, 100)
    else:
        X, y = make_classes(1500, 2)
        model, X = SVC(kernel="linear", C=100.0, tol=1e-6), np.hstack([X, rng.normal(size=(1500, 12))])
    first, second = (clone(model).fit(X, y) for _ in range(2))
    assert first.result_.status is second.result_.status
    np.testing.assert_array_equal(first.n_iter_, second.n_iter_)
    np.testing.assert_array_equal(first.dual_coef_, second.dual_coef_)


# ---- data of every kind -------------------------------------------------------------------------------------


def freeze(X: np.ndarray) -> np.ndarray:
    """A read-only copy."""
    X = X.copy()
    X.flags.writeable = False
    return X


def widen_indices(X: np.ndarray) -> sp.csr_array:
    """CSR with 64-bit indices."""
    X = sp.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def shuffle_indices(X: np.ndarray) -> sp.csr_array:
    """CSR with the entries of each row in reverse order."""
    X = sp.csr_array(X)
    for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        X.indices[start:stop], X.data[start:stop] = X.indices[start:stop][::-1].copy(), X.data[start:stop][::-1].copy()
    X.has_sorted_indices = False
    return X


FORMS = {
    "float32": lambda X: X.astype(np.float32),
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "reversed": lambda X: X[::-1].copy()[::-1],
    "read-only": freeze,
    "read-only float32": lambda X: freeze(X.astype(np.float32)),
    "big-endian": lambda X: X.astype(">f8"),
    "float16": lambda X: X.astype(np.float16),
    "longdouble": lambda X: X.astype(np.longdouble),
    "list": lambda X: X.tolist(),
    "pandas": lambda X: pd.DataFrame(X, columns=["left", "right"]),
    "pandas float32": lambda X: pd.DataFrame(X.astype(np.float32)),
    "pandas mixed": lambda X: pd.DataFrame({"left": X[:, 0], "right": X[:, 1].astype(np.float32)}),
    "csr": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csc": sp.csc_array,
    "coo": sp.coo_array,
    "lil": sp.lil_array,
    "csr float32": lambda X: sp.csr_array(X.astype(np.float32)),
    "csr 64-bit indices": widen_indices,
    "csr unsorted": shuffle_indices,
    "csc 64-bit indices": lambda X: widen_indices(X).tocsc(),
}


def copy_of(data):
    """A deep copy of data in any form, to compare with later."""
    return pickle.loads(pickle.dumps(data))


def equal(first, second) -> bool:
    """Whether two data sets in the same form hold the same numbers in the same places."""
    if sp.issparse(first):
        if first.format in ("csr", "csc"):
            return all(np.array_equal(getattr(first, part), getattr(second, part)) for part in ("data", "indices"))
        return (first.toarray() == second.toarray()).all()
    return np.array_equal(np.asarray(first), np.asarray(second))


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid", "laplacian"])
@pytest.mark.parametrize("form", FORMS)
@every_estimator
def test_every_form_of_data_gives_the_same_answer(estimator, form, kernel):
    """Dense, sparse, framed, read-only, of any order and width: same machine, and X is left alone."""
    X, y = make_targets(estimator, n=60)
    X = np.round(8.0 * X) / 8.0  # exact in float16
    X[np.abs(X) < 0.4] = 0.0
    settings = {"kernel": kernel, "gamma": 0.5, "tol": 1e-9, "coef0": 0.5 if kernel == "poly" else 0.0, "degree": 2}
    plain = estimator(**settings).fit(X, y)
    data = FORMS[form](X)
    before = copy_of(data)
    model = estimator(**settings).fit(data, y)
    np.testing.assert_allclose(decide(model, data), decide(plain, X), rtol=1e-5, atol=1e-5)
    assert equal(data, before)
    assert model.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-7)


def test_frames_give_feature_names():
    """Column names are kept and held against those of prediction; weights and targets may be series."""
    X, y = make_classes(60, 2)
    frame = pd.DataFrame(X, columns=["left", "right"], index=np.arange(60) + 7)
    weight = pd.Series(np.linspace(0.5, 2.0, 60), index=frame.index[::-1])
    model = SVC(tol=1e-8).fit(frame, pd.Series(y, index=frame.index), sample_weight=weight)
    plain = SVC(tol=1e-8).fit(X, y, sample_weight=weight.to_numpy())
    np.testing.assert_array_equal(model.feature_names_in_, ["left", "right"])
    np.testing.assert_allclose(model.decision_function(frame), plain.decision_function(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["right", "left"]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_memory_maps(tmp_path, dtype):
    """A file opened read-only is fitted and predicted, and the machine does not need the file any more."""
    X, y = make_classes(100, 2)
    path = tmp_path / "X.npy"
    np.save(path, X.astype(dtype))
    mapped = np.load(path, mmap_mode="r")
    model = SVC(tol=1e-8).fit(mapped, y)
    plain = SVC(tol=1e-8).fit(X.astype(dtype), y)
    np.testing.assert_array_equal(model.decision_function(mapped), plain.decision_function(X.astype(dtype)))
    assert not isinstance(model.support_vectors_, np.memmap)
    del mapped
    path.unlink()
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(600, 25000), (5000, 3000)])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_large_data_are_neither_copied_nor_widened(dtype, shape, kernel):
    """A fit and a prediction need a few tiles of memory, not a copy of X: half of it in float64 is too much."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape, dtype=np.float32).astype(dtype)
    y = np.arange(len(X)) % 2
    X[:, 0] += 400.0 * y  # far apart, so that support vectors are few
    model = SVC(kernel=kernel, gamma=1e-5, cache_size=1, tol=0.5)
    tracemalloc.start()
    try:
        model.fit(X, y)
        fitting = tracemalloc.get_traced_memory()[1] - model.support_vectors_.nbytes
        tracemalloc.reset_peak()
        started = tracemalloc.get_traced_memory()[0]
        model.predict(X)
        predicting = tracemalloc.get_traced_memory()[1] - started
    finally:
        tracemalloc.stop()
    half = 4 * X.size
    assert fitting < half + 8 * min(len(X), 2000) ** 2
    assert predicting < half


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly"])
def test_prediction_is_bounded_in_memory(kernel, form):
    """Predictions of many rows need far less than the kernel matrix, and equal those of single pieces."""
    X, y = make_classes(1200, 2)
    X = X.astype(np.float64)
    model = SVC(kernel=kernel, C=0.01, tol=1e-2, gamma=0.5).fit(form(X), y)
    new = form(np.random.default_rng(1).normal(size=(40000, 2)))
    whole = 8 * new.shape[0] * len(model.support_)
    assert whole > 2e8
    tracemalloc.start()
    try:
        f = model.decision_function(new)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.4 * whole
    pieces = [model.decision_function(new[start : start + 777]) for start in range(0, 40000, 777)]
    np.testing.assert_allclose(f, np.concatenate(pieces), rtol=1e-10, atol=1e-10)


# ---- kernels at prediction ----------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", ["scale", "auto"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid", "laplacian"])
def test_kernel_parameters_are_those_of_training(kernel, form, gamma):
    """gamma="scale" is fixed by the training data: new data of another variance do not change it."""
    X, y = make_classes(80, 2)
    value = 1.0 / (2.0 * X.var()) if gamma == "scale" else 0.5
    relative, absolute = (SVC(kernel=kernel, gamma=choice, tol=1e-6).fit(form(X), y) for choice in (gamma, value))
    new = form(100.0 * X + 3.0) if kernel != "poly" else form(3.0 * X + 1.0)
    np.testing.assert_allclose(relative.decision_function(new), absolute.decision_function(new), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(relative.decision_function(new[:1]), relative.decision_function(new)[:1], rtol=1e-9)


def test_parameters_changed_after_the_fit_do_not_matter():
    """set_params prepares the next fit; the present machine stays what it is."""
    X, y = make_classes(80, 2)
    model = SVC(gamma=0.5).fit(X, y)
    before = model.decision_function(X)
    model.set_params(gamma=7.0, C=100.0, degree=5, coef0=3.0, intercept="none")
    np.testing.assert_array_equal(model.decision_function(X), before)


@every_estimator
def test_training_data_may_change_after_the_fit(estimator):
    """The machine keeps its own support vectors."""
    X, y = make_targets(estimator)
    new = X[:10].copy()
    model = estimator().fit(X, y)
    before = decide(model, new)
    X[:] = 99.0
    np.testing.assert_array_equal(decide(model, new), before)


def test_data_far_from_the_origin():
    """A translation changes nothing for kernels that do not see it, down to seven digits lost."""
    X, y = make_classes(80, 2)
    for kernel in ("rbf", "laplacian"):
        near = SVC(kernel=kernel, gamma=0.5, tol=1e-8).fit(X, y)
        far = SVC(kernel=kernel, gamma=0.5, tol=1e-8).fit(X + 1e6, y)
        np.testing.assert_allclose(far.decision_function(X + 1e6), near.decision_function(X), atol=1e-5)


def test_a_kernel_object():
    """kernel=RBF(gamma=...) is kernel="rbf"."""
    X, y = make_classes(60, 2)
    by_object = SVC(kernel=RBF(gamma=0.5), tol=1e-8).fit(X, y)
    by_name = SVC(kernel="rbf", gamma=0.5, tol=1e-8).fit(X, y)
    np.testing.assert_array_equal(by_object.decision_function(X), by_name.decision_function(X))
    assert clone(by_object).fit(X.tolist(), y).support_vectors_.shape == by_name.support_vectors_.shape


def test_callable_kernels_see_what_was_given():
    """Any objects may be samples, as long as the kernel knows them."""
    words = ["ant", "antler", "bee", "beetle", "cat", "catfish", "dog", "dogfish"]
    y = [0, 1, 0, 1, 0, 1, 0, 1]

    def compare(A, B):
        return np.array([[len(set(a) & set(b)) + (len(a) * len(b)) / 10.0 for b in B] for a in A])

    model = SVC(kernel=compare, C=10.0).fit(words, y)
    np.testing.assert_array_equal(model.predict(words), y)
    np.testing.assert_array_equal(model.predict(["owl", "salmonfish"]), [0, 1])


# ---- machines that travel -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "precomputed", multiply], ids=["rbf", "precomputed", "callable"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@every_estimator
def test_pickle_and_joblib(estimator, form, kernel):
    """A machine read back decides as before, keeps its certificate, and can be fitted again."""
    X, y = make_targets(estimator)
    data = rbf_kernel(X, X, 0.5) if kernel == "precomputed" else form(X)
    model = estimator(kernel=kernel).fit(data, y)
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(file)):
        np.testing.assert_allclose(decide(copy, data), decide(model, data), rtol=1e-12, atol=1e-12)
        assert copy.certificate_ == model.certificate_
        assert copy.result_.status is model.result_.status
        assert copy.get_params().keys() == model.get_params().keys()
        copy.fit(data, y)


@every_estimator
def test_unfitted_machines_are_pickled_and_cloned(estimator):
    """A clone has the parameters and nothing of the fit."""
    X, y = make_targets(estimator)
    model = estimator(tol=0.01, max_seconds=5.0).fit(X, y)
    copy = pickle.loads(pickle.dumps(clone(model)))
    assert not hasattr(copy, "certificate_")
    assert not hasattr(copy, "_points")
    assert copy.get_params() == model.get_params()
    assert repr(copy) == f"{estimator.__name__}(max_seconds=5.0, tol=0.01)"


def test_inside_scikit_learn():
    """Pipelines and grid searches, on two processes and with a precomputed kernel."""
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), SVC())
    search = GridSearchCV(pipeline, {"svc__C": [0.1, 1.0, 10.0], "svc__kernel": ["linear", "rbf"]}, cv=3, n_jobs=2)
    theirs = GridSearchCV(make_pipeline(StandardScaler(), sklearn.svm.SVC()), search.param_grid, cv=3)
    np.testing.assert_allclose(
        search.fit(X, y).cv_results_["mean_test_score"], theirs.fit(X, y).cv_results_["mean_test_score"], atol=0.007
    )
    K = rbf_kernel(X, X, 0.5)
    by_matrix = GridSearchCV(SVC(kernel="precomputed"), {"C": [0.1, 1.0]}, cv=3).fit(K, y)
    by_formula = GridSearchCV(SVC(gamma=0.5), {"C": [0.1, 1.0]}, cv=3).fit(X, y)
    np.testing.assert_allclose(by_matrix.cv_results_["mean_test_score"], by_formula.cv_results_["mean_test_score"])


# ---- probabilities ------------------------------------------------------------------------------------------

ignore_deprecation = pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")


@ignore_deprecation
@pytest.mark.parametrize("estimator", [SVC, NuSVC], ids=["SVC", "NuSVC"])
@every_weighting
def test_binary_probabilities_agree_with_predictions(estimator, weighted):
    """The larger probability is that of the predicted class, it grows with the decision, and rows sum to one."""
    X, y = make_classes(150, 2)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, len(y)) if weighted else None
    model = estimator(probability=True, random_state=0).fit(X, y, sample_weight=weight)
    p = model.predict_proba(X)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    order = np.argsort(model.decision_function(X))
    assert (np.diff(p[order, 1]) >= 0).all()
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p)


@ignore_deprecation
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_probabilities_of_many_classes(multi_class):
    """They are probabilities, near those of scikit-learn, and as random_state says."""
    X, y = make_classes(200, 3)
    model = SVC(probability=True, multi_class=multi_class, random_state=0).fit(X, y)
    p = model.predict_proba(X)
    assert p.shape == (200, 3)
    assert ((p >= 0) & (p <= 1)).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (p.argmax(axis=1) == model.predict(X)).mean() > 0.95
    again = SVC(probability=True, multi_class=multi_class, random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), p)
    theirs = sklearn.svm.SVC(probability=True, random_state=0).fit(X, y).predict_proba(X)
    assert np.abs(p - theirs).mean() < 0.06


@ignore_deprecation
def test_probabilities_only_where_asked_for():
    """Without probability=True there is no predict_proba."""
    X, y = make_classes(60, 2)
    assert not hasattr(SVC().fit(X, y), "predict_proba")
    assert hasattr(SVC(probability=True, random_state=0).fit(X, y), "predict_proba")


def press_before_fold(monkeypatch, number: int) -> None:
    """Ctrl-C right before the fold of a number."""
    folds = probability.StratifiedKFold

    class Pressed(folds):
        def split(self, X, y):
            for k, parts in enumerate(super().split(X, y)):
                if k == number:
                    signal.raise_signal(signal.SIGINT)
                yield parts

    monkeypatch.setattr(probability, "StratifiedKFold", Pressed)


@ignore_deprecation
@pytest.mark.parametrize("fold", [0, 3])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_interrupted_folds_make_no_probabilities(n_classes, fold, monkeypatch, tmp_path):
    """The machine is whole but for them, in a file too; going on makes those of a fit that nobody interrupted."""
    X, y = make_classes(150, n_classes)
    whole = SVC(probability=True, random_state=0).fit(X, y)
    model = SVC(probability=True, random_state=0)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with monkeypatch.context() as patch:
            press_before_fold(patch, fold)
            with pytest.raises(KeyboardInterrupt):
                model.fit(X, y)
    finally:
        signal.signal(signal.SIGINT, handler)
    save(model, tmp_path / "model.maxmargin")
    for each in (model, load(tmp_path / "model.maxmargin")):
        assert each.result_.converged
        np.testing.assert_array_equal(each.predict(X), whole.predict(X))
        with pytest.raises(NotFittedError, match="the fit ended before the probabilities were there"):
            each.predict_proba(X)
        each.set_params(warm_start=True).fit(X, y)
        np.testing.assert_allclose(each.predict_proba(X), whole.predict_proba(X), atol=1e-3)


@ignore_deprecation
def test_folds_without_a_step_make_no_probabilities(monkeypatch):
    """Where a budget leaves nothing for them, the fit says so; where it limits the folds, they give what they can."""
    X, y = make_classes(150, 2)
    model, shares = SVC(probability=True, random_state=0), iter([None])
    with monkeypatch.context() as patch:
        patch.setattr(Budget, "share", lambda self: next(shares, 0.0))
        with pytest.warns(ConvergenceWarning, match="ended before the probabilities were there; raise max_seconds"):
            model.fit(X, y)
    assert model.result_.converged
    with pytest.raises(NotFittedError, match="the fit ended before the probabilities were there"):
        model.predict_proba(X)
    with pytest.warns(ConvergenceWarning, match="max_iter=20"):
        model.set_params(max_iter=20).fit(X, y)
    assert (model.predict_proba(X).argmax(axis=1) == y).mean() > 0.6


@pytest.mark.parametrize("kind", [SVC, SVR, LinearSVC, LinearSVR])
def test_whole_numbers_for_C(kind):
    """C=10 is C=10.0, also where nobody weighs the samples."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    whole, real = kind(C=10).fit(X, y), kind(C=10.0).fit(X, y)
    np.testing.assert_array_equal(whole.predict(X), real.predict(X))
