"""max_seconds: every estimator and every solver ends in time, whatever it is at."""

from __future__ import annotations

import time

import numpy as np
import pytest
from keyboard import press_ctrl_c
from long_fits import LONG, ONCE, fit_quietly, load_compiled, make_clouds
from sklearn.base import clone
from time_allowances import SLACK_SECONDS, OwnTimer

from maxmargin import SVC, LinearSVC, NuSVC, Status, path
from maxmargin.blocks import ArrayBlocks

pytestmark = pytest.mark.usefixtures("own_clock")


def measure_fit(name: str, budget: float) -> tuple[object, float]:
    """A fit with a budget, and its seconds."""
    model, X, y = LONG[name]()
    model = clone(model).set_params(max_seconds=budget)
    watch = OwnTimer()
    fit_quietly(model, X, y)
    return model, watch.seconds


def check_budget(name: str, budget: float) -> None:
    """Within a fifth and 0.2 s of the budget, with a point, and with what is known of it."""
    load_compiled(name)
    model, seconds = measure_fit(name, budget)
    assert seconds < 1.2 * budget + 0.2 + SLACK_SECONDS
    assert model.result_.status in (
        Status.MAX_SECONDS, Status.CONVERGED, Status.STALLED, Status.ROUNDING_LIMIT,
    )  # fmt: skip
    certificate = model.certificate_
    assert certificate.relative_gap < np.inf or "no time to judge" in model.result_.message
    assert certificate.primal >= certificate.dual - 1e-9 * abs(certificate.dual)


@pytest.mark.slow
@pytest.mark.parametrize("name", ONCE)
def test_every_solver_ends_in_time(name):
    """A quarter of a second, for fits that need minutes."""
    check_budget(name, 0.25)


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
    assert model.result_.n_iter == 0


@pytest.mark.slow
def test_many_classes_share_a_budget():
    """Ten against the rest, two at a time: together they take what one may take."""
    load_compiled("classes")
    model, seconds = measure_fit("classes", 1.0)
    assert seconds < 1.4 + SLACK_SECONDS
    assert len(model.results_) == 10


def test_blocks_and_paths_end_in_time():
    """Data in blocks, and a path of many values of C."""
    X, y = make_clouds(30_000, 60)
    model = LinearSVC(loss="hinge", C=1e3, tol=1e-13, max_seconds=0.5)
    fit_quietly(model, ArrayBlocks(X, y, rows=3000), None)
    watch = OwnTimer()
    fit_quietly(model, ArrayBlocks(X, y, rows=3000), None)
    assert watch.seconds < 0.8 + SLACK_SECONDS
    watch = OwnTimer()
    with pytest.warns(UserWarning, match="time budget"):
        path(X, y, Cs=np.logspace(-3, 3, 30), tol=1e-13, max_seconds=0.5)
    assert watch.seconds < 0.8 + SLACK_SECONDS


# ---- thousands of binary problems -----------------------------------------------------------------------------------

MANY = {
    "pairs": (SVC(), 350),
    "pairs of layers": (NuSVC(nu=0.1), 140),
    "rest": (LinearSVC(loss="hinge", tol=1e-12), 600),
}
many = pytest.mark.parametrize(("model", "n_classes"), MANY.values(), ids=MANY)


def make_noise(n: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels that have nothing to do with the features; every class is there."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 5)), np.r_[np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)]


def check_left_out(model, X, status: Status) -> None:
    """Problems that had no time to begin are zero, and their gap is said to be unknown; the model predicts."""
    left_out = [result for result in model.results_ if result.certificate.dual == -np.inf]
    assert left_out
    for result in left_out:
        assert result.status is status
        assert "no time to judge" in result.message
        assert not result.point.a.any() or "it is the start" in result.message  # as of a nu machine
    for result, (index, point) in zip(model.results_, model._points, strict=True):
        assert point.a.shape[-1] == len(index)
        assert result.certificate.relative_gap >= 0
    assert model.certificate_.relative_gap == np.inf == model.result_.certificate.relative_gap
    assert len(model.certificate_.parts) == len(model.results_)
    assert np.isin(model.predict(X[:5]), model.classes_).all()


@pytest.mark.slow
@many
def test_thousands_of_problems_share_a_budget(model, n_classes):
    """Those that are not begun in time are left out: to start and judge all would take many times the budget."""
    X, y = make_noise(2000, n_classes)
    fit_quietly(clone(model), X[y < 3], y[y < 3])
    model, watch = clone(model).set_params(max_seconds=0.5), OwnTimer()
    fit_quietly(model, X, y)
    assert watch.seconds < 0.8 + SLACK_SECONDS
    check_left_out(model, X, Status.MAX_SECONDS)


@many
def test_thousands_of_problems_are_interrupted(model, n_classes):
    """Control is back at once, with a model that predicts."""
    X, y = make_noise(2000, n_classes)
    fit_quietly(clone(model), X[y < 3], y[y < 3])
    model = clone(model)
    with press_ctrl_c(0.3) as sent, pytest.raises(KeyboardInterrupt):
        fit_quietly(model, X, y)
    assert sent[0].seconds < 0.2 + SLACK_SECONDS
    check_left_out(model, X, Status.INTERRUPTED)


WARM = (
    SVC(C=10.0, decision_function_shape="ovo"), NuSVC(nu=0.3, decision_function_shape="ovo"), LinearSVC(C=10.0),
    SVC(C=10.0, multi_class="ovr", intercept="regularised"),
)  # fmt: skip


@pytest.mark.parametrize("model", WARM, ids=["pairs", "layers", "linear", "rest"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_problems_that_were_left_out_go_on(model, n_jobs, monkeypatch):
    """A warm fit begins with them; and where it has no time either, every problem stays where it was."""
    monkeypatch.setattr("maxmargin.estimators.tasks.GRACE_FRACTION", 0.0)
    X, y = make_clouds(400, 5, 6)
    whole = clone(model).fit(X, y)
    model = clone(model).set_params(warm_start=True, n_jobs=n_jobs, max_seconds=1e-9)
    fit_quietly(model, X, y)
    judged = [result.certificate.relative_gap < np.inf for result in model.results_]
    assert sum(judged) == 1  # one is always begun, and a point is judged
    model.set_params(max_seconds=None).fit(X, y)
    assert model.certificate_.relative_gap <= model.tol
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))
    model.set_params(max_seconds=1e-9)
    before, decisions = [point for _, point in model._points], model.decision_function(X)
    fit_quietly(model, X, y)
    kept = [k for k, result in enumerate(model.results_) if result.certificate.relative_gap == np.inf]
    assert len(kept) == len(before) - 1
    for k in kept:
        np.testing.assert_array_equal(model.results_[k].point.a, before[k].a)
    np.testing.assert_allclose(model.decision_function(X)[:, kept], decisions[:, kept], atol=1e-9)


def test_what_was_left_out_is_said():
    """The warning counts the problems and claims no gap."""
    X, y = make_noise(2000, 200)
    with pytest.warns(
        UserWarning, match=r"gap is not known; it is the start\. tol=1e-05 is not certified in \d+ of 19900"
    ):
        SVC(max_seconds=0.3).fit(X, y)
