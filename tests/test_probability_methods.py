"""Probabilities by name: the maps against general optimisers, agreement with predictions, files, and bad input."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import make_classification, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import log_loss

from maxmargin import SVC, LinearSVC, NuSVC, OneClassSVM, RiskClassifier, load, save
from maxmargin.blocks import ArrayBlocks
from maxmargin.estimators import calibration
from maxmargin.estimators.calibration import (
    agree_with,
    fit_isotonic,
    fit_ranks,
    fit_sigmoid,
    fit_slope,
    fit_temperature,
    smooth_targets,
    sum_pairs,
)
from maxmargin.plots import plot_calibration
from maxmargin.plots.calibration import bin_calibration

METHODS = calibration.METHODS
TWO = make_moons(240, noise=0.35, random_state=0)
FOUR = make_classification(320, 6, n_informative=5, n_redundant=0, n_classes=4, n_clusters_per_class=1, random_state=0)
MACHINES = {
    "SVC": SVC(random_state=0), "SVC, rest": SVC(multi_class="ovr", random_state=0),
    "SVC, ties": SVC(break_ties=True, random_state=0), "NuSVC": NuSVC(nu=0.3, random_state=0),
    "LinearSVC": LinearSVC(random_state=0), "all at once": LinearSVC(multi_class="crammer_singer", random_state=0),
    "hinge": RiskClassifier(), "logistic": RiskClassifier("logistic"),
}  # fmt: skip


def make_decisions(n: int = 150, seed: int = 0):
    """Decisions, labels and weights of a machine that is too sure of itself."""
    rng = np.random.default_rng(seed)
    f = 3.0 * rng.normal(size=n)
    return f, np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-0.4 * f - 0.5)), 1.0, -1.0), rng.uniform(0.2, 2.0, n)


# ---- the maps --------------------------------------------------------------------------------------------------------


def test_sigmoids_minimise_the_log_loss():
    f, y, c = make_decisions()
    t = smooth_targets(y)

    def measure(line):
        z = line[0] * f + line[1]
        return c @ (np.logaddexp(0.0, z) - (1.0 - t) * z)

    best = minimize(measure, [0.0, 0.0], method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(fit_sigmoid(f, y, c), best.x, atol=1e-5)
    through = minimize(lambda slope: measure([slope[0], 0.0]), [0.0], method="BFGS", options={"gtol": 1e-9})
    assert fit_slope(f, y, c) == pytest.approx(through.x[0], abs=1e-5)


def test_temperature_minimises_the_log_loss():
    rng = np.random.default_rng(1)
    z, y, c = 4.0 * rng.normal(size=(90, 3)), rng.integers(0, 3, 90), rng.uniform(0.2, 2.0, 90)
    z[np.arange(90), y] += 2.0
    found = fit_temperature(z, y, c)["slopes"][0]
    sure = ((np.bincount(y) + 1.0) / (np.bincount(y) + 2.0))[y]
    t = np.repeat((1.0 - sure)[:, None] / 2.0, 3, axis=1)
    t[np.arange(90), y] = sure

    def measure(s):
        return c @ (np.log(np.exp(s * z).sum(axis=1)) - s * (t * z).sum(axis=1))

    assert all(measure(found) <= measure(found * (1.0 + step)) for step in (-1e-3, 1e-3, -0.3, 0.3))


@pytest.mark.parametrize("crosses", [False, True])
def test_isotonic_maps_are_the_nearest_that_grow(crosses):
    """Against a quadratic program over all maps that grow, and are 1/2 where the decision is 0."""
    f, y, c = make_decisions(60)
    knots, p = fit_isotonic(f, y, c, crosses)
    order = np.argsort(f)
    t, w, at = smooth_targets(y)[order], c[order], np.interp(f[order], knots, p)
    limits = [(0.0, 0.5) if crosses and x < 0 else (0.5, 1.0) if crosses else (0.0, 1.0) for x in f[order]]
    grows = {"type": "ineq", "fun": np.diff, "jac": lambda _: np.eye(60)[1:] - np.eye(60)[:-1]}
    best = minimize(
        lambda q: w @ (q - t) ** 2, np.full(60, 0.5), jac=lambda q: 2.0 * w * (q - t), bounds=limits,
        constraints=[grows], method="SLSQP", options={"maxiter": 500, "ftol": 1e-12},
    )  # fmt: skip
    np.testing.assert_allclose(at, best.x, atol=2e-3)
    assert w @ (at - t) ** 2 <= best.fun + 1e-9
    if crosses:
        assert np.interp(0.0, knots, p) == 0.5


def test_maps_of_separated_data_stay_finite():
    f = np.array([-2.0, -1.0, 1.0, 2.0])
    y, c = np.sign(f), np.ones(4)
    assert np.isfinite([fit_slope(f, y, c), *fit_sigmoid(f, y, c)]).all()
    p = fit_isotonic(f, y, c, True)[1]
    assert 0.0 < p.min() < p.max() < 1.0
    assert np.isfinite(fit_temperature(np.column_stack([-f, f]), (y > 0).astype(int), c)["slopes"]).all()


def test_probabilities_are_projected_onto_those_that_agree():
    """The nearest point with q_choice the largest, by a general optimiser."""
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(4), 40)
    choice = rng.integers(0, 4, 40)
    found = agree_with(p, choice)
    assert (found.argmax(axis=1) == choice).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    right = p.argmax(axis=1) == choice
    np.testing.assert_array_equal(found[right], p[right])
    for row in range(8):
        k = choice[row]
        sums = {"type": "eq", "fun": lambda q: q.sum() - 1.0}
        largest = {"type": "ineq", "fun": lambda q, k=k: q[k] - q}
        best = minimize(
            lambda q, row=row: np.sum((q - p[row]) ** 2), np.full(4, 0.25), constraints=[sums, largest], tol=1e-12
        )  # fmt: skip
        np.testing.assert_allclose(found[row], best.x, atol=1e-5)


def test_scores_of_pairs_are_least_squares():
    f = np.random.default_rng(3).normal(size=(5, 6))
    pairs = list(zip(*np.triu_indices(4, 1), strict=True))
    A = np.array([np.eye(4)[i] - np.eye(4)[j] for i, j in pairs])
    np.testing.assert_allclose(sum_pairs(f, 4), np.linalg.lstsq(A, f.T)[0].T, atol=1e-12)


# ---- estimators ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("data", [TWO, FOUR], ids=["two", "four"])
def test_probabilities_agree_with_predictions_and_tell_something(data, name, method, tmp_path):
    X, y = data
    y = np.array(list("abcd"))[y]
    model = clone(MACHINES[name]).set_params(probability=method).fit(X[::2], y[::2])
    p, found = model.predict_proba(X[1::2]), model.predict(X[1::2])
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], found)
    np.testing.assert_array_equal(model.predict_log_proba(X[1::2]), np.log(p))
    assert log_loss(y[1::2], p) < np.log(len(model.classes_))
    assert model.has_probabilities
    if len(model.classes_) == 2:
        f = model.decision_function(X[1::2])
        assert ((p[:, 1] > 0.5) == (f > 0)).all()
        assert (np.diff(p[np.argsort(f), 1]) >= -1e-12).all()
    again = clone(model).fit(X[::2], y[::2])
    np.testing.assert_allclose(again.predict_proba(X[1::2]), p, atol=1e-9)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X[1::2]), p)
    save(model, tmp_path / "model.maxmargin")
    np.testing.assert_array_equal(load(tmp_path / "model.maxmargin").predict_proba(X[1::2]), p)


def test_names_do_not_warn_and_weights_mean_the_row_twice():
    """scikit-learn's deprecation is of True and False; what is named here stays."""
    X, y = TWO
    weight = np.r_[np.full(200, 1.0), np.zeros(40)]
    model = SVC(probability="isotonic", random_state=0).fit(X, y, sample_weight=weight)
    without = SVC(probability="isotonic", random_state=0, gamma=model._gamma).fit(X[:200], y[:200])
    np.testing.assert_allclose(model.predict_proba(X[200:]), without.predict_proba(X[200:]), atol=1e-6)


def test_linear_probabilities_are_those_of_folds():
    """Decisions of rows by machines that have not seen them, one fold after the other."""
    from sklearn.model_selection import StratifiedKFold

    X, y = TWO
    model = LinearSVC(probability="sigmoid", random_state=3).fit(X, y)
    f = np.empty(len(y))
    for train, test in StratifiedKFold(5, shuffle=True, random_state=3).split(X, y):
        f[test] = LinearSVC().fit(X[train], y[train]).decision_function(X[test])
    slope = fit_slope(f, np.where(y == 1, 1.0, -1.0), np.ones(len(y)))
    expected = 1.0 / (1.0 + np.exp(slope * model.decision_function(X)))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-9)


def test_there_are_none_unless_asked_for():
    X, y = TWO
    for model in (LinearSVC(), RiskClassifier()):
        assert not hasattr(model.fit(X, y), "predict_proba")
        assert not model.has_probabilities
        with pytest.raises(NotFittedError, match="predict_proba is not available"):
            model.set_params(probability=True).predict_proba(X)
    assert not hasattr(OneClassSVM().fit(X), "predict_outlier_probability")
    assert RiskClassifier("logistic").fit(X, y).has_probabilities


@pytest.mark.parametrize("model", [SVC(), NuSVC(), LinearSVC(), RiskClassifier(), OneClassSVM()])
def test_methods_have_names(model):
    with pytest.raises(ValueError, match="The 'probability' parameter of"):
        model.set_params(probability="bayes").fit(*TWO)


def test_what_linear_machines_refuse():
    X, y = TWO
    with pytest.raises(ValueError, match="probability='isotonic' needs data in memory; give an array"):
        LinearSVC(probability="isotonic").fit(ArrayBlocks(X, y))
    with pytest.raises(ValueError, match="probability=True needs two rows of each class to hold one out, got one of"):
        LinearSVC(probability=True).fit(X[:5], ["a", "a", "a", "a", "b"])
    with pytest.warns(ConvergenceWarning, match="The time budget"):
        model = LinearSVC(probability=True, max_seconds=1e-9).fit(X, y)
    assert not model.has_probabilities


# ---- one class -------------------------------------------------------------------------------------------------------


def test_outlier_probabilities_are_ranks_of_held_out_decisions(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 2))
    model = OneClassSVM(nu=0.2, probability=True, random_state=0).fit(X)
    new = 2.0 * np.random.default_rng(1).normal(size=(400, 2))
    f, p = model.decision_function(new), model.predict_outlier_probability(new)
    assert ((p > 0.5) == (model.predict(new) == -1)).all()
    assert (np.diff(p[np.argsort(f, kind="stable")]) <= 1e-12).all()
    fresh = np.random.default_rng(2).normal(size=(4000, 2))
    inside = model.predict_outlier_probability(fresh)
    assert np.mean(inside < 0.25) == pytest.approx(np.mean(inside < 0.5) / 2.0, abs=0.08)
    save(model, tmp_path / "model.maxmargin")
    np.testing.assert_array_equal(load(tmp_path / "model.maxmargin").predict_outlier_probability(new), p)
    with pytest.raises(NotFittedError, match="predict_outlier_probability is not available"):
        OneClassSVM().fit(X).set_params(probability=True).predict_outlier_probability(new)


def test_ranks_by_hand():
    """Three rows outside and one inside: a quarter more for each."""
    found = fit_ranks(np.array([-3.0, -1.0, -2.0, 5.0]), np.ones(4))
    np.testing.assert_array_equal(found["decisions"], [-3.0, -2.0, -1.0, 0.0, 5.0])
    np.testing.assert_allclose(found["probabilities"], [0.875, 0.75, 0.625, 0.5, 0.25])


# ---- calibration error -----------------------------------------------------------------------------------------------


def test_the_calibration_error_by_hand():
    found = bin_calibration([0, 1, 1, 1], [0.2, 0.4, 0.9, 0.7], bins=2)
    np.testing.assert_array_equal(found.counts, [2, 2])
    np.testing.assert_allclose(found.mean_probability, [0.3, 0.8])
    np.testing.assert_allclose(found.share_true, [0.5, 1.0])
    assert found.expected_error == pytest.approx(0.5 * 0.2 + 0.5 * 0.2)
    several = bin_calibration(["a", "b"], [[0.6, 0.4], [0.9, 0.1]], bins=1)
    assert several.expected_error == pytest.approx(abs(0.5 - 0.75))


def test_reliability_diagrams_show_counts_and_the_error():
    p = np.random.default_rng(0).random(500)
    y = np.random.default_rng(1).random(500) < p
    ax = plot_calibration(y, p, bins=5, label="known", ax=Figure().subplots())
    assert [text.get_text() for text in ax.texts] == [str(count) for count in bin_calibration(y, p, bins=5).counts]
    assert ax.get_title() == f"expected calibration error {bin_calibration(y, p, bins=5).expected_error:.3f}"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["known"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(([0, 1], [0.5]), "probabilities must have a row for each"), (([0, 1], [0.5, 1.5]), "must be between 0 and 1"),
     (([0, 1], [0.5, np.nan]), "between 0 and 1"), (([0, 1], [[0.5, 0.3, 0.2]] * 2), "3 columns for 2 classes")],
)  # fmt: skip
def test_what_reliability_diagrams_refuse(arguments, message):
    with pytest.raises(ValueError, match=message):
        plot_calibration(*arguments)
    with pytest.raises(ValueError, match="bins must be a whole number of at least 1, got 0"):
        bin_calibration([0, 1], [0.1, 0.2], bins=0)
