"""Linear problems of few rows solved together: the same problems, the same judge, the same answers as one at a time."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import LinearSVC, LinearSVR, RiskClassifier, RiskRegressor
from maxmargin.certificates.certificate import judge
from maxmargin.certificates.small_designs import SmallDesigns
from maxmargin.model.features import Design
from maxmargin.model.kernels import Linear
from maxmargin.model.losses import LOSSES
from maxmargin.solvers.newton import together

LABEL_LOSSES = ["hinge", "squared_hinge", "logistic", "exponential"]
REAL_LOSSES = [
    "least_squares", "absolute", "quantile", "epsilon_insensitive", "squared_epsilon_insensitive", "huber", "poisson",
]  # fmt: skip
ROW_LOSSES = [name for name in LABEL_LOSSES + REAL_LOSSES if name not in ("logistic", "exponential", "poisson")]
INTERCEPTS = ["free", "regularised", "none"]


def make_rows(seed: int = 0, n: int = 90, d: int = 4):
    """Rows with a constant column, a feature of another scale, and some rows twice; classes, counts and weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.array([1.0, 30.0, 0.1, 1.0])[:d]
    X[:, -1] = 2.0
    X[n // 2 : n // 2 + 10] = X[:10]
    f = X[:, 0] + 0.05 * X[:, min(1, d - 1)]
    labels = np.digitize(f + rng.normal(size=n), [-0.7, 0.7])
    weight = rng.uniform(0.2, 3.0, n)
    return X, labels, rng.poisson(np.exp(0.5 * X[:, 0])).astype(float), weight


def make_model(loss: str, **options):
    """The machine of a loss."""
    return (RiskClassifier if loss in LABEL_LOSSES else RiskRegressor)(loss, **options)


def refuse(*arguments, **options):
    """In place of a function that must not be called."""
    raise AssertionError("another route was taken")


@pytest.fixture
def no_loop(monkeypatch):
    """Fits that would enter the loop of solvers fail."""
    monkeypatch.setattr("maxmargin.estimators.observers.solve", refuse)


# ---- the judge ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("place", [0.0, 1e6], ids=["near", "far"])
@pytest.mark.parametrize("loss", ROW_LOSSES)
def test_one_judge(loss, place, intercept):
    """At any points, certificates are those of the judge of a single problem: P, D, gap, violation and rounding."""
    rng = np.random.default_rng(1)
    X, labels, counts, weight = make_rows()
    X = X + place
    kernel = Linear().centre(X) if intercept == "free" else Linear()
    y = np.where(labels == np.arange(3)[:, None], 1.0, -1.0) if loss in LABEL_LOSSES else np.stack([counts, -counts])
    features = Design(kernel.samples(X), 1.5 if intercept == "regularised" else 0.0)
    problems = SmallDesigns(features, y, np.broadcast_to(weight, y.shape).copy(), LOSSES[loss](), intercept == "free")
    u = rng.normal(size=(len(y), X.shape[1] + 1))
    u[:, -1] *= intercept != "none"
    a = np.stack([problems.problem(k).feasible(rng.normal(size=len(X))) for k in range(len(y))])
    for k, certificate in enumerate(problems.judge(u, a)):
        expected = judge(problems.problem(k), problems.make_point(u[k], a[k]))
        found = (certificate.primal, certificate.dual, certificate.kkt, certificate.gap)
        wanted = (expected.primal, expected.dual, expected.kkt, expected.gap)
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=3.0 * expected.rounding)
        assert 0.5 * expected.rounding <= certificate.rounding <= 4.0 * expected.rounding
        close = judge(problems.problem(k), problems.make_point(u[k], a[k]), closely=True)
        slack = close.rounding + 1e-15 * abs(close.primal)
        assert certificate.primal >= close.primal - slack
        assert certificate.dual <= close.dual + slack + 1e-15 * abs(close.dual)
        assert certificate.bound >= close.bound - 2.0 * slack


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("place", [0.0, 1e6], ids=["near", "far"])
@pytest.mark.parametrize("loss", ["logistic", "poisson", "exponential"])
@pytest.mark.parametrize("n", [90, 700], ids=["a chunk", "chunks"])
def test_one_judge_of_formulas(n, loss, place, intercept, monkeypatch):
    """The same for losses without five numbers, at responses to other scores; a row without weight among them."""
    rng = np.random.default_rng(1)
    X, labels, counts, weight = make_rows(n=n)
    X, weight[3] = X + place, 0.0
    kernel = Linear().centre(X) if intercept == "free" else Linear()
    y = np.stack([counts, counts[::-1]]) if loss == "poisson" else np.where(labels == np.arange(3)[:, None], 1.0, -1.0)
    features = Design(kernel.samples(X), 1.5 if intercept == "regularised" else 0.0)
    c = np.broadcast_to(weight, y.shape).copy()
    problems = SmallDesigns(features, y, c, LOSSES[loss](), intercept == "free")
    u = 1e-2 * rng.normal(size=(len(y), X.shape[1] + 1)) / (1.0 + place)
    u[:, -1] *= intercept != "none"
    a = np.stack([problems.problem(k).terms.response(rng.normal(size=len(X)))[0] for k in range(len(y))])
    if intercept == "free":  # the dual that has most room takes up what is missing of the balance
        a = np.stack([balance_by_shrinking(dual) for dual in a])
    expected = [judge(problems.problem(k), problems.make_point(u[k], a[k])) for k in range(len(y))]
    if loss != "exponential":
        monkeypatch.setattr("maxmargin.certificates.small_designs.judge", refuse)
    for certificate, wanted in zip(problems.judge(u, a), expected, strict=True):
        assert np.isfinite(wanted.dual)
        found = (certificate.primal, certificate.dual, certificate.kkt, certificate.gap)
        np.testing.assert_allclose(
            found, (wanted.primal, wanted.dual, wanted.kkt, wanted.gap), rtol=1e-10, atol=3.0 * wanted.rounding
        )
        assert 0.5 * wanted.rounding <= certificate.rounding <= 4.0 * wanted.rounding


def balance_by_shrinking(a: np.ndarray) -> np.ndarray:
    """The duals with the larger of their positive and negative parts made smaller until both are the same."""
    up, down = a[a > 0.0].sum(), -a[a < 0.0].sum()
    return np.where(a > 0.0, a * min(down / up, 1.0), a * min(up / down, 1.0))


def test_responses_out_of_balance_have_no_certificate():
    """Duals of a logistic loss that do not balance are left to the loop."""
    X, labels, _, weight = make_rows()
    y = np.where(labels == 1, 1.0, -1.0)[None]
    problems = SmallDesigns(Design(Linear().samples(X)), y, weight[None], LOSSES["logistic"](), True)
    a = balance_by_shrinking(0.5 * y[0] * weight)
    assert problems.judge(np.zeros((1, X.shape[1] + 1)), a[None])[0] is not None
    assert problems.judge(np.zeros((1, X.shape[1] + 1)), 0.5 * y * weight)[0] is None


@pytest.mark.parametrize("spoil", [lambda a: a + 0.1, lambda a: 50.0 * a], ids=["balance", "bounds"])
def test_points_that_are_not_feasible_have_no_certificate(spoil):
    """Duals out of balance or out of bounds are left to the judge that repairs them."""
    X, labels, _, weight = make_rows()
    y = np.where(labels == 1, 1.0, -1.0)[None]
    problems = SmallDesigns(Design(Linear().samples(X)), y, weight[None], LOSSES["hinge"](), True)
    a = problems.problem(0).feasible(0.5 * y[0] * weight)
    u = np.zeros((1, X.shape[1] + 1))
    assert problems.judge(u, a[None])[0] is not None
    assert problems.judge(u, spoil(a)[None])[0] is None


# ---- the fits -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("C", [0.01, 1.0, 300.0])
@pytest.mark.parametrize("loss", LABEL_LOSSES + REAL_LOSSES)
def test_same_optimum_as_the_loop(loss, C, intercept):
    """Each problem has the optimum that the loop of solvers finds, to the tolerance, whatever the weights."""
    X, labels, counts, weight = make_rows()
    y = labels if loss in LABEL_LOSSES else counts
    weight[::7] = 0.0
    options = {"C": C, "intercept": intercept}
    small = make_model(loss, tol=1e-7, **options).fit(X, y, weight)
    other = make_model(loss, tol=1e-9, max_seconds=1e9, **options).fit(X, y, weight)
    for one, two in zip(small.certificates_, other.certificates_, strict=True):
        assert one.relative_gap <= 1e-7
        assert one.primal == pytest.approx(two.primal, rel=2e-7)
        assert one.dual <= two.primal <= two.size * 1e-9 + one.primal
    # P is strongly convex in w, so that |w - w*|^2 / 2 is at most the gap
    radii = [
        sum(np.sqrt(2.0 * part.gap) for part in pair)
        for pair in zip(small.certificates_, other.certificates_, strict=True)
    ]
    assert (np.linalg.norm(np.atleast_2d(small.coef_ - other.coef_), axis=1) <= radii).all()


@pytest.mark.parametrize("loss", LABEL_LOSSES + REAL_LOSSES)
@pytest.mark.parametrize("form", ["dense", "sparse", "float32"])
def test_small_fits_do_not_enter_the_loop(loss, form, no_loop):
    """All classes, or the one problem of a regression, are solved at once, and each has its result."""
    X, labels, counts, _ = make_rows()
    y = labels if loss in LABEL_LOSSES else counts
    X = sp.csr_array(X) if form == "sparse" else X.astype(np.float32) if form == "float32" else X
    model = make_model(loss).fit(X, y)
    assert all(result.converged and result.n_iter > 0 for result in model.results_)
    assert model.n_iter_ == max(result.n_iter for result in model.results_)
    assert model.certificate_.relative_gap <= model.tol
    for result, certificate in zip(model.results_, model.certificates_, strict=True):
        assert result.point.a.shape == y.shape
        (progress,) = result.history
        assert (progress.primal, progress.dual) == (certificate.primal, certificate.dual)


@pytest.mark.parametrize("model", [LinearSVC(), LinearSVC(loss="hinge"), LinearSVR(epsilon=0.5)], ids=repr)
def test_sparse_rows_are_the_same_rows(model):
    """What is stored does not matter."""
    X, labels, counts, _ = make_rows()
    X[np.abs(X) < 0.3] = 0.0
    y = labels if isinstance(model, LinearSVC) else counts
    dense = model.fit(X, y).coef_.copy()
    np.testing.assert_allclose(model.fit(sp.csr_array(X), y).coef_, dense, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("model", [LinearSVC(), LinearSVC(loss="hinge"), LinearSVR(epsilon=0.5)], ids=repr)
def test_hard_data(model, no_loop):
    """One feature, features of zeros, constant targets and two rows: all of them converge at once."""
    rng = np.random.default_rng(3)
    for X in (
        rng.normal(size=(40, 1)),
        np.zeros((40, 3)),
        1e-6 * rng.normal(size=(40, 3)),
        np.repeat([[0.0], [1.0]], 20),
    ):
        X = X.reshape(40, -1)
        y = np.tile([0, 1], 20) if isinstance(model, LinearSVC) else X[:, 0] + 7.0
        assert model.fit(X, y).certificate_.relative_gap <= model.tol
    X = np.array([[0.0, 1.0], [2.0, 0.0]])
    assert model.fit(X, [0, 1]).certificate_.relative_gap <= model.tol


@pytest.mark.parametrize("C", [1e-6, 1e8])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_extreme_costs(C, loss):
    """Whatever C is, the tolerance is met."""
    X, labels, _, _ = make_rows()
    model = LinearSVC(C=C, loss=loss).fit(X, labels)
    assert model.certificate_.relative_gap <= model.tol


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic", "epsilon_insensitive"])
def test_what_is_left_goes_through_the_loop(loss, monkeypatch):
    """Where a step is not enough, the loop goes on, and its steps are counted on top."""
    X, labels, counts, _ = make_rows()
    y = labels if loss in LABEL_LOSSES else counts
    monkeypatch.setattr(together, "limit_steps", lambda products: 1)
    model = make_model(loss).fit(X, y)
    assert model.certificate_.relative_gap <= model.tol
    assert all(result.converged for result in model.results_)
    assert model.n_iter_ > 1


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(max_iter=1000), LinearSVC(max_seconds=100.0), LinearSVC(solver="newton"), LinearSVC(penalty="l1"),
        LinearSVC(multi_class="crammer_singer"),
    ],
    ids=repr,
)  # fmt: skip
def test_limits_and_solvers_take_the_loop(model, monkeypatch):
    """A limit, a solver of the user's, or another problem: then nothing is solved ahead."""
    monkeypatch.setattr("maxmargin.estimators.small_designs.solve_together", refuse)
    X, labels, _, _ = make_rows()
    assert model.fit(X, labels).certificate_.relative_gap <= model.tol


def test_warm_starts_take_the_loop(monkeypatch):
    """A fit from the point of the last one needs no step."""
    X, labels, _, _ = make_rows()
    model = LinearSVC(warm_start=True).fit(X, labels)
    monkeypatch.setattr("maxmargin.estimators.small_designs.solve_together", refuse)
    assert model.fit(X, labels).n_iter_ == 0


def test_weights_of_the_one_class(monkeypatch):
    """LIBLINEAR's class weights differ from problem to problem."""
    X, labels, _, _ = make_rows()
    weight = {0: 1.0, 1: 2.0, 2: 0.5}
    ahead = LinearSVC(class_weight=weight, tol=1e-8).fit(X, labels)
    monkeypatch.setattr(together, "MAX_ENTRIES", 0)
    loop = LinearSVC(class_weight=weight, tol=1e-8).fit(X, labels)
    assert [each.primal for each in ahead.certificates_] == pytest.approx([each.primal for each in loop.certificates_])


def test_large_data_take_the_loop(monkeypatch):
    """Above a number of entries nothing changes."""
    monkeypatch.setattr(together, "take_steps", refuse)
    monkeypatch.setattr(together, "MAX_ENTRIES", 100)
    X, labels, _, _ = make_rows()
    assert LinearSVC().fit(X, labels).certificate_.relative_gap <= 1e-4


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_threads_change_nothing(loss, monkeypatch):
    """Classes on several threads have the bits that they have on one."""
    X, labels, _, _ = make_rows(n=200)
    first = LinearSVC(loss=loss).fit(X, labels)
    monkeypatch.setattr(together, "THREADS_MIN_PRODUCTS", 0)
    second = LinearSVC(loss=loss).fit(X, labels)
    np.testing.assert_array_equal(first.coef_, second.coef_)
    np.testing.assert_array_equal(first.intercept_, second.intercept_)


# ---- predictions of a few rows ------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [LinearSVC(), LinearSVR()], ids=repr)
def test_few_rows_are_scored_without_strips(model, monkeypatch):
    """A few rows have the scores that they have among many, and are checked as these are."""
    X, labels, counts, _ = make_rows(n=2200)
    model.fit(X, labels if isinstance(model, LinearSVC) else counts)
    score = model.decision_function if isinstance(model, LinearSVC) else model.predict
    many = score(X)
    monkeypatch.setattr("maxmargin.estimators.linear_machine.run_strips", refuse)
    for few in (X[:7], np.asfortranarray(X[:7]), np.repeat(X[:7], 2, axis=0)[::2], X[:7].tolist()):
        np.testing.assert_allclose(score(few), many[:7], rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match="features"):
        score(X[:7, :2])
    with pytest.raises(ValueError, match="NaN"):
        score(np.full((7, X.shape[1]), np.nan))
    with pytest.raises(AssertionError, match="another route"):
        score(X)
