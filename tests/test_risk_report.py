"""What the risk bounds say: tables, warnings, errors."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from textbook import make_data

from maxmargin import SVC, SVR, LinearSVC, NuSVC, RiskClassifier, RiskRegressor, risk_bounds
from maxmargin.guarantees.risk import bounds as bounds_of_model
from maxmargin.guarantees.risk import leave_one_out
from maxmargin.solvers.smo.pairs import PairRun


def test_the_table_reads_well():
    """One line a number, the kind and the gap first."""
    X, y, _ = make_data("SVC", n=40)
    bounds = risk_bounds(SVC().fit(X, y), X, y)
    lines = str(bounds).splitlines()
    assert lines[0].startswith("classification, 40 samples, relative gap")
    assert [line.split("  ")[1] for line in lines[1:]] == [
        "training error", "xi-alpha bound", "", "radius-margin", "leave-one-out, exact",
    ]  # fmt: skip
    assert f"{bounds.leave_one_out.error:.4g}" in lines[-1]
    X, y, _ = make_data("SVR", n=40)
    assert "training mean absolute error" in str(risk_bounds(SVR().fit(X, y), X, y))


def test_a_model_far_from_its_optimum_is_told():
    """The bounds are about the optimum."""
    X, y, _ = make_data("SVC", n=60)
    with pytest.warns(ConvergenceWarning):
        model = SVC(C=100.0, max_iter=3).fit(X, y)
    bounds = risk_bounds(model, X, y)
    assert bounds.certificate.relative_gap > 1e-3
    assert bounds.notes[0].startswith("The model is not at its optimum")
    assert bounds.leave_one_out.error == risk_bounds(SVC(C=100.0).fit(X, y), X, y).leave_one_out.error


def test_refits_that_stall_are_told(monkeypatch):
    """A gap that the solver cannot close is said, and not hidden in a mean."""
    X, y, _ = make_data("SVC", n=40)
    model = SVC(C=100.0).fit(X, y)
    monkeypatch.setattr(leave_one_out, "REFIT_TOL", 0.5)
    monkeypatch.setattr(PairRun, "may_find_last_digits", lambda run: False)
    monkeypatch.setattr(bounds_of_model, "OPTIMAL_GAP", 1e-9)
    bounds = risk_bounds(model, X, y, exact=True)
    assert bounds.leave_one_out.gap > 1e-9
    assert "Exact leave-one-out is not quite exact" in bounds.notes[-1]
    assert f"{bounds.leave_one_out.gap:.2g}" in bounds.notes[-1]


def test_kernels_that_are_not_known_are_told():
    """A matrix may not be positive semidefinite; sigmoid is seen not to be."""
    X, y, _ = make_data("SVC", n=40)
    K = rbf_kernel(X, X, 0.3)
    given = risk_bounds(SVC(kernel="precomputed").fit(K, y), K, y)
    known = risk_bounds(SVC(gamma=0.3).fit(X, y), X, y)
    assert given.xi_alpha == known.xi_alpha
    assert given.radius_margin == pytest.approx(known.radius_margin, rel=1e-4)
    assert "not known" in str(given)
    sigmoid = risk_bounds(SVC(kernel="sigmoid", coef0=0.5, gamma=0.5).fit(X, y), X, y)
    assert not sigmoid.proven
    assert (sigmoid.radius_margin, sigmoid.leave_one_out) == (None, None)
    assert "not positive semidefinite" in str(sigmoid)


def test_risk_machines_with_piecewise_losses_are_taken():
    """Least squares has a row too: its leave-one-out is that of the hat matrix."""
    X, y, _ = make_data("SVR", n=40)
    bounds = risk_bounds(RiskRegressor("least_squares", C=2.0, tol=1e-9).fit(X, y), X, y, exact=True)
    Z = np.column_stack([X, np.ones(40)])
    hat = Z @ np.linalg.solve(2.0 * Z.T @ Z + np.diag([1.0, 1.0, 1.0, 0.0]), 2.0 * Z.T)
    residuals = (y - hat @ y) / (1.0 - np.diag(hat))
    np.testing.assert_allclose(bounds.leave_one_out.losses, np.abs(residuals), atol=1e-3)
    assert bounds.proven
    assert (np.abs(residuals) <= bounds.allowed).all()


ERRORS = [
    ("a string", TypeError, "risk_bounds takes a fitted SVC.*got str", lambda m, X, y: risk_bounds("model", X, y)),
    ("NuSVC", TypeError, "got NuSVC", lambda m, X, y: risk_bounds(NuSVC().fit(X, y), X, y)),
    ("another", TypeError, "got LogisticRegression", lambda m, X, y: risk_bounds(LogisticRegression(), X, y)),
    ("unfitted", NotFittedError, "not fitted", lambda m, X, y: risk_bounds(SVC(), X, y)),
    ("exact", ValueError, "exact must be True, False or 'auto', got 'yes'",
     lambda m, X, y: risk_bounds(m, X, y, exact="yes")),
    ("no time", ValueError, "max_seconds must be a positive number, got 0",
     lambda m, X, y: risk_bounds(m, X, y, max_seconds=0)),
    ("time as text", ValueError, "max_seconds must be a positive number, got '1'",
     lambda m, X, y: risk_bounds(m, X, y, max_seconds="1")),
    ("y missing", ValueError, "y is needed", lambda m, X, y: risk_bounds(m, X, None)),
    ("other rows", ValueError, "10 samples.*40", lambda m, X, y: risk_bounds(m, X[:10], y[:10])),
    ("unknown label", ValueError, "label 7", lambda m, X, y: risk_bounds(m, X, np.where(np.arange(40) == 3, 7, y))),
    ("smooth loss", ValueError, "piecewise loss of one score, and 'logistic'",
     lambda m, X, y: risk_bounds(RiskClassifier("logistic").fit(X, y), X, y)),
    ("all classes at once", ValueError, "piecewise loss of one score",
     lambda m, X, y: risk_bounds(LinearSVC(multi_class="crammer_singer").fit(X, y), X, y)),
    ("l1", ValueError, r"penalty \|w\|\^2 / 2", lambda m, X, y: risk_bounds(LinearSVC(penalty="l1").fit(X, y), X, y)),
    ("weights", ValueError, "sample_weight", lambda m, X, y: risk_bounds(m, X, y, np.ones(3))),
]  # fmt: skip


@pytest.mark.parametrize(("error", "sentence", "call"), [row[1:] for row in ERRORS], ids=[row[0] for row in ERRORS])
def test_errors_are_clear(error, sentence, call):
    """What is wrong, by name."""
    X, y, _ = make_data("SVC", n=40)
    model = SVC().fit(X, y)
    with pytest.raises(error, match=sentence):
        call(model, X, y)
