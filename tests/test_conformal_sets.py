"""Sets of labels that cover, and Venn-Abers: against fits one by one, and isotonic regression point by point."""

from __future__ import annotations

import warnings
from math import ceil

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import (
    SVC,
    SVR,
    ConformalClassifier,
    ConformalQuantileRegressor,
    ConformalRegressor,
    LinearSVC,
    NuSVC,
    RiskClassifier,
    VennAbersClassifier,
)
from maxmargin.guarantees.coverage.venn_abers import IsotonicPair

TIGHT = {"tol": 1e-10}


def make_rows(n: int, classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Clouds that overlap."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % classes)
    return rng.normal(size=(n, 2)) + 1.5 * np.column_stack([y == 1, y == 2]), np.array(["a", "b", "c"])[y]


def rate(model, X: np.ndarray) -> np.ndarray:
    """max over m != k of f_m - f_k of all classes, or of the pairs that k loses."""
    k, f = len(model.classes_), None
    if isinstance(model, SVC | NuSVC) and k > 2 and model.multi_class == "ovo":
        pairs = clone(model).set_params(decision_function_shape="ovo")
        pairs.__dict__.update({**vars(model), "decision_function_shape": "ovo"})
        f = pairs.decision_function(X)
        won = np.full((len(X), k, k), np.inf)
        for column, (i, j) in enumerate(zip(*np.triu_indices(k, 1), strict=True)):
            won[:, i, j], won[:, j, i] = f[:, column], -f[:, column]
        return -won.min(axis=2)
    f = model.decision_function(X)
    if k == 2:
        return np.column_stack([f, -f])
    return np.column_stack([np.delete(f, each, axis=1).max(axis=1) - f[:, each] for each in range(k)])


def reference(model, X, y, folds, new, coverage):
    """Romano, Sesia and Candes (2020), formula by formula."""
    classes = np.unique(y)
    below = np.zeros((len(new), len(classes)))
    for train, test in folds:
        machine = clone(model).fit(X[train], y[train])
        own, others = rate(machine, X[test]), rate(machine, new)
        for row, i in enumerate(test):
            below += own[row, np.searchsorted(classes, y[i])] < others
    return below < ceil(coverage * (len(y) + 1) - 1e-9)


@pytest.mark.parametrize("method", ["cv+", "jackknife+"])
@pytest.mark.parametrize(
    ("model", "classes"),
    [(SVC(**TIGHT), 2), (SVC(gamma=0.5, C=0.3, **TIGHT), 2), (SVC(**TIGHT), 3), (SVC(gamma=0.7, **TIGHT), 3),
     (SVC(multi_class="ovr", **TIGHT), 3), (NuSVC(nu=0.3, **TIGHT), 2), (SVC(class_weight="balanced", **TIGHT), 2),
     (LinearSVC(tol=1e-10), 3), (RiskClassifier(loss="logistic", tol=1e-10), 2)],
)  # fmt: skip
def test_sets_are_those_of_folds_that_were_fitted_one_by_one(model, classes, method):
    X, y = make_rows(27, classes)
    new = make_rows(20, classes, 1)[0]
    folds = list(KFold(4, shuffle=True, random_state=0).split(X)) if method == "cv+" else None
    found = ConformalClassifier(model, method=method, cv=folds).fit(X, y)
    every = folds or [(np.delete(np.arange(27), i), [i]) for i in range(27)]
    for coverage in (0.6, 0.9):
        np.testing.assert_array_equal(found.predict_set(new, coverage), reference(model, X, y, every, new, coverage))
    np.testing.assert_array_equal(found.predict(new), clone(model).fit(X, y).predict(new))


@pytest.mark.parametrize("model", [SVC(gamma=0.5, **TIGHT), SVC(**TIGHT), SVC(loss="squared_hinge", **TIGHT)])
def test_full_sets_are_those_of_fits_with_each_label(model):
    X, y = make_rows(22)
    new = make_rows(6, 2, 1)[0]
    found = ConformalClassifier(model, method="full").fit(X, y).predict_set(new, 0.7)
    k = ceil(0.7 * 23 - 1e-9)
    for j, x in enumerate(new):
        for place, label in enumerate("ab"):
            rows, labels = np.vstack([X, x]), np.append(y, label)
            scores = rate(clone(model).fit(rows, labels), rows)[np.arange(23), np.searchsorted(["a", "b"], labels)]
            assert found[j, place] == (scores[-1] <= np.sort(scores[:-1])[k - 1])


def test_full_sets_of_any_classifier():
    X, y = make_rows(21, 3)
    found = ConformalClassifier(SVC(), method="full").fit(X, y).predict_set(X[:4], 0.8)
    assert found.shape == (4, 3)
    assert found.any(axis=1).all()


@pytest.mark.parametrize("conformity", ["lac", "aps"])
@pytest.mark.parametrize("method", ["split", "cv+"])
def test_sets_by_probabilities(conformity, method):
    """1 - p, or the sum of all probabilities that are at least as large."""
    X, y = make_rows(60, 3)
    new = make_rows(15, 3, 1)[0]
    model = ConformalClassifier(LogisticRegression(), method=method, conformity=conformity, cv=3, random_state=0)
    found = model.fit(X, y).predict_set(new, 0.8)
    assert found.shape == (15, 3)
    if method == "split":
        p = model.estimator_.predict_proba(new)
        adaptive = (p[:, None, :] * (p[:, None, :] >= p[:, :, None])).sum(axis=2)
        level = np.sort(model.scores_)[ceil(0.8 * 16 - 1e-9) - 1]
        np.testing.assert_array_equal(found, (1.0 - p if conformity == "lac" else adaptive) <= level)


@pytest.mark.parametrize("method", ["split", "cv+", "jackknife+", "full"])
def test_sets_cover_as_often_as_they_promise(method):
    covered, draws, m = [], 40, 10
    for seed in range(draws):
        X, y = make_rows(29 + m, 3 if method != "full" else 2, 50 + seed)
        model = ConformalClassifier(SVC(gamma=0.5), method=method, random_state=seed).fit(X[:29], y[:29])
        found = model.predict_set(X[29:], 0.8)
        covered.append(found[np.arange(m), np.searchsorted(model.classes_, y[29:])].mean())
    error = np.std(covered) / np.sqrt(draws)
    assert np.mean(covered) >= 0.8 - 4.0 * error
    assert np.mean(covered) <= 0.9 + 4.0 * error


def test_too_few_rows_give_all_labels():
    X, y = make_rows(12)
    for method in ("cv+", "jackknife+", "split", "full"):
        assert ConformalClassifier(method=method).fit(X, y).predict_set(X[:3], 0.99).all()


def test_probabilities_are_needed_where_scores_are_made_of_them():
    X, y = make_rows(20)
    with pytest.raises(AttributeError, match="predict_proba"):
        ConformalClassifier(SVC(), conformity="aps").fit(X, y)


def test_sets_are_those_of_mapie():
    """LAC of split folds, the same rows calibrating."""
    mapie = pytest.importorskip("mapie.classification")
    X, y = make_rows(90, 3)
    y = np.searchsorted(["a", "b", "c"], y)
    new = make_rows(30, 3, 1)[0]
    ours = ConformalClassifier(LogisticRegression(), method="split", conformity="lac", random_state=0).fit(X, y)
    fold = ours.cut_calibration(y, classifier=True)
    theirs = mapie.SplitConformalClassifier(ours.estimator_, confidence_level=0.8, conformity_score="lac")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = theirs.conformalize(X[fold.test], y[fold.test]).predict_set(new)[1][:, :, 0]
    found = ours.predict_set(new, 0.8)
    filled = found.any(axis=1)  # MAPIE adds the likeliest label to an empty set of some scores
    np.testing.assert_array_equal(found[filled], expected[filled])


# ---- Venn-Abers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ties", [False, True])
def test_both_probabilities_are_isotonic_regressions_with_one_point_more(ties):
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 40):
        scores = rng.normal(size=n).round(0 if ties else 9)
        labels = (scores + rng.normal(size=n) > 0).astype(int)
        pair = IsotonicPair.fit(scores, labels)
        for x in [*rng.normal(size=10), *scores[:10], -9.0, 9.0]:
            expected = [
                IsotonicRegression().fit(np.append(scores, x), np.append(labels, y)).predict([x])[0] for y in (0, 1)
            ]
            np.testing.assert_allclose(pair.read(np.array([x]))[0], expected, atol=1e-12)


@pytest.mark.parametrize("method", ["cross", "split"])
@pytest.mark.parametrize("model", [SVC(), LinearSVC(), KNeighborsClassifier()], ids=["kernel", "linear", "another"])
def test_probabilities_lie_between_their_bounds(method, model):
    if not hasattr(model, "decision_function"):
        with pytest.raises(AttributeError, match="decision_function"):
            VennAbersClassifier(model, method=method).fit(*make_rows(40))
        return
    X, y = make_rows(120)
    found = VennAbersClassifier(model, method=method, random_state=0).fit(X, y)
    new, right = make_rows(80, 2, 1)
    low, high = found.predict_bounds(new).T
    p = found.predict_proba(new)
    assert (low < high).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    if method == "split":
        assert ((low <= p[:, 1]) & (p[:, 1] <= high)).all()
    assert found.score(new, right) > 0.6
    again = clone(found).fit(X, y).predict_proba(new)
    np.testing.assert_array_equal(p, again)


def test_one_of_both_probabilities_is_calibrated():
    """The mean of p_y over new rows of the same distribution is that of y."""
    low, high, labels = [], [], []
    for seed in range(30):
        X, y = make_rows(80, 2, seed)
        bounds = VennAbersClassifier(method="split", random_state=seed).fit(X[:60], y[:60]).predict_bounds(X[60:])
        low += [*bounds[:, 0]]
        high += [*bounds[:, 1]]
        labels += [*(y[60:] == "b")]
    p = np.where(labels, high, low)
    assert abs(np.mean(p - labels)) < 4.0 * np.std(p - labels) / np.sqrt(len(p))


def test_venn_abers_is_for_two_classes():
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        VennAbersClassifier().fit(*make_rows(30, 3))


# ---- scikit-learn ----------------------------------------------------------------------------------------------------


@parametrize_with_checks(
    [ConformalRegressor(SVR()), ConformalRegressor(SVR(), method="split"), ConformalQuantileRegressor(SVR(), cv=3),
     ConformalClassifier(SVC()), ConformalClassifier(SVC(), method="split"), VennAbersClassifier(SVC(), cv=3)]
)  # fmt: skip
def test_they_are_estimators_of_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def test_full_sets_cover_where_free_support_vectors_tie_at_the_margin():
    """With a large C the 95 % smallest scores end among rows at y f = 1; the new row may be one more of them."""
    X, y = load_breast_cancer(return_X_y=True)
    X, covered = StandardScaler().fit_transform(X), []
    for seed in range(5):
        rows = np.random.default_rng(seed).permutation(len(y))[:400]
        train, new = rows[:300], rows[300:]
        model = ConformalClassifier(SVC(C=10.0, gamma=1 / 30), method="full").fit(X[train], y[train])
        covered.append(model.predict_set(X[new], 0.95)[np.arange(100), y[new]].mean())
    assert np.mean(covered) >= 0.95 - 3.0 * np.std(covered) / np.sqrt(len(covered))
