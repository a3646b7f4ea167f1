"""The xi-alpha estimates and their relatives are their formulas."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.svm
from risk_machines import every_intercept, every_weighting
from sklearn.metrics import f1_score, precision_score, recall_score
from sklearn.metrics.pairwise import rbf_kernel
from textbook import make_data

import maxmargin
from maxmargin import SVC, SVR, risk_bounds


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@every_intercept
def test_xi_alpha_is_its_formula(loss, intercept):
    """2 alpha R^2 + xi >= 1 with R^2 = max k(x, x) - k(x, z); K_ii + 1 or K_ii in place of 2 R^2 if b is not free."""
    X, y, _ = make_data("SVC", n=60, seed=4)
    model = SVC(C=2.0, gamma=0.2, loss=loss, intercept=intercept, tol=1e-9).fit(X, y)
    K = rbf_kernel(X, X, 0.2)
    alpha = np.zeros(60)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    xi = np.maximum(0.0, 1.0 - y * model.decision_function(X))
    R2 = (1.0 - K)[alpha > 0].max()
    d = 1.0 / (2.0 * 2.0) if loss == "squared_hinge" else 0.0
    rho = {"free": 2.0 * R2 + d, "regularised": 2.0, "none": 1.0}[intercept]
    flagged = rho * alpha + xi >= 1.0
    bounds = risk_bounds(model, X, y, exact=False)
    np.testing.assert_array_equal(bounds.allowed, flagged)
    assert bounds.xi_alpha == flagged.mean()
    assert bounds.proven
    assert 0.05 < bounds.xi_alpha < 0.95
    assert bounds.training == (y * model.decision_function(X) <= 0).mean()


def test_xi_alpha_does_not_depend_on_the_origin():
    """Samples moved by a constant: the same machine but for b, and the same bound; distances, not dot products."""
    X, y, _ = make_data("SVC", n=40, seed=11)
    model = SVC(kernel="linear", C=0.3, tol=1e-9)
    near, far = (risk_bounds(model.fit(Z, y), Z, y, exact=False) for Z in (X, X + 30.0))
    np.testing.assert_array_equal(near.allowed, far.allowed)
    assert near.radius_margin == pytest.approx(far.radius_margin, rel=1e-4)
    assert near.xi_alpha < 0.9


def test_precision_recall_and_f1_are_those_of_flagged_errors():
    """As if every flagged sample were predicted wrong; weights count; the second class is the positive one."""
    X, y, weight = make_data("SVC", n=60, seed=5, weighted=True)
    y = np.where(y > 0, "yes", "no")
    model = SVC(gamma=0.2).fit(X, y, sample_weight=weight)
    bounds = risk_bounds(model, X, y, weight, exact=False)
    predicted = np.where(bounds.allowed == 1, np.where(y == "yes", "no", "yes"), y)
    asked = {"pos_label": "yes", "sample_weight": weight}
    assert bounds.precision == pytest.approx(precision_score(y, predicted, **asked))
    assert bounds.recall == pytest.approx(recall_score(y, predicted, **asked))
    assert bounds.f1 == pytest.approx(f1_score(y, predicted, **asked))
    assert bounds.xi_alpha == pytest.approx(np.average(predicted != y, weights=weight))


@every_intercept
def test_regression_bound_is_its_formula(intercept):
    """|f - y| + rho |a| of each sample."""
    X, y, _ = make_data("SVR", n=50, seed=6)
    model = SVR(C=0.5, gamma=0.3, intercept=intercept, tol=1e-9).fit(X, y)
    a = np.zeros(50)
    a[model.support_] = np.abs(model.dual_coef_[0])
    R2 = (1.0 - rbf_kernel(X, X, 0.3))[a > 0].max()
    rho = {"free": 2.0 * R2, "regularised": 2.0, "none": 1.0}[intercept]
    bounds = risk_bounds(model, X, y, exact=False)
    expected = np.abs(y - model.predict(X)) + rho * a
    np.testing.assert_allclose(bounds.allowed, expected, rtol=1e-9)
    assert bounds.xi_alpha == pytest.approx(expected.mean())
    assert (bounds.precision, bounds.radius_margin, bounds.kind) == (None, None, "regression")


@pytest.mark.parametrize("kind", ["SVC", "SVR", "LinearSVC", "LinearSVR"])
@every_weighting
def test_scikit_learn_is_read(kind, weighted):
    """The same numbers for scikit-learn's model as for ours of the same problem."""
    X, y, weight = make_data(kind.replace("Linear", ""), n=50, weighted=weighted, seed=7)
    linear = "Linear" in kind
    ours = getattr(maxmargin, kind)(C=0.7, tol=1e-8, **({"intercept": "regularised"} if linear else {"gamma": 0.3}))
    theirs = getattr(sklearn.svm, kind)(C=0.7, tol=1e-8, **({"max_iter": 10**6} if linear else {"gamma": 0.3}))
    found, expected = (
        risk_bounds(model.fit(X, y, sample_weight=weight), X, y, weight, exact=True) for model in (theirs, ours)
    )
    assert found.n == (50 if weight is None else 46)
    assert found.xi_alpha == pytest.approx(expected.xi_alpha, rel=1e-3)
    assert found.leave_one_out.error == pytest.approx(expected.leave_one_out.error, rel=1e-3)
    assert found.f1 == expected.f1
    if "SVC" in kind:
        assert found.radius_margin == pytest.approx(expected.radius_margin, rel=1e-3)
