"""Intervals that cover: against fits of every fold one by one, brute force over targets, and MAPIE where it is."""

from __future__ import annotations

import warnings
from math import ceil, floor

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

from maxmargin import SVR, ConformalQuantileRegressor, ConformalRegressor, LinearSVR, NuSVR
from maxmargin.guarantees.coverage.fold_machines import FittedFolds, Fold, Predictions
from maxmargin.guarantees.coverage.full_regression import FullRegression
from maxmargin.guarantees.coverage.kernel_folds import KernelFolds, hand_over
from maxmargin.guarantees.coverage.ranks import lower_rank, upper_rank

TIGHT = {"tol": 1e-10}


def make_rows(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A curve with noise that grows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2.0 * X[:, 0]) + 0.2 * (1.0 + np.abs(X[:, 1])) * rng.normal(size=n)


def reference(lower, upper, X, y, folds, new, coverage, method):
    """Both ends from sorted lists, as Barber et al. (2021) write them."""
    n, alpha = len(y), 1.0 - coverage
    ends = []
    for train, test in folds:
        low, high = (clone(model).fit(X[train], y[train]) for model in (lower, upper))
        for i in test:
            R = max(low.predict(X[[i]])[0] - y[i], y[i] - high.predict(X[[i]])[0])
            ends.append((low.predict(new), high.predict(new), R))
    low, high, R = (np.array(part) for part in zip(*ends, strict=True))
    k = ceil((1.0 - alpha) * (n + 1) - 1e-9)
    if method == "minmax":
        reach = np.sort(R)[k - 1]
        return np.column_stack([low.min(axis=0) - reach, high.max(axis=0) + reach])
    below = np.sort(low - R[:, None], axis=0)[floor(alpha * (n + 1) + 1e-9) - 1]
    return np.column_stack([below, np.sort(high + R[:, None], axis=0)[k - 1]])


MACHINES = {
    "default": SVR(**TIGHT),
    "gamma": SVR(gamma=0.4, C=3.0, **TIGHT),
    "wide tube": SVR(gamma=0.4, epsilon=0.4, **TIGHT),
    "laplacian, huber": SVR(kernel="laplacian", gamma="auto", loss="huber", threshold=0.3, **TIGHT),
    "poly, squared": SVR(kernel="poly", degree=2, coef0=1.0, loss="squared_epsilon_insensitive", **TIGHT),
    "linear": SVR(kernel="linear", **TIGHT),
    "nu": NuSVR(nu=0.3, **TIGHT),
    "another": Ridge(),
    "rows": LinearSVR(tol=1e-10),
}


@pytest.mark.parametrize("method", ["cv+", "jackknife+", "minmax"])
@pytest.mark.parametrize("name", MACHINES)
def test_intervals_are_those_of_folds_that_were_fitted_one_by_one(name, method):
    X, y = make_rows(26)
    new = make_rows(7, 1)[0]
    folds = list(KFold(4, shuffle=True, random_state=0).split(X)) if method == "cv+" else None
    model = ConformalRegressor(MACHINES[name], method=method, cv=folds).fit(X, y)
    every = folds or [(np.delete(np.arange(26), i), [i]) for i in range(26)]
    expected = reference(MACHINES[name], MACHINES[name], X, y, every, new, 0.8, method)
    np.testing.assert_allclose(model.predict_interval(new, 0.8), expected, rtol=1e-4, atol=2e-4)
    np.testing.assert_array_equal(model.predict(new), clone(MACHINES[name]).fit(X, y).predict(new))


@pytest.mark.parametrize("method", ["cv+", "jackknife+"])
def test_intervals_of_quantiles_are_those_of_folds_that_were_fitted_one_by_one(method):
    X, y = make_rows(25)
    new = make_rows(6, 1)[0]
    folds = list(KFold(4, shuffle=True, random_state=0).split(X)) if method == "cv+" else None
    model = ConformalQuantileRegressor(SVR(**TIGHT), coverage=0.8, method=method, cv=folds).fit(X, y)
    every = folds or [(np.delete(np.arange(25), i), [i]) for i in range(25)]
    lower, upper = (SVR(loss="quantile", quantile=q, **TIGHT) for q in (0.1, 0.9))
    expected = reference(lower, upper, X, y, every, new, 0.8, method)
    np.testing.assert_allclose(model.predict_interval(new), expected, atol=2e-3)
    assert model.estimator_.quantile == 0.5


@pytest.mark.parametrize("gamma", ["scale", 0.3])
def test_machines_of_folds_are_certified_and_few_are_solved(gamma):
    """Rows without a dual leave the machine as it is, where the kernel is the same."""
    X, y = make_rows(60)
    folds = [Fold(np.delete(np.arange(60), i), np.array([i])) for i in range(60)]
    model = SVR(gamma=gamma, epsilon=0.5)
    shared = KernelFolds(model, X, y, folds)
    assert shared.gap <= model.tol
    support = len(clone(model).fit(X, y).support_)
    assert support < 60
    assert shared.solved == (61 if gamma == "scale" else 1 + support)
    one_by_one = FittedFolds(clone(model).set_params(tol=1e-10), X, y, folds, Predictions())
    np.testing.assert_allclose(shared.held_out, one_by_one.held_out, atol=5e-3)
    np.testing.assert_allclose(shared.decide(X[:5]), one_by_one.decide(X[:5]), atol=5e-3)


def test_the_middle_of_optimal_intercepts_does_not_depend_on_the_start():
    """Two rows at their bounds on either side: every b between them is optimal, and LIBSVM takes the middle, too."""
    X, y = np.array([[0.0], [0.1], [5.0], [5.1]]), np.array([0.0, 0.0, 10.0, 10.0])
    model = SVR(C=0.01, gamma=1.0, epsilon=0.1)
    folds = [Fold(np.delete(np.arange(4), i), np.array([i])) for i in range(4)]
    found = KernelFolds(model, X, y, folds).held_out
    import sklearn.svm

    theirs = sklearn.svm.SVR(C=0.01, gamma=1.0, epsilon=0.1, tol=1e-10)
    expected = [theirs.fit(X[train], y[train]).predict(X[test])[0] for train, test in folds]
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-6)


def test_duals_are_handed_over_within_their_bounds():
    rng = np.random.default_rng(0)
    for _ in range(50):
        K = rng.random((9, 9))
        a = rng.uniform(-1.0, 1.0, 9).round(1)
        a[:-1] -= a.sum() / 8.0
        a[:8] = np.clip(a[:8], -1.0, 1.0)
        given = np.array([-a[:8].sum()])
        found = hand_over(K, np.array([8]), given, np.arange(8), a[:8], np.full(8, -1.0), np.full(8, 1.0))
        assert found.sum() == pytest.approx(0.0, abs=1e-12)
        assert (np.abs(found) <= 1.0).all()


# ---- full conformal --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [SVR(gamma=0.4, **TIGHT), SVR(C=0.3, **TIGHT), SVR(loss="absolute", gamma=0.4, **TIGHT),
     SVR(loss="huber", threshold=0.4, gamma=0.4, **TIGHT), SVR(loss="quantile", quantile=0.3, gamma=0.4, **TIGHT)],
    ids=["tube", "scale", "absolute", "huber", "quantile"],
)  # fmt: skip
def test_full_conformal_ends_are_those_of_the_set_of_all_targets(model):
    """Targets inside conform and targets outside do not, by fits with each of them; near the ends both are tried."""
    X, y = make_rows(22)
    new = make_rows(2, 3)[0]
    found = ConformalRegressor(model, method="full").fit(X, y).predict_interval(new, 0.8)
    k = ceil(0.8 * 23 - 1e-9)

    def conforms(x, z):
        rows, targets = np.vstack([X, x]), np.append(y, z)
        R = np.abs(clone(model).fit(rows, targets).predict(rows) - targets)
        return R[-1] <= np.sort(R[:-1])[k - 1]

    for x, (low, high) in zip(new, found, strict=True):
        for step in (1e-3, 0.3, 3.0):
            assert not conforms(x, low - step)
            assert not conforms(x, high + step)
            assert conforms(x, low + min(step, 0.01))
            assert conforms(x, high - min(step, 0.01))


def test_full_conformal_needs_a_loss_of_bounded_slope():
    X, y = make_rows(20)
    for model in (SVR(loss="squared_epsilon_insensitive"), Ridge(), SVR(intercept="none")):
        with pytest.raises(ValueError, match="method='full' needs an SVR with"):
            ConformalRegressor(model, method="full").fit(X, y)


# ---- coverage --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["split", "cv+", "jackknife+", "full"])
def test_intervals_cover_as_often_as_they_promise(method):
    """Over new rows of new draws, within four standard errors of the promise."""
    covered, draws, m = [], 50, 8
    for seed in range(draws):
        X, y = make_rows(29 + m, 100 + seed)
        model = ConformalRegressor(SVR(gamma=0.4), method=method, random_state=seed).fit(X[:29], y[:29])
        low, high = model.predict_interval(X[29:], 0.8).T
        covered.append(np.mean((low <= y[29:]) & (y[29:] <= high)))
    error = np.std(covered) / np.sqrt(draws)
    assert np.mean(covered) >= 0.8 - 4.0 * error
    assert np.mean(covered) <= 0.8 + 4.0 * error + (0.15 if method == "full" else 0.06)


def test_too_few_rows_give_infinite_ends():
    X, y = make_rows(12)
    for method in ("jackknife+", "split", "minmax", "full"):
        found = ConformalRegressor(method=method).fit(X, y).predict_interval(X[:2], 0.99)
        assert np.isinf(found).all()
        assert (found[:, 0] < found[:, 1]).all()


def test_ranks_are_exact():
    assert [upper_rank(9, 0.9), upper_rank(99, 0.9), upper_rank(8, 0.9), upper_rank(19, 0.95)] == [9, 90, 9, 19]
    assert [lower_rank(9, 0.9), lower_rank(99, 0.9), lower_rank(8, 0.9), lower_rank(19, 0.95)] == [1, 10, 0, 1]


# ---- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("coverage", [0.0, 1.0, -1, "0.9", None, True])
def test_coverage_is_a_share(coverage):
    X, y = make_rows(20)
    model = ConformalRegressor().fit(X, y)
    with pytest.raises(ValueError, match="coverage must be above 0 and below 1, got"):
        model.predict_interval(X, coverage)


def test_folds_hold_out_each_row_once():
    X, y = make_rows(20)
    with pytest.raises(ValueError, match="cv must hold out each row exactly once"):
        ConformalRegressor(cv=[(np.arange(10), np.arange(10, 20))]).fit(X, y)


def test_quantiles_need_a_quantile_loss():
    X, y = make_rows(20)
    with pytest.raises(ValueError, match="estimator must have the parameters loss and quantile, as SVR has, got Ridge"):
        ConformalQuantileRegressor(Ridge()).fit(X, y)
    with pytest.raises(ValueError, match="coverage must be above 0 and below 1, got 2"):
        ConformalQuantileRegressor(coverage=2).fit(X, y)


# ---- MAPIE -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("coverage", [0.8, 0.9])
def test_intervals_are_those_of_mapie(coverage):
    """Jackknife+ and CV+ on the same folds."""
    mapie = pytest.importorskip("mapie.regression")
    import sklearn.svm

    X, y = make_rows(49)
    new = make_rows(20, 1)[0]
    for method, cv in (("jackknife+", -1), ("cv+", KFold(5, shuffle=True, random_state=0))):
        theirs = mapie.CrossConformalRegressor(
            sklearn.svm.SVR(tol=1e-10), confidence_level=coverage, method="plus", cv=cv
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = theirs.fit_conformalize(X, y).predict_interval(new)[1][:, :, 0]
        ours = ConformalRegressor(SVR(**TIGHT), method=method, cv=None if cv == -1 else cv).fit(X, y)
        np.testing.assert_allclose(ours.predict_interval(new, coverage), expected, atol=1e-6)


def test_machines_of_full_intervals_are_certified_to_the_tolerance():
    """The dual of the new row is at its bound; its target is so far off that the judge sees why."""
    X, y = make_rows(60)
    full = FullRegression(SVR(gamma=0.1), X, y)
    full.predict_interval(make_rows(30, 1)[0], 0.9)
    assert 0.0 < full.fits.gap <= 1e-5
