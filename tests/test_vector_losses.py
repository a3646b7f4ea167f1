"""Losses of many scores known by their cuts: the multiclass hinge with costs and scales, and vectors of targets."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from class_problems import find_class_optimum, make_classes, pose_classes
from exact_programs import solve_exactly
from linear_problems import FORMS, INTERCEPTS, SCALING
from linear_problems import solve_elsewhere as solve_binary

from maxmargin import Bundle, RiskClassifier, RiskRegressor
from maxmargin.model.features import ClassDesign, Design
from maxmargin.model.losses import Hinge, MulticlassHinge, Multivariate, Softmax
from maxmargin.model.problem import Problem
from maxmargin.model.samples import wrap
from maxmargin.solvers.loop import solve

COSTS = np.array([[0.0, 0.4, 1.7], [1.2, 0.0, 0.9], [0.0, 2.1, 0.0]])
SCALES = np.array([[1.0, 0.5, 2.2], [1.3, 1.0, 0.6], [0.8, 1.9, 1.0]])
KINDS = {"costs": (COSTS, None), "scales": (None, SCALES), "both": (COSTS, SCALES), "plain": (None, None)}
METRICS = {
    "identity": np.eye(3),
    "full": np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.3], [0.1, 0.3, 0.7]]),
    "singular": np.outer([1.0, 2.0, -1.0], [1.0, 2.0, -1.0]),
}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_metric = pytest.mark.parametrize("metric", METRICS)
every_intercept = pytest.mark.parametrize("intercept", INTERCEPTS)
both_weights = pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
both_solvers = pytest.mark.parametrize("solver", ["auto", Bundle()], ids=["auto", "bundle"])


# ---- references -----------------------------------------------------------------------------------------------


@cache
def find_hinge_optimum(kind: str, intercept: str, weighted: bool) -> float:
    """min P over w and xi with xi_i >= Gamma (f_m - f_y + Delta) for every m and xi_i >= 0."""
    X, y, c = make_classes(20, 3, 3, weighted)
    X, y, c = X[c > 0], y[c > 0].astype(int), c[c > 0]
    costs, scales = (
        given if given is not None else plain
        for given, plain in zip(KINDS[kind], (1.0 - np.eye(3), np.ones((3, 3))), strict=True)
    )
    X = X if intercept == "none" else np.column_stack([X, np.full(len(y), 1.0 if intercept == "free" else SCALING)])
    n, d = X.shape
    rows, right = [], []
    for i in range(n):
        for m in range(3):
            w = np.zeros((3, d))
            if m != y[i]:
                w[m], w[y[i]] = scales[y[i], m] * X[i], -scales[y[i], m] * X[i]
            rows.append(np.append(w.ravel(), -np.eye(n)[i]))
            right.append(-scales[y[i], m] * costs[y[i], m] if m != y[i] else 0.0)
    ridge, used = np.append(np.ones(3 * d), np.zeros(n)), np.ones(3 * d + n, bool)
    if intercept == "free":  # the last intercept is zero: the loss sees differences only
        ridge[[d - 1, 2 * d - 1]], used[3 * d - 1] = 0.0, False
    parts = np.diag(ridge[used]), np.append(np.zeros(3 * d), c)[used], np.array(rows)[:, used], np.array(right)
    return solve_exactly(*parts).value


def make_targets(n: int = 40, d: int = 4, weighted: bool = False, seed: int = 0):
    """X, three targets that hang together, and weights of which some are zero."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.uniform(size=(n, d)) < 0.3, 0.0, rng.normal(size=(n, d)) + 0.3)
    Y = X @ rng.normal(size=(d, 3)) + 0.5 * rng.normal(size=(n, 3)) + 1.0
    weight = rng.integers(0, 4, n).astype(float) if weighted else np.ones(n)
    return X, Y, weight


def solve_normal_equations(X, Y, c, M, intercept: str) -> tuple[np.ndarray, float]:
    """W + M (W X' - Y') diag(c) X = 0 for all entries of W at once, the intercepts among them; and P there."""
    Z = X if intercept == "none" else np.column_stack([X, np.full(len(X), 1.0 if intercept == "free" else SCALING)])
    ridge = np.ones((3, Z.shape[1]))
    ridge[:, -1] = 0.0 if intercept == "free" else 1.0
    matrix = np.diag(ridge.ravel()) + np.kron(M, Z.T @ (c[:, None] * Z))
    W = np.linalg.lstsq(matrix, (M @ Y.T @ (c[:, None] * Z)).ravel(), rcond=1e-12)[0].reshape(ridge.shape)
    R = Z @ W.T - Y
    return W, 0.5 * float(np.sum(ridge * W**2)) + 0.5 * float(c @ ((R @ M) * R).sum(axis=1))


def pose_vectors(M, X, Y, c, intercept: str) -> Problem:
    """The problem of all targets."""
    design = Design(wrap(X), SCALING if intercept == "regularised" else 0.0)
    balance = np.zeros(3) if intercept == "free" else None
    return Problem(ClassDesign(design, 3), np.ascontiguousarray(Y.T), c, Multivariate(M), balance)


def draw_terms(loss, seed: int):
    """The terms of a loss over random targets, some without weight, and a generator for the rest."""
    rng = np.random.default_rng(seed)
    c = rng.uniform(0.2, 2.0, 12)
    c[:2] = 0.0
    y = rng.integers(0, 3, 12).astype(float) if loss.target == "class" else rng.normal(size=(3, 12))
    return loss.terms(y, c), c, rng


LOSSES = {
    **{kind: MulticlassHinge(*matrices) for kind, matrices in KINDS.items()},
    **{metric: Multivariate(M) for metric, M in METRICS.items()},
}
every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)


# ---- the losses themselves ------------------------------------------------------------------------------------


@every_loss
def test_fenchel_and_young(loss):
    """c l(f) + conj(a) >= -a.f for all f and feasible a, with equality at the response."""
    terms, c, rng = draw_terms(loss, 0)
    counted = c > 0
    for scale in (0.3, 3.0):
        places = [scale * rng.normal(size=(3, 12)) for _ in range(20)]
        for f in places:
            a = terms.response(f)[0]
            slack = terms.value(f) + terms.conjugate(a) + (a * f).sum(axis=0)
            np.testing.assert_allclose(slack[counted], 0.0, atol=1e-10 * scale**2)
            for other in places:
                assert np.all((terms.value(other) + terms.conjugate(a) + (a * other).sum(axis=0))[counted] >= -1e-10)


@every_loss
def test_subgradient(loss):
    """c l(g) >= c l(f) - a.(g - f) for all g, and zero where there is no weight."""
    terms, c, rng = draw_terms(loss, 1)
    for _ in range(100):
        f, g = 2.0 * rng.normal(size=(2, 3, 12))
        a = terms.response(f)[0]
        assert np.all(terms.value(g) - terms.value(f) + (a * (g - f)).sum(axis=0) >= -1e-10)
        assert not a[:, c == 0].any()
        assert not terms.value(f)[c == 0].any()


@every_loss
def test_repair(loss):
    """Any duals become feasible: their conjugates are finite, and each component sums to its balance."""
    terms, _, rng = draw_terms(loss, 2)
    for scale in (0.01, 1.0, 30.0):
        for balance in (None, np.zeros(3)):
            a = terms.repair(scale * rng.normal(size=(3, 12)), balance)
            assert np.isfinite(terms.conjugate(a)).all()
            if balance is not None:
                assert np.abs(a.sum(axis=1)).max() <= 1e-12 * max(np.abs(a).sum(), 1e-300)


@every_loss
def test_repair_leaves_what_is_feasible(loss):
    """The response at any scores is feasible, and stays as it is."""
    terms, _, rng = draw_terms(loss, 3)
    a = terms.response(rng.normal(size=(3, 12)))[0]
    np.testing.assert_allclose(terms.repair(a, None), a, atol=1e-12)


def test_value_of_the_hinge_by_hand():
    """max_k Gamma(y, k) (f_k - f_y + Delta(y, k)), for one sample of each class."""
    f = np.array([[0.2, 1.0, -0.5], [0.7, 0.1, 0.4], [-0.3, 0.6, 0.0]])  # a row a class, a column a sample
    value = MulticlassHinge(COSTS, SCALES).terms(np.arange(3.0), np.ones(3)).value(f)
    by_hand = [
        max(0.0, 0.5 * (0.7 - 0.2 + 0.4), 2.2 * (-0.3 - 0.2 + 1.7)),
        max(0.0, 1.3 * (1.0 - 0.1 + 1.2), 0.6 * (0.6 - 0.1 + 0.9)),
        max(0.0, 0.8 * (-0.5 - 0.0 + 0.0), 1.9 * (0.4 - 0.0 + 2.1)),
    ]
    np.testing.assert_allclose(value, by_hand, rtol=1e-14)


def test_softmax_by_hand():
    """log sum exp f - f_y and softmax(f) - e_y: Schmidt-Thieme (n.d.), table 6."""
    f, y, c = np.random.default_rng(7).normal(size=(3, 8)), np.arange(8) % 3, np.linspace(0.5, 2.0, 8)
    terms = Softmax().terms(y, c)
    shares = np.exp(f) / np.exp(f).sum(axis=0)
    np.testing.assert_allclose(terms.value(f), c * (np.log(np.exp(f).sum(axis=0)) - f[y, np.arange(8)]), rtol=1e-13)
    np.testing.assert_allclose(-terms.response(f)[0], c * (shares - np.eye(3)[:, y]), atol=1e-13)


def test_losses_are_equal_where_their_matrices_are():
    """A bundle that remembers asks."""
    assert MulticlassHinge(COSTS, None) == MulticlassHinge(COSTS.copy(), None)
    assert MulticlassHinge(COSTS, None) != MulticlassHinge(None, COSTS)
    assert MulticlassHinge(COSTS, None) != MulticlassHinge()
    assert Multivariate(np.eye(2)) == Multivariate(np.eye(2))
    assert Multivariate(np.eye(2)) != Multivariate(2.0 * np.eye(2))
    assert Multivariate(METRICS["singular"]).curvature == pytest.approx(6.0)


# ---- the multiclass hinge with costs and scales ---------------------------------------------------------------


@both_weights
@every_intercept
@every_kind
def test_hinge_with_costs_and_scales(kind, intercept, weighted):
    """P and D meet at the optimum of a quadratic program, for dense and for sparse data."""
    X, y, c = make_classes(20, 3, 3, weighted)
    optimum = find_hinge_optimum(kind, intercept, weighted)
    for form in FORMS.values():
        result = solve(pose_classes(MulticlassHinge(*KINDS[kind]), form(X), y, c, intercept), Bundle(), tol=1e-6)
        assert result.converged
        assert result.certificate.relative_gap <= 1e-6
        assert result.certificate.primal == pytest.approx(optimum, rel=1e-6)
        assert result.certificate.dual <= optimum * (1.0 + 1e-9)


@every_intercept
def test_costs_of_one_are_crammer_and_singer(intercept):
    """Delta = 1 - I, Gamma = 1: the matrices say what is said without them."""
    X, y, c = make_classes()
    loss = MulticlassHinge(1.0 - np.eye(3), np.ones((3, 3)))
    result = solve(pose_classes(loss, X, y, c, intercept), tol=1e-6)
    assert result.converged
    assert result.certificate.primal == pytest.approx(find_class_optimum("multiclass_hinge", intercept), rel=1e-6)


@every_intercept
@pytest.mark.parametrize("scales", [None, np.array([[1.0, 0.4], [2.5, 1.0]])], ids=["plain", "scales"])
def test_two_classes_are_the_binary_hinge(scales, intercept):
    """w_1 = -w_0 = v / 2 gives 1/4 |v|^2 + sum c Gamma hinge(v): half the binary P at 2 c Gamma."""
    X, y, c = make_classes(k=2, weighted=True)
    result = solve(pose_classes(MulticlassHinge(None, scales), X, y, c, intercept), Bundle(), tol=1e-6)
    assert result.converged
    weigh = 1.0 if scales is None else np.where(y > 0, scales[1, 0], scales[0, 1])
    binary = solve_binary(Hinge(), X, 2.0 * y - 1.0, 2.0 * c * weigh, intercept)
    assert result.certificate.primal == pytest.approx(0.5 * binary, rel=1e-6)


@pytest.mark.parametrize("method", ["ocas", "proximal-bundle"])
@every_intercept
def test_small_tolerances(intercept, method):
    """A gap of 1e-8 is within reach of double precision."""
    X, y, c = make_classes(20, 3)
    problem = pose_classes(MulticlassHinge(None, SCALES), X, y, 2.0 * c, intercept)
    result = solve(problem, Bundle(method), tol=1e-8, max_iter=150)
    assert result.converged
    assert result.certificate.relative_gap <= 1e-8


@every_intercept
def test_costs_and_scales_scale(intercept):
    """Gamma = 2 is C twice; Delta = t is w and P / t at C / t: t^2 of the plain P."""
    X, y, c = make_classes(20, 3)

    def find(costs, scales, c):
        result = solve(pose_classes(MulticlassHinge(costs, scales), X, y, c, intercept), Bundle(), tol=1e-6)
        assert result.converged
        return result.certificate.primal

    assert find(None, np.full((3, 3), 2.0), c) == pytest.approx(find(None, None, 2.0 * c), rel=2e-6)
    assert find(3.0 - 3.0 * np.eye(3), None, c) == pytest.approx(9.0 * find(None, None, c / 3.0), rel=2e-6)


@every_intercept
def test_estimator_with_costs_and_scales(intercept):
    """RiskClassifier poses that problem; classes have names, and rows and columns are in their order."""
    X, y, _ = make_classes(20, 3)
    names = np.array(["amber", "blue", "coral"])[y.astype(int)]
    settings = {"C": 0.7, "intercept": intercept, "intercept_scaling": SCALING, "tol": 1e-6}
    model = RiskClassifier(multi_class="crammer_singer", label_costs=COSTS.tolist(), label_scales=SCALES, **settings)
    for form in FORMS.values():
        model.fit(form(X), names)
        assert model.certificate_.primal == pytest.approx(find_hinge_optimum("both", intercept, False), rel=1e-6)
        assert model.coef_.shape == (3, 3)
        f = model.decision_function(form(X))
        np.testing.assert_array_equal(model.predict(form(X)), model.classes_[f.argmax(axis=1)])


@every_intercept
def test_estimator_with_costs_of_two_classes(intercept):
    """One row of coefficients, the difference of the two; the scales are weights of the classes."""
    X, y, _ = make_classes(30, 3, 2)
    settings = {"intercept": intercept, "tol": 1e-8, "C": 0.7}
    scales = [[1.0, 20.0], [0.3, 1.0]]
    model = RiskClassifier(
        multi_class="crammer_singer", label_scales=scales, solver=Bundle("proximal-bundle"), **settings
    )
    binary = RiskClassifier(class_weight={0: 40.0, 1: 0.6}, **settings)  # twice as much: see the test above
    assert model.fit(X, y).certificate_.primal == pytest.approx(0.5 * binary.fit(X, y).certificate_.primal, rel=1e-7)
    np.testing.assert_allclose(model.coef_, binary.coef_, atol=1e-3 * np.abs(binary.coef_).max())
    np.testing.assert_array_equal(model.predict(X), binary.predict(X))


def test_diagonals_do_not_count():
    """Being right costs nothing, whatever the matrix says."""
    X, y, _ = make_classes(20, 3)
    settings = {"multi_class": "crammer_singer", "label_costs": COSTS, "label_scales": SCALES, "tol": 1e-6}
    one = RiskClassifier(**settings).fit(X, y)
    settings |= {"label_costs": COSTS + 5.0 * np.eye(3), "label_scales": SCALES - np.eye(3)}
    np.testing.assert_array_equal(RiskClassifier(**settings).fit(X, y).coef_, one.coef_)


def test_dear_errors_are_avoided():
    """Where it is dear to take the first class for another, fewer of its samples are lost."""
    X, y, _ = make_classes(90, 2, seed=3)
    scales = np.ones((3, 3))
    scales[0] = 20.0
    plain, dear = (RiskClassifier(multi_class="crammer_singer", label_scales=each).fit(X, y) for each in (None, scales))
    lost = [np.count_nonzero(model.predict(X[y == 0]) != 0) for model in (plain, dear)]
    assert lost[1] < lost[0]


@pytest.mark.parametrize("name", ["label_costs", "label_scales"])
@pytest.mark.parametrize(
    ("matrix", "sentence"),
    [
        (np.ones((2, 3)), r"a row and a column for each of 3 classes, got shape \(2, 3\)"),
        (np.ones(3), r"for each of 3 classes, got shape \(3,\)"),
        ([[0, 1, 1], [1, 0, -2], [1, 1, 0]], r"must be finite and .*, but .*\[1, 2\] is -2"),
        ([[0, 1, 1], [1, 0, 1], [np.nan, 1, 0]], r"\[2, 0\] is nan"),
        ([[0, np.inf, 1], [1, 0, 1], [1, 1, 0]], r"\[0, 1\] is inf"),
        ([["a", "b", "c"]] * 3, "must be a matrix of numbers"),
    ],
    ids=["shape", "vector", "negative", "nan", "inf", "text"],
)
def test_bad_label_matrices(name, matrix, sentence):
    """A sentence with the name and the place."""
    X, y, _ = make_classes(20, 3)
    with pytest.raises(ValueError, match=sentence) as caught:
        RiskClassifier(multi_class="crammer_singer", **{name: matrix}).fit(X, y)
    assert name in str(caught.value)


def test_other_bad_label_matrices():
    """A scale of zero, and matrices for a machine that has no use for them."""
    X, y, _ = make_classes(20, 3)
    with pytest.raises(ValueError, match=r"label_scales must be finite and above 0, but label_scales\[0, 2\] is 0\."):
        RiskClassifier(multi_class="crammer_singer", label_scales=[[1, 1, 0], [1, 1, 1], [1, 1, 1]]).fit(X, y)
    for name in ("label_costs", "label_scales"):
        with pytest.raises(ValueError, match=f"{name} needs multi_class='crammer_singer', got 'ovr'"):
            RiskClassifier(**{name: np.ones((3, 3))}).fit(X, y)
        with pytest.raises(ValueError, match=f"{name} needs multi_class='crammer_singer', got 'softmax'"):
            RiskClassifier("logistic", multi_class="softmax", **{name: np.ones((3, 3))}).fit(X, y)


# ---- vectors of targets ---------------------------------------------------------------------------------------


@both_solvers
@every_intercept
@every_metric
def test_vectors_meet_the_normal_equations(metric, intercept, solver):
    """P is that of the closed form, certified; so is w, which the penalty makes unique, for dense and sparse data."""
    X, Y, weight = make_targets(weighted=True)
    W, optimum = solve_normal_equations(X, Y, 0.7 * weight, METRICS[metric], intercept)
    for form in FORMS.values():
        result = solve(pose_vectors(METRICS[metric], form(X), Y, 0.7 * weight, intercept), solver, tol=1e-8)
        assert result.converged
        assert result.certificate.primal == pytest.approx(optimum, rel=1e-8)
        assert result.certificate.dual <= optimum * (1.0 + 1e-9)
        np.testing.assert_allclose(result.point.coef[:, :4], W[:, :4], atol=2e-3)


@both_solvers
@every_intercept
def test_identity_is_a_fit_for_each_target(solver, intercept):
    """Without M the targets do not know of each other."""
    X, Y, weight = make_targets(weighted=True)
    settings = {"C": 0.7, "intercept": intercept, "tol": 1e-9}
    model = RiskRegressor("multivariate", solver=solver, **settings).fit(X, Y, weight)
    alone = [RiskRegressor("least_squares", **settings).fit(X, y, weight) for y in Y.T]
    np.testing.assert_allclose(model.coef_, [each.coef_ for each in alone], atol=1e-3)
    np.testing.assert_allclose(model.predict(X), np.column_stack([each.predict(X) for each in alone]), atol=2e-3)
    assert model.certificate_.primal == pytest.approx(sum(each.certificate_.primal for each in alone), rel=1e-8)


@every_metric
@every_intercept
def test_estimator_of_vectors(intercept, metric):
    """RiskRegressor finds the W of the normal equations, and b where M can tell."""
    X, Y, weight = make_targets(weighted=True)
    W, _ = solve_normal_equations(X, Y, 0.7 * weight, METRICS[metric], intercept)
    settings = {"intercept": intercept, "intercept_scaling": SCALING, "tol": 1e-10}
    model = RiskRegressor("multivariate", C=0.7, M=METRICS[metric].tolist(), **settings).fit(X, Y, weight)
    np.testing.assert_allclose(model.coef_, W[:, :4], atol=1e-7)
    if intercept != "none" and metric != "singular":
        np.testing.assert_allclose(model.intercept_, W[:, 4] * (1.0 if intercept == "free" else SCALING), atol=1e-7)


def test_weights_of_vectors_are_repeated_rows():
    """And weight zero is a row left out."""
    X, Y, weight = make_targets(weighted=True)
    times = weight.astype(int)
    for solver, accuracy in (("auto", 1e-9), (Bundle(), 1e-3)):
        settings = {"M": METRICS["full"], "tol": 1e-9, "solver": solver}
        weighed = RiskRegressor("multivariate", **settings).fit(X, Y, weight)
        repeated = RiskRegressor("multivariate", **settings).fit(
            np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0)
        )
        np.testing.assert_allclose(weighed.coef_, repeated.coef_, atol=accuracy)
        np.testing.assert_allclose(weighed.intercept_, repeated.intercept_, atol=accuracy)
        assert weighed.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-8)


@both_solvers
def test_shapes(solver):
    """Of coefficients, intercepts and predictions, for three targets, for one, and for one without a second axis."""
    X, Y, _ = make_targets()
    for y, k in ((Y, 3), (Y[:, :1], 1)):
        model = RiskRegressor("multivariate", solver=solver).fit(sp.csr_array(X), y)
        assert (model.coef_.shape, model.intercept_.shape, model.predict(X).shape) == ((k, 4), (k,), (40, k))
        np.testing.assert_allclose(model.predict(X), X @ model.coef_.T + model.intercept_, atol=1e-12)
    flat = RiskRegressor("multivariate", solver=solver, tol=1e-9).fit(X, Y[:, 0])
    alone = RiskRegressor("least_squares", tol=1e-9).fit(X, Y[:, 0])
    np.testing.assert_allclose(np.ravel(flat.coef_), alone.coef_, atol=1e-3)
    assert np.size(flat.predict(X)) == 40


def test_vectors_in_float32():
    """The numbers are the same, so is the fit."""
    X, Y, _ = make_targets()
    X, Y = X.astype(np.float32), Y.astype(np.float32)
    for solver in ("auto", Bundle()):
        single, double = (
            RiskRegressor("multivariate", solver=solver).fit(*data)
            for data in ((X, Y), (X.astype(float), Y.astype(float)))
        )
        assert single.certificate_.relative_gap <= 1e-4
        assert single.certificate_.primal == pytest.approx(double.certificate_.primal, rel=1e-4)


@pytest.mark.parametrize(
    ("M", "sentence"),
    [
        ([[1.0, 0.5, 0.0], [0.2, 1.0, 0.0], [0.0, 0.0, 1.0]], "M must be finite and symmetric"),
        (np.full((3, 3), np.nan), "M must be finite and symmetric"),
        (np.diag([1.0, -0.5, 1.0]), "M must be positive semidefinite, but has the eigenvalue -0.5"),
        (-np.eye(3), "M must be positive semidefinite, but has the eigenvalue -1"),
        (np.eye(2), r"a row and a column for each of 3 targets, got shape \(2, 2\)"),
        (np.ones(3), r"for each of 3 targets, got shape \(3,\)"),
        ([["a"] * 3] * 3, "M must be a matrix of numbers"),
    ],
    ids=["skew", "nan", "indefinite", "negative", "shape", "vector", "text"],
)
def test_bad_metrics(M, sentence):
    """A sentence for each."""
    X, Y, _ = make_targets()
    with pytest.raises(ValueError, match=sentence):
        RiskRegressor("multivariate", M=M).fit(X, Y)


def test_bad_targets():
    """Three axes, none, and numbers that are not."""
    X, Y, _ = make_targets()
    for bad in (Y[:, :, None], Y[:, :0]):
        with pytest.raises(ValueError):
            RiskRegressor("multivariate").fit(X, bad)
    Y[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        RiskRegressor("multivariate").fit(X, Y)


def test_metric_of_zero():
    """M = 0 asks for nothing: w = 0, and the gap is closed."""
    X, Y, _ = make_targets()
    for solver in ("auto", Bundle()):
        model = RiskRegressor("multivariate", M=np.zeros((3, 3)), solver=solver).fit(X, Y)
        np.testing.assert_array_equal(model.coef_, 0.0)
        assert model.certificate_.gap == 0.0
