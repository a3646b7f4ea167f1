"""Time limits and interrupts of the risk bounds."""

from __future__ import annotations

import os
import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
import sklearn.svm
from sklearn.exceptions import ConvergenceWarning
from textbook import make_data

from maxmargin import SVC, risk_bounds
from maxmargin.guarantees.risk import bounds as bounds_of_model
from maxmargin.guarantees.risk import leave_one_out, stability
from maxmargin.runtime.interrupt import Interrupt


def test_exact_can_be_declined():
    """exact=False makes no refit and says nothing about it."""
    X, y, _ = make_data("SVC", n=40)
    bounds = risk_bounds(SVC().fit(X, y), X, y, exact=False)
    assert bounds.leave_one_out is None
    assert bounds.notes == ()


def make_long():
    """A problem whose refits take many seconds in all."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1500, 8)), rng.integers(0, 2, 1500)
    return SVC(C=10.0, tol=1e-3).fit(X, y), X, y


def test_auto_gives_up_what_would_take_too_long():
    """The sentence says how long it would take; everything else is there."""
    model, X, y = make_long()
    bounds = risk_bounds(model, X, y, max_seconds=0.7)
    assert bounds.leave_one_out is None
    assert any(note.startswith("Exact leave-one-out was not") for note in bounds.notes)
    assert 0 < bounds.xi_alpha <= 1
    assert bounds.radius_margin > 0


def test_the_limit_ends_what_was_asked_for():
    """exact=True goes on to the limit, and the note says how far it came."""
    model, X, y = make_long()
    bounds = risk_bounds(model, X, y, exact=True, max_seconds=1.0)
    assert bounds.leave_one_out is None
    assert any("max_seconds came after" in note or "no time" in note for note in bounds.notes)


def test_without_time_for_distances_the_ball_serves(monkeypatch):
    """|x - z| <= 2 R in a ball: the bound is looser, and still a bound."""
    X, y, _ = make_data("SVC", n=60, seed=10)
    model = SVC(C=1.0, gamma=0.2, tol=1e-7).fit(X, y)
    patient = risk_bounds(model, X, y, exact=True)
    monkeypatch.setattr(stability, "TILE_ENTRIES", 60)  # a row at a time, and the clock is looked at before the second
    monkeypatch.setattr(stability, "time", SimpleNamespace(perf_counter=lambda: np.inf))
    hasty = risk_bounds(model, X, y, exact=False)
    assert patient.notes == ()
    assert any("from the ball" in note for note in hasty.notes)
    assert (hasty.allowed >= patient.allowed).all()
    assert patient.leave_one_out.error <= patient.xi_alpha < hasty.xi_alpha
    assert hasty.proven


@pytest.mark.parametrize("kind", ["kernel", "linear"])
def test_ctrl_c_ends_it(kind):
    """KeyboardInterrupt passes through, from the refits and from the search for duals; the handler is put back."""
    model, X, y = make_long()
    if kind == "linear":
        X = X * 10.0 ** np.arange(8)
        with pytest.warns(ConvergenceWarning):
            model = sklearn.svm.LinearSVC(loss="hinge", C=100.0, max_iter=2).fit(X, y)
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        risk_bounds(model, X, y, exact=True, max_seconds=600)
    timer.join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_fit_that_was_never_judged_has_no_losses():
    """Ctrl-C long ago leaves no time for a certificate, so there are no scores to count errors by."""
    X, y, _ = make_data("SVC", n=30)
    model = SVC(C=1.0, gamma=0.5).fit(X, y)
    (posed,) = bounds_of_model.pose_model(model, X, y, None, 1.0, Interrupt())
    interrupt = Interrupt()
    interrupt.raised, interrupt.seen = True, time.perf_counter() - 1e3
    terms = leave_one_out.RefitBudget(time.perf_counter() + 1e3, False, interrupt)
    reach = stability.ScoreShiftBound(np.full(30, 2.0), True)
    found, sentence = leave_one_out.leave_each_out(posed.problem, posed.point, np.ones(30), reach, terms)
    assert found is None
    assert sentence.startswith("Exact leave-one-out was not computed")
