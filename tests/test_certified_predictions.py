"""Certified predictions: no fit at tol 1e-12 contradicts an interval, a certain label or a certain support vector."""

from __future__ import annotations

import itertools
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.base import clone
from sklearn.datasets import make_classification

from maxmargin import (
    SVC,
    SVR,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
    RankSVM,
    RiskClassifier,
    RiskRegressor,
    certify_predictions,
    certify_support,
    solve,
)
from maxmargin.certificates.certificate import judge
from maxmargin.certificates.optimum.bounds import Interval
from maxmargin.certificates.optimum.intercepts import bound_own_scores, has_one_kink
from maxmargin.certificates.optimum.labels import find_certain_maxima, find_certain_votes
from maxmargin.certificates.optimum.proof import bound_optimum, enclose_judged_scores, measure_imbalance
from maxmargin.estimators.label_certification import LabelCertification, find_scale
from maxmargin.estimators.tasks import Budget
from maxmargin.model.features import Gram, gram, needed_scores
from maxmargin.model.formulations import OneClass, Risk
from maxmargin.model.kernels import RBF, Linear, Polynomial
from maxmargin.model.losses import LOSSES
from maxmargin.model.problem import Point
from maxmargin.runtime.rounding import Enclosed
from maxmargin.runtime.scikit_learn import ConvergenceWarning

INTERCEPTS = ("free", "regularised", "none")
CLASSIFIERS = [
    *(SVC(intercept=intercept, loss=loss) for intercept in INTERCEPTS for loss in ("hinge", "squared_hinge")),
    *(SVC(kernel=kernel, coef0=1.0, C=3.0) for kernel in ("linear", "poly", "laplacian")),
    SVC(multi_class="ovr"), SVC(decision_function_shape="ovo"), SVC(break_ties=True), SVC(class_weight="balanced"),
    *(NuSVC(intercept=intercept, nu=0.3) for intercept in INTERCEPTS),
    *(LinearSVC(intercept=intercept) for intercept in INTERCEPTS),
    LinearSVC(loss="hinge"), LinearSVC(multi_class="crammer_singer"),
    *(RiskClassifier(loss, intercept=intercept) for intercept in INTERCEPTS for loss in ("hinge", "logistic")),
    RiskClassifier("exponential"), RiskClassifier("logistic", multi_class="softmax", intercept="regularised"),
]  # fmt: skip
REGRESSORS = [
    *(SVR(loss=loss) for loss in ("epsilon_insensitive", "squared_epsilon_insensitive", "absolute", "huber")),
    SVR(loss="quantile", quantile=0.2), SVR(intercept="none", kernel="linear"), SVR(intercept="regularised"),
    *(NuSVR(intercept=intercept) for intercept in INTERCEPTS),
    LinearSVR(), LinearSVR(intercept="free", epsilon=0.1), LinearSVR(loss="squared_epsilon_insensitive"),
    *(RiskRegressor(loss) for loss in ("least_squares", "huber", "quantile", "poisson")),
    RiskRegressor("multivariate", intercept="none"), RankSVM(),
]  # fmt: skip


def name(model) -> str:
    """The class and what is not a default."""
    return repr(model).replace("\n", " ")


def make_data(seed: int, classes: int, n: int = 70):
    """Training rows with labels that overlap and weights, and other rows."""
    X, y = make_classification(
        n + 40, 5, n_informative=3, n_redundant=0, n_classes=classes, n_clusters_per_class=1, flip_y=0.15,
        class_sep=0.7, random_state=seed,
    )  # fmt: skip
    weight = np.random.default_rng(seed).uniform(0.2, 3.0, n)
    return X[:n] + 0.5, y[:n], weight, X[n:] + 0.5


def fit(model, X, y, weight, **parameters):
    """A fit that may stop early."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        given = {} if isinstance(model, RankSVM) else {"sample_weight": weight}
        return clone(model).set_params(**parameters).fit(X, y, **given)


def read(model, X) -> np.ndarray:
    """The decision function, or the values of a regression."""
    if isinstance(model, OneClassSVM):
        return model.decision_function(X)
    return (
        model.predict(X) if hasattr(model, "predict") and not hasattr(model, "classes_") else model.decision_function(X)
    )


def check_bounds(model, reference, X) -> None:
    """The interval of a rough fit and that of a fine one have f* in common, and each has the fine one's f but for its
    own width."""
    (lower, upper), (low, high) = model.decision_bounds(X), reference.decision_bounds(X)
    assert lower.shape == low.shape == read(model, X).shape
    assert (lower <= high).all()
    assert (low <= upper).all()
    slack = (high - low) + 1e-6 * (1.0 + np.abs(low))
    found = read(reference, X)
    assert (lower - slack <= found).all()
    assert (found <= upper + slack).all()


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name)
@pytest.mark.parametrize("classes", [2, 3])
def test_no_certain_label_is_flipped_by_a_fit_at_a_tiny_tol(model, classes):
    X, y, weight, X_new = make_data(classes, classes)
    reference = fit(model, X, y, weight, tol=1e-12)
    for tol, max_iter in ((1e-1, 3), (1e-2, 30), (1e-3, 300)):
        rough = fit(model, X, y, weight, tol=tol, max_iter=max_iter)
        found = rough.certified_predict(X_new)
        assert np.array_equal(found.labels, rough.predict(X_new))
        assert (reference.predict(X_new) == found.labels)[found.certain].all()
        check_bounds(rough, reference, X_new)
    assert reference.certified_predict(X_new).share > 0.9


@pytest.mark.parametrize("model", [*REGRESSORS, OneClassSVM(nu=0.2), OneClassSVM(kernel="linear", nu=0.4)], ids=name)
def test_intervals_hold_the_values_of_the_optimum(model):
    X, _, weight, X_new = make_data(0, 2)
    y = np.abs(X @ np.array([1.0, -0.5, 0.2, 0.0, 0.3])) + np.random.default_rng(0).exponential(0.3, len(X))
    if isinstance(model, RiskRegressor) and model.loss == "multivariate":
        y = np.column_stack([y, X[:, 0]])
    reference = fit(model, X, y, weight, tol=1e-12)
    for tol, max_iter in ((1e-1, 3), (1e-2, 30), (1e-3, 300)):
        check_bounds(fit(model, X, y, weight, tol=tol, max_iter=max_iter), reference, X_new)
    lower, upper = reference.decision_bounds(X_new)
    assert np.median(upper - lower) < 1e-2


@pytest.mark.parametrize("nu", [0.1, 0.5])
def test_certain_inliers_and_outliers_stay(nu):
    X, _, weight, X_new = make_data(3, 2)
    reference = fit(OneClassSVM(nu=nu), X, None, weight, tol=1e-12)
    for max_iter in (2, 10, 100):
        found = fit(OneClassSVM(nu=nu), X, None, weight, tol=1e-1, max_iter=max_iter).certified_predict(X_new)
        assert (reference.predict(X_new) == found.labels)[found.certain].all()
    assert found.share > 0.5


LOSS_CASES = [
    ("hinge", None),
    ("squared_hinge", None),
    ("epsilon_insensitive", 0.2),
    ("absolute", None),
    ("logistic", None),
]


@pytest.mark.parametrize(("loss", "epsilon"), LOSS_CASES)
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("kernel", [Linear(), RBF(gamma=0.3)], ids=["linear", "rbf"])
def test_any_machine_and_any_duals_make_a_proof(loss, epsilon, intercept, kernel):
    """Duals that are no solver's, and machines that are not theirs."""
    from maxmargin import solve

    rng = np.random.default_rng(7)
    X, y, c, X_new = make_data(5, 2, n=30)
    y = 2.0 * y - 1.0
    formulation = Risk(intercept, 1.0, LOSSES[loss](**({} if epsilon is None else {"epsilon": epsilon})))
    features = Gram(kernel.bind(X), kernel.samples(X), formulation.offset)
    problem = formulation.pose(features, y, c)
    best = solve(problem, tol=1e-12)
    exact = bound_optimum(problem, best.point, best.certificate)
    samples = features.kernel.samples(X_new)
    fine = exact.refine(samples, exact.bound(samples), np.ones(samples.n, bool))
    for size in (1e-4, 1e-2, 0.3):
        for _ in range(3):
            a = problem.feasible(best.point.a * (1.0 + size * rng.uniform(-1.0, 1.0, 30)))
            coef = best.point.a * (1.0 + size * rng.normal(size=30))
            point = Point(a, float(best.point.b + size * rng.normal()) if problem.balance is not None else 0.0, coef)
            bounds = bound_optimum(problem, point, judge(problem, point))
            rough = bounds.bound(samples)
            sharp = bounds.refine(samples, rough, np.ones(samples.n, bool))
            assert (rough.lower <= fine.upper).all()
            assert (fine.lower <= rough.upper).all()
            assert (sharp.lower <= fine.upper).all()
            assert (fine.lower <= sharp.upper).all()
            assert (sharp.upper - sharp.lower <= rough.upper - rough.lower).all()


def test_the_interval_of_two_points_holds_the_known_solution():
    """Labels -1 and +1 at -1 and +1, with a large C: f*(x) = x."""
    X, y = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0])
    problem = Risk("free", 1.0, LOSSES["hinge"]()).pose(Gram(Linear(), Linear().samples(X)), y, np.full(2, 10.0))
    X_new = np.linspace(-3.0, 3.0, 13)[:, None]
    for dual, w, b in itertools.product((0.3, 0.5, 0.6), (0.35, 0.5, 0.55), (-0.2, 0.0, 0.1)):
        point = Point(np.array([-dual, dual]), b, np.array([-w, w]))
        certificate = judge(problem, point)
        bounds, samples = bound_optimum(problem, point, certificate), Linear().samples(X_new)
        lower, upper = bounds.refine(samples, bounds.bound(samples), np.ones(13, bool))
        assert (lower <= X_new[:, 0]).all()
        assert (X_new[:, 0] <= upper).all()
        assert np.isfinite(upper - lower).all()


def test_the_radius_is_that_of_one_gap_not_of_two():
    """|w - w*|^2 <= P - D for the machine of the duals, and no less: this example meets it to a few percent."""
    X, y = np.array([[1.0]]), np.array([1.0])
    problem = Risk("none", 1.0, LOSSES["least_squares"]()).pose(
        Gram(Linear(), Linear().samples(X)), y, np.array([1e-3])
    )
    point = Point(np.array([0.5]))  # w* is nearly zero
    bounds = bound_optimum(problem, point, judge(problem, point))
    lower, upper = bounds.bound(Linear().samples(X))
    assert lower[0] <= 1e-3 / 1.001 <= upper[0]


# ---- without kernel values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("formulation", [Risk(), OneClass(nu=0.3)], ids=["hinge", "one class"])
@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Polynomial(degree=2, gamma=0.3, coef0=1.0)], ids=["rbf", "poly"])
def test_scores_of_the_judge_alone_hold_those_of_the_optimum(formulation, kernel):
    """Whatever duals these are the scores of; and a bound on other samples from their scores."""
    rng = np.random.default_rng(11)
    for seed in range(6):
        X, y, c, X_new = make_data(seed, 2, n=40)
        c[::7] *= 1e-6
        y = 2.0 * y - 1.0
        features = Gram(kernel.bind(X), kernel.samples(X))
        problem, samples = formulation.pose(features, y, c), kernel.bind(X).samples(X_new)
        assert has_one_kink(problem)
        best = solve(problem, tol=1e-12)
        exact = bound_optimum(problem, best.point, best.certificate)
        fine, fine_new = (
            exact.refine(each, exact.bound(each), np.ones(each.n, bool)) for each in (features.samples, samples)
        )
        for size in (0.0, 1e-6, 1e-3, 0.1, 1.0):
            a = best.point.a * (1.0 + size * rng.uniform(-1.0, 1.0, 40))
            a = problem.feasible(problem.feasible(a))
            point = Point(a, float(best.point.b + size * rng.normal()))
            certificate = judge(problem, point)
            judged = enclose_judged_scores(problem, point, certificate, problem.feasible(a))
            assert judged is not None
            found = bound_own_scores(problem, judged, certificate.gap, measure_imbalance(problem, a))
            assert (found.scores.lower <= fine.upper).all()
            assert (fine.lower <= found.scores.upper).all()
            others = exact.space.kernel.evaluate(samples, features.samples) @ a
            other = found.bound(Enclosed(others, np.full(samples.n, 1e-9)), np.sqrt(kernel.bind(X).diagonal(samples)))
            assert (other.lower <= fine_new.upper).all()
            assert (fine_new.lower <= other.upper).all()
            assert found.intercept.lower <= best.point.b + 1e-5
            assert best.point.b - 1e-5 <= found.intercept.upper
        assert np.isfinite(found.scores.upper - found.scores.lower).any()


def test_all_intercepts_are_within_their_bounds_where_an_interval_is_optimal():
    """Forty samples at the origin, half of each class: every b between -1 and 1; and with a third of one, b = 1."""
    X = np.zeros((40, 2))
    features = Gram(RBF(gamma=1.0), RBF(gamma=1.0).samples(X))
    for n_positive, low, high in ((20, -1.0, 1.0), (30, 1.0, 1.0)):
        y = np.where(np.arange(40) < n_positive, 1.0, -1.0)
        problem = Risk().pose(features, y, np.ones(40))
        result = solve(problem, tol=1e-9)
        judged = enclose_judged_scores(problem, result.point, result.certificate, problem.feasible(result.point.a))
        found = bound_own_scores(problem, judged, result.certificate.gap, 0.0)
        assert found.intercept.lower <= low <= high <= found.intercept.upper
        assert found.intercept.upper - found.intercept.lower <= high - low + 1e-2


def test_scores_in_float32_have_the_errors_of_float32(monkeypatch):
    """The judge evaluates the scores of samples beyond the margin roughly, where that is enough for P and D."""
    monkeypatch.setattr(needed_scores, "MIN_KERNEL_VALUES", 1)
    monkeypatch.setattr(gram, "MAX_FULL_GRAM_SAMPLES", 100)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 3))
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, 1.0, -1.0)
    problem = Risk().pose(Gram.from_data(RBF(gamma=0.3), X), y, rng.uniform(20.0, 100.0, 800))
    point = solve(problem, tol=1e-6).point
    certificate = judge(problem, point)
    assert len(certificate.rough) > 50
    judged = enclose_judged_scores(problem, point, certificate, problem.feasible(point.a))
    closely = problem.features.enclose(point.a, closely=True)
    off = np.abs(judged.value - closely.value)
    assert off[certificate.rough].max() > 1e-7
    assert (off <= judged.error + closely.error).all()


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("parameters", [{}, {"break_ties": True}, {"multi_class": "ovr"}], ids=repr)
def test_training_labels_that_are_certain_without_kernel_values_are_those_of_the_optimum(classes, parameters):
    X, y, weight, _ = make_data(31, classes, n=300)
    model = SVC(C=2.0, **parameters)
    reference = fit(model, X, y, weight, tol=1e-12)
    shares = []
    for tol in (1e-1, 1e-2, 1e-3, 1e-5):
        rough = fit(model, X, y, weight, tol=tol, solver="smo")
        problems = rough.pose_problems(X, y)
        problems = replace(
            problems, tasks=[task._replace(c=task.c * weight_of(problems, task, weight)) for task in problems.tasks]
        )
        work = LabelCertification(rough, problems, 0.99, Budget(None), None)
        certain, known = work.certify_by_own_scores()
        assert known
        labels, rows = rough.predict(X), np.arange(len(X)) if problems.order is None else problems.order
        assert (labels == reference.predict(X))[rows[certain]].all()
        shares.append(certain.mean())
    assert shares == sorted(shares)
    assert shares[-1] > 0.97


def weight_of(problems, task, weight):
    """The weights of the samples of a task."""
    return weight[problems.find_rows(task.index)]


def test_a_fit_that_certifies_labels_takes_its_bounds_along():
    X, y, weight, X_new = make_data(37, 3)
    model = fit(SVC(certify_labels=0.9), X, y, weight)
    copy = pickle.loads(pickle.dumps(model))
    for found, known in zip(copy.decision_bounds(X_new), model.decision_bounds(X_new), strict=True):
        np.testing.assert_array_equal(found, known)
    again = pickle.loads(pickle.dumps(copy))
    np.testing.assert_array_equal(again.decision_bounds(X_new)[0], model.decision_bounds(X_new)[0])
    model._posed_tasks = model._optimum = None  # as after a file
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X_new), copy.predict(X_new))


# ---- labels -----------------------------------------------------------------------------------------------------


def test_votes_are_certain_exactly_where_no_outcome_of_the_open_pairs_changes_them():
    rng, n_classes = np.random.default_rng(0), 4
    pairs = list(itertools.combinations(range(n_classes), 2))
    for _ in range(150):
        state = rng.choice([-1, 0, 1], len(pairs), p=[0.35, 0.3, 0.35])
        outcomes = itertools.product(*[(each,) if each else (-1, 1) for each in state])
        winners = set()
        for outcome in outcomes:
            votes = np.zeros(n_classes)
            for (i, j), sign in zip(pairs, outcome, strict=True):
                votes[i if sign > 0 else j] += 1
            winners.add(int(np.argmax(votes)))
        scores = Interval(np.where(state > 0, 0.5, -1.0)[None], np.where(state < 0, -0.5, 1.0)[None])
        for label in range(n_classes):
            assert find_certain_votes(scores, np.array([label]), n_classes, None)[0] == (winners == {label})


def test_the_largest_score_is_certain_where_no_other_interval_reaches_it():
    scores = Interval(np.array([[1.0, 0.0, -1.0], [1.0, 0.9, 0.0]]), np.array([[2.0, 0.9, 0.5], [2.0, 1.1, 0.1]]))
    assert find_certain_maxima(scores, np.array([0, 0])).tolist() == [True, False]
    assert find_certain_maxima(scores, np.array([1, 1])).tolist() == [False, False]


# ---- models of other libraries, and support vectors ---------------------------------------------------------------

FOREIGN = [
    svm.SVC(), svm.SVC(kernel="linear", C=5.0), svm.SVC(class_weight="balanced", kernel="poly", coef0=1.0),
    svm.SVC(break_ties=True), svm.SVC(decision_function_shape="ovo"), svm.NuSVC(nu=0.3), svm.LinearSVC(),
    svm.LinearSVC(loss="hinge"), svm.SVR(), svm.SVR(kernel="linear", C=0.5), svm.NuSVR(nu=0.3), svm.LinearSVR(C=0.1),
    svm.OneClassSVM(nu=0.3),
]  # fmt: skip
OURS = {each.__name__: each for each in (SVC, NuSVC, LinearSVC, SVR, NuSVR, LinearSVR, OneClassSVM)}


@pytest.mark.parametrize("model", FOREIGN, ids=name)
@pytest.mark.parametrize("tol", [0.3, 1e-4])
def test_certain_predictions_of_scikit_learn_are_those_of_the_optimum(model, tol):
    X, y, _, X_new = make_data(11, 3)
    seed = {"random_state": 0} if "random_state" in model.get_params() else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = clone(model).set_params(tol=tol, **seed).fit(X, y)
        shared = {
            key: value for key, value in model.get_params().items() if key in OURS[type(model).__name__]().get_params()
        }
        shared = {
            key: value for key, value in shared.items() if key not in ("tol", "max_iter", "probability", "shrinking")
        }
        reference = OURS[type(model).__name__](**shared).set_params(tol=1e-12).fit(X, y)
    found = certify_predictions(theirs, X, y, X_new, max_seconds=1.0)
    low, high = reference.decision_bounds(X_new)
    assert (found.lower <= high).all()
    assert (low <= found.upper).all()
    if hasattr(reference, "certified_predict"):
        assert (reference.predict(X_new) == found.labels)[found.certain].all()
    assert found.share >= (0.8 if tol < 1e-3 else 0.0)
    if hasattr(reference, "support_"):
        support = certify_support(theirs, X, y)
        is_support = np.isin(np.arange(len(y)), reference.support_)
        assert not (support.certain & ~is_support).any()
        assert not (support.excluded & is_support).any()
        assert not (support.at_bound & ~support.certain).any()
        if tol < 1e-3:
            assert (support.certain | support.excluded).mean() > 0.2


@pytest.mark.parametrize(
    "model", [SVC(), NuSVC(nu=0.4), NuSVC(intercept="none"), SVC(multi_class="ovr"), NuSVR(), SVR()], ids=name
)
def test_certain_support_vectors_are_those_of_the_optimum(model):
    X, y, weight, _ = make_data(13, 3)
    weight[::9] = 0.0
    reference = fit(model, X, y, weight, tol=1e-12)
    is_support = np.isin(np.arange(len(y)), reference.support_)
    for max_iter in (5, 50, 500):
        rough = fit(model, X, y, weight, tol=1e-2, max_iter=max_iter)
        found = certify_support(rough, X, y, weight)
        assert not (found.certain & ~is_support).any()
        assert not (found.excluded & is_support).any()
    exact = certify_support(reference, X, y, weight)
    assert (exact.certain | exact.excluded).mean() > 0.3
    assert exact.excluded[::9].all()


def test_our_own_models_are_certified_with_their_training_data():
    X, y, weight, X_new = make_data(17, 3)
    for model in (SVC(), NuSVC(nu=0.3), LinearSVC(intercept="free"), RiskClassifier("logistic")):
        fitted = fit(model, X, y, weight)
        found, own = certify_predictions(fitted, X, y, X_new, weight, max_seconds=2.0), fitted.certified_predict(X_new)
        assert (found.lower <= own.upper).all()
        assert (own.lower <= found.upper).all()
        assert found.share > 0.9


# ---- certify_labels ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        SVC(), SVC(multi_class="ovr"), NuSVC(nu=0.3), OneClassSVM(), LinearSVC(),
        LinearSVC(intercept="free", loss="hinge"), LinearSVC(multi_class="crammer_singer"), RiskClassifier("logistic"),
    ],
    ids=name,
)  # fmt: skip
def test_a_fit_goes_on_until_the_share_is_certain(model):
    X, y, weight, X_new = make_data(19, 3, n=150)
    start = {"tol": 0.3}
    rough = fit(model, X, y, weight, **start)
    found = fit(model, X, y, weight, certify_labels=0.9, **start)
    assert found.certified_share_ >= 0.9
    assert found.certified_predict(X).share >= 0.9
    assert found.certificate_.gap <= rough.certificate_.gap
    reference, predicted = fit(model, X, y, weight, tol=1e-12), found.certified_predict(X_new)
    assert (reference.predict(X_new) == predicted.labels)[predicted.certain].all()


def test_one_warning_says_what_share_was_reached_where_no_more_can_be():
    X, y = np.zeros((40, 2)), np.repeat([0, 1], 20)  # every intercept between -1 and 1 is optimal
    with pytest.warns(ConvergenceWarning, match=r"0\.00% of the training labels are certain.*asks for 99\.00%") as seen:
        model = SVC(kernel="linear", certify_labels=0.99).fit(X, y)
    assert len(seen) == 1
    assert model.certified_share_ == 0.0
    assert not model.certified_predict(X).certain.any()


@pytest.mark.parametrize("share", [-0.1, 1.5, "most"])
def test_the_share_is_between_zero_and_one(share):
    with pytest.raises(ValueError, match="certify_labels"):
        SVC(certify_labels=share).fit(np.eye(4), [0, 1, 0, 1])


# ---- refusals, forms of data ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (SVC(kernel="sigmoid"), "positive semidefinite"),
        (SVC(kernel=lambda A, B: A @ B.T), "positive semidefinite"),
        (LinearSVC(penalty="l1"), "not strongly convex"),
        (RiskClassifier("logistic", penalty="l1"), "not strongly convex"),
        (RiskClassifier("logistic", multi_class="softmax"), "free intercept"),
    ],
    ids=["sigmoid", "callable", "l1", "l1, logistic", "softmax"],
)
def test_where_nothing_can_be_proven_a_sentence_says_why(model, reason):
    X, y, weight, X_new = make_data(23, 2)
    with pytest.raises(ValueError, match=reason):
        fit(model, X, y, weight).decision_bounds(X_new)


def test_a_pickle_has_no_duals_and_says_what_to_do():
    X, y, _, X_new = make_data(29, 2)
    with pytest.raises(ValueError, match="certify_predictions"):
        pickle.loads(pickle.dumps(SVC().fit(X, y))).decision_bounds(X_new)
    copy = pickle.loads(pickle.dumps(LinearSVC().fit(X, y)))  # w and the gap will do
    lower, upper = copy.decision_bounds(X_new)
    assert (lower < upper).all()


@pytest.mark.parametrize("model", [SVC(), SVC(kernel="linear"), LinearSVC(), LinearSVC(intercept="free")], ids=name)
def test_sparse_and_float32_data_have_the_same_bounds(model):
    X, y, _, X_new = make_data(31, 3)
    X, X_new = X.astype(np.float32).astype(float), X_new.astype(np.float32).astype(float)
    dense = clone(model).fit(X, y).decision_bounds(X_new)
    for convert in (sp.csr_matrix, lambda A: A.astype(np.float32)):
        other = clone(model).fit(convert(X), y).decision_bounds(convert(X_new))
        for low, high in ((dense[0], other[1]), (other[0], dense[1])):
            assert (low <= high).all()


def test_results_are_small_and_say_what_they_are():
    X, y, _, X_new = make_data(37, 2)
    found = SVC().fit(X, y).certified_predict(X_new)
    assert repr(found) == f"<CertifiedPredictions: {found.certain.sum()} of 40 labels are certain ({found.share:.2%})>"
    assert "are certainly support vectors" in repr(certify_support(SVC().fit(X, y), X, y))
    with pytest.raises(AttributeError):
        found.labels = None


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_bounds_without_kernel_values_hold_those_with_them(intercept):
    X, y, weight, _ = make_data(41, 2)
    model = fit(SVC(intercept=intercept), X, y, weight, tol=1e-2)
    problems = model.pose_problems(X, y)
    (machine,) = model._bound_problem(problems.problem(0), model.result_)
    samples = problems.features.samples
    rough, fine = machine.bound_roughly(samples), machine.bound(samples, machine.judged)
    slack = 1e-12 * (1.0 + np.abs(fine.lower) + np.abs(fine.upper))
    assert np.isfinite(rough.lower).all()
    assert (rough.lower <= fine.lower + slack).all()
    assert (fine.upper <= rough.upper + slack).all()


def test_the_scale_of_a_share_takes_scores_as_spread_from_the_tie_to_where_they_are():
    distances = np.linspace(0.0, 10.0, 101)[1:]  # spread evenly: F(t)/t is 1/10 everywhere
    assert find_scale(distances, 100, 0.05) == pytest.approx(0.5, rel=1e-12)
    beyond = np.full(100, 4.0)  # all at a margin: as if evenly below it
    assert find_scale(beyond, 100, 0.01) == pytest.approx(0.04, rel=1e-12)
    assert find_scale(np.full(100, np.inf), 100, 0.01) == np.inf


@pytest.mark.parametrize(
    "model",
    [LinearSVC(), LinearSVC(intercept="none", loss="hinge"), RiskClassifier("logistic", intercept="regularised")],
    ids=name,
)
def test_scores_of_linear_machines_alone_hold_those_of_the_optimum(model):
    """Of each class against the rest: those that the judge has evaluated are of w, and f* is within their bounds."""
    X, y, weight, _ = make_data(41, 3, n=200)
    reference = fit(model, X, y, weight, tol=1e-12)
    low, high = reference.decision_bounds(X)
    posed = reference.pose_problems(X, y)
    for tol, max_iter in ((1e-1, 2), (1e-2, -1), (1e-6, -1)):
        rough = fit(model, X, y, weight, tol=tol, **({} if max_iter < 0 else {"max_iter": max_iter}))
        for k, result in enumerate(rough.results_):
            own = rough._bound_own_scores(posed.problem(k), result)
            if own is not None:
                np.testing.assert_allclose(
                    result.certificate.scores, posed.problem(k).features.scores(result.point.coef), atol=1e-12
                )
                assert (own.scores.lower <= high[:, k]).all()
                assert (low[:, k] <= own.scores.upper).all()
    assert own is not None
    assert (own.scores.upper - own.scores.lower).max() < 0.1
