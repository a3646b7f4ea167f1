"""certify on fitted models, ours and scikit-learn's: the arithmetic of the textbook, and an eye for every forgery."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel
from sklearn.pipeline import make_pipeline
from textbook import make_data, minimise
from time_allowances import SLACK_SECONDS, OwnTimer

import maxmargin
from maxmargin import SVC, SVR, OneClassSVM, certify
from maxmargin.estimators.machine import KernelMachine
from maxmargin.model.kernels import RBF

SETTINGS = {
    "SVC": {"C": 2.0},
    "NuSVC": {"nu": 0.4917},
    "SVR": {"C": 3.0, "epsilon": 0.2},
    "NuSVR": {"C": 2.0, "nu": 0.3917},
    "OneClassSVM": {"nu": 0.2917},
}
every_library = pytest.mark.parametrize("library", [maxmargin, sklearn.svm], ids=["ours", "scikit-learn"])
every_kind = pytest.mark.parametrize("kind", SETTINGS)
every_weighting = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


def make_model(library, kind: str, **settings):
    """A model of either library, gamma fixed, accurate to seven digits."""
    return getattr(library, kind)(**{"gamma": 0.5, "tol": 1e-7, **SETTINGS[kind], **settings})


def recompute(model, kind: str, K: np.ndarray, y: np.ndarray, s: np.ndarray) -> tuple[float, float]:
    """P and D of a machine of one problem in ten lines of NumPy, from its public attributes alone."""
    # scikit-learn numbers its support vectors without the rows of weight zero
    support = model.support_ if isinstance(model, KernelMachine) else np.flatnonzero(s > 0)[model.support_]
    a = np.zeros(len(y))
    a[support] = np.ravel(model.dual_coef_)
    norm, f = a @ K @ a, K @ a + model.intercept_[0]
    if kind == "SVC":
        return 0.5 * norm + model.C * s @ np.maximum(0, 1 - y * f), y @ a - 0.5 * norm
    if kind == "SVR":
        loss = np.maximum(0, np.abs(y - f) - model.epsilon)
        return 0.5 * norm + model.C * s @ loss, y @ a - model.epsilon * np.abs(a).sum() - 0.5 * norm
    if kind == "OneClassSVM":
        return 0.5 * norm + model.nu * s.sum() * model.intercept_[0] + s @ np.maximum(0, -f), -0.5 * norm
    if kind == "NuSVC":
        rho = model.nu * s.sum() / np.abs(a).sum()
        return (
            0.5 * rho**2 * norm - model.nu * s.sum() * rho + rho * s @ np.maximum(0, 1 - y * f),
            -0.5 * rho**2 * norm,
        )
    tubes = [model.nu * s.sum() * e + s @ np.maximum(0, np.abs(y - f) - e) for e in np.abs(y - f)]
    return 0.5 * norm + model.C * min(tubes), y @ a - 0.5 * norm


def measure_violation(model, kind: str, K: np.ndarray, y: np.ndarray) -> float:
    """How far f is from what the duals of a free-intercept machine want it to be."""
    a = np.zeros(len(y))
    a[model.support_] = np.ravel(model.dual_coef_)
    f = K @ a + model.intercept_[0]
    if kind == "SVR":
        short, long = y - f - model.epsilon, f - y - model.epsilon
        rules = [short[(a >= 0) & (a < model.C)], -short[a > 0], long[(a <= 0) & (a > -model.C)], -long[a < 0]]
    else:
        short, limit = (1 - y * f, model.C) if kind == "SVC" else (-f, 1.0)
        rules = [short[np.abs(a) < limit], -short[a != 0]]
    return max(0.0, *(rule.max(initial=0.0) for rule in rules))


# ---- the arithmetic -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-7])
@every_library
@every_weighting
@every_kind
def test_certificate_is_the_textbook_s(library, kind, weighted, tol):
    """P and D by hand, for good fits and for poor ones; the gap is never negative."""
    X, y, weight = make_data(kind, n=40, weighted=weighted)
    s = np.ones(40) if weight is None else weight
    model = make_model(library, kind, tol=tol).fit(X, y, sample_weight=weight)
    certificate = certify(model, X, y, sample_weight=weight)
    primal, dual = recompute(model, kind, rbf_kernel(X, X, 0.5), y, s)
    assert certificate.primal == pytest.approx(primal, rel=1e-7)
    assert certificate.dual == pytest.approx(dual, rel=1e-7)
    assert certificate.gap >= -1e-9 * abs(primal)
    assert certificate.relative_gap == pytest.approx(certificate.gap / max(abs(primal), abs(dual)), rel=1e-6, abs=1e-9)
    if tol <= 1e-3:
        assert certificate.relative_gap < 0.02


@pytest.mark.parametrize("tol", [1e-2, 1e-7])
@every_library
@pytest.mark.parametrize("kind", ["SVC", "SVR", "OneClassSVM"])
def test_violation_is_the_textbook_s(library, kind, tol):
    """The largest violation of the optimality conditions, in units of f."""
    X, y, _ = make_data(kind, n=40)
    model = make_model(library, kind, tol=tol).fit(X, y)
    expected = measure_violation(model, kind, rbf_kernel(X, X, 0.5), y)
    assert certify(model, X, y).kkt == pytest.approx(expected, rel=1e-6, abs=1e-9)


@every_weighting
@every_kind
def test_certify_repeats_what_the_fit_said(kind, weighted):
    """Our own models carry the certificate that certify gives."""
    X, y, weight = make_data(kind, n=40, weighted=weighted)
    model = make_model(maxmargin, kind, gamma="scale").fit(X, y, sample_weight=weight)
    again = certify(model, X, y, sample_weight=weight)
    assert again.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert again.dual == pytest.approx(model.certificate_.dual, rel=1e-9)
    assert again.relative_gap <= 1.1e-7


@pytest.mark.parametrize("loss", ["absolute", "huber", "quantile", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("intercept", ["free", "regularised", "none"])
def test_certify_knows_our_losses_and_intercepts(loss, intercept):
    """Also those that scikit-learn does not have."""
    X, y, _ = make_data("SVR", n=40)
    model = SVR(loss=loss, intercept=intercept, quantile=0.3, threshold=0.2, tol=1e-8).fit(X, y)
    certificate = certify(model, X, y)
    assert certificate.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert -1e-12 <= certificate.relative_gap <= 1e-8


MATRICES = {
    "linear": linear_kernel,
    "poly": lambda X: polynomial_kernel(X, X, gamma=0.5, coef0=0.5),
    "rbf": lambda X: rbf_kernel(X, X, 0.5),
    "precomputed": lambda X: rbf_kernel(X, X, 0.5),
    "callable": rbf_kernel,
}


@pytest.mark.parametrize("kernel", [*MATRICES, "sigmoid"])
@every_library
def test_every_kernel_is_judged(library, kernel):
    """Whatever the kernel, the certificate is that of its matrix."""
    X, y, _ = make_data("SVC", n=40)
    settings = {"kernel": rbf_kernel if kernel == "callable" else kernel, "coef0": 0.5, "C": 0.5}
    data = rbf_kernel(X, X, 0.5) if kernel == "precomputed" else X
    model = make_model(library, "SVC", **settings).fit(data, y)
    certificate = certify(model, data, y)
    assert -1e-9 <= certificate.relative_gap <= 1e-3
    assert certificate.convex is {"precomputed": None, "callable": None, "sigmoid": False}.get(kernel, True)
    if kernel != "sigmoid":
        a = np.zeros(40)
        a[model.support_] = np.ravel(model.dual_coef_)
        assert certificate.dual == pytest.approx(y @ a - 0.5 * a @ MATRICES[kernel](X) @ a, rel=1e-9)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix, np.asfortranarray, pd.DataFrame, np.float32])
@every_library
@every_kind
def test_every_form_of_data_is_judged(library, kind, form):
    """Sparse, framed, of any order and width: the same certificate."""
    X, y, _ = make_data(kind, n=40)
    X = np.round(16.0 * X) / 16.0
    plain = certify(make_model(library, kind).fit(X, y), X, y)
    certificate = certify(make_model(library, kind).fit(form(X), y), form(X), y)
    assert certificate.primal == pytest.approx(plain.primal, rel=1e-5)
    assert certificate.relative_gap < 1e-3


# ---- many classes and weights -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["SVC", "NuSVC"])
@every_library
def test_pairs_are_the_parts(library, kind):
    """One part for each pair, each the certificate of the two classes alone; labels come in any order."""
    rng = np.random.default_rng(0)
    place = rng.integers(0, 4, 120)
    X = np.column_stack([place % 2, place // 2]) * 2.0 + 0.7 * rng.normal(size=(120, 2))
    y = np.array(["pear", "apple", "quince", "fig"])[place]
    model = make_model(library, kind).fit(X, y)
    certificate = certify(model, X, y)
    assert len(certificate.parts) == 6
    assert certificate.relative_gap == max(part.relative_gap for part in certificate.parts)
    names = np.unique(y)
    pairs = [(first, second) for i, first in enumerate(names) for second in names[i + 1 :]]
    for part, (first, second) in zip(certificate.parts, pairs, strict=True):
        both = (y == first) | (y == second)
        alone = certify(make_model(library, kind).fit(X[both], y[both]), X[both], y[both])
        assert part.primal == pytest.approx(alone.primal, rel=1e-4)
        assert part.dual == pytest.approx(alone.dual, rel=1e-4)


def test_one_against_the_rest_is_the_parts():
    """Our multi_class="ovr": one part for each class."""
    X, y, _ = make_data("SVC", n=60)
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = SVC(multi_class="ovr", tol=1e-8).fit(X, y)
    certificate = certify(model, X, y)
    assert [part.primal for part in certificate.parts] == pytest.approx([c.primal for c in model.certificates_])


@every_library
@pytest.mark.parametrize("gamma", ["scale", "auto"])
def test_the_kernel_is_that_of_the_model(library, gamma):
    """On other data too: gamma="scale" is not taken from them anew."""
    X, y, _ = make_data("SVC", n=40)
    model = make_model(library, "SVC", gamma=gamma).fit(X, y)
    fixed = make_model(library, "SVC", gamma=model._gamma).fit(X, y)
    for data in (X, 2.0 * X):
        assert certify(model, data, y).primal == pytest.approx(certify(fixed, data, y).primal, rel=1e-9)
    assert certify(model, 2.0 * X, y).relative_gap > 0.01


@pytest.mark.parametrize("class_weight", [{-1: 3.0, 1: 0.5}, "balanced"])
@every_library
@every_weighting
def test_class_weights_count(library, class_weight, weighted):
    """Class weights multiply C, beside sample weights too; without them the certificate is another one."""
    X, y, weight = make_data("SVC", n=40, weighted=weighted)
    y = np.where(np.arange(40) % 5 == 0, -1, y)
    model = make_model(library, "SVC", class_weight=class_weight, gamma=0.5).fit(X, y, sample_weight=weight)
    assert certify(model, X, y, sample_weight=weight).relative_gap < 1e-5
    assert certify(model.set_params(class_weight=None), X, y, sample_weight=weight).relative_gap > 1e-2


@every_library
@every_kind
def test_weights_count(library, kind):
    """A model fitted with weights is not optimal without them, nor the other way round."""
    X, y, weight = make_data(kind, n=40, weighted=True)
    weighted, plain = make_model(library, kind).fit(X, y, sample_weight=weight), make_model(library, kind).fit(X, y)
    assert certify(weighted, X, y, sample_weight=weight).relative_gap < 1e-4
    assert certify(weighted, X, y).relative_gap > 1e-2
    assert certify(plain, X, y).relative_gap < 1e-4
    assert certify(plain, X, y, sample_weight=weight).relative_gap > 1e-2


# ---- forgeries ----------------------------------------------------------------------------------------------


def change(model, **attributes):
    """A copy with other fitted attributes, private twins included."""
    copy = deepcopy(model)
    for name, value in attributes.items():
        setattr(copy, name, value)
        if hasattr(copy, f"_{name}"):
            setattr(copy, f"_{name}", value)
    return copy


def shrink_first(table: np.ndarray) -> np.ndarray:
    """The dual coefficients with the first one nearly gone."""
    table = table.copy()
    table[:, 0] *= 0.2
    return table


FORGERIES = {
    "C halved": lambda m, X, y: (m.set_params(C=0.5 * m.C), X, y),
    "C doubled": lambda m, X, y: (m.set_params(C=2.0 * m.C), X, y),
    "nu changed": lambda m, X, y: (m.set_params(nu=0.7 * m.nu), X, y),
    "epsilon changed": lambda m, X, y: (m.set_params(epsilon=2.0 * m.epsilon), X, y),
    "gamma doubled": lambda m, X, y: (m.set_params(gamma=1.0), X, y),
    "kernel changed": lambda m, X, y: (m.set_params(kernel="linear"), X, y),
    "one target changed": lambda m, X, y: (m, X, np.where(np.arange(len(y)) == m.support_[0], -3 * y, y)),
    "one label flipped": lambda m, X, y: (m, X, np.where(np.arange(len(y)) == m.support_[0], -y, y)),
    "one sample moved": lambda m, X, y: (m, X + 2.0 * (np.arange(len(X)) == m.support_[1])[:, None], y),
    "intercept shifted": lambda m, X, y: (change(m, intercept_=m.intercept_ + 0.3), X, y),
    "one dual changed": lambda m, X, y: (change(m, dual_coef_=shrink_first(m.dual_coef_)), X, y),
    "all duals scaled": lambda m, X, y: (change(m, dual_coef_=0.8 * m.dual_coef_), X, y),
    "duals in another order": lambda m, X, y: (change(m, dual_coef_=np.roll(m.dual_coef_, 1, axis=1)), X, y),
}  # fmt: skip
UNKNOWN = {
    "SVC": {"nu changed", "epsilon changed", "one target changed"},
    "NuSVC": {"C halved", "C doubled", "epsilon changed", "one target changed"},
    "SVR": {"nu changed", "one label flipped"},
    "NuSVR": {"epsilon changed", "one label flipped"},
    "OneClassSVM": {"C halved", "C doubled", "epsilon changed", "one target changed", "one label flipped"},
}


@pytest.mark.parametrize(
    ("kind", "forgery"), [(kind, forgery) for kind in SETTINGS for forgery in FORGERIES if forgery not in UNKNOWN[kind]]
)
@every_library
def test_forgeries_are_caught(library, kind, forgery):
    """A model that is not the optimum of the problem it claims to solve has a gap that shows."""
    X, y, _ = make_data(kind, n=40, seed=1)
    model = make_model(library, kind).fit(X, y)
    honest = certify(model, X, y)
    assert honest.relative_gap < 1e-4
    forged = certify(*FORGERIES[forgery](model, X, y))
    assert forged.relative_gap > max(2e-3, 100.0 * honest.relative_gap)
    assert forged.kkt > 10.0 * honest.kkt


@pytest.mark.parametrize("kind", ["SVC", "SVR", "NuSVC", "NuSVR"])
@pytest.mark.parametrize("intercept", ["regularised", "none"])
def test_wrong_intercepts_are_caught_where_they_are_not_free(kind, intercept):
    """An intercept that the duals imply cannot be another one."""
    X, y, _ = make_data(kind, n=40, seed=1)
    model = make_model(maxmargin, kind, intercept=intercept).fit(X, y)
    assert certify(model, X, y).relative_gap < 1e-6
    assert certify(change(model, intercept_=model.intercept_ + 0.5), X, y).relative_gap > 1e-3


def test_a_coefficient_without_weight_is_caught():
    """A sample of weight zero may not be leaned on."""
    X, y, _ = make_data("SVC", n=40)
    model = make_model(maxmargin, "SVC").fit(X, y)
    weight = np.ones(40)
    weight[model.support_[:3]] = 0.0
    assert certify(model, X, y, sample_weight=weight).relative_gap > 1e-3


# ---- linear machines of LIBLINEAR ---------------------------------------------------------------------------


def solve_linear(model, X, y, c) -> float:
    """min P of LinearSVC (binary) or LinearSVR by cvxopt: the intercept is regularised by intercept_scaling."""
    Phi = np.column_stack([X, np.full(len(X), model.intercept_scaling)]) if model.fit_intercept else X
    if isinstance(model, sklearn.svm.LinearSVC):
        return minimise(Phi, -y, -np.ones(len(y)), c, free=False, squared=model.loss == "squared_hinge")
    side, squared = np.repeat([1.0, -1.0], len(y)), model.loss == "squared_epsilon_insensitive"
    bound = np.concatenate([y, -y]) + model.epsilon
    return minimise(np.vstack([Phi, Phi]), side, bound, np.tile(c, 2), free=False, squared=squared)


LINEAR = [
    ("LinearSVC", {"loss": "hinge"}),
    ("LinearSVC", {"loss": "squared_hinge", "dual": True}),
    ("LinearSVC", {"loss": "squared_hinge", "dual": False, "intercept_scaling": 3.0}),
    ("LinearSVC", {"loss": "hinge", "fit_intercept": False, "C": 0.1}),
    ("LinearSVR", {"loss": "epsilon_insensitive", "epsilon": 0.2}),
    ("LinearSVR", {"loss": "squared_epsilon_insensitive", "epsilon": 0.1, "intercept_scaling": 0.5}),
    ("LinearSVR", {"loss": "squared_epsilon_insensitive", "dual": False, "fit_intercept": False}),
]


@pytest.mark.parametrize(("kind", "settings"), LINEAR, ids=str)
@every_weighting
def test_linear_machines_are_judged(kind, settings, weighted):
    """P by hand at (w, b); D is a bound below min P by cvxopt, and tight."""
    X, y, weight = make_data(kind.replace("Linear", ""), n=60, weighted=weighted)
    s = np.ones(60) if weight is None else weight
    model = getattr(sklearn.svm, kind)(tol=1e-9, max_iter=1000000, random_state=0, **settings)
    certificate = certify(model.fit(X, y, sample_weight=weight), X, y, sample_weight=weight)
    w, b = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
    f = X @ w + b
    z = np.maximum(0.0, 1.0 - y * f if kind == "LinearSVC" else np.abs(y - f) - model.epsilon)
    constant = (b / model.intercept_scaling) ** 2 if model.fit_intercept else 0.0
    primal = 0.5 * (w @ w + constant) + model.C * s @ (z**2 if "squared" in model.loss else z)
    best = solve_linear(model, X[s > 0], y[s > 0], model.C * s[s > 0])
    assert certificate.primal == pytest.approx(primal, rel=1e-9)
    assert certificate.dual <= best + 1e-8 * abs(best)
    assert certificate.dual == pytest.approx(best, rel=1e-6)
    assert -1e-9 <= certificate.relative_gap <= 1e-4


@pytest.mark.parametrize(("kind", "settings"), LINEAR, ids=str)
@pytest.mark.parametrize("forgery", ["C", "coef", "intercept", "target"])
def test_linear_forgeries_are_caught(kind, settings, forgery):
    """Another C, weight vector, intercept or target, and the gap shows."""
    X, y, _ = make_data(kind.replace("Linear", ""), n=60)
    model = getattr(sklearn.svm, kind)(tol=1e-9, max_iter=1000000, random_state=0, **settings).fit(X, y)
    if forgery == "C":
        model.set_params(C=0.02 * model.C)
    elif forgery == "coef":
        model.coef_ = 1.3 * model.coef_
    elif forgery == "intercept":
        model.intercept_ = model.intercept_ + 0.4
    else:
        y = np.where(np.arange(60) < 10, -y, y)
    assert certify(model, X, y).relative_gap > 2e-3


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 2.0, 1: 1.0, 2: 0.3}])
def test_linear_classes_are_the_parts(class_weight):
    """LinearSVC of three classes: each against the rest, class weights included."""
    X, _, _ = make_data("SVC", n=90)
    y = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.5, 0.8])
    model = sklearn.svm.LinearSVC(tol=1e-8, max_iter=100000, random_state=0, class_weight=class_weight).fit(X, y)
    certificate = certify(model, X, y)
    assert len(certificate.parts) == 3
    assert certificate.relative_gap < 1e-5
    scale = {"None": np.ones(3), "balanced": 30 / np.bincount(y)}.get(str(class_weight), np.array([2.0, 1.0, 0.3]))
    for k, part in enumerate(certificate.parts):
        # LIBLINEAR weighs the class itself; the rest keeps C
        best = solve_linear(model, X, np.where(y == k, 1.0, -1.0), np.where(y == k, scale[k], 1.0))
        assert part.primal == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_balance_of_weighted_samples(n_classes):
    """class_weight="balanced" beside sample weights: certify poses the problem that the installed LinearSVC solves."""
    X, _, _ = make_data("SVC", n=90)
    y, weight = np.arange(90) % n_classes, np.linspace(0.1, 4.0, 90)
    weight[y == 0] *= 5.0
    model = sklearn.svm.LinearSVC(tol=1e-10, max_iter=100000, random_state=0, class_weight="balanced")
    assert certify(model.fit(X, y, weight), X, y, weight).relative_gap < 1e-6


@pytest.mark.usefixtures("compiled")
def test_linear_machines_are_judged_in_time():
    """The search for a dual ends when max_seconds says so."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 20)) * 10.0 ** rng.uniform(0, 4, 20)
    y = np.where(rng.normal(size=3000) > 0, 1, -1)
    model = sklearn.svm.LinearSVC(loss="hinge", C=100.0, max_iter=2)
    with pytest.warns(sklearn.exceptions.ConvergenceWarning):
        model.fit(X, y)
    watch = OwnTimer()
    certificate = certify(model, X, y, max_seconds=0.5)
    assert watch.seconds < 1.0 + SLACK_SECONDS
    assert certificate.gap >= 0


# ---- clear errors -------------------------------------------------------------------------------------------


class Clone(sklearn.svm.SVC):
    """A class of another library that derives from scikit-learn's."""


def test_classes_that_derive_are_known():
    """An estimator derived from a known class is judged as that class."""
    X, y, _ = make_data("SVC", n=40)
    assert certify(Clone(tol=1e-6).fit(X, y), X, y).relative_gap < 1e-4


ERRORS = [
    ("y is missing", ValueError, "y is needed to certify SVC, got None", lambda m, X, y: certify(m, X)),
    ("unknown label", ValueError, "label 7", lambda m, X, y: certify(m, X, np.where(np.arange(40) == 3, 7, y))),
    ("fewer rows", ValueError, "10 samples.*40", lambda m, X, y: certify(m, X[:10], y[:10])),
    ("more rows", ValueError, "80 samples.*40", lambda m, X, y: certify(m, np.vstack([X, X]), np.append(y, y))),
    ("y too short", ValueError, "40.*10", lambda m, X, y: certify(m, X, y[:10])),
    ("other features", ValueError, "2 features.*3", lambda m, X, y: certify(m, X[:, :2], y)),
    ("NaN", ValueError, "NaN", lambda m, X, y: certify(m, np.where(X > 1, np.nan, X), y)),
    ("weights too short", ValueError, "sample_weight", lambda m, X, y: certify(m, X, y, sample_weight=np.ones(3))),
    ("weights NaN", ValueError, "sample_weight", lambda m, X, y: certify(m, X, y, sample_weight=np.full(40, np.nan))),
    ("1-D X", ValueError, "2D array", lambda m, X, y: certify(m, X[:, 0], y)),
    ("unfitted", NotFittedError, "not fitted", lambda m, X, y: certify(SVC(), X, y)),
    ("unfitted scikit-learn", NotFittedError, "not fitted", lambda m, X, y: certify(sklearn.svm.SVC(), X, y)),
    ("a string", TypeError, "SVC.*got str", lambda m, X, y: certify("model", X, y)),
    ("nothing", TypeError, "SVC.*got NoneType", lambda m, X, y: certify(None, X, y)),
    ("the class itself", TypeError, "SVC.*got type", lambda m, X, y: certify(SVC, X, y)),
    ("another model", TypeError, "got LogisticRegression", lambda m, X, y: certify(LogisticRegression(), X, y)),
    ("a pipeline", TypeError, "got Pipeline", lambda m, X, y: certify(make_pipeline(SVC()).fit(X, y), X, y)),
]  # fmt: skip


@pytest.mark.parametrize(("error", "sentence", "call"), [row[1:] for row in ERRORS], ids=[row[0] for row in ERRORS])
@every_library
def test_errors_are_clear(library, error, sentence, call):
    """What is wrong, by name."""
    X, y, _ = make_data("SVC", n=40)
    model = make_model(library, "SVC").fit(X, y)
    with pytest.raises(error, match=sentence) as caught:
        call(model, X, y)
    assert "np." not in str(caught.value)


@pytest.mark.parametrize("kind", ["LinearSVC", "LinearSVR"])
def test_errors_are_clear_for_linear_machines(kind):
    """The same sentences where the model keeps no duals."""
    X, y, _ = make_data(kind.replace("Linear", ""), n=40)
    model = getattr(sklearn.svm, kind)(max_iter=100000).fit(X, y)
    with pytest.raises(ValueError, match=f"y is needed to certify {kind}"):
        certify(model, X)
    with pytest.raises(ValueError, match=r"2 features.*3"):
        certify(model, X[:, :2], y)
    with pytest.raises(ValueError, match=r"40.*10"):
        certify(model, X, y[:10])
    with pytest.raises(ValueError, match="NaN"):
        certify(model, X * np.nan, y)
    if kind == "LinearSVC":
        with pytest.raises(ValueError, match="label 7"):
            certify(model, X, np.where(np.arange(40) == 3, 7, y))
        with pytest.raises(ValueError, match="penalty"):
            certify(sklearn.svm.LinearSVC(penalty="l1").fit(X, y), X, y)


def test_targets_must_be_numbers():
    """NaN among the targets of a regression is an error, not a certificate of NaN."""
    X, y, _ = make_data("SVR", n=40)
    with pytest.raises(ValueError, match="y contains NaN"):
        certify(SVR().fit(X, y), X, y * np.nan)


def test_one_class_needs_no_targets():
    """y is ignored, as in fit."""
    X, y, _ = make_data("OneClassSVM", n=40)
    model = OneClassSVM().fit(X)
    assert certify(model, X) == certify(model, X, y)


def test_kernel_objects_take_lists():
    """A Kernel in place of a name does not change what X may be."""
    X, y, _ = make_data("SVC", n=40)
    model = SVC(kernel=RBF(gamma=0.5), tol=1e-8).fit(X, y)
    assert certify(model, X.tolist(), y.tolist()).relative_gap <= 1e-8


def test_certify_leaves_the_model_and_the_data_alone():
    """Nothing is written to either."""
    X, y, weight = make_data("SVC", n=40, weighted=True)
    for library in (maxmargin, sklearn.svm):
        model = make_model(library, "SVC").fit(X, y, sample_weight=weight)
        before, data = deepcopy(model.__dict__), X.copy()
        X.flags.writeable = False
        certify(model, X, y, sample_weight=weight)
        X.flags.writeable = True
        np.testing.assert_array_equal(X, data)
        assert before.keys() == model.__dict__.keys()
        np.testing.assert_array_equal(before["dual_coef_"], model.dual_coef_)
