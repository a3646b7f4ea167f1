"""What a fit of a kernel machine reports: certificates, support vectors, margins, counts of work."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_machine_problems import every_estimator, every_model, make_model, make_targets, spread_duals
from machine_data import decide, make_classes
from textbook import make_data

from maxmargin import SVC
from maxmargin.certificates.certificate import worst
from maxmargin.solvers.result import Status


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
