"""Texts in one compiled call: the same problems, the same judge, the same answers as through the loop."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import LinearSVC, RiskClassifier, RiskRegressor
from maxmargin.certificates.certificate import judge
from maxmargin.certificates.small_designs import SparseDesigns
from maxmargin.compiled.coordinate import DUAL, HI, INTERCEPT, LIMIT, LO, TAU, sparse_passes
from maxmargin.compiled.free_face import list_free_rows, step_on_face
from maxmargin.compiled.sparse_descent import evaluate_dual, fill_table
from maxmargin.model.features import Design
from maxmargin.model.kernels import Linear
from maxmargin.model.losses import LOSSES
from maxmargin.solvers.coordinate import COUNT_OF_NUMBERS, together

LABEL_LOSSES = ["hinge", "squared_hinge"]
REAL_LOSSES = ["epsilon_insensitive", "squared_epsilon_insensitive", "absolute", "quantile", "huber", "least_squares"]
FEATURES = together.NORMAL_MATRIX_MAX_FEATURES + 500


def make_texts(seed: int = 0, n: int = 150, d: int = FEATURES, classes: int = 3):
    """Rows of unit length with few words each, frequent and rare ones; empty rows and rows twice among them."""
    rng = np.random.default_rng(seed)
    frequency = 1.0 / (10.0 + np.arange(d))
    counts = rng.poisson(25.0 * frequency / frequency.sum(), size=(n, d)).astype(float)
    counts[[3, n - 1]] = 0.0
    counts[n // 2 : n // 2 + 8] = counts[:8]
    X = sp.csr_array(counts / np.maximum(np.linalg.norm(counts, axis=1), 1.0)[:, None])
    f = X @ rng.normal(size=d) + 0.3 * rng.normal(size=n)
    labels = np.digitize(f, np.quantile(f, np.arange(1, classes) / classes))
    return X, labels, f, rng.uniform(0.2, 3.0, n)


def make_model(loss: str, **options):
    """The machine of a loss."""
    return (RiskClassifier if loss in LABEL_LOSSES else RiskRegressor)(loss, **options)


def make_svc(**options) -> LinearSVC:
    """A machine whose intercept is regularised, unless options say otherwise."""
    return LinearSVC(**{"intercept": "regularised"} | options)


def refuse(*arguments, **options):
    """In place of a function that must not be called."""
    raise AssertionError("another route was taken")


@pytest.fixture
def no_loop(monkeypatch):
    """Fits that would enter the loop of solvers fail."""
    monkeypatch.setattr("maxmargin.estimators.observers.solve", refuse)


@pytest.fixture
def loop_only(monkeypatch):
    """A function that makes all fits go through the loop."""
    return lambda: monkeypatch.setattr("maxmargin.estimators.small_designs.has_few_entries", lambda *_: False)


# ---- the judge ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scaling", [0.0, 1.5], ids=["none", "regularised"])
@pytest.mark.parametrize("loss", LABEL_LOSSES + REAL_LOSSES)
def test_one_judge(loss, scaling):
    """At any points, certificates are those of the judge of a single problem: P, D, gap, violation and rounding."""
    rng = np.random.default_rng(1)
    X, labels, f, weight = make_texts()
    y = np.where(labels == np.arange(3)[:, None], 1.0, -1.0) if loss in LABEL_LOSSES else np.stack([f, -f])
    features = Design(Linear().samples(X), scaling)
    problems = SparseDesigns(features, y, np.broadcast_to(weight, y.shape).copy(), LOSSES[loss](), False)
    u = rng.normal(size=(len(y), X.shape[1] + 1))
    u[:, -1] *= scaling > 0.0
    a = np.stack([problems.problem(k).feasible(rng.normal(size=X.shape[0])) for k in range(len(y))])
    for k, certificate in enumerate(problems.judge(u, a)):
        point = problems.make_point(u[k], a[k])
        expected, close = (judge(problems.problem(k), point, closely=closely) for closely in (False, True))
        found = (certificate.primal, certificate.dual, certificate.kkt, certificate.gap)
        wanted = (expected.primal, expected.dual, expected.kkt, expected.gap)
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=3.0 * expected.rounding)
        np.testing.assert_allclose(certificate.scores, expected.scores, atol=1e-12)
        assert 0.5 * expected.rounding <= certificate.rounding <= 4.0 * expected.rounding
        slack = close.rounding + 1e-15 * abs(close.primal)
        assert certificate.primal >= close.primal - slack
        assert certificate.dual <= close.dual + slack + 1e-15 * abs(close.dual)


def test_duals_outside_their_bounds_have_no_certificate():
    X, labels, _, weight = make_texts()
    y = np.where(labels == 0, 1.0, -1.0)[None]
    problems = SparseDesigns(Design(Linear().samples(X), 1.0), y, weight[None], LOSSES["hinge"](), False)
    u, a = np.zeros((1, X.shape[1] + 1)), np.zeros((1, X.shape[0]))
    assert problems.judge(u, a)[0] is not None
    a[0, 5] = -1e-9 * y[0, 5]
    assert problems.judge(u, a)[0] is None


# ---- the answers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", ["free", "regularised", "none"])
@pytest.mark.parametrize("C", [0.05, 1.0, 300.0])
@pytest.mark.parametrize("loss", LABEL_LOSSES + REAL_LOSSES)
def test_same_optimum_as_the_loop(loss, C, intercept, loop_only):
    """P of both agree within their certified gaps, weights and all."""
    X, labels, f, weight = make_texts()
    target = labels if loss in LABEL_LOSSES else f
    fits = []
    for _ in range(2):
        model = make_model(loss, C=C, intercept=intercept, tol=1e-6).fit(X, target, sample_weight=weight)
        assert all(result.converged for result in model.results_)
        fits.append(model)
        loop_only()
    for one, other in zip(fits[0].certificates_, fits[1].certificates_, strict=True):
        assert one.relative_gap <= 1e-6
        assert abs(one.primal - other.primal) <= one.gap + other.gap
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, atol=5e-3 * np.abs(fits[1].coef_).max())


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
@pytest.mark.parametrize("loss", LABEL_LOSSES + REAL_LOSSES)
def test_texts_do_not_enter_the_loop(loss, tol, no_loop):
    X, labels, f, _ = make_texts()
    model = make_model(loss, intercept="regularised", tol=tol).fit(X, labels if loss in LABEL_LOSSES else f)
    assert model.certificate_.relative_gap <= tol
    assert {type(result.solver).__name__ for result in model.results_} == {"Coordinate"}
    assert model.n_iter_ == max(result.history[-1].n_iter for result in model.results_) > 0


def test_forms_of_the_same_rows(no_loop):
    """float32 values, 64-bit indices, entries given twice: the same numbers, the same w to the last digit."""
    X, labels, _, _ = make_texts()
    X = X.astype(np.float32)
    wide = sp.csr_array((X.data.astype(float), X.indices.astype(np.int64), X.indptr.astype(np.int64)), X.shape)
    halves = sp.csr_array((np.repeat(0.5 * wide.data, 2), np.repeat(X.indices, 2), 2 * X.indptr), X.shape)
    expected = make_svc(loss="hinge").fit(X, labels)
    for other in (wide, halves, sp.csr_matrix(wide)):
        np.testing.assert_array_equal(make_svc(loss="hinge").fit(other, labels).coef_, expected.coef_)


@pytest.mark.parametrize("loss", LABEL_LOSSES)
def test_rows_without_weight_are_not_there(loss, no_loop):
    X, labels, _, weight = make_texts(classes=2)
    weight[::3] = 0.0
    kept = weight > 0
    whole = make_svc(loss=loss, tol=1e-6).fit(X, labels, sample_weight=weight)
    part = make_svc(loss=loss, tol=1e-6).fit(X[np.flatnonzero(kept)], labels[kept], sample_weight=weight[kept])
    np.testing.assert_array_equal(whole.coef_, part.coef_)


def test_one_class_absent_is_refused():
    X, labels, _, weight = make_texts(classes=2)
    with pytest.raises(ValueError, match="class 1 has no sample of positive weight"):
        make_svc().fit(X, labels, sample_weight=np.where(labels == 1, 0.0, weight))


@pytest.mark.parametrize("loss", LABEL_LOSSES)
def test_rows_that_are_all_empty(loss, no_loop):
    """There is nothing but the intercept: it is that of the larger class."""
    X, labels = sp.csr_array((40, FEATURES)), np.repeat([0, 1], [10, 30])
    model = make_svc(loss=loss, tol=1e-6).fit(X, labels)
    assert not model.coef_.any()
    assert (model.predict(X) == 1).all()


@pytest.mark.parametrize("loss", LABEL_LOSSES)
@pytest.mark.parametrize("C", [1e-6, 1e6])
def test_extreme_costs(C, loss):
    X, labels, _, _ = make_texts(classes=2)
    model = make_svc(loss=loss, C=C, tol=1e-5).fit(X, labels)
    assert model.certificate_.relative_gap <= 1e-5


# ---- what goes through the loop -----------------------------------------------------------------------------------


def test_what_is_left_goes_through_the_loop(monkeypatch):
    """A problem that is not solved within its visits is gone on with, and its passes are counted."""
    monkeypatch.setattr(together, "MAX_VISITS_PER_ROW", 2)
    monkeypatch.setattr(together, "CALL_ENTRIES", 1)
    X, labels, _, _ = make_texts()
    model = make_svc(loss="hinge", tol=1e-6).fit(X, labels)
    assert all(result.converged for result in model.results_)
    assert min(result.n_iter for result in model.results_) > 2


@pytest.mark.parametrize("call", [1, 1 << 14])
def test_calls_of_any_length_take_the_same_passes(call, monkeypatch):
    """The clock is looked at between two calls; where one ends changes no digit."""
    X, labels, _, _ = make_texts()
    expected = make_svc(loss="hinge", tol=1e-6).fit(X, labels)
    monkeypatch.setattr(together, "CALL_ENTRIES", call)
    np.testing.assert_array_equal(make_svc(loss="hinge", tol=1e-6).fit(X, labels).coef_, expected.coef_)


@pytest.mark.parametrize(
    "options",
    [{"max_seconds": 60.0}, {"max_iter": 10_000}, {"solver": "coordinate"}, {"tol": 1e-9}, {"intercept": "free"}],
    ids=lambda options: next(iter(options)),
)
def test_limits_and_solvers_take_the_loop(options, monkeypatch):
    monkeypatch.setattr(together, "descend_one", refuse)
    X, labels, _, _ = make_texts()
    assert make_svc(**options).fit(X, labels).result_.converged


def test_callbacks_and_warm_starts_take_the_loop(monkeypatch):
    X, labels, _, _ = make_texts()
    model = make_svc(warm_start=True).fit(X, labels)
    monkeypatch.setattr(together, "descend_one", refuse)
    assert model.fit(X, labels).result_.converged


def test_time_that_is_over_leaves_the_start():
    X, labels, _, weight = make_texts()
    y = np.where(labels == 0, 1.0, -1.0)[None]
    problems = SparseDesigns(Design(Linear().samples(X), 1.0), y, weight[None], LOSSES["hinge"](), False)
    result = together.descend_together(problems, 1e-6, 1, lambda: True)[0]
    assert not result.converged
    assert result.n_iter == 0
    assert not result.point.a.any()


def test_threads_change_nothing(monkeypatch):
    X, labels, _, _ = make_texts(classes=5)
    fits = [make_svc(loss="hinge", tol=1e-6, n_jobs=jobs).fit(X, labels) for jobs in (1, 4)]
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)
    np.testing.assert_array_equal(fits[0].intercept_, fits[1].intercept_)


# ---- the parts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [*LABEL_LOSSES, *REAL_LOSSES])
def test_a_step_on_the_face_raises_the_dual(loss):
    """D rises, duals stay within their bounds and on their side of a kink, and w and the intercept follow them."""
    X, labels, f, weight = make_texts()
    n, d = X.shape
    row = LOSSES[loss]().terms(np.where(labels == 0, 1.0, -1.0) if loss in LABEL_LOSSES else f, weight)
    table, w, numbers, seed = np.empty((n, 8)), np.zeros(d), np.zeros(COUNT_OF_NUMBERS), np.array([1], np.uint64)
    fill_table(X.data, X.indptr, *(np.ascontiguousarray(part) for part in row), table)
    np.testing.assert_allclose(table[:, 5], X.power(2).sum(axis=1))
    order, (numbers[TAU], numbers[LIMIT]) = np.arange(n, dtype=np.int32), (1.0, np.inf)
    sparse_passes(X.data, X.indices, X.indptr, order, n, n, w, table, numbers, seed, 1, False, False)
    before, dual = table[:, DUAL].copy(), evaluate_dual(w, table, numbers)
    free = list_free_rows(order, n, table)
    assert len(free) > 10
    step_on_face(X.data, X.indices, X.indptr, order, n, w, table, numbers, 1e-9, True, np.empty(d))
    a = table[:, DUAL]
    assert evaluate_dual(w, table, numbers) > dual
    assert ((a >= table[:, LO]) & (a <= table[:, HI])).all()
    assert (a * before >= 0.0)[row.e > 0].all()
    others = np.setdiff1d(np.arange(n), free)
    np.testing.assert_array_equal(a[others], before[others])
    np.testing.assert_allclose(w, X.T @ a, atol=1e-12)
    np.testing.assert_allclose(numbers[INTERCEPT], a.sum(), atol=1e-12)


def test_a_face_without_bounds_is_solved_by_steps_alone():
    """Least squares: all duals are free, and each step leaves a twentieth of the gap."""
    X, _, f, weight = make_texts(n=60)
    n, d = X.shape
    table, w, numbers, order = np.empty((n, 8)), np.zeros(d), np.zeros(COUNT_OF_NUMBERS), np.arange(n, dtype=np.int32)
    row = LOSSES["least_squares"]().terms(f, weight)
    fill_table(X.data, X.indptr, *(np.ascontiguousarray(part) for part in row), table)
    numbers[TAU] = 1.0
    for _ in range(12):
        step_on_face(X.data, X.indices, X.indptr, order, n, w, table, numbers, 1e-15, True, np.empty(d))
    dense = X.toarray()
    expected = np.linalg.solve(dense @ dense.T + 1.0 + np.diag(1.0 / weight), f)
    np.testing.assert_allclose(table[:, DUAL], expected, atol=1e-6 * np.abs(expected).max())
