"""Scores as close as the judge needs them: bounds on those in float32, and certificates that rest on them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin.model.features.needed_scores as needed_scores
from maxmargin import SVC, SVR, NuSVC, certify
from maxmargin.certificates.certificate import judge
from maxmargin.certificates.needed_scores import settles
from maxmargin.model.features.gram import Gram
from maxmargin.model.kernels import RBF, Polynomial
from maxmargin.model.losses import EpsilonInsensitive, Hinge, SquaredHinge
from maxmargin.model.problem import Point, Problem
from maxmargin.model.rough_scores import open_rough_scores
from maxmargin.model.tiles import evaluate_own_scores, evaluate_scores, evaluate_scores_closely
from maxmargin.runtime.rounding import Enclosed
from maxmargin.solvers.best_certified import BestCertified

N = 700


def draw(kind: str) -> tuple:
    """Data of a kind, and a gamma that suits them."""
    random = np.random.default_rng(3)
    if kind == "narrow":
        return random.normal(size=(N, 5)), 0.7
    if kind == "wide":
        return random.uniform(size=(N, 60)), 0.05
    if kind == "float32":
        return random.normal(size=(N, 30)).astype(np.float32), 0.1
    if kind == "far":
        return random.normal(size=(N, 4)) + 1e5, 0.3
    if kind == "integers":
        return (random.random((N, 40)) < 0.2).astype(float), 0.2
    if kind == "pixels":
        return random.integers(0, 17, (N, 64)).astype(float), 0.001
    if kind == "sparse":
        return sp.random_array((N, 80), density=0.1, rng=random, format="csr"), 0.5
    return sp.csr_array((random.random((N, 80)) < 0.1).astype(float)), 0.1


KINDS = ("narrow", "wide", "float32", "far", "integers", "pixels", "sparse", "words")


def open_samples(kind: str, scale: float = 1.0):
    """The kernel bound to the data, and the samples as it sees them."""
    X, gamma = draw(kind)
    kernel = RBF(gamma * scale).bind(X)
    return kernel, kernel.samples(X)


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_hold(kind, scale):
    """Scores in float32 are within their bounds of those in twice the precision of float64, and not far too wide."""
    kernel, samples = open_samples(kind, scale)
    random = np.random.default_rng(4)
    support = samples.take(np.sort(random.permutation(N)[:301]))
    coef = random.normal(size=301) * np.exp(3.0 * random.normal(size=301))
    rough = open_rough_scores(kernel, samples, support, coef)
    assert rough is not None
    index = random.permutation(N)[:523]
    found = rough.enclose(index)
    exact, error = evaluate_scores_closely(kernel, samples.take(index), support, coef)
    apart = np.abs(found.value - exact)
    assert (apart <= found.error + error).all()
    assert (apart > 0).any()
    assert float(found.error.max()) < 1e-3 * float(np.abs(coef).sum())


def test_far_exponents():
    """Values below exp(-40) are not told apart in float32, and the bound says so."""
    kernel, samples = open_samples("narrow", 1e4)
    coef = np.full(N, 1e6)
    rough = open_rough_scores(kernel, samples, samples, coef)
    index = np.arange(N)
    found, (exact, error) = rough.enclose(index), evaluate_scores_closely(kernel, samples, samples, coef)
    assert (np.abs(found.value - exact) <= found.error + error).all()


def test_nothing_is_said_of_what_float32_cannot_hold():
    """Long samples, extreme gammas and other kernels have no bounds."""
    X, _ = draw("wide")
    coef = np.ones(N)
    for kernel, data in ((RBF(1e9), X), (RBF(1.0), X * 1e8), (RBF(100.0), X * 100.0), (Polynomial(gamma=1.0), X)):
        samples = kernel.samples(data)
        assert open_rough_scores(kernel, samples, samples, coef) is None


@pytest.mark.parametrize("kind", ["narrow", "float32", "sparse"])
def test_own_scores(kind, monkeypatch):
    """Every kernel value once gives the scores that every value twice gives."""
    kernel, samples = open_samples(kind)
    coef = np.random.default_rng(5).normal(size=N)
    plain = evaluate_scores(kernel, samples, samples, coef)
    for side in (50, 384, 1000):
        monkeypatch.setattr("maxmargin.model.tiles.TILE_SIDE_SAMPLES", side)
        np.testing.assert_allclose(evaluate_own_scores(kernel, samples, coef), plain, rtol=0.0, atol=1e-11)


# ---- certificates -------------------------------------------------------------------------------------------


def machines() -> dict:
    """A machine of each kind of problem, with data for it."""
    random = np.random.default_rng(6)
    X = random.normal(size=(2400, 3))
    labels = (X[:, 0] * X[:, 1] + 0.3 * random.normal(size=2400) > 0).astype(int)
    y = np.sin(X[:, 0]) + 0.1 * random.normal(size=2400)
    return {
        "hinge": (SVC(C=3.0, gamma=0.5), X, labels),
        "squared hinge": (SVC(loss="squared_hinge", gamma=0.5), X, labels),
        "no intercept": (SVC(intercept="none", gamma=0.5), X, labels),
        "regularised": (SVC(intercept="regularised", gamma=0.5), X, labels),
        "tube": (SVR(epsilon=0.3, gamma=0.5), X, y),
        "huber": (SVR(loss="huber", gamma=0.5), X, y),
        "nu": (NuSVC(nu=0.3, gamma=0.5, tol=1e-2), X, labels),
    }


def watch_looks(monkeypatch) -> list:
    """How many samples each certificate looks at in float32 only."""
    looks, look = [], needed_scores.find_settled

    def find(*arguments):
        found = look(*arguments)
        looks.append(len(found[0]))
        return found

    monkeypatch.setattr(needed_scores, "find_settled", find)
    monkeypatch.setattr(needed_scores, "MIN_KERNEL_VALUES", 1)
    return looks


@pytest.mark.parametrize("name", machines())
def test_certificates_are_those_of_close_scores(name, monkeypatch):
    """P, D, the gap and the violation, as if every score had been evaluated in float64."""
    model, X, y = machines()[name]
    looks = watch_looks(monkeypatch)
    model.fit(X, y)
    found = certify(model, X, y)
    assert looks[-1] > 300 or name in ("huber", "nu")  # all have a dual; scores next to zero
    monkeypatch.setattr(Gram, "enclose_where_needed", lambda *arguments: None)
    plain = certify(model, X, y)
    for value in ("primal", "dual", "kkt"):
        assert getattr(found, value) == pytest.approx(getattr(plain, value), rel=1e-9, abs=plain.rounding + 1e-11)
    assert found.gap == pytest.approx(plain.gap, rel=1e-6, abs=1e-9 * plain.primal)
    assert found.rounding <= 1.5 * plain.rounding + 1e-12 * plain.primal


def test_gap_grows_with_what_is_not_known(monkeypatch):
    """Rough scores that the choice of samples got wrong widen the gap: the proof does not rest on the choice."""
    monkeypatch.setattr(needed_scores, "MIN_KERNEL_VALUES", 1)
    random = np.random.default_rng(7)
    X, y = random.normal(size=(2200, 3)), np.where(random.random(2200) < 0.5, 1.0, -1.0)
    problem = Problem(Gram.from_data(RBF(0.5), X), y, np.ones(2200), Hinge())
    a = problem.feasible(np.where(np.arange(2200) < 400, 0.1 * y, 0.0))
    plain = judge(problem, Point(a))

    class Careless(Gram):
        def enclose_where_needed(self, coef, settles):
            return super().enclose_where_needed(coef, lambda index, scores: np.ones(len(index), bool))

    careless = Problem(Careless(problem.features.kernel, problem.features.samples), y, np.ones(2200), Hinge())
    found = judge(careless, Point(a))
    assert len(found.rough) == np.count_nonzero(a == 0)
    assert found.primal >= plain.primal
    assert found.dual <= plain.dual * (1.0 + 1e-12)
    assert found.gap > plain.gap


def test_settled_samples():
    """Settled is a sample whose loss and dual are zero within the whole interval of its score."""
    random = np.random.default_rng(8)
    scores = Enclosed(random.uniform(-2.0, 2.0, 2000), random.uniform(0.0, 1.0, 2000))
    y = np.where(random.random(2000) < 0.5, 1.0, -1.0)
    c = np.where(random.random(2000) < 0.9, 1.0, 0.0)
    gram = Gram.from_data(RBF(0.5), random.normal(size=(2000, 1)))
    index = np.arange(2000)
    for loss, targets in ((Hinge(), y), (SquaredHinge(), y), (EpsilonInsensitive(0.8), 0.5 * y)):
        problem = Problem(gram, targets, c, loss)
        found = settles(problem, Point(np.zeros(2000), 0.1), index, scores)
        ends = [problem.terms.value(scores.value + sign * scores.error + 0.1) for sign in (-1.0, 1.0)]
        expected = (np.maximum(*ends) == 0.0) | (c == 0.0)
        np.testing.assert_array_equal(found, expected)
        assert 0 < found.sum() < 2000


def test_runs_in_float64_have_close_scores(monkeypatch):
    """A run that went over to float64 is given the scores in float64 that the judge did without."""
    random = np.random.default_rng(9)
    X, y = random.normal(size=(2400, 3)), np.where(random.random(2400) < 0.5, 1.0, -1.0)
    X[:, 0] += 2.0 * y
    problem = Problem(Gram.from_data(RBF(0.5), X), y, np.ones(2400), Hinge())
    a = problem.feasible(np.where(np.abs(X[:, 0]) < 0.5, 0.5 * y, 0.0))
    monkeypatch.setattr(needed_scores, "MIN_KERNEL_VALUES", 1)
    best = BestCertified(problem, 1e-3)

    class Standing:
        takes_rough_scores = False

    best.point, certificate = Point(a), judge(problem, Point(a))
    exact = problem.features.scores(a)
    assert len(certificate.rough) > 500
    np.testing.assert_allclose(best.read_scores(Standing(), certificate), exact, rtol=0.0, atol=1e-12)
    Standing.takes_rough_scores = True
    assert best.read_scores(Standing(), certificate) is certificate.scores
