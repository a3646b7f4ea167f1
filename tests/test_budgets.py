"""max_seconds: every estimator and every solver ends in time, whatever it is at."""

from __future__ import annotations

import time

import numpy as np
import pytest
from long_fits import LONG, ONCE, fit_quietly, load_compiled, make_clouds
from sklearn.base import clone

from maxmargin import SVC, LinearSVC, Status, path
from maxmargin.blocks import ArrayBlocks

BUSY = 0.4  # seconds that other programs may take away


def measure_fit(name: str, budget: float) -> tuple[object, float]:
    """A fit with a budget, and its seconds."""
    model, X, y = LONG[name]()
    model = clone(model).set_params(max_seconds=budget)
    began = time.perf_counter()
    fit_quietly(model, X, y)
    return model, time.perf_counter() - began


def check_budget(name: str, budget: float) -> None:
    """Within a fifth and 0.2 s of the budget, with a point, and with what is known of it."""
    load_compiled(name)
    model, seconds = measure_fit(name, budget)
    assert seconds < 1.2 * budget + 0.2 + BUSY
    assert model.result_.status in (Status.MAX_SECONDS, Status.CONVERGED, Status.STALLED)
    certificate = model.certificate_
    assert certificate.relative_gap < np.inf or "no time to judge" in model.result_.message
    assert certificate.primal >= certificate.dual - 1e-9 * abs(certificate.dual)


@pytest.mark.parametrize("name", ONCE)
def test_every_solver_ends_in_time(name):
    """Half a second, for fits that need minutes."""
    check_budget(name, 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("budget", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("name", LONG)
def test_every_fit_ends_in_time(name, budget):
    """More fits of every kind, and longer."""
    check_budget(name, budget)


def test_the_clock_starts_with_the_fit():
    """Kernels and checks count: a callable that takes long leaves nothing for the solver, which ends at once."""

    def slow_kernel(A, B):
        time.sleep(0.6)
        return A @ B.T

    X, y = make_clouds(200, 5)
    model = SVC(kernel=slow_kernel, C=1e6, tol=1e-13, max_seconds=0.5)
    fit_quietly(model, X, y)
    assert model.result_.status is Status.MAX_SECONDS
    assert model.result_.seconds < 0.2


def test_many_classes_share_a_budget():
    """Ten against the rest, two at a time: together they take what one may take."""
    load_compiled("classes")
    model, seconds = measure_fit("classes", 1.0)
    assert seconds < 1.4 + BUSY
    assert len(model.results_) == 10


def test_blocks_and_paths_end_in_time():
    """Data in blocks, and a path of many values of C."""
    X, y = make_clouds(30_000, 60)
    model = LinearSVC(loss="hinge", C=1e3, tol=1e-13, max_seconds=0.5)
    fit_quietly(model, ArrayBlocks(X, y, rows=3000), None)
    began = time.perf_counter()
    fit_quietly(model, ArrayBlocks(X, y, rows=3000), None)
    assert time.perf_counter() - began < 0.8 + BUSY
    began = time.perf_counter()
    with pytest.warns(UserWarning, match="time budget"):
        path(X, y, Cs=np.logspace(-3, 3, 30), tol=1e-13, max_seconds=0.5)
    assert time.perf_counter() - began < 0.8 + 2 * BUSY
