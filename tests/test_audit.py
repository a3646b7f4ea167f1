"""certify judges any fitted SVM by its coefficients alone, agrees with the textbook, and is not to be fooled."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from sklearn import svm
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel

import maxmargin
from maxmargin import certify

GAMMA, C, EPSILON, NU = 0.3, 2.0, 0.1, 0.3
LIBRARIES = pytest.mark.parametrize("library", [maxmargin, svm], ids=["ours", "scikit-learn"])
WEIGHTED = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


@pytest.fixture
def data():
    """Eighty samples, two classes, real targets, weights."""
    X, y = make_classification(80, 4, n_informative=3, n_redundant=0, flip_y=0.1, random_state=1)
    rng = np.random.default_rng(0)
    return X, y, X[:, 0] + 0.3 * rng.normal(size=80), rng.integers(1, 4, 80).astype(float)


def expand(model, n):
    """The dual coefficients over all samples."""
    coef = np.zeros(n)
    coef[model.support_] = model.dual_coef_[0]
    return coef


def recompute(kind, model, X, y, s):
    """P and D as the textbook writes them, in a few lines of NumPy."""
    K, a, b = rbf_kernel(X, gamma=GAMMA), expand(model, len(X)), model.intercept_[0]
    f, norm = K @ a + b, a @ K @ a
    if kind == "SVC":
        sign = np.where(y > 0, 1.0, -1.0)
        return norm / 2 + C * s @ np.maximum(0, 1 - sign * f), np.abs(a).sum() - norm / 2
    if kind == "SVR":
        return norm / 2 + C * s @ np.maximum(0, np.abs(f - y) - EPSILON), y @ a - EPSILON * np.abs(a).sum() - norm / 2
    return norm / 2 + NU * s.sum() * b + s @ np.maximum(0, -f), -norm / 2


MODELS = {
    "SVC": {"C": C, "gamma": GAMMA},
    "SVR": {"C": C, "gamma": GAMMA, "epsilon": EPSILON},
    "OneClassSVM": {"nu": NU, "gamma": GAMMA},
}


@LIBRARIES
@WEIGHTED
@pytest.mark.parametrize("kind", MODELS)
def test_certificates_equal_the_textbook(kind, library, weighted, data):
    """Primal and dual equal a recomputation with NumPy alone."""
    X, labels, targets, weight = data
    y, s = (targets if kind == "SVR" else labels), (weight if weighted else np.ones(len(X)))
    model = getattr(library, kind)(**MODELS[kind]).fit(X, y, sample_weight=s)
    certificate = certify(model, X, y, s)
    primal, dual = recompute(kind, model, X, y, s)
    assert certificate.primal == pytest.approx(primal, rel=1e-9)
    assert certificate.dual == pytest.approx(dual, rel=1e-7)
    assert 0 <= certificate.relative_gap < 5e-3


@LIBRARIES
@WEIGHTED
@pytest.mark.parametrize("kind", ["NuSVC", "NuSVR"])
def test_nu_machines_are_near_their_optimum(kind, library, weighted, data):
    """Tight fits of the nu machines have a tight certificate, and the two libraries the same objective."""
    X, labels, targets, weight = data
    y = labels if kind == "NuSVC" else targets
    s = weight if weighted else np.ones(len(X))
    model = getattr(library, kind)(nu=NU, gamma=GAMMA, tol=1e-8).fit(X, y, sample_weight=s)
    other = getattr(maxmargin, kind)(nu=NU, gamma=GAMMA, tol=1e-8).fit(X, y, sample_weight=s)
    certificate = certify(model, X, y, s)
    assert 0 <= certificate.relative_gap < 1e-5
    assert certificate.primal == pytest.approx(other.certificate_.primal, rel=1e-5)


@pytest.mark.filterwarnings("ignore:Liblinear")
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_linear_classifiers(loss, fit_intercept, data):
    """LIBLINEAR's primal value, and a lower bound that is never above it and nearly touches it."""
    X, y, _, _ = data
    model = svm.LinearSVC(loss=loss, C=0.5, fit_intercept=fit_intercept, intercept_scaling=2.0, tol=1e-8,
                          max_iter=100000, random_state=0).fit(X, y)  # fmt: skip
    slack = np.maximum(0, 1 - np.where(y > 0, 1, -1) * model.decision_function(X))
    bias = np.ravel(model.intercept_)[0] / 2.0 if fit_intercept else 0.0
    primal = (model.coef_**2).sum() / 2 + bias**2 / 2 + 0.5 * (slack if loss == "hinge" else slack**2).sum()
    certificate = certify(model, X, y)
    assert certificate.primal == pytest.approx(primal, rel=1e-10)
    assert 0 <= certificate.relative_gap < 1e-4


@pytest.mark.filterwarnings("ignore:Liblinear")
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_linear_regressors(loss, data):
    """LinearSVR likewise, with weights."""
    X, _, y, weight = data
    model = svm.LinearSVR(loss=loss, epsilon=0.2, C=0.5, tol=1e-8, max_iter=100000, random_state=0)
    model.fit(X, y, sample_weight=weight)
    slack = np.maximum(0, np.abs(model.predict(X) - y) - 0.2)
    norm = (model.coef_**2).sum() + np.ravel(model.intercept_)[0] ** 2
    primal = norm / 2 + 0.5 * weight @ (slack if loss == "epsilon_insensitive" else slack**2)
    certificate = certify(model, X, y, weight)
    assert certificate.primal == pytest.approx(primal, rel=1e-10)
    assert 0 <= certificate.relative_gap < 1e-3


@LIBRARIES
@pytest.mark.parametrize("change", ["C", "gamma", "intercept", "dual", "label"])
def test_wrong_models_are_caught(library, change, data):
    """A model that claims another C or gamma, whose intercept or duals were moved, or whose labels were not these."""
    X, y, _, _ = data
    model = library.SVC(C=C, gamma=GAMMA).fit(X, y)
    honest = certify(model, X, y).relative_gap
    wrong, labels = copy.deepcopy(model), y.copy()
    if change in ("C", "gamma"):
        wrong.set_params(**{change: 2 * getattr(wrong, change)})
    elif change == "intercept":
        wrong.intercept_ = wrong.intercept_ + 0.5
    elif change == "dual":
        wrong.dual_coef_ = wrong.dual_coef_ * 0.7
    else:
        labels[:4] = 1 - labels[:4]
    assert certify(wrong, X, labels).relative_gap > max(100 * honest, 1e-2)


@LIBRARIES
def test_many_classes(library):
    """One part for each pair, and the certificate is the worst of them."""
    X, y = load_iris(return_X_y=True)
    certificate = certify(library.SVC(class_weight="balanced").fit(X, y), X, y)
    assert len(certificate.parts) == 3
    assert certificate.relative_gap == max(part.relative_gap for part in certificate.parts)
    assert 0 <= certificate.relative_gap < 5e-3


def test_fits_agree_with_their_own_certificate():
    """What a fit carries is what certify finds, one-vs-one and one-vs-rest, with weights and names for labels."""
    X, y = load_iris(return_X_y=True)
    names, weight = np.array(["setosa", "versicolor", "virginica"])[y], 1.0 + (y == 1)
    for multi_class in ("ovo", "ovr"):
        model = maxmargin.SVC(multi_class=multi_class, loss="squared_hinge", intercept="regularised")
        model.fit(X, names, sample_weight=weight)
        found = certify(model, X, names, weight)
        assert found.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
        assert found.dual == pytest.approx(model.certificate_.dual, rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (lambda m, X, y: (m, X), ValueError, "y is needed to certify SVC, got None"),
        (lambda m, X, y: (m, X[:-1], y[:-1]), ValueError, "X has 79 samples, but the model was fitted on 80"),
        (lambda m, X, y: (m, X[:, :2], y), ValueError, "X has 2 features, but the model was fitted on 4"),
        (lambda m, X, y: (m, X, y + 1), ValueError, r"y has the label 2, which the model has never seen"),
        (lambda m, X, y: (m, X, y, np.ones(3)), ValueError, "sample_weight and X have incompatible shapes"),
        (lambda m, X, y: (LogisticRegression().fit(X, y), X, y), TypeError, "got LogisticRegression"),
        (lambda m, X, y: (svm.SVC(), X, y), ValueError, "not fitted"),
        (lambda m, X, y: (svm.LinearSVC(penalty="l1", dual=False).fit(X, y), X, y), ValueError, "penalty='l2'"),
    ],
)
def test_questions_that_make_no_sense(arguments, error, words, data):
    """One sentence that names what is wrong."""
    X, y, _, _ = data
    with pytest.raises(error, match=words):
        certify(*arguments(maxmargin.SVC().fit(X, y), X, y))
