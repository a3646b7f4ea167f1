"""Exact leave-one-out errors, held against refits without each sample."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.svm
from risk_machines import MACHINES, every_intercept, every_weighting
from textbook import make_data
from time_allowances import HANG_SECONDS

from maxmargin import SVC, SVR, risk_bounds

every_machine = pytest.mark.parametrize("name", MACHINES)


def predict_left_out(make, X, y, weight) -> np.ndarray:
    """The score of each row by a machine fitted on all others, from nothing; NaN for rows without weight."""
    f = np.full(len(y), np.nan)
    for t in range(len(y)):
        if weight is not None and weight[t] == 0:
            continue
        rest = np.arange(len(y)) != t
        model = make().fit(X[rest], y[rest], sample_weight=None if weight is None else weight[rest])
        f[t] = (model.decision_function if hasattr(model, "classes_") else model.predict)(X[[t]])[0]
    return f


def measure(f, y, labels: bool) -> np.ndarray:
    """Errors, or absolute errors."""
    return np.where(np.isnan(f), np.nan, y * f <= 0) if labels else np.abs(f - y)


@every_machine
@every_intercept
@every_weighting
def test_exact_is_brute_force(name, intercept, weighted):
    """The same error for every row as n fits from cold starts, though most of those are never made."""
    X, y, weight = make_data(name.replace("Linear", ""), n=20, weighted=weighted)

    def make():
        return MACHINES[name](C=3.0, intercept=intercept, tol=1e-9)

    bounds = risk_bounds(make().fit(X, y, sample_weight=weight), X, y, weight, exact=True, max_seconds=HANG_SECONDS)
    exact = bounds.leave_one_out
    assert not exact.undetermined.any()
    labels = bounds.kind == "classification"
    losses = measure(predict_left_out(make, X, y, weight), y, labels)
    np.testing.assert_allclose(exact.losses, losses, atol=0.0 if labels else 2e-3)
    s = np.ones(20) if weight is None else weight
    assert exact.error == pytest.approx(np.nansum(s * losses) / s.sum(), abs=1e-3)
    assert exact.refits < (s > 0).sum() or not labels
    assert exact.gap <= 1e-6


@pytest.mark.parametrize("kind", ["SVC", "SVR"])
def test_exact_is_that_of_libsvm(kind):
    """Left out one by one in scikit-learn."""
    X, y, _ = make_data(kind, n=40, seed=2)

    def make():
        return getattr(sklearn.svm, kind)(C=2.0, gamma=0.5, tol=1e-9)

    bounds = risk_bounds(make().fit(X, y), X, y, exact=True)
    losses = measure(predict_left_out(make, X, y, None), y, kind == "SVC")
    np.testing.assert_allclose(bounds.leave_one_out.losses, losses, atol=0.0 if kind == "SVC" else 2e-3)


def test_rows_given_twice_are_left_out_one_at_a_time():
    """A row whose twin stays is nearly known: leave-one-out of doubled data is not that of weights 2."""
    X, y, _ = make_data("SVC", n=24, seed=3)
    twice, twins = np.vstack([X, X]), np.append(y, y)

    def make():
        return SVC(C=5.0, gamma=2.0, tol=1e-9)

    doubled = risk_bounds(make().fit(twice, twins), twice, twins, exact=True)
    losses = measure(predict_left_out(make, twice, twins, None), twins, True)
    np.testing.assert_array_equal(doubled.leave_one_out.losses, losses)
    weighted = risk_bounds(make().fit(X, y, np.full(24, 2.0)), X, y, np.full(24, 2.0), exact=True)
    assert weighted.leave_one_out.error > doubled.leave_one_out.error + 0.1


def test_an_intercept_that_is_not_unique_is_put_in_the_middle():
    """All targets in one tube: no duals, and b is half way between the largest and the least of those that are left."""
    X, y = np.zeros((3, 1)), np.array([0.0, 0.2, 0.6])
    bounds = risk_bounds(SVR(epsilon=1.0).fit(X, y), X, y, exact=True)
    assert bounds.leave_one_out.losses == pytest.approx([0.4, 0.1, 0.5])
    assert bounds.leave_one_out.undetermined.all()
    assert not bounds.proven


@pytest.mark.parametrize("name", [name for name in MACHINES if "SVC" in name])
def test_the_last_of_its_class_is_an_error(name):
    """Without it there is one class, and a free intercept predicts that."""
    X = np.array([[-1.0], [-2.0], [-3.0], [2.0]])
    y = np.array([0, 0, 0, 1])
    bounds = risk_bounds(MACHINES[name](C=10.0, tol=1e-8, intercept="free").fit(X, y), X, y, exact=True)
    assert bounds.leave_one_out.losses.tolist() == [0.0, 0.0, 0.0, 1.0]
    assert bounds.allowed[3] == 1
