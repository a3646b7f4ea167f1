"""Pairs of classes solved together: the same problems, the same judge, the same answers as one at a time."""

from __future__ import annotations

import copy
import pickle
from decimal import Decimal
from itertools import combinations

import numpy as np
import pytest
from exact_numbers import ONE, exact, many_digits, zeros
from exact_objectives import Objective, kernel_matrix
from long_fits import make_clouds
from sklearn.base import clone
from sklearn.datasets import make_blobs

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, Status, certify, solve
from maxmargin.certificates.certificate import judge
from maxmargin.estimators.small_problems import concatenate_problems, solve_small_problems
from maxmargin.estimators.tasks import Budget
from maxmargin.model.problem import Point
from maxmargin.solvers import SMO
from maxmargin.solvers.smo import together

KERNELS = [
    {"kernel": "rbf", "gamma": 0.5}, {"kernel": "linear"}, {"kernel": "poly", "gamma": 0.3, "coef0": 1.0},
    {"kernel": "laplacian", "gamma": 0.5},
]  # fmt: skip
SIGMOID = {"kernel": "sigmoid", "gamma": 0.3, "coef0": -0.5}  # not positive semidefinite


def make_classes(n: int = 260, classes: int = 5):
    """Clouds of four features that overlap."""
    return make_clouds(n, 4, classes)


def pose(model: SVC, X, y):
    """The problems of a fit."""
    return model._pose_problems(model._validate(X, y, None))


@pytest.mark.parametrize("kernel", [*KERNELS, SIGMOID], ids=lambda kernel: kernel["kernel"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_one_judge(kernel, loss):
    """Every certificate is the one that the judge of a single problem gives."""
    X, y = make_classes()
    posed = pose(SVC(loss=loss, **kernel), X, y)
    problems = concatenate_problems(posed, list(range(len(posed.tasks))))
    rng, places = np.random.default_rng(0), [problems.cut(k) for k in range(len(posed.tasks))]
    single = [posed.problem(k) for k in range(len(places))]
    parts = [problem.feasible(rng.uniform(-2, 2, problem.n)) for problem in single]
    b = rng.normal(size=len(places))
    for k, certificate in enumerate(problems.judge(np.concatenate(parts), b)):
        expected = judge(single[k], Point(parts[k], b[k]))
        found = (certificate.primal, certificate.dual, certificate.kkt)
        atol = 1e-9 * expected.primal  # the allowance for rounding is that of the largest sample, for all pairs
        np.testing.assert_allclose(found, (expected.primal, expected.dual, expected.kkt), rtol=1e-11, atol=atol)
        np.testing.assert_allclose(certificate.scores, expected.scores, rtol=1e-11, atol=1e-11 * expected.kkt)
        assert certificate.gap == pytest.approx(expected.gap, rel=1e-9)
        assert certificate.rounding >= 0.5 * expected.rounding
        assert certificate.convex is expected.convex is (kernel is not SIGMOID)


MACHINES = {
    "two classes": (SVC(), 2), "rest": (SVC(multi_class="ovr"), 3), "regression": (SVR(), 0),
    "Huber": (SVR(loss="huber"), 0), "linear": (SVR(kernel="linear"), 0), "novelty": (OneClassSVM(nu=0.3), 0),
    "nu classes": (NuSVC(nu=0.4), 2), "nu pairs": (NuSVC(nu=0.5), 3),
    "nu regression": (NuSVR(nu=0.4), 0),
}  # fmt: skip
machines = pytest.mark.parametrize(("model", "classes"), MACHINES.values(), ids=MACHINES)


def make_targets(classes: int, offset: float = 0.0):
    """Clouds of so many classes, or targets of a regression; far from the origin where `offset` says so."""
    X, labels = make_clouds(90, 3, max(classes, 2))
    return X + offset, labels if classes else X @ [1.0, -0.5, 0.3] + 0.1 * labels


@machines
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_one_judge_of_every_machine(model, classes, offset):
    """Layers, balances and floors too: P, D, violation and scores are those of the judge of a single problem."""
    X, y = make_targets(classes, offset)
    posed = pose(clone(model), X, y)
    problems = concatenate_problems(posed, list(range(len(posed.tasks))))
    single = [posed.problem(k) for k in range(len(problems))]
    rng = np.random.default_rng(0)
    parts = [problem.feasible(rng.uniform(-0.5, 0.5, problem.y.shape)) for problem in single]
    b = rng.normal(size=(len(single), problems.layers))
    a = np.concatenate([part.reshape(problems.layers, -1) for part in parts], axis=1)
    for k, certificate in enumerate(problems.judge(a, b)):
        expected = judge(single[k], Point(parts[k], b[k] if problems.layers > 1 else b[k, 0]))
        assert certificate.floor == pytest.approx(expected.floor)
        size = max(abs(expected.primal), abs(expected.dual))
        assert certificate.primal == pytest.approx(expected.primal, abs=1e-7 * size)
        assert certificate.dual == pytest.approx(expected.dual, abs=1e-7 * size)
        assert certificate.kkt == pytest.approx(expected.kkt, rel=1e-6)
        np.testing.assert_allclose(certificate.scores, expected.scores, atol=1e-8 * np.abs(expected.scores).max())
        assert certificate.primal >= expected.primal - 2.0 * expected.rounding - 1e-13 * size


@machines
@pytest.mark.parametrize("weighted", [False, True])
def test_every_machine_as_one_at_a_time(model, classes, weighted):
    """The machine, its norm and its free samples are those of the loop."""
    X, y = make_targets(classes)
    weight = np.random.default_rng(0).uniform(0.2, 2.0, len(X)) if weighted else None
    together, one = clone(model), clone(model).set_params(solver=SMO(batch=5))
    assert solve_small_problems(pose(together, X, y), together._solver(), together.tol, Budget(None))
    for each in (together, one):
        each.fit(X, y, sample_weight=weight)
        assert all(result.converged for result in each.results_)
    for mine, other in zip(together.certificates_, one.certificates_, strict=True):
        size = max(mine.size, other.size)
        assert mine.primal == pytest.approx(other.primal, abs=2e-5 * size)
    decisions = [
        each.decision_function(X) if hasattr(each, "decision_function") else each.predict(X) for each in (together, one)
    ]
    np.testing.assert_allclose(*decisions, atol=0.02 * np.abs(decisions[0]).max())
    np.testing.assert_allclose(together._norms, one._norms, rtol=0.01)
    assert all(result.seconds > 0 for result in together.results_)


def test_arrays_that_are_locked():
    """Compiled code takes a copy, and the fit is the same."""
    X, y = make_classes()
    open_fit = SVC().fit(X, y)
    X.flags.writeable = False
    np.testing.assert_array_equal(SVC().fit(X, y).dual_coef_, open_fit.dual_coef_)


def test_classes_at_different_distances():
    """Classes far away are evaluated from differences, those nearby from products, whose errors are a thousand times.

    Held against eighty digits: P at each point is no more than its `primal`, and `dual` no more than the optimum.
    """
    rng, n = np.random.default_rng(0), 12
    places = (1e6, -1e6, 1e3, 1e3 + 1.0)
    X, y = np.vstack([place + 0.7 * rng.normal(size=(n, 2)) for place in places]), np.repeat(np.arange(4), n)
    model = SVC(gamma=0.3).fit(X, y)
    with many_digits():
        for (i, j), result in zip(combinations(range(4), 2), model.results_, strict=True):
            rows, a, b = (y == i) | (y == j), exact(result.point.a), exact(np.atleast_1d(result.point.b))
            K = kernel_matrix("rbf", exact(X[rows]), Decimal(float(model._gamma)))
            sides = exact(np.where(y[rows] == i, 1.0, -1.0))
            objective = Objective(K, sides, np.full(2 * n, ONE), "hinge", ONE, zeros(1))
            value, certificate = objective.value_of_kernel(a, b), result.certificate
            assert value <= Decimal(certificate.primal)
            assert Decimal(certificate.dual) <= objective.least()
            assert value - objective.least() <= Decimal(certificate.gap)


def test_duals_that_are_not_feasible_have_no_certificate():
    """Outside their box, or out of balance: D would be no bound."""
    X, y = make_classes()
    posed = pose(SVC(), X, y)
    problems = concatenate_problems(posed, [0, 1, 2])
    a = np.zeros(problems.places)
    a[problems.cut(0).start] = posed.tasks[0].y[0] * 0.5  # alone
    outside = problems.cut(1)
    a[outside.start], a[outside.stop - 1] = 5.0, -5.0
    certificates = problems.judge(a, np.zeros(3))
    assert certificates[0] is None
    assert certificates[1] is None
    assert certificates[2] is not None


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel["kernel"])
@pytest.mark.parametrize("C", [0.1, 10.0, 1e4])
def test_as_one_at_a_time(kernel, C):
    """The machine is that of the loop, which solves pair after pair."""
    X, y = make_classes()
    model, one = SVC(C=C, **kernel), SVC(C=C, solver=SMO(batch=5), **kernel)
    for each in (model, one):
        each.fit(X, y)
        assert all(result.converged for result in each.results_)
        assert certify(each, X, y).relative_gap <= 1.1e-5
    assert np.mean(model.predict(X) == one.predict(X)) >= 0.99
    for mine, other in zip(model.certificates_, one.certificates_, strict=True):
        assert mine.dual <= other.primal * (1 + 1e-9)
        assert other.dual <= mine.primal * (1 + 1e-9)


def test_steps_that_end_at_the_optimum_itself():
    """A step to the optimum may be the last that has any effect, before the gap was looked at: nothing is left."""
    X, y = make_blobs(n_samples=100, centers=10, random_state=0)
    model = SVC(kernel="linear")
    fits = solve_small_problems(pose(model, X[:80], y[:80]), SMO(), model.tol, Budget(None))
    assert sum(fits[k].result.converged for k in range(45)) >= 43  # 36 where such a step is taken for a failure


def test_what_a_fit_has_to_say():
    """Counters, history, norms and free duals as the loop has them."""
    X, y = make_classes()
    model = SVC().fit(X, y)
    result = model.results_[0]
    assert result.status is Status.CONVERGED
    assert result.history[-1].n_iter == result.n_iter == model.n_iter_[0] > 0
    assert result.counters["hits"] + result.counters["misses"] == 2 * result.n_iter
    np.testing.assert_allclose(
        model.margin_width_, 2.0 / np.sqrt([r.point.a @ r.certificate.scores for r in model.results_])
    )
    assert set(model.free_support_) | set(model.bounded_support_) == set(model.support_)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_the_number_of_threads_changes_nothing(n_jobs):
    """Not a bit."""
    X, y = make_classes()
    first, other = SVC().fit(X, y), SVC(n_jobs=n_jobs).fit(X, y)
    np.testing.assert_array_equal(first.dual_coef_, other.dual_coef_)
    np.testing.assert_array_equal(first.intercept_, other.intercept_)


def test_a_pair_that_takes_longer_goes_on_in_the_loop(monkeypatch):
    """From where it stands, and its steps are counted."""
    monkeypatch.setattr(together, "STEPS_PER_SAMPLE", 0)
    monkeypatch.setattr(together, "MAX_SCORE_UPDATES", 2500)
    X, y = make_classes()
    model = SVC(C=100.0).fit(X, y)
    assert all(result.converged for result in model.results_)
    left = solve_small_problems(pose(SVC(C=100.0), X, y), SMO(), 1e-5, Budget(None))
    steps = [left[k].result.n_iter for k in left if not left[k].result.converged]
    assert steps
    assert all(model.n_iter_[k] > fit.result.n_iter for k, fit in left.items() if not fit.result.converged)


def test_batches_change_nothing(monkeypatch):
    """However many problems lie one after the other."""
    X, y = make_classes()
    whole = SVC().fit(X, y)
    monkeypatch.setattr("maxmargin.estimators.small_problems.BATCH_SAMPLES", 300)
    parts = SVC().fit(X, y)
    np.testing.assert_array_equal(whole.dual_coef_, parts.dual_coef_)
    np.testing.assert_array_equal(whole.intercept_, parts.intercept_)


def test_no_time_for_any():
    """A budget that is over leaves all of them to the loop, which knows what to say."""
    X, y = make_classes()
    budget = Budget(0.0)
    budget.end -= 10.0
    fits = solve_small_problems(pose(SVC(), X, y), SMO(), 1e-5, budget)
    assert not any(fit.result.converged for fit in fits.values())
    assert not any(fit.result.point.a.any() for fit in fits.values())


@pytest.mark.parametrize("changed", [{"intercept": "none"}, {"tol": 1e-8}, {"solver": SMO(selection="mvp")}], ids=str)
def test_what_is_not_solved_together(changed):
    """Other problems and other solvers than those of the compiled call."""
    X, y = make_classes()
    model = SVC(**changed)
    assert solve_small_problems(pose(model, X, y), model._solver(), model.tol, Budget(None)) == {}


@pytest.mark.parametrize(("features", "expected"), [(4, 3), (33, 0)])
def test_pairs_may_be_larger_than_other_problems(features, expected):
    """Of few features: more than 1,000 samples, as one at a time in the loop, and certified."""
    X, y = make_clouds(1600, features, 3)
    posed = pose(SVC(C=10.0), X, y)
    assert all(1000 < len(task.index) <= 2000 for task in posed.tasks)
    fits = solve_small_problems(posed, SMO(), 1e-5, Budget(None))
    assert len(fits) == expected
    for k, fit in fits.items():
        alone = solve(posed.problem(k), SMO(), tol=1e-5)
        assert fit.result.converged
        assert fit.result.certificate.primal == pytest.approx(alone.certificate.primal, rel=1e-5)


def test_many_features_have_their_whole_matrix():
    """Rows one at a time would read all data again and again."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 120)) + y[:, None]
    model = SVC()
    posed = pose(model, X, y)
    assert posed.features.segments is None
    np.testing.assert_array_equal(posed.problem(1).features.whole, posed.tasks[1].cut(posed.features).whole)
    assert all(result.converged for result in model.fit(X, y).results_)


# ---- rows as they are needed ----------------------------------------------------------------------------------------


def test_few_rows_of_a_small_problem_are_evaluated():
    """Where few samples are support vectors; the whole matrix is never formed."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(1200) % 2 > 0, 1.0, -1.0)
    X = rng.normal(size=(1200, 3)) + 2.0 * y[:, None]
    problem = SVC(gamma=0.1).pose_first_problem(X, y)
    result = solve(problem, SMO(), tol=1e-5)
    assert result.converged
    assert result.counters["rows"] < 200
    assert problem.features.whole is None


def test_the_whole_matrix_once_most_rows_were_needed():
    """And the fit is the same."""
    X, labels = make_clouds(1100, 3, 2)
    y = np.where(labels > 0, 1.0, -1.0)
    problem = SVC(gamma=50.0, C=100.0).pose_first_problem(X, y)
    result = solve(problem, SMO(), tol=1e-5)
    assert result.converged
    assert problem.features.whole is not None
    other = SVC(gamma=50.0, C=100.0).pose_first_problem(X, y)
    other.features.form()
    assert solve(other, SMO(), tol=1e-5).certificate.primal == pytest.approx(result.certificate.primal, rel=2e-5)


def test_shrinking_where_rows_are_evaluated_one_at_a_time():
    """Samples are packed anew, and the optimum is the same."""
    X, labels = make_clouds(1200, 2, 2)
    y = np.where(labels > 0, 1.0, -1.0)
    primal = []
    for shrinking in (True, False):
        result = solve(SVC(gamma=0.3, C=1000.0).pose_first_problem(X, y), SMO(shrinking=shrinking), tol=1e-6)
        assert result.converged
        assert (result.counters["shrinks"] > 0) is shrinking
        primal.append(result.certificate.primal)
    assert primal[0] == pytest.approx(primal[1], rel=2e-6)


# ---- a w that is longer by a hair -----------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1e3, 1e6, 1e9])
def test_separable_classes_and_a_large_C(C):
    """What is left of hinges of 1e-13, times C, is not counted: w is stretched until there are none."""
    rng = np.random.default_rng(0)
    y = np.repeat([1.0, -1.0], 60)
    X = 30.0 * (rng.normal(size=(120, 3)) + 4.0 * y[:, None])
    model = SVC(kernel="poly", gamma=1.0, coef0=1.0, C=C).fit(X, y)
    assert model.result_.converged
    certificate, scores = model.certificate_, model.decision_function(X)
    assert certificate.primal == pytest.approx(certificate.dual, rel=1e-5)
    assert (y * scores).min() >= 1.0 - 1e-9
    assert np.abs(model.dual_coef_).max() <= C


def test_a_stretch_stays_within_the_box():
    """Duals at C cannot grow: then P counts its hinges."""
    from maxmargin.compiled.smo import find_margin_scale

    f, b, y, zero = np.array([0.999, -0.999]), 0.0, np.array([1.0, -1.0]), np.zeros(2)
    bounds = np.minimum(y, 0.0), np.maximum(y, 0.0)
    a = 0.4995 * y
    t = find_margin_scale(f, b, a, -y, zero, zero, *bounds, 1e-2)
    assert t == pytest.approx(1 / 0.999, rel=1e-12)
    assert find_margin_scale(f, b, y, -y, zero, zero, *bounds, 1e-2) == 0.0
    assert find_margin_scale(f, b, a, -y, zero, zero + 0.1, *bounds, 1e-2) == 0.0
    assert find_margin_scale(0.1 * f, b, a, -y, zero, zero, *bounds, 1e-2) == 0.0


# ---- arrays in place of objects -------------------------------------------------------------------------------------


def test_results_are_made_when_they_are_asked_for():
    """The lists that users see are those of the arrays, and stay the same objects."""
    X, y = make_classes()
    model = SVC().fit(X, y)
    solves = vars(model)["_solves"]
    assert not {"results", "certificates", "certificate"} & set(vars(solves))
    assert len(model.results_) == len(model.certificates_) == 10
    assert type(model.results_) is type(model.certificates_) is list
    assert model.results_ is model.results_
    assert any(result is model.result_ for result in model.results_)
    assert all(result.certificate is each for result, each in zip(model.results_, model.certificates_, strict=True))
    assert model.certificate_.parts == tuple(model.certificates_)
    assert model.certificate_.relative_gap == max(each.relative_gap for each in model.certificates_)
    gaps = solves.given.certificates.relative_gaps
    np.testing.assert_array_equal(gaps, [each.relative_gap for each in model.certificates_])


def test_a_copy_has_what_the_model_has():
    """Whether the results have been read or not, and without what is made of them; a pickle has no duals."""
    X, y = make_classes()
    model = SVC().fit(X, y)
    unseen = pickle.loads(pickle.dumps(model))
    assert model.certificate_.parts
    seen = pickle.loads(pickle.dumps(model))
    assert len(pickle.dumps(seen)) == len(pickle.dumps(unseen))
    for each in (unseen, seen, copy.copy(model), copy.deepcopy(model)):
        assert each.certificate_ == model.certificate_
        assert each.certificates_ == model.certificates_
        for mine, other in zip(each.results_, model.results_, strict=True):
            assert (mine.status, mine.n_iter, mine.counters) == (other.status, other.n_iter, other.counters)
            assert (mine.history, mine.message, mine.seconds) == (other.history, other.message, other.seconds)
    for each in (copy.copy(model), copy.deepcopy(model)):
        for mine, other in zip(each.results_, model.results_, strict=True):
            np.testing.assert_array_equal(mine.point.a, other.point.a)
            assert mine.point.b == other.point.b
        for (index, _), (before, _) in zip(each._points, model._points, strict=True):
            np.testing.assert_array_equal(index, before)
    for name in ("results_", "certificates_", "result_", "certificate_", "_points"):
        assert not hasattr(SVC(), name)
    assert all(result.point is None for result in unseen.results_)


def test_a_fit_takes_the_place_of_what_a_file_has_left():
    """A machine that was read with certificates alone has those of its own fit afterwards."""
    X, y = make_classes()
    model, foreign = SVC().fit(X, y), object()
    vars(model).update(certificates_=[foreign], certificate_=foreign)
    assert model.certificate_ is foreign
    assert model.fit(X, y).certificate_ is not foreign
    assert foreign not in model.certificates_


@pytest.mark.parametrize(("layers", "finite"), [(1, True), (2, True), (2, False)])
def test_compiled_numbers_of_a_certificate(layers, finite):
    """The compiled text gives the numbers of `combine_bounds`, to the last bits, whatever the sums are."""
    from maxmargin.certificates.bounds import combine_bounds
    from maxmargin.certificates.term_sums import RowSums
    from maxmargin.compiled.certificate_numbers import combine_numbers
    from maxmargin.runtime.rounding import BALANCE_ROUNDINGS, UNIT, Enclosed, Remainder, bound_conjugate, bound_sum

    rng = np.random.default_rng(layers)
    for _ in range(50):
        found = rng.uniform(0.0, 2.0, (layers, 18))
        found[:, [1, 3, 16]] *= 1e-12
        found[:, 5] = found[:, 4] * (1.0 + 1e-9)
        if not finite:
            found[0, 17] = np.inf  # no dual has room for what is missing
        b, balance, drift, reach, floor = rng.normal(size=layers), rng.uniform(0.5, 1.0, layers), 1e-13, 1.5, 1e-3
        lost = 1e-3  # by the sum of the duals in floating point
        found[:, 6], found[:, 7] = balance - lost, lost
        halves = Enclosed(float(rng.uniform(0.1, 3.0)), 1e-13)
        sums, offset = None, Enclosed(0.0, 0.0)
        for layer, row in enumerate(found.tolist()):
            part = RowSums(*row[:16]).add_balancing_cost(row[16], row[17], abs(float(b[layer])))
            sums, term = part if sums is None else sums + part, float(balance[layer] * b[layer])
            slack = bound_sum(layers + BALANCE_ROUNDINGS)
            offset = Enclosed(offset.value + term, offset.error + slack * abs(term))
        distance = sums.moved * reach + drift
        remainder = Remainder(0.5 * (distance * distance) * (1.0 + 8.0 * UNIT), 0.0, distance)
        expected = combine_bounds(halves, offset, sums, remainder, bound_conjugate(halves.high, distance))
        numbers = np.empty(9)
        combine_numbers(found.copy(), layers, b, balance, tuple(halves), drift, reach, 1.0, floor, numbers)
        np.testing.assert_allclose(numbers[:4], expected, rtol=1e-14, atol=1e-14)
        assert (numbers[4], numbers[5], numbers[6]) == (found[:, 14].max(), 1.0, floor)
        size = max(abs(numbers[0]), abs(numbers[1]), floor)
        gap = min(numbers[3], numbers[0] - numbers[1])
        assert numbers[7] == (gap / size if finite else np.inf)
        found[0, 7] = 0.0
        combine_numbers(found.copy(), layers, b, balance, tuple(halves), drift, reach, 1.0, floor, numbers)
        assert (numbers[5], numbers[7]) == (0.0, np.inf)
        found[0, 7], found[0, 15] = lost, 0.0
        combine_numbers(found, layers, b, balance, tuple(halves), drift, reach, 1.0, floor, numbers)
        assert (numbers[5], numbers[7]) == (0.0, np.inf)


def test_tasks_of_pairs_are_views_of_the_same_arrays():
    """Those of the general splitting, one after the other."""
    from maxmargin.estimators.multiclass import pack_pairs, split_one_vs_one, split_sorted_classes

    y, c = np.repeat([0, 1, 2], [2, 3, 1]), np.arange(1.0, 7.0)
    tasks, mixed = split_sorted_classes([2, 3, 1], c), np.array([4, 0, 5, 2, 1, 3])
    assert [task.pair for task in tasks] == [(0, 1), (0, 2), (1, 2)]
    assert [task.index.tolist() for task in tasks] == [[0, 1, 2, 3, 4], [0, 1, 5], [2, 3, 4, 5]]
    assert all(np.shares_memory(task.c, tasks.c) for task in tasks)
    for task in tasks:
        np.testing.assert_array_equal(task.y, np.where(y[task.index] == task.pair[0], 1.0, -1.0))
        np.testing.assert_array_equal(task.c, c[task.index])
    assert tasks[-1].pair == tasks[2].pair
    assert [task.pair for task in tasks[1:]] == [(0, 2), (1, 2)]
    with pytest.raises(IndexError):
        tasks[3]
    duals = np.arange(12.0)
    table = pack_pairs(tasks, duals, y, 3)
    # The same pairs over samples in another order have the same coefficients, each in its place.
    others, where = split_one_vs_one(y[mixed], c[mixed], 3), np.argsort(mixed)
    flat = np.concatenate([
        [duals[tasks.ends[k] + tasks[k].index.tolist().index(mixed[i])] for i in task.index]
        for k, task in enumerate(others)
    ])  # fmt: skip
    np.testing.assert_array_equal(pack_pairs(others, flat, y[mixed], 3)[:, where], table)
