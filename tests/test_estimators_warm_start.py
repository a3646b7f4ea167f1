"""Warm starts of kernel machines, n_jobs, and fits that repeat to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_machine_problems import every_estimator, every_model, make_model, make_targets
from machine_data import decide, make_classes
from sklearn.base import clone
from textbook import make_data

from maxmargin import SVC, NuSVC


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
