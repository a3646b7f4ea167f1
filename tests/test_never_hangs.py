"""Fits that hang elsewhere end here, in time, with a status and a sentence that helps; and Ctrl-C ends any of them."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from maxmargin import SVC, SVR, Status

BUDGET = 1.0


def clouds(n=600, d=5, seed=0):
    """Two overlapping classes."""
    return make_classification(n, d, n_informative=3, n_redundant=0, flip_y=0.2, random_state=seed)


def wide_feature():
    """Feature 3 spans 1e7 times the others."""
    X, y = clouds()
    X[:, 3] *= 1e7
    return SVC(kernel="linear", C=10.0), X, y


def steep_polynomial():
    """Degree 5 on values of 1e5."""
    X, y = clouds()
    return SVC(kernel="poly", degree=5, gamma=1.0), 1e5 * X, y


def hard_margin():
    """C = 1e6 on overlapping classes."""
    X, y = clouds()
    return SVC(C=1e6), X, y


def infinite_margin():
    """C = inf on classes that cannot be separated."""
    X, y = make_blobs(200, centers=2, cluster_std=5.0, random_state=0)
    return SVC(C=np.inf, kernel="linear"), X, y


def contradictions():
    """Every row twice, with both labels."""
    X, _ = clouds(200)
    return SVC(C=100.0), np.vstack([X, X]), np.repeat([0, 1], 200)


def equal_rows():
    """All rows are the same."""
    return SVC(), np.ones((50, 3)), np.arange(50) % 2


def constant_kernel():
    """k(x, z) = 1."""
    X, y = clouds(60)
    return SVC(kernel=lambda A, B: np.ones((len(A), len(B)))), X, y


def two_samples():
    """One sample of each class."""
    return SVC(), np.array([[0.0], [1.0]]), np.array([0, 1])


def far_from_zero():
    """A polynomial of values around 100."""
    rng = np.random.default_rng(0)
    return SVC(kernel="poly"), rng.normal(100.0, 1.0, (100, 2)), rng.integers(0, 2, 100)


HARD = (
    wide_feature, steep_polynomial, hard_margin, infinite_margin, contradictions, equal_rows, constant_kernel,
    two_samples, far_from_zero,
)  # fmt: skip


def fit_within(model, X, y, seconds=BUDGET):
    """The seconds a fit took with this budget, and the messages it warned with."""
    model.set_params(max_seconds=seconds)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.perf_counter()
        model.fit(X, y)
    return time.perf_counter() - began, [str(warning.message) for warning in caught]


@pytest.mark.parametrize("make", HARD, ids=lambda make: make.__name__)
def test_hard_fits_end_in_time(make):
    """Within max_seconds, fitted, with finite attributes; and if the tolerance was not reached, one warning says so."""
    model, X, y = make()
    seconds, messages = fit_within(model, X, y)
    assert seconds < BUDGET + 0.5
    assert np.isfinite(model.dual_coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert model.predict(X).shape == y.shape
    assert model.result_.status in (Status.CONVERGED, Status.MAX_SECONDS, Status.STALLED)
    assert len(messages) == (0 if model.result_.converged else 1)
    assert all("certified relative gap" in message for message in messages)


@pytest.mark.parametrize("make", [equal_rows, constant_kernel, two_samples], ids=lambda make: make.__name__)
def test_degenerate_fits_are_solved(make):
    """Problems with nothing in them are solved to the tolerance."""
    model, X, y = make()
    fit_within(model, X, y)
    assert model.result_.converged
    assert model.certificate_.relative_gap <= model.tol


@pytest.mark.parametrize(
    ("make", "advice"),
    [
        (wide_feature, r"Feature 3 spans .* times the others; scale it"),
        (steep_polynomial, r"The values of X reach .*; scale them"),
        (infinite_margin, r"C=inf asks for an almost hard margin"),
        (far_from_zero, r"has mean 1e\+02 and spread [\d.]+; centre it"),
    ],
)
def test_warnings_say_what_to_do(make, advice):
    """The warning names the feature, the values or the parameter that make the fit slow."""
    model, X, y = make()
    model.set_params(max_seconds=0.3, tol=1e-12)
    with pytest.warns(ConvergenceWarning, match=advice):
        model.fit(X, y)


def interrupt_after(seconds):
    """Send Ctrl-C to this process in a while; the list will hold the moment it was sent."""
    sent: list[float] = []

    def send():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(seconds, send)
    timer.start()
    return timer, sent


@pytest.fixture
def endless():
    """A fit that would run for minutes."""
    X, y = clouds(3000, 10)
    X[:, 3] *= 1e5
    return SVC(kernel="linear", C=1e4, tol=1e-10), X, y


def test_ctrl_c_leaves_a_fitted_model(endless):
    """KeyboardInterrupt goes on within 0.2 s, and the model has the best point so far with its certificate."""
    model, X, y = endless
    timer, sent = interrupt_after(0.7)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    ended = time.perf_counter()
    timer.join()
    assert ended - sent[0] < 0.2 + 0.3  # 0.2 s for the loop, the rest for the last certificate on a busy machine
    assert model.result_.status is Status.INTERRUPTED
    assert 0 < model.certificate_.relative_gap < np.inf
    assert model.predict(X[:5]).shape == (5,)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert SVC().fit(X[:100, :3], y[:100]).result_.converged


def test_ctrl_c_stops_all_pairs():
    """The remaining pairs of a multiclass fit end at once, with honest certificates."""
    X, y = make_blobs(900, centers=4, n_features=6, cluster_std=8.0, random_state=0)
    X[:, 2] *= 1e6
    model = SVC(kernel="linear", C=1e4, tol=1e-12)
    timer, _ = interrupt_after(0.5)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    timer.join()
    assert len(model.certificates_) == 6
    assert any(result.status is Status.INTERRUPTED for result in model.results_)
    assert model.decision_function(X[:3]).shape == (3, 4)


def test_ctrl_c_stops_a_grid_search(endless):
    """A surrounding grid search does not go on with the next candidate."""
    model, X, y = endless
    search = GridSearchCV(model, {"C": [1e4, 2e4, 3e4]}, cv=3)
    timer, sent = interrupt_after(0.7)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    timer.join()
    assert time.perf_counter() - sent[0] < 1.0


def test_a_budget_is_for_the_whole_fit():
    """Many pairs share one budget."""
    X, y = make_blobs(2000, centers=5, n_features=6, cluster_std=8.0, random_state=0)
    X[:, 2] *= 1e6
    seconds, messages = fit_within(SVC(kernel="linear", C=1e4, tol=1e-12), X, y)
    assert seconds < BUDGET + 0.5
    assert len(messages) == 1


def test_regression_ends_in_time():
    """An SVR with a budget keeps what it has."""
    X, y = clouds(1500)
    model = SVR(C=1e5, kernel="poly", degree=5, tol=1e-12)
    seconds, _ = fit_within(model, X, y.astype(float), 0.5)
    assert seconds < 1.0
    assert np.isfinite(model.predict(X)).all()
