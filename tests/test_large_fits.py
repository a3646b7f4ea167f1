"""Block fits in float32 and float64, dense and sparse, on one core and on all: the same answers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from selection import leave_long
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

import maxmargin.contracts.kernels
import maxmargin.model.samples.strips
import maxmargin.runtime.threads
from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, Status, certify
from maxmargin.certificates.certificate import judge
from maxmargin.certificates.term_sums import measure_violation
from maxmargin.model.features import Gram
from maxmargin.model.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid
from maxmargin.model.losses import LOSSES, Hinge
from maxmargin.model.problem import Point, Problem
from maxmargin.model.row_store import RowStore
from maxmargin.solvers.loop import solve
from maxmargin.solvers.smo import SMO
from maxmargin.solvers.smo.blocks import BlockRun

N = 2600  # above FULL, so that blocks are used


def clouds(n=N, n_classes=2, seed=0):
    """Overlapping classes."""
    return make_classification(n, 12, n_informative=6, n_classes=n_classes, flip_y=0.1, random_state=seed)


def words(n=N, seed=0):
    """Mostly zeros: 60 words, a twelfth of them in each text."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 2, n)
    share = random.uniform(0.0, 0.16, (2, 60))
    return (random.random((n, 60)) < share[y]) * random.uniform(0.5, 1.5, (n, 60)), y


MODELS = {
    "SVC": lambda **settings: SVC(**settings),
    "squared hinge": lambda **settings: SVC(loss="squared_hinge", **settings),
    "regularised": lambda **settings: SVC(intercept="regularised", **settings),
    "no intercept": lambda **settings: SVC(intercept="none", **settings),
    "weighted": lambda **settings: SVC(class_weight={0: 1.0, 1: 3.0}, **settings),
    "NuSVC": lambda **settings: NuSVC(nu=0.4, **settings),
    "SVR": lambda **settings: SVR(**settings),
    "huber": lambda **settings: SVR(loss="huber", **settings),
    "NuSVR": lambda **settings: NuSVR(nu=0.4, **settings),
    "OneClassSVM": lambda **settings: OneClassSVM(nu=0.2, **settings),
}
every_machine = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
EVERY_KERNEL = ("linear", "poly", "rbf", "laplacian")


def spy_on_rows(monkeypatch) -> list:
    """The precision of every row store that is made."""
    seen, make = [], RowStore.__init__

    def watch(store, *arguments, **named):
        make(store, *arguments, **named)
        seen.append(store.dtype)

    monkeypatch.setattr(RowStore, "__init__", watch)
    return seen


@every_machine
def test_float32_and_float64_agree(make, monkeypatch):
    """The machine in float32 reaches its tolerance, and so does the one that may use float64 only."""
    X, y = clouds()
    seen = spy_on_rows(monkeypatch)
    single = make(tol=1e-5).fit(X, y)
    assert set(seen) == {np.dtype(np.float32)}
    monkeypatch.setattr(maxmargin.contracts.kernels, "FLOAT32_MAX_ERROR", 0.0)
    double = make(tol=1e-5).fit(X, y)
    assert seen[-1] == np.float64
    for model in (single, double):
        assert model.certificate_.relative_gap <= 1e-5
    assert single.certificate_.primal == pytest.approx(double.certificate_.primal, rel=2e-5)
    assert certify(single, X, y).relative_gap <= 1e-5


@pytest.mark.parametrize("kernel", EVERY_KERNEL)
@pytest.mark.parametrize("data", [clouds, words])
def test_plain_and_blocked_agree(kernel, data):
    """Pair by pair and block by block, dense or mostly zero, for every kernel."""
    X, y = data(2100)
    blocked = SVC(kernel=kernel, tol=1e-5).fit(X, y)
    plain = SVC(kernel=kernel, tol=1e-5, solver=SMO(working_set=2)).fit(X, y)
    assert plain.certificate_.relative_gap <= 1e-5
    assert blocked.certificate_.relative_gap <= 1e-5
    assert blocked.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=2e-5)


@pytest.mark.parametrize("kernel", EVERY_KERNEL)
def test_dense_zeros_and_sparse_agree(kernel, monkeypatch):
    """Dense data that are mostly zeros are multiplied as sparse ones: the same fit as CSR, and as dense arithmetic."""
    X, y = words()
    gamma = 1.0 / (X.shape[1] * X.var())
    dense, sparse = (SVC(kernel=kernel, gamma=gamma).fit(data, y) for data in (X, sp.csr_array(X)))
    np.testing.assert_array_equal(dense.support_, sparse.support_)
    values = sparse.decision_function(sp.csr_array(X[:50]))
    np.testing.assert_allclose(dense.decision_function(X[:50]), values, atol=1e-12)
    monkeypatch.setattr(maxmargin.model.samples.storage, "SPARSE_MAX_DENSITY", 0.0)
    plain = SVC(kernel=kernel, gamma=gamma).fit(X, y)
    assert plain.certificate_.primal == pytest.approx(dense.certificate_.primal, rel=2e-5)
    np.testing.assert_allclose(plain.decision_function(X[:50]), dense.decision_function(X[:50]), atol=0.05)


@pytest.mark.parametrize("data", [clouds, words])
@every_machine
def test_results_do_not_depend_on_the_number_of_cores(make, data, monkeypatch):
    """One core or two: the same support vectors and the same decision values."""
    X, y = data()
    first = make().fit(X, y)
    monkeypatch.setattr(maxmargin.runtime.threads, "CORES", 1)
    second = make().fit(X, y)
    np.testing.assert_array_equal(first.support_, second.support_)
    np.testing.assert_allclose(first.predict(X[:99]), second.predict(X[:99]), atol=1e-6)
    np.testing.assert_allclose(first.dual_coef_, second.dual_coef_, atol=1e-6)


@pytest.mark.parametrize("n", leave_long([900, 7000], 7000))
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_many_classes_do_not_depend_on_the_number_of_workers(n, multi_class):
    """Pairs one after the other or side by side: the same machine."""
    X, y = clouds(n, 3)
    one, two = (SVC(multi_class=multi_class, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.support_, two.support_)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(one.intercept_, two.intercept_)


@pytest.mark.parametrize("tol", [1e-3, 1e-7])
@pytest.mark.parametrize("kernel", leave_long(["linear", "poly", "rbf", "laplacian", "sigmoid"], "laplacian"))
def test_pairs_agree_with_scikit_learn(kernel, tol):
    """Rows evaluated within the loop, in float32 and in float64: scikit-learn's optimum for every pair."""
    from sklearn import svm

    X, y = clouds(2400, 3)
    ours = SVC(kernel=kernel, gamma=0.02, tol=tol).fit(X, y)
    if kernel == "sigmoid":
        assert all(certificate.relative_gap <= tol for certificate in ours.certificates_)
        return
    reference = "precomputed" if kernel == "laplacian" else kernel
    K = np.exp(-0.02 * np.abs(X[:, None] - X).sum(-1)) if kernel == "laplacian" else X
    theirs = svm.SVC(kernel=reference, gamma=0.02, tol=1e-6).fit(K, y)
    primals = [part.primal for part in certify(theirs, K, y).parts]
    assert max(part.relative_gap for part in ours.certificates_) <= tol
    np.testing.assert_allclose([part.primal for part in ours.certificates_], primals, rtol=max(2 * tol, 1e-6))


# ---- precision ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2, 0.3, 1.0), RBF(0.2), Sigmoid(0.05, 0.1), Laplacian(0.2)])
@pytest.mark.parametrize("sparse", [False, True])
def test_float32_is_offered_for_scaled_data_only(kernel, sparse):
    """Near the origin float32 is safe; a thousand times further away than the data are wide it is not."""
    X = np.random.default_rng(0).normal(size=(200, 5))
    near = kernel.samples(sp.csr_array(X) if sparse else X)
    half = kernel.to_float32(near)
    assert half.dtype == np.float32
    K = kernel.evaluate(near, near)
    np.testing.assert_allclose(kernel.evaluate(half, half), K, rtol=1e-4, atol=1e-4 * np.abs(K).max())
    far = X + 3e4
    assert kernel.to_float32(kernel.samples(sp.csr_array(far) if sparse else far)) is None


def test_outliers_do_not_forbid_float32():
    """A few samples far out may be wrong: the judge would see it. Many may not."""
    X = np.random.default_rng(0).normal(size=(1000, 5))
    kernel = RBF(0.5)
    X[:5] *= 1e4
    assert kernel.to_float32(kernel.samples(X)) is not None
    X[:50] *= 1e4
    assert kernel.to_float32(kernel.samples(X)) is None


def test_precision_is_raised_when_the_judge_disagrees_twice():
    """A run in float32 that has come less far than it thought goes on in float64, and ends within tol."""
    X, y = clouds()
    problem = Problem(Gram.from_data(RBF(0.1), X), np.where(y > 0, 1.0, -1.0), np.full(N, 10.0), Hinge())
    run = SMO().start(problem, 1e-5)
    assert isinstance(run, BlockRun)
    assert run.single_precision
    for expected in (True, False):
        run.advance(500, 10.0)
        run.refresh(problem.features.scores(problem.features.combine(run.store())))
        assert run.single_precision is expected
    assert run.rows.rows.dtype == np.float64
    result = solve(problem, tol=1e-5, warm=Point(run.store().copy()))
    assert result.status is Status.CONVERGED


def test_unscaled_data_reach_their_tolerance():
    """Features of a hundred and a narrow kernel: float32 would be off by a quarter of the optimum, and is not used."""
    random = np.random.default_rng(0)
    X = random.uniform(0.0, 150.0, (2500, 4))
    y = (X[:, 0] + 20.0 * random.normal(size=2500) > 75.0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = SVC(C=100.0, gamma=2.0, tol=1e-4).fit(X, y)
    assert certify(model, X, y).relative_gap <= 1e-4


# ---- memory -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("megabytes", [0.2, 1.0, 5.0])
@pytest.mark.parametrize("data", [clouds, words])
def test_store_keeps_within_its_bytes(megabytes, data):
    """Rows, and the copy of the data in float32 twice (it is cut down by copying), fit into what was granted."""
    X, _ = data()
    store = RowStore(Gram.from_data(RBF(0.1), X), megabytes)
    copy = 0 if store.half.X.dtype == np.float64 else 2 * store.half.nbytes
    assert store.buffer.nbytes + copy <= max(megabytes * 2**20, 4 * N + copy)


def test_a_copy_that_costs_too_much_is_not_made(monkeypatch):
    """Where the data in float32 would take more than a quarter of the bytes they are converted tile by tile."""
    monkeypatch.setattr(maxmargin.model.samples.strips, "TILE_ENTRIES", 100)
    X, _ = clouds()
    rich, poor = (RowStore(Gram.from_data(RBF(0.1), X), megabytes) for megabytes in (5.0, 0.05))
    assert rich.half.X.dtype == np.float32
    assert poor.half.X.dtype == np.float64
    index, steps = np.arange(40), np.ones(40)
    first, second = np.zeros(N), np.zeros(N)
    rich.add(first, index, steps)
    poor.add(second, index, steps)
    np.testing.assert_array_equal(first, second)


# ---- the judge ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_one_pass_gives_the_judges_numbers(loss, share):
    """The compiled sums of losses and conjugates and the violation are those of the loss table."""
    X, y = clouds(300)
    sign, random = np.where(y > 0, 1.0, -1.0), np.random.default_rng(0)
    problem = Problem(Gram.from_data(RBF(0.1), X), sign, np.full(300, 2.0), LOSSES[loss]())
    a = problem.feasible(sign * np.where(random.uniform(size=300) < share, random.choice([0.7, 2.0], 300), 0.0))
    point = Point(a, 0.3)
    found, scores = judge(problem, point), problem.features.scores(a)
    half = 0.5 * float(a @ scores)
    assert found.primal == pytest.approx(problem.primal_value(scores, half, 0.3), rel=1e-11)
    assert found.dual == pytest.approx(problem.dual_value(a, half), rel=1e-11)
    assert found.gap == pytest.approx(found.primal - found.dual, rel=1e-11)
    assert found.kkt == pytest.approx(measure_violation(problem, a, scores + 0.3), rel=1e-12, abs=1e-12)
